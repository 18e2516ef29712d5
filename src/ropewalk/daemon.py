"""The composition root: builds each part once, starts bottom-up, stops top-down. Refuses to know what any part does."""

from __future__ import annotations

import asyncio
import gc
import getpass
import json
import os
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

import msgspec
import structlog

from . import __version__
from .config import Config
from .errors import LinkBroken, UsageError
from .events.ids import id_from
from .hub.claude import Claude, transcript_reader
from .hub.feed import Feed
from .hub.hub import Hub, Telling
from .hub.searched import SEARCHED
from .logs import failure, set_up
from .servers.access import check_folder, open_access
from .servers.web.server import open_web
from .sessions.inforce import InForce
from .sessions.roster import Roster
from .sessions.slots import Slots
from .sessions.tasks import Tasks
from .sessions.world import World
from .store.base import Entry, Store, put
from .store.rows import SettingRow
from .store.sqlite import open_store
from .transports.runner import RunnerLink, spawn_local_runner

try:
    from uvloop import new_event_loop as quick_loop
except ImportError:  # an extra; asyncio's own loop does as well, a little slower
    quick_loop = asyncio.new_event_loop  # type: ignore[assignment]

COLLECT = (20_000, 50, 100)
"""Entries on their way to the disk are many, and none of them is in a cycle: looking for cycles cost a fifth of the time."""
log = structlog.get_logger("ropewalk")
SWITCH = 0.002
"""Seconds for which the writer's thread keeps the interpreter from the loop. Python's own 5 ms hold up each of its turns."""


@dataclass(frozen=True)
class Ready:
    """The hub serves. ``sign_in_url`` works once, for ten minutes."""

    url: str
    sign_in_url: str
    home: str
    claude: str
    claude_found: bool
    sim: bool


class LocalRunner:
    """Keeps a runner alive on this machine: found again after a restart of the hub, started anew after a death of its own."""

    def __init__(self, config: Config, tasks: Tasks) -> None:
        self._config, self._tasks = config, tasks
        self._spawning = False

    async def there(self) -> str:
        """The socket of one that listens."""
        return (await spawn_local_runner(self._config.runner_folder, options=self._options())).socket

    def _options(self) -> list[str]:
        """Where sessions may work only in some folders, the runner shows no others (and our own)."""
        roots = (*self._config.roots, self._config.home) if self._config.roots else ()
        return [f"--root={os.path.expanduser(root)}" for root in roots]

    def went(self, link: RunnerLink) -> None:
        if not self._spawning:
            self._spawning = True
            self._tasks.start(self._again(link))

    async def _again(self, link: RunnerLink) -> None:
        """Until the link is up. A dying runner's socket can still be open for a moment: one that answers is not enough."""
        pause = 0.05
        try:
            while not link.up:
                try:
                    await self.there()
                except (LinkBroken, UsageError) as error:
                    log.warning("the runner does not start", why=str(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, 5.0)
        finally:
            self._spawning = False


async def next_epoch(store: Store, above: int = 0) -> int:
    """Higher than that of every earlier life: runners refuse whoever comes with a lower one."""
    before = await store.get(SettingRow, "", "epoch")
    epoch = max(above, msgspec.json.decode(before.value, type=int) if before else 0) + 1
    row = SettingRow(person="", name="epoch", value=msgspec.json.encode(epoch), at=time.time())
    await store.append(Entry(rows=[put(row, over=True)]))
    return epoch


async def take_charge(link: RunnerLink, store: Store) -> None:
    """Of the runner. One that has heard a higher epoch than ours had it of a life that our database has forgotten, salvaged or
    brought back from a backup as it is: its lock says that no other hub lives here. Raises ``LinkBroken``."""
    try:
        await link.open()
    except LinkBroken:
        if link.fenced is None:
            raise
        log.warning("the runner knows a later life of this hub than the database", epoch=link.fenced)
        link.begin_anew(await next_epoch(store, above=link.fenced))
        await link.open()


async def up_to_date(link: RunnerLink) -> None:
    """A runner that an older version left becomes ours in place: its CLIs, lines and writes go on."""
    if link.welcome is None or link.welcome.version == __version__:
        return
    try:
        await link.reexec()
    except (LinkBroken, UsageError) as error:
        log.warning("the runner stays as it is", version=link.welcome.version, why=str(error))


@asynccontextmanager
async def open_hub(config: Config, environ: Mapping[str, str] | None = None) -> AsyncIterator[Hub]:
    """Store, runner, sessions, hub: everything but the doors."""
    environ = dict(os.environ if environ is None else environ)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(config.database, searched=SEARCHED))
        await store.raise_epochs()
        epoch = await next_epoch(store)
        tasks = await stack.enter_async_context(Tasks(_task_failed))
        feed = await stack.enter_async_context(Feed(store.events))
        claude = Claude(config, environ)
        rules = InForce(store, time.time, config.allowed_tools)
        await rules.load()
        runner = LocalRunner(config, tasks)
        link = RunnerLink(
            await runner.there(), epoch, version=__version__, on_up=lambda reports: hub.runner_up(reports),
            on_down=lambda why: hub.runner_down(why, lambda: runner.went(link)),
            on_accounts=lambda counted: roster.accounts(counted),
        )  # fmt: skip
        world = World(
            store=store, link=link, config=config, told=Telling(feed), slots=Slots(config.max_turns, config.max_processes),
            rules=rules, tasks=tasks, clock=time.time, new_id=lambda: id_from(os.urandom(9)), new_uuid=lambda: str(uuid.uuid4()),
            program=claude.program, environ=environ, transcript_has=transcript_reader(environ, config),
        )  # fmt: skip
        roster = Roster(world)
        hub = Hub(world, roster, feed, claude)
        await take_charge(link, store)
        stack.push_async_callback(link.close)
        await up_to_date(link)
        await claude.look()
        yield await stack.enter_async_context(hub)


def _task_failed(error: BaseException) -> None:
    log.error("a task failed", **failure(error))
    log.debug("its words", words=str(error))


def serve(config: Config, on_ready: Callable[[Ready], None]) -> None:
    """``run`` on the quickest loop there is, until it is told to stop."""

    def ready(told: Ready) -> None:
        gc.collect()
        gc.freeze()  # what was built at the start lives as long as we do
        gc.set_threshold(*COLLECT)
        sys.setswitchinterval(SWITCH)
        on_ready(told)

    with asyncio.Runner(loop_factory=quick_loop) as runner:
        runner.run(run(config, on_ready=ready))


async def run(config: Config, *, on_ready: Callable[[Ready], None], stopped: asyncio.Event | None = None) -> None:
    """Serve until SIGTERM, SIGINT or ``stopped``. Turns under way go on in the runner."""
    stopped = stopped or asyncio.Event()
    set_up(config.log_level)
    check_folder(config.folder)
    async with AsyncExitStack() as stack:
        hub = await stack.enter_async_context(open_hub(config))
        access = await stack.enter_async_context(open_access(hub, config))
        address = await stack.enter_async_context(open_web(hub, access, config))
        code = await access.new_code(name=owner(config))
        stack.enter_context(_written(config, address.url))
        stack.enter_context(_signals(stopped))
        on_ready(
            Ready(
                url=address.url, sign_in_url=f"{address.url}/signin#{code.code}", home=config.home, claude=hub.claude.words,
                claude_found=hub.claude.found is not None, sim=config.sim,
            )
        )  # fmt: skip
        await stopped.wait()


def owner(config: Config) -> str:
    if config.name:
        return config.name
    with suppress(Exception):
        return getpass.getuser()
    return "owner"


class _written:
    """Where the terminal finds the running hub; gone when it has stopped."""

    def __init__(self, config: Config, url: str) -> None:
        self._path, self._url = config.address_file, url

    def __enter__(self) -> None:
        body = json.dumps({"url": self._url, "pid": os.getpid(), "version": __version__}) + "\n"
        new = self._path.with_suffix(".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(body)
        os.replace(new, self._path)

    def __exit__(self, *exc: object) -> None:
        self._path.unlink(missing_ok=True)


class _signals:
    """The first asks to stop; a second one does not wait for anybody."""

    def __init__(self, stopped: asyncio.Event) -> None:
        self._stopped, self._loop = stopped, asyncio.get_running_loop()

    def __enter__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._heard)
        self._loop.add_signal_handler(signal.SIGHUP, lambda: None)

    def __exit__(self, *exc: object) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self._loop.remove_signal_handler(number)

    def _heard(self) -> None:
        if self._stopped.is_set():
            sys.stderr.flush()
            os._exit(130)
        self._stopped.set()
