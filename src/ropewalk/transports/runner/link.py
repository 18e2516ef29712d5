"""The hub's link to one runner: dials, dials again, hands lines to who hears them, asks and waits with deadlines.

It knows no protocol of the CLI and keeps no log: what it was given while the link was down it refuses, and says so. After each
loss it attaches its hearers again where they stopped, so that no line comes twice and none is left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

from ropewalk.errors import LinkBroken, RopewalkError, UsageError
from ropewalk.transports import frames
from ropewalk.transports.base import End
from ropewalk.transports.frames import LARGEST_LINE, PROTOCOL, Account, Frame, FromRunner, ProcessReport, Welcome
from ropewalk.transports.ladder import Graces
from ropewalk.transports.launch import Launch
from ropewalk.transports.runner.asks import Asks
from ropewalk.transports.runner.dialled import Dialled, dial
from ropewalk.transports.runner.hearing import Hearing
from ropewalk.transports.runner.receiver import LinesReceiver, Started
from ropewalk.transports.runner.remote_files import RemoteFiles

BACKOFF = (0.05, 1.0)
"""Seconds between two dials: the first, doubled up to the last."""
TICK = 1.0
SILENT_TICKS = 5
"""A runner that said nothing for so many ticks is not heard (stopped, or the machine hangs). Each tick asks it."""
LATE_TICK = 3.0
"""A tick that comes this late means that we ourselves were stopped or asleep: then nobody was silent."""
LAST_WORDS = 2.0
"""Seconds for a runner to hear what was sent right before the link is closed."""
ANSWER = 15.0
"""Seconds that a runner may take for an answer that needs no CLI."""


class RunnerLink:
    """One runner. ``open`` it once; from then on it stays up by itself until ``close``. All calls belong to one loop.

    ``on_up(reports)`` after each hello, before any line; ``on_down(why)`` within a second of a runner's death, and when it falls
    silent. Between the two, writes raise ``LinkBroken``: write again after ``on_up``; keys make that harmless.
    """

    def __init__(
        self,
        socket: str,
        epoch: int,
        *,
        on_up: Callable[[list[ProcessReport]], None] = lambda reports: None,
        on_down: Callable[[str], None] = lambda why: None,
        on_accounts: Callable[[tuple[Account, ...]], None] = lambda accounts: None,
        version: str = "",
    ) -> None:
        self.socket, self.epoch, self._version = socket, epoch, version
        self._on_up, self._on_down, self._on_accounts = on_up, on_down, on_accounts
        self._dialled: Dialled | None = None
        self._asks = Asks()
        self._hearings: dict[str, Hearing] = {}
        self._serial = 0
        self._greeted = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._up_once: asyncio.Future[None] | None = None
        self._why_down = "the link to the runner is not open"
        self.up = False
        self.fenced: int | None = None
        """The higher epoch that another hub came with. The link is then over."""
        self.welcome: Welcome | None = None
        """What the runner said of itself at the last hello: version, pid, id, what it found broken."""
        self.files = RemoteFiles(self._ask)

    # Opening and closing

    async def open(self, timeout: float = ANSWER) -> None:
        """Dial until the runner answers. Raises ``LinkBroken`` when it does not in time, or has heard a newer hub."""
        loop = asyncio.get_running_loop()
        if self._keeper is None:
            self._up_once = loop.create_future()
            self._keeper = loop.create_task(self._keep(), name=f"link to {self.socket}")
        assert self._up_once is not None
        try:
            async with asyncio.timeout(timeout):
                await asyncio.shield(self._up_once)
        except TimeoutError:
            why = self._why_down
            await self.close()
            raise LinkBroken(f"no runner answers at {self.socket}: {why}") from None
        except LinkBroken:
            await self.close()
            raise

    def begin_anew(self, epoch: int) -> None:
        """After a refusal for a lower epoch: ``open`` it again with this one."""
        self.epoch, self.fenced = epoch, None

    async def close(self) -> None:
        """Leave the runner alone: it and its CLIs live on. What was sent before is heard; who waits for an answer gets
        ``LinkBroken``."""
        if self.up:
            with contextlib.suppress(LinkBroken):
                await self._ask(frames.Ping, frames.Done, timeout=LAST_WORDS)
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeper
        self._lose("the link was closed", tell=False)

    # One CLI

    async def start_process(
        self,
        process: str,
        launch: Launch,
        receiver: LinesReceiver,
        *,
        claim: str = "",
        graces: Graces | None = None,
        timeout: float = 30.0,
    ) -> Started:
        """Start a CLI under this id; ``receiver`` hears it from its first line on. Its marker is the runner's to choose.

        ``claim`` is the CLI's own session id where it is known: a second start while it runs is refused. Raises ``UsageError``
        (``FolderMissing``, ``CliNotFound`` …): nothing was started. Raises ``LinkBroken``: nobody knows; the next ``on_up``
        reports the process if it was.
        """
        terms = None if graces is None else dataclasses.astuple(graces)
        program, args, cwd, env = _as_bytes(launch)

        def frame(ask: int) -> Frame:
            return frames.Start(ask, process, program, args, cwd, env, claim, terms)

        self._hearings[process] = Hearing(process, 0, receiver)
        try:
            answer = await self._ask(frame, frames.Started, timeout=timeout)
        except BaseException:
            self._hearings.pop(process, None)
            raise
        return Started(answer.pid, answer.start_time, answer.boot_id)

    def attach(self, process: str, after: int, receiver: LinesReceiver) -> None:
        """Hear all lines after ``after``, then what comes, then the end. Another receiver of this process hears no more.

        While the link is down this takes effect when it is up again.
        """
        hearing = self._hearings[process] = Hearing(process, after, receiver)
        if self.up:
            self._attach(hearing)

    def detach(self, process: str) -> None:
        """Hear nothing more of it. The runner goes on spooling."""
        self._hearings.pop(process, None)

    def write(self, process: str, key: str, data: bytes) -> None:
        """To the CLI's input, once per key; ``written`` or ``unwritten`` tells the rest. Never blocks. Raises ``LinkBroken``."""
        if len(data) > LARGEST_LINE:
            raise UsageError(f"{len(data)} bytes are too many for one line to a CLI ({LARGEST_LINE} at most)")
        self._send(frames.Write(process, key), data)

    async def unwrite(self, process: str, key: str, timeout: float = ANSWER) -> bool:
        """Take back a write that waits because the CLI does not read. True: nothing of it has reached the CLI."""
        answer = await self._ask(lambda ask: frames.Unwrite(ask, process, key), frames.Withdrawn, timeout=timeout)
        return bool(answer.yes)

    def stored(self, process: str, n: int) -> None:
        """Lines up to ``n`` are safe with us. Quietly nothing while the link is down: say it again later, or never."""
        if self.up:
            self._send(frames.Stored(process, n))

    def close_input(self, process: str) -> None:
        """After what was written. The CLI ends by itself when its work is done."""
        self._send(frames.CloseInput(process))

    async def stop(self, process: str, patience: float = 10.0, timeout: float | None = None) -> End:
        """Climb the stop ladder; rungs are told to the receiver. Returns when nothing of the CLI is left."""
        bound = patience + 30.0 if timeout is None else timeout
        answer = await self._ask(lambda ask: frames.Stop(ask, process, patience), frames.Stopped, timeout=bound)
        return End(answer.code, answer.why, tuple(answer.stderr))

    def forget(self, process: str) -> None:
        """Its end and all its lines are stored: the runner may delete what it kept. Nothing happens while it lives."""
        self._hearings.pop(process, None)
        self._send(frames.Forget(process))

    async def keys(self, process: str, timeout: float = ANSWER) -> set[str]:
        """What was handed to the CLI's input, or begun to be. After a reboot (another boot_id) a missing key proves nothing."""
        _, keys = await self._ask(lambda ask: frames.Keys(ask, process), frames.KeysAre, timeout=timeout, with_payload=True)
        return set(keys.decode().split("\n")) if keys else set()

    # The runner itself

    async def accounts(self, timeout: float = ANSWER) -> tuple[Account, ...]:
        """Descendants and memory of each CLI, counted now. Told by itself every few seconds to ``on_accounts``."""
        answer = await self._ask(frames.Census, frames.Accounts, timeout=timeout)
        return tuple(answer.accounts)

    async def reexec(self, timeout: float = 30.0) -> None:
        """Have it become the program that is installed now; CLIs, lines and writes go on. Returns when it is up again."""
        assert self.welcome is not None
        life = self.welcome.life
        await self._ask(frames.Reexec, frames.Done, timeout=timeout)
        try:
            async with asyncio.timeout(timeout):
                while self.welcome.life == life:
                    self._greeted.clear()
                    await self._greeted.wait()
        except TimeoutError:
            raise LinkBroken(f"the runner was not back {timeout:g} s after its re-exec; its log may say why") from None

    # Inside

    async def _ask(
        self,
        frame: Callable[[int], Frame],
        kind: type[Any],
        *,
        payload: bytes = b"",
        timeout: float = ANSWER,
        with_payload: bool = False,
    ) -> Any:
        ask = self._asks.open()
        try:
            self._send(frame(ask), payload)
        except RopewalkError:
            self._asks.give_up(ask)
            raise
        answer, raw = await self._asks.wait(ask, tuple, timeout, kind.__name__)
        if not isinstance(answer, kind):
            raise LinkBroken(f"the runner answered {type(answer).__name__} where {kind.__name__} was due")
        return (answer, raw) if with_payload else answer

    def _send(self, frame: Frame, payload: bytes = b"") -> None:
        if self._dialled is None or not self.up:
            raise LinkBroken(self._why_down)
        self._dialled.send(frame, payload)

    async def _keep(self) -> None:
        """The owner of the connection: dial, greet, watch, lose, dial again."""
        wait = BACKOFF[0]
        try:
            while self.fenced is None:
                if await self._one_connection():
                    wait = BACKOFF[0]
                if self.fenced is None:
                    await asyncio.sleep(wait)
                    wait = min(wait * 2, BACKOFF[1])
        finally:
            if self._dialled is not None:
                self._dialled.abort("the link was closed")

    async def _one_connection(self) -> bool:
        """Whether the runner welcomed us."""
        try:
            self._dialled = dialled = await dial(self.socket, self._heard)
        except OSError as error:
            self._why_down = f"nobody listens at {self.socket} ({error.strerror or error})"
            return False
        with contextlib.suppress(LinkBroken):
            dialled.send(frames.Hello(PROTOCOL, self._version, self.epoch))
        await self._watch(dialled)
        welcomed = self.up
        self._lose(dialled.lost.result(), tell=True)
        return welcomed

    async def _watch(self, dialled: Dialled) -> None:
        """Until it is lost; a runner that says nothing for long is lost, too."""
        loop = asyncio.get_running_loop()
        silent, heard, last = 0, dialled.heard, loop.time()
        while not dialled.lost.done():
            await asyncio.wait({dialled.lost}, timeout=TICK)
            now = loop.time()
            late, last = now - last > LATE_TICK, now
            silent = 0 if late or dialled.heard != heard or not self.up else silent + 1
            heard = dialled.heard
            if silent >= SILENT_TICKS:
                dialled.abort("the runner does not answer; it may be stopped, or its machine may hang")
            elif self.up and not dialled.lost.done():
                with contextlib.suppress(LinkBroken):
                    dialled.send(frames.Ping(0))

    def _lose(self, why: str, *, tell: bool) -> None:
        was_up, self.up, self._why_down = self.up, False, why
        self._dialled = None
        self._asks.fail(why)
        if self.fenced is not None and self._up_once is not None and not self._up_once.done():
            self._up_once.set_exception(LinkBroken(why))
        if was_up and tell:
            self._on_down(why)

    def _attach(self, hearing: Hearing) -> None:
        self._serial += 1
        hearing.attached_anew(self._serial)
        self._send(frames.Attach(hearing.process, hearing.next - 1, self._serial))

    def _welcomed(self, welcome: Welcome) -> None:
        assert self._dialled is not None
        if welcome.protocol != PROTOCOL:
            self._dialled.abort(f"the runner speaks protocol {welcome.protocol}, we speak {PROTOCOL}; update or restart it")
            return
        self.welcome, self.up = welcome, True
        self._greeted.set()
        before = list(self._hearings.values())
        self._on_up(list(welcome.processes))
        known = {report.process for report in welcome.processes}
        for hearing in before:
            if self._hearings.get(hearing.process) is not hearing or hearing.over:
                continue  # attached anew from within on_up, or told its end
            if hearing.process in known:
                self._attach(hearing)
            else:
                hearing.end(End(None, "the runner does not know this process any more"))
        if self._up_once is not None and not self._up_once.done():
            self._up_once.set_result(None)

    def _heard(self, frame: FromRunner, payload: bytes) -> None:
        match frame:
            case frames.Said():
                if (hearing := self._hearings.get(frame.process)) is not None:
                    hearing.said(frame, payload)
            case frames.Written():
                self._tell(frame.process, lambda receiver: receiver.written(frame.key))
            case frames.Unwritten():
                self._tell(frame.process, lambda receiver: receiver.unwritten(frame.key, frame.why))
            case frames.Rung():
                self._tell(frame.process, lambda receiver: receiver.rung(frame.name))
            case frames.Held():
                self._tell(frame.process, lambda receiver: receiver.held(frame.why))
            case frames.Dropped() | frames.Ended() | frames.Attached():
                self._heard_of(frame, payload)
            case frames.Accounts(ask=0):
                self._on_accounts(tuple(frame.accounts))
            case frames.Welcome():
                self._welcomed(frame)
            case frames.Fenced():
                assert self._dialled is not None
                self.fenced = frame.epoch
                self._dialled.abort(frame.words)
            case frames.Refused():
                self._asks.refuse(frame)
            case _:
                self._asks.answer(frame.ask, (frame, payload))

    def _heard_of(self, frame: frames.Dropped | frames.Ended | frames.Attached, payload: bytes) -> None:
        hearing = self._hearings.get(frame.process)
        match frame:
            case _ if hearing is None:
                return
            case frames.Dropped():
                hearing.dropped(frame, payload)
            case frames.Ended():
                hearing.ended(frame)
            case frames.Attached():
                hearing.attached(frame.serial)

    def _tell(self, process: str, tell: Callable[[LinesReceiver], None]) -> None:
        hearing = self._hearings.get(process)
        if hearing is not None and not hearing.over:
            tell(hearing.receiver)


def _as_bytes(launch: Launch) -> tuple[tuple[bytes, ...], tuple[bytes, ...], bytes, dict[bytes, bytes]]:
    """As the system will have them. Raises ``UsageError`` for what it could not take."""
    try:
        env = {os.fsencode(name): os.fsencode(value) for name, value in launch.env.items()}
        return tuple(map(os.fsencode, launch.program)), tuple(map(os.fsencode, launch.args)), os.fsencode(launch.cwd), env
    except UnicodeEncodeError as error:
        raise UsageError(f"no process can be given this word: {error.object[:100]!r}") from error


def reported(reports: Sequence[ProcessReport], process: str) -> ProcessReport | None:
    """The one of this id."""
    return next((report for report in reports if report.process == process), None)
