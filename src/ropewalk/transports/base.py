"""What every road to a CLI offers: bytes both ways, an end with a reason, a bounded stop. Knows nothing of lines or messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class End:
    """How it ended. ``code`` is the exit code as a shell's parent sees it: negative for a signal, None when not known."""

    code: int | None
    why: str
    stderr: tuple[str, ...] = ()
    """The last lines of stderr (at most 200). Words there are no failure by themselves."""


class Receiver(Protocol):
    """Who hears a transport. Called from the event loop; must neither block nor raise."""

    def data_received(self, data: bytes) -> None:
        """Some bytes; any chunking."""

    def link_changed(self, up: bool) -> None:
        """The link was lost (False) or is there again (True) while the CLI lives on. Pipes never call this.

        After True: half a line that came before is gone, and what the CLI said meanwhile may be lost or repeated.
        """

    def ended(self, end: End) -> None:
        """Exactly once, last of all."""


class Transport(Protocol):
    """One CLI. ``start`` once, then ``send`` until ``ended``; ``stop`` may be called at any time, by anyone, and again."""

    @property
    def end(self) -> End | None:
        """Set just before ``Receiver.ended`` is called."""

    @property
    def pid(self) -> int | None:
        """The CLI's process, where this transport started one."""

    @property
    def unsent(self) -> int:
        """Bytes that ``send`` took and the CLI has not read off us yet. Grows when it does not read; never blocks us."""

    async def start(self, receiver: Receiver) -> None:
        """Open the road. Raises a ``UsageError`` or ``LinkBroken``; then nothing is left behind."""

    def send(self, data: bytes) -> None:
        """Whole lines, kept in order, written as soon as the CLI reads. Never blocks. Raises ``SessionGone`` after the end."""

    async def drain(self) -> None:
        """Wait until everything sent so far has been handed over. Raises ``SessionGone`` if the end comes first."""

    def pause(self) -> None:
        """Stop reading from the CLI (it then blocks on its own output). Control answers stop too: a last resort."""

    def resume(self) -> None:
        """Read on."""

    def close_input(self) -> None:
        """Tell the CLI that nothing more will come, after what was sent. It ends by itself when its work is done."""

    async def stop(self, *, patience: float = 10.0, on_rung: Callable[[str], None] | None = None) -> End:
        """End it, rung by rung, each bounded: close the input and wait ``patience`` seconds, TERM, KILL, survivors.

        ``on_rung`` hears the name of each rung as it is taken. Returns when nothing of it is left.
        """
