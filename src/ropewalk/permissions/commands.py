"""Which commands a rule for Bash means: the same words, or the same first words. Refuses text that is not one plain command."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from ..errors import UsageError
from .request import Behavior
from .shell import Part, Word, taken_apart

HOW = "write Bash(git diff:*) for git diff with any arguments, or Bash(npm run test) for exactly that"
_TOKENS = re.compile(r"[^\s;&|<>()`$'\"{}=\\!]+")


class CommandPattern(Struct, frozen=True):
    """Exactly these ``words``, or, as a ``prefix``, these and any others; or else exactly this text."""

    words: tuple[str, ...] = ()
    prefix: bool = False
    text: str = ""
    """As it is written, without ``:*``."""


def parse_command(pattern: str, behavior: Behavior) -> CommandPattern:
    """Raises `UsageError` with a sentence that says how to write it."""
    prefix = pattern.endswith(":*")
    text = pattern.removesuffix(":*")
    if text.strip("*: ") == "":
        raise UsageError(f"the rule names no program: {HOW}")
    if text != text.strip() or "\n" in text or "\t" in text:
        raise UsageError(f"leave out blanks at the ends, tabs and line breaks: {HOW}")
    if re.search(r"(^|\s)\*$", text) or text.endswith(":"):
        raise UsageError(f"any arguments are written as :* right after the last word: {HOW}")
    words = _plain_words(text, prefix=prefix, allow=behavior == "allow")
    if prefix and not words:
        raise UsageError(f"before :* stands one plain command without variables, operators or wrappers such as timeout: {HOW}")
    return CommandPattern(words, prefix, text)


def _plain_words(text: str, *, prefix: bool, allow: bool) -> tuple[str, ...]:
    """The words of one plain command; none where it is more than that. Raises where it can't be taken apart.

    What a prefix does by itself need not be known, and a denial looks at a wrapper's words as they stand.
    """
    script = taken_apart(text)
    commands = [part for part in script.parts if part.kind == "command"]
    doubt = script.doubt or next((part.doubt for part in commands if allow and not prefix), "")
    if doubt or not commands:
        raise UsageError(f"no rule can stand for this: {doubt or 'there is no command in it'}; {HOW}")
    first, *others = script.parts
    alone = first.kind == "command" and all(part.inner and not allow for part in others)
    return tuple(word.text for word in first.words) if alone and all(word.exact for word in first.words) else ()


def allows(pattern: CommandPattern, part: Part) -> bool:
    """Tight: nothing but what is written. Dangerous options only where the rule itself names them."""
    if part.kind != "command" or part.doubt:
        return False
    words, own = part.words, pattern.words
    if not own:
        return part.text == pattern.text
    if len(words) < len(own) or any(not word.exact or word.text != wanted for word, wanted in zip(words, own, strict=False)):
        return False
    if not pattern.prefix:
        return len(words) == len(own) and all(word.exact for word in words)
    return not part.danger or _names(own, part)


def _names(own: Sequence[str], part: Part) -> bool:
    """Every dangerous word of the part is one of the rule's own, and none of them comes again behind them."""
    named = {word.partition("=")[0] for word in own} | set(own)
    rest = {word.text.partition("=")[0] for word in part.words[len(own) :]}
    return bool(part.danger_words) and all(word in named and word not in rest for word in part.danger_words)


def touches(pattern: CommandPattern, part: Part) -> bool:
    """Wide, for deny and ask: any folder of the program, options before and between the words, any case."""
    if not pattern.words:
        return part.text.strip() == pattern.text
    words = [word.text for word in part.words]
    if not words or not _same_program(words[0], pattern.words[0]):
        return False
    if not pattern.prefix:
        return words[1:] == list(pattern.words[1:])
    return _in_order(words[1:], pattern.words[1:])


def _same_program(word: str, wanted: str) -> bool:
    word, wanted = word.lower(), wanted.lower()
    return word == wanted or word.rpartition("/")[2] == wanted


def _in_order(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """The wanted words come in this order, with nothing between them but options and what may be an option's value."""
    at, after_option = 0, False
    for word in words:
        if at == len(wanted):
            return True
        if word == wanted[at]:
            at, after_option = at + 1, False
        elif word.startswith("-"):
            after_option = True
        elif after_option:
            after_option = False
        else:
            return False
    return at == len(wanted)


def may_touch(pattern: CommandPattern, part: Part) -> bool:
    """Whether it would, if the words that nobody knows were the right ones."""
    if not pattern.words or not part.words or all(word.exact for word in part.words):
        return False
    first, *rest = part.words
    if not _same_program(first.text, pattern.words[0]):
        return False
    return _may_follow(tuple(rest), pattern.words[1:], pattern.prefix)


def _may_follow(words: tuple[Word, ...], wanted: tuple[str, ...], prefix: bool) -> bool:
    """As `_in_order`, with an open word as any word, or as any number of them."""
    if not wanted:
        return prefix or all(word.several for word in words)
    for at, word in enumerate(words):
        if not word.exact:
            return word.several or fits(word, wanted[0])
        if word.text == wanted[0]:
            return _may_follow(words[at + 1 :], wanted[1:], prefix)
        if not prefix or not (word.text.startswith("-") or (at and words[at - 1].text.startswith("-"))):
            return False
    return False


def fits(word: Word, wanted: str) -> bool:
    """An open word that could be this one: what is spelled out at its ends is there."""
    head, tail = re.match(r"[^$`*?\[{~…<>=(]*", word.text), re.search(r"[^}`*?\])…A-Za-z0-9_]*$", word.text)
    return wanted.startswith(head[0] if head else "") and wanted.endswith(tail[0] if tail else "")


def told(pattern: object, found: Sequence[str]) -> bool:
    """The rule's words stand in the words of a program that runs what it is told; its own name does not count twice."""
    if not isinstance(pattern, CommandPattern) or not pattern.words or not found:
        return False
    wanted = list(pattern.words)
    if _same_program(found[0], wanted[0]):
        return len(wanted) > 1 and all(word in found[1:] for word in wanted[1:])
    return mentions(pattern, found[1:])


def tokens(text: str) -> list[str]:
    """Whatever could be a word of a command in a text that can't be taken apart."""
    return _TOKENS.findall(text)


def mentions(pattern: CommandPattern, found: Sequence[str]) -> bool:
    """The rule's words stand somewhere in these, one after the other."""
    wanted = list(pattern.words)
    return any(_same_program(found[at], wanted[0]) and found[at + 1 : at + len(wanted)] == wanted[1:] for at in range(len(found)))
