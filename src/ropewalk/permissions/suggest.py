"""What rule would have answered this: offers for one request, from narrow to wide, with their exact text. Grants nothing.

Never wider than it shows: each text is parsed again and must allow the part that it is for. Plain ``Bash`` is never offered.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from msgspec import Struct

from ..errors import UsageError
from .commands import CommandPattern, allows
from .hosts import site_of
from .parts import NAMES
from .paths import Name, joined, name_of, pattern_for
from .policy import decide, taken_apart_once
from .request import Context, PartVerdict, Request, Verdict
from .rulebook import Rulebook
from .rules import Rule, parse_rule
from .shell import Part
from .tools import KNOWN, NAMED, ONLY_PEOPLE, SEARCHES, Family, family_of, files_named, thing_named
from .widths import leads

Ladder = list[str]
"""Rule texts for one thing, from narrow to wide."""


class Step(Struct, frozen=True):
    """One width: all of these rules together, what is wider about it, and whether it would be enough."""

    rules: tuple[str, ...]
    warning: str = ""
    still_asked_because: str = ""


class Offers(Struct, frozen=True):
    steps: tuple[Step, ...] = ()
    once_only_because: str = ""
    """Why nothing can be offered besides this once."""


class Refused(Exception):
    """Nothing can be offered; says why."""


def offers(request: Request, rules: Rulebook | Iterable[Rule], context: Context | None = None) -> Offers:
    """What a person may choose from besides "once"."""
    context, book = context or Context(), Rulebook.of(rules)
    verdict = decide(request, book, context)
    if request.interaction or request.tool in ONLY_PEOPLE:
        return Offers(once_only_because="only a person answers this, each time")
    if verdict.behavior != "ask":
        return Offers(once_only_because=f"nothing is to be granted: {verdict.because}")
    try:
        ladders = _ladders(request, verdict, context)
    except Refused as why:
        return Offers(once_only_because=str(why))
    steps = dict.fromkeys(_across(ladders, step) for step in range(max(map(len, ladders))))
    return Offers(tuple(_step(texts, request, book, context) for texts in steps))


def _across(ladders: list[Ladder], step: int) -> tuple[str, ...]:
    """The same step of every ladder; a short one stays at its end."""
    return tuple(dict.fromkeys(ladder[min(step, len(ladder) - 1)] for ladder in ladders))


def _step(texts: tuple[str, ...], request: Request, book: Rulebook, context: Context) -> Step:
    verdict = decide(request, Rulebook((*book.rules, *(parse_rule(text, "allow") for text in texts))), context)
    wide = [text for text in texts if _whole_program(text)]
    warning = f"This also allows {', '.join(f'{text[5:-3]} with any arguments' for text in wide)}." if wide else ""
    return Step(texts, warning, "" if verdict.behavior == "allow" else verdict.because)


def _whole_program(text: str) -> bool:
    return text.startswith("Bash(") and text.endswith(":*)") and " " not in text


def _ladders(request: Request, verdict: Verdict, context: Context) -> list[Ladder]:
    tool = request.tool
    if tool == "Bash":
        return _bash(request, verdict, context)
    family = family_of(tool)
    if family:
        return _files(request, family, context)
    if tool == "WebFetch":
        return [_host(request)]
    if tool in NAMED and (name := thing_named(tool, request.input)):
        return [_taken([f"{tool}({name})"])]
    if tool.startswith("mcp__"):
        return [_taken([tool])]
    if tool in KNOWN:
        raise Refused(f"a rule would be for every use of {tool}: make it among the rules if that is meant")
    raise Refused(f"{tool} is not known to ropewalk yet, so only once")


def _taken(texts: Iterable[str]) -> Ladder:
    """Those that are rules; none is a reason to refuse."""
    found = []
    for text in texts:
        try:
            parse_rule(text, "allow")
        except UsageError:
            continue
        found.append(text)
    if not found:
        raise Refused("no rule can say exactly this, so only once")
    return found


def _host(request: Request) -> Ladder:
    site = site_of(request.input.get("url"))
    if site.doubt:
        raise Refused(f"{site.doubt}, so only once")
    return _taken([f"WebFetch(domain:{site.hosts[0]}{'' if site.usual else f':{site.port}'})"])


def _files(request: Request, family: Family, context: Context) -> list[Ladder]:
    named = files_named(request.tool, request.input)
    if named is None:
        raise Refused("which file it is about can't be told, so only once")
    name = name_of(named[0], request.cwd, context)
    if request.tool in SEARCHES:
        return [_taken([_tree(found, family, request.cwd, context.home)]) for found in _names(name)]
    return [_file(found, family, request.cwd, context.home) for found in _names(name)]


def _names(name: Name) -> list[str]:
    """Both names of a file, since a rule must match both."""
    if name.doubt or name.real is None:
        raise Refused(f"{name.shown}: {name.doubt}, so only once")
    return list(dict.fromkeys((name.given, name.real)))


def _file(path: str, family: Family, cwd: str, home: str) -> Ladder:
    """The file, its folder, the tree below its folder; never the whole home or machine."""
    texts = [f"{family}({pattern_for(path, cwd, home)})"]
    folder = path.rpartition("/")[0]
    if folder and folder != home and folder.count("/") > 1:
        texts += [_tree(folder, family, cwd, home).replace("**)", "*)"), _tree(folder, family, cwd, home)]
    return _taken(texts)


def _tree(folder: str, family: Family, cwd: str, home: str) -> str:
    if folder == cwd:
        return f"{family}(**)"
    return f"{family}({pattern_for(folder, cwd, home)}/**)"


def _bash(request: Request, verdict: Verdict, context: Context) -> list[Ladder]:
    script = taken_apart_once(request)
    doubt = script.doubt or next((part.doubt for part in script.parts if part.doubt), "")
    if doubt:
        raise Refused(f"{doubt}, so only once")
    if len(script.parts) != len(verdict.parts):
        raise Refused(f"{verdict.because}, so only once")
    judged = list(zip(script.parts, verdict.parts, strict=True))
    asked = [(part, one) for part, one in judged if one.behavior != "allow"]
    # Parts that need no rule beside others need one when they are alone.
    asked = asked or [(part, one) for part, one in judged if part.kind == "command" and not part.wrapper]
    found = [ladder for part, one in asked for ladder in _part(part, one, request, context)]
    if not found:
        raise Refused(f"{verdict.because}, so only once")
    return found


def _part(part: Part, verdict: PartVerdict, request: Request, context: Context) -> list[Ladder]:
    if verdict.tags or verdict.because.startswith(NAMES):
        raise Refused(f"{verdict.text}: {verdict.because}, so only once")
    if part.kind == "command":
        return [_command(part)]
    folder = joined(part.folder or "", request.cwd, context.home)
    families: tuple[tuple[Family, tuple[str, ...]], ...] = (("Edit", part.writes), ("Read", part.reads))
    found = [
        _file(one, family, request.cwd, context.home)
        for family, paths in families
        for path in paths
        for one in _names(name_of(path, folder, context))
    ]
    if not found:
        raise Refused(f"{verdict.because}, so only once")
    return found


def _command(part: Part) -> Ladder:
    """The same words, then the same first words, then the program: as far as such a rule would allow this part."""
    texts = [part.text]
    if all(word.exact for word in part.words):
        words = [word.text for word in part.words]
        texts = [shlex.join(words), *(f"{shlex.join(lead)}:*" for lead in leads(words))]
    elif part.words[0].exact:
        texts += [f"{shlex.join(lead)}:*" for lead in leads([word.text for word in part.words if word.exact])]
    found = [text for text in texts if _allows(text, part)]
    if not found:
        raise Refused(f"no rule can stand for {part.text}, so only once")
    return [f"Bash({text})" for text in found]


def _allows(text: str, part: Part) -> bool:
    try:
        rule = parse_rule(f"Bash({text})", "allow")
    except UsageError:
        return False
    return isinstance(rule.pattern, CommandPattern) and allows(rule.pattern, part)
