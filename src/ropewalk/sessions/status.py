"""What a session is doing, and the one thing that would help. Fed with events and facts; refuses clocks and guesses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..events import events as e
from ..events.events import Event, Status
from .causes import failure, fit, process_end, turn_failure
from .figures import count, dollars, thousands
from .tools import EDITS, tool_label

NOTHING_YET, AT_WORK = "no output yet", "at work"


class Standing(NamedTuple):
    """``why``: never empty, at most 60 characters, without a number that ticks. ``fix``: a verb, or empty."""

    status: Status
    why: str
    fix: str


ASLEEP = Standing("asleep", "your next prompt wakes it", "")
READY = Standing("idle", "ready for a prompt", "")
RESET = Standing("idle", "the limit was reset: send it again", "send_again")


class StatusBoard:
    """``clock``: seconds since 1970 → ``14:00`` in the hub's own time."""

    def __init__(self, clock: Callable[[float], str]) -> None:
        self._clock = clock
        self._process = "none"  # or starting, or up
        self._rest = ASLEEP  # how it stands when nothing runs
        self._before = ASLEEP  # … and stood before the last start
        self._turn = False
        self._sent: set[str] = set()  # prompts that were handed over and that no turn has taken
        self._doing = NOTHING_YET
        self._tools: dict[str, e.ToolStarted] = {}
        self._tasks: dict[str, tuple[str, bool]] = {}
        self._files: set[str] = set()
        self._compacting: str = ""
        self._limit: e.RateLimitChanged | None = None
        self._questions = 0
        self._question = ""
        self._out_of_reach = ""
        self._stalled: float | None = None
        self._stopper = ""

    # -- facts

    def starting(self, why: str = "") -> None:
        """A process is being started."""
        if self._process != "starting":
            self._before = self._rest
        self._process, self._rest, self._stalled = "starting", Standing("starting", fit(why) or "waiting for claude", ""), None

    def not_started(self) -> None:
        """Nothing came of it: it stands as before."""
        if self._process == "starting":
            self._process, self._rest = "none", self._before

    def ready(self) -> None:
        """It has answered our initialize."""
        if self._process != "up":
            self._process, self._rest = "up", READY

    def stood(self, status: str, why: str) -> None:
        """What its row kept, after its last events were heeded: where they say the same of it, the row knows it better."""
        if why and self.standing == self._rest and self._rest.status == status:
            self._rest = self._rest._replace(why=why)

    def questions(self, count: int, line: str = "") -> None:
        """How many questions are open, and the oldest one in a line (``QuestionView.line``)."""
        self._questions, self._question = count, line

    def reachable(self, yes: bool, runner: str = "") -> None:
        """Whether its runner is heard."""
        self._out_of_reach = "" if yes else fit(f"{runner or 'its runner'} not heard, its turns go on there")

    def stalled(self, since: float | None) -> None:
        """The watcher's word: nothing was heard since then. None: heard again."""
        self._stalled = since

    def passed(self, now: float) -> None:
        """Time went on: a limit that has been reset holds no more."""
        if self._limit is not None and self._limit.resets_at is not None and self._limit.resets_at <= now:
            self._limit = None
            if self._rest.status == "rate_limited":
                self._rest = RESET

    # -- events

    def heed(self, event: Event) -> bool:
        """An event, durable or live, of this session. True: ``standing`` may be another now."""
        heeded = _HEED.get(type(event))
        if heeded is None:
            return False
        if event.line is not None:
            self._stalled = None
        return heeded(self, event) is not False

    def _output(self, event: Event) -> bool:
        """Something of the answer: the commonest of all events, and mostly no news."""
        if event.parent is not None or (self._doing == AT_WORK and not self._compacting):
            return False
        self._doing, self._compacting = AT_WORK, ""
        return True

    def _prompt_sent(self, event: e.PromptSent) -> None:
        self._process = "up"
        self._sent.add(event.prompt)

    def _prompt_over(self, event: e.PromptTaken | e.PromptLost | e.PromptFailed | e.PromptWithdrawn) -> bool:
        """Taken, its turn tells on; else nothing will come of it."""
        known = event.prompt in self._sent
        if not isinstance(event, e.PromptTaken) or self._turn:
            self._sent.discard(event.prompt)
        return known

    def _turn_started(self, event: e.TurnStarted) -> None:
        self._process, self._turn, self._doing, self._compacting = "up", True, NOTHING_YET, ""
        self._files.clear()

    def _turn_ended(self, event: e.TurnEnded) -> None:
        self._turn, self._doing, self._compacting = False, NOTHING_YET, ""
        self._sent.clear()
        self._tools.clear()
        if not event.failed:
            self._limit = None
        if event.interrupted:
            self._rest = Standing("idle", "interrupted; ready for a prompt", "")
        elif event.failed:
            self._rest = self._failed_turn(event)
        elif event.empty:
            self._rest = Standing("idle", "Claude returned nothing; it may not have resumed", "send_again")
        else:
            self._rest = Standing("idle", self._done(event), "")
        self._files.clear()

    def _failed_turn(self, event: e.TurnEnded) -> Standing:
        if event.error == "rate_limit" and self._limit is not None:
            when = f"resets at {self._clock(self._limit.resets_at)}, then" if self._limit.resets_at else "when it resets,"
            return Standing("rate_limited", f"{when} send it again", "change_model")
        return Standing("failed", *turn_failure(event))

    def _done(self, event: e.TurnEnded) -> str:
        parts = [count(len(self._files), "file")] if self._files else []
        parts += [dollars(event.cost_usd)] if event.cost_usd else []
        told = f"Done: {', '.join(parts)}" if parts else "Done"
        return f"{told}, cut off at the limit of output" if event.cut_off else told

    def _tool_started(self, event: e.ToolStarted) -> bool:
        if event.parent is not None:
            return False  # the sub-agent's own call stands for it
        self._tools[event.tool_use] = event
        self._doing, self._compacting = AT_WORK, ""
        return True

    def _tool_finished(self, event: e.ToolFinished) -> bool:
        started = self._tools.pop(event.tool_use, None)
        if started is not None and started.tool in EDITS and not event.failed:
            self._files.add(started.title)
        return started is not None

    def _task_started(self, event: e.TaskStarted) -> None:
        self._tasks[event.task] = (event.title, event.background)

    def _task_changed(self, event: e.TaskChanged) -> bool:
        known = self._tasks.get(event.task)
        if known is None or event.background is None:
            return False
        self._tasks[event.task] = (known[0], event.background)
        return True

    def _task_ended(self, event: e.TaskEnded) -> None:
        self._tasks.pop(event.task, None)

    def _compacts(self, event: e.ContextCompacting) -> None:
        self._compacting = f"making room, {thousands(event.before)} → ?" if event.before else "making room"

    def _compacted(self, event: e.ContextCompacted) -> None:
        self._compacting = ""

    def _limited(self, event: e.RateLimitChanged) -> None:
        self._limit = event if event.status == "rejected" and not event.using_overage else None
        if self._limit is None and self._rest.status == "rate_limited":
            self._rest = RESET

    def _retried(self, event: e.ApiRetried) -> None:
        what = "no connection to Claude's service" if event.status is None else "Claude's service is overloaded"
        if event.status not in (None, 429, 529, 503):
            what = f"Claude's service answered {event.status}"
        tries = f"try {event.attempt}{f' of {event.of}' if event.of else ''}"
        self._doing = fit(f"{what}, {tries}")

    def _process_started(self, event: e.ProcessStarted) -> None:
        self._forget()
        self.starting()

    def _process_ended(self, event: e.ProcessEnded) -> None:
        busy, self._process = self._turn or bool(self._sent), "none"
        by = event.by or (self._stopper if event.wanted else "")
        if event.wanted:
            self._rest = self._stopped(by, event.at) if by else ASLEEP
        elif event.code == 0 and not busy:
            self._rest = ASLEEP
        else:
            self._rest = Standing("failed", process_end(event), "wake")
        self._forget()

    def _forget(self) -> None:
        """What belonged to a process that is gone."""
        self._turn, self._compacting, self._out_of_reach, self._stopper, self._stalled = False, "", "", "", None
        self._doing = NOTHING_YET
        self._sent.clear()
        self._tools.clear()
        self._tasks.clear()

    def _rung(self, event: e.StopRung) -> None:
        self._stopper = event.by
        if self._process == "none":
            self._rest = self._stopped(event.by, event.at)

    def _stopped(self, by: str, at: float) -> Standing:
        return Standing("stopped", fit(f"by {by or 'a person'}, {self._clock(at)}"), "wake")

    def _link_lost(self, event: e.LinkLost) -> None:
        if not self._out_of_reach:
            self.reachable(False)

    def _link_restored(self, event: e.LinkRestored) -> None:
        self.reachable(True)

    def _failed(self, event: e.Failed) -> None:
        """Said by the hub itself when it could not go on."""
        self._process = "none"
        self._rest = Standing("failed", *failure(event))
        self._forget()

    # -- the answer

    @property
    def standing(self) -> Standing:
        if self._questions:
            return Standing("waiting", fit(self._question) or count(self._questions, "question"), "answer")
        if self._out_of_reach:
            return Standing("unreachable", self._out_of_reach, "")
        if self._process == "up" and (self._turn or self._sent):
            return self._working()
        if self._process == "up" and (there := [title for title, background in self._tasks.values() if background]):
            more = ", …" if len(there) > 1 else ""
            return Standing("background", fit(f"{count(len(there), 'task')}: {there[0] or 'without a name'}{more}"), "stop_task")
        if self._process == "starting" and self._stalled is not None:
            return Standing("starting", self._silent(self._stalled), "stop")
        return self._rest

    def _working(self) -> Standing:
        if self._limit is not None:
            when = f"goes on at {self._clock(self._limit.resets_at)}" if self._limit.resets_at else "goes on when it resets"
            return Standing("rate_limited", when, "change_model")
        if self._compacting:
            return Standing("compacting", self._compacting, "")
        if self._tools:
            return Standing("running_tool", self._running(), "interrupt")
        if self._stalled is not None:
            return Standing("thinking", self._silent(self._stalled), "interrupt")
        return Standing("thinking", self._doing, "interrupt")

    def _silent(self, since: float) -> str:
        return f"no sign since {self._clock(since)}, longer than usual"

    def _running(self) -> str:
        tools = list(self._tools.values())
        agents = [tool for tool in tools if tool.does == "agent"]
        if len(agents) > 1:
            return f"{len(agents)} sub-agents at work"
        more = f" and {len(tools) - 1} more" if len(tools) > 1 else ""
        return fit(_tool_words(tools[0])) if not more else f"{_clip(_tool_words(tools[0]), 60 - len(more))}{more}"


def _tool_words(tool: e.ToolStarted) -> str:
    if tool.does == "run":
        return f"`{_clip(tool.title, 58)}`"
    if tool.does == "agent":
        return f"sub-agent: {tool.title}"
    label = tool_label(tool.tool)
    return label if tool.title == label else f"{label} {tool.title}"


def _clip(text: str, room: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= room else f"{line[: room - 1]}…"


_HEED: dict[type[Event], Callable[[StatusBoard, Any], bool | None]] = {
    e.TextDelta: StatusBoard._output,
    e.ThinkingDelta: StatusBoard._output,
    e.ToolInputDelta: StatusBoard._output,
    e.Text: StatusBoard._output,
    e.Thinking: StatusBoard._output,
    e.PromptSent: StatusBoard._prompt_sent,
    e.PromptTaken: StatusBoard._prompt_over,
    e.PromptLost: StatusBoard._prompt_over,
    e.PromptFailed: StatusBoard._prompt_over,
    e.PromptWithdrawn: StatusBoard._prompt_over,
    e.TurnStarted: StatusBoard._turn_started,
    e.TurnEnded: StatusBoard._turn_ended,
    e.ToolStarted: StatusBoard._tool_started,
    e.ToolFinished: StatusBoard._tool_finished,
    e.TaskStarted: StatusBoard._task_started,
    e.TaskChanged: StatusBoard._task_changed,
    e.TaskEnded: StatusBoard._task_ended,
    e.ContextCompacting: StatusBoard._compacts,
    e.ContextCompacted: StatusBoard._compacted,
    e.RateLimitChanged: StatusBoard._limited,
    e.ApiRetried: StatusBoard._retried,
    e.ProcessStarted: StatusBoard._process_started,
    e.ProcessEnded: StatusBoard._process_ended,
    e.StopRung: StatusBoard._rung,
    e.LinkLost: StatusBoard._link_lost,
    e.LinkRestored: StatusBoard._link_restored,
    e.Failed: StatusBoard._failed,
}
