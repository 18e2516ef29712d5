"""What the doctor sees of a running hub: itself, its database, its runners. Refuses to start one, and to repair."""

from __future__ import annotations

import time

from ..client.remote import Remote
from ..config import Config
from ..errors import HubUnreachable, RopewalkError
from ..events.views import Health, RunnerView
from ..sessions.figures import count
from .checks import Check
from .found import Found, find_hub
from .statuses import mebibytes, span

PATIENCE = 2.0


async def hub_checks(config: Config) -> list[Check]:
    """Nothing where none runs."""
    try:
        found = find_hub(config)
    except HubUnreachable:
        return []
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
    """Its file, where it is on this machine."""
    if health.store != "ok":
        fix = "Make room on the disk, or mend it; the hub goes on by itself."
        return [Check("database", "failure", f"database: {health.store}", fix)]
    if not found.near or not config.database.exists():
        return [Check("database", "ok", "database answers")]
    files = [path for path in (config.database, config.database.with_name(config.database.name + "-wal")) if path.exists()]
    size, written = sum(path.stat().st_size for path in files), max(path.stat().st_mtime for path in files)
    mode = config.database.stat().st_mode & 0o777
    words = f"database {mode:04o}, {mebibytes(size)}, last write {span(time.time() - written)} ago"
    if mode & 0o077:
        return [Check("database", "warning", words, f"Others may read it: chmod 600 {config.database}")]
    return [Check("database", "ok", words)]


def _runner(runner: RunnerView) -> Check:
    words = f"runner {runner.name or runner.id}, holds {runner.processes} claude"
    if runner.state == "live":
        return Check("runner", "ok", words)
    return Check(
        "runner", "failure", f"{words}, not heard: {runner.why}", "The hub starts another one by itself; its log says more."
    )
