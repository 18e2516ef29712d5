"""What a run did and what still goes on: files, commands, background tasks. Refuses to draw; it only counts what is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..protocol.content import ToolResultBlock, ToolUseBlock
from ..protocol.lazy import LazyMessage
from ..protocol.messages import Assistant, Message, Result, User
from ..protocol.system import BackgroundTasksChanged, Init, TaskNotification, TaskStarted
from ..sessions.figures import count
from ..sessions.tools import EDITS


@dataclass
class Call:
    """A tool call: what was asked for, by whom."""

    name: str
    given: Mapping[str, Any]
    parent: str | None = None


@dataclass
class Work:
    """Fed with every message of the CLI, in order."""

    calls: dict[str, Call] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    commands: int = 0
    tools: int = 0
    agents: dict[str, str] = field(default_factory=dict)
    """Sub-agents by the id that their questions carry: what each was sent to do."""
    background: dict[str, str] = field(default_factory=dict)
    """Tasks that go on when the turn has ended: id → what it is."""
    in_background: set[str] = field(default_factory=set)
    """Every task that ever went on there."""
    running: bool = False
    turn_due: bool = False
    """A background task has ended, or prompts are queued: a turn that nobody asked for is about to begin."""
    answer: str = ""
    """The main thread's last words."""

    def heed(self, message: Message | LazyMessage) -> None:
        match message:
            case Assistant():
                self._spoke(message)
            case User():
                for block in message.content:
                    if isinstance(block, ToolResultBlock):
                        self._finished(block)
            case Init():
                self.running, self.turn_due = True, False
            case Result():
                self.running, self.turn_due = False, bool(message.queued_turn_count)
            case BackgroundTasksChanged():
                self.background = {str(task.get("task_id")): str(task.get("description") or "") for task in message.tasks}
                self.in_background |= self.background.keys()
            case TaskStarted():
                self.agents[message.task_id] = message.description or ""
                if message.is_backgrounded or (message.is_backgrounded is None and self._asked_for_background(message)):
                    self.background[message.task_id] = message.description or ""
                self.in_background |= self.background.keys()
            case TaskNotification():
                known = self.background.pop(message.task_id, None) is not None
                self.turn_due = known and not self.running

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

    def _spoke(self, message: Assistant) -> None:
        if message.parent_tool_use_id is None and message.text:
            self.answer = message.text
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                self.calls[block.id] = Call(block.name, block.input, message.parent_tool_use_id)
                self.tools += 1

    def _finished(self, block: ToolResultBlock) -> None:
        call = self.calls.get(block.tool_use_id)
        if call is None or block.is_error:
            return
        if call.name in EDITS:
            path = call.given.get("file_path") or call.given.get("notebook_path")
            self.files[str(path)] = None
        elif call.name == "Bash":
            self.commands += 1

    def _asked_for_background(self, task: TaskStarted) -> bool:
        """2.1.62 does not say it of a task, so the call's own input does."""
        call = self.calls.get(task.tool_use_id or "")
        return call is not None and bool(call.given.get("run_in_background"))
