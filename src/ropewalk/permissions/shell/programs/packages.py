"""Package managers: which of their commands run a project's scripts, fetch programs, or only look."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word, names
from ropewalk.permissions.shell.options import given
from ropewalk.permissions.shell.program import Program, look, program

Look = Callable[[tuple[Word, ...]], Found]

_NODE_OPTIONS = {
    "-C --prefix --dir --cwd --workspace-root --global-folder": "changes the folder",
    "--script-shell --node-options --userconfig --globalconfig --registry --git --shell --editor --viewer "
    "--browser --node-gyp --init-module": "changes what runs, or whence it comes",
    "--use-yarnrc --modules-folder --cache-folder --cache": "changes what runs, or whence it comes",
}
_FETCHES = "fetches a program and runs it"
_SETTINGS = "changes settings, and settings can run programs"


def _manager(subcommands: Mapping[str, str], options: Program, *, unknown: str = "") -> Look:
    """``subcommands``: what the dangerous ones do. ``unknown``: what a word that is no subcommand does."""

    def looked(words: tuple[Word, ...]) -> Found:
        found = look(words, options)
        said = given(words, options.options)
        if not said.operands:
            return found
        first = said.operands[0]
        if not first.exact:
            found.dangerous(f"what “{first.text}” is can't be told", first.text)
        why = subcommands.get(first.text, unknown)
        if why:
            found.dangerous(f"{words[0].text} {first.text} {why}", first.text)
        found.understood = False
        return found

    return looked


_NODE = program(danger_values=_NODE_OPTIONS, danger={"-g --global --location": "works for the whole machine"})
_NODE_COMMANDS = {
    "exec": _FETCHES, "x": _FETCHES, "dlx": _FETCHES, "create": _FETCHES, "init": _FETCHES, "config": _SETTINGS,
        "set": _SETTINGS, "c": _SETTINGS,
    "pkg": "changes package.json, which says what runs", "publish": "publishes", "unpublish": "publishes",
    "login": "logs in", "adduser": "logs in", "token": "makes tokens",
        "explore": "runs a command",
    "edit": "opens an editor", "link": "links folders", "plugin": _FETCHES, "import": "changes settings", "node": "runs a "
    "script",
}  # fmt: skip


def _npx(words: tuple[Word, ...]) -> Found:
    """It runs a program of the project, or fetches it. A rule must name that program."""
    said = given(words, _NPX.options, leading=True)
    found = Found()
    for option, _ in said.options:
        if option.why:
            found.dangerous(f"{option.name} {option.why}", option.name)
    if said.first < len(words):
        name = words[said.first]
        found.dangerous(f"{words[0].text} runs {name.text}, and fetches it if it is not there", name.text)
    if said.unknown or said.open:
        found.doubtful(f"what {words[0].text} runs can't be told")
    return found


_NPX = program(
    flags="-y -q --yes --no --no-install --quiet --bun",
    danger_values={"-p --package": _FETCHES, "-c --call": "runs the text behind it"},
)

_INSTALLS = "installs what runs code of its own"
_PIP = program(
    danger_values={
        "-t --target --prefix --root -d --dest --log --report --src --cache-dir": "writes elsewhere",
        "-i --index-url --extra-index-url -f --find-links --trusted-host --proxy --config-settings -C --global-option "
        "--python": "changes what runs, or whence it comes",
    }
)
_CARGO = program(
    danger_values={
        "--config -Z": "changes settings, and settings can run programs",
        "-C --manifest-path --target-dir --out-dir --artifact-dir --root --lockfile-path": "works on another folder",
    }
)
_GO = program(
    danger_values={
        "-exec -toolexec -vettool -overlay -ldflags -gcflags -asmflags -gccgoflags -modfile -C": "runs a program, or changes "
        "what is built",
        "-o -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir -pkgdir": "writes a file",
    }
)
_GO = Program({**_GO.options, **{"-" + name: option for name, option in _GO.options.items()}}, _GO.operands, _GO.also, True)
_SYSTEM = program(danger_values={"-o --option -c --config-file": "changes settings, and settings can run programs"})
_SYSTEM_COMMANDS = dict.fromkeys(
    names("install remove purge upgrade dist-upgrade full-upgrade autoremove add del tap untap link unlink update"), _INSTALLS
)

PROGRAMS: dict[str, Program | Look] = {
    **dict.fromkeys(names("npm yarn pnpm"), _manager(_NODE_COMMANDS, _NODE)),
    "nix-shell": program(danger_values={"--run --command": "runs the text behind it", "-p -E -I": _FETCHES}),
    **dict.fromkeys(names("npx pnpx bunx uvx pipx"), _npx),
    **dict.fromkeys(names("pip"), _manager({"install": _INSTALLS, "download": _INSTALLS, "wheel": _INSTALLS,
        "config": _SETTINGS,
                                      "uninstall": "removes packages"}, _PIP)),
    **dict.fromkeys(names("uv poetry pipenv conda mamba hatch pdm rye"), _manager(
        {"run": "runs a program", "tool": _FETCHES, "pip": _INSTALLS, "config": _SETTINGS, "self": _INSTALLS,
            "publish": "publishes",
         "shell": "opens a shell", "install": _INSTALLS, "add": _INSTALLS, "python": _INSTALLS}, _PIP)),
    "cargo": _manager({"install": _INSTALLS, "login": "logs in", "publish": "publishes", "yank": "publishes",
        "owner": "publishes",
                       "vendor": "writes files"}, _CARGO),
    "go": _manager({"install": _INSTALLS, "get": _INSTALLS, "generate": "runs what the files say", "env": _SETTINGS,
        "tool": "runs a program"}, _GO),
    **dict.fromkeys(names("gem bundle composer mix cabal stack opam luarocks nuget dotnet"), _manager(
        {"exec": "runs a program", "install": _INSTALLS, "config": _SETTINGS, "global": _INSTALLS, "publish": "publishes",
            "push": "publishes",
         "open": "opens an editor", "console": "opens a shell"}, program())),
    **dict.fromkeys(names("apt apt-get aptitude dpkg yum dnf rpm pacman zypper apk brew port snap flatpak nix nix-env winget"),
                    _manager(_SYSTEM_COMMANDS, _SYSTEM)),
}  # fmt: skip
