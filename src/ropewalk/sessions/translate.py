"""The one crossing between both vocabularies: a message of the CLI → events of ours. Pure and total; refuses to raise.

What each kind becomes is in the table ``TOLD``; what becomes nothing is in ``SILENT``, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..events import events as e
from ..events.events import Event
from ..protocol import control as c
from ..protocol import messages as m
from ..protocol import system as s
from ..protocol.codec import decode
from ..protocol.lazy import LazyMessage
from ..protocol.messages import Message
from ..protocol.spoken import Returned, Spoken
from . import translate_rest as rest
from . import translate_tasks as tasks
from .clean import is_clean, scrub
from .known import Known
from .memory import Memory
from .tools import AGENTS
from .translate_said import on_assistant, on_user
from .translate_stream import DELTA, delta_event, on_stream
from .translate_turn import on_init, on_result

TOLD: Mapping[type[Message], Callable[[Memory, Any], list[Event]]] = {
    m.Assistant: on_assistant,
    m.User: on_user,
    m.StreamEvent: on_stream,
    m.Result: on_result,
    s.Init: on_init,
    s.Status: rest.on_status,
    s.CompactBoundary: rest.on_boundary,
    s.TaskStarted: tasks.on_started,
    s.TaskProgress: tasks.on_progress,
    s.TaskUpdated: tasks.on_updated,
    s.TaskNotification: tasks.on_notification,
    s.BackgroundTasksChanged: tasks.on_list,
    s.HookStarted: rest.on_hook,
    s.HookProgress: rest.on_hook,
    s.HookResponse: rest.on_hook,
    s.ApiRetry: rest.on_retry,
    s.PermissionDenied: rest.on_denied,
    s.Informational: rest.on_informational,
    s.SessionTitleChanged: rest.on_title,
    s.FilesPersisted: rest.on_files,
    s.OtherSystem: rest.on_tidings,
    s.UnknownSystem: rest.on_unknown,
    m.ConversationReset: rest.on_reset,
    m.RateLimitEvent: rest.on_limit,
    m.ToolProgress: rest.on_tool_progress,
    m.ToolUseSummary: rest.on_summary,
    m.AuthStatus: rest.on_auth,
    m.PromptSuggestion: rest.on_suggestion,
    m.ErrorLine: rest.on_error,
    m.Tidings: rest.on_tidings,
    m.Unknown: rest.on_unknown,
    m.Garbage: rest.on_unknown,
    m.Dropped: rest.on_dropped,
    m.LinkLost: rest.on_link_lost,
    m.LinkRestored: rest.on_link_restored,
    c.ControlRequest: rest.on_question,
}

SILENT: Mapping[type[Message], str] = {
    c.ControlResponse: "the answer to a request of ours: whoever asked tells what came of it",
    c.ControlCancelRequest: "the session closes the question that it withdraws",
    m.CommandLifecycle: "a prompt's receipt: the session tells it, from what the connection worked out",
    m.KeepAlive: "says only that the link lives",
    m.StreamlinedText: "a shortened copy of words that come in full as well",
    m.StreamlinedToolUseSummary: "a shortened copy of tool calls that come in full as well",
    s.SessionStateChanged: "the CLI's own idea of what it does; ours comes from the lines themselves",
    s.ThinkingTokens: "an estimate while it thinks; the usage comes with the result",
    s.ControlRequestProgress: "a slow request of ours is under way: it still ends with its response",
}


class Translator:
    """For one process of one session. The same lines give the same events; live ones are ``LiveEvent``s among them."""

    def __init__(self, session: str, process: str, cwd: str, known: Known | None = None) -> None:
        self.session, self.process = session, process
        self._memory = Memory(cwd, known if known is not None else Known())
        self._memory.known.running = False  # whatever a former process left open, this one does not go on with
        self._memory.known.tasks = {}

    @property
    def known(self) -> Known:
        return self._memory.known

    @known.setter
    def known(self, known: Known) -> None:
        self._memory.known = known

    def events(self, message: Message | LazyMessage, line: int, at: float) -> list[Event]:
        """What this line says, in order; ``part`` numbers them. Never raises."""
        if isinstance(message, LazyMessage):
            if message.raw.startswith(DELTA):
                return self.delta(message.raw, line, at)
            message = message.message
        told = TOLD.get(type(message))
        if told is None:
            return []
        return self._stamped(told(self._memory, message), message, line, at)

    def spoken(self, message: Spoken | Returned, line: int, at: float) -> list[Event]:
        """As ``events``, for what the quick reader took: nothing in it has to be made whole, and none of it is live."""
        memory = self._memory
        events = on_assistant(memory, message) if type(message) is Spoken else on_user(memory, message)  # type: ignore[arg-type]
        session, process, parent = self.session, self.process, message.parent_tool_use_id
        for part, event in enumerate(events):
            event.session, event.process, event.line, event.at = session, process, line, at
            if part:
                event.part = part
            if parent is not None:
                event.parent = parent
        return events

    def delta(self, raw: bytes, line: int, at: float) -> list[Event]:
        """As ``events``, for a line that begins with ``DELTA``: a piece of a block, of which nothing else has to be known."""
        try:
            event = delta_event(self._memory, raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self.events(decode(raw), line, at)
        if event is None:
            return []
        event.session, event.process, event.line, event.at = self.session, self.process, line, at
        return [event]

    def gone(self, at: float) -> list[Event]:
        """The process has ended: what it left open will not be finished. Tell these before ``process_ended``."""
        memory = self._memory
        events: list[Event] = [
            e.ToolFinished(
                tool_use=tool_use, tool=call.tool, failed=True, title=call.title, summary="the process ended", parent=call.parent
            )
            for tool_use, call in memory.calls.items()
        ]
        events += [e.TaskEnded(task=task, status="lost", tool_use=one.get("tool_use")) for task, one in self.known.tasks.items()]
        memory.calls.clear()
        self.known.tasks, self.known.running = {}, False
        for event in events:
            event.session, event.process, event.at = self.session, self.process, at
        return events

    def task_stopped(self, task: str, at: float) -> list[Event]:
        """The CLI took our ``stop_task``: 2.1.62 says nothing else of its end, newer ones have said it before."""
        if task not in self.known.tasks:
            return []
        ended = e.TaskEnded(task=task, status="stopped", tool_use=self.known.tasks.pop(task).get("tool_use"))
        ended.session, ended.process, ended.at = self.session, self.process, at
        return [ended]

    def elsewhere(self, agent: str | None) -> str:
        """Where a command runs that is not run in the session's folder, in words; empty: it is."""
        memory = self._memory
        if agent is not None and memory.apart:
            return "a sub-agent may work in a copy of the folder"
        if memory.folder == memory.cwd:
            return ""
        if not memory.folder:
            return "Claude has entered or left a worktree since it last said where it works"
        return f"Claude works in {memory.folder} now"

    def moved(self) -> None:
        """It was told to work elsewhere: until it says where, nobody knows."""
        self._memory.folder = ""

    def agent_words(self, agent: str | None) -> str | None:
        """What the sub-agent of this id (as questions name it) was sent to do; its id when that was never told."""
        if agent is None:
            return None
        known = self.known.tasks.get(agent)
        if known is not None and known.get("title"):
            return str(known["title"])
        agents = [call for call in self._memory.calls.values() if call.tool in AGENTS]
        words = agents[0].given.get("description") if len(agents) == 1 else None  # 2.1.37 tells no tasks
        return words if isinstance(words, str) and words else agent

    def _stamped(self, events: list[Event], message: Message, line: int, at: float) -> list[Event]:
        parent = message.parent_tool_use_id if isinstance(message, m.Assistant | m.User | m.StreamEvent) else None
        for part, event in enumerate(events):
            event.session, event.process, event.line, event.at = self.session, self.process, line, at
            if part:
                event.part = part
            if parent is not None:
                event.parent = parent
        if not is_clean(message.raw):
            for struct in (*events, self.known):
                scrub(struct)
        return events
