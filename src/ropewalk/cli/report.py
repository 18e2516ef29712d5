"""How a run ended: the closing line, the sentence about a failure, the JSON object. Refuses to call a failed turn done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..protocol.lenient import dump
from ..protocol.messages import Result
from ..protocol.words import advice, stop_note, why_it_ended
from ..sessions.figures import count, dollars, seconds
from .asked import Asked
from .codes import DONE, FAILED, INTERRUPTED, SIGN_IN, Complaint, not_signed_in, sentence
from .drive import Log
from .safe import one_line
from .screen import Screen
from .story import Story
from .work import Work


@dataclass(frozen=True, slots=True)
class Ending:
    """The verdict on a run."""

    code: int
    complaint: Complaint | None = None


def ending_of(log: Log, story: Story, asked: Asked) -> Ending:
    """From what the turn said of itself. Failed is ``is_error`` or a subtype other than success."""
    result = log.result
    if result is None:
        return Ending(FAILED, Complaint(FAILED, "The turn ended without a result. Look at claude with: ropewalk doctor"))
    if result.interrupted and result.failed:
        return Ending(INTERRUPTED)
    if not result.failed:
        return Ending(DONE, _silence(result, asked))
    said = "; ".join(one_line(reason) for reason in result.reasons)
    if story.error == SIGN_IN:
        complaint = not_signed_in(asked.api_billing, said)
        return Ending(complaint.code, complaint)
    what = advice(story.error) if story.error else why_it_ended(result)
    return Ending(FAILED, Complaint(FAILED, f"{sentence(f'the turn failed: {said}')} {what}", (f"subtype: {result.subtype}",)))


def _silence(result: Result, asked: Asked) -> Complaint | None:
    """A resumed session that answers with nothing has silently not resumed."""
    if (asked.resume or asked.continue_last) and not result.num_turns and not result.result:
        return Complaint(
            DONE, "claude returned nothing; the session may not have resumed. Send the prompt again without --resume."
        )
    return None


def closing(screen: Screen, log: Log, work: Work, ending: Ending, spent: float) -> None:
    """The last line of talk."""
    dot = f" {screen.look.glyphs.dot} "
    word = {DONE: "done", INTERRUPTED: "stopped by you" if log.stopped else "interrupted"}.get(ending.code, "failed")
    parts = [f"{word} in {seconds(spent)}"]
    if log.cost_usd:
        parts.append(dollars(log.cost_usd))
    parts.append(work.summary)
    if log.result is not None and log.result.permission_denials:
        parts.append(f"{count(len(log.result.permission_denials), 'tool call')} denied")
    if log.session_id:
        shown = log.session_id if screen.look.verbose else log.session_id[:8]
        parts.append(f"ropewalk run --resume {one_line(shown)}")
    screen.talk(screen.paint("red" if word == "failed" else "dim", dot.join(parts)))
    note = stop_note(log.result.stop_reason) if log.result is not None else None
    if note:
        screen.say(f"ropewalk: {note}")


def as_object(log: Log, work: Work, ending: Ending, spent: float, stand_in: bool) -> str:
    """One object: what came out, what it took, what was asked."""
    result = log.result
    told: dict[str, Any] = {
        "ok": ending.code == DONE,
        "exit_code": ending.code,
        "error": ending.complaint.words if ending.complaint is not None and ending.code != DONE else None,
        "result": (result.result if result is not None else None) or work.answer or None,
        "structured_output": result.structured_output if result is not None else None,
        "subtype": result.subtype if result is not None else None,
        "session_id": log.session_id,
        "model": log.model,
        "mode": log.mode,
        "cost_usd": round(log.cost_usd, 6),
        "duration_s": round(spent, 3),
        "num_turns": result.num_turns if result is not None else None,
        "usage": _usage(result),
        "files_changed": list(work.files),
        "tools": work.tools,
        "questions": log.questions,
        "permission_denials": result.permission_denials if result is not None else [],
        "claude_version": log.version,
        "stand_in": stand_in,
    }
    return dump(told).decode()


def _usage(result: Result | None) -> dict[str, int] | None:
    if result is None or result.usage is None:
        return None
    usage = result.usage
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens or 0,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens or 0,
    }
