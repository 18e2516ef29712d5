"""One word, unquoted as bash would. What bash, or zsh, could make more of than this reads is a doubt, never a guess."""

from __future__ import annotations

import re

from ropewalk.permissions.shell.distrust import DEEPEST
from ropewalk.permissions.shell.escapes import ansi_c
from ropewalk.permissions.shell.model import Word
from ropewalk.permissions.shell.tree import Inside, Listing, Lost, Node

ENDS = frozenset(" \t\n;&|()<>")
PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:@%+,=#^!-]*")
_RUN = re.compile(r"[^\\'\"$`*?\[\]{}~ \t\n;&|()<>=:]+")
_QUOTED_RUN = re.compile(r'[^\\"$`]+')
_HERE_RUN = re.compile(r"[^\\$`]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!_-]")
_BRACED = re.compile(r"\{(#?)([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])\}")
_SUM = re.compile(r"\(\(([0-9 +*/%-]*)\)\)")
_LITERAL_BRACE = re.compile(r"\{[A-Za-z0-9_-]*\}")
_NUMBERS = frozenset("#?$")
_DOLLAR_ALONE = frozenset(" \t\n;&|()<>\"'|)/\\.,%]}-")


class Words:
    """A place in a text, and the reading of words from there. ``node`` collects what is found inside them.

    ``begins`` collects where commands begin, counted from the start of the whole command; this text stands at ``base`` of it.
    """

    def __init__(self, text: str, depth: int = 0, base: int = 0, begins: set[int] | None = None) -> None:
        self.text, self.end = text, len(text)
        self.pos = 0
        self.depth, self.base = depth, base
        self.begins: set[int] = set() if begins is None else begins
        self.node = Node(0)

    def listing(self, stops: frozenset[str]) -> Listing:
        """The grammar above reads lists; a substitution is one."""
        raise Lost("a list of commands is not read here")

    def doubt(self, reason: str) -> None:
        self.node.doubts.append(reason)

    def word(self) -> Word:
        found = PLAIN.match(self.text, self.pos)
        if found is not None:
            end = found.end()
            if end == self.end or self.text[end] in ENDS:
                if self.text.startswith("(", end + 1) and self.text[end] in "<>":
                    return self._spelled(value=False)
                self.pos = end
                return Word(found.group())
        return self._spelled(value=False)

    def value(self) -> Word:
        """The right side of an assignment: not split, no globs, tildes also after a colon."""
        return self._spelled(value=True)

    def _spelled(self, value: bool) -> Word:
        spelling = _Spelling(value)
        start = self.pos
        if not value and self.text.startswith("#", start):
            raise Lost("a comment in the middle of a command", start)
        while self.pos < self.end:
            char = self.text[self.pos]
            if char in ENDS:
                if char not in "<>" or not self.text.startswith("(", self.pos + 1):
                    break
                self._process(spelling)
            elif (step := _STEPS.get(char)) is not None:
                step(self, spelling)
            else:
                self._run(spelling)
        if self.pos == start:
            raise Lost("a word is missing", start)
        return spelling.word()

    def _run(self, spelling: _Spelling) -> None:
        found = _RUN.match(self.text, self.pos)
        if found is None:
            spelling.add(self.text[self.pos])
            self.pos += 1
        else:
            spelling.add(found.group())
            self.pos = found.end()

    def _backslash(self, spelling: _Spelling) -> None:
        after = self.text[self.pos + 1 : self.pos + 2]
        if not after:
            raise Lost("it ends with a backslash", self.pos)
        self.pos += 2
        if after != "\n":
            spelling.add(after)
        elif self.text[self.pos : self.pos + 1] not in (" ", "\t", "\n", ""):
            self.doubt("a word is broken over two lines")

    def _single(self, spelling: _Spelling) -> None:
        close = self.text.find("'", self.pos + 1)
        if close < 0:
            raise Lost("a quote is not closed", self.pos)
        spelling.add(self.text[self.pos + 1 : close])
        self.pos = close + 1

    def _double(self, spelling: _Spelling) -> None:
        self.pos += 1
        spelling.quoted = True
        self.quoted(spelling, '"')
        spelling.quoted = False
        self.pos += 1

    def quoted(self, spelling: _Spelling, close: str) -> None:
        """Up to ``close`` (not past it), by the rules of double quotes; with no ``close`` to the end, as in a here-doc."""
        run = _QUOTED_RUN if close else _HERE_RUN
        while self.pos < self.end:
            char = self.text[self.pos]
            if char == close:
                return
            if char == "\\":
                self._quoted_backslash(spelling, close)
            elif char == "$":
                self._dollar(spelling)
            elif char == "`":
                self._backtick(spelling)
            elif (found := run.match(self.text, self.pos)) is not None:
                spelling.add(found.group())
                self.pos = found.end()
            else:
                spelling.add(char)
                self.pos += 1
        if close:
            raise Lost("a quote is not closed", self.pos)

    def _quoted_backslash(self, spelling: _Spelling, close: str) -> None:
        after = self.text[self.pos + 1 : self.pos + 2]
        if after == "\n":
            pass
        elif after and after in "$`\\" + close:
            spelling.add(after)
        else:
            spelling.add("\\" + after)
        self.pos += 2

    def _glob(self, spelling: _Spelling) -> None:
        char = self.text[self.pos]
        self.pos += 1
        if spelling.value:
            spelling.add(char)
        elif char == "[" and spelling.empty and (self.pos == self.end or self.text[self.pos] in ENDS):
            spelling.add("[")
        else:
            spelling.open(char, several=True)

    def _brace(self, spelling: _Spelling) -> None:
        literal = _LITERAL_BRACE.match(self.text, self.pos)
        if literal is not None:
            spelling.add(literal.group())
            self.pos = literal.end()
        else:
            spelling.open("{", several=True)
            self.pos += 1

    def _tilde(self, spelling: _Spelling) -> None:
        if spelling.empty or spelling.last in "=:":
            spelling.fixed = True
            spelling.open("~", several=False)
        else:
            spelling.add("~")
        self.pos += 1

    def _equals(self, spelling: _Spelling) -> None:
        """In zsh ``=ls`` is the path of ls."""
        alone = self.pos + 1 == self.end or self.text[self.pos + 1] in ENDS or self.text[self.pos + 1] in "=~"
        if spelling.empty and not spelling.value and not alone:
            spelling.fixed = True
            spelling.open("=", several=False)
        else:
            spelling.add("=")
        self.pos += 1

    def _dollar(self, spelling: _Spelling) -> None:
        start = self.pos
        after = self.text[start + 1 : start + 2]
        if after == "(":
            self._dollar_bracket(spelling)
        elif after == "{":
            self._braced(spelling)
        elif after == "'" and not spelling.quoted:
            self._ansi(spelling)
        elif (name := _NAME.match(self.text, start + 1)) is not None:
            self.pos = name.end()
            if self.text.startswith("[", self.pos):
                self.doubt("an index after a variable: shells disagree on it and may calculate it")
            self._variable(spelling, name.group())
        else:
            self._lone_dollar(spelling, after)

    def _lone_dollar(self, spelling: _Spelling, after: str) -> None:
        if self.text.startswith("\\\n", self.pos + 1):
            raise Lost("a line is broken after a dollar sign", self.pos)
        if after and (after not in _DOLLAR_ALONE or (after == '"' and not spelling.quoted)):
            self.doubt(f"what ${after} means depends on the shell")
        spelling.add("$")
        self.pos += 1

    def _variable(self, spelling: _Spelling, name: str, shown: str = "") -> None:
        if name in _NUMBERS:
            spelling.fixed = True
        spelling.open(shown or "$" + name, several=(not spelling.quoted and not spelling.value) or name == "@")

    def _braced(self, spelling: _Spelling) -> None:
        plain = _BRACED.match(self.text, self.pos + 1)
        if plain is not None and not (plain.group(1) and plain.group(2) in "@*#?$!-"):
            self.pos = plain.end()
            if plain.group(1):
                spelling.fixed = True
                spelling.open(f"${plain.group()}", several=False)
            else:
                self._variable(spelling, plain.group(2), f"${plain.group()}")
            return
        start = self.pos
        self.doubt("an expansion with an operator, ${…}: what comes out of it is not known")
        self.pos += 2
        inner = _Spelling(value=False)
        inner.quoted = True
        self._deeper()
        while self.pos < self.end and self.text[self.pos] != "}":
            self._in_braces(inner, spelling.quoted)
        self.depth -= 1
        if self.pos >= self.end:
            raise Lost("an expansion is not closed", start)
        self.pos += 1
        spelling.open(self.text[start : self.pos], several=True)

    def _in_braces(self, inner: _Spelling, quoted: bool) -> None:
        char = self.text[self.pos]
        if char == "'" and not quoted:
            self._single(inner)
        elif char == '"':
            self._double(inner)
            inner.quoted = True
        elif char == "\\":
            self.pos += 2
        elif char == "$":
            self._dollar(inner)
        elif char == "`":
            self._backtick(inner)
        else:
            self.pos += 1

    def _dollar_bracket(self, spelling: _Spelling) -> None:
        start = self.pos
        if self.text.startswith("((", start + 1):
            plain = _SUM.match(self.text, start + 1)
            if plain is not None:
                self.pos = plain.end()
                spelling.open(self.text[start : self.pos], several=not spelling.quoted)
                return
            raise Lost("arithmetic with names in it can run commands", start)
        self.pos += 2
        self._substitution(start)
        spelling.open(self.text[start : self.pos], several=not spelling.quoted and not spelling.value)

    def _process(self, spelling: _Spelling) -> None:
        start = self.pos
        self.pos += 2
        self._substitution(start)
        spelling.fixed = True
        spelling.open(self.text[start : self.pos], several=False)

    def _substitution(self, start: int) -> None:
        """From behind the opening bracket to behind the closing one."""
        outer = self.node
        self._deeper()
        body = self.listing(frozenset())
        self.depth -= 1
        self.node = outer
        if not self.text.startswith(")", self.pos):
            raise Lost("a bracket is not closed", start)
        self.pos += 1
        outer.inside.append(Inside(self.text[start : self.pos], body))

    def _backtick(self, spelling: _Spelling) -> None:
        start = self.pos
        close = self.text.find("`", start + 1)
        if close < 0:
            raise Lost("a backtick is not closed", start)
        content = self.text[start + 1 : close]
        if "\\" in content or "<<" in content:
            raise Lost("a backslash or a here-document between backticks: shells disagree on it", start)
        reader = type(self)(content, self.depth + 1, self.base + start + 1, self.begins)
        reader._deeper()
        body = reader.listing(frozenset())
        if reader.pos < reader.end:
            raise Lost("the command between backticks does not end with them", start)
        self.pos = close + 1
        self.node.inside.append(Inside(self.text[start : self.pos], body))
        spelling.open(self.text[start : self.pos], several=not spelling.quoted and not spelling.value)

    def _ansi(self, spelling: _Spelling) -> None:
        self.pos, text = ansi_c(self.text, self.pos + 2)
        spelling.add(text)

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Lost(f"it is nested more than {DEEPEST} deep", self.pos)


class _Spelling:
    """A word on its way: the pieces, and what is left open."""

    __slots__ = ("dash", "exact", "fixed", "pieces", "quoted", "several", "value")

    def __init__(self, value: bool) -> None:
        self.pieces: list[str] = []
        self.exact, self.several, self.dash = True, False, False
        self.fixed, self.quoted, self.value = False, False, value

    @property
    def empty(self) -> bool:
        return not self.pieces

    @property
    def last(self) -> str:
        return self.pieces[-1][-1:] or " "

    def add(self, text: str) -> None:
        """Literal text; the empty one counts too: ``''~`` is no tilde."""
        self.pieces.append(text)
        self.fixed = self.fixed or bool(text)

    def open(self, text: str, several: bool) -> None:
        self.pieces.append(text)
        self.exact = False
        self.several = self.several or several
        self.dash = self.dash or not self.fixed

    def word(self) -> Word:
        text = "".join(self.pieces)
        return Word(text, self.exact, self.several, self.dash or (not self.exact and text.startswith("-")))


_STEPS = {
    "\\": Words._backslash,
    "'": Words._single,
    '"': Words._double,
    "$": Words._dollar,
    "`": Words._backtick,
    "*": Words._glob,
    "?": Words._glob,
    "[": Words._glob,
    "{": Words._brace,
    "~": Words._tilde,
    "=": Words._equals,
}
