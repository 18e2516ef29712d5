"""A large log: no question reads all of it, opening and listing stay quick, one search has its time and no more."""

from __future__ import annotations

import re
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from ropewalk.store.base import Change, Entry, Line, Search, SessionFilter, put
from ropewalk.store.memory import MemoryStore
from ropewalk.store.rows import PromptRow, QuestionRow, SessionRow
from ropewalk.store.sqlite import open_store, searching
from tests.store.words import SEARCHED, begin, facts, heard, said


async def use_everything(store: MemoryStore) -> None:
    """Every statement that a hub's day is made of."""
    await begin(store)
    for n in (1, 2, 2):
        await store.append(heard(n, "hello"))
    await store.append(Entry(session="s", epoch=1, events=said("a"), lines=[Line("p", "in", 1, 1.0, b"x")]))
    await store.append(facts("a", rows=[Change("session", {"id": "s"}, {"title": "t"})]))
    await store.raise_epochs()
    for question in (store.get(SessionRow, "s"), store.get(PromptRow, "x"), store.sessions(SessionFilter(text="t"))):
        await question
    await store.find(QuestionRow, {"state": "open"}, order="opened_at")
    await store.find(PromptRow, {"session": "s", "state": ("queued", "sent", "taken")}, order="position")
    await store.events("s", after=1, kinds=["said"])
    await store.last_events("s")
    await store.event("s", 1)
    await store.lines("s", dir="out")
    await store.line("p", 1)
    await store.last_lines("p")
    assert [line async for line in store.conversation("p")]
    assert (await store.search(Search(text="hello", session="s", since=0.5))).hits
    await store.usage("day", since=1.0)
    await store.away(0.0)
    await store.size()


async def test_no_question_reads_the_whole_log() -> None:
    """PROOF G24: what a hub asks for, at its start or later, is found by a key, however long the log is."""
    store = MemoryStore(SEARCHED, 1 << 20)
    asked: list[str] = []
    store._connection.set_trace_callback(asked.append)
    await use_everything(store)
    store._connection.set_trace_callback(None)
    selects = {sql for sql in asked if sql.lstrip().startswith(("SELECT", "UPDATE", "DELETE"))}
    assert len(selects) > 20
    for sql in selects:
        plan = [row[3] for row in store._connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
        scans = [step for step in plan if re.match(r"(SCAN|SEARCH) (event|line)\b(?!.* USING )", step)]
        assert not scans, f"{sql}: {plan}"
    store.close()


@pytest.mark.slow
async def test_a_hundred_thousand_events_open_and_list_at_once(tmp_path: Path) -> None:
    """PROOF G24, and the list of a thousand sessions: by the processor's clock, the machine is shared."""
    async with open_store(tmp_path / "db") as store:
        for n in range(1000):
            rows = [put(SessionRow(id=f"s{n}", title=f"Session {n}", changed_at=float(n)))]
            store.post(Entry(session=f"s{n}", rows=rows, events=said(*["words " * 20] * 100, session=f"s{n}"), keep=True))
        await store.settled()
        for suffix in ("", "-wal"):  # as a kill leaves them
            shutil.copy(f"{tmp_path / 'db'}{suffix}", f"{tmp_path / 'killed'}{suffix}")
    began = time.process_time()
    async with open_store(tmp_path / "killed") as store:
        assert len(await store.raise_epochs()) == 1000
        assert time.process_time() - began < 3.0
        times = []
        for _ in range(5):
            began = time.process_time()
            page = await store.sessions(SessionFilter(limit=1000))
            times.append(time.process_time() - began)
        assert len(page.sessions) == 1000 and page.sessions[0].last_seq == 100
        assert min(times) < 0.05


async def test_a_search_that_takes_too_long_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PROOF S32: a second, not a core."""
    monkeypatch.setattr(searching, "CAP_SECONDS", 0.0)
    async with open_store(tmp_path / "db", searched=SEARCHED) as store:
        await begin(store)
        await store.append(facts(*[f"word number {n}" for n in range(3000)]))
        while (await store.size()).unindexed:
            await store.get(SessionRow, "s")
        page = await store.search(Search(text="word", since=1e9))
        assert page.cut and page.hits == []
        assert len((await store.search(Search(text="2999"))).hits) == 1
        assert store.health.well


async def test_outside_checkers_can_read_both_logs(tmp_path: Path) -> None:
    """Ours: the views event_log and line_log, for eyes and for those who compare ledgers."""
    async with open_store(tmp_path / "db") as store:
        await begin(store)
        await store.append(heard(4, "hello"))
        await store.append(Entry(session="s", lines=[Line("p", "in", 1, 9.0, b"prompt")]))
    connection = sqlite3.connect(tmp_path / "db")
    assert connection.execute("SELECT session, seq, kind, process, line_no, part FROM event_log").fetchall() == [
        ("s", 1, "said", "p", 4, 0)
    ]
    lines = connection.execute("SELECT session, process, dir, n, at, raw FROM line_log ORDER BY cursor").fetchall()
    assert lines == [("s", "p", "out", 4, 4.0, b"line 4"), ("s", "p", "in", 1, 9.0, b"prompt")]
    connection.close()
