"""``doctor`` with a hub: where it is, its database, its runner; and what is said when it does not answer."""

from __future__ import annotations

import os
import signal

import pytest

from tests.cli.hub.conftest import HubDesk

pytestmark = pytest.mark.slow


def test_a_running_hub_adds_itself_its_database_and_its_runner(hub: HubDesk) -> None:
    """ours (FACES 3)"""
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
