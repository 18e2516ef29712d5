"""Tells a turn as it happens: the answer to stdout, tools and thoughts as a line each. Refuses to decide anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..protocol.content import ThinkingBlock, ToolResultBlock, ToolUseBlock
from ..protocol.lazy import LazyMessage
from ..protocol.messages import Assistant, Dropped, Garbage, Message, RateLimitEvent, StreamEvent, Tidings, Unknown, User
from ..protocol.stream import ContentBlockDelta, ContentBlockStart, TextDelta, ThinkingDelta
from ..protocol.system import (
    ApiRetry,
    CompactBoundary,
    Informational,
    Init,
    PermissionDenied,
    Status,
    TaskNotification,
    UnknownSystem,
)
from ..sessions.figures import seconds
from ..sessions.tools import AGENTS, first_words, outcome_of, title_of, tool_label
from .home import home, home_path
from .modes import mode_words
from .notices import notice_of
from .safe import cells, cut, one_line
from .screen import Screen
from .work import Work


@dataclass(frozen=True, slots=True)
class Telling:
    """What is told, and about what."""

    prompt: str
    folder: str
    stand_in: str = ""
    thinking: bool = False
    speaks: bool = True
    """The answer goes to stdout as it comes; not when stdout carries JSON."""


class Story:
    def __init__(self, screen: Screen, work: Work, telling: Telling, clock: Callable[[], float]) -> None:
        self.screen, self.work, self.telling = screen, work, telling
        self.error: str | None = None
        """The CLI's word for why the model could not answer: authentication_failed, rate_limit …"""
        self._clock = clock
        self._began: dict[str, float] = {}
        self._because: dict[str, str] = {}
        self._streamed = ""
        self._since = clock()
        self._doing = "starting claude"
        self._doing_since = clock()
        self._headed = False

    def tell(self, message: Message | LazyMessage) -> None:
        match message:
            case StreamEvent(parent_tool_use_id=None):
                self._stream(message)
            case Assistant():
                self._assistant(message)
            case User():
                for block in message.content:
                    if isinstance(block, ToolResultBlock):
                        self._tool_ended(block, message.tool_use_result, message.parent_tool_use_id)
            case Init():
                self._init(message)
            case PermissionDenied(tool_use_id=str(tool)):
                self._because[tool] = f"refused by Claude Code: {message.decision_reason or 'a rule'}"
            case _:
                self._notice(message)

    def _notice(self, message: Message | LazyMessage) -> None:
        if isinstance(message, TaskNotification) and message.task_id not in self.work.in_background:
            return  # a long command or an agent of the turn itself: its own line says it
        if isinstance(message, NOTED):
            words, style = notice_of(message, self.screen.look.glyphs)
            if words:
                self.screen.talk(self.screen.paint(style, f"  {words}"))

    def begin_again(self) -> None:
        """Another conversation follows, with a head of its own."""
        self._headed, self.error, self._streamed = False, None, ""
        self._do("starting claude")

    def answered(self, tool_use_id: str | None, because: str) -> None:
        """A person has decided: the tool's clock starts now, and its line says who let it run."""
        if tool_use_id:
            self._began[tool_use_id] = self._clock()
            self._because[tool_use_id] = because

    def tick(self) -> None:
        """Once a second: what is under way, and for how long."""
        spent = self._clock() - self._doing_since
        self.screen.status(f"{self._doing}   {seconds(float(int(spent)))}" if spent >= 1 else self._doing)

    def _init(self, init: Init) -> None:
        self._do("thinking")
        if self._headed:
            return
        self._headed = True
        dot = f" {self.screen.look.glyphs.dot} "
        mode = self._one(mode_words(init.permissionMode or ""))
        folder = home_path(init.cwd or self.telling.folder)
        who = self.telling.stand_in or self._one(init.model or "")
        tail = dot.join(part for part in (self._one(folder), mode, who) if part)
        head = f"{self._one(init.session_id or '')[:8]}  "
        room = max(30, self.screen.look.width - len(head) - len(tail) - 3)
        title = cut(self._one(self.telling.prompt), room, self.screen.look.glyphs.dots)
        self.screen.talk(
            self.screen.paint("dim", head) + self.screen.paint("bold", title) + self.screen.paint("dim", f"   {tail}")
        )

    def _stream(self, message: StreamEvent) -> None:
        event = message.event
        if type(event) is ContentBlockDelta and type(event.delta) is TextDelta:
            self._streamed += event.delta.text
            self._speak(event.delta.text)
        elif type(event) is ContentBlockStart:
            self._since = self._clock()
            self._streamed = ""
            self._do("thinking" if isinstance(event.content_block, ThinkingBlock) else self._doing)
        elif type(event) is ContentBlockDelta and type(event.delta) is ThinkingDelta and self._doing != "thinking":
            self._do("thinking")

    def _assistant(self, message: Assistant) -> None:
        if message.parent_tool_use_id is None:
            self.error = message.error or self.error
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                self._tool_began(block, message.parent_tool_use_id)
            elif isinstance(block, ThinkingBlock) and message.parent_tool_use_id is None:
                self._thought(block, message)
        if message.text and message.parent_tool_use_id is None and message.error is None:
            self._finish_text(message.text)

    def _finish_text(self, text: str) -> None:
        """The whole block: what was streamed of it is not said again."""
        if text.startswith(self._streamed):
            self._speak(text[len(self._streamed) :])
        else:  # measured 2.1.62: a broken stream is asked for again, and the words are others
            self.screen.end_answer()
            self._speak(text)
        self._streamed = ""
        if self.telling.speaks:
            self.screen.end_answer()
        self._since = self._clock()
        self._do("thinking")

    def _speak(self, text: str) -> None:
        if self.telling.speaks:
            self.screen.answer(text)

    def _thought(self, block: ThinkingBlock, message: Assistant) -> None:
        measured = message.thinking_duration_ms
        spent = measured / 1000 if measured else self._clock() - self._since
        self.screen.talk(self.screen.paint("dim", f"  thought {seconds(spent)}"))
        if self.telling.thinking:
            for line in self.screen.harmless(block.thinking).splitlines():
                self.screen.talk(self.screen.paint("dim", f"    {line}"))
        self._since = self._clock()

    def _tool_began(self, block: ToolUseBlock, parent: str | None) -> None:
        self._began.setdefault(block.id, self._clock())
        title = self._one(title_of(block.name, block.input, self.telling.folder, home()))
        label = self._one(tool_label(block.name))
        self._do(f"{label}   {title}")
        if block.name in AGENTS:
            self.screen.talk(f"{self._indent(parent)}{self.screen.look.glyphs.works} {label:<6} {title}")

    def _tool_ended(self, block: ToolResultBlock, details: Any, parent: str | None) -> None:
        call = self.work.calls.get(block.tool_use_id)
        if call is None:
            return
        self._do("thinking")
        glyphs, failed = self.screen.look.glyphs, bool(block.is_error)
        mark = self.screen.paint("red", glyphs.failed) if failed else self.screen.paint("green", glyphs.done)
        outcome = "" if failed else outcome_of(call.name, call.given, details)
        spent = seconds(self._clock() - self._began.pop(block.tool_use_id, self._clock()))
        because = self._because.pop(block.tool_use_id, "")
        label = f"{self._one(tool_label(call.name)):<6} "
        indent = len(self._indent(parent))
        title = self._one(title_of(call.name, call.given, self.telling.folder, home()))
        reason = f"  {self._one(because)}" if because else ""
        room = max(16, self.screen.look.width - indent - cells(label) - 24 - cells(reason))
        plain = outcome.replace("−", "-") if self.screen.look.ascii else outcome
        row = f"{self.screen.columns(title, room)}  {plain:>9}  {spent:>8}"
        self.screen.talk(f"{self._indent(parent)}{mark} {label}{row}{self.screen.paint('dim', reason)}".rstrip())
        if failed and "denied" not in because:
            words = cut(self._one(first_words(block)), self.screen.look.width - indent - 11, glyphs.dots)
            self.screen.talk(" " * (indent + 9) + self.screen.paint("red", words))

    def _indent(self, parent: str | None) -> str:
        """Two columns, and two more for every agent above."""
        depth = 1
        while parent is not None and depth < 8:
            depth += 1
            call = self.work.calls.get(parent)
            parent = call.parent if call is not None else None
        return "  " * depth

    def _do(self, doing: str) -> None:
        if doing != self._doing:
            self._doing, self._doing_since = doing, self._clock()

    def _one(self, text: str) -> str:
        return one_line(text, ascii_only=self.screen.look.ascii)


NOTED = (
    ApiRetry, CompactBoundary, Dropped, Garbage, Informational, RateLimitEvent, Status, TaskNotification, Tidings, Unknown,
    UnknownSystem,
)  # fmt: skip
