"""The rig of `prove/` itself: its scripts play, its checker sees what is wrong, its state goes on, its page has no date."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from prove.check import check
from prove.house import House
from prove.lane import work
from prove.load import Load
from prove.proof import Order, Proof
from prove.proofs import ALL
from prove.proofs.doors import FLOODED
from prove.proofs.kills import cut_tail
from prove.proofs.once import SCRIPT
from prove.proofs.verdicts import RACE
from prove.proofs.wire import ODD, STILL
from prove.report import INVARIANTS, PROMISES, judged, page
from prove.script import TURNS
from prove.state import State
from prove.tally import Tally
from ropewalk.runner.spool import Spool
from ropewalk.sim.claude.scenario import parse


@pytest.mark.parametrize(
    "script", [TURNS, FLOODED, SCRIPT, ODD, STILL, RACE], ids=["turns", "flooded", "once", "odd", "still", "race"]
)
def test_the_scripts_of_the_proofs_can_be_played(script: str) -> None:
    """ours: a script with a typing error starts no CLI, and a proof without CLIs proves nothing."""
    assert parse(script).rules


def test_a_run_that_was_stopped_goes_on_and_other_settings_begin_anew(tmp_path: Path) -> None:
    """ours"""
    first = State(1, False, tmp_path / "state.json")
    first.tallies["F1"] = Tally(blows=7)
    first.tallies["F1"].fail("G5", "something", "seed 1 blow 3")
    first.save()
    again = State(1, False, tmp_path / "state.json")
    assert again.load()
    assert again.tallies["F1"].as_object() == first.tallies["F1"].as_object()
    assert not State(2, False, tmp_path / "state.json").load()
    assert not State(1, True, tmp_path / "state.json").load()


def test_the_page_tells_counts_and_losses_and_no_date() -> None:
    """ours"""
    tally = Tally(blows=3)
    tally.counts["prompts"] = 12
    tally.measure("G9 questions shown again after", 0.2)
    tally.fail("G5", "a prompt vanished", "seed 1 blow 1")
    told = page(ALL, {"F1": tally}, 1, False)
    assert "| 12 prompts | 1 | 0 |" in told
    assert "questions shown again after 200 ms" in told
    assert "202" not in told.replace("200 ms", "")


def test_every_promise_that_a_proof_names_has_words() -> None:
    """ours"""
    assert {name for proof in ALL for name in proof.shows} <= {*PROMISES, *INVARIANTS}


async def test_an_error_of_the_rig_costs_one_blow_and_the_rest_are_struck() -> None:
    """ours: a failure does not stop the rest."""

    async def odd(order: Order) -> None:
        for number in range(order.first, order.first + order.count):
            if number == 1:
                raise OSError("the rig is out of order")
            order.tally.blows += 1

    tally, saved = Tally(), list[int]()
    await work(Proof("F0", "none", (4, 4), odd), Order(1, 0, 4, tally, lambda: saved.append(tally.blows), print))
    assert tally.blows == 4 and len(tally.wrong) == 1 and "blow 1" in tally.wrong[0] and "out of order" in tally.wrong[0]
    assert saved[-1] == 4


@pytest.mark.parametrize(
    ("count", "late", "fails"), [(20, 1, True), (100, 1, False), (100, 2, True), (250, 2, False), (20, 0, False)]
)
def test_late_interrupts_are_judged_by_the_hundred(count: int, late: int, fails: bool) -> None:
    """PROOF G13: the 99th hundredth; of fewer than a hundred none may be late."""
    proof = next(proof for proof in ALL if proof.name == "G13")
    tally = Tally(blows=count)
    tally.counts["interrupts"], tally.counts["G13 over 100 ms"] = count, late
    tally.measure("G13 on its input after", 0.2)
    found = judged([proof], {"G13": tally})["G13"]
    assert bool(found.wrong) is fails and bool(found.lost["G13"]) is fails
    assert not tally.wrong, "what was counted is judged once, at the end"


def test_a_blow_that_is_left_out_is_not_counted_as_struck() -> None:
    """ours: where the system mounts nothing, the page must not say that disks were filled."""
    tally = Tally()
    tally.counts["left out"] = 12
    assert tally.struck == 12
    told = page(ALL, {"F8": tally}, 1, False)
    assert "| 0 | 0 | left out: 12 |" in told and "G19" not in told


def edited(sql: str, *values: Any) -> Callable[[Path], None]:
    def edit(database: Path) -> None:
        with closing(sqlite3.connect(database)) as connection, connection:
            changed = connection.execute(sql, values).rowcount
        assert changed, "the test changed nothing"

    return edit


def forgotten(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DROP TRIGGER verdict_is_not_removed")
        assert connection.execute("DELETE FROM verdict").rowcount


LAST_LINE = "(SELECT max(id) FROM line WHERE id & 16383 = 0)"

DAMAGE = {
    "a line is missing": ("G3", edited(f"DELETE FROM line WHERE id = {LAST_LINE} - 16384 * 2")),
    "a line is altered": ("G3", edited(f"UPDATE line SET raw = x'7b7d' WHERE id = {LAST_LINE}")),
    "an event is missing": ("G10", edited("DELETE FROM event WHERE id = (SELECT max(id) FROM event) - 2")),
    "an event was told otherwise": (
        "G1", edited("UPDATE event SET body = cast(json_set(body, '$.at', 1) AS BLOB) WHERE id & 4294967295 = 3")),
    "a prompt vanished": ("G5", edited("DELETE FROM prompt")),
    "a prompt is said never to have been sent": (
        "G5", edited("UPDATE prompt SET state = 'failed', reason = 'never handed to Claude'")),
    "a question was allowed by nobody": ("I4", lambda database: None),
    "an allow has no verdict": ("G8", forgotten),
    "a delivered answer is not delivered": ("F29", edited("UPDATE question SET delivered_at = NULL")),
    "a question is open for ever": ("G9", edited("UPDATE question SET state = 'open'")),
    "a status is false": ("I7", edited("UPDATE session SET status = 'waiting'")),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize(("safe", "most", "left"), [(0, 10_000, 0), (1, 10_000, 1), (1, 60, 1), (1, 0, 2), (2, 10_000, 2)])
def test_a_machine_that_stops_loses_nothing_that_was_safe(tmp_path: Path, safe: int, most: int, left: int) -> None:
    """ours: its CLI may have said more in its last moment than ever came to the disk."""
    spool = Spool(str(tmp_path))
    for line in (b"a" * 50 + b"\n", b"b" * 50 + b"\n"):
        spool.append(line)
    spool.close()
    cut_tail(next(tmp_path.glob("*.lines")), safe, most)
    again = Spool.load(str(tmp_path))
    assert again.last == left
    again.close()


async def test_the_checker_sees_what_is_wrong_and_nothing_where_all_is_well(tmp_path: Path) -> None:
    """ours: a checker that can't fail proves nothing."""
    house = House(version="2.1.326")
    try:
        await house.start()
        async with Load(house, random.Random(1), sessions=1, kinds=("ask",)) as load:
            await load.people.prompt(load.sessions[0], "ask once")
            await load.people.prompt(load.sessions[0], "choose once")  # always allowed
            assert await load.quiet() == ""
            assert (await check(load.side)).wrong == []
            whole = house.database
            for words, (promise, harm) in DAMAGE.items():
                folder = tmp_path / words.replace(" ", "_")
                folder.mkdir()
                for suffix in ("", "-wal"):
                    shutil.copyfile(f"{whole}{suffix}", folder / f"ropewalk.db{suffix}")
                verdicts = dict(load.people.verdicts)
                harm(folder / "ropewalk.db")
                if promise == "I4":
                    load.people.verdicts.clear()
                    load.people.verdicts.update(dict.fromkeys(verdicts, "deny"))
                house.state = folder
                found = await check(load.side)
                house.state = whole.parent
                load.people.verdicts.update(verdicts)
                assert found.lost[promise] + found.doubled[promise] > 0, f"{words}: {found.wrong}"
    finally:
        assert await house.close() == []
