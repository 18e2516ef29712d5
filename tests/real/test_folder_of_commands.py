"""Which folder a command runs in when one before it went elsewhere: what real CLIs do, and that a verdict means that folder."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ropewalk import Remote
from ropewalk.events import commands as c
from ropewalk.events.views import RuleView
from ropewalk.sessions.holding import HELD, KEEP
from ropewalk.sim.model import Rule, SimModel, reply, tool
from tests.real.rig import Place, give_away, versions
from tests.real.rig_hub import ServedHub, question_of, served_hub
from tests.real.rig_raw import RawStart
from tests.real.rig_talk import command
from tests.real.test_hub import turns

ALL = ("2.1.37", "2.1.62", "2.1.120", "2.1.326")


@pytest.fixture
async def hub(place: Place, cli_version: str, model: SimModel) -> AsyncIterator[ServedHub]:
    async with served_hub(place, cli_version, model) as hub:
        yield hub


def prepared(place: Place, *, worktrees: bool = False) -> Path:
    """A project with a folder ``sub``, whose settings say that a ``cd`` shall last."""
    (place.project / "sub").mkdir()
    (place.project / ".claude").mkdir()
    for name in ("settings.json", "settings.local.json"):
        (place.project / ".claude" / name).write_text(json.dumps({"env": {KEEP: "0"}}))
    if worktrees:
        git = ["git", "-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "begun"]):
            subprocess.run([*git, *words], cwd=place.project, check=True)
    give_away(place.project)
    return place.project


async def allow(remote: Remote, *rules: str) -> None:
    for text in rules:
        await remote._calls.do("POST", "/rules", c.NewRule(text=text, behavior="allow"), RuleView)


@versions(*ALL)
@pytest.mark.parametrize("said", ["nothing", "a variable", "settings"])
async def test_a_cd_outlives_its_command_unless_settings_at_the_start_hold_it(
    raw_cli: RawStart, model: SimModel, place: Place, cli_version: str, said: str
) -> None:
    """measured: with the project's own settings against it a variable does not hold; up to 2.1.120 the next turn begins anew"""
    project = prepared(place)
    model.add(Rule([command("cd sub"), command("pwd > $HOME/one"), reply("Done.")], when="go down"))
    model.add(Rule([command("pwd > $HOME/two"), reply("Done.")], when="once more"))
    args = (f"--settings={HELD}",) if said == "settings" else ()
    async with raw_cli("--allowedTools", "Bash", *args, **({KEEP: "1"} if said != "nothing" else {})) as cli:
        await cli.request("initialize")
        await cli.turn("go down")
        await cli.turn("once more")
    one, two = ((place.home / name).read_text().strip() for name in ("one", "two"))
    held = said == "settings"
    assert one == str(project if held else project / "sub")
    assert two == str(project / "sub" if not held and cli_version == "2.1.326" else project)


@versions(*ALL)
async def test_what_a_rule_allows_runs_in_the_folder_that_it_was_judged_in(hub: ServedHub, place: Place, model: SimModel) -> None:
    """ours: relative names of a later command mean the session's folder, whatever the project's settings say"""
    project = prepared(place)
    model.add(Rule([command("cd sub"), command("touch here.txt"), reply("Done.")], when="go down"))
    remote = await hub.serve()
    await allow(remote, "Bash(cd:*)", "Bash(touch here.txt)", "Edit(here.txt)", "Read(**)")
    session = (await remote.start(str(project), prompt="go down")).id
    await turns(remote, session, 1)
    assert (project / "here.txt").exists() and not (project / "sub" / "here.txt").exists()
    await remote.close()


@versions("2.1.62", "2.1.120", "2.1.326")
async def test_in_a_worktree_rules_about_the_sessions_folder_allow_nothing(hub: ServedHub, place: Place, model: SimModel) -> None:
    """measured: these CLIs go into one unasked and run what follows there; 2.1.37 has none"""
    project = prepared(place, worktrees=True)
    steps = [reply(tool("EnterWorktree", name="tree")), command("touch here.txt"), reply("Done.")]
    model.add(Rule(steps, when="work apart"))
    model.add(Rule([command("touch here.txt"), reply("Done.")], when="once more"))
    remote = await hub.serve()
    await allow(remote, "Bash(touch here.txt)", "Edit(here.txt)")
    session = (await remote.start(str(project), prompt="work apart")).id
    question = await question_of(remote, session)
    assert question.line == "Run: touch here.txt" and "worktree" in question.because
    await remote.answer(question.id, behavior="deny")
    await turns(remote, session, 1)
    await remote.prompt(session, "once more")
    question = await question_of(remote, session)
    assert ".claude/worktrees/tree" in question.because
    await remote.answer(question.id, behavior="deny")
    await turns(remote, session, 2)
    await remote.close()
