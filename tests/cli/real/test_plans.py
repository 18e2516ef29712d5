"""The ways on from a plan, on real CLIs, with the keys of the terminal: what the model is asked afterwards is the proof."""

from __future__ import annotations

import json
import re
from asyncio import to_thread as aside  # the scripted model answers from this test's own loop meanwhile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ropewalk.sim.model import Reply, SimModel, reply, tool
from tests.cli.conftest import Desk
from tests.cli.terminal import ENTER, Terminal
from tests.demand import demand

PLAN = "# The plan\n1. Write after.txt."
PLAN_FILE = re.compile(r"/[^\"\s]*/\.claude/plans/[^\"\s]+?\.md")
WAYS = "1/2/3/d/D › "


@asynccontextmanager
async def planning(real: Desk, model: SimModel, project: Path, *after: Reply | str) -> AsyncIterator[Terminal]:
    """A run in plan mode, up to its plan's card: the model looks around, writes the plan where the CLI told it to, and asks."""
    (project / "README").write_text("x")
    model.add(reply(tool("Read", file_path=str(project / "README")), hold="begin"))
    with real.terminal("run", "--mode", "plan", "the xyzzy prompt") as terminal:
        first = await model.asked(lambda asked: "xyzzy" in asked.prompt and asked.kind == "main")
        path = PLAN_FILE.findall(json.dumps(first.body))[-1]
        model.add(reply(tool("Write", file_path=path, content=PLAN)), reply(tool("ExitPlanMode")), *after)
        model.release("begin")
        assert "    # The plan\n    1. Write after.txt.\n" in await aside(terminal.until, WAYS)
        yield terminal


def write(project: Path) -> Reply:
    return reply(tool("Write", file_path=str(project / "after.txt"), content="after\n"))


def main_calls(model: SimModel) -> list[Any]:
    return [asked for asked in model.requests if asked.kind == "main"]


@demand("003-11", "003-12", "003-13", "003-14", tag="real")
async def test_a_fresh_start_knows_only_the_plan_and_accepts_edits(real: Desk, model: SimModel, project: Path) -> None:
    """seed 003 (choice 1)"""
    async with planning(real, model, project, write(project), "All done.") as terminal:
        terminal.press("1")
        await aside(terminal.until, "Start fresh?")
        terminal.press("y")
        assert await aside(terminal.end) == 0
    *_, fresh, last = main_calls(model)
    assert [prompt for prompt in fresh.prompts if "plan" in prompt][-1] == f"Implement this plan:\n\n{PLAN}"
    assert "xyzzy" not in json.dumps(fresh.body["messages"]) and "xyzzy" not in json.dumps(last.body["messages"])
    assert (project / "after.txt").read_text() == "after\n" and "Create after.txt?" not in terminal.text
    assert "Fresh conversation from here" in terminal.text and "accept edits" in terminal.text and "All done." in terminal.text


@demand("003-19", "003-24", tag="real")
async def test_not_yet_with_words_then_going_on_with_edits_accepted(real: Desk, model: SimModel, project: Path) -> None:
    """seed 003 (choices 4 and 2)"""
    async with planning(real, model, project, reply(tool("ExitPlanMode")), write(project), "All done.") as terminal:
        terminal.press("d")
        await aside(terminal.until, "what should change?")
        terminal.press(f"mind the plugh{ENTER}")
        await aside(terminal.until, WAYS)
        assert "mind the plugh" in json.dumps(main_calls(model)[-1].body["messages"])
        terminal.press("2")
        assert await aside(terminal.end) == 0
    assert (project / "after.txt").exists() and "Create after.txt?" not in terminal.text
    last = main_calls(model)[-1]
    assert any("# The plan" in result for result in last.results.values()) and "xyzzy" in json.dumps(last.body["messages"])


@demand("003-21", tag="real")
async def test_going_on_by_hand_asks_before_the_next_edit(real: Desk, model: SimModel, project: Path) -> None:
    """seed 003 (choice 3)"""
    async with planning(real, model, project, write(project), "All done.") as terminal:
        terminal.press("3")
        card = await aside(terminal.until, "/d › ")
        assert "◆ Create after.txt?" in card and "1 + after" in card and not (project / "after.txt").exists()
        terminal.press("a")
        assert await aside(terminal.end) == 0
    assert (project / "after.txt").exists()
