"""Blanks, newlines, redirects and here-documents: what stands between and beside the words. Forms of zsh are doubts."""

from __future__ import annotations

import re

from ropewalk.permissions.shell.model import Word
from ropewalk.permissions.shell.tree import Lost, Node, Redirect
from ropewalk.permissions.shell.words import Words, _Spelling

_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_OPERATOR = re.compile(r"&>>|&>|<<<|<<-|<<|<&|<>|>>|>&|>\||<|>")
_JOINED = re.compile(r"[0-9]+-?|-|[A-Za-z_./][A-Za-z0-9_./-]*")
_DELIMITER = re.compile(r"""([A-Za-z0-9_.!+%@-]+)|'([^'\n]*)'|"([^"\n\\$`]*)"|\\([A-Za-z0-9_]+)""")


class Redirects(Words):
    """Reads redirects; here-documents wait in ``pending`` for the next newline."""

    def __init__(self, text: str, depth: int = 0, base: int = 0, begins: set[int] | None = None) -> None:
        super().__init__(text, depth, base, begins)
        self.pending: list[tuple[Redirect, str, bool, bool, Node]] = []

    def blanks(self) -> None:
        text, pos = self.text, self.pos
        if text.startswith((" ", "\t", "\\\n"), pos) and (found := _BLANKS.match(text, pos)) is not None:
            self.pos = found.end()

    def newlines(self) -> None:
        """Past blanks, comments and newlines; a newline brings the here-documents that wait."""
        while True:
            self.blanks()
            char = self.text[self.pos : self.pos + 1]
            if char == "#":
                end = self.text.find("\n", self.pos)
                self.pos = self.end if end < 0 else end
            elif char == "\n":
                self.pos += 1
                self._bodies()
            else:
                return

    def redirect(self, node: Node, fd: str) -> None:
        start = self.pos - len(fd)
        found = _OPERATOR.match(self.text, self.pos)
        if found is None:
            raise Lost("a redirect is not understood", self.pos)
        self.pos = found.end()
        op, doubt = found.group(), ""
        if op not in ("<<", "<<-", "<<<") and self.text.startswith(("!", "|"), self.pos):
            doubt = f"{op}{self.text[self.pos]} is read differently by bash and zsh"
            self.pos += 1
        if len(fd) > 1:
            doubt = doubt or "a redirect whose number is not one digit"
        if self.text.startswith("\\\n", self.pos):
            raise Lost("a line is broken inside a redirect", self.pos)
        self.blanks()
        if op in ("<<", "<<-"):
            self._here_document(node, fd, op, start)
            return
        at = self.pos
        redirect = Redirect(op, fd, self.word(), start)
        if op in (">&", "<&") and _JOINED.fullmatch(self.text[at : self.pos]) is None:
            doubt = doubt or f"{op} before a word that is not plain: bash takes it to pieces of its own (measured, 5.2)"
        redirect.text, redirect.doubt = self.text[start : self.pos], doubt
        node.redirects.append(redirect)

    def _spelled(self, value: bool) -> Word:
        start, waiting = self.pos, bool(self.pending)
        word = super()._spelled(value)
        if waiting and "\n" in self.text[start : self.pos]:
            raise Lost("a word goes over lines while a here-document waits", start)
        return word

    def _here_document(self, node: Node, fd: str, op: str, start: int) -> None:
        found = _DELIMITER.match(self.text, self.pos)
        if found is None or (found.end() < self.end and self.text[found.end()] not in " \t\n;&|()<>"):
            raise Lost("a here-document's end mark is not plain", self.pos)
        self.pos = found.end()
        mark = next(group for group in found.groups() if group is not None)
        redirect = Redirect(op, fd, Word(mark), start)
        redirect.text = self.text[start : self.pos]
        node.redirects.append(redirect)
        self.pending.append((redirect, mark, op == "<<-", found.group(1) is None, node))

    def _bodies(self) -> None:
        waiting, self.pending = self.pending, []
        for redirect, mark, tabs, quoted, node in waiting:
            start = self.pos
            body_end = self._past_mark(mark, tabs)
            redirect.body = self.text[start:body_end]
            if not quoted:
                self._inside_body(redirect, node, start)

    def _past_mark(self, mark: str, tabs: bool) -> int:
        """Moves behind the line that is the mark; gives where that line begins."""
        pos = self.pos
        while pos < self.end:
            end = self.text.find("\n", pos)
            end = self.end if end < 0 else end
            line = self.text[pos:end]
            if (line.lstrip("\t") if tabs else line) == mark:
                self.pos = end
                return pos
            pos = end + 1
        raise Lost("a here-document does not end", self.pos)

    def _inside_body(self, redirect: Redirect, node: Node, start: int) -> None:
        body = redirect.body or ""
        if "\\\n" in body:
            redirect.doubt = "a line is broken inside a here-document"
        reader = type(self)(body, self.depth, self.base + start, self.begins)
        reader.node = Node(0)
        spelling = _Spelling(value=False)
        spelling.quoted = True
        reader.quoted(spelling, "")
        node.inside.extend(reader.node.inside)
        redirect.doubt = redirect.doubt or "".join(reader.node.doubts[:1])

    def settled(self) -> None:
        if self.pending:
            raise Lost("a here-document has no text", self.pos)
