"""What a run through the hub did and what still goes on, counted from events. Refuses to draw."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...events import events as e
from ...sessions.figures import count

AFTER_TURN = 10.0
"""Seconds to wait for the turn that follows the end of a background task (measured 2.1.326: 0.05–0.13 s)."""
IN_TURN = 1.0
"""The same where it ended while a turn was running: it may have been taken into that one, and no other follows."""


@dataclass
class Deeds:
    """Fed with every durable event of the session since the prompt, in order."""

    files: dict[str, None] = field(default_factory=dict)
    commands: int = 0
    tools: int = 0
    answer: str = ""
    """The main thread's last words."""
    error: str | None = None
    """The CLI's word for why the model could not answer."""
    background: dict[str, str] = field(default_factory=dict)
    running: bool = False
    turn_due: float = 0.0
    """Seconds within which a turn that nobody asked for may begin: a background task has ended."""
    model: str | None = None
    mode: str | None = None
    version: str | None = None
    cost_usd: float = 0.0
    _started: dict[str, e.ToolStarted] = field(default_factory=dict)

    def heed(self, event: e.Event) -> None:
        match event:
            case e.ToolStarted():
                self._started[event.tool_use] = event
                self.tools += 1
            case e.ToolFinished(failed=False):
                self._finished(self._started.get(event.tool_use))
            case e.Text(parent=None):
                self.answer, self.error = event.text, event.error or self.error
            case e.TurnStarted():
                self.running, self.turn_due = True, 0.0
                self.model, self.mode = event.model or self.model, event.mode or self.mode
                self.version = event.version or self.version
            case e.TurnEnded():
                self.running = False
                self.cost_usd += event.cost_usd
            case e.TaskStarted(background=True):
                self.background[event.task] = event.title
            case e.TaskEnded():
                if self.background.pop(event.task, None) is not None:
                    self.turn_due = IN_TURN if self.running else AFTER_TURN
            case e.ProcessEnded():
                self.background.clear()
                self.running, self.turn_due = False, 0.0

    @property
    def over(self) -> bool:
        """Nothing runs, nothing goes on in the background, no turn is about to begin."""
        return not self.running and not self.background and not self.turn_due

    @property
    def summary(self) -> str:
        """``2 files changed, 1 command``."""
        parts = [f"{count(len(self.files), 'file')} changed"] if self.files else []
        if self.commands:
            parts.append(count(self.commands, "command"))
        return ", ".join(parts) or "no files changed"

    def _finished(self, started: e.ToolStarted | None) -> None:
        if started is None:
            return
        if started.does == "edit":
            self.files[started.title] = None
        elif started.tool == "Bash":
            self.commands += 1
