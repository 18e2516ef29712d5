"""All CLIs of one runner: starts them, one for each id and claim; knows the ended until they are forgotten. Speaks to no socket.

``listener`` is whoever hears at the moment (a conversation with a hub, or nobody).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ropewalk.errors import LinkBroken, UsageError
from ropewalk.runner.about import ABOUT, About, boot_id, check_process_id, read_about, read_end, write_note
from ropewalk.runner.census import Census, Kin
from ropewalk.runner.charge import Charge, Listener, new_spool
from ropewalk.runner.cursor import Item
from ropewalk.runner.house import House
from ropewalk.runner.leftovers import end_leftovers
from ropewalk.runner.spool import Spool
from ropewalk.transports.base import End
from ropewalk.transports.descendants import Seen, stat_of
from ropewalk.transports.frames import LARGEST_LINE, Account, Start
from ropewalk.transports.ladder import Graces
from ropewalk.transports.launch import Launch
from ropewalk.transports.spawn import Child
from ropewalk.transports.stdio import StdioTransport

if TYPE_CHECKING:
    from ropewalk.runner.frozen import Frozen

log = logging.getLogger("ropewalk.runner")

DIED = End(None, "the runner died, and the CLI was ended with it; what it said in its last moment may be lost")


@dataclass(frozen=True)
class Limits:
    spool: int = 1024 * 1024 * 1024
    """Bytes a process that no hub has acknowledged; past it the CLI waits."""
    line: int = LARGEST_LINE


class Nobody:
    """Who listens while there is no hub."""

    def said(self, charge: Charge, items: list[Item]) -> None: ...
    def settled(self, charge: Charge) -> None: ...
    def written(self, process: str, key: str) -> None: ...
    def unwritten(self, process: str, key: str, why: str) -> None: ...
    def held(self, process: str, why: str) -> None: ...
    def rung(self, process: str, name: str) -> None: ...


@dataclass
class Tasks:
    """Owns what runs beside the loop's callbacks; ``close`` cancels and awaits all of it."""

    running: set[asyncio.Task[None]] = field(default_factory=set)

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self.running.add(task)
        task.add_done_callback(self._done)

    async def close(self) -> None:
        for task in self.running:
            task.cancel()
        if self.running:
            await asyncio.wait(self.running)

    def _done(self, task: asyncio.Task[None]) -> None:
        self.running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed", task.get_name(), exc_info=error)


class Keeper:
    """``charges`` by process id. Also the listener of all of them: it passes on what they say."""

    def __init__(self, house: House, limits: Limits, tasks: Tasks) -> None:
        self.house, self._limits, self.tasks = house, limits, tasks
        self.charges: dict[str, Charge] = {}
        self.listener: Listener = Nobody()
        self.trouble = ""
        self._boot_id = boot_id()
        self.tasks_about_ends = 0
        self._census = Census(house.id)

    @property
    def anyone_alive(self) -> bool:
        return any(charge.alive for charge in self.charges.values())

    @property
    def anyone_ending(self) -> bool:
        """Whether some CLI is between its exit and its end, or is being stopped."""
        return self.tasks_about_ends > 0 or any(charge.alive and charge.leaving for charge in self.charges.values())

    # A life before this one

    async def come_back(self) -> None:
        """End what is left of an earlier life and take over what it kept: each process has then ended, its lines are here."""
        abouts = {process: read_about(self.house.folder_of(process)) for process in self.house.known()}
        found, stubborn = await end_leftovers(self.house.id, [about for about in abouts.values() if about is not None])
        if found:
            log.warning("ended %d processes that an earlier life had left", found)
        if stubborn:
            self.trouble = f"processes of an earlier life can't be ended: {stubborn}"
        for process, about in abouts.items():
            self._take_over(process, about)

    def _take_over(self, process: str, about: About | None) -> None:
        folder = self.house.folder_of(process)
        if about is None:  # it died before it was started, or the note is damaged: its lines are told all the same
            about = About(process, 0, 0, "", "", "")
        spool = Spool.load(folder, cap=self._limits.line)
        end = read_end(folder)
        if spool.torn:
            self._note_trouble(f"{spool.torn} bytes at the end of the spool of {process} can't be read")
        if end is None or spool.torn:
            spool.break_off()
        self.charges[process] = Charge(about, folder, self, spool, limit=self._limits.spool, end=end or DIED)

    def _note_trouble(self, words: str) -> None:
        log.warning(words)
        self.trouble = f"{self.trouble}; {words}" if self.trouble else words

    # Starting

    async def start(self, order: Start) -> Charge:
        """Raises ``UsageError`` or ``LinkBroken``; then nothing is left behind."""
        self._refuse_second(order)
        folder = self.house.folder_of(order.process)
        try:
            os.mkdir(folder, 0o700)
        except OSError as error:
            raise LinkBroken(f"the runner can't make a spool for {order.process}: {error.strerror}") from error
        try:
            return await self._start(order, folder)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise LinkBroken(f"the runner can't write its spool: {error.strerror or error}") from error
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    async def _start(self, order: Start, folder: str) -> Charge:
        marker = self.house.marker(order.process)
        env = {os.fsdecode(name): os.fsdecode(value) for name, value in order.env.items()}
        program, args = tuple(map(os.fsdecode, order.program)), tuple(map(os.fsdecode, order.args))
        launch = Launch(program, args, os.fsdecode(order.cwd), env, marker=marker)
        graces = Graces(*order.graces) if order.graces else None
        transport = StdioTransport(launch, graces=graces)
        about = About(order.process, 0, 0, self._boot_id, order.claim, order.cwd.decode("utf-8", "replace"))
        write_note(folder, ABOUT, about)  # before the start: whoever comes after a death then knows its id
        spool = new_spool(folder, self._limits.spool, self._limits.line)
        charge = Charge(about, folder, self, spool, limit=self._limits.spool, transport=transport, graces=order.graces)
        try:
            await transport.start(charge)
        except BaseException:
            await charge.close()
            raise
        assert transport.pid is not None
        stat = stat_of(transport.pid)
        about.pid, about.start_time = transport.pid, stat.seen.start if stat else 0
        self.charges[order.process] = charge
        with contextlib.suppress(OSError):
            write_note(folder, ABOUT, about)
        log.info("started %s (pid %d)", order.process, about.pid)
        return charge

    def _refuse_second(self, order: Start) -> None:
        check_process_id(order.process)
        if order.process in self.charges or os.path.exists(self.house.folder_of(order.process)):
            raise UsageError(f"there is a process {order.process} already; a new start needs a new id")
        for charge in self.charges.values():
            if order.claim and charge.alive and charge.about.claim == order.claim:
                raise UsageError(f"already run by process {charge.process}: the CLI's session {order.claim}")

    async def adopt(self, frozen: Frozen) -> None:
        """Go on with a CLI that an earlier program of this process started."""
        folder = self.house.folder_of(frozen.process)
        about = read_about(folder) or About(frozen.process, frozen.pid, 0, self._boot_id, "", "")
        child = Child(None, frozen.pid, frozen.stdin, frozen.stdout, frozen.stderr)
        graces = Graces(*frozen.graces) if frozen.graces else None
        transport = StdioTransport(Launch((), (), "/", {}, marker=self.house.marker(frozen.process)), graces=graces, child=child)
        spool = Spool.load(folder, cap=self._limits.line)
        spool.stored, spool.dropping = frozen.stored, frozen.dropping
        charge = Charge(about, folder, self, spool, limit=self._limits.spool, transport=transport, graces=frozen.graces)
        self.charges[frozen.process] = charge
        await transport.start(charge)
        charge.thaw(frozen.stuck)
        assert transport.process is not None and charge.outbox is not None
        transport.process.feed_tail(frozen.tail)
        if frozen.queued:
            transport.send(frozen.queued)
        charge.outbox.thaw(frozen.waiting, frozen.begun)
        if frozen.closing:
            charge.outbox.close_input()

    def take_over_ended(self) -> None:
        """After all that live were adopted."""
        for process in self.house.known():
            if process not in self.charges:
                self._take_over(process, read_about(self.house.folder_of(process)))

    # Ending

    async def forget(self, process: str) -> None:
        charge = self.charges.get(process)
        if charge is not None and charge.settled:
            del self.charges[process]
            await charge.delete()

    async def stop_all(self, patience: float) -> None:
        """Each by the ladder, all at once."""
        alive = [charge for charge in self.charges.values() if charge.alive]
        stops = (charge.stop(patience) for charge in alive)
        for outcome in await asyncio.gather(*stops, return_exceptions=True):
            if isinstance(outcome, BaseException):
                log.warning("a CLI could not be ended: %s", outcome)

    async def sync(self) -> None:
        for charge in list(self.charges.values()):
            await charge.sync()

    async def close(self) -> None:
        for charge in self.charges.values():
            await charge.close()

    # Accounts

    async def accounts(self) -> tuple[Account, ...]:
        """Count now. Who was found is noted, too, for a life after this one."""
        charges = [charge for charge in self.charges.values() if charge.alive and charge.about.pid]
        roots = {charge.process: Seen(charge.about.pid, charge.about.start_time) for charge in charges}
        kins = await asyncio.to_thread(self._census.count, roots)
        for charge in charges:
            self._note_family(charge, kins[charge.process])
        return tuple(
            Account(charge.process, len(kin.seen), kin.memory, charge.spool.size)
            for charge in charges
            if (kin := kins[charge.process])
        )

    def _note_family(self, charge: Charge, kin: Kin) -> None:
        family = sorted((seen.pid, seen.start) for seen in kin.seen)
        if family != charge.about.family and charge.alive:
            charge.about.family = family
            with contextlib.suppress(OSError):
                write_note(charge.folder, ABOUT, charge.about)

    async def _end_survivors(self, charge: Charge) -> None:
        self.tasks_about_ends += 1
        try:
            await charge.end_survivors()
        finally:
            self.tasks_about_ends -= 1

    # What the charges say

    def said(self, charge: Charge, items: list[Item]) -> None:
        self.listener.said(charge, items)

    def settled(self, charge: Charge) -> None:
        log.info("%s: %s", charge.process, charge.end.why if charge.end else "")
        self.listener.settled(charge)
        self.tasks.begin(self._end_survivors(charge), f"survivors of {charge.process}")

    def written(self, process: str, key: str) -> None:
        self.listener.written(process, key)

    def unwritten(self, process: str, key: str, why: str) -> None:
        self.listener.unwritten(process, key, why)

    def held(self, process: str, why: str) -> None:
        if why:
            log.warning("%s: %s", process, why)
        self.listener.held(process, why)

    def rung(self, process: str, name: str) -> None:
        self.listener.rung(process, name)
