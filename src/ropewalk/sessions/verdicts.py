"""Verdicts as the audit keeps them, and as events tell them. Pure; refuses one without a reason."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ..events import events as e
from ..events import views as v
from ..permissions.request import Context, PartVerdict, Request, Verdict
from ..store.rows import VerdictRow
from .asked import line_of
from .clean import harmless

if TYPE_CHECKING:
    from .session import Session


class Subject(Struct, frozen=True):
    """One request with what the machine says about it: what a verdict is given on."""

    request: Request
    context: Context


class KeptContext(Struct, omit_defaults=True):
    """A context as a row keeps it."""

    root: str = ""
    home: str = ""
    resolved: dict[str, str | None] = {}
    folders: tuple[str, ...] = ()
    session: str = ""
    interaction: bool = False


def hash_of(tool: str, given: Mapping[str, Any] | msgspec.Raw) -> str:
    """Of what is shown of a request: tool and whole input; its own bytes, where numbers or depths are beyond our reader."""
    try:
        whole = msgspec.json.decode(given) if isinstance(given, msgspec.Raw) else given
        told = msgspec.json.encode([tool, whole], order="sorted")
    except (msgspec.MsgspecError, RecursionError, UnicodeError, OverflowError, TypeError):
        told = repr((tool, bytes(given) if isinstance(given, msgspec.Raw) else given)).encode("utf-8", "backslashreplace")
    return hashlib.sha256(told).hexdigest()[:32]


def part_view(part: PartVerdict) -> v.Part:
    return v.Part(text=part.text, kind=part.kind, verdict=part.behavior, because=part.because, tags=list(part.tags))


def kept_parts(verdict: Verdict | None) -> bytes:
    return msgspec.json.encode([part_view(part) for part in verdict.parts]) if verdict else b"[]"


def kept_context(subject: Subject | None) -> bytes:
    if subject is None:
        return b"{}"
    context = subject.context
    return msgspec.json.encode(
        KeptContext(
            root=context.root, home=context.home, resolved=dict(context.resolved or {}), folders=context.folders,
            session=context.session, interaction=subject.request.interaction,
        )
    )  # fmt: skip


def verdict_row(
    session: Session, subject: Subject, verdict: Verdict, now: float, *, tool_use: str | None = None,
    ran: Mapping[str, Any] | None = None, kind: str = "", question: str | None = None,
) -> VerdictRow:  # fmt: skip
    """Given by a rule, or (``kind``) by a mode or a policy."""
    request = subject.request
    given = harmless(request.input)
    return VerdictRow(
        id=session.world.new_id(), session=session.id, question=question, tool=harmless(request.tool),
        what=line_of(request.tool, request.input, request.cwd), behavior=verdict.behavior,
        because_kind=kind or session.world.rules.kind_of(verdict.rule), because_id=verdict.rule or "", because=verdict.because,
        input=msgspec.json.encode(given), ran=msgspec.json.encode(harmless(ran)) if ran is not None else None, at=now,
        tool_use=tool_use, cwd=request.cwd, rules=list(verdict.rules), parts=kept_parts(verdict), context=kept_context(subject),
        hash=hash_of(request.tool, given), turn=session.known.turn,
    )  # fmt: skip


def told(row: VerdictRow) -> e.VerdictGiven:
    return e.VerdictGiven(
        verdict=row.id, tool_use=row.tool_use, tool=row.tool, behavior=row.behavior, because=row.because,  # type: ignore[arg-type]
        because_kind=row.because_kind, rules=list(row.rules),
    )  # fmt: skip
