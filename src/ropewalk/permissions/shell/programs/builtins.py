"""The shell's own commands: those that evaluate text or change what follows are doubts, the rest is harmless. bash and zsh."""

from __future__ import annotations

import re
from collections.abc import Callable

from ropewalk.permissions.shell.assignments import doubt_of_assignment, is_private
from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word
from ropewalk.permissions.shell.program import Program

_NUMBER = re.compile(r"[+-]?[0-9]+|\$[?#$]|\$\{#[A-Za-z_@*]\w*\}")
_NUMERIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_SETTING = re.compile(r"[+-][euxvfhmnCbBETHP]+|[+-][euxvf]*o|--|-")
_SET_NAMES = frozenset({"errexit", "nounset", "pipefail", "xtrace", "verbose", "noglob", "noclobber", "posix"})
_SHOPT = frozenset({"-s", "-u", "-q", "globstar", "nullglob", "dotglob", "failglob", "nocaseglob", "inherit_errexit", "lastpipe"})
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONVERSION = re.compile(r"%[-+ #0']*[0-9*]*(?:\.[0-9*]*)?[hlLjzt]*(.|\()", re.S)

_EVALUATES = "runs what its words say, as a command"


def _harmless(words: tuple[Word, ...]) -> Found:
    return Found(harmless=True, understood=True)


def _numbers(words: tuple[Word, ...]) -> Found:
    """zsh calculates what these are given."""
    strange = next((word.text for word in words[1:] if not _NUMBER.fullmatch(word.text)), "")
    if strange:
        return Found(doubt=f"{words[0].text} calculates “{strange}”, which can run commands in zsh")
    return Found(harmless=True, understood=True)


def _alone(words: tuple[Word, ...]) -> Found:
    if len(words) > 1 and any(not word.exact or word.text.startswith("-") for word in words[1:]):
        return Found(doubt=f"{words[0].text} {words[1].text} is not looked into")
    return Found(harmless=True, understood=True)


def _text(words: tuple[Word, ...]) -> Found:
    """It is looked into all the same, for rules that deny."""
    text = " ".join(word.text for word in (words[1:] if words[0].text == "eval" else words[1:2]))
    return Found(doubt=f"{words[0].text} {_EVALUATES}", scripts=[text] if text else [])


def _source(words: tuple[Word, ...]) -> Found:
    """The same as typing the file's text here: it can change everything after it."""
    name = words[1].text if len(words) > 1 else "it reads"
    return Found(doubt=f"{words[0].text} runs what is written in {name}", reads=[word.text for word in words[1:2]])


def _because(why: str) -> Callable[[tuple[Word, ...]], Found]:
    def doubtful(words: tuple[Word, ...]) -> Found:
        return Found(doubt=f"{words[0].text} {why}")

    return doubtful


def _declare(words: tuple[Word, ...]) -> Found:
    """``export A=b``: as ``A=b`` before a command, and for everything after it."""
    if len(words) == 1 or words[1].text == "-p":
        return Found(reads=["/proc/self/environ"], understood=True)
    for word in words[1:]:
        name, equals, value = word.text.partition("=")
        if word.text in ("-r", "-x", "-g", "--"):
            continue
        if not _IDENTIFIER.fullmatch(name) or not word.text.startswith(name):
            return Found(doubt=f"{words[0].text} {word.text}: what it sets can't be told")
        private = words[0].text not in ("export",) and is_private(name) and "-x" not in [each.text for each in words]
        if word.several and not equals:
            return Found(doubt=f"{words[0].text} {word.text}: what it sets can't be told")
        doubt = "" if private else doubt_of_assignment(name, Word(value, word.exact), alone=False)
        if doubt:
            return Found(doubt=doubt)
    return Found(harmless=True, understood=True)


def _names_only(words: tuple[Word, ...]) -> Found:
    """``unset x``, ``read -r x``, ``getopts``: only short names of the script's own."""
    taking = {"read": "dnNptu", "unset": "", "mapfile": "", "readarray": ""}.get(words[0].text, "")
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
            if not word.exact or "[" in word.text:
                return Found(doubt=f"{words[0].text} with “{word.text}” can run commands in zsh")
            continue
        text = word.text
        if text.startswith("-") and word.exact:
            if not set(text[1:]) <= set("rsaefv" + taking):
                return Found(doubt=f"{words[0].text} {text} is not looked into")
            skip = text[-1:] in taking
            continue
        if not word.exact or not is_private(text):
            return Found(doubt=f"{words[0].text} could change {text}, which other commands look at")
    return Found(harmless=True, understood=True)


def _set(words: tuple[Word, ...]) -> Found:
    if len(words) == 1:
        return Found(reads=["/proc/self/environ"], understood=True)
    for word in words[1:]:
        if word.text in ("--", "-"):
            break
        if not word.exact or not (_SETTING.fullmatch(word.text) or word.text in _SET_NAMES):
            return Found(doubt=f"set {word.text} changes how the shell reads what follows")
    return Found(harmless=True, understood=True)


def _shopt(words: tuple[Word, ...]) -> Found:
    strange = next((word.text for word in words[1:] if not word.exact or word.text not in _SHOPT), "")
    if strange:
        return Found(doubt=f"shopt {strange} changes how the shell reads what follows")
    return Found(harmless=True, understood=True)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None or text in ("]", "]]", "-a", "-o", "&&", "||")


def _test(words: tuple[Word, ...]) -> Found:
    """``[`` compares numbers by calculating them (zsh; bash only in ``[[``), and ``-v`` an index: both can run commands."""
    for place, word in enumerate(words):
        text = word.text
        if text in _NUMERIC:
            beside = (*words[place - 1 : place], *words[place + 1 : place + 2])
            strange = next((each.text for each in beside if not _NUMBER.fullmatch(each.text)), "")
            if strange:
                return Found(doubt=f"a comparison of numbers calculates “{strange}”, which can run commands")
        elif text == "-t" and not (place + 1 == len(words) or _is_number(words[place + 1].text)):
            return Found(doubt=f"{words[0].text} -t calculates “{words[place + 1].text}” in zsh, which can run commands")
        elif text in ("-v", "-R") or (word.dash and word.several and words[0].text != "[["):
            return Found(doubt=f"{words[0].text} with “{text}” can run commands")
    return Found(harmless=True, understood=True)


def _printf(words: tuple[Word, ...]) -> Found:
    form = words[1] if len(words) > 1 else Word("")
    if form.text == "--" and len(words) > 2:
        form = words[2]
    if form.text.startswith("-"):
        return Found(doubt="printf -v sets a variable")
    if not form.exact:
        return Found(doubt="what printf does depends on its format, which is not known")
    if "*" in form.text:
        return Found(doubt="printf calculates a width, which can run commands in zsh")
    kinds = set(_CONVERSION.findall(form.text))
    if not kinds <= set("sbcq%"):
        strange = next((word.text for word in words[2:] if not _NUMBER.fullmatch(word.text)), "")
        if strange or "n" in kinds or "(" in kinds:
            return Found(doubt=f"printf calculates “{strange}”, which can run commands in zsh")
    return Found(harmless=True, understood=True)


_CHANGES = "changes what the commands after it mean"

PROGRAMS: dict[str, Program | Callable[[tuple[Word, ...]], Found]] = {
    **dict.fromkeys(("cd", "pushd", "popd", "pwd", "dirs", ":", "true", "false", "echo"), _harmless),
    **dict.fromkeys(("times", "umask", "type", "which", "whence"), _harmless),
    **dict.fromkeys(("break", "continue", "shift", "exit", "return"), _numbers),
    **dict.fromkeys(("wait", "jobs", "hostname"), _alone),
    **dict.fromkeys(("sleep", "seq", "basename", "dirname", "whoami", "id", "uname", "nproc", "arch", "tty"),
        _harmless),
    **dict.fromkeys(("test", "[", "[["), _test),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), _declare),
    **dict.fromkeys(("read", "unset", "mapfile", "readarray"), _names_only),
    **dict.fromkeys(("source", "."), _source),
    "set": _set,
    "shopt": _shopt,
    "printf": _printf,
    **dict.fromkeys(("eval", "trap"), _text),
    **dict.fromkeys(("fc", "let", "((", "compgen", "complete", "bind", "sched"),
        _because(_EVALUATES)),
    **dict.fromkeys(("alias", "unalias", "enable", "hash", "getopts", "vared", "zle", "zmodload", "autoload"),
        _because(_CHANGES)),
    **dict.fromkeys(("setopt", "unsetopt", "emulate", "functions", "integer", "float", "private", "rehash"),
        _because(_CHANGES)),
    **dict.fromkeys(("unfunction", "unhash", "disable", "zcompile", "zstyle", "compdef", "history", "compopt"),
        _because(_CHANGES)),
    **dict.fromkeys(("repeat", "foreach", "end", "noglob", "nocorrect", "always", "-", "select", "coproc", "print"), _because(
        "is read differently by other shells")),
    **dict.fromkeys(("ulimit", "limit", "unlimit", "suspend", "logout", "caller", "disown", "bg", "fg"), _because("acts on "
    "the shell itself")),
}  # fmt: skip
