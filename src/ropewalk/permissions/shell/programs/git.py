"""git: subcommands, and the options before and behind them that run programs, write files or leave the folder."""

from __future__ import annotations

from collections.abc import Callable

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word, names
from ropewalk.permissions.shell.options import Given, given
from ropewalk.permissions.shell.program import Program, look, program

_FRONT = program(
    flags="-P --no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs "
    "--icase-pathspecs --no-optional-locks --no-advice --no-lazy-fetch --html-path --man-path --info-path --version -v "
    "--help -h",
    danger_values={
        "-c --config-env": "changes a setting, and settings can run programs",
        "-C": "changes the folder",
        "--git-dir --work-tree --namespace --super-prefix --attr-source --list-cmds": "works on another repository",
    },
    danger={"--exec-path": "changes where git finds its programs", "-p --paginate": "runs a pager that the settings name"},
).options

_REMOTE = "runs the program that it names, here or at the other end"
_OUTPUT = program(
    writes="--output --output-directory",
    danger={"--ext-diff --textconv": "runs programs that the repository's settings name"},
    operands="unknown",
)
_FETCH = program(danger_values={"--upload-pack --receive-pack --exec": _REMOTE, "-u --config -c --template": _REMOTE})
_SERVERS = program(danger_values={"--upload-pack --receive-pack --exec": _REMOTE})
_EXECUTE = program(danger_values={"-x --exec": "runs a command"}, danger={"-i --interactive --edit-todo": "opens an editor"})
_PLAIN = program()


def _transport(words: tuple[Word, ...], said: Given, found: Found) -> None:
    """``ext::sh -c …`` as an address runs a command."""
    for word in words:
        if "::" in word.text:
            found.dangerous(f"“{word.text}” is an address that can run a command", "ext::")


def _asks(*reading: str) -> Callable[[tuple[Word, ...], Given, Found], None]:
    """Only the named words keep it from changing settings."""

    def also(words: tuple[Word, ...], said: Given, found: Found) -> None:
        rest = [word.text for word in words]
        if not any(text.partition("=")[0] in reading for text in rest):
            found.dangerous("it changes git's settings, and settings can run programs", "config")

    return also


def _runs(why: str) -> Program:
    return program(also=lambda words, said, found: found.dangerous(f"git {_name(words)} {why}", _name(words)))


def _name(words: tuple[Word, ...]) -> str:
    return next((word.text for word in words[1:] if not word.text.startswith("-")), "")


def _second(running: frozenset[str], why: str) -> Program:
    def also(words: tuple[Word, ...], said: Given, found: Found) -> None:
        for word in said.operands[:1]:
            if word.text in running or not word.exact:
                found.dangerous(f"git … {word.text} {why}", word.text)

    return program(also=also)


def _with(base: Program, also: Callable[[tuple[Word, ...], Given, Found], None]) -> Program:
    return Program(base.options, base.operands, also, True)


_STRATEGIES = frozenset(names("ours recursive resolve octopus subtree ort"))


def _strategic(base: Program, values: str = "") -> Program:
    """``-s x`` runs ``git-merge-x``, unless x is git's own."""

    def also(words: tuple[Word, ...], said: Given, found: Found) -> None:
        if base.also is not None:
            base.also(words, said, found)
        for option, value in said.options:
            if option.name in ("-s", "--strategy") and (value is None or value.text not in _STRATEGIES):
                found.dangerous("it runs the merge strategy that it names, a program", "--strategy")

    return Program({**base.options, **program(values=f"-s --strategy {values}").options}, base.operands, also, base.risky)


_SUBCOMMANDS: dict[str, Program] = {
    **dict.fromkeys(
        names(
            "status add rm mv restore reset checkout switch branch tag commit merge cherry-pick revert rev-parse rev-list "
            "ls-files "
            "ls-tree cat-file describe name-rev merge-base symbolic-ref for-each-ref show-ref update-index check-ignore "
            "check-attr check-ref-format clean gc prune fsck count-objects verify-commit verify-tag var version help "
            "shortlog reflog "
            "show-branch write-tree read-tree commit-tree hash-object mktree mktag update-ref pack-refs pack-objects repack "
            "apply am init worktree sparse-checkout notes replace range-diff diff-tree diff-index diff-files stash cherry "
            "patch-id interpret-trailers stripspace column whatchanged blame annotate bugreport show-index verify-pack rerere"
        ),
        _PLAIN,
    ),
    **dict.fromkeys(names("diff log show diff-tree diff-index diff-files whatchanged stash reflog range-diff blame"), _OUTPUT),
    "format-patch": _with(program(writes="-o --output --output-directory"), _transport),
    "archive": program(writes="-o --output", danger_values={"--remote --exec": _REMOTE}),
    "cat-file": program(danger={"--textconv --filters": "runs programs that the repository's settings name"}),
    "grep": program(danger={"-O --open-files-in-pager --ext-grep --textconv": "runs a program"}),
    **dict.fromkeys(names("clone"), _with(_FETCH, _transport)),
    "pull": _strategic(_with(_SERVERS, _transport)),
    **dict.fromkeys(names("fetch push ls-remote fetch-pack send-pack"), _with(_SERVERS, _transport)),
    "remote": _with(_SERVERS, _transport),
    "init": program(danger_values={"--template --separate-git-dir": "brings hooks, which run"}),
    "rebase": _strategic(_EXECUTE),
    "merge": _strategic(_PLAIN, "-m -F --message --file --into-name --cleanup"),
    "help": program(danger={"-w --web -i --info": "opens a program that the settings name"}),
    "commit": program(danger_values={"--template -t": "reads a file"}, values="-m -F -C -c --message --file --author --date"),
    **dict.fromkeys(
        names("apply am"),
        program(danger={"--unsafe-paths": "writes outside of the repository"}, danger_values={"--directory": "writes elsewhere"}),
    ),
    "worktree": _second(frozenset({"add", "move", "remove"}), "makes or removes folders elsewhere"),
    "interpret-trailers": program(danger={"--in-place": "changes the files themselves"}),
    "read-tree": program(writes="--index-output"),
    "bugreport": program(writes="-o --output-directory"),
    "pack-objects": _runs("writes files where it is told"),
    "config": program(
        also=_asks("--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list", "--get-urlmatch", "--get-color")
    ),
    "submodule": _second(frozenset({"foreach", "update", "add", "init"}), "fetches or runs what it is told"),
    "bisect": _second(frozenset({"run", "view", "visualize"}), "runs a command"),
    "bundle": _second(frozenset({"create"}), "writes a file"),
    "hook": _second(frozenset({"run"}), "runs a hook"),
    "credential": _runs("shows or stores passwords"),
    **dict.fromkeys(
        names(
            "filter-branch difftool mergetool instaweb daemon send-email fast-import fast-export maintenance for-each-repo "
            "web--browse "
            "credential-store credential-cache shell upload-pack receive-pack upload-archive http-backend cvsserver p4 svn "
            "gui citool "
            "gitk imap-send request-pull remote-ext remote-fd checkout-index unpack-file mergetool--lib rebase--interactive "
            "scalar lfs"
        ),
        _runs("runs other programs or writes where it is told"),
    ),
}


def _git(words: tuple[Word, ...]) -> Found:
    said = given(words, _FRONT, leading=True)
    found = Found()
    for option, _ in said.options:
        if option.why:
            found.dangerous(f"git {option.name} {option.why}", option.name)
    if said.unknown:
        found.dangerous(f"git {said.unknown[0]} is not known here", said.unknown[0])
    if said.open:
        found.dangerous(f"“{said.open[0].text}” could be an option that runs something", said.open[0].text)
    if said.first >= len(words):
        found.understood = found.harmless = not found.danger
        return found
    return _subcommand(words, said.first, found)


def _subcommand(words: tuple[Word, ...], place: int, found: Found) -> Found:
    name = words[place]
    described = _SUBCOMMANDS.get(name.text) if name.exact else None
    if described is None:
        found.dangerous(f"“git {name.text}” is not a command of git's own: an alias can run anything", name.text)
        return found
    behind = look(words, described, place + 1)
    if behind.danger:
        found.dangerous(behind.danger, *behind.danger_words)
    found.reads, found.writes = behind.reads, behind.writes
    found.doubtful(behind.doubt)
    return found


PROGRAMS: dict[str, Program | Callable[[tuple[Word, ...]], Found]] = {"git": _git}
