"""What a word could become that only the shell can fill in: variables, braces, globs. Serves to ask, never to allow.

Only what the command spells out counts, wherever in it: ``f=.env; cat $f``, ``echo .env | xargs cat``, ``cat */x``. A name that
comes from elsewhere altogether is not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice, product

from .globs import unbraced
from .paths import PathPattern, bases, joined, normal
from .request import Context
from .rules import Rule
from .shell import Part, Word

ANY = "\0"
"""Any text at all, slashes too."""
MOST = 64
"""Readings of one word that are looked at; with more of them it could be any."""
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*)|\{[^}]*\}|[0-9@*#?$!-])")
UNKNOWN = "…"
"""How a word that another program fills in is written."""
_WILD = re.compile(r"[*?\[\0]")
_TILDE = re.compile(r"^~([^/]+)")
_OPENERS = ("$(", "`", "<(", ">(")

Values = Mapping[str, Sequence[str]]


def values_of(parts: Iterable[Part]) -> dict[str, list[str]]:
    """What each variable is set to somewhere in the command."""
    found: dict[str, list[str]] = {}
    for part in parts:
        if part.kind == "assignment" and part.words:
            found.setdefault(part.words[0].text, []).extend(word.text for word in part.words[1:])
    return found


def readings(word: Word, values: Values) -> list[str]:
    """All that it could become; ``ANY`` stands for what nobody knows, globs stay as they are."""
    if word.exact:
        return [word.text]
    text = _TILDE.sub(lambda found: "$PWD" if found[1] == "+" else ANY, _without_substitutions(word.text).replace(UNKNOWN, ANY))
    texts = _filled(text, values)
    found = list(islice((one for text in texts for one in unbraced(text)), MOST + 1))
    return found if len(found) <= MOST else [ANY]


def is_unknown(word: Word, values: Values) -> bool:
    """Part of it comes from where nobody can see."""
    return not word.exact and any(ANY in reading for reading in readings(word, values))


def _without_substitutions(text: str) -> str:
    for opener in _OPENERS:
        while (start := text.find(opener)) >= 0:
            closer = text.rfind("`" if opener == "`" else ")")
            text = text[:start] + ANY + (text[closer + 1 :] if closer > start else "")
    return text


def _filled(text: str, values: Values, depth: int = 0) -> list[str]:
    """A value may hold variables in turn."""
    pieces: list[Sequence[str]] = []
    at = 0
    for found in _VARIABLE.finditer(text):
        known = values.get(found[1] or found[2] or "", ()) if depth < 3 else ()
        pieces += [(text[at : found.start()],), [one for value in known for one in _filled(value, values, depth + 1)] or (ANY,)]
        at = found.end()
    pieces.append((text[at:],))
    return ["".join(chosen) for chosen in islice(product(*pieces), MOST + 1)]


def spelled(reading: str) -> str:
    """The rest behind what is not known at its beginning: ``$dir/secret/x`` still says ``secret/x``."""
    if ANY not in reading:
        return reading
    start, _, rest = reading.rpartition(ANY)
    return rest.lstrip("/") if rest.strip("/") else start.replace(ANY, "*") + "*" if start.strip(ANY + "/") else ""


def is_pattern(reading: str) -> bool:
    return _WILD.search(reading) is not None


def overlapped(pattern: str, folder: str, rules: Iterable[Rule], cwd: str, context: Context) -> list[Rule]:
    """The rules about files that this glob could name a file of."""
    segments = normal(joined(pattern, folder, context.home)).lower().split("/")[1:]
    return [
        rule
        for rule in rules
        if isinstance(rule.pattern, PathPattern)
        for base in bases(rule.pattern.anchor, cwd, context)
        if _meet(tuple(segments), _wide(base, rule.pattern.glob))
    ]


def _wide(base: str, glob: str) -> tuple[str, ...]:
    """As deny reads it: one name without a slash at any depth, and everything below what matches."""
    segments = glob.rstrip("/").lower().split("/")
    whole = [*base.lower().split("/")[1:], *(["**"] if len(segments) == 1 else []), *segments, "**"]
    return tuple(segment for segment in whole if segment)


def _meet(names: tuple[str, ...], rule: tuple[str, ...]) -> bool:
    if not rule:
        return not names
    if rule[0] == "**":
        return any(_meet(names[at:], rule[1:]) for at in range(len(names) + 1))
    return bool(names) and _alike(names[0], rule[0]) and _meet(names[1:], rule[1:])


def _alike(name: str, rule: str) -> bool:
    """Whether one text could fit both. Where both are open, by how they begin and end."""
    if not _WILD.search(rule):
        return fnmatchcase(rule, name) and not (rule[:1] == "." and name[:1] in "*?[")
    if not _WILD.search(name):
        return fnmatchcase(name, rule)
    heads, tails = [_WILD.split(text)[0] for text in (name, rule)], [_WILD.split(text)[-1] for text in (name, rule)]
    return (heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])) and (
        tails[0].endswith(tails[1]) or tails[1].endswith(tails[0])
    )
