"""Requests judged: which names must be resolved first, then the verdict with its reasons. Pure: asks nobody, sends nothing.

Deny beats ask beats allow, whatever the scope or order; no rule is *ask*; the whole is as strict as its strictest part.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from msgspec.structs import replace

from .found import LONGEST, Finder, judged, one_line
from .hosts import site_of
from .parts import NAMES, Judge
from .paths import joined, name_of
from .request import STRICT, Behavior, Context, Needs, PartVerdict, Request, Verdict, strictest
from .rulebook import Rulebook
from .rules import Rule
from .shell import Script, taken_apart
from .tools import NAMED, ONLY_PEOPLE, SEARCHES, family_of, files_named, thing_named

SHOWN = 200
"""Characters of a part that is no command."""
KEPT = 4096
"""Characters of a command that is kept taken apart; longer ones would fill the memory."""
_taken_apart = lru_cache(maxsize=512)(taken_apart)


def forget() -> None:
    """Let go of the commands that were taken apart: for measuring, and to free their memory."""
    _taken_apart.cache_clear()


def needs(request: Request, home: str = "", root: str = "", folders: tuple[str, ...] = ()) -> Needs:
    """The names to resolve before `decide`: files that it opens, folders that it enters, and the folders that rules begin at."""
    paths = [base for base in (request.cwd, root, home, *folders) if base]
    if request.tool == "Bash":
        paths += _bash_names(request, home)
    elif family_of(request.tool):
        paths += [joined(path, request.cwd, home) for path in files_named(request.tool, request.input) or ()]
    return Needs(tuple(dict.fromkeys(path for path in paths if "\0" not in path)))


def _bash_names(request: Request, home: str) -> Iterable[str]:
    for part in taken_apart_once(request).parts:
        goes = (Judge.target(part),) if part.words and part.words[0].text == "cd" and part.kind == "command" else ()
        for place in part.folders or (part.folder,):
            folder = joined(place or "", request.cwd, home)
            paths = (*part.reads, *part.writes, *goes)
            yield from (joined(path, folder, home) for path in paths if place is not None or path.startswith(("/", "~")))


def decide(request: Request, rules: Rulebook | Iterable[Rule], context: Context | None = None) -> Verdict:
    """The verdict on this request by these rules. Give a `Rulebook` where many requests meet the same rules."""
    book, context = Rulebook.of(rules), context or Context()
    verdict = _bash(request, book, context) if request.tool == "Bash" else _other(request, book, context)
    if verdict.behavior == "allow" and not request.cwd.startswith("/"):
        return Verdict("ask", "the session's folder is not known", verdict.parts)
    if (request.interaction or request.tool in ONLY_PEOPLE) and not (verdict.rule and verdict.behavior != "allow"):
        return Verdict("ask", "only a person answers this: no rule can allow it", verdict.parts)
    return verdict


def taken_apart_once(request: Request) -> Script:
    """The command's parts; the same command is taken apart once for all who ask."""
    command = request.input.get("command")
    if not isinstance(command, str):
        return Script((), "no command is given")
    return _taken_apart(command) if len(command) <= KEPT else taken_apart(command)


def _bash(request: Request, book: Rulebook, context: Context) -> Verdict:
    script, judge = taken_apart_once(request), Judge(request, book, context)
    verdicts = judge.parts(script.parts)
    whole = _whole(request, script, book, context)
    if whole is not None:
        return _joined(verdicts, whole)
    if script.doubt:
        return _joined(verdicts, PartVerdict(_text(request), "ask", script.doubt))
    if request.input.get("dangerouslyDisableSandbox"):
        return _joined(verdicts, PartVerdict(_text(request), "ask", "it asks to run outside of Claude Code's sandbox"))
    if spelled := book.text("allow", _text(request), request, context):
        verdicts = tuple(_spelled(one, part.doubt, spelled) for one, part in zip(verdicts, script.parts, strict=True))
    elif not script.parts or all(judge.neutral(part) and not one.rule for part, one in zip(script.parts, verdicts, strict=True)):
        return _joined(verdicts, PartVerdict(_text(request), "ask", "no rule matches"))
    return _joined(verdicts)


def _whole(request: Request, script: Script, book: Rulebook, context: Context) -> PartVerdict | None:
    """What is denied or asked as a whole: by its exact text, or, where it is not understood, by words that stand in it."""
    doubtful = [_text(request)] if script.doubt else [part.text for part in script.parts if part.doubt]
    found: dict[Behavior, Rule | None] = {}
    for behavior in STRICT:
        rule = book.tool(behavior, ("Bash",), request, context) or book.text(behavior, _text(request), request, context)
        found[behavior] = rule or (book.mentioned(behavior, doubtful, request, context) if doubtful else None)
    if not any(found.values()):
        return None
    return judged(_text(request), lambda behavior: found.get(behavior))


def _spelled(one: PartVerdict, doubt: str, rule: Rule) -> PartVerdict:
    """A rule that spells out the whole command allows each of its parts, save what is denied, asked by rule or doubtful."""
    if one.behavior != "ask" or one.rule or doubt or one.tags or one.because.startswith(NAMES):
        return one
    return PartVerdict(one.text, "allow", f"allowed by {rule.words()}", one.kind, rule.id or rule.text, one.tags)


def _text(request: Request) -> str:
    command = request.input.get("command")
    return command.strip() if isinstance(command, str) else ""


def _joined(parts: tuple[PartVerdict, ...], whole: PartVerdict | None = None) -> Verdict:
    """The strictest of the parts, and of what holds for the whole; its reason is the first of that strictness."""
    parts = tuple(one if _short_enough(one.because) else replace(one, because=one_line(one.because)) for one in parts)
    every = (whole, *parts) if whole is not None else parts
    behavior = strictest(one.behavior for one in every)
    telling = [one for one in every if one.behavior == behavior]
    tags = tuple(dict.fromkeys(tag for one in every for tag in one.tags))
    ruled = [one for one in telling if one.rule]
    first = ruled[0] if behavior == "allow" and ruled else telling[0]
    because = first.because if len(parts) < 2 or first is whole else _of_many(first, parts, ruled)
    return Verdict(behavior, one_line(because), parts or every, first.rule, tags)


def _of_many(first: PartVerdict, parts: tuple[PartVerdict, ...], ruled: list[PartVerdict]) -> str:
    if first.behavior != "allow":
        return f"part {parts.index(first) + 1}, {_short(first.text)}: {first.because}"
    names = dict.fromkeys(one.because.removeprefix("allowed by ") for one in ruled)
    return f"allowed by {', '.join(names)}" if names else first.because


def _short_enough(because: str) -> bool:
    return len(because) <= LONGEST and because.isprintable()


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"


def _other(request: Request, book: Rulebook, context: Context) -> Verdict:
    tool = request.tool
    if family_of(tool):
        return _joined(_files(request, book, context))
    if tool == "WebFetch":
        site = site_of(request.input.get("url"))
        otherwise = "no rule matches" if site.usual or site.doubt else f"no rule matches: it goes to port {site.port}"
        return _one(
            str(request.input.get("url"))[:SHOWN],
            lambda behavior: book.host(behavior, site, request, context),
            site.doubt,
            otherwise,
        )
    if tool in NAMED:
        name = thing_named(tool, request.input)
        return _one(name or tool, lambda behavior: book.thing(behavior, name, request, context))
    if tool.startswith("mcp__"):
        return _one(tool, lambda behavior: book.mcp(behavior, request, context))
    return _one(tool, lambda behavior: book.tool(behavior, (tool,), request, context))


def _one(text: str, find: Finder, doubt: str = "", otherwise: str = "no rule matches") -> Verdict:
    return _joined((judged(text, find, doubt=doubt, otherwise=otherwise),))


def _files(request: Request, book: Rulebook, context: Context) -> tuple[PartVerdict, ...]:
    """The file, or the folder that is searched: all of it must be allowed; of the names in it what is spelled out."""
    tool, family = request.tool, family_of(request.tool)
    tools = (family, tool) if family and family != tool else (tool,)
    named = files_named(tool, request.input)
    if named is None:
        find: Finder = lambda behavior: book.tool(behavior, tools, request, context) if behavior != "allow" else None  # noqa: E731
        return (judged(tool, find, doubt="which file it is about can't be told"),)
    found = []
    for at, path in enumerate(named):
        name, tree = name_of(path, request.cwd, context), tool in SEARCHES
        wanted = at > 0
        found.append(judged(
            path[:SHOWN],
            lambda behavior, name=name, tree=tree: book.file(behavior, tools, name, request, context, tree=tree),  # type: ignore[misc]
            doubt=f"{path}: {name.doubt}" if name.doubt and not wanted else "",
        ))  # fmt: skip
    return tuple(one for at, one in enumerate(found) if at == 0 or (one.behavior != "allow" and (one.rule or _leaves(named[at]))))


def _leaves(pattern: str) -> bool:
    """A pattern that climbs or begins elsewhere: it does not stay in the folder that was named."""
    return pattern.startswith(("/", "~")) or ".." in pattern.split("/")
