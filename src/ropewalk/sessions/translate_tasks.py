"""Sub-agents and background work: task lines → one beginning, changes, one end each. Pure; refuses to end a task twice."""

from __future__ import annotations

from typing import Any

from ..events import events as e
from ..protocol.system import BackgroundTasksChanged, TaskNotification, TaskProgress, TaskStarted, TaskUpdated
from .clean import cut
from .memory import Memory

MOST_TASKS = 1000
TITLE = 400


def on_started(memory: Memory, message: TaskStarted) -> list[e.Event]:
    call = memory.calls.get(message.tool_use_id or "")
    background = message.is_backgrounded
    if background is None:  # 2.1.62 does not say it of a task, so the call's own input does
        background = call is not None and call.given.get("run_in_background") is True
    memory.listed.pop(message.task_id, None)
    does = message.subagent_type or message.task_type or ""
    return [_begin(memory, message.task_id, message.tool_use_id, message.description or "", does, bool(background))]


def _begin(memory: Memory, task: str, tool_use: str | None, title: str, does: str, background: bool) -> e.Event:
    title = title[:TITLE]
    if len(memory.known.tasks) < MOST_TASKS:
        memory.known.tasks[task] = {"title": title, "does": does, "tool_use": tool_use, "background": background}
    return e.TaskStarted(task=task, tool_use=tool_use, title=title, does=does, background=background)


def on_progress(memory: Memory, message: TaskProgress) -> list[e.Event]:
    usage = message.usage
    tools, tokens = (usage.tool_uses, usage.total_tokens) if usage is not None else (None, None)
    known = memory.known.tasks.get(message.task_id)
    if known is not None:
        known |= {"last_tool": message.last_tool_name, "tools": tools, "tokens": tokens}
    title = message.description[:TITLE] if message.description else None
    return [e.TaskChanged(task=message.task_id, title=title, last_tool=message.last_tool_name, tools=tools, tokens=tokens)]


def on_updated(memory: Memory, message: TaskUpdated) -> list[e.Event]:
    """Its end comes with a notification of its own."""
    status, title, background = (message.patch.get(name) for name in ("status", "description", "is_backgrounded"))
    changed = e.TaskChanged(task=message.task_id)
    changed.status = status if isinstance(status, str) else None
    changed.title = title[:TITLE] if isinstance(title, str) else None
    known = memory.known.tasks.get(message.task_id)
    if isinstance(background, bool):
        changed.background = background
        if known is not None:
            known["background"] = background
    return [changed]


def on_notification(memory: Memory, message: TaskNotification) -> list[e.Event]:
    memory.known.tasks.pop(message.task_id, None)
    memory.listed.pop(message.task_id, None)
    usage, (summary, _) = message.usage, cut(message.summary or "")
    return [
        e.TaskEnded(
            task=message.task_id,
            status=message.status,
            summary=summary,
            tool_use=message.tool_use_id,
            tools=usage.tool_uses if usage else None,
            tokens=usage.total_tokens if usage else None,
            output_file=message.output_file or "",
        )
    ]


def on_list(memory: Memory, message: BackgroundTasksChanged) -> list[e.Event]:
    """The whole list, each time: what we know to be in the background and is not in it has ended; what is in it goes on there."""
    listed = {str(one.get("task_id")): one for one in message.tasks if one.get("task_id")}
    events: list[e.Event] = []
    for task, known in list(memory.known.tasks.items()):
        if task in listed and not known.get("background"):
            known["background"] = True
            events.append(e.TaskChanged(task=task, background=True))
        elif task not in listed and known.get("background"):
            events.append(_end(memory, task, "ended"))
    memory.listed = {task: one for task, one in listed.items() if task not in memory.known.tasks}
    return events


def never_begun(memory: Memory) -> list[e.Event]:
    """At the end of a turn: tasks that were listed and never begun are told all the same."""
    listed, memory.listed = memory.listed, {}
    return [
        _begin(memory, task, None, str(one.get("description") or ""), str(one.get("task_type") or ""), True)
        for task, one in listed.items()
    ]


def ended_with_its_call(memory: Memory, tool_use: str, details: Any, failed: bool) -> list[e.Event]:
    """A sub-agent that was waited for, or a long command: 2.1.62 tells no other end of it. One that went to the background
    goes on."""
    found = details if isinstance(details, dict) else {}
    if found.get("isAsync") or found.get("backgroundTaskId") or found.get("status") == "async_launched":
        return []
    return [
        _end(memory, task, "failed" if failed else "completed")
        for task, known in list(memory.known.tasks.items())
        if known.get("tool_use") == tool_use and not known.get("background")
    ]


def _end(memory: Memory, task: str, status: str) -> e.Event:
    known = memory.known.tasks.pop(task)
    return e.TaskEnded(
        task=task, status=status, tool_use=known.get("tool_use"), tools=known.get("tools"), tokens=known.get("tokens")
    )
