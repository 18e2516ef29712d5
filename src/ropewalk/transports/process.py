"""One CLI process from start to end: its pipes, its last words, its exit told once, its stop. Knows no lines and no link.

``stdio`` speaks through its pipes; a transport with a link of its own uses the same process and leaves the pipes to the tail.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
from collections.abc import Callable

from ropewalk.errors import SessionGone
from ropewalk.transports.base import End
from ropewalk.transports.descendants import Family, Group, family_of
from ropewalk.transports.ends import MUTE, end_of, session_gone
from ropewalk.transports.exit_watch import ExitWatch, open_pidfd
from ropewalk.transports.ladder import Graces, Ladder
from ropewalk.transports.launch import Launch
from ropewalk.transports.mute import Mute
from ropewalk.transports.pipes import READ_SIZE, PipeReader, PipeWriter
from ropewalk.transports.spawn import Child, spawn
from ropewalk.transports.tail import StderrTail


class Process:
    """Started by being made, unless it is a ``child`` that an earlier program of this process started.

    ``on_output`` and ``on_end`` are called from the loop; ``on_end`` once, last of all.

    ``close_input`` says what the first rung of a stop does: close stdin, unless a link has something better.
    ``mute_after``: seconds after which one that has closed its output, and lives, is ended; for those who speak through it.
    Raises what ``spawn`` raises; then nothing is left behind. Whoever made it calls ``stop`` in the end, also after a crash: the
    CLI's children are left alone until then.
    """

    __slots__ = (
        "_close_input",
        "_ended",
        "_graces",
        "_ladder",
        "_loop",
        "_mute",
        "_on_end",
        "_popen",
        "_stderr",
        "_tail",
        "_watch",
        "code",
        "end",
        "gone",
        "input",
        "output",
        "pid",
        "relatives",
    )

    def __init__(
        self,
        launch: Launch,
        *,
        on_output: Callable[[bytes], object],
        on_end: Callable[[End], object],
        close_input: Callable[[], None] | None = None,
        read_size: int = READ_SIZE,
        graces: Graces | None = None,
        child: Child | None = None,
        mute_after: float | None = None,
    ) -> None:
        self._loop = loop = asyncio.get_running_loop()
        child = child or spawn(launch)
        self._popen, self.pid = child.popen, child.pid
        self._on_end, self._close_input = on_end, close_input
        self._graces = graces or Graces()
        self._mute = Mute(mute_after, self._end_mute)
        self.code: int | None = None
        self.end: End | None = None
        self.gone: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._tail = StderrTail()
        self.relatives: Family | Group = family_of(self.pid, launch.marker)
        self.input = PipeWriter(loop, child.stdin)
        self.output = PipeReader(loop, child.stdout, on_output, self._pipe_closed, read_size)
        self._stderr = PipeReader(loop, child.stderr, self._tail.feed, self._pipe_closed)
        self._ladder = Ladder(self, self._graces)
        self._watch = ExitWatch(loop, self.pid, self._exited)
        if not self.output.is_open:
            self._mute.begin()

    def child(self) -> Child:
        """As it would have to be handed to the next program of this process."""
        return Child(None, self.pid, self.input.descriptor, self.output.descriptor, self._stderr.descriptor)

    def feed_tail(self, lines: tuple[str, ...]) -> None:
        """Last words that an earlier program of this process heard."""
        self._tail.feed("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))

    def stderr_tail(self) -> tuple[str, ...]:
        return self._tail.lines()

    def session_gone(self) -> SessionGone:
        """What every caller gets who comes too late."""
        return session_gone(self.end, self._tail.lines())

    @property
    def stopping(self) -> bool:
        return self._ladder.begun

    async def stop(self, *, patience: float = 10.0, on_rung: Callable[[str], None] | None = None) -> End:
        """Climb the ladder. Returns when nothing of it is left; raises ``LinkBroken`` if a process can't be ended."""
        await self._ladder.climb(patience, on_rung)
        await asyncio.wait({self._ended})
        assert self.end is not None
        return self.end

    def close_input(self) -> None:
        if self._close_input is not None:
            self._close_input()
        self.input.close()

    def signal(self, number: int) -> None:
        """Nobody else can have this pid before we have reaped it, and then we send no more."""
        if not self.gone.done() and self.pid > 1:
            with contextlib.suppress(PermissionError):  # it has become another user's: the ladder will say that it is still there
                os.kill(self.pid, number)

    def kill_now(self) -> None:
        """Without the loop: KILL for it and all its descendants, and a second for the kernel."""
        self.relatives.note()
        self.signal(signal.SIGKILL)
        if (handle := open_pidfd(self.pid)) is not None:
            poll = select.poll()  # select() refuses descriptors past 1023
            poll.register(handle, select.POLLIN)
            poll.poll(1000)
            os.close(handle)
        self._watch.look()
        self.relatives.note()
        self.relatives.signal(signal.SIGKILL)
        if self.gone.done():
            self._read_rest_and_finish()

    def _exited(self, code: int | None) -> None:
        self.code = code
        if self._popen is not None:
            self._popen.returncode = code  # else Popen warns that it was never waited for
        self.relatives.root_is_gone()
        self.gone.set_result(None)
        until = self._loop.time() + self._graces.quiet_at_most
        self._loop.call_later(self._graces.quiet, self._look_for_silence, self._reads(), until)
        self.output.resume()
        self._pipe_closed()  # the usual order: both pipes ended before the exit was seen, and there is nothing to wait for

    def _pipe_closed(self) -> None:
        if self.output.is_open:
            return
        if not self.gone.done():
            self._mute.begin()
        elif not self._stderr.is_open:
            self._finish()

    def _end_mute(self) -> bool:
        """Nothing more can come of it, and it does not go by itself."""
        if self.gone.done() or self._ladder.begun:
            return False
        self._ladder.begin(0.0)
        return True

    def _reads(self) -> int:
        return self.output.reads + self._stderr.reads

    def _look_for_silence(self, reads_before: int, until: float) -> None:
        """The pipes are held open by others. What the CLI itself wrote was in them at its exit, ahead of anything later."""
        if self.end is not None:
            return
        if self._reads() != reads_before and self._loop.time() < until:
            self.output.resume()
            self._loop.call_later(self._graces.quiet, self._look_for_silence, self._reads(), until)
        else:
            self._read_rest_and_finish()

    def _read_rest_and_finish(self) -> None:
        try:
            self._stderr.read_rest()
            self.output.read_rest()
        finally:
            self._finish()

    def _finish(self) -> None:
        """Exactly once: from the second pipe's end, from the silence, or from the loop's end."""
        if self.end is not None:
            return
        self._mute.forget()
        cause = MUTE if self._mute.ended_it else "stopped" if self._ladder.begun else ""
        self.end = end_of(self.code, self._tail.lines(), cause)
        self.output.close()
        self._stderr.close()
        self.input.end(self.session_gone)
        self._ended.set_result(None)
        self._on_end(self.end)
