"""What the doctor sees of a hub: itself, its database, its runners. Refuses to start one, and to repair."""

from __future__ import annotations

import time

from ..client.remote import Remote
from ..config import Config
from ..errors import HubUnreachable, RopewalkError
from ..events.views import Health, RunnerView
from ..sessions.figures import count
from .checks import Check
from .database import held, resting
from .found import Found, find_hub
from .statuses import span

PATIENCE = 2.0


async def hub_checks(config: Config) -> list[Check]:
    """Where none runs: its database alone."""
    try:
        found = find_hub(config)
    except HubUnreachable:
        return resting(config)
    except RopewalkError as error:
        return [Check("hub", "failure", str(error))]
    try:
        async with Remote(found.url, found.token, patience=PATIENCE) as remote:
            health, runners = await remote.health(), await remote.runners()
    except RopewalkError as error:
        fix = "Stop it and start it again: ropewalk serve --stop, then ropewalk serve --detach"
        return [Check("hub", "failure", f"the hub on {found.url} does not answer as it should: {error}", fix)]
    return [_hub(found, health), *_database(config, found, health), *(_runner(one) for one in runners)]


def _hub(found: Found, health: Health) -> Check:
    since = f", up {span(time.time() - health.started_at)}" if health.started_at else ""
    words = f"hub {health.version} on {found.url}, {count(health.sessions, 'session')}{since}"
    if health.state == "ok":
        return Check("hub", "ok", words)
    return Check("hub", "warning", f"{words}: {health.why}")


def _database(config: Config, found: Found, health: Health) -> list[Check]:
    """What it says of itself; and its file, where that is on this machine."""
    if "--salvage" in health.store:
        return [Check("database", "failure", f"database: {health.store}")]
    if health.store != "ok":
        return [Check("database", "failure", f"database: {health.store}", "The hub goes on by itself once that is put right.")]
    return held(config) if found.near and found.pid is not None else [Check("database", "ok", "database answers")]


def _runner(runner: RunnerView) -> Check:
    words = f"runner {runner.name or runner.id}, holds {runner.processes} claude"
    if runner.state == "live":
        return Check("runner", "ok", words)
    return Check(
        "runner", "failure", f"{words}, not heard: {runner.why}", "The hub starts another one by itself; its log says more."
    )
