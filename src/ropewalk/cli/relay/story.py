"""Tells a session's events as they come: the answer to stdout, tools and thoughts as a line each. Refuses to decide anything.

What was streamed of a block is not said again when the finished block comes, whatever was missed in between.
"""

from __future__ import annotations

from collections.abc import Callable

from ...events import events as e
from ...events.views import SessionView
from ...sessions.figures import seconds
from ...sessions.tools import tool_label
from ..home import home_path
from ..modes import mode_words
from ..safe import cells, cut, one_line
from ..screen import Screen
from ..statuses import STAND_IN
from ..story import Telling
from .notices import notice_of
from .question import ruled_words


class EventStory:
    def __init__(self, screen: Screen, session: SessionView, shown: str, telling: Telling, clock: Callable[[], float]) -> None:
        self.screen, self.session, self.shown, self.telling = screen, session, shown, telling
        self._clock = clock
        self._tools: dict[str, e.ToolStarted] = {}
        self._began: dict[str, float] = {}
        self._because: dict[str, str] = {}
        self._block, self._streamed = "", ""
        self._ahead: list[e.TextDelta] = []
        self._doing, self._since = "waiting for claude", clock()
        self._headed = False

    def tell(self, event: e.Event) -> None:
        match event:
            case e.TextDelta(parent=None):
                self._stream(event)
            case e.Text(parent=None, error=None):
                self._text(event)
            case e.Thinking(parent=None):
                self._thought(event)
            case e.ThinkingDelta(parent=None):
                self._do("thinking")
            case e.TurnStarted():
                self._head(event)
            case e.ToolStarted():
                self._tool_began(event)
            case e.ToolFinished():
                self._tool_ended(event)
            case e.VerdictGiven():
                if event.tool_use:
                    self._because[event.tool_use] = ruled_words(event.behavior, event.because_kind, event.because)
            case e.ToolProgressed():
                pass
            case _:
                words, style = notice_of(event, self.screen.look.glyphs)
                if words:
                    self.screen.talk(self.screen.paint(style, f"  {words}"))

    def answered(self, tool_use: str | None, because: str, at: float) -> None:
        """A question was decided: the tool's clock starts then, and its line says who let it run."""
        if tool_use:
            self._began[tool_use], self._because[tool_use] = at, because

    def tick(self) -> None:
        """Once a second: what is under way, and for how long."""
        spent = self._clock() - self._since
        self.screen.status(f"{self._doing}   {seconds(float(int(spent)))}" if spent >= 1 else self._doing)

    def _head(self, event: e.TurnStarted) -> None:
        self._do("thinking")
        if self._streamed:  # the turn before broke off in the midst of a block
            self.screen.end_answer()
        self._block, self._streamed, self._ahead = "", "", []
        if self._headed:
            return
        self._headed = True
        dot = f" {self.screen.look.glyphs.dot} "
        who = STAND_IN if self.session.sim else self._one(event.model or self.session.model or "")
        mode = self._one(mode_words(event.mode or self.session.mode or ""))
        folder = self._one(home_path(event.cwd or self.session.cwd))
        tail = dot.join(part for part in (folder, mode, who) if part)
        room = max(30, self.screen.look.width - len(self.shown) - 2 - cells(tail) - 3)
        title = cut(self._one(self.telling.prompt or self.session.title), room, self.screen.look.glyphs.dots)
        paint = self.screen.paint
        self.screen.talk(paint("dim", f"{self.shown}  ") + paint("bold", title) + paint("dim", f"   {tail}"))

    def _stream(self, event: e.TextDelta) -> None:
        if event.block != self._block and self._streamed:
            self._ahead.append(event)  # live pieces don't wait for the disk: they can overtake the end of the block before
            return
        if event.block != self._block:
            self._block, self._streamed = event.block, ""
        if event.begins > len(self._streamed):
            return  # a piece was missed; the finished block has it
        fresh = event.text[len(self._streamed) - event.begins :]
        self._streamed += fresh
        self._speak(fresh)

    def _text(self, event: e.Text) -> None:
        streamed = self._streamed if event.block == self._block or not event.block else ""
        if self._streamed and not streamed:
            self.screen.end_answer()
        if event.text.startswith(streamed):
            self._speak(event.text[len(streamed) :])
        elif not (event.cut and streamed.startswith(event.text)):  # a broken stream is asked for again, in other words
            self.screen.end_answer()
            self._speak(event.text)
        if self.telling.speaks:
            self.screen.end_answer()
        if event.cut and len(streamed) <= len(event.text):
            self.screen.say(f"  the rest of this is not shown here; whole: ropewalk logs {self.shown} --lines")
        self._block, self._streamed = "", ""
        self._do("thinking")
        ahead, self._ahead = [one for one in self._ahead if one.block != event.block], []
        for one in ahead:
            self._stream(one)

    def _speak(self, text: str) -> None:
        if self.telling.speaks:
            self.screen.answer(text)

    def _thought(self, event: e.Thinking) -> None:
        spent = event.duration_ms / 1000 if event.duration_ms else self._clock() - self._since
        self.screen.talk(self.screen.paint("dim", f"  thought {seconds(spent)}"))
        if self.telling.thinking:
            for line in self.screen.harmless(event.text).splitlines():
                self.screen.talk(self.screen.paint("dim", f"    {line}"))

    def _tool_began(self, event: e.ToolStarted) -> None:
        self._tools[event.tool_use] = event
        self._began.setdefault(event.tool_use, event.at)
        label, title = self._one(tool_label(event.tool)), self._one(event.title)
        self._do(f"{label}   {title}")
        if event.does == "agent":
            self.screen.talk(f"{self._indent(event.parent)}{self.screen.look.glyphs.works} {label:<6} {title}")

    def _tool_ended(self, event: e.ToolFinished) -> None:
        call = self._tools.get(event.tool_use)
        if call is None:
            return
        self._do("thinking")
        glyphs = self.screen.look.glyphs
        mark = self.screen.paint("red", glyphs.failed) if event.failed else self.screen.paint("green", glyphs.done)
        spent = seconds(max(0.0, event.at - self._began.pop(event.tool_use, event.at)))
        because = self._because.pop(event.tool_use, "")
        most = max(24, self.screen.look.width * 2 // 5)  # the whole is in the log
        reason = f"  {cut(self._one(because), most, glyphs.dots)}" if because else ""
        label, indent = f"{self._one(tool_label(call.tool)):<6} ", len(self._indent(call.parent))
        room = max(16, self.screen.look.width - indent - cells(label) - 24 - cells(reason))
        outcome = "" if event.failed else self._one(event.summary)
        plain = outcome.replace("−", "-") if self.screen.look.ascii else outcome
        row = f"{self.screen.columns(self._one(call.title), room)}  {plain:>9}  {spent:>8}"
        self.screen.talk(f"{self._indent(call.parent)}{mark} {label}{row}{self.screen.paint('dim', reason)}".rstrip())
        if event.failed and "denied" not in because:
            words = cut(self._one(_first(event.output)), self.screen.look.width - indent - 11, glyphs.dots)
            self.screen.talk(" " * (indent + 9) + self.screen.paint("red", words))

    def _indent(self, parent: str | None) -> str:
        """Two columns, and two more for every agent above."""
        depth = 1
        while parent is not None and depth < 8:
            depth += 1
            call = self._tools.get(parent)
            parent = call.parent if call is not None else None
        return "  " * depth

    def _do(self, doing: str) -> None:
        if doing != self._doing:
            self._doing, self._since = doing, self._clock()

    def _one(self, text: str) -> str:
        return one_line(text, ascii_only=self.screen.look.ascii)


def _first(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
