"""``doctor`` with a hub: where it is, its database, its runner; and what is said when it does not answer."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path

import pytest

from tests.cli.hub.conftest import HubDesk

pytestmark = pytest.mark.slow


def break_root(database: Path, table: str) -> None:
    """The first page of a table becomes zeros."""
    connection = sqlite3.connect(database)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    with database.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(bytes(size))


def test_a_running_hub_adds_itself_its_database_and_its_runner(hub: HubDesk) -> None:
    """ours"""
    claude = hub.fake_claude()
    out = hub.ropewalk("doctor", "--cli", claude).out
    assert "✓ hub 0.1.0 on http://127.0.0.1:" in out and "✓ database 0600, " in out and "✓ runner this machine" in out
    (hub.state / "ropewalk.db").chmod(0o644)
    told = hub.json("doctor", "--cli", claude)
    (database,) = [check for check in told["checks"] if check["name"] == "database"]
    assert database["state"] == "warning" and "chmod 600" in database["fix"]
    hub.kill()
    assert "hub" not in hub.ropewalk("doctor", "--cli", claude).out.split()


def test_a_hub_that_hangs_is_a_failure_with_a_remedy(hub: HubDesk) -> None:
    """ours: it lives and does not answer"""
    assert hub.serving is not None
    os.kill(hub.serving.pid, signal.SIGSTOP)
    try:
        done = hub.ropewalk("doctor", "--cli", hub.fake_claude())
    finally:
        os.kill(hub.serving.pid, signal.SIGCONT)
    assert done.code == 1 and "does not answer" in done.out and "ropewalk serve --stop" in done.out


def test_a_damaged_database_of_a_killed_hub_is_salvaged_and_the_hub_goes_on(hub: HubDesk) -> None:
    """PROOF F12: refused while a hub runs; the sessions are there afterwards"""
    sessions = {hub.new(f"number {number}") for number in range(3)}
    for session in sessions:
        hub.status(session, "idle")
    busy = hub.ropewalk("doctor", "--salvage", "--yes")
    assert busy.code == 1 and "a hub runs" in busy.err and "ropewalk serve --stop" in busy.err
    hub.stop()
    database = hub.state / "ropewalk.db"
    break_root(database, "event_text_data")
    refused = hub.ropewalk("serve")
    assert refused.code == 1 and "is damaged" in refused.err and "ropewalk doctor --salvage" in refused.err
    done = hub.ropewalk("doctor", "--salvage", "--yes")
    assert done.code == 0 and "3 sessions" in done.out, done.err
    hub.start()
    assert set(hub.ropewalk("ls", "-q").out.split()) == sessions
