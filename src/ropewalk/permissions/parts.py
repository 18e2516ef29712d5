"""One part of a shell command judged by the rules. Refuses to take the command apart, and to allow what nobody understood.

A part that a rule for Bash allows is still denied where a file that it opens is. A redirect is a write: rules for Edit say yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from .commands import tokens
from .found import by_rule, judged
from .paths import OF_A_PROCESS, Name, inside, joined, name_of
from .pathset import least
from .reach import ANY, is_pattern, is_unknown, overlapped, readings, spelled, values_of
from .request import RANK, STRICT, Behavior, Context, PartVerdict, Request
from .rulebook import Rulebook
from .rules import Rule
from .secrets import TAG, may_reach_a_secret
from .shell import Part
from .tools import READS, Family

NEUTRAL = frozenset({
    "cd", "true", "false", ":", "test", "[", "[[", "cat", "pwd", "read", "wait", "exit", "return", "break", "continue", "shift",
})  # fmt: skip
"""Programs that, where they are found harmless, need no rule beside a part that has one."""
TAKES_TEXT = frozenset({
    "cat", "tee", "grep", "egrep", "fgrep", "rg", "sort", "uniq", "wc", "head", "tail", "tr", "cut", "nl", "fold", "column", "jq",
    "diff", "base64", "md5sum", "sha256sum", "read", "echo", "printf",
})  # fmt: skip
"""Programs for which a here-document is text and nothing else."""
READERS = frozenset({
    "cat", "head", "tail", "tac", "nl", "wc", "grep", "egrep", "fgrep", "rg", "sort", "uniq", "cut", "paste", "join", "comm",
    "diff", "cmp", "file", "stat", "ls", "du", "tree", "find", "sed", "jq", "od", "xxd", "hexdump", "strings", "column", "fold",
    "rev", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "bat", "readlink", "realpath",
})  # fmt: skip
"""Programs that, understood and without a dangerous option, do nothing but show what they read: rules for Read are enough."""
LISTERS = frozenset({"ls", "du", "stat", "tree", "find", "file", "readlink", "realpath"})
"""Of those, the ones that show names and not what is in the files."""
NAMES = "it names"
SECRET = f"it {TAG}, or may: what it does with that file is not understood"
SAYS = {"deny": "denies", "ask": "asks for", "allow": "allows"}
_PIECES = re.compile(r"[=@:,]")


class Judge:
    """One command's judge: the request, the rules and what the machine says, held together."""

    def __init__(self, request: Request, book: Rulebook, context: Context) -> None:
        self._request, self._book, self._context = request, book, context
        self._all: Sequence[Part] = ()

    def parts(self, parts: Sequence[Part]) -> tuple[PartVerdict, ...]:
        verdicts, program = [], ""
        self._all = parts
        for part in parts:
            if part.kind == "command" and part.words:
                program = part.words[0].text
            verdicts.append(self._part(part, program if part.kind == "heredoc" and program not in TAKES_TEXT else ""))
        return tuple(verdicts)

    def _part(self, part: Part, given_to: str) -> PartVerdict:
        """Where it may run in one of several folders, the strictest of them."""
        if part.folders:
            every = (self._part(replace(part, folder=folder, folders=()), given_to) for folder in part.folders)
            return min(every, key=lambda one: RANK[one.behavior])
        return self._command(part) if part.kind == "command" and part.words else self._besides(part, given_to)

    def neutral(self, part: Part) -> bool:
        """Whether its permission says nothing: such parts alone are not enough to allow a command."""
        return part.kind != "command" or part.wrapper or (part.harmless and part.words[0].text in NEUTRAL)

    def _command(self, part: Part) -> PartVerdict:
        named = self._names_denied(part)
        tags = (TAG,) if TAG in named else ()
        denied = self._file_rule("deny", part)
        verdict = judged(
            part.text,
            lambda behavior: self._for_command(behavior, part, denied),
            kind=part.kind,
            doubt=self._doubt(part) or named,
            otherwise=f"no rule matches{f': {part.danger}' if part.danger else ''}",
            tags=tags,
        )
        return self._unasked(part, verdict) if verdict.behavior == "ask" and verdict.rule is None else verdict

    def _for_command(self, behavior: Behavior, part: Part, denied: Rule | None) -> Rule | None:
        rule = self._book.command(behavior, part, self._request, self._context)
        if behavior == "deny":
            return rule or denied
        return rule or (self._reads_only(part) if behavior == "allow" else self._file_rule("ask", part))

    def _unasked(self, part: Part, verdict: PartVerdict) -> PartVerdict:
        """Allowed without a rule of its own: what changes nothing by itself."""
        if part.doubt or verdict.tags or self._doubt(part) or verdict.because.startswith(NAMES):
            return verdict
        if part.wrapper and "/" not in part.words[0].text:
            return PartVerdict(part.text, "allow", "only runs what follows", part.kind)
        if not part.harmless or part.words[0].text not in NEUTRAL:
            return verdict
        if part.words[0].text != "cd":
            return PartVerdict(part.text, "allow", "changes nothing", part.kind)
        name = self._name(self.target(part), part)
        if not all(word.exact for word in part.words):
            return PartVerdict(part.text, "ask", "where it goes can't be told", part.kind)
        if name is not None and not name.doubt and inside(name, self._request.cwd, self._context):
            return PartVerdict(part.text, "allow", "inside the folder", part.kind)
        return PartVerdict(part.text, "ask", "it leaves the folder, and no rule matches", part.kind)

    def _besides(self, part: Part, given_to: str) -> PartVerdict:
        """Redirects, here-documents, assignments: files by the rules for files; what opens none is harmless unless in doubt."""
        request, context, doubt = self._request, self._context, self._doubt(part)
        for behavior in STRICT:
            if rule := self._book.tool(behavior, ("Bash",), request, context) or self._file_rule(behavior, part):
                return by_rule(part.text, rule, part.kind)
        if doubt:
            return PartVerdict(part.text, "ask", doubt, part.kind)
        if given_to and (told := self._book.told(part.text, request, context)):
            because = f"what {given_to} is given names what {told.words()} {SAYS[told.behavior]}"
            return PartVerdict(part.text, "ask", because, part.kind)
        if rule := self._book.tool("allow", ("Bash",), request, context):
            return by_rule(part.text, rule, part.kind)
        if given_to:
            return PartVerdict(part.text, "ask", f"what {given_to} does with the text given to it can't be told", part.kind)
        found = [
            *(self._file("Edit", path, part) for path in part.writes),
            *(self._file("Read", path, part) for path in part.reads),
        ]
        return min(found, key=lambda one: RANK[one.behavior], default=PartVerdict(part.text, "allow", "opens no file", part.kind))

    def _file(self, family: Family, path: str, part: Part) -> PartVerdict:
        """Whether a redirect may open this file, which no rule denies."""
        name = self._name(path, part)
        if name is None or name.doubt:
            return PartVerdict(part.text, "ask", f"{path}: {name.doubt if name else 'its folder can not be told'}", part.kind)
        if name.given.startswith("/dev/"):
            return PartVerdict(part.text, "ask", f"{path} is a device or a network connection", part.kind)
        if rule := self._book.file("allow", (family,), name, self._request, self._context):
            return by_rule(part.text, rule, part.kind)
        if family == "Read" and inside(name, self._request.cwd, self._context):
            return PartVerdict(part.text, "allow", "reads inside the folder", part.kind)
        verb = "writes" if family == "Edit" else "reads"
        return PartVerdict(part.text, "ask", f"it {verb} {path}, and no rule for {family} matches", part.kind)

    def _doubt(self, part: Part) -> str:
        if part.doubt:
            return part.doubt
        return "which folder it would run in can't be told" if part.folder is None and not part.harmless else ""

    def _name(self, path: str, part: Part) -> Name | None:
        if part.folder is None and not path.startswith(("/", "~")):
            return None
        if part.understood_files and path.startswith("~"):  # in quotes: a file of that name
            path = f"./{path}"
        return name_of(path, joined(part.folder or "", self._request.cwd, self._context.home), self._context)

    def _file_rule(self, behavior: Behavior, part: Part) -> Rule | None:
        """A rule of this behaviour about a file that the part opens."""
        families: tuple[tuple[Family, tuple[str, ...]], ...] = (("Edit", part.writes), ("Read", part.reads))
        for family, paths in families:
            for path in paths:
                name = self._name(path, part) or name_of(path, self._request.cwd, self._context)
                rule = self._book.file(behavior, (family,), name, self._request, self._context)
                if rule is not None:
                    return rule
        return None

    def _reads_only(self, part: Part) -> Rule | None:
        """A program that is understood, and only reads files that rules for Read allow. One in a folder may be any program."""
        if not part.understood_files or part.writes or part.danger or not part.reads or part.words[0].text not in READERS:
            return None
        if not all(word.exact for word in part.words):
            return None
        rules = []
        for path in part.reads:
            name = self._name(path, part)
            rule = self._book.file("allow", ("Read",), name, self._request, self._context) if name else None
            rule = rule or (self._book.file("allow", ("Read",), name, self._request, self._context, tree=True) if name else None)
            if rule is None:
                return None
            rules.append(rule)
        return rules[0]

    def _names_denied(self, part: Part) -> str:
        """Why a person must look: a word names a file that is denied, or a program, and nobody can tell what comes of it."""
        if part.harmless or (part.wrapper and all(word.exact for word in part.words)):
            return ""
        folder = joined(part.folder or "", self._request.cwd, self._context.home)
        if any("/proc/" in path and self._of_a_process(path, part) for path in (*part.reads, *part.writes)):
            return OF_A_PROCESS
        if not part.understood_files and (why := self._named(_names_in(part), folder)):
            return why
        is_open = not all(word.exact for word in part.words)
        if part.danger and (why := self._named(tokens(part.text), folder)):
            return why
        if (is_open or part.danger) and (rule := self._book.may_be(part, self._request, self._context)):
            return f"it may be what {rule.words()} {SAYS[rule.behavior]}"
        return self._could_name(part, folder) if is_open else ""

    def _of_a_process(self, path: str, part: Part) -> bool:
        name = self._name(path, part)
        return name is not None and name.doubt == OF_A_PROCESS

    def _could_name(self, part: Part, folder: str) -> str:
        """The same for words that the shell fills in, by all that the command spells out."""
        values = {"HOME": [self._context.home or ANY], "PWD": [folder], **values_of(self._all)}
        lists = part.words[0].text in LISTERS
        reads_only = part.words[0].text in READERS and not part.writes and not part.danger
        rules = [rule for rule in self._book.own_files if not reads_only or rule.tool in READS]
        for word in part.words:
            for reading in readings(word, values) if not word.exact else ():
                text = spelled(reading)
                if is_pattern(text):
                    if not lists and may_reach_a_secret(text, named=not part.reads):
                        return SECRET
                    found = overlapped(text, folder, rules, self._request.cwd, self._context)
                    if rule := least(found, self._request.cwd, self._context.session):
                        return _says(text, rule)
                elif text and (why := self._named((text,), folder)):
                    return why
        if lists or not any(is_unknown(word, values) for word in part.words[1:]):
            return ""
        return self._named((name for other in self._all for name in _spelled_in(other)), folder)

    def _named(self, texts: Iterable[str], folder: str) -> str:
        """Why one of these names must not be touched."""
        for text in texts:
            if may_reach_a_secret(text, named=True):
                return SECRET
            found = self._book.named_files.either(name_of(text, folder, self._context), self._request.cwd, self._context)
            if rule := least(found, self._request.cwd, self._context.session):
                return SECRET if rule.source == "built_in" else _says(text, rule)
        return ""

    @staticmethod
    def target(part: Part) -> str:
        """Where a ``cd`` goes."""
        named = [word.text for word in part.words[1:] if word.text not in ("--", "-P", "-L", "-e")]
        return named[0] if named else "~"


def _says(text: str, rule: Rule) -> str:
    return f"{NAMES} {text}, which {rule.words()} {SAYS[rule.behavior]}: what it does is not understood"


def _spelled_in(part: Part) -> Iterator[str]:
    """Every name in it, whatever it does with them."""
    yield from _names_in(part)
    if part.kind != "command":
        yield from (word.text for word in part.words)


def _names_in(part: Part) -> Iterator[str]:
    """What could be the name of a file in a command's words: each word, and its pieces after ``=``, ``@``, ``:``, ``-x``."""
    for at, word in enumerate(part.words):
        text = word.text
        if not text or (at == 0 and "/" not in text and "." not in text):
            continue
        if text[0] != "-":
            yield text
        elif text[1:2] != "-" and len(text) > 2:
            yield text[2:]
        if not text.isalnum():
            yield from (piece for piece in _PIECES.split(text) if piece and piece != text and piece[0] != "-")
