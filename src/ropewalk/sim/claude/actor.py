"""Who speaks in a turn: the main thread or a sub-agent. Refuses to speak: reply.py and tools.py do it for an actor."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .background import Task
from .scenario import Step
from .session import Json

if TYPE_CHECKING:
    from .turn import Turn


class Actor:
    """Who speaks: the main thread, or a sub-agent (then with the call that started it and its task)."""

    def __init__(self, turn: Turn, steps: Iterable[Step], parent: str | None = None, task: Task | None = None) -> None:
        self.turn, self.parent, self.task = turn, parent, task
        self.todo: deque[Step] = deque(steps)
        self.text = ""
        self.stop_reason = "end_turn"

    @property
    def agent_id(self) -> str | None:
        return self.task.id if self.task else None

    @property
    def heard(self) -> bool:
        """Do this actor's calls and results go over the wire? Background agents only on 2.1.326."""
        return self.task is None or not self.task.background or self.turn.traits.agent_texts

    def tells_text(self, last: bool) -> bool:
        """Texts of sub-agents: only 2.1.326 forwards them, and in the foreground not the last one (it is the report)."""
        if self.task is None:
            return True
        return self.turn.traits.agent_texts and (self.task.background or not last)

    def marks(self, message_id: str) -> Json:
        """Which prompts a message answers, or which agent speaks."""
        return self.turn.prompt_marks(message_id) if self.task is None else self.agent_marks()

    def agent_marks(self) -> Json:
        if self.task is None or not self.turn.traits.agent_texts:
            return {}
        return {"agent_id": self.task.id, "subagent_type": self.task.agent_type, "task_description": self.task.description}
