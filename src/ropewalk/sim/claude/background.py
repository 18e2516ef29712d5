"""Work that outlives its tool call: the list, the lines about it, its end. Refuses to do the work: it holds the handle.

2.1.37 keeps silent about all of it, 2.1.62 tells of start, progress and end, 2.1.326 of every change.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .prompts import Prompt
from .scenario import Step
from .session import Json

if TYPE_CHECKING:
    from .program import Program


@dataclass
class Task:
    """One piece of work. ``handle`` is None for a sub-agent in the foreground: its tool call waits for it."""

    id: str
    kind: str
    tool_use_id: str
    description: str
    run_id: str
    agent_type: str | None = None
    prompt: str | None = None
    background: bool = True
    handle: asyncio.Task[None] | None = None
    command: int | None = None
    tool_uses: int = 0
    began: float = 0.0

    def usage(self) -> Json:
        spent = int((time.monotonic() - self.began) * 1000)
        return {"total_tokens": 100 + 20 * self.tool_uses, "tool_uses": self.tool_uses, "duration_ms": spent}


class Tasks:
    """What runs beside the turns."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._traits = program.traits
        self._alive: dict[str, Task] = {}
        self.gone = asyncio.Event()

    def new(self, kind: str, tool_use_id: str, description: str, **more: object) -> Task:
        letter = "a" if kind == "local_agent" else "b"
        task_id = letter + secrets.token_hex(8 if kind == "local_agent" else 4)
        run_id = f"0{secrets.token_hex(4)}-{secrets.token_hex(4)}"
        task = Task(task_id, kind, tool_use_id, description, run_id, began=time.monotonic())
        for name, value in more.items():
            setattr(task, name, value)
        return task

    def begin(self, task: Task) -> None:
        """Say that it has started; work in the background joins the list."""
        if task.background:
            self._alive[task.id] = task
            self._tell_list()
        if self._traits.task_lines == "none":
            return
        fields: Json = {"task_id": task.id, "tool_use_id": task.tool_use_id, "description": task.description}
        if self._traits.task_lines == "all":
            fields["run_id"] = task.run_id
            fields |= {"subagent_type": task.agent_type} if task.agent_type else {}
            fields["is_backgrounded"] = task.background
            fields |= {"spawn_depth": 1, "prompt": task.prompt} if task.agent_type else {}
        self._tell("task_started", fields | {"task_type": task.kind})

    def progress(self, task: Task, tool: str, words: str) -> None:
        """Each tool of a sub-agent; 2.1.62 tells it of background ones only."""
        task.tool_uses += 1
        if self._traits.task_lines == "none" or (self._traits.task_lines == "some" and not task.background):
            return
        fields: Json = {"task_id": task.id, "tool_use_id": task.tool_use_id, "description": words}
        if self._traits.task_lines == "all":
            fields |= {"run_id": task.run_id, "subagent_type": task.agent_type}
        self._tell("task_progress", fields | {"usage": task.usage(), "last_tool_name": tool})

    def end(self, task: Task, status: str, summary: str, then: tuple[Step, ...] | None = None, turn: bool = True) -> None:
        """Say that it is over; on versions that do so a turn follows that nobody asked for."""
        self._alive.pop(task.id, None)
        if self._traits.task_lines == "all":
            patch = {"status": "killed" if status == "stopped" else status, "end_time": int(time.time() * 1000)}
            self._tell("task_updated", {"task_id": task.id, "run_id": task.run_id, "patch": patch})
        if self._traits.task_lines == "all" or (self._traits.task_lines == "some" and task.background and status != "stopped"):
            self._tell("task_notification", self._notice(task, status, summary))
        if task.background:
            self._tell_list()
        if task.background and turn and self._traits.background_turn:
            self._program.prompts.put(self._notice_prompt(task, status, summary, then))
        self.gone.set()
        self._program.prompts.nudge()

    def notify_quietly(self, task: Task, status: str) -> None:
        """The end of a long foreground command (measured 2.1.326)."""
        fields = {"task_id": task.id, "run_id": task.run_id, "tool_use_id": task.tool_use_id, "status": status}
        self._tell("task_notification", fields | {"output_file": "", "summary": task.description})

    def _notice(self, task: Task, status: str, summary: str) -> Json:
        fields: Json = {"task_id": task.id, "tool_use_id": task.tool_use_id, "status": status}
        if self._traits.task_lines == "all":
            fields["run_id"] = task.run_id
        quiet = task.kind == "local_agent" and self._traits.task_lines == "some"
        fields |= {"output_file": "" if quiet else self.output_file(task), "summary": summary}
        if task.kind == "local_agent":
            fields |= {"summary_is_report": True} if self._traits.task_lines == "all" and task.background else {}
            fields["usage"] = task.usage()
        return fields

    def _notice_prompt(self, task: Task, status: str, summary: str, then: tuple[Step, ...] | None) -> Prompt:
        text = f"<task-notification>\n<task-id>{task.id}</task-id>\n<status>{status}</status>\n<summary>{summary}</summary>"
        origin = {"kind": "task-notification", "producer": "session-task", "runId": task.run_id}
        return Prompt(text, steps=then if then is not None else (), origin=origin)

    def output_file(self, task: Task) -> str:
        session = self._program.session
        parts = [f"/tmp/claude-{os.getuid()}", session.cwd.replace("/", "-")]
        parts += [session.id] if self._traits.task_lines == "all" else []
        return "/".join([*parts, "tasks", f"{task.id}.output"])

    def stop(self, task_id: str) -> bool:
        """End one on request; False when it is not known."""
        task = self._alive.get(task_id)
        if task is None:
            return False
        self._cancel(task)
        self.end(task, "stopped", task.description, turn=False)
        return True

    def end_all(self) -> None:
        """Leaving after an interrupted turn: 2.1.326 tells of what it ends (measured)."""
        for task_id in list(self._alive):
            self.stop(task_id)

    def stop_all(self) -> None:
        for task in list(self._alive.values()):
            self._cancel(task)
        self._alive.clear()

    def _cancel(self, task: Task) -> None:
        if task.command is not None:
            self._program.end_command(task.command)
        if task.handle is not None:
            task.handle.cancel()

    def __len__(self) -> int:
        return len(self._alive)

    def agents_alive(self) -> bool:
        return any(task.kind == "local_agent" for task in self._alive.values())

    def listed(self) -> list[Json]:
        return [
            {"task_id": task.id, "run_id": task.run_id, "task_type": task.kind, "description": task.description}
            | ({"subagent_type": task.agent_type} if task.agent_type else {})
            for task in self._alive.values()
        ]

    def _tell_list(self) -> None:
        if self._traits.task_lines == "all":
            self._tell("background_tasks_changed", {"tasks": self.listed()})

    def _tell(self, subtype: str, fields: Json) -> None:
        self._program.say(self._program.lines.system(subtype, fields))
