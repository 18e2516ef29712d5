"""With ``see_everything`` each call of a real CLI is judged; while the hub is dead it waits, and is never refused for that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ropewalk import Remote
from ropewalk.events.events import ToolFinished
from ropewalk.events.views import VerdictView
from ropewalk.sim.model import Rule, SimModel, reply, tool
from tests.hub.house import until
from tests.real.rig import Place, give_away, versions
from tests.real.rig_hub import ServedHub, question_of, served_hub
from tests.real.rig_talk import command, touch
from tests.real.test_hub import turns

ALL = ("2.1.37", "2.1.62", "2.1.120", "2.1.326")


@pytest.fixture
async def hub(place: Place, cli_version: str, model: SimModel) -> AsyncIterator[ServedHub]:
    async with served_hub(place, cli_version, model) as hub:
        (hub.folder / "config.toml").write_text("see_everything = true\n")
        yield hub


async def finished(remote: Remote, session: str) -> list[ToolFinished]:
    return [event for event in await remote.events(session, limit=1000) if isinstance(event, ToolFinished)]


async def audit(remote: Remote) -> list[VerdictView]:
    return [*(await remote.audit()).items][::-1]


@versions(*ALL)
async def test_a_rule_denies_what_the_cli_would_allow_and_other_calls_are_not_disturbed(
    hub: ServedHub, place: Place, model: SimModel
) -> None:
    """measured (all): listing and reading run unasked; a hook's denial holds; what is asked is asked as ever"""
    (place.project / "notes.txt").write_text("remember")
    give_away(place.project)
    steps = [command("ls notes.txt"), command("cat notes.txt"), touch("made.txt"), reply("Done.")]
    model.add(Rule(steps, when="look around"))
    remote = await hub.serve()
    await remote.add_rule("Bash(cat:*)", "deny", note="not this one")
    session = (await remote.start(str(place.project), prompt="look around")).id
    question = await question_of(remote, session)
    assert question.line == "Run: touch made.txt"
    await remote.answer(question.id, behavior="allow")
    await turns(remote, session, 1)
    listed, read, made = await finished(remote, session)
    assert not listed.failed and "notes.txt" in listed.output
    assert read.failed and "not this one" in read.output and "remember" not in read.output
    assert not made.failed and (place.project / "made.txt").exists()
    lines = await audit(remote)
    assert [(line.because_kind, line.behavior) for line in lines] == [("cli", "allow"), ("rule", "deny"), ("person", "allow")]
    assert lines[0].because.startswith("Claude Code itself: ") and lines[0].what == "Run: ls notes.txt"
    why = await remote.why(session, tool_use=read.tool_use)
    assert why.rule is not None and why.rule.text == "Bash(cat:*)" and why.ends_it
    await remote.close()


@versions(*ALL)
async def test_a_call_waits_for_a_hub_that_was_killed(hub: ServedHub, place: Place, model: SimModel) -> None:
    """ours: kill -9 before the call; it is made while no hub is there, waits in the runner, and the next hub judges it"""
    (place.project / "notes.txt").write_text("remember")
    give_away(place.project)
    first = reply(tool("Bash", command="ls notes.txt", description="look"), hold="killed")
    model.add(Rule([first, command("cat notes.txt"), reply("Done.")], when="go on"))
    remote = await hub.serve()
    await remote.add_rule("Bash(cat:*)", "deny")
    session = (await remote.start(str(place.project), prompt="go on")).id
    await until(lambda: asked(model), "call of the model")
    await remote.close()
    hub.kill()
    model.release("killed")
    await until(lambda: spooled(hub.folder), "call that waits for a hub")
    remote = await hub.serve()
    await turns(remote, session, 1)
    listed, read = await finished(remote, session)
    assert not listed.failed and "notes.txt" in listed.output
    assert read.failed and "remember" not in read.output
    await remote.close()


async def asked(model: SimModel) -> bool:
    return any(call.kind == "main" for call in model.requests)


async def spooled(folder: Path) -> bool:
    """The runner holds a question of a hook."""
    return any(b'"hook_callback"' in path.read_bytes() for path in folder.rglob("*") if path.is_file())
