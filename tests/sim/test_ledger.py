"""The ledger is the other side's word: every line in and out, noted before the act."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ropewalk.sim.claude.ledger import KEPT_WHOLE, Ledger, read

from .conftest import Start

HELLO = [{"text": "Hello."}]


def test_it_holds_what_went_over_the_wire_in_order(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    sim = start(HELLO, ROPEWALK_SIM_LEDGER=str(path))
    sim.request("initialize", "r-1")
    sim.wait_for(type="control_response")
    sim.prompt("hi")
    sim.wait_for(type="result")
    sim.close_input()
    assert sim.exit_code() == 0
    entries = list(read(path))
    assert [entry.n for entry in entries] == list(range(1, len(entries) + 1))
    assert [entry.line for entry in entries if entry.direction == "out"] == [row.rstrip(b"\n") for row in sim.raw]
    taken = [entry.line or b"" for entry in entries if entry.direction == "in"]
    assert len(taken) == 2 and b"r-1" in taken[0] and b'"hi"' in taken[1]
    assert {entry.pid for entry in entries} == {sim.process.pid}


def test_a_line_is_noted_before_it_is_said(start: Start, tmp_path: Path) -> None:
    """Ours: after a kill the ledger holds at least what was heard; here the process dies between note and write."""
    path = tmp_path / "ledger"
    sim = start([{"text": "one"}, {"fault": "half_line"}, {"fault": "kill"}], ROPEWALK_SIM_LEDGER=str(path))
    sim.prompt("hi")
    assert sim.exit_code() == -9
    assert [entry.line for entry in read(path) if entry.direction == "out"] == [row.rstrip(b"\n") for row in sim.raw]


def test_a_line_is_noted_before_it_is_acted_on(start: Start, tmp_path: Path) -> None:
    """Measured: a bad line ends the process; ours: the ledger has it all the same."""
    path = tmp_path / "ledger"
    sim = start(HELLO, ROPEWALK_SIM_LEDGER=str(path))
    sim.send("this is not JSON")
    assert sim.exit_code() == 1
    assert [(entry.direction, entry.line) for entry in read(path)] == [("in", b"this is not JSON")]


def test_bytes_that_are_no_text_are_kept_whole_and_long_lines_by_their_hash(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger")
    ledger = Ledger(path, clock=lambda: 12.5)
    long = b"x" * (KEPT_WHOLE + 1)
    ledger.note("out", b"\xff\xfe")
    ledger.note("out", long)
    strange, cut = read(path)
    assert (strange.line, strange.at, strange.size) == (b"\xff\xfe", 12.5, 2)
    assert (cut.line, cut.size, cut.sha256) == (None, len(long), hashlib.sha256(long).hexdigest())


def test_several_processes_share_a_file_and_an_unfinished_entry_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    for word in (b"one", b"two"):
        Ledger(str(path)).note("in", word)
    with path.open("ab") as file:
        file.write(b'{"n": 2, "dir":')
    assert [(entry.n, entry.line) for entry in read(path)] == [(1, b"one"), (1, b"two")]
