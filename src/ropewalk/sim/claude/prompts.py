"""The queue of prompts: what waits, what was seen, what a turn takes. Refuses to run one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from .lines import Lines
from .scenario import Step
from .session import Json

PRIORITIES = {"now": 0, "next": 1, "later": 2}


@dataclass(frozen=True)
class Prompt:
    """What a person sent, or (with ``steps``) the note that background work has ended."""

    content: object
    uuid: str | None = None
    priority: str = "next"
    steps: tuple[Step, ...] | None = None
    origin: Json | None = None

    @property
    def text(self) -> str:
        """The words alone: what rules are matched against."""
        if isinstance(self.content, str):
            return self.content
        blocks = self.content if isinstance(self.content, list) else []
        return "\n".join(
            str(block.get("text", "")) for block in blocks if isinstance(block, dict) and block.get("type") == "text"
        )


class Prompts:
    """First come, first served; ``priority`` counts on versions that know it."""

    def __init__(self, lines: Lines, send: Callable[[Json], None], replay: bool) -> None:
        self._lines, self._send, self._replay = lines, send, replay
        self._waiting: deque[Prompt] = deque()
        self._changed = asyncio.Event()
        self.seen: set[str] = set()
        self.closed = False

    def put(self, prompt: Prompt) -> bool:
        """Queue a prompt; a repeated uuid is only echoed (measured, all versions), and that returns False."""
        if prompt.uuid is not None and prompt.uuid in self.seen:
            if self._replay:
                self._send(self._lines.replay(prompt.content, prompt.uuid, stamped=False))
            return False
        if prompt.uuid is not None:
            self.seen.add(prompt.uuid)
        self.tell(prompt, "queued")
        self._waiting.append(prompt)
        self._changed.set()
        return True

    def tell(self, prompt: Prompt, state: str) -> None:
        if prompt.uuid is not None and self._lines.traits.lifecycle:
            self._send(self._lines.lifecycle(prompt.uuid, state))

    def close(self) -> None:
        self.closed = True
        self._changed.set()

    def nudge(self) -> None:
        """Something that `next` waits for may have changed."""
        self._changed.set()

    def __len__(self) -> int:
        return len(self._waiting)

    def uuids(self) -> list[str]:
        return [prompt.uuid for prompt in self._waiting if prompt.uuid is not None]

    def take(self) -> list[Prompt]:
        """The prompts of the next turn: one, or on versions that merge all of the same kind and priority that wait."""
        if self._lines.traits.priorities:
            self._waiting = deque(sorted(self._waiting, key=lambda prompt: PRIORITIES.get(prompt.priority, 1)))
        first = self._waiting.popleft()
        taken = [first]
        while self._waiting and self._joins(first, self._waiting[0]):
            taken.append(self._waiting.popleft())
        return taken

    def _joins(self, first: Prompt, other: Prompt) -> bool:
        same = first.steps is None and other.steps is None and first.priority == other.priority
        plain = not first.text.startswith("/") and not other.text.startswith("/")
        return self._lines.traits.merges_prompts and same and plain

    def fold(self) -> list[Prompt]:
        """The prompts that a running turn takes in after a tool: all plain ones but those that said "later"."""
        folded = [p for p in self._waiting if p.steps is None and not p.text.startswith("/") and self._may_fold(p)]
        self._waiting = deque(prompt for prompt in self._waiting if prompt not in folded)
        return folded

    def _may_fold(self, prompt: Prompt) -> bool:
        return not self._lines.traits.priorities or prompt.priority == "next"

    def presses(self) -> bool:
        """Does a prompt wait that wants the running turn to end?"""
        return self._lines.traits.priorities and any(prompt.priority == "now" for prompt in self._waiting)

    def drop(self, prompt_uuid: str) -> bool:
        """Take back a prompt that has not been taken into a turn."""
        before = len(self._waiting)
        self._waiting = deque(prompt for prompt in self._waiting if prompt.uuid != prompt_uuid)
        return len(self._waiting) < before

    async def changed(self) -> None:
        await self._changed.wait()
        self._changed.clear()
