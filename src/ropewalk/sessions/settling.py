"""Questions that end without a person: another mode would not ask them, or their time is over. Refuses to guess at a mode.

The CLI itself leaves open questions open when the mode changes (measured on all versions): it is on us to answer them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..permissions.paths import inside, name_of
from ..permissions.request import Request, Verdict
from ..permissions.tools import ONLY_PEOPLE, WRITES, files_named
from ..protocol.answers import Deny
from ..protocol.control import CanUseTool
from ..store.rows import QuestionRow
from .desk import view_of
from .verdicts import Subject

if TYPE_CHECKING:
    from .session import Session

GUARDED = frozenset(
    {
        ".git", ".claude", ".vscode", ".idea", ".husky", ".gitconfig", ".gitmodules", ".mcp.json", ".claude.json", ".ripgreprc",
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin",
    }
)  # fmt: skip
"""What runs by itself later: Claude Code asks for these also where it accepts edits."""
NOBODY = "Nobody answered in time, so this was denied. Go on without it, or ask again later."


def by_mode(session: Session, mode: str, by: str) -> None:
    """The mode is another one now: what it would not have asked is answered."""
    wire = session.wire
    if wire is None or wire.over:
        return
    for row in list(session.desk.open.values()):
        if row.kind != "permission" or not session.desk.is_open(row.id) or row.request_id not in wire.connection.questions:
            continue
        request = wire.connection.questions.get(row.request_id)
        if not isinstance(request.request, CanUseTool):
            continue
        subject = session.judging.subjects.get(row.id) or session.judging.bare(request.request)
        verdict = verdict_of(mode, by, subject, row)
        if verdict is not None and not (mode == "acceptEdits" and session.judging.elsewhere(wire, request)):
            session.judging.close(wire, row, request, subject, verdict, kind="mode")


def verdict_of(mode: str, by: str, subject: Subject, row: QuestionRow) -> Verdict | None:
    """None: this mode would ask, too. What a rule says is to be asked stays asked."""
    request = subject.request
    if request.interaction or request.tool in ONLY_PEOPLE or view_of(row).because_rule is not None:
        return None
    because = f"{by} set the mode {mode}"
    if mode == "bypassPermissions" or (mode == "acceptEdits" and _edits_inside(request, subject)):
        return Verdict("allow", because)
    return Verdict("deny", f"{because}: it refuses what no rule allows") if mode == "dontAsk" else None


def _edits_inside(request: Request, subject: Subject) -> bool:
    named = files_named(request.tool, request.input) if request.tool in WRITES else None
    if not named:
        return False
    name = name_of(named[0], request.cwd, subject.context)
    if name.doubt or not inside(name, request.cwd, subject.context):
        return False
    return GUARDED.isdisjoint(part.lower() for path in (name.given, name.real or "") for part in path.split("/"))


def expire(session: Session, now: float) -> None:
    """The policy's deadline has come: denied, and told as expired."""
    wire = session.wire
    if wire is None or wire.over or not session.world.config.question_deadline:
        return
    for row in list(session.desk.open.values()):
        deadline = view_of(row).policy_deadline
        if deadline is None or now < deadline or not session.desk.is_open(row.id) or row.kind != "permission":
            continue
        if row.request_id not in wire.connection.questions:
            continue
        request = wire.connection.questions.get(row.request_id)
        asked = request.request
        if isinstance(asked, CanUseTool):
            subject = session.judging.subjects.get(row.id) or session.judging.bare(asked)
            verdict = Verdict("deny", f"nobody answered within {session.world.config.question_deadline:g} s")
            session.judging.close(wire, row, request, subject, verdict, kind="policy", said=Deny(NOBODY), fate="expired")
