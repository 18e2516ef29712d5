"""What is known about one command once its program was looked at; merged into its part. No text is read here."""

from __future__ import annotations

from msgspec import Struct, field

from ropewalk.permissions.shell.model import Word


class Found(Struct, gc=False):
    """Filled in by the tables of programs; everything empty means: a program that nobody described."""

    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    understood: bool = False
    danger: str = ""
    danger_words: list[str] = field(default_factory=list)
    doubt: str = ""
    harmless: bool = False
    wrapper: bool = False
    runs: list[Run] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)

    def dangerous(self, why: str, *words: str) -> None:
        """The first reason is the one that is shown; the words add up."""
        self.danger = self.danger or why
        self.danger_words.extend(words)

    def doubtful(self, why: str) -> None:
        self.doubt = self.doubt or why


class Run(Struct, gc=False):
    """A command that the command runs: where its words begin, how many they are, what comes behind them."""

    words: tuple[Word, ...]
    first: int
    """Index of its first word among the wrapper's, to find its text."""
    last: int
    """One past its last."""
    folder: bool = True
    """It runs in the same folder."""
    assigned: tuple[tuple[str, Word], ...] = ()


ANYTHING = Word("…", exact=False, several=True, dash=True)
"""Words that are only known when it runs."""
