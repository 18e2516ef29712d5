"""What a person says under a card: a key, a line, a yes. Refuses to take Enter, or anything unasked, for an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..events.commands import AllowedPrompt, Remember
from ..protocol.answers import Answer
from .keys import Keyboard
from .screen import Screen


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer for the CLI, and what it means for the run."""

    answer: Answer
    because: str
    """For the tool's line: who let it run, or why it did not."""
    fresh: str | None = None
    """A plan to start over with, in a new conversation."""
    stops: bool = False
    """The person ends the turn here."""
    way: str | None = None
    """Of a plan: fresh, keep_edits, keep_ask, revise, outline or stop."""
    wishes: Sequence[AllowedPrompt] = ()
    """What a plan asks for, and is granted for the session."""
    remember: Remember | None = None
    """Rules of ours that are granted with it."""
    shown: str = ""
    """The hash of the question as it was drawn: the answer is bound to it."""


class Hand:
    """Asks under what was drawn. Only for use inside ``keyboard.open()``."""

    def __init__(self, screen: Screen, keyboard: Keyboard) -> None:
        self.screen, self.keyboard = screen, keyboard

    async def key(self, keys: Sequence[str], shown: str) -> str:
        """One of ``keys``; every other one is passed over. ``shown`` stands before the cursor."""
        self._ask(shown)
        while True:
            key = await self.keyboard.key()
            if key in keys:
                self.screen.put(f"{key}\n")
                return key

    async def line(self, shown: str) -> str | None:
        """A line; None when the person wants to go back (^D)."""
        with self.keyboard.line_by_line():
            self._ask(shown)
            typed = await self.keyboard.line()
        if typed is None:
            self.screen.put("\n")
        return typed if typed is None else typed.strip()

    async def yes(self, question: str) -> bool:
        """Only ``y`` is a yes."""
        return await self.key(("y", "n", "escape"), f"{question} y/n") == "y"

    def _ask(self, shown: str) -> None:
        self.keyboard.flush()
        self.screen.put(self.screen.paint("amber", f"{shown} {self.screen.look.glyphs.go} "))
