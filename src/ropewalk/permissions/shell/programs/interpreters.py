"""Interpreters, build tools and debuggers: they run what they are given. A prefix rule for them must say what they may run."""

from __future__ import annotations

from collections.abc import Callable

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word, names
from ropewalk.permissions.shell.options import Given, Option
from ropewalk.permissions.shell.program import Program, look, program

Look = Callable[[tuple[Word, ...]], Found]


def _interpreter(*text_options: str, modules: tuple[str, ...] = ()) -> Look:
    """``text_options`` run their value. A script's name, a module's name or standard input is what runs otherwise."""

    def looked(words: tuple[Word, ...]) -> Found:
        found = Found()
        name = words[0].text
        for place, word in enumerate(words[1:], 1):
            text = word.text
            if not word.exact:
                found.dangerous(f"what {name} runs can't be told: “{text}”", text)
                return found
            if text in ("--version", "-V", "--help", "-h") and len(words) == 2:
                return Found(understood=True, harmless=True)
            if text in modules:
                found.dangerous(f"{name} {text} runs a module", text)
                _module(words[place + 1 :], found)
                return found
            if any(_is(option, text) for option in text_options):
                found.dangerous(f"{name} {text[:2]} runs the text behind it", text[:2] if not text.startswith("--") else text)
                return found
            if not text.startswith("-") or text == "-":
                found.dangerous(f"{name} runs {text if text != '-' else 'what it reads'}", text)
                found.reads.extend([text] if text != "-" else [])
                return found
        found.dangerous(f"{name} runs what it reads", "-")
        return found

    return looked


def _module(words: tuple[Word, ...], found: Found) -> None:
    """What the module's own options do besides."""
    if words and words[0].text in ("pytest", "py.test"):
        more = look(words, PYTEST)
        if more.danger:
            found.dangerous(more.danger, *more.danger_words)


def _is(option: str, text: str) -> bool:
    """``-e``, ``-e'…'``, ``--eval``, ``--eval=…``"""
    return text.startswith(option) and (len(option) == 2 or text.partition("=")[0] == option)


def _pytest(words: tuple[Word, ...], said: Given, found: Found) -> None:
    for option, value in said.options:
        text = value.text if value is not None else ""
        if option.name == "-p" and not text.startswith("no:"):
            found.dangerous("-p loads a plugin, which is a program", "-p")
        if option.name == "--cov-report" and text.startswith(("html:", "xml:", "json:", "lcov:", "annotate:")):
            found.dangerous("--cov-report writes where it is told", "--cov-report")


PYTEST = program(
    values="-p -k -m -n -r -W --maxfail --tb --durations --ignore --deselect --cov --cov-report --timeout --color",
    danger_values={
        "-c --config-file --rootdir --confcutdir --override-ini -o --cov-config --import-mode": "changes what it loads and runs",
        "--pdbcls": "loads a program",
        "--junitxml --junit-xml --basetemp --log-file --result-log --report-log --html --debug": "writes where it is told",
    },
    also=_pytest,
)
_MAVEN = ("-Dtest", "-DskipTests", "-DskipITs", "-Dit.test", "-Dmaven.test.skip", "-DfailIfNoTests", "-Dstyle.color")


def _maven(words: tuple[Word, ...], said: Given, found: Found) -> None:
    for word in words[1:]:
        if word.text.startswith("-D") and word.text.partition("=")[0] not in _MAVEN:
            found.dangerous(f"“{word.text}” is a property: some change what is run", word.text)


_BUILDER = program(
    danger_values={
        "-f --file --justfile --taskfile -C --directory -P -E --build-file --init-script -I --project-dir": "runs another file"
    },
    danger={"--command --shell --set --choose --edit": "runs what it is told"},
)
_MVN = program(
    flags="-D -q -B -e -o -U -N -V -X -am -amd",
    danger_values={
        "-f --file -s --settings -gs --global-settings -t --toolchains -gt --global-toolchains": "runs by other files",
        "-l --log-file": "writes a file",
        "-P --activate-profiles": "changes what is run",
    },
    also=_maven,
)
_MAKE = program(
    flags="-B -k -n -q -s -S -t -w -b -m -i -L -p -r -R -d -h -v --always-make --keep-going --dry-run --just-print "
    "--recon --question "
    "--silent --quiet --touch --print-directory --no-print-directory --ignore-errors --no-builtin-rules --trace --version "
    "--help",
    values="-o -W -l --old-file --what-if --load-average",
    optional="-j -O --jobs --output-sync",
    danger_values={
        "-f --file --makefile": "runs another makefile",
        "-C --directory": "changes the folder",
        "-I --include-dir": "takes makefiles from another folder",
        "--eval -E": "runs the text behind it",
    },
    danger={"-e --environment-overrides": "lets the environment change what runs"},
    operands="nothing",
    also=lambda words, said, found: _assignments(words, said.operands, found),
)


def _assignments(words: tuple[Word, ...], operands: list[Word], found: Found) -> None:
    found.understood = False
    for word in operands:
        if "=" in word.text:
            found.dangerous(f"“{word.text}” changes what the makefile runs", word.text)


PROGRAMS: dict[str, Program | Look] = {
    **dict.fromkeys(names("python pypy"), _interpreter("-c", modules=("-m",))),
    **dict.fromkeys(names("node nodejs"), _interpreter("-e", "-p", "-r", "--eval", "--print", "--require", "--import",
        "--loader")),
    **dict.fromkeys(names("bun deno"), _interpreter("-e", "-p", "--eval", "--print", "--preload")),
    **dict.fromkeys(names("perl"), _interpreter("-e", "-E", "-i", "-n", "-p", "-M", "-m", "-d")),
    **dict.fromkeys(names("ruby irb"), _interpreter("-e", "-r", "-n", "-p", "-i")),
    **dict.fromkeys(names("php"), _interpreter("-r", "-f", "-B", "-R", "-F", "-E", "-S")),
    **dict.fromkeys(
        names("lua luajit Rscript julia osascript tclsh wish guile ghc runghc swift scala groovy java kotlin elixir"),
        _interpreter("-e", "-E")),
    **dict.fromkeys(names("ts-node tsx racket sbcl clojure ocaml R octave erl jshell"), _interpreter("-e", "-p")),
    **dict.fromkeys(names("make gmake"), _MAKE),
    **dict.fromkeys(names("just task ninja cmake meson bazel scons rake gradle gradlew ant sbt"), _BUILDER),
    **dict.fromkeys(names("pytest py.test"), PYTEST),
    "mvn": Program({**_MVN.options, "-D": Option("-D", "optional")}, _MVN.operands, _maven, True),
    "sqlite3": program(danger_values={"-cmd -init": "runs a command", "-A -append": "writes an archive"},
                       also=lambda words, said, found: _sqlite(words, found)),
    **dict.fromkeys(names("psql mysql mongosh redis-cli mariadb duckdb"), program(
        danger_values={
            "-c --command -f --file -e --execute -o --output -L --log-file --eval -v --set": "runs statements or writes a "
            "file"})),
}  # fmt: skip


def _sqlite(words: tuple[Word, ...], found: Found) -> None:
    """Dot commands (.shell, .output, .import …) and some functions leave the database."""
    for word in words[1:]:
        text = word.text.lower()
        if not word.exact or text.lstrip().startswith(".") or "writefile" in text or "load_extension" in text or "edit(" in text:
            found.dangerous(f"“{word.text[:60]}” could run a command or write a file", word.text)
            return
    found.dangerous("what it changes in the database is not looked into", "sqlite3")
