"""Rows and events as lines of the audit. Pure; refuses a line without a reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from ..events import commands as c
from ..events import views as v
from ..permissions.paths import inside, name_of
from ..permissions.request import PartVerdict, Verdict
from ..permissions.tags import OUTSIDE, tagged
from ..permissions.tools import family_of, files_named
from ..sessions.asked import VERBS
from ..sessions.tools import EDITS, tool_label
from ..store.base import StoredEvent
from ..store.rows import RuleRow, VerdictRow
from .past import past

ITSELF = "Claude Code itself"
RULED = frozenset({"rule", "grant", "built_in"})
"""Kinds that rest on a rule."""
NOT_RUN = (
    "Permission to use ", "The user doesn't want to ", "Tool permission request failed", "<tool_use_error>",
    "Claude requested permissions to ",
)  # fmt: skip
"""How the result of a call begins that did not run; older CLIs say it in no other way (measured 2.1.37 … 2.1.326)."""
BY_REASON: Mapping[str, str] = {
    "rule": "a rule of its own settings or flags",
    "mode": "its permission mode",
    "hook": "a hook of its settings",
    "subcommandResults": "each part of the command is harmless to it, or allowed by its settings",
    "classifier": "its own safety check",
    "workingDir": "it stays in the session's folder",
    "other": "its settings, hooks or mode",
}
BY_SOURCE: Mapping[str, str] = {
    "user_temporary": "an answer that somebody gave it for this session",
    "user_permanent": "an answer that somebody gave it for good, in its own settings",
    "user_reject": "somebody's refusal",
}


class Finished(Struct):
    """What of a finished call tells who decided."""

    tool_use: str
    tool: str = ""
    failed: bool = False
    title: str = ""
    summary: str = ""
    output: str = ""
    by: str | None = None
    why: str = ""


_finished = msgspec.json.Decoder(Finished)
_parts = msgspec.json.Decoder(list[v.Part])


def finished(event: StoredEvent) -> Finished:
    return _finished.decode(event.body)


# -- a verdict that is kept


def row_view(row: VerdictRow, rule: RuleRow | None, title: str, delivered: bool | None) -> v.VerdictView:
    """``rule``: the one that decided; who made it, and where, answers for it."""
    return v.VerdictView(
        id=row.id, at=row.at, session=row.session, session_title=title, tool=row.tool, tool_use=row.tool_use, what=row.what,
        behavior=row.behavior, because_kind=row.because_kind, because_id=row.because_id, because=row.because,  # type: ignore[arg-type]
        by=row.by or (rule.by if rule else ""), door=row.door or (rule.door if rule else ""), question=row.question,
        rules=list(row.rules), parts=_parts.decode(row.parts), message=row.message, input=Raw(row.input),
        ran=Raw(row.ran) if row.ran is not None else None, hash=row.hash, cwd=row.cwd, turn=row.turn, delivered=delivered,
    )  # fmt: skip


def is_wildcard(text: str) -> bool:
    """A rule that allows or denies more than the one thing it spells out."""
    return "*" in text


def is_outside(row: VerdictRow) -> bool:
    """It names, or writes, a file outside of the session's folder and of those that were added to it."""
    if not row.cwd:
        return False
    request, context = (kept := past(row)).request, kept.context
    if request.tool == "Bash":
        parts = tuple(
            PartVerdict(one.text, "ask", one.because, one.kind, tags=tuple(one.tags)) for one in _parts.decode(row.parts)
        )
        return OUTSIDE in tagged(request, Verdict("ask", "", parts), context).tags
    named = files_named(request.tool, request.input) if family_of(request.tool) else None
    return any(not inside(name_of(path, request.cwd, context), request.cwd, context) for path in named or ())


# -- what the CLI decided by itself


def cli_id(event: StoredEvent) -> str:
    return f"{event.session}.{event.seq}"


def cli_view(event: StoredEvent, call: Finished, title: str, unanswered: str = "") -> v.VerdictView:
    """``unanswered``: how the question about it ended, where nobody's answer did it."""
    denied = bool(unanswered) or was_refused(call)
    because = f"nobody answered: {unanswered}" if unanswered else words_of(call, denied)
    return v.VerdictView(
        id=cli_id(event), at=event.at, session=event.session, session_title=title, tool=call.tool, tool_use=call.tool_use,
        what=what_of(call.tool, call.title), behavior="deny" if denied else "allow", because_kind="cli", because=because,
        seq=event.seq,
    )  # fmt: skip


def was_refused(call: Finished) -> bool:
    return call.failed and (call.summary == "refused" or call.output.startswith(NOT_RUN))


def words_of(call: Finished, denied: bool) -> str:
    if denied and call.output.startswith("<tool_use_error>"):
        return f"{ITSELF}: it could not take the call as it was made"
    reason = BY_SOURCE.get(call.by or "") or BY_REASON.get(call.why) or call.why
    if not reason:
        reason = "its settings, hooks or mode; it does not say which"
    return f"{ITSELF}: {reason}"


def what_of(tool: str, title: str) -> str:
    """As a question about it would be called."""
    label = tool_label(tool) or "a tool without a name"
    verb = VERBS.get(tool) or ("Write" if tool == "Write" else "Change" if tool in EDITS else f"Use {label}")
    return f"{verb}: {title}" if title and title != label else verb


def cli_matches(view: v.VerdictView, asked: c.AuditFilter) -> bool:
    if asked.because not in (None, "cli") or asked.who or asked.door or asked.wildcard or asked.outside:
        return False
    wanted = ((asked.tool, view.tool), (asked.tool_use, view.tool_use), (asked.behavior, view.behavior))
    if any(one is not None and one != found for one, found in wanted):
        return False
    return asked.text is None or asked.text.lower() in view.what.lower()


# -- the answer to "why?"


def sentence(view: v.VerdictView, rule: v.RuleView | None) -> str:
    """The whole answer, without a time: faces write those in their own way."""
    did = "allowed" if view.behavior == "allow" else "denied"
    match view.because_kind:
        case "cli":
            return f"{did} by {view.because}" if view.because.startswith(ITSELF) else f"not run; {view.because}"
        case "person":
            return f"{did} by {view.by or 'somebody'}{f' on {view.door}' if view.door else ''}"
        case "mode" | "policy":
            return f"{did}, since {view.because}"
    if rule is None:
        return f"{did}: {view.because}"
    if rule.source in ("built_in", "file"):
        where = "which is built in" if rule.source == "built_in" else f"of the file {rule.file}"
        return f"{did} by the rule {rule.text}, {where}"
    kind = "grant" if view.because_kind == "grant" else "rule"
    made = f", which {rule.by} made{f' on {rule.door}' if rule.door else ''}" if rule.by else ""
    return f"{did} by the {kind} {rule.text}{made}"


def how_to_end(rule: v.RuleView | None) -> str:
    """Empty where nothing stands any more, or where it is not ended from here."""
    if rule is None or rule.ended_at is not None or rule.source != "store":
        return ""
    return f"ropewalk rules rm {rule.id}"


def given_to(body: Mapping[str, Any]) -> dict[str, Any]:
    """The input of a call as its start told it."""
    given = body.get("input")
    return given if isinstance(given, dict) else {}
