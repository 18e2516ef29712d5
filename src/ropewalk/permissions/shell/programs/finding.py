"""find, fd, locate: searching. Their expressions can run, write and remove; what find -exec runs becomes a part of its own."""

from __future__ import annotations

from collections.abc import Callable

from ropewalk.permissions.shell.found import ANYTHING, Found, Run
from ropewalk.permissions.shell.model import Word, names
from ropewalk.permissions.shell.program import Program, program

_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_TESTS = frozenset(
    names(
        "-a -and -o -or -not ! ( ) , -true -false -daystart -depth -d -follow -mount -xdev -noleaf -nouser -nogroup -empty "
        "-readable "
        "-writable -executable -print -print0 -ls -prune -quit -warn -nowarn -ignore_readdir_race -H -L -P -E -X -x -s "
        "--help --version"
    )
)
_VALUES = frozenset(
    names(
        "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -mtime -ctime "
        "-atime -mmin "
        "-cmin -amin -perm -user -group -uid -gid -links -inum -maxdepth -mindepth -regextype -fstype -used -printf -context "
        "-newer -anewer -cnewer -samefile -newermt -newerat -newerct -O -D -flags -f"
    )
)


def _find(words: tuple[Word, ...]) -> Found:
    found = Found(understood=True)
    place, count = 1, len(words)
    begun = False
    while place < count:
        word = words[place]
        text = word.text
        if word.dash or word.several:
            found.understood = False
            if begun or not text.startswith(("*", "?", "[")) or not text:
                found.dangerous(f"“{text}” could be -exec or -delete", text)
        if not begun and not text.startswith(("-", "(", "!", ",")):
            found.reads.append(text)
            found.understood = found.understood and word.exact
            place += 1
            continue
        begun = begun or text not in ("-H", "-L", "-P")
        place += _primary(words, place, found)
    found.reads = found.reads or ["."]
    return found


def _primary(words: tuple[Word, ...], place: int, found: Found) -> int:
    """How many words this piece of the expression takes."""
    text = words[place].text
    if text in _RUNS:
        return _run(words, place, found)
    if text == "-delete":
        found.dangerous("-delete removes what is found", "-delete")
        found.writes.extend(found.reads)
        return 1
    if text in _WRITES:
        found.dangerous(f"{text} writes a file", text)
        found.writes.extend(word.text for word in words[place + 1 : place + 2])
        return 3 if text == "-fprintf" else 2
    if text == "-files0-from":
        found.dangerous("-files0-from reads names from a file", text)
        return 2
    if text in _VALUES:
        return _value(words, place, found)
    if text not in _TESTS and not text.startswith(("-O", "-newer")):
        found.understood = False
        if text.startswith("-"):
            found.dangerous(f"find {text} is not known here", text)
    return 1


def _value(words: tuple[Word, ...], place: int, found: Found) -> int:
    """A value that looks like something dangerous is looked at all the same: finds differ on who takes one."""
    value = words[place + 1 : place + 2]
    if value and value[0].exact and (value[0].text in _RUNS or value[0].text in _WRITES or value[0].text == "-delete"):
        return 1
    if value and value[0].several:
        found.dangerous(f"“{value[0].text}” can become several words, -exec among them", value[0].text)
    return 2


def _run(words: tuple[Word, ...], place: int, found: Found) -> int:
    action = words[place].text
    found.dangerous(f"{action} runs a command for what is found", action)
    end = place + 1
    while end < len(words) and words[end].text not in (";", "+"):
        end += 1
    inner = tuple(_found_name(word) for word in words[place + 1 : end])
    if inner:
        found.runs.append(Run(inner, place + 1, end, folder=action in ("-exec", "-ok")))
    return end - place + 1


def _found_name(word: Word) -> Word:
    """``{}`` is a found name: it begins with the folder that was searched, but can be many."""
    return Word(word.text, exact=False, several=word.text == "{}") if "{}" in word.text else word


def _fd(words: tuple[Word, ...]) -> Found:
    found = Found()
    for place, word in enumerate(words[1:], 1):
        text = word.text
        if text in ("-x", "-X") or (text.startswith("--exec") and "=" not in text):
            found.dangerous(f"{text} runs a command for what is found", text)
            found.runs.append(Run((*words[place + 1 :], ANYTHING), place + 1, len(words)))
            return found
        if text.startswith("--exec") or (text.startswith("-") and not text.startswith("--") and ("x" in text or "X" in text)):
            found.dangerous(f"{text} runs a command for what is found", text)
        if word.dash or word.several:
            found.dangerous(f"“{text}” could be -x, which runs a command", text)
    return found


PROGRAMS: dict[str, Program | Callable[[tuple[Word, ...]], Found]] = {
    **dict.fromkeys(names("find gfind"), _find),
    **dict.fromkeys(names("fd fdfind"), _fd),
    **dict.fromkeys(names("locate plocate mlocate mdfind"), program(operands="nothing")),
}
