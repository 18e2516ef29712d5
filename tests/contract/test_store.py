"""What every store promises to those who write: whole entries, dense numbers, conditions, fences, nothing twice."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import msgspec
import pytest

from ropewalk.errors import ConditionFailed, Fenced, StoreUnavailable
from ropewalk.store.base import Change, Entry, Line, Plus, Put, Remove, RowChange, SeqOf, Store, Stored, cleaned, put
from ropewalk.store.rows import CommandRow, ProcessRow, QuestionRow, SeenRow, SessionRow, TurnRow
from tests.contract.store_rig import Opener, opener, store
from tests.store.words import BOUND, Counted, Said, begin, facts, heard, run, said, texts

__all__ = ["opener", "store"]


def question(id: str, **more: Any) -> QuestionRow:
    return QuestionRow(id=id, session="s", process="p", request_id=f"r-{id}", **more)


# --- numbers


async def test_events_are_numbered_from_one_without_a_gap(store: Store) -> None:
    """Ours: one durable counter a session, given by the store."""
    await begin(store)
    await store.append(facts("a", "b"))
    stored = await store.append(facts("c"))
    assert [event.seq for event in stored.entry.events] == [3]
    assert await texts(store) == [(1, "a"), (2, "b"), (3, "c")]


async def test_each_session_has_its_own_numbers(store: Store) -> None:
    """Ours."""
    await begin(store, "s", "p")
    await begin(store, "t", "q")
    for text in "abc":
        store.post(facts(text, session="s"))
        store.post(facts(text.upper(), session="t"))
    await store.settled()
    assert await texts(store, "s") == [(1, "a"), (2, "b"), (3, "c")]
    assert await texts(store, "t") == [(1, "A"), (2, "B"), (3, "C")]
    row = await store.get(SessionRow, "t")
    assert row is not None and row.last_seq == 3


async def test_the_body_that_is_told_is_the_one_that_is_stored(store: Store) -> None:
    """Ours: encoded once, with its number in it."""
    await begin(store)
    stored = await store.append(facts("hello", "world"))
    assert [(1, stored.bodies[0]), (2, stored.bodies[1])] == await store.events("s")
    assert msgspec.json.decode(stored.bodies[1], type=Said) == stored.entry.events[1]


async def test_what_is_told_is_told_in_the_order_of_appending(store: Store) -> None:
    """Ours."""
    await begin(store)
    told: list[Stored] = []
    for number in range(2000):
        entry = facts(str(number))
        entry.on_stored = told.append
        store.post(entry)
    await store.settled()
    assert [stored.entry.events[0].seq for stored in told] == list(range(1, 2001))


async def test_append_tells_nobody_before_it_returns(store: Store) -> None:
    """Ours: never inside the call, so that a caller can finish its own step first."""
    await begin(store)
    told: list[Stored] = []
    entry = facts("a")
    entry.on_stored = told.append
    store.post(entry)
    assert told == []
    await store.settled()
    assert len(told) == 1


# --- whole or not at all


async def test_a_change_whose_condition_does_not_hold_fails_its_entry_alone(store: Store) -> None:
    """ours, answer once: the second gets a clear no; the entries beside it are unharmed, and no number is used up."""
    await begin(store)
    await store.append(Entry(rows=[put(question("q"))]))

    def answer(by: str) -> Entry:
        change = Change("question", {"id": "q"}, {"state": "answered", "by": by}, where={"state": "open"})
        return Entry(session="s", events=said(f"answered by {by}"), rows=[change])

    futures = [
        store.append(facts("before")),
        store.append(answer("Mia")),
        store.append(answer("Jo")),
        store.append(facts("after")),
    ]
    outcomes = await asyncio.wait_for(asyncio.gather(*futures, return_exceptions=True), BOUND)
    assert [type(outcome) for outcome in outcomes] == [Stored, Stored, ConditionFailed, Stored]
    assert await texts(store) == [(1, "before"), (2, "answered by Mia"), (3, "after")]
    row = await store.get(QuestionRow, "q")
    assert row is not None and (row.state, row.by) == ("answered", "Mia")


@pytest.mark.parametrize("failing", [0, 1, 2])
async def test_a_failed_change_undoes_the_others_of_its_entry(store: Store, failing: int) -> None:
    """Ours: all or nothing, wherever the bad one stands; the good entries of the same commit stay."""
    await begin(store)
    rows: list[Any] = [
        Change("session", {"id": "s"}, {"title": "new"}),
        put(question("q")),
        put(SeenRow(person="mia", session="s")),
    ]
    rows.insert(failing, Change("session", {"id": "nobody"}, {"title": "x"}))
    good, bad, also_good = store.append(facts("a")), store.append(facts("never", rows=rows)), store.append(facts("b"))
    await good, await also_good
    with pytest.raises(ConditionFailed):
        await bad
    session = await store.get(SessionRow, "s")
    assert session is not None and session.title == ""
    assert await store.find(QuestionRow) == [] and await store.find(SeenRow) == []
    assert await texts(store) == [(1, "a"), (2, "b")]


async def test_an_event_that_can_not_be_encoded_fails_its_entry_alone(store: Store) -> None:
    """Ours: rows and lines of it are undone too."""
    await begin(store)
    bad = facts("never", rows=[Change("session", {"id": "s"}, {"title": "new"})])
    bad.events = [*bad.events, Said(session="s", text=object())]  # type: ignore[arg-type]
    bad.lines = [Line("p", "out", 7, 1.0, b"never")]
    good, failed, also_good = store.append(facts("a")), store.append(bad), store.append(facts("b"))
    await good, await also_good
    with pytest.raises(TypeError):
        await failed
    assert await texts(store) == [(1, "a"), (2, "b")]
    assert await store.line("p", 7) is None
    session = await store.get(SessionRow, "s")
    assert session is not None and session.title == ""


async def test_a_session_and_its_first_event_come_together(store: Store) -> None:
    """Ours."""
    await store.append(Entry(session="s", rows=[put(SessionRow(id="s"))], events=said("created")))
    assert await texts(store) == [(1, "created")]


async def test_a_session_whose_entry_failed_is_not_there(store: Store) -> None:
    """Ours: and the next one of that name starts at 1."""
    rows: list[RowChange] = [put(SessionRow(id="s")), Change("session", {"id": "nobody"}, {"title": "x"})]
    with pytest.raises(ConditionFailed):
        await store.append(Entry(session="s", rows=rows, events=said("never")))
    assert await store.get(SessionRow, "s") is None
    with pytest.raises(ConditionFailed, match="there is no session"):
        await store.append(facts("a"))
    await begin(store)
    await store.append(facts("a"))
    assert await texts(store) == [(1, "a")]


async def test_a_key_that_is_taken_fails_the_entry(store: Store) -> None:
    """PROOF G6: the same client id is the same command."""
    command = CommandRow(principal="mia", client_id="c1", kind="prompt", body_hash="h")
    await begin(store)
    await store.append(Entry(session="s", rows=[put(command)], events=said("once")))
    with pytest.raises(ConditionFailed):
        await store.append(Entry(session="s", rows=[put(command)], events=said("twice")))
    assert await store.get(CommandRow, "mia", "c1") == command
    assert await texts(store) == [(1, "once")]


async def test_a_request_is_one_question_of_its_process(store: Store) -> None:
    """ours: request_id unique per process."""
    await store.append(Entry(rows=[put(QuestionRow(id="a", session="s", process="p", request_id="r"))]))
    with pytest.raises(ConditionFailed):
        await store.append(Entry(rows=[put(QuestionRow(id="b", session="s", process="p", request_id="r"))]))
    await store.append(Entry(rows=[put(QuestionRow(id="c", session="s", process="other", request_id="r"))]))


async def test_a_row_can_be_put_over_an_older_one(store: Store) -> None:
    """Ours: what a person has seen."""
    for seq in (3, 9):
        await store.append(Entry(rows=[put(SeenRow(person="mia", session="s", seq=seq), over=True)]))
    assert [row.seq for row in await store.find(SeenRow)] == [9]


async def test_changes_can_add_reach_many_and_need_none(store: Store) -> None:
    """Ours: the questions of a dead process are lost in one change, also when there are none."""
    await begin(store)
    await store.append(Entry(rows=[put(question(id)) for id in "abc"]))
    lost = Change("question", {"process": "p"}, {"state": "lost"}, where={"state": ("open", "answered")}, must=False)
    await store.append(Entry(rows=[lost]))
    await store.append(Entry(rows=[lost, Change("session", {"id": "s"}, {"tries": Plus(1), "cost_usd": Plus(0.5)})]))
    assert {row.state for row in await store.find(QuestionRow)} == {"lost"}
    session = await store.get(SessionRow, "s")
    assert session is not None and (session.tries, session.cost_usd) == (1, 0.5)


async def test_a_row_can_be_removed_once(store: Store) -> None:
    """Ours."""
    await store.append(Entry(rows=[put(SeenRow(person="mia", session="s"))]))
    remove = Entry(rows=[Remove("seen", {"person": "mia", "session": "s"})])
    await store.append(remove)
    with pytest.raises(ConditionFailed):
        await store.append(remove)


async def test_a_row_can_hold_the_number_that_its_event_gets(store: Store) -> None:
    """Ours: what a turn cost stands beside its turn_ended."""
    await begin(store)
    await store.append(facts("one"))
    row = put(TurnRow(session="s", seq=0, model="m", cost_usd=0.1))
    await store.append(facts("two", "three", rows=[Put("turn", {**row.values, "seq": SeqOf(1)})]))
    assert [turn.seq for turn in await store.find(TurnRow)] == [3]


async def test_names_that_are_no_columns_are_refused(store: Store) -> None:
    """Ours: no name ever comes from outside, and none gets through if it does."""
    for rows in (
        [Put("sqlite_schema", {"name": "x"})],
        [Put("seen", {'person") --': "x"})],
        [Change("seen", {"person": "x"}, {"sequence": 1})],
        [Change("session", {"id": "s"}, {"epoch": 9})],
        [Change("session", {"id": "s"}, {"last_seq": 9})],
    ):
        with pytest.raises(ValueError):
            await store.append(Entry(rows=rows))
    assert await store.find(SeenRow) == []


# --- fences


async def test_a_writer_with_an_older_epoch_is_fenced(store: Store) -> None:
    """ours: a hub that was taken over writes nothing."""
    await begin(store)
    await store.append(Entry(session="s", epoch=1, events=said("mine")))
    assert await store.raise_epochs("the next hub") == {"s": 2}
    with pytest.raises(Fenced):
        await store.append(Entry(session="s", epoch=1, events=said("late"), rows=[put(question("q"))], keep=True))
    await store.append(Entry(session="s", epoch=2, events=said("theirs")))
    assert await texts(store) == [(1, "mine"), (2, "theirs")]
    assert await store.find(QuestionRow) == []
    row = await store.get(SessionRow, "s")
    assert row is not None and (row.epoch, row.owner) == (2, "the next hub")


# --- lines


async def test_a_line_heard_again_is_stored_once(store: Store) -> None:
    """ours, lines exactly once: a runner replays what it was not told is stored."""
    await begin(store)
    rows = [Change("session", {"id": "s"}, {"tries": Plus(1)})]
    for n in (1, 2, 3):
        await store.append(heard(n, f"text {n}", rows=rows))
    again = [await store.append(heard(n, f"text {n}", rows=rows)) for n in (2, 3, 4)]
    assert [stored.replayed for stored in again] == [True, True, False]
    assert again[0].bodies == []
    assert await texts(store) == [(1, "text 1"), (2, "text 2"), (3, "text 3"), (4, "text 4")]
    assert [line.raw for line in await store.lines("s")] == [b"line 1", b"line 2", b"line 3", b"line 4"]
    session = await store.get(SessionRow, "s")
    assert session is not None and session.tries == 4


async def test_a_line_heard_twice_before_the_first_is_stored_is_stored_once(store: Store) -> None:
    """Ours: both in one commit; what stands around them is unharmed."""
    await begin(store)
    entries = [heard(1, "a"), heard(2, "b"), heard(1, "a"), heard(2, "b"), heard(3, "c", "d")]
    stored = await asyncio.gather(*[store.append(entry) for entry in entries])
    assert [each.replayed for each in stored] == [False, False, True, True, False]
    assert await texts(store) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


async def test_a_replay_of_events_whose_line_is_not_kept_is_known_too(store: Store) -> None:
    """ours: unique (process, line_no, part); and a line that left no event is known by itself."""
    await begin(store)
    for _ in range(2):
        await store.append(Entry(session="s", events=said("a", "b"), process="p", line_no=5, keep=True))
        await store.append(heard(6))
    assert await texts(store) == [(1, "a"), (2, "b")]
    assert [line.n for line in await store.lines("s")] == [6]


async def test_a_run_of_lines_is_stored_as_its_lines_one_by_one_would_be(store: Store) -> None:
    """Ours: one entry for what came together; each event keeps the line that it comes from."""
    await begin(store)
    await store.append(run(1, ["a"], [], ["b", "c"]))
    assert await texts(store) == [(1, "a"), (2, "b"), (3, "c")]
    found = [await store.event("s", seq) for seq in (1, 2, 3)]
    assert [each.line_no for each in found if each] == [1, 3, 3]
    assert [line.n for line in await store.lines("s")] == [1, 2, 3]


async def test_of_a_run_that_is_heard_again_only_what_is_new_is_stored_and_told(store: Store) -> None:
    """Ours: a runner replays from what was acknowledged, which may be in the midst of a run."""
    await begin(store)
    await store.append(run(1, ["a"], ["b"]))
    again = await store.append(run(2, ["b"], ["c"], ["d"]))
    assert not again.replayed and [msgspec.json.decode(body)["text"] for body in again.bodies] == ["c", "d"]
    assert (await store.append(run(1, ["a"], ["b"], ["c"]))).replayed
    assert await texts(store) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert [line.n for line in await store.lines("s")] == [1, 2, 3, 4]
    assert not (await store.append(heard(5, "e"))).replayed


async def test_a_line_that_failed_can_be_stored_after_later_ones(store: Store) -> None:
    """Ours: only what is stored is a replay."""
    await begin(store)
    failed = store.append(heard(1, "a", rows=[Change("question", {"id": "none"}, {"state": "lost"})]))
    await store.append(heard(2, "b"))
    with pytest.raises(ConditionFailed):
        await failed
    assert not (await store.append(heard(1, "a, again"))).replayed
    assert await texts(store) == [(1, "b"), (2, "a, again")]
    assert [line.n for line in await store.lines("s")] == [1, 2]


async def test_lines_of_an_unknown_process_fail(store: Store) -> None:
    """Ours."""
    await begin(store)
    with pytest.raises(ConditionFailed, match="there is no process"):
        await store.append(Entry(session="s", lines=[Line("ghost", "out", 1, 1.0, b"boo")]))


# --- anything can come


LIMITS = [2**63 - 1, 2**63, 2**64, 10**40, -(2**63), -(10**40)]


@pytest.mark.parametrize("number", LIMITS)
async def test_any_integer_can_be_stored(store: Store, number: int) -> None:
    """ours: sqlite3 raises on integers from 2^63 on."""
    await begin(store)
    await store.append(
        Entry(session="s", events=said("n", number=number), rows=[Change("session", {"id": "s"}, {"added": number})])
    )
    [(_, body)] = await store.events("s")
    assert msgspec.json.decode(body)["number"] == number
    session = await store.get(SessionRow, "s")
    assert session is not None and session.added == max(min(number, 2**63 - 1), -(2**63))


@pytest.mark.parametrize("text", ["a\0b", "\ud83d", "x\ude00y", "é\ud800", "\ud83d\ude00", "\ud800" * 3])
async def test_any_text_can_be_stored(store: Store, text: str) -> None:
    """ours: sqlite3 raises on a lone surrogate, SQLite's length() stops at NUL."""
    await begin(store)
    change = Change("session", {"id": "s"}, {"title": text, "tags": [text, "tag"]})
    rows: list[RowChange] = [change, put(SeenRow(person=text, session="s"))]
    stored = await store.append(
        Entry(session="s", events=said(text), rows=rows, lines=[Line("p", "out", 1, 1.0, b"\0\xff\xed\xa0\x80")])
    )
    session = await store.get(SessionRow, "s")
    assert session is not None and session.title == cleaned(text) and session.tags == [cleaned(text), "tag"]
    assert await store.get(SeenRow, text, "s") is not None
    assert [line.raw for line in await store.lines("s")] == [b"\0\xff\xed\xa0\x80"]
    body = stored.bodies[0]
    assert await store.events("s") == [(1, body)]
    body.decode()
    assert msgspec.json.decode(body)["text"].replace("\0", "\ufffd") == cleaned(text)


def test_cleaning_keeps_what_is_text() -> None:
    """Ours: two halves that belong together become the letter that they are."""
    assert cleaned("plain, ünïcödé, 😀") == "plain, ünïcödé, 😀"
    assert cleaned("\ud83d\ude00") == "😀"
    assert cleaned("a\ud83db\0") == "a\ufffdb\ufffd"


async def test_a_number_that_is_none_is_not_known(store: Store) -> None:
    """Ours: NaN from a broken sum must not stop a turn from being stored."""
    await begin(store)
    await store.append(Entry(rows=[Change("session", {"id": "s"}, {"cost_usd": math.nan})]))
    session = await store.get(SessionRow, "s")
    assert session is not None and session.cost_usd is None


# --- what waits


async def test_an_empty_entry_is_stored(store: Store) -> None:
    """Ours."""
    assert (await store.append(Entry())).bodies == []


async def test_past_its_bound_wishes_fail_at_once_and_facts_do_not(opener: Opener) -> None:
    """Ours: reading never stops; what is bounded is what was not acknowledged."""
    async with opener(queue_bytes=1000) as store:
        await begin(store)
        rooms: list[bool] = []
        store.watch(lambda health: None, lambda: rooms.append(store.full))
        big = [Entry(lines=[Line("p", "out", n, 1.0, bytes(600))], keep=True) for n in (1, 2)]
        futures = [store.append(entry) for entry in big]
        assert store.full
        refused = store.append(facts("wish", keep=False))
        kept = store.append(facts("fact"))
        with pytest.raises(StoreUnavailable, match="does not keep up"):
            await refused
        await asyncio.gather(*futures, kept)
        assert rooms == [False]
        await store.append(facts("wish", keep=False))
        assert await texts(store) == [(1, "fact"), (2, "wish")]
        assert (await store.size()).waiting == 0


async def test_a_listener_that_raises_keeps_nobody_from_hearing(store: Store) -> None:
    """Ours."""
    await begin(store)
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    told: list[Stored] = []

    def raises(stored: Stored) -> None:
        raise LookupError("no such page")

    for listener in (raises, told.append):
        entry = facts("a")
        entry.on_stored = listener
        store.post(entry)
    await store.settled()
    assert len(told) == 1 and [type(each["exception"]) for each in complaints] == [LookupError]


async def test_a_posted_entry_that_fails_says_so(store: Store) -> None:
    """Ours: to its own ear, else to the loop's."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    failed: list[Exception] = []
    entry = facts("a")
    entry.on_failed = failed.append
    store.post(entry)
    store.post(facts("b"))
    await store.settled()
    assert [type(error) for error in failed] == [ConditionFailed]
    assert [type(each["exception"]) for each in complaints] == [ConditionFailed]


async def test_whoever_stops_waiting_harms_nobody(store: Store) -> None:
    """Ours: a cancelled caller's entry is stored all the same."""
    await begin(store)
    store.append(facts("a")).cancel()
    await store.append(facts("b"))
    assert await texts(store) == [(1, "a"), (2, "b")]


async def test_kinds_of_one_session_are_one_row_of_numbers(store: Store) -> None:
    """Ours: many kinds, processes and parts, one counter."""
    await begin(store)
    await store.append(Entry(rows=[put(ProcessRow(id="p2", session="s"))]))
    for n in range(1, 300):
        store.post(heard(n, "x", process="p" if n % 2 else "p2"))
        store.post(Entry(session="s", events=[Counted(session="s", at=2.0)], keep=True))
    await store.settled()
    assert [seq for seq, _ in await store.events("s", limit=1000)] == list(range(1, 599))
    assert len(await store.events("s", limit=1000, kinds=["counted"])) == 299
