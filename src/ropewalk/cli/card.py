"""A question drawn for a person: what would happen, whole and letter by letter. Refuses to cut anything, and to answer.

Every field of the input is on the card: those that matter first and as themselves, the rest by name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ..client.question import Question
from ..events.views import QuestionView
from ..protocol.lenient import dump
from ..sessions.figures import seconds
from ..sessions.tools import EDITS, shown_path, tool_label
from .diff import Change, change_of, changed_since
from .home import home
from .parts import part_rows
from .safe import cells, is_odd
from .screen import Screen

LONG_COMMAND = 120_000
"""Milliseconds; a longer time-out is named in the head."""


class Card:
    """The lines of one question. ``given`` is what would run: the input as asked, or a person's own version."""

    def __init__(
        self, screen: Screen, question: Question, folder: str, given: Mapping[str, Any] | None = None, agent: str = "",
        far: bool = False, view: QuestionView | None = None,
    ) -> None:  # fmt: skip
        """``far``: its files are on another machine, so nothing is compared with those of this one. ``view``: what a hub says
        of it: its parts, and the file before an edit as it lies there."""
        self.far, self.view = far, view
        self.screen, self.question, self.folder, self.agent = screen, question, folder, agent
        self.given = question.input if given is None else given
        self.own = given is not None

    def head(self) -> str:
        asks = self.screen.paint("amber", f"{self.screen.look.glyphs.asks} {self._title()}")
        asked = self.question.asked
        said = str(self.given.get("description") or "") if self.question.tool_name == "Bash" else asked.description or ""
        if said in (self.given.get("command"), self.given.get("file_path")) or (said and said in self._title()):
            said = ""
        own = "your version" if self.own else ""
        agent = f"from sub-agent {self._words(self.agent)}".rstrip() if asked.agent_id else ""
        notes = [self._words(said) if said else "", own, agent]
        return "   ".join([asks, *(note for note in notes if note)])

    def body(self) -> list[str]:
        name = self.question.tool_name
        if not self.given and self.question.message.input_raw:
            raw = self.question.message.input_raw.decode("utf-8", "surrogateescape")
            return [*self._text(raw), *self._warn("this input could not be read; it is shown as it came")]
        if name == "Bash":
            return self._bash()
        if name in EDITS and (change := self._changes()) is not None:
            return self._change(change)
        if name == "WebFetch":
            return self._fetch()
        return self._fields(self.given)

    def lines(self) -> list[str]:
        body = self.body()
        again = [f"  {self.head()}"] if len(body) > self.screen.look.height - 10 else []
        return ["", self.head(), *body, *self._parts(), *again]

    def _parts(self) -> list[str]:
        """What the rules say of each part of it; of a single one only why it is asked. One's own version was not judged."""
        if self.view is None or self.own:
            return []
        if len(self.view.parts) > 1:
            return part_rows(self.screen, self.view.parts, "    ")
        why = [self._words(word) for word in (self.view.because, *self.view.tags) if word]
        line = f" {self.screen.look.glyphs.dot} ".join(why)
        if self.view.tags:
            return self._warn(line)
        return [self.screen.paint("dim", f"    {line}")] if line else []

    def _changes(self) -> Change | None:
        known = self.view.before if self.view is not None else None
        if known is None and self.far:
            return None
        return change_of(self.question.tool_name, self.given, self.folder, known)

    def _changed(self, change: Change) -> bool:
        before = self.view.before if self.view is not None else None
        return before is not None and not self.far and changed_since(change.path, self.folder, before)

    def _title(self) -> str:
        name, given = self.question.tool_name, self.given
        where = os.path.basename(str(given.get("file_path") or given.get("notebook_path") or ""))
        if name == "Bash":
            return "Run a command in the background?" if given.get("run_in_background") else "Run a command?"
        if name in EDITS:
            change = self._changes()
            return f"{change.verb if change else 'Change'} {self._words(where)}?"
        if name == "WebFetch":
            return f"Fetch a page from {self._words(_host(given))}?"
        if name == "WebSearch":
            return "Search the web?"
        if name in ("Read", "Glob", "Grep", "LS", "NotebookRead"):
            return "Read outside the folder?" if self.question.asked.blocked_path or _outside(given, self.folder) else "Read?"
        if name.startswith("mcp__"):
            server, _, tool = tool_label(name).partition(" ")
            return f"Use {self._words(tool)} of {self._words(server)}?"
        return f"Use {self._words(name) or 'a tool without a name'}?"

    def _bash(self) -> list[str]:
        command = str(self.given.get("command", ""))
        rest = {key: value for key, value in self.given.items() if key not in ("command", "description", "run_in_background")}
        timeout = rest.get("timeout")
        warnings = []
        if isinstance(timeout, int | float) and timeout > LONG_COMMAND:
            warnings.append(f"it may take up to {seconds(timeout / 1000)}")
            del rest["timeout"]
        return [*self._text(command), *self._odd(command), *self._warn(*warnings), *self._fields(rest)]

    def _change(self, change: Change) -> list[str]:
        where = os.path.join(self.folder, change.path)
        real = os.path.realpath(where) if not self.far else os.path.normpath(where)
        named = shown_path(change.path, self.folder, home()) if os.path.normpath(change.path) == change.path else change.path
        shown = f"{self.screen.letters(named)}   +{change.more} -{change.less}"
        lines = [f"    {self.screen.paint('bold', shown)}{f'   {change.note}' if change.note else ''}"]
        if real != os.path.normpath(where):
            lines += self._warn(f"a link: it is really {self.screen.letters(real)}")
        if self._changed(change):
            words = f"    {self.screen.look.glyphs.warns} the file has changed since this was asked"
            lines.append(self.screen.paint("red", words))
        digits = max((len(str(number)) for _, number, _ in change.rows), default=1)
        for sign, number, text in change.rows:
            lines += self._row(sign, str(number or "").rjust(digits), text)
        known = {"file_path", "content", "old_string", "new_string", "edits"}
        rest = {key: value for key, value in self.given.items() if key not in known and value is not False}
        return [*lines, *self._odd("".join(text for sign, _, text in change.rows if sign == "+")), *self._fields(rest)]

    def _row(self, sign: str, number: str, text: str) -> list[str]:
        if sign == "@":
            return [self.screen.paint("dim", f"    {' ' * len(number)}   {self.screen.look.glyphs.dots} {text}".rstrip())]
        style = {"+": "green", "-": "red", "=": "dim"}[sign]
        start = f"    {number} {sign if sign != '=' else ' '} "
        tab = ">   " if self.screen.look.ascii else "→   "
        pieces = self.screen.wrapped(text.replace("\t", tab), self.screen.look.width - len(start))
        first = self.screen.paint(style, start + pieces[0])
        return [first, *(self.screen.paint(style, " " * len(start) + piece) for piece in pieces[1:])]

    def _fetch(self) -> list[str]:
        url = str(self.given.get("url", ""))
        warnings = ["plain http"] if url.lower().startswith("http:") else []
        if not _host(self.given).isascii():
            warnings.append("its host is not spelled in plain letters")
        rest = {key: value for key, value in self.given.items() if key != "url"}
        return [*self._text(url), *self._odd(url), *self._warn(*warnings), *self._fields(rest)]

    def _fields(self, given: Mapping[str, Any]) -> list[str]:
        room = max((cells(str(key)) for key in given), default=0)
        lines: list[str] = []
        for key, value in given.items():
            name = self.screen.letters(str(key))
            text = value if isinstance(value, str) else _json(value)
            pieces = self._pieces(text, room + 2)
            lines += [f"    {self.screen.paint('dim', name)}{' ' * max(1, room + 2 - cells(name))}{pieces[0]}"]
            lines += [f"    {' ' * (room + 2)}{piece}" for piece in pieces[1:]]
        return lines

    def _text(self, text: str) -> list[str]:
        """Whole lines at the fourth column; what was wrapped by us is marked in the margin."""
        carry = self.screen.paint("dim", self.screen.look.glyphs.carry)
        lines: list[str] = []
        for line in text.split("\n"):
            pieces = self.screen.wrapped(line, self.screen.look.width - 5)
            lines += [f"    {pieces[0]}", *(f"  {carry} {piece}" for piece in pieces[1:])]
        return lines

    def _pieces(self, text: str, indent: int) -> list[str]:
        return [piece for line in text.split("\n") for piece in self.screen.wrapped(line, self.screen.look.width - 5 - indent)]

    def _odd(self, text: str) -> list[str]:
        found = sum(is_odd(char) and char != "\t" for char in text)
        return self._warn(f"hidden or control characters in it: {found}, drawn as tokens") if found else []

    def _warn(self, *sentences: str) -> list[str]:
        return [self.screen.paint("amber", f"    {self.screen.look.glyphs.warns} {sentence}") for sentence in sentences]

    def _words(self, text: str) -> str:
        return self.screen.letters(" ".join(text.split()))


def why_asked(question: Question) -> list[str]:
    """The CLI's own reasons, field by field."""
    asked = question.message.fields().get("request", {})
    asked = asked if isinstance(asked, dict) else {}
    named = {
        "decision_reason": "reason",
        "blocked_path": "path",
        "decision_reason_type": "kind",
        "decision_reason_code": "code",
        "matched_ask_rule": "rule",
        "decision_reason_rule_source": "rule from",
        "decision_reason_hook_event": "hook",
        "decision_reason_hook_source": "hook from",
        "mcp_server": "server",
        "agent_id": "sub-agent",
    }
    found = [(words, asked[key]) for key, words in named.items() if asked.get(key)]
    if not found:
        return ["No rule of Claude Code's settings decides this, and the mode asks."]
    return [f"{words}: {value if isinstance(value, str) else json.dumps(value)}" for words, value in found]


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=1, default=str)
    except RecursionError:
        return dump(value).decode()


def _host(given: Mapping[str, Any]) -> str:
    try:
        return urlsplit(str(given.get("url", ""))).hostname or "?"
    except ValueError:
        return "?"


def _outside(given: Mapping[str, Any], folder: str) -> bool:
    path = str(given.get("file_path") or given.get("path") or "")
    return bool(path) and os.path.isabs(path) and not path.startswith(folder.rstrip("/") + "/")
