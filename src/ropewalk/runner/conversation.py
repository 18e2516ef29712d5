"""One hub at our socket: its frames become the keeper's verbs, what happens becomes frames. Refuses other users."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, cast

from ropewalk.errors import CliNotFound, FolderMissing, LinkBroken, RopewalkError, SessionGone, UsageError
from ropewalk.runner.charge import Charge
from ropewalk.runner.cursor import Item
from ropewalk.runner.files import Files
from ropewalk.runner.keeper import Keeper
from ropewalk.runner.pump import Pump
from ropewalk.transports import frames
from ropewalk.transports.frames import PIECE, Frame, FrameReader, FromHub, encode, from_hub

if TYPE_CHECKING:
    from ropewalk.runner.reception import Reception

HIGH_WATER = 2 * PIECE
"""Bytes in our socket's queue at which the hub counts as slow."""
UNREAD = 64 * 1024 * 1024
"""Answers kept for a hub that asks and does not read; past it the connection is ended."""


class Conversation(asyncio.Protocol):
    """Silent until ``Hello``; then the keeper's listener, until it goes or a newer hub comes."""

    def __init__(self, keeper: Keeper, files: Files, reception: Reception) -> None:
        self._keeper, self._files, self._reception = keeper, files, reception
        self._reader: FrameReader[FromHub] = FrameReader(from_hub)
        self._transport: asyncio.Transport | None = None
        self._pump = Pump(self._send)
        self.epoch: int | None = None
        self.over = False

    # The socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's are not, by class
        transport.set_write_buffer_limits(high=HIGH_WATER)
        if not _same_user(transport):
            self.end()
            return
        self._reception.came(self)

    def data_received(self, data: bytes) -> None:
        try:
            for frame, payload in self._reader.feed(data):
                if self.over:
                    return
                self._heard(frame, payload)
        except LinkBroken as error:
            self._reception.complain(str(error))
            self.end()

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()

    def pause_writing(self) -> None:
        self._pump.writable = False

    def resume_writing(self) -> None:
        self._pump.resume()

    def end(self, last: Frame | None = None) -> None:
        """Nothing is heard or said after this, but ``last``."""
        if self.over:
            return
        if last is not None:
            self._send(last)
        self.over = True
        self._pump.close()
        if self._transport is not None:
            self._transport.close() if last is not None else self._transport.abort()
        self._reception.went(self)

    @property
    def all_told(self) -> bool:
        """Whether all processes' lines are in the socket."""
        return self.over or (not self._pump.behind and self._unsent() == 0)

    async def flushed(self, within: float) -> None:
        """Wait until what was told is out of our hands, but not for long."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within
        while not self.over and self._unsent() and loop.time() < until:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)

    def _unsent(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    # What the charges say

    def said(self, charge: Charge, items: list[Item]) -> None:
        self._pump.said(charge, items)

    def settled(self, charge: Charge) -> None:
        self._pump.settled(charge)

    def written(self, process: str, key: str) -> None:
        self._send(frames.Written(process, key))

    def unwritten(self, process: str, key: str, why: str) -> None:
        self._send(frames.Unwritten(process, key, why))

    def held(self, process: str, why: str) -> None:
        self._send(frames.Held(process, why))

    def rung(self, process: str, name: str) -> None:
        self._send(frames.Rung(process, name))

    def tell(self, frame: Frame) -> None:
        self._send(frame)

    # What the hub says

    def _heard(self, frame: FromHub, payload: bytes) -> None:
        if isinstance(frame, frames.Hello):
            self._reception.greet(self, frame)
        elif self.epoch is None:
            raise LinkBroken("a hub spoke before it said hello")
        elif isinstance(frame, frames.Write):
            self._write(frame, payload)
        elif isinstance(frame, frames.Attach):
            self._attach(frame)
        elif isinstance(frame, frames.Stored | frames.CloseInput | frames.Forget):
            self._one_way(frame)
        elif isinstance(frame, frames.Ping):
            self._send(frames.Done(frame.ask))
        else:
            self._answer_later(frame, payload)

    def _one_way(self, frame: frames.Stored | frames.CloseInput | frames.Forget) -> None:
        charge = self._keeper.charges.get(frame.process)
        if charge is None:
            return
        if isinstance(frame, frames.Stored):
            charge.stored(frame.n)
        elif isinstance(frame, frames.CloseInput):
            if charge.outbox is not None and charge.alive:
                charge.outbox.close_input()
        elif charge.settled:
            self._pump.detach(frame.process)
            self._keeper.tasks.begin(self._keeper.forget(frame.process), f"forget {frame.process}")

    def _write(self, frame: frames.Write, payload: bytes) -> None:
        charge = self._keeper.charges.get(frame.process)
        if charge is None or charge.outbox is None:
            if charge is not None and frame.key in charge.keys:
                self.written(frame.process, frame.key)
                return
            why = f"the runner knows no process {frame.process}" if charge is None or charge.end is None else charge.end.why
            self.unwritten(frame.process, frame.key, why)
        else:
            charge.outbox.write(frame.key, payload)

    def _attach(self, frame: frames.Attach) -> None:
        self._send(frames.Attached(frame.process, frame.serial))
        charge = self._keeper.charges.get(frame.process)
        if charge is None:
            self._send(frames.Ended(frame.process, None, f"the runner knows no process {frame.process}", (), frame.after))
            return
        if charge.held:
            self._send(frames.Held(frame.process, charge.held))
        self._pump.attach(charge, frame.after)

    def _answer_later(self, frame: Any, payload: bytes) -> None:
        """Whatever waits for a CLI or a disk: beside the loop's callbacks, so that nothing else waits for it."""
        work: dict[type[Frame], Callable[[], Coroutine[Any, Any, None]]] = {
            frames.Start: lambda: self._start(frame),
            frames.Stop: lambda: self._stop(frame),
            frames.Unwrite: lambda: self._unwrite(frame),
            frames.Keys: lambda: self._keys(frame),
            frames.Census: lambda: self._census(frame),
            frames.Reexec: lambda: self._reception.reexec(self, frame),
        }
        doing = work[type(frame)]() if type(frame) in work else self._file(frame, payload)
        self._keeper.tasks.begin(self._refusing(frame.ask, doing), type(frame).__name__)

    async def _refusing(self, ask: int, doing: Coroutine[Any, Any, None]) -> None:
        try:
            await doing
        except RopewalkError as error:
            self._send(_refusal(ask, error))

    async def _start(self, frame: frames.Start) -> None:
        charge = await self._keeper.start(frame)
        about = charge.about
        self._send(frames.Started(frame.ask, about.pid, about.start_time, about.boot_id))
        if not self.over:
            self._pump.attach(charge, 0)

    async def _stop(self, frame: frames.Stop) -> None:
        charge = self._charge(frame.process)
        end = await charge.stop(frame.patience)
        self._send(frames.Stopped(frame.ask, end.code, end.why, end.stderr))

    async def _unwrite(self, frame: frames.Unwrite) -> None:
        charge = self._charge(frame.process)
        yes = charge.outbox.unwrite(frame.key) if charge.outbox is not None else False
        self._send(frames.Withdrawn(frame.ask, yes or frame.key not in charge.keys))

    async def _keys(self, frame: frames.Keys) -> None:
        self._send(frames.KeysAre(frame.ask), "\n".join(self._charge(frame.process).keys.all()).encode())

    async def _census(self, frame: frames.Census) -> None:
        self._send(frames.Accounts(frame.ask, await self._keeper.accounts()))

    async def _file(self, frame: Any, payload: bytes) -> None:
        answer, part = await asyncio.to_thread(_look_at, self._files, frame, payload)
        self._send(answer, part)

    def _charge(self, process: str) -> Charge:
        charge = self._keeper.charges.get(process)
        if charge is None:
            raise SessionGone(f"the runner knows no process {process}")
        return charge

    def _send(self, frame: Frame, payload: bytes = b"") -> None:
        if self.over or self._transport is None:
            return
        self._transport.write(encode(frame, payload))
        if self._transport.get_write_buffer_size() > UNREAD:
            self._reception.complain("the hub does not read what it is told")
            self.end()


def _look_at(files: Files, frame: Any, payload: bytes) -> tuple[Frame, bytes]:
    match frame:
        case frames.StatFile():
            return frames.StatIs(frame.ask, files.stat(frame.path)), b""
        case frames.ResolvePaths():
            return frames.PathsAre(frame.ask, files.resolve(frame.base, frame.paths)), b""
        case frames.ReadFile():
            found, binary, part = files.read(frame.path, frame.offset, frame.cap)
            return frames.FileIs(frame.ask, found.path, found.size, binary), part
        case frames.ListFolder():
            folder, entries, more = files.list(frame.path, frame.cap)
            return frames.FolderIs(frame.ask, folder, tuple(entries), more), b""
        case _:
            assert isinstance(frame, frames.PutFile)
            put = files.put(frame.path, payload, exclusive=frame.exclusive, mode=frame.mode, folders=frame.folders)
            return frames.StatIs(frame.ask, put), b""


def _refusal(ask: int, error: RopewalkError) -> frames.Refused:
    match error:
        case FolderMissing():
            return frames.Refused(ask, "folder", error.folder)
        case CliNotFound():
            return frames.Refused(ask, "cli", error.looked_for)
        case UsageError():
            return frames.Refused(ask, "usage", str(error))
        case SessionGone():
            return frames.Refused(ask, "gone", str(error))
        case _:
            return frames.Refused(ask, "broken", str(error))


def _same_user(transport: asyncio.Transport) -> bool:
    """The kernel says who is at the other end; where it does not, the folder's mode is what protects us."""
    peer = transport.get_extra_info("socket")
    if not hasattr(socket, "SO_PEERCRED") or peer is None:
        return True
    _, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return bool(uid == os.getuid())
