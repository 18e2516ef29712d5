"""What every store promises to those who read: pages that join, the wire in order, search without surprises, sums."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ropewalk.errors import UsageError
from ropewalk.store.base import (
    Change,
    Entry,
    Given,
    LastLines,
    Latest,
    Less,
    Line,
    More,
    Search,
    Searchable,
    SessionFilter,
    Store,
    put,
)
from ropewalk.store.rows import ROWS, ProcessRow, PromptRow, RuleRow, SessionRow, TableRow, TokenRow, TurnRow, VerdictRow
from tests.contract.store_rig import opener, store
from tests.store.words import BOUND, Counted, Finished, Said, begin, facts, heard, said

__all__ = ["opener", "store"]


# --- rows


EXAMPLES: dict[str, dict[str, object]] = {
    "session": {"id": "x", "tags": ["a", "b"], "archived": True, "options": b"\0\xff", "cost_usd": 0.25},
    "process": {"id": "x", "session": "s", "argv": ["claude", "--print"], "pid": 7, "exit_code": -9},
    "prompt": {"id": "x", "session": "s", "position": 1.5, "text": "hi", "content": b"[1]"},
    "question": {"id": "x", "session": "s", "process": "p", "request_id": "r", "verdict": b"{}"},
    "verdict": {"id": "x", "session": "s", "behavior": "allow", "because": "rule", "ran": b"{}"},
    "command": {"principal": "x", "client_id": "c", "reply": b"{}"},
    "turn": {"session": "x", "seq": 4, "model": "m", "prompts": ["p1"], "failed": True},
    "rule": {"id": "x", "behavior": "deny", "tool": "Bash", "uses_left": 3},
    "token": {"id": "x", "hash": "h", "roles": ["watch", "answer"]},
    "device": {"id": "x", "push": b"{}"},
    "runner": {"id": "x", "drained": True, "said": b"{}"},
    "attachment": {"id": "x", "session": "s", "size": 2**40},
    "seen": {"person": "x", "session": "s", "muted_until": 1e12},
    "setting": {"person": "x", "name": "theme", "value": b'"dark"'},
}


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: str(kind.table))
async def test_a_row_comes_back_as_it_was_put(store: Store, kind: type[TableRow]) -> None:
    """Ours: one row model, one mapper; every column of every table."""
    row = kind(**EXAMPLES[kind.table])
    await store.append(Entry(rows=[put(row)]))
    key: list[str | int] = [getattr(row, name) for name in kind.key]
    assert await store.get(kind, *key) == row
    assert await store.find(kind) == [row]
    assert await store.get(kind, *["nobody" if isinstance(part, str) else 0 for part in key]) is None


async def test_rows_are_found_by_conditions_and_in_order(store: Store) -> None:
    """Ours: the queue of a session."""
    places = {"a": 3.0, "b": 1.0, "c": 2.0, "d": 4.0}
    await store.append(Entry(rows=[put(PromptRow(id=id, session="s", position=at)) for id, at in places.items()]))
    await store.append(Entry(rows=[Change("prompt", {"id": "d"}, {"state": "done", "turn": 9})]))

    async def ids(where: dict[str, object], **how: object) -> str:
        return "".join(row.id for row in await store.find(PromptRow, where, **how))  # type: ignore[arg-type]

    assert await ids({}) == "abcd"
    assert await ids({"session": "s", "state": ("queued", "sent")}, order="position") == "bca"
    assert await ids({"position": More(1.0), "turn": None}, order="position", newest=True, limit=2) == "ac"
    assert await ids({"position": Less(2.0)}) == "b"
    assert await ids({"session": "t"}) == ""
    with pytest.raises(ValueError):
        await ids({"nothing": 1})


async def test_a_token_is_found_by_its_hash(store: Store) -> None:
    """Ours."""
    await store.append(Entry(rows=[put(TokenRow(id="t", hash="abc")), put(RuleRow(id="r", behavior="ask", tool="Bash"))]))
    assert [row.id for row in await store.find(TokenRow, {"hash": "abc", "revoked_at": None})] == ["t"]


# --- sessions


async def listed(store: Store, **asked: object) -> list[str]:
    return [row.id for row in (await store.sessions(SessionFilter(**asked))).sessions]  # type: ignore[arg-type]


async def fill(store: Store) -> None:
    await begin(store, "one", "p1", title="Fix 100% of it", cwd="/code/shop", status="idle", changed_at=1.0, tags=["red", "blue"])
    await begin(store, "two", "p2", title="Rename_tables", cwd="/code/api", status="waiting", changed_at=3.0, runner="far")
    await begin(store, "three", "p3", last_prompt="say Hello", status="idle", changed_at=2.0, tags=["blueish"])
    await begin(store, "four", "p4", archived=True, changed_at=4.0)


async def test_sessions_are_listed_changed_last_first(store: Store) -> None:
    """Ours."""
    await fill(store)
    assert await listed(store) == ["two", "three", "one"]
    assert await listed(store, archived=None) == ["four", "two", "three", "one"]
    assert await listed(store, archived=True) == ["four"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"status": ("idle",)}, ["three", "one"]),
        ({"status": ("idle", "waiting"), "limit": 2}, ["two", "three"]),
        ({"runner": "far"}, ["two"]),
        ({"folder": "/code/shop"}, ["one"]),
        ({"tag": "blue"}, ["one"]),
        ({"text": "hello"}, ["three"]),
        ({"text": "code"}, ["two", "one"]),
        ({"text": "%"}, ["one"]),
        ({"text": "_"}, ["two"]),
        ({"text": "thr"}, ["three"]),
        ({"text": "\\"}, []),
        ({"text": "' OR 1 --"}, []),
        ({"text": "\ud800"}, []),
    ],
)
async def test_sessions_are_filtered(store: Store, asked: dict[str, object], found: list[str]) -> None:
    """Ours; PROOF S39: the wildcards of LIKE mean themselves."""
    await fill(store)
    assert await listed(store, **asked) == found


async def test_pages_of_sessions_join_without_a_gap_or_a_repeat(store: Store) -> None:
    """Ours: also where many changed at the same moment."""
    rows = [put(SessionRow(id=f"s{n:02}", changed_at=float(n // 4))) for n in range(25)]
    await store.append(Entry(rows=rows))
    seen: list[str] = []
    cursor = ""
    for _ in range(9):
        page = await store.sessions(SessionFilter(limit=3, cursor=cursor))
        seen += [row.id for row in page.sessions]
        if not (cursor := page.cursor):
            break
    assert seen == sorted((f"s{n:02}" for n in range(25)), reverse=True)
    with pytest.raises(UsageError):
        await store.sessions(SessionFilter(cursor="page 2"))


# --- events and lines


async def test_after_n_comes_exactly_n_plus_one_and_on(store: Store) -> None:
    """PROOF G11."""
    await begin(store)
    await begin(store, "t", "q")
    for n in range(1, 21):
        store.post(facts(f"{n}"))
        store.post(facts("other", session="t"))
    await store.settled()
    assert [seq for seq, _ in await store.events("s", after=17)] == [18, 19, 20]
    assert [seq for seq, _ in await store.events("s", after=2, limit=3)] == [3, 4, 5]
    for after in (20, 21, 2**31, 2**32, 2**63, 10**30):
        assert await store.events("s", after=after) == []
    assert len(await store.events("s", after=-5)) == 20
    assert await store.events("nobody") == []


async def test_a_page_ends_with_the_event_that_goes_past_its_bytes(store: Store) -> None:
    """ours: many small events say nothing about the size of the next ones."""
    await begin(store)
    for n in range(40):
        store.post(facts("x" if n < 20 else "x" * 10_000))
    await store.settled()
    page = await store.events("s", most=35_000)
    assert len(page) == 24
    assert [seq for seq, _ in await store.events("s", after=page[-1][0], most=1)] == [25]
    assert len(await store.events("s")) == 40


async def test_the_last_events_can_be_had_without_the_first(store: Store) -> None:
    """Ours: a page opens at the end and scrolls up."""
    await begin(store)
    await store.append(
        Entry(session="s", events=[Said(session="s"), Counted(session="s"), Said(session="s"), Counted(session="s")])
    )
    assert [seq for seq, _ in await store.last_events("s", limit=2)] == [3, 4]
    assert [seq for seq, _ in await store.last_events("s", limit=2, before=3)] == [1, 2]
    assert [seq for seq, _ in await store.last_events("s", limit=5, kinds=["said"])] == [1, 3]


async def test_an_event_says_where_it_came_from(store: Store) -> None:
    """Ours: a text that was too long for its event is read from its line."""
    await begin(store)
    await store.append(heard(12, "from a line"))
    await store.append(facts("our own"))
    first, second = await store.event("s", 1), await store.event("s", 2)
    assert first is not None and (first.kind, first.process, first.line_no) == ("said", "p", 12)
    assert second is not None and (second.process, second.line_no) == (None, None)
    line = await store.line("p", 12)
    assert line is not None and line.raw == b"line 12"
    assert await store.event("s", 3) is None and await store.event("nobody", 1) is None


async def conversation(store: Store) -> None:
    """Two processes of one session, words going both ways, numbers with gaps."""
    await begin(store)
    await store.append(Entry(rows=[put(ProcessRow(id="p2", session="s"))]))
    for line in (
        Line("p", "in", 1, 1.0, b"initialize"),
        Line("p", "in", 2, 1.1, b"prompt"),
        Line("p", "out", 1, 1.2, b"system"),
        Line("p", "out", 7, 1.3, b"question"),
        Line("p", "in", 3, 1.4, b"answer"),
        Line("p", "out", 8, 1.5, b"result"),
        Line("p2", "in", 1, 2.0, b"initialize again"),
        Line("p2", "out", 1, 2.1, b"system again"),
    ):
        store.post(Entry(session="s", lines=[line], keep=True))
    await store.settled()


async def test_a_conversation_comes_back_in_its_order(store: Store) -> None:
    """ours: a Connection is rebuilt from the stored lines of both directions."""
    await conversation(store)
    lines = [(line.dir, line.n, line.raw) async for line in store.conversation("p")]
    assert lines == [
        ("in", 1, b"initialize"), ("in", 2, b"prompt"), ("out", 1, b"system"), ("out", 7, b"question"), ("in", 3, b"answer"),
        ("out", 8, b"result"),
    ]  # fmt: skip
    assert [line async for line in store.conversation("nobody")] == []
    assert await store.last_lines("p") == LastLines(out=8, in_=3)
    assert await store.last_lines("nobody") == LastLines(0, 0)


async def test_the_wire_of_a_session_is_paged_over_its_processes(store: Store) -> None:
    """ours: /lines?after=&dir=."""
    await conversation(store)
    everything = await store.lines("s")
    assert [line.process for line in everything] == ["p"] * 6 + ["p2"] * 2
    paged, after = [], 0
    while page := await store.lines("s", after=after, limit=3):
        paged += page
        after = page[-1].cursor
    assert paged == everything
    assert [line.n for line in await store.lines("s", dir="out")] == [1, 7, 8, 1]
    assert [line.raw for line in await store.lines("s", dir="in", after=everything[2].cursor)] == [b"answer", b"initialize again"]
    line = await store.line("p", 3, "in")
    assert line is not None and line.raw == b"answer"


async def test_a_conversation_longer_than_a_page_is_whole(store: Store) -> None:
    """Ours."""
    await begin(store)
    for n in range(1, 1301):
        store.post(heard(n))
    await store.settled()
    assert [line.n async for line in store.conversation("p")] == list(range(1, 1301))


# --- search


async def found(store: Store, text: str, **asked: object) -> list[tuple[str, int]]:
    async with asyncio.timeout(BOUND):
        while (await store.size()).unindexed:
            await asyncio.sleep(0.005)
    return [(hit.session, hit.seq) for hit in (await store.search(Search(text=text, **asked))).hits]  # type: ignore[arg-type]


async def library(store: Store) -> None:
    await begin(store, "s", "p")
    await begin(store, "t", "q")
    await store.append(Entry(session="s", events=said("npm run migrate -- --env local", tool="Bash")))
    await store.append(Entry(session="s", events=said("Übergrößenträger in src/checkout/total.ts", "the MIGRATE button")))
    await store.append(Entry(session="t", events=[Said(session="t", at=50.0, text="migrate the tables"), Counted(session="t")]))


@pytest.mark.parametrize(
    ("words", "hits"),
    [
        ("migrate", [("t", 1), ("s", 3), ("s", 1)]),
        ("MIGRATE tables", [("t", 1)]),
        ("migr", [("t", 1), ("s", 3), ("s", 1)]),
        ("migr ", []),
        ('"run migrate"', [("s", 1)]),
        ('"migrate run"', []),
        ("ubergroßentrager", [("s", 2)]),
        ("total.ts", [("s", 2)]),
        ("src/checkout", [("s", 2)]),
        ("--env", [("s", 1)]),
        ("nothing", []),
        ("", []),
        ("--", []),
        ('"', []),
        ('"unfinished', []),
        ("migrate AND", []),
        ("NOT migrate", []),
        ("text:migrate", []),
        ("migrate*", [("t", 1), ("s", 3), ("s", 1)]),
        ("NEAR(migrate run)", []),
        ("(migrate", [("t", 1), ("s", 3), ("s", 1)]),
        ("^migrate", [("t", 1), ("s", 3), ("s", 1)]),
        ("migrate\0 \ud800", [("t", 1), ("s", 3), ("s", 1)]),
        ("{tool} : Bash", []),
        ("'; DROP TABLE event; --", []),
    ],
)
async def test_search_finds_words_and_takes_none_as_syntax(store: Store, words: str, hits: list[tuple[str, int]]) -> None:
    """FACES M10; PROOF S32, S39: newest session first; every sign means itself."""
    await library(store)
    assert await found(store, words) == hits


async def test_search_can_be_narrowed(store: Store) -> None:
    """ours: in, tool, from, to."""
    await library(store)
    assert await found(store, "migrate", session="s") == [("s", 3), ("s", 1)]
    assert await found(store, "migrate", tool="bash") == [("s", 1)]
    assert await found(store, "migrate", since=10.0) == [("t", 1)]
    assert await found(store, "migrate", until=10.0) == [("s", 3), ("s", 1)]
    assert await found(store, "migrate", kinds=("counted",)) == []
    assert await found(store, "migrate", session="nobody") == []


async def test_a_hit_shows_its_text_and_pages_join(store: Store) -> None:
    """Ours."""
    await library(store)
    await found(store, "migrate")
    first = await store.search(Search(text="migrate", limit=2))
    assert [hit.found for hit in first.hits] == [Searchable("migrate the tables"), Searchable("the MIGRATE button")]
    rest = await store.search(Search(text="migrate", limit=2, cursor=first.cursor))
    assert [(hit.session, hit.seq, hit.kind, hit.at) for hit in rest.hits] == [("s", 1, "said", 1.0)]
    assert (rest.cursor, rest.cut, rest.behind) == (0, False, 0)


# --- sums


async def test_usage_is_summed_and_unknown_costs_are_said(store: Store) -> None:
    """FACES F-46: one number on all faces; unknown is "not known", not 0."""
    day = 86_400.0
    turns = [
        TurnRow(session="s", seq=3, model="opus", folder="/a", at=day, cost_usd=1.0, input_tokens=10, output_tokens=1),
        TurnRow(session="s", seq=3, model="haiku", folder="/a", at=day, cost_usd=0.5, input_tokens=20, cache_read_tokens=5),
        TurnRow(session="s", seq=9, model="opus", folder="/a", at=2 * day, cost_usd=None),
        TurnRow(session="t", seq=4, model="opus", folder="/b", at=2 * day, cost_usd=4.0, cache_write_tokens=7),
    ]
    await store.append(Entry(rows=[put(turn) for turn in turns]))

    async def sums(by: str, **when: float) -> list[tuple[str, int, float, int]]:
        return [(row.name, row.turns, row.cost_usd, row.unknown) for row in await store.usage(by, **when)]  # type: ignore[arg-type]

    assert await sums("day") == [("1970-01-02", 1, 1.5, 0), ("1970-01-03", 2, 4.0, 1)]
    assert await sums("model") == [("opus", 3, 5.0, 1), ("haiku", 1, 0.5, 0)]
    assert await sums("folder") == [("/b", 1, 4.0, 0), ("/a", 2, 1.5, 1)]
    assert await sums("session", since=2 * day) == [("t", 1, 4.0, 0), ("s", 1, 0.0, 1)]
    assert await sums("session", until=1.0) == []
    [first, _] = await store.usage("day")
    assert (first.input_tokens, first.output_tokens, first.cache_read_tokens, first.cache_write_tokens) == (30, 1, 5, 0)


async def test_what_happened_while_away(store: Store) -> None:
    """ours: /events/summary?after=."""
    await begin(store, "s", "p", changed_at=9.0)
    await begin(store, "t", "q", changed_at=2.0)
    for at in (1.0, 6.0, 7.0):
        await store.append(Entry(session="s", events=[Said(session="s", at=at), Counted(session="s", at=at)]))
    [away] = await store.away(5.0)
    assert (away.session.id, away.first_seq, away.kinds) == ("s", 3, {"said": 2, "counted": 2})


async def test_the_size_counts_sessions(store: Store) -> None:
    """Ours."""
    await begin(store)
    size = await store.size()
    assert size.sessions == 1 and size.file_bytes > 0 and size.waiting == 0


# --- newest first


async def test_verdicts_are_read_newest_first_and_pages_join_while_more_come(store: Store) -> None:
    """Ours: a page goes on from the place of the last one, also where many have the same time."""
    for number in range(25):
        await store.append(Entry(rows=[put(VerdictRow(id=f"v{number:02}", session="s", at=float(number // 10)))]))
    read: list[str] = []
    page = await store.verdicts(Given(limit=7))
    while page:
        read += [row.id for _, row in page]
        await store.append(Entry(rows=[put(VerdictRow(id=f"late{len(read)}", session="s", at=99.0))]))
        page = await store.verdicts(Given(limit=7, before=page[-1][0]))
    assert read == [f"v{number:02}" for number in reversed(range(25))]


async def test_verdicts_are_found_by_what_they_say_and_by_who_made_the_rule(store: Store) -> None:
    """Ours: each filter alone and together; text is taken by the letter."""
    rows = [
        VerdictRow(
            id="a", session="s", tool="Bash", what="Run: echo 100%", behavior="allow", because_kind="person", by="Mia", at=1.0
        ),
        VerdictRow(
            id="b", session="t", tool="Bash", what="Run: ls", behavior="allow", because_kind="rule", because_id="r", at=2.0
        ),
        VerdictRow(id="c", session="t", tool="Read", what="Read: x", behavior="deny", because_kind="grant", tool_use="u", at=3.0),
    ]
    rule = RuleRow(id="r", behavior="allow", tool="Bash", by="Jo", door="page")
    await store.append(Entry(rows=[put(rule), *(put(row) for row in rows)]))

    async def found(**asked: object) -> str:
        return "".join(row.id for _, row in await store.verdicts(Given(**asked)))  # type: ignore[arg-type]

    assert await found() == "cba"
    assert (await found(session="t"), await found(tool="Bash"), await found(behavior="deny")) == ("cb", "ba", "c")
    assert (await found(kinds=("rule", "grant")), await found(tool_use="u"), await found(text="RUN")) == ("cb", "c", "ba")
    assert (await found(text="0%"), await found(text="%"), await found(text="_")) == ("a", "a", "")
    assert (await found(who="Jo"), await found(door="page"), await found(who="Mia")) == ("b", "b", "a")
    assert (await found(since=2.0), await found(until=2.0), await found(since=2.0, until=3.0)) == ("cb", "a", "b")
    assert await found(session="t", tool="Bash", who="nobody") == ""


async def test_events_of_one_kind_are_read_newest_first_over_all_sessions_or_of_one(store: Store) -> None:
    """Ours: by time, not by session; pages join."""
    for session in ("s", "t"):
        await begin(store, session, f"p-{session}")
    for number in range(9):
        session = "st"[number % 2]
        told: list[Any] = [Finished(session=session, at=float(number), tool_use=f"u{number}"), *said("x", session=session)]
        await store.append(Entry(session=session, events=told))

    async def read(**asked: object) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        page = await store.latest(Latest(kind="tool_finished", limit=2, **asked))  # type: ignore[arg-type]
        while page:
            found += [(event.session, int(event.at)) for _, event in page]
            page = await store.latest(Latest(kind="tool_finished", limit=2, before=page[-1][0], **asked))  # type: ignore[arg-type]
        return found

    assert await read() == [("st"[number % 2], number) for number in reversed(range(9))]
    assert await read(session="t") == [("t", 7), ("t", 5), ("t", 3), ("t", 1)]
    assert await read(since=3.0, until=5.0) == [("s", 4), ("t", 3)]
    assert await read(session="nobody") == []
    assert len(await store.latest(Latest(kind="said", session="s"))) == 5
