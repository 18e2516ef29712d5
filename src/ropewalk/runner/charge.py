"""One CLI in our charge: its process, its spool, its writes, its end. Tells a listener; knows neither hub nor frames.

When the disk takes no more, or the spool is full, the CLI's output is not read and the CLI waits: nothing is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from typing import Protocol

from ropewalk.errors import LinkBroken
from ropewalk.runner.about import ENDED, KEYS, About, EndNote, write_note
from ropewalk.runner.cursor import Item, item_of
from ropewalk.runner.keys import Keys
from ropewalk.runner.outbox import Outbox
from ropewalk.runner.rhythm import Rhythm
from ropewalk.runner.spool import SEGMENT, Spool
from ropewalk.transports.base import End
from ropewalk.transports.frames import LARGEST_LINE, ProcessReport
from ropewalk.transports.stdio import StdioTransport

TRY_AGAIN = 0.5
"""Seconds between two tries to write to a disk that is full."""
STUCK = 4 * 1024 * 1024
"""Bytes held in memory while the disk takes nothing: what was read before the pause, and a dead CLI's pipe."""


class Listener(Protocol):
    """Who is told what happens. All from the loop."""

    def said(self, charge: Charge, items: list[Item]) -> None: ...
    def settled(self, charge: Charge) -> None: ...
    def written(self, process: str, key: str) -> None: ...
    def unwritten(self, process: str, key: str, why: str) -> None: ...
    def held(self, process: str, why: str) -> None: ...
    def rung(self, process: str, name: str) -> None: ...


class Charge:
    """From start to forgetting. ``transport`` is None for one of an earlier life: only its spool and its end are left."""

    def __init__(
        self,
        about: About,
        folder: str,
        listener: Listener,
        spool: Spool,
        *,
        limit: int,
        transport: StdioTransport | None = None,
        end: End | None = None,
        graces: tuple[float, ...] | None = None,
    ) -> None:
        self.about, self.folder, self.spool, self.transport = about, folder, spool, transport
        self._listener, self._limit = listener, limit
        self.keys = Keys(os.path.join(folder, KEYS), self._noted)
        self.end, self.graces = end, graces
        self.held = ""
        self.stuck: list[bytes] = []
        """Read from the CLI, and not yet taken by the disk."""
        self._timer: asyncio.TimerHandle | None = None
        self._rhythm = Rhythm(lambda: [*spool.to_sync(), *self.keys.to_sync()], self._disk_trouble)
        self._disk_fails = ""
        self.outbox: Outbox | None = None
        if transport is None:
            self.spool.close()
            self.keys.close()
        else:
            self.keys.reserve()
            self.outbox = Outbox(
                self.keys,
                transport,
                lambda key: listener.written(about.process, key),
                lambda key, why: listener.unwritten(about.process, key, why),
            )

    @property
    def process(self) -> str:
        return self.about.process

    @property
    def alive(self) -> bool:
        return self.end is None

    @property
    def stopping(self) -> bool:
        """Whether a stop was begun, at any time."""
        return self.transport is not None and self.transport.process is not None and self.transport.process.stopping

    @property
    def leaving(self) -> bool:
        """Exited or being stopped, and not yet ended."""
        process = None if self.transport is None else self.transport.process
        return self.alive and process is not None and (process.stopping or process.gone.done())

    @property
    def settled(self) -> bool:
        """It has ended, and all that it said is in the spool."""
        return self.end is not None and not self.stuck

    def report(self) -> ProcessReport:
        end = self.end or End(None, "")
        about = self.about
        return ProcessReport(
            about.process,
            about.pid,
            about.start_time,
            about.boot_id,
            self.alive,
            self.spool.first,
            self.spool.last,
            self.spool.stored,
            len(self.keys),
            self.outbox.waiting if self.outbox else 0,
            about.claim,
            self.held,
            end.code,
            end.why,
            tuple(line[:500] for line in end.stderr[-10:]),  # all of it comes with the end itself
            about.cwd,
        )

    # What the transport says

    def data_received(self, data: bytes) -> None:
        if self.stuck:
            self._stick(data)
            return
        try:
            items = [item_of(record) for record in self.spool.append(data)]
        except OSError as error:
            self._stick(data)
            self._hold(f"the spool can't be written ({error.strerror or error}); the CLI waits until it can")
            return
        self._rhythm.dirty(len(data))
        if self.spool.size > self._limit and not self.held:
            self._hold(f"the spool has {self.spool.size} bytes that no hub has stored; the CLI waits until one has")
        self._listener.said(self, items)

    def link_changed(self, up: bool) -> None:
        """Pipes never say this."""

    def ended(self, end: End) -> None:
        self.end = end
        if self.outbox is not None:
            self.outbox.end(end.why)
        self._settle()

    # What the hub says

    def stored(self, n: int) -> None:
        self.spool.forget(n)
        if self.held and not self.stuck and self.spool.size < self._limit:
            self._release()

    async def stop(self, patience: float) -> End:
        if self.transport is not None:
            return await self.transport.stop(patience=patience, on_rung=self._rung)
        assert self.end is not None
        return self.end

    async def end_survivors(self) -> None:
        """What the CLI left behind when it ended by itself: commands, servers. A stop that is under way sees to it itself."""
        if self.transport is not None and not self.stopping:
            with contextlib.suppress(LinkBroken):
                await self.transport.stop(patience=0, on_rung=self._rung)

    async def sync(self) -> None:
        await self._rhythm.finish()

    def thaw(self, stuck: list[bytes]) -> None:
        """Taken over from an earlier program of this process."""
        for data in stuck:
            self._stick(data)
        if stuck:
            self._hold("the spool could not be written; the CLI waits until it can")
        elif self.spool.size > self._limit:
            self._hold(f"the spool has {self.spool.size} bytes that no hub has stored; the CLI waits until one has")

    async def close(self) -> None:
        """Nothing of it is needed any more in this process; the files stay."""
        if self._timer is not None:
            self._timer.cancel()
        if self.outbox is not None:
            await self.outbox.aclose()
        await self._rhythm.finish()
        self.spool.close()
        self.keys.close()

    async def delete(self) -> None:
        await self.close()
        await asyncio.to_thread(shutil.rmtree, self.folder, True)

    # Inside

    def _rung(self, name: str) -> None:
        self._listener.rung(self.process, name)

    def _settle(self) -> None:
        """The last of it: an unfinished line is finished, the end is noted, who listens is told."""
        if self.stuck:
            return
        try:
            items = [item_of(record) for record in self.spool.finish()]
        except OSError as error:
            self._stick(b"\n")
            self._hold(f"the spool can't be written ({error.strerror or error})")
            return
        if items:
            self._rhythm.dirty(1)
            self._listener.said(self, items)
        assert self.end is not None
        with contextlib.suppress(OSError):  # a full disk: the next life will say that it does not know how it ended
            write_note(self.folder, ENDED, EndNote(self.end.code, self.end.why, self.end.stderr))
        self.spool.retire()
        self._rhythm.dirty(1)
        self._listener.settled(self)

    def _stick(self, data: bytes) -> None:
        self.stuck.append(data)
        if sum(map(len, self.stuck)) > STUCK and self.transport is not None:
            self.transport.pause()

    def _hold(self, why: str) -> None:
        self.held = why
        if self.transport is not None:
            self.transport.pause()
        self._listener.held(self.process, why)
        if self.stuck and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TRY_AGAIN, self._try_again)

    def _try_again(self) -> None:
        self._timer = None
        while self.stuck:
            try:
                items = [item_of(record) for record in self.spool.append(self.stuck[0])]
            except OSError:
                self._timer = asyncio.get_running_loop().call_later(TRY_AGAIN, self._try_again)
                return
            self._rhythm.dirty(len(self.stuck.pop(0)))
            self._listener.said(self, items)
        if self.spool.size < self._limit:
            self._release()
        if self.end is not None:
            self._settle()

    def _release(self) -> None:
        if self._disk_fails:
            return
        self.held = ""
        if self.transport is not None:
            self.transport.resume()
        self._listener.held(self.process, "")

    def _disk_trouble(self, why: str) -> None:
        self._disk_fails = why
        if why:
            self._hold(why)
        elif self.held and not self.stuck and self.spool.size < self._limit:
            self._release()

    def _noted(self) -> None:
        """A key went to disk."""
        self._rhythm.dirty(1)


def new_spool(folder: str, limit: int, cap: int = LARGEST_LINE) -> Spool:
    return Spool(folder, segment=max(64 * 1024, min(SEGMENT, limit // 8)), cap=cap)
