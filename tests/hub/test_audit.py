"""The audit: every tool call with what decided about it, newest first; the answer to "why did this run?"."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from typing import Any

import pytest

from ropewalk.errors import NotAllowed, NotFound, UsageError
from ropewalk.events import commands as c
from ropewalk.events import views as v
from ropewalk.events.commands import Principal
from ropewalk.hub.audit_file import safe
from tests.hub.house import EVE, JO, MIA, House, Talk

TOUCH: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}
LIST: dict[str, Any] = {"tool": "Bash", "input": {"command": "ls -l"}, "ask": False}
FAR: dict[str, Any] = {"tool": "Write", "input": {"file_path": "/elsewhere/a.txt", "content": "x"}, "ask": True}


@pytest.fixture(autouse=True)
def script(house: House) -> None:
    house.rule("touch", TOUCH, {"text": "Done."})
    house.rule("list", LIST, {"text": "Done."})
    house.rule("far", FAR, {"text": "Done."})


async def audit(talk: Talk, **asked: Any) -> list[v.VerdictView]:
    """All of it, by small pages."""
    found: list[v.VerdictView] = []
    cursor: str | None = None
    while True:
        page = await talk.hub.audit(EVE, c.AuditFilter(**asked), limit=2, cursor=cursor)
        found += page.items
        if page.next is None:
            return found
        cursor = str(page.next)


async def exported(talk: Talk, form: str, **asked: Any) -> bytes:
    _, _, pieces = await talk.hub.export_audit(EVE, c.AuditFilter(**asked), form)
    return b"".join([piece async for piece in pieces])


async def played(talk: Talk, prompt: str) -> str:
    session = await talk.new(prompt)
    await talk.turns(session.id, 1)
    return session.id


async def answered(talk: Talk, prompt: str, who: Principal = MIA, **answer: Any) -> str:
    session = await talk.new(prompt)
    question = await talk.question(session.id)
    await talk.hub.answer(who, question.id, c.Answer(**answer))
    await talk.turns(session.id, 1)
    return session.id


async def five(talk: Talk) -> list[str]:
    """A person's allow, a rule's, a person's denial outside of the folder, the CLI's own, a built-in rule's kind of denial."""
    first = await answered(talk, "touch", behavior="allow")
    await talk.hub.add_rule(MIA, c.NewRule(text="Bash(touch:*)", behavior="allow"))
    second = await played(talk, "touch")
    third = await answered(talk, "far", JO, behavior="deny", message="not there")
    fourth = await played(talk, "list")
    await talk.hub.add_rule(MIA, c.NewRule(text="Bash(touch it)", behavior="deny", note="no more"))
    fifth = await played(talk, "touch")
    return [first, second, third, fourth, fifth]


async def test_every_call_is_one_line_with_what_decided_newest_first(talk: Talk) -> None:
    """ours: rules, people and the CLI itself in one list; pages join; nothing is there twice"""
    sessions = await five(talk)
    lines = await audit(talk)
    assert [line.session for line in lines] == sessions[::-1]
    assert [(line.because_kind, line.behavior, line.what) for line in lines] == [
        ("rule", "deny", "Run: touch it"),
        ("cli", "allow", "Run: ls -l"),
        ("person", "deny", "Create: /elsewhere/a.txt"),
        ("rule", "allow", "Run: touch it"),
        ("person", "allow", "Run: touch it"),
    ]
    assert all(line.because and line.tool_use and line.at for line in lines)
    assert lines[1].because.startswith("Claude Code itself: ")
    assert (lines[2].by, lines[2].door, lines[2].message) == ("Jo", "Telegram", "not there")
    assert (lines[3].by, lines[3].door) == ("Mia", "the page")
    assert lines[4].delivered is True and lines[3].delivered is None


async def test_each_filter_alone_and_together(talk: Talk) -> None:
    """ours: time, session, tool, verdict, because, who, door, words, wildcard, outside the folder"""
    first, second, third, fourth, fifth = await five(talk)

    async def found(**asked: Any) -> list[str]:
        return [line.session for line in await audit(talk, **asked)]

    assert await found(session=fourth) == [fourth] and await found(tool="Write") == [third]
    assert await found(behavior="deny") == [fifth, third]
    assert await found(because="cli") == [fourth] and await found(because="person") == [third, first]
    assert await found(who="Jo") == [third] and await found(who="Mia") == [fifth, second, first]
    assert await found(door="Telegram") == [third]
    assert await found(text="TOUCH") == [fifth, second, first] and await found(text="ls -l") == [fourth]
    assert await found(wildcard=True) == [second]
    assert await found(outside=True) == [third]
    middle = (await audit(talk, session=third))[0].at
    assert await found(since=middle) == [fifth, fourth, third] and await found(until=middle) == [second, first]
    assert await found(behavior="allow", who="Mia", because="person") == [first]
    assert await found(tool_use=(await audit(talk, session=fourth))[0].tool_use) == [fourth]
    with pytest.raises(NotFound):
        await found(session="zzzz")
    with pytest.raises(UsageError, match="cursor"):
        await talk.hub.audit(EVE, c.AuditFilter(), cursor="nonsense")


async def test_pages_join_while_more_is_decided(talk: Talk) -> None:
    """ours: a page goes on where the one before ended, whatever came in between"""
    sessions = await five(talk)
    page = await talk.hub.audit(EVE, c.AuditFilter(), limit=3)
    await played(talk, "list")
    rest = await talk.hub.audit(EVE, c.AuditFilter(), limit=100, cursor=str(page.next))
    assert [line.session for line in [*page.items, *rest.items]] == sessions[::-1] and rest.next is None


async def test_why_names_the_rule_its_maker_and_what_ends_it(talk: Talk) -> None:
    """ours: by call, by number, or the last one; a rule that has ended still answers for what it did"""
    rule = await talk.hub.add_rule(MIA, c.NewRule(text="Bash(touch:*)", behavior="allow"))
    session = await played(talk, "touch")
    await played(talk, "touch")
    why = await talk.hub.why(EVE, session)
    assert why.words == "allowed by the rule Bash(touch:*), which Mia made on the page"
    assert why.rule is not None and why.rule.id == rule.id and why.others == 1
    assert why.ends_it == f"ropewalk rules rm {rule.id}" and why.mode == "default"
    assert [part.text for part in why.verdict.parts] == ["touch it"] and why.verdict.seq is not None
    same = [
        await talk.hub.why(EVE, session, tool_use=why.verdict.tool_use),
        await talk.hub.why(EVE, session, seq=why.verdict.seq),
        await talk.hub.verdict(EVE, why.verdict.id),
    ]
    assert all(one.verdict.id == why.verdict.id for one in same)
    await talk.hub.end_rule(MIA, rule.id, c.EndRule())
    ended = await talk.hub.verdict(EVE, why.verdict.id)
    assert ended.words == why.words and ended.ends_it == "" and ended.rule is not None and ended.rule.ended_at is not None


async def test_why_of_what_the_cli_let_run_tells_its_mode_and_input(talk: Talk) -> None:
    """ours: never blank; the input is found in the log"""
    session = await played(talk, "list")
    why = await talk.hub.why(EVE, session)
    assert why.verdict.because_kind == "cli" and why.words.startswith("allowed by Claude Code itself: ")
    assert why.verdict.input == {"command": "ls -l"} and why.mode == "default" and why.rule is None
    assert (await talk.hub.verdict(EVE, why.verdict.id)).verdict.id == why.verdict.id


async def test_why_refuses_what_is_no_call_or_not_decided(talk: Talk) -> None:
    """ours: in words that say what to do"""
    session = (await talk.new("touch")).id
    await talk.question(session)
    with pytest.raises(NotFound, match="waits for an answer"):
        await talk.hub.why(EVE, session)
    with pytest.raises(NotFound, match="is no tool call"):
        await talk.hub.why(EVE, session, seq=1)
    with pytest.raises(NotFound, match="no tool call"):
        await talk.hub.why(EVE, session, tool_use="toolu_none")
    for name in ("nothing", f"{session}.1", f"{session}.99999"):
        with pytest.raises(NotFound, match="ropewalk audit"):
            await talk.hub.verdict(EVE, name)
    with pytest.raises(NotAllowed):
        await talk.hub.audit(Principal("nobody"), c.AuditFilter())


async def test_a_call_that_was_asked_and_never_answered_did_not_run(talk: Talk) -> None:
    """ours: interrupted while people were asked; it is no line of the CLI's own making"""
    session = (await talk.new("touch")).id
    await talk.question(session)
    await talk.hub.interrupt(MIA, session, c.Interrupt())
    await talk.turns(session, 1)
    [line] = await audit(talk)
    assert (line.behavior, line.because) == ("deny", "nobody answered: Claude no longer asked")
    assert (await talk.hub.why(EVE, session)).words == "not run; nobody answered: Claude no longer asked"


async def test_what_the_cli_refuses_by_itself_is_a_denial_of_its_own(talk: Talk) -> None:
    """measured: refused in the mode dontAsk, without a question"""
    session = (await talk.new("far", permission_mode="dontAsk", options=c.SessionOptions(disallowed_tools=["Write"]))).id
    await talk.turns(session, 1)
    [line] = await audit(talk)
    assert (line.because_kind, line.behavior) == ("cli", "deny") and line.because.startswith("Claude Code itself: ")


async def test_lines_of_archived_sessions_stay(talk: Talk) -> None:
    """ours"""
    session = await played(talk, "list")
    await talk.hub.change(MIA, session, c.ChangeSession(archived=True))
    assert [line.session for line in await audit(talk)] == [session]


async def test_the_whole_audit_as_a_file_that_no_spreadsheet_runs(talk: Talk) -> None:
    """ours: every row, also past one page; a cell that begins like a formula is kept behind an apostrophe"""
    await five(talk)
    await answered(talk, "far", behavior="deny", message='=HYPERLINK("http://evil")')
    rows = list(csv.DictReader(io.StringIO((await exported(talk, "csv")).decode())))
    lines = [json.loads(line) for line in (await exported(talk, "jsonl")).splitlines()]
    views = await audit(talk)
    assert [row["id"] for row in rows] == [line["id"] for line in lines] == [view.id for view in views]
    assert rows[0]["message"] == '\'=HYPERLINK("http://evil")' and lines[0]["message"] == '=HYPERLINK("http://evil")'
    assert rows[0]["time"].startswith("20") and json.loads(rows[1]["input"]) == {"command": "touch it"}
    with pytest.raises(UsageError, match="csv, jsonl"):
        await exported(talk, "xlsx")


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@a", "\t=1", " =1", "\r=1", "\uff1d1"])
def test_a_cell_that_a_spreadsheet_would_run_is_text(cell: str) -> None:
    """ours: with spaces before it, and in wide letters, too"""
    assert safe(cell) == f"'{cell}"


def test_other_cells_are_left_as_they_are() -> None:
    """ours"""
    assert [safe(cell) for cell in ("", "a=1", "1", "'x", "Run: -rf")] == ["", "a=1", "1", "'x", "Run: -rf"]


async def test_no_row_of_the_audit_is_changed_or_removed(house: House, talk: Talk) -> None:
    """ours: S46; not even by whoever writes into the database beside the hub"""
    await answered(talk, "touch", behavior="allow")
    with sqlite3.connect(house.home / "ropewalk.db") as other:
        for words in ("UPDATE verdict SET because = 'x'", "DELETE FROM verdict"):
            with pytest.raises(sqlite3.IntegrityError, match="a verdict is never"):
                other.execute(words)
    other.close()
