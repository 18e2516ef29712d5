"""What is to be judged and what comes of it: request, context, verdict. Refuses to judge: these are only the shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

Behavior = Literal["deny", "ask", "allow"]
STRICTEST_FIRST: tuple[Behavior, ...] = ("deny", "ask", "allow")
STRICT: tuple[Behavior, ...] = ("deny", "ask")
RANK: Mapping[Behavior, int] = {behavior: rank for rank, behavior in enumerate(STRICTEST_FIRST)}


class Request(Struct, frozen=True):
    """One use of one tool, as the CLI asks for it. ``cwd`` is the session's folder, an absolute name."""

    tool: str
    input: Mapping[str, Any]
    cwd: str
    interaction: bool = False
    """The CLI says that only a person may answer (``requires_user_interaction``), or it is a dialog."""


class Context(Struct, frozen=True):
    """What the machine says about the names in a request. Made by the runner from `policy.needs`; nothing here is looked up."""

    root: str = ""
    """The project's root, where ``/x`` of a rule begins; empty: the session's folder."""
    home: str = ""
    resolved: Mapping[str, str | None] | None = None
    """Name as given, made absolute → its real name; None: could not be resolved, and so can't be allowed.

    Without any mapping the names are taken as they stand: for trying rules by hand, never for what will run.
    """
    folders: tuple[str, ...] = ()
    """Folders added to the session besides its own."""
    session: str = ""
    """Which session asks: rules of other sessions do not count."""


class Needs(Struct, frozen=True):
    """Names that must be resolved before `decide`: absolute, and not normalised, since ``link/..`` is not where it seems."""

    paths: tuple[str, ...] = ()


class PartVerdict(Struct, frozen=True, gc=False):
    """One simple command, redirect, assignment … of a command, or the one file or host that another tool is about."""

    text: str
    behavior: Behavior
    because: str
    kind: str = ""
    rule: str | None = None
    """The id of the rule that decided, where one did."""
    tags: tuple[str, ...] = ()


class Verdict(Struct, frozen=True, gc=False):
    """The strictest of its parts, and why in words."""

    behavior: Behavior
    because: str
    parts: tuple[PartVerdict, ...] = ()
    rule: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """Every rule that had a say, once each: what to count hits and uses of."""
        return tuple(dict.fromkeys(part.rule for part in self.parts if part.rule))


def strictest(behaviors: Iterable[Behavior]) -> Behavior:
    """Deny beats ask beats allow; nothing at all is asked."""
    return min(behaviors, key=RANK.__getitem__, default="ask")
