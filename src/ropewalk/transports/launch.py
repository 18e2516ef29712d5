"""How one CLI is to be started, and where the ``claude`` to run is found. Refuses to start anything."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ropewalk.errors import CliNotFound, FolderMissing, UsageError
from ropewalk.transports.environment import MARKER, refuse_impossible

CLI_VARIABLE = "ROPEWALK_CLI"
SCRIPTS = (".js", ".mjs", ".cjs")
"""Up to 2.1.120 the CLI is a ``cli.js`` for node; later ones are programs of their own (measured 2.1.37, 2.1.62, 2.1.326)."""

DROP_IN_SIGNS = (b"ropewalk claude", b"from ropewalk.cli")
"""How a ``claude`` on the PATH that is our own drop-in begins. Running it would call ourselves without end."""


def new_marker() -> str:
    """An id that no other process on this machine carries."""
    return os.urandom(12).hex()


@dataclass(frozen=True, slots=True)
class Launch:
    """One CLI to be. ``program`` comes from ``find_cli``, ``env`` from ``environment_for``; ``env`` is the whole environment."""

    program: tuple[str, ...]
    args: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(repr=False)
    marker: str = field(default_factory=new_marker)

    @property
    def argv(self) -> list[str]:
        return [*self.program, *self.args]

    @property
    def environment(self) -> dict[str, str]:
        """``env``, and the marker by which the CLI's descendants are found."""
        return {**self.env, MARKER: self.marker}

    def check(self) -> None:
        """Raise ``UsageError`` for what can't be meant: an empty program, a line break or NUL in a word, a missing folder."""
        if not self.program:
            raise UsageError("there is no program to run: name one, or let find_cli look for it")
        for word in self.argv:
            if "\0" in word or "\n" in word:
                raise UsageError(f"an argument holds a line break or a NUL: {word[:60]!r}; long texts go to the CLI as lines")
        refuse_impossible(self.env)
        if not os.path.isdir(self.cwd):
            raise FolderMissing(self.cwd)


def find_cli(named: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The words that run the CLI: ``named``, else ``ROPEWALK_CLI``, else the first ``claude`` on the PATH that is not our own.

    A ``.js`` file is run with node. Raises ``CliNotFound``; a name that was given is never replaced by another CLI.
    """
    if named is not None:
        return _runnable(os.fspath(named), "the option cli=", environ)
    if from_variable := environ.get(CLI_VARIABLE):
        return _runnable(from_variable, f"the variable {CLI_VARIABLE}", environ)
    for candidate in _on_path("claude", environ):
        if not is_drop_in(candidate):
            return (candidate,)
    raise CliNotFound("claude is not on the PATH")


def is_drop_in(path: str) -> bool:
    """Whether this ``claude`` is ropewalk itself, standing in for the CLI."""
    if os.path.basename(os.path.realpath(path)).startswith("ropewalk"):
        return True
    try:
        with open(path, "rb") as file:
            beginning = file.read(4096)
    except OSError:
        return False
    return any(sign in beginning for sign in DROP_IN_SIGNS)


def _runnable(name: str, said_by: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    if os.sep not in name and not name.startswith("~"):
        for candidate in _on_path(name, environ):
            return (candidate,)
    path = os.path.abspath(os.path.expanduser(name))
    if not os.path.isfile(path):
        raise CliNotFound(f"{said_by} names {name}, which does not exist")
    if path.endswith(SCRIPTS):
        return (_node(path, environ), path)
    if not os.access(path, os.X_OK):
        raise CliNotFound(f"{said_by} names {name}, which is not executable")
    return (path,)


def _node(script: str, environ: Mapping[str, str]) -> str:
    for node in _on_path("node", environ):
        return node
    raise CliNotFound(f"node is not on the PATH, and {script} needs it")


def _on_path(name: str, environ: Mapping[str, str]) -> Iterator[str]:
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.abspath(os.path.join(folder or os.curdir, name))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            yield path
