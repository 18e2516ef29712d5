"""How a run through the hub ended: exit code, closing line, JSON object. Refuses to call a failed turn done."""

from __future__ import annotations

from typing import Any

import msgspec

from ...events import events as e
from ...protocol.lenient import dump
from ...protocol.words import advice
from ...sessions.figures import count, dollars, seconds
from ..codes import DONE, FAILED, INTERRUPTED, NO_CLAUDE, SIGN_IN, Complaint, not_signed_in, sentence
from ..report import Ending
from ..safe import one_line
from ..screen import Screen
from ..statuses import fix_of
from .drive import Relay

NO_CLI = ("sign_in", "install_claude")


async def ending_of(relay: Relay, shown: str) -> Ending:
    """From what the turn said of itself, or why none came of the prompt."""
    result, log = relay.log.result, relay.log
    if result is None:
        return await _no_turn(relay, shown)
    if result.interrupted and result.failed:
        return Ending(INTERRUPTED)
    if not result.failed:
        return Ending(DONE, _silence(result))
    said = "; ".join(one_line(reason) for reason in result.reasons)
    error = relay.deeds.error
    if error == SIGN_IN:
        complaint = not_signed_in(False, said)
        return Ending(complaint.code, complaint)
    what = advice(error) if error else f"More: ropewalk logs {shown}"
    return Ending(FAILED, Complaint(FAILED, f"{sentence(f'the turn failed: {said or log.result}')} {what}"))


async def _no_turn(relay: Relay, shown: str) -> Ending:
    refused = relay.log.refused
    if isinstance(refused, e.PromptWithdrawn):
        if relay.log.stopped:
            return Ending(INTERRUPTED)
        return Ending(FAILED, Complaint(FAILED, f"the prompt was withdrawn{f' by {refused.by}' if refused.by else ''}."))
    view = await relay.remote.get(relay.session.id)
    why = (refused.reason if refused is not None else "") or view.why
    fix = fix_of(view, shown)
    code = NO_CLAUDE if view.fix in NO_CLI else FAILED
    words = f"{sentence(f'no answer came: {one_line(why)}')}{f' {sentence(fix)}' if fix else ''}"
    return Ending(code, Complaint(code, words))


def _silence(result: e.TurnEnded) -> Complaint | None:
    if not result.empty:
        return None
    return Complaint(DONE, "claude returned nothing; the session may not have resumed. Send the prompt again in a new session.")


def closing(screen: Screen, relay: Relay, shown: str, ending: Ending, spent: float) -> None:
    """The last line of talk."""
    log, deeds = relay.log, relay.deeds
    stopped = "stopped by you" if log.stopped else "interrupted"
    word = {DONE: "done", INTERRUPTED: stopped}.get(ending.code, "left" if log.result is None else "failed")
    parts = [f"{word} in {seconds(spent)}"]
    if deeds.cost_usd:
        parts.append(dollars(deeds.cost_usd))
    parts.append(deeds.summary)
    if log.result is not None and log.result.denials:
        parts.append(f"{count(log.result.denials, 'tool call')} denied")
    parts.append(f"ropewalk prompt {shown}")
    dot = f" {screen.look.glyphs.dot} "
    screen.talk(screen.paint("red" if word == "failed" else "dim", dot.join(parts)))
    if log.result is not None and log.result.cut_off:
        screen.say("ropewalk: the model ran into its limit of output; the answer ends in mid-sentence.")


def as_object(relay: Relay, ending: Ending, spent: float) -> str:
    """One object: what came out, what it took, what was asked."""
    result, deeds, session = relay.log.result, relay.deeds, relay.session
    tokens = msgspec.to_builtins(result.tokens) if result is not None and result.tokens is not None else None
    told: dict[str, Any] = {
        "ok": ending.code == DONE,
        "exit_code": ending.code,
        "error": ending.complaint.words if ending.complaint is not None and ending.code != DONE else None,
        "result": (result.text if result is not None else None) or deeds.answer or None,
        "structured_output": result.structured if result is not None else None,
        "subtype": result.subtype if result is not None else None,
        "session": session.id,
        "model": deeds.model,
        "mode": deeds.mode,
        "cost_usd": round(deeds.cost_usd, 6),
        "duration_s": round(spent, 3),
        "usage": tokens,
        "files_changed": list(deeds.files),
        "tools": deeds.tools,
        "questions": relay.log.questions,
        "denials": result.denials if result is not None else 0,
        "claude_version": deeds.version,
        "stand_in": session.sim,
    }
    return dump(told).decode()
