"""The road over a child's own pipes: stdin and stdout, every CLI version. The default. Knows bytes; lines are the protocol's."""

from __future__ import annotations

from collections.abc import Callable

from ropewalk.errors import LocalProtocolError, SessionGone
from ropewalk.transports.base import End, Receiver
from ropewalk.transports.ladder import Graces
from ropewalk.transports.launch import Launch
from ropewalk.transports.pipes import READ_SIZE, PipeWriter
from ropewalk.transports.process import Process
from ropewalk.transports.spawn import Child

NEVER_STARTED = End(None, "stopped before it was started")


class StdioTransport:
    """A CLI that we start, as ``base.Transport`` has it. All calls belong to the loop in which ``start`` was called.

    The receiver is called straight from the loop's callback; an answer that it sends from there is one ``os.write``, at once.
    What is in the pipe when the CLI exits is handed over even while paused (a pipe holds 64 KiB): the end comes after it.
    """

    __slots__ = ("_child", "_end", "_graces", "_input", "_launch", "_process", "_read_size")

    def __init__(
        self, launch: Launch, *, read_size: int = READ_SIZE, graces: Graces | None = None, child: Child | None = None
    ) -> None:
        """``child``: not to be started but taken over, from an earlier program of this process."""
        self._launch, self._read_size, self._graces, self._child = launch, read_size, graces, child
        self._process: Process | None = None
        self._input: PipeWriter | None = None
        self._end: End | None = None

    @property
    def end(self) -> End | None:
        return self._end if self._process is None else self._process.end

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def unsent(self) -> int:
        return 0 if self._input is None else self._input.unsent

    @property
    def process(self) -> Process | None:
        """None before the start."""
        return self._process

    async def start(self, receiver: Receiver) -> None:
        """Start the CLI. Raises ``FolderMissing``, ``CliNotFound`` or another ``UsageError``, or ``LinkBroken``."""
        if self._process is not None:
            raise LocalProtocolError("this transport has been started already; make a new one for a new CLI")
        if self._end is not None:
            raise SessionGone(self._end.why)
        self._process = Process(
            self._launch,
            on_output=receiver.data_received,
            on_end=receiver.ended,
            read_size=self._read_size,
            graces=self._graces,
            child=self._child,
            mute_after=(self._graces or Graces()).mute,
        )
        self._input = self._process.input

    def send(self, data: bytes) -> None:
        if self._input is None or self._input.closing:
            raise self._gone()
        self._input.send(data)

    async def drain(self) -> None:
        if self._input is None or (self._started().end is not None and self._input.unsent):
            raise self._gone()
        await self._input.drain()

    def pause(self) -> None:
        self._started().output.pause()

    def resume(self) -> None:
        self._started().output.resume()

    def close_input(self) -> None:
        self._started().close_input()

    async def stop(self, *, patience: float = 10.0, on_rung: Callable[[str], None] | None = None) -> End:
        """End it. Before ``start``: it then can't be started any more, and no receiver hears of it."""
        if self._process is None:
            self._end = NEVER_STARTED
            return self._end
        return await self._process.stop(patience=patience, on_rung=on_rung)

    def _started(self) -> Process:
        if self._process is None:
            raise LocalProtocolError("this transport has not been started")
        return self._process

    def _gone(self) -> Exception:
        if self._process is not None:
            return self._process.session_gone()
        if self._end is not None:
            return SessionGone(self._end.why)
        return LocalProtocolError("this transport has not been started")
