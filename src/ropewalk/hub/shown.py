"""Rows as faces see them. Pure; refuses to read anything."""

from __future__ import annotations

import msgspec

from ..events import views as v
from ..sessions.session import Session
from ..store.rows import PromptRow, SessionRow, TokenRow

FIXES = {"waiting": "answer", "thinking": "interrupt", "running_tool": "interrupt", "stopped": "wake", "failed": "wake"}


def session_view(
    row: SessionRow, awake: Session | None, *, questions: int = 0, queued: int = 0, seen: int = 0, muted: bool = False
) -> v.SessionView:
    if awake is not None:
        questions, queued = len(awake.desk.open), len(awake.queue)
    process = awake.process if awake else None
    return v.SessionView(
        id=row.id, title=row.title, status=row.status, why=row.why, status_at=row.status_at,  # type: ignore[arg-type]
        group=v.group_of(row.status), fix=awake.board.standing.fix if awake else FIXES.get(row.status, ""), cwd=row.cwd,
        runner=row.runner, model=row.model or None, mode=row.mode or None, cost_usd=row.cost_usd or 0.0,
        context_tokens=row.context_tokens or 0, context_window=row.context_window, cli_session=row.cli_session,
        cli_version=version_of(awake), sim=row.sim, tags=list(row.tags), archived=row.archived, open_questions=questions,
        queued=queued, last_seq=row.last_seq, seen=seen, muted=muted, fork_of=row.parent, process=row.process,
        pid=process.pid if process else None, children=awake.accounts[0] if awake and awake.accounts else None,
        memory=awake.accounts[1] if awake and awake.accounts else None, created_at=row.created_at, changed_at=row.changed_at,
    )  # fmt: skip


def version_of(awake: Session | None) -> str | None:
    version = awake.wire.connection.version if awake and awake.wire else None
    return ".".join(map(str, version)) if version else None


def prompt_view(row: PromptRow) -> v.PromptView:
    content = msgspec.json.decode(row.content)
    plain = len(content) == 1 and content[0].get("type") == "text"
    return v.PromptView(
        id=row.id, session=row.session, state=row.state, text=row.text, content=None if plain else content,  # type: ignore[arg-type]
        when=row.when_, by=row.by, door=row.door, queued_at=row.queued_at, sent_at=row.sent_at, taken_at=row.taken_at,
        done_at=row.done_at, reason=row.reason, turn=row.turn,
    )  # fmt: skip


def token_values(row: TokenRow) -> dict[str, object]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


ORDER = {"needs_you": 0, "working": 1, "quiet": 2}


def place_in_list(view: v.SessionView) -> tuple[int, float]:
    """Those that need a person first, longest waiting first; then those at work, then the quiet ones, newest first."""
    group = ORDER[view.group]
    return group, view.status_at if group == 0 else -view.changed_at
