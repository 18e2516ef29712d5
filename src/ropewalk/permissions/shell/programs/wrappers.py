"""Programs that run another: what they run is found and becomes a part of its own. What they add to it is said."""

from __future__ import annotations

from collections.abc import Callable

from ropewalk.permissions.shell.found import ANYTHING, Found, Run
from ropewalk.permissions.shell.model import Word
from ropewalk.permissions.shell.options import Given, Option, given
from ropewalk.permissions.shell.program import Program, program
from ropewalk.permissions.shell.programs.shells import other_for

Look = Callable[[tuple[Word, ...]], Found]


def _options(flags: str = "", values: str = "", optional: str = "", danger: dict[str, str] | None = None) -> dict[str, Option]:
    return program(flags=flags, values=values, optional=optional, danger_values=danger).options


def _leading(words: tuple[Word, ...], options: dict[str, Option]) -> tuple[Given, Found]:
    """The wrapper's own options, up to the first word that is none of them."""
    said = given(words, options, leading=True)
    found = Found(wrapper=True, understood=True)
    if said.unknown:
        found.doubtful(f"{words[0].text} {said.unknown[0]} is not known here")
    if said.open:
        found.doubtful(f"what {words[0].text} runs can't be told: “{said.open[0].text}”")
    for option, _ in said.options:
        if option.why:
            found.doubtful(f"{option.name} {option.why}")
    return said, found


def _inner(words: tuple[Word, ...], first: int, found: Found, *, more: tuple[Word, ...] = (), folder: bool = True) -> Found:
    if first < len(words):
        found.runs.append(Run((*words[first:], *more), first, len(words), folder))
    return found


def _wrapper(operands: int = 0, *, flags: str = "", values: str = "") -> Look:
    """``operands``: how many words of its own stand before the command (``timeout 5 …``)."""
    options = _options(flags, values)

    def wrapped(words: tuple[Word, ...]) -> Found:
        said, found = _leading(words, options)
        own = words[said.first : said.first + operands]
        if any(not word.exact for word in own):
            found.doubtful(f"what {words[0].text} runs can't be told: “{own[-1].text}”")
        return _inner(words, said.first + operands, found)

    return wrapped


_ENV = _options(
    "-i -0 -v --ignore-environment --null --debug",
    "-u --unset",
    danger={"-S --split-string": "splits its text into words of its own", "-C --chdir": "changes the folder", "-P": "changes "
    "where programs are found"},
)  # fmt: skip


def _env(words: tuple[Word, ...]) -> Found:
    said, found = _leading(words, _ENV)
    first = said.first
    assigned: list[tuple[str, Word]] = []
    while first < len(words) and "=" in words[first].text:
        name, _, value = words[first].text.partition("=")
        if words[first].several or words[first].dash:
            found.doubtful(f"what env sets can't be told: “{words[first].text}”")
        assigned.append((name, Word(value, words[first].exact)))
        first += 1
    unset = next((value.text for option, value in said.options if option.role == "value" and value), "")
    if unset:
        found.doubtful(f"without {unset} programs may do something else")
    found.runs.append(Run(tuple(words[first:]), first, len(words), assigned=tuple(assigned)))
    if first >= len(words) and not assigned:
        found.reads.append("/proc/self/environ")
        found.wrapper = False
    return found


_XARGS = _options(
    "-0 -r -t -x -p -o --null --no-run-if-empty --verbose --exit --interactive --open-tty --show-limits",
    "-n -P -L -s -d -E -J -R -S --max-args --max-procs --max-lines --max-chars --delimiter --process-slot-var",
    "-e -i -l --eof --replace",
    {"-a --arg-file": "reads its words from a file"},
)
_XARGS["-I"] = Option("-I", "value")


def _xargs(words: tuple[Word, ...]) -> Found:
    """What it runs gets words that nobody knows yet; with ``-I`` they stand where the mark does."""
    said, found = _leading(words, _XARGS)
    mark = next((value.text for option, value in said.options if option.name == "-I" and value), "")
    if any(option.role == "optional" and option.name in ("-i", "--replace") for option, _ in said.options):
        mark = "{}"
    rest = words[said.first :]
    if not rest:
        found.harmless = True
        return found
    if not mark:
        return _inner(words, said.first, found, more=(ANYTHING,))
    inner = tuple(_marked(word, mark) for word in rest)
    found.runs.append(Run(inner, said.first, len(words)))
    return found


def _marked(word: Word, mark: str) -> Word:
    if mark not in word.text:
        return word
    return Word(word.text.replace(mark, ANYTHING.text), False, False, word.text.startswith((mark, "-")))


def _command(words: tuple[Word, ...]) -> Found:
    """``command -v x`` only asks; ``command x`` runs x."""
    if len(words) > 1 and words[1].text in ("-v", "-V") and words[1].exact:
        return Found(harmless=True, understood=True)
    first = 2 if len(words) > 1 and words[1].text in ("-p", "--") else 1
    found = Found(wrapper=True, understood=True)
    if first < len(words) and words[first].text.startswith("-"):
        found.doubtful(f"{words[0].text} {words[first].text} is not known here")
    return _inner(words, first, found)


def _exec(words: tuple[Word, ...]) -> Found:
    found = Found(wrapper=True, understood=True)
    if len(words) == 1:
        found.doubtful("exec changes where the output of everything after it goes")
    elif words[1].text.startswith("-"):
        found.doubtful(f"exec {words[1].text} is not known here")
    return _inner(words, 1, found)


_SUDO = _options(
    "-n -E -H -k -K -b -S -A -P -B --non-interactive --preserve-env --set-home --reset-timestamp --background --stdin",
    "-u -g -p -C -h -T -U -r -t --user --group --prompt --host",
    danger={"-D --chdir": "changes the folder", "-R --chroot": "changes the root"},
)


def _sudo(words: tuple[Word, ...]) -> Found:
    said, found = _leading(words, _SUDO)
    found.wrapper = False
    found.dangerous(f"{words[0].text} runs it as another user", words[0].text)
    first = said.first
    while first < len(words) and "=" in words[first].text:
        found.doubtful("variables are set for another user's program")
        first += 1
    if first >= len(words):
        found.doubtful(f"what {words[0].text} runs can't be told")
    return _inner(words, first, found)


_WATCH = _options(
    "-b -c -d -e -g -p -t -w -x -C --beep --color --differences --errexit --chgexit --precise --no-title --no-wrap --exec",
    "-n -q --interval",
)


def _watch(words: tuple[Word, ...]) -> Found:
    """It gives its words to a shell, joined by blanks, unless -x is there."""
    said, found = _leading(words, _WATCH)
    if any(option.name in ("-x", "--exec") for option, _ in said.options):
        return _inner(words, said.first, found)
    rest = words[said.first :]
    if not all(word.exact for word in rest):
        found.doubtful("watch gives its words to a shell, and one of them is not known")
    script = " ".join(word.text for word in rest)
    if otherwise := other_for("sh", script):
        found.doubtful(f"watch gives its words to sh, which need not be bash, and reads “{otherwise}” otherwise")
    found.scripts.append(script)
    return found


def _unknown(words: tuple[Word, ...]) -> Found:
    """Its words are read as a command all the same, for rules that deny."""
    first = next((place for place, word in enumerate(words[1:], 1) if not word.text.startswith("-")), len(words))
    text = " ".join(word.text for word in words[first:])
    return Found(doubt=f"what {words[0].text} runs is not looked into", scripts=[text] if text else [])


PROGRAMS: dict[str, Program | Look] = {
    "timeout": _wrapper(1, flags="--foreground --preserve-status -v --verbose -p -f", values="-k --kill-after -s --signal"),
    "gtimeout": _wrapper(1, flags="--foreground --preserve-status -v --verbose", values="-k --kill-after -s --signal"),
    "nice": _wrapper(values="-n --adjustment"),
    "nohup": _wrapper(),
    "setsid": _wrapper(flags="-c -f -w --ctty --fork --wait"),
    "stdbuf": _wrapper(values="-i -o -e --input --output --error"),
    "unbuffer": _wrapper(),
    "ionice": _wrapper(flags="-t --ignore", values="-c -n --class --classdata"),
    "chrt": _wrapper(1, flags="-b -f -i -o -r --batch --fifo --idle --other --rr"),
    "taskset": _wrapper(1, flags="-c --cpu-list"),
    "caffeinate": _wrapper(flags="-d -i -m -s -u", values="-t -w"),
    "time": _wrapper(flags="-p -v -l --portability --verbose", values="-f --format"),
    "gtime": _wrapper(flags="-p -v --portability --verbose", values="-f --format"),
    "env": _env,
    "xargs": _xargs,
    "gxargs": _xargs,
    "command": _command,
    "builtin": _command,
    "exec": _exec,
    **dict.fromkeys(("sudo", "doas", "pkexec"), _sudo),
    "watch": _watch,
    **dict.fromkeys(("parallel", "su", "runuser", "chroot", "unshare", "nsenter", "strace", "ltrace", "gdb", "lldb",
        "script"), _unknown),
    **dict.fromkeys(("flock", "entr", "at", "batch", "crontab", "systemd-run", "setarch", "fakeroot", "expect", "tmux",
        "screen"), _unknown),
    **dict.fromkeys(("start-stop-daemon", "run-parts", "bwrap", "firejail", "setpriv", "capsh", "dbus-run-session",
        "xvfb-run"), _unknown),
}  # fmt: skip
