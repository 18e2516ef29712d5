"""All rules in force, sorted so that a question looks at few of them. Refuses to decide: it finds the rules of one behaviour.

Deny and ask are read widely, allow tightly; which rules match never depends on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

from . import commands, hosts
from .commands import CommandPattern
from .hosts import HostPattern, Site
from .paths import Name, PathPattern
from .pathset import PathSet, least
from .request import STRICT, STRICTEST_FIRST, Behavior, Context, Request
from .rules import NamePattern, Rule
from .shell import Part
from .tools import FAMILIES, SAME, Family

K = TypeVar("K")


class Rulebook:
    """Built once for a set of rules, asked many times. It does not change: a new rule makes a new book."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(sorted(rules, key=lambda rule: rule.source != "built_in"))
        self._shelves = {
            behavior: _Shelf([r for r in self.rules if r.behavior == behavior], behavior) for behavior in STRICTEST_FIRST
        }
        strict = [rule for behavior in STRICT for family in FAMILIES for rule in self._shelves[behavior].path_rules(family)]
        strict = [rule for rule in strict if rule.behavior == "deny" or rule.source != "built_in"]
        self.named_files = PathSet(_each_once(strict), wide=True)
        """What a word of a command must not name, denied or asked."""
        self.own_files = [rule for rule in _each_once(strict) if rule.source != "built_in"]
        """The same without the built-in ones."""

    @classmethod
    def of(cls, rules: Rulebook | Iterable[Rule]) -> Rulebook:
        return rules if isinstance(rules, Rulebook) else _book(tuple(rules))

    def tool(self, behavior: Behavior, tools: Iterable[str], request: Request, context: Context) -> Rule | None:
        """A rule for every use of one of these tools."""
        bare = self._shelves[behavior].bare
        return least([rule for tool in tools for rule in bare.get(tool, ())], request.cwd, context.session)

    def mcp(self, behavior: Behavior, request: Request, context: Context) -> Rule | None:
        """A rule for this tool of an MCP server, or for the whole server."""
        shelf = self._shelves[behavior]
        found = list(shelf.bare.get(request.tool, ()))
        for server, rules in shelf.servers.items():
            rest = request.tool.removeprefix(server)
            # mcp__a__b__c may be of the server a or of a__b: one that is not plain is not allowed with its whole server.
            if rest != request.tool and (behavior != "allow" or "__" not in rest):
                found += rules
        return least(found, request.cwd, context.session)

    def thing(self, behavior: Behavior, name: str, request: Request, context: Context) -> Rule | None:
        tool = SAME.get(request.tool, request.tool)
        named = self._shelves[behavior].things.get((tool, name), ())
        return least([*named, *self._shelves[behavior].bare.get(tool, ())], request.cwd, context.session)

    def host(self, behavior: Behavior, site: Site, request: Request, context: Context) -> Rule | None:
        about = hosts.allows if behavior == "allow" else hosts.touches
        found = [
            rule for rule in self._shelves[behavior].sites if isinstance(rule.pattern, HostPattern) and about(rule.pattern, site)
        ]
        return least([*found, *self._shelves[behavior].bare.get("WebFetch", ())], request.cwd, context.session)

    def file(
        self, behavior: Behavior, tools: Iterable[str], name: Name, request: Request, context: Context, *, tree: bool = False
    ) -> Rule | None:
        """A rule about this file, for one of these tools. ``tree``: about everything in this folder."""
        shelf, found = self._shelves[behavior], list[Rule]()
        for tool in tools:
            found += shelf.bare.get(tool, ())
            if paths := shelf.paths.get(tool):
                ask = paths.either if behavior != "allow" else paths.whole_folder if tree else paths.both
                found += ask(name, request.cwd, context)
        return least(found, request.cwd, context.session)

    def command(self, behavior: Behavior, part: Part, request: Request, context: Context) -> Rule | None:
        """A rule about this part of a command, without the files that it opens."""
        shelf, allow = self._shelves[behavior], behavior == "allow"
        about = commands.allows if allow else commands.touches
        program = part.words[0].text if allow else part.words[0].text.lower()
        found = list(shelf.bare.get("Bash", ()))
        for names, key in ((shelf.programs, program), (shelf.texts, part.text)):
            if rules := names.get(key):
                found += _about(about, rules, part)
        if not allow and "/" in program:
            found += _about(about, shelf.programs.get(program.rpartition("/")[2], ()), part)
        return least(found, request.cwd, context.session) if found else None

    def text(self, behavior: Behavior, command: str, request: Request, context: Context) -> Rule | None:
        """A rule that spells out this whole command, several parts and all."""
        return least(self._shelves[behavior].texts.get(command, ()), request.cwd, context.session)

    def may_be(self, part: Part, request: Request, context: Context) -> Rule | None:
        """A rule that denies or asks for what this part could turn out to be: its words are open, or it runs what it is told."""
        found, tokens = list[Rule](), commands.tokens(part.text)
        for rules in self._strict_programs():
            found += _about(commands.may_touch, rules, part)
            found += [rule for rule in rules if part.danger and commands.told(rule.pattern, tokens)]
        return least(found, request.cwd, context.session)

    def told(self, text: str, request: Request, context: Context) -> Rule | None:
        """A rule that denies or asks for what is named in this text, which is given to a program that may run it."""
        tokens = ["", *commands.tokens(text)]
        found = [rule for rules in self._strict_programs() for rule in rules if commands.told(rule.pattern, tokens)]
        return least(found, request.cwd, context.session)

    def _strict_programs(self) -> Iterator[list[Rule]]:
        for behavior in STRICT:
            yield from self._shelves[behavior].programs.values()

    def mentioned(self, behavior: Behavior, texts: Iterable[str], request: Request, context: Context) -> Rule | None:
        """For what can't be taken apart: a rule whose words stand somewhere in it."""
        programs, found = self._shelves[behavior].programs, list[Rule]()
        for text in dict.fromkeys(texts):
            tokens = commands.tokens(text)
            for name in {
                piece for token in tokens for piece in (token.lower(), token.lower().rpartition("/")[2])
            } & programs.keys():
                rules = [rule for rule in programs[name] if isinstance(rule.pattern, CommandPattern)]
                found += [rule for rule in rules if commands.mentions(rule.pattern, tokens)]  # type: ignore[arg-type]
        return least(found, request.cwd, context.session)


@lru_cache(maxsize=64)
def _book(rules: tuple[Rule, ...]) -> Rulebook:
    return Rulebook(rules)


class _Shelf:
    """The rules of one behaviour, by what a request must be for them to match."""

    def __init__(self, every: Iterable[Rule], behavior: Behavior) -> None:
        rules, wide = [rule for rule in every if rule.behavior == behavior], behavior != "allow"
        self.bare: dict[str, list[Rule]] = {}
        self.servers: dict[str, list[Rule]] = {}
        self.programs: dict[str, list[Rule]] = {}
        self.texts: dict[str, list[Rule]] = {}
        self.things: dict[tuple[str, str], list[Rule]] = {}
        self.sites = [rule for rule in rules if isinstance(rule.pattern, HostPattern)]
        self._paths: dict[str, list[Rule]] = {}
        for rule in rules:
            self._put(rule, wide)
        self.paths = {tool: PathSet(found, wide=wide) for tool, found in self._paths.items()}

    def path_rules(self, family: Family) -> list[Rule]:
        return self._paths.get(family, [])

    def _put(self, rule: Rule, wide: bool) -> None:
        tool = SAME.get(rule.tool, rule.tool)
        match rule.pattern:
            case CommandPattern(words=(first, *_)):
                _keep(self.programs, first.lower() if wide else first, rule)
            case CommandPattern(text=text):
                _keep(self.texts, text, rule)
            case PathPattern():
                _keep(self._paths, tool, rule)
            case NamePattern(name=name):
                _keep(self.things, (tool, name), rule)
            case None if _is_server(tool):
                _keep(self.servers, tool.removesuffix("*").removesuffix("__") + "__", rule)
            case None:
                _keep(self.bare, tool, rule)


def _is_server(tool: str) -> bool:
    return tool.startswith("mcp__") and (tool.endswith("__*") or "__" not in tool.removeprefix("mcp__"))


def _keep(shelf: dict[K, list[Rule]], key: K, rule: Rule) -> None:
    shelf.setdefault(key, []).append(rule)


def _about(about: Callable[[CommandPattern, Part], bool], rules: Iterable[Rule], part: Part) -> list[Rule]:
    return [rule for rule in rules if isinstance(rule.pattern, CommandPattern) and about(rule.pattern, part)]


def _each_once(rules: list[Rule]) -> list[Rule]:
    """Rules for Read and for Edit with the same pattern count once, wherever they hold."""
    return list({(rule.pattern, rule.scope, rule.place): rule for rule in reversed(rules)}.values())[::-1]
