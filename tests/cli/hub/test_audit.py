"""``audit`` and ``why`` in the terminal: what was allowed and denied, and because of what."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from ropewalk import Remote
from ropewalk.cli.moments import moment
from ropewalk.errors import UsageError
from ropewalk.events.commands import Answer
from ropewalk.events.events import QuestionOpened, TurnEnded
from tests.cli.hub.conftest import HubDesk, desk_at

pytestmark = pytest.mark.slow

RULES = [
    {"prompt": "touch", "steps": [{"tool": "Bash", "input": {"command": "touch it"}, "ask": True}, {"text": "ok"}]},
    {"prompt": "list", "steps": [{"tool": "Bash", "input": {"command": "ls -l"}, "ask": False}, {"text": "ok"}]},
]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubDesk]:
    """Four calls: allowed by a person, by the CLI itself, denied by a person, allowed by a rule."""
    desk = desk_at(tmp_path_factory.mktemp("audit"))
    desk.script(rules=RULES)
    try:
        desk.start()
        asyncio.run(play(desk))
        yield desk
    finally:
        desk.end()


async def play(desk: HubDesk) -> None:
    """Over the API: a command for each step would be a process for each."""
    url = json.loads((desk.state / "hub.json").read_text())["url"]
    async with Remote(url, (desk.state / "token").read_text().strip()) as remote:
        await turn(remote, desk, "touch", Answer(behavior="allow"))
        await turn(remote, desk, "list")
        await turn(remote, desk, "touch", Answer(behavior="deny", message="not now"))
        await remote.add_rule("Bash(touch:*)")
        await turn(remote, desk, "touch")


async def turn(remote: Remote, desk: HubDesk, prompt: str, answer: Answer | None = None) -> None:
    session = (await remote.start(str(desk.project), prompt=prompt)).id
    async with aclosing(remote.attach(session)) as events:
        async for event in events:
            if isinstance(event, QuestionOpened) and answer is not None:
                await remote.answer(event.question, answer)
            if isinstance(event, TurnEnded):
                return


def test_the_table_the_filters_and_the_files(played: HubDesk) -> None:
    """ours: newest first; what claude let run by itself says so"""
    rows = played.ropewalk("audit").out.splitlines()
    assert len(rows) == 5 and rows[0].split()[0] == "TIME"
    assert "touch it" in rows[1] and "allow" in rows[1] and "allowed by Bash(touch:*)" in rows[1]
    assert "deny" in rows[2] and "not now" in rows[2]
    assert "ls -l" in rows[3] and "claude itself: " in rows[3]
    assert "by " in rows[4]

    def count(*words: str) -> int:
        done = played.ropewalk("audit", "-q", *words)
        assert done.code == 0, done.err
        return len(done.out.splitlines())

    assert (count(), count("--because", "cli"), count("--verdict", "deny"), count("--wildcard"), count("-n", "2")) == (
        4,
        1,
        1,
        1,
        2,
    )
    assert (count("--since", "1h"), count("--until", "1h"), count("--text", "LS -L"), count("--session", ".")) == (4, 0, 1, 1)
    lines = [json.loads(line) for line in played.ropewalk("audit", "--json").out.splitlines()]
    table = list(csv.DictReader(io.StringIO(played.ropewalk("audit", "--csv").out)))
    assert [line["id"] for line in lines] == [row["id"] for row in table] and len(table) == 4
    assert played.ropewalk("audit", "--verdict", "maybe").code == 2
    assert played.ropewalk("audit", "--csv", "-n", "3").code == 2
    assert played.ropewalk("audit", "--session", "zzzz").code == 4
    assert "Nothing of that kind" in played.ropewalk("audit", "--tool", "WebFetch").out


def test_why_by_number_by_call_and_by_verdict(played: HubDesk) -> None:
    """ours: the same answer by each of its names"""
    told = played.json("why")
    call, seq, name, session = (told["verdict"][key] for key in ("tool_use", "seq", "id", "session"))
    for words in ((session, call), (".", f"#{seq}"), (f"#{seq}",), (call,), (name,), (session[:6], "last")):
        assert played.json("why", *words)["verdict"]["id"] == name
    own = played.ropewalk("audit", "-q", "--because", "cli").out.strip()
    done = played.ropewalk("why", own)
    assert "Claude Code itself" in done.out and "it did not ask" in done.out
    assert played.ropewalk("why", ".", "#1").code == 4 and played.ropewalk("why", ".", "#x").code == 2
    assert played.ropewalk("why", ".", "toolu_none").code == 4


def test_why_names_the_rule_and_how_to_take_it_back(played: HubDesk) -> None:
    """ours (F-42): the rule, who made it, the input, the command that ends it"""
    done = played.ropewalk("why")
    assert done.code == 0 and done.out.startswith("Allowed  Run: touch it\n")
    assert "allowed by the rule Bash(touch:*)" in done.out and '{"command":"touch it"}' in done.out
    command = next(line.split(maxsplit=2)[2] for line in done.out.splitlines() if line.startswith("End it"))
    assert command.startswith("ropewalk rules rm ")
    assert played.ropewalk(*command.split()[1:]).code == 0
    after = played.ropewalk("why").out
    assert "Ended" in after and "End it" not in after and "allowed by the rule Bash(touch:*)" in after


def test_moments_as_people_type_them() -> None:
    """ours"""
    assert [moment(text, 1e9) for text in ("90s", "30m", "1h", "7d")] == [1e9 - 90, 1e9 - 1800, 1e9 - 3600, 1e9 - 604800]
    assert moment("2026-11-17T13:08+00:00", 0.0) == 1794920880.0
    for wrong in ("", "yesterday", "1 fortnight", "2026-13-01"):
        with pytest.raises(UsageError, match="is no time"):
            moment(wrong, 1e9)
