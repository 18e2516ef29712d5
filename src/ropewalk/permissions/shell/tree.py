"""What the grammar reads a command into: simple commands, pipelines, lists, compounds. Only shapes; nothing is judged here."""

from __future__ import annotations

from ropewalk.permissions.shell.model import Word


class Lost(Exception):
    """The text can't be read any further; ``reason`` says why, for a person."""

    def __init__(self, reason: str, at: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.at = reason, at


class Node:
    """A stretch of the command. ``inside``: the substitutions in its words, in order. ``doubts``: why its reading is unsure."""

    __slots__ = ("doubts", "end", "inside", "redirects", "start", "text")

    def __init__(self, start: int) -> None:
        self.start, self.end, self.text = start, start, ""
        self.inside: list[Inside] = []
        self.doubts: list[str] = []
        self.redirects: list[Redirect] = []


class Inside:
    """A substitution: ``$(…)``, backticks, ``<(…)``; ``body`` is the list it runs."""

    __slots__ = ("body", "text")

    def __init__(self, text: str, body: Listing) -> None:
        self.text, self.body = text, body


class Redirect:
    """One redirect with its target, or a here-doc with its text."""

    __slots__ = ("body", "doubt", "fd", "op", "start", "target", "text")

    def __init__(self, op: str, fd: str, target: Word, start: int) -> None:
        self.op, self.fd, self.target, self.start = op, fd, target, start
        self.text, self.doubt = "", ""
        self.body: str | None = None


class Simple(Node):
    """Assignments and words: one command. ``spans`` are the words' places in the text."""

    __slots__ = ("assigned", "spans", "words")

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.assigned: list[tuple[str, Word, str]] = []
        self.words: list[Word] = []
        self.spans: list[tuple[int, int]] = []


class Pipeline(Node):
    """Commands joined by ``|``; each runs in a shell of its own. ``negated`` by ``!``."""

    __slots__ = ("commands", "negated")

    def __init__(self, start: int, commands: list[Node], negated: bool) -> None:
        super().__init__(start)
        self.commands, self.negated = commands, negated


class Listing(Node):
    """Commands with what stands before each: ``;`` (also for a newline), ``&&`` or ``||``, and whether ``&`` follows it."""

    __slots__ = ("items",)

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.items: list[tuple[str, Node, bool]] = []


class Compound(Node):
    """``( )``, ``{ }``, if, for, while, until, case, function. ``bodies`` in the order of the text; ``word`` says which."""

    __slots__ = ("bodies", "choices", "name", "word")

    def __init__(self, start: int, word: str, name: str = "") -> None:
        super().__init__(start)
        self.word, self.name = word, name
        self.bodies: list[Listing] = []
        self.choices: list[Word] = []
        """Of a ``for``: the words behind ``in``."""
