"""Killed at any moment: what was told is stored, once, in order, and the file is sound."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ropewalk.store.sqlite import open_store
from ropewalk.store.sqlite.check import check
from tests.store.words import SEARCHED, heard, texts

SEED = 20


def killed(folder: Path, after: float) -> list[tuple[int, int]]:
    """Let it store, kill it so long after it first told something; what it had told: (line, seq)."""
    command = [sys.executable, "-m", "tests.store.drills", "flood", str(folder)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout is not None
    first = child.stdout.readline()
    until = time.monotonic() + after
    while time.monotonic() < until:
        time.sleep(0.001)
    child.kill()
    ledger = first + child.stdout.read()
    child.stdout.close()
    child.wait()
    whole = ledger[: ledger.rfind(b"\n")].decode().splitlines()
    return [(int(line), int(seq)) for line, seq in (each.split() for each in whole)]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
async def test_what_was_told_before_a_kill_is_stored_once(tmp_path: Path, number: int) -> None:
    """PROOF G1, G10, I2, I6, I11: told ⊆ stored, compared with what the killed process itself had said."""
    told = killed(tmp_path, random.Random(SEED + number).uniform(0.0, 0.4))
    assert told
    async with open_store(tmp_path / "ropewalk.db", searched=SEARCHED) as store:
        assert await store.raise_epochs() == {"s": 2}
        stored = await texts(store)
        assert [seq for seq, _ in stored] == list(range(1, len(stored) + 1))
        by_seq = dict(stored)
        assert all(by_seq[seq] == f"text {line}" for line, seq in told)
        last = await store.last_lines("p")
        assert last.out == len(stored) >= max(line for line, _ in told)
        # The runner replays what was not acknowledged: a few that are stored, then new ones.
        for n in range(max(1, last.out - 3), last.out + 4):
            store.post(heard(n, f"text {n}"))
        await store.settled()
        assert await texts(store) == [(n, f"text {n}") for n in range(1, last.out + 4)]
    assert check(tmp_path / "ropewalk.db") == []
