"""Policies that change what a tool gets, before it runs. Pure: input in, input out; whoever calls keeps both versions.

Rules judge what was asked: a sandbox only takes away from it, and an absolute name is the same file.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..errors import UsageError
from .paths import joined, normal
from .request import Request
from .tools import READS, WRITES

Change = Callable[[Request], dict[str, Any]]
"""A policy: the input that shall run instead; the same where it has nothing to say."""


class Changed(Struct, frozen=True):
    """Both versions, for the audit."""

    asked: Request
    run: Request

    @property
    def is_changed(self) -> bool:
        return dict(self.asked.input) != dict(self.run.input)


def changed(request: Request, policies: Iterable[Change]) -> Changed:
    """The request after all policies, in their order."""
    run = request
    for policy in policies:
        run = replace(run, input=policy(run))
    return Changed(request, run)


def sandboxed(wrapper: tuple[str, ...]) -> Change:
    """Every command runs inside this one: ``wrapper`` is a program with its options, to which ``bash -c COMMAND`` is added."""
    if not wrapper or not all(isinstance(word, str) and word and "\0" not in word for word in wrapper):
        raise UsageError('a sandbox is a program with its options, e.g. ["bwrap", "--ro-bind", "/", "/"]')
    start = shlex.join(wrapper)

    def wrapped(request: Request) -> dict[str, Any]:
        given, command = dict(request.input), request.input.get("command")
        # Always, also around what looks wrapped: the model could write the wrapper's own words in front of something else.
        if request.tool == "Bash" and isinstance(command, str):
            given["command"] = f"{start} bash -c {shlex.quote(command)}"
        return given

    return wrapped


def absolute_paths(home: str = "") -> Change:
    """File tools get absolute names; of searches also the folder that they mean when they name none."""

    def made_absolute(request: Request) -> dict[str, Any]:
        given, key = dict(request.input), READS.get(request.tool) or WRITES.get(request.tool)
        if key is None:
            return given
        path = given.get(key)
        if isinstance(path, str) and path and not path.startswith("/"):
            whole = joined(path, request.cwd, home)
            given[key] = whole if "/.." in whole else normal(whole)
        elif path is None and key == "path":
            given[key] = normal(request.cwd)
        return given

    return made_absolute
