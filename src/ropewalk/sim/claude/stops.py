"""Replies that end too early: cut at the token limit, or stopped by the vendor's safeguards. Refuses to go on for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .failures import Failure, give_up
from .results import Ending
from .session import Json

if TYPE_CHECKING:
    from .turn import Turn

CONTINUED = 3
"""How often a cut reply is continued (measured, all versions)."""
CUT = (
    "API Error: Claude's response exceeded the {limit} output token maximum. To configure this behavior, set the "
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable."
)
RESUME = "Output token limit hit. Resume directly — no apology, no recap of what you were doing."
NOTED = "Your response above was stopped by a safety classifier — this is not a tool or API error."
REFUSED = Failure(
    None, False, "invalid_request", "invalid_request", "API Error: unable to respond to this request",
    "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy",
)  # fmt: skip


def go_on(turn: Turn, stop_reason: str, count: int) -> Ending | None:
    """None when the model is asked to go on; else how the turn fails."""
    return _cut(turn, count) if stop_reason == "max_tokens" else _refused(turn, count)


def _cut(turn: Turn, count: int) -> Ending | None:
    text = CUT.format(limit=turn.traits.max_output)
    if not turn.traits.rich_results:
        more = {} if turn.traits.version == "2.1.37" else {"error": "max_output_tokens"}
        turn.say(turn.lines.assistant(turn.lines.made_up(text, "stop_sequence", ""), None, **more))
        return None if count <= CONTINUED else Ending(is_error=True, text=text, stop_reason="stop_sequence")
    if count <= CONTINUED:
        turn.say_user(turn.lines.user([{"type": "text", "text": RESUME}], isSynthetic=True))
        return None
    failed: Json = {"error": "max_output_tokens", "is_api_error_message": True, "api_error": "max_output_tokens"}
    failed["api_error_params"] = {"cut": "output_limit"}
    turn.say(turn.lines.assistant(turn.lines.made_up(text, "stop_sequence", ""), None, **failed))
    return Ending(
        is_error=True,
        text=text,
        reason="api_error",
        stop_reason="stop_sequence",
        timed=False,
        more={"api_error": "max_output_tokens"},
    )


def _refused(turn: Turn, count: int) -> Ending | None:
    if not turn.traits.rich_results or count > 1:
        return give_up(turn, REFUSED)
    words = "The safeguards stopped the response above · continuing once with that noted"
    turn.say(turn.lines.system("informational", {"content": words, "level": "notice"}))
    turn.say_user(turn.lines.user([{"type": "text", "text": NOTED}], isSynthetic=True, refused_message_id=turn.session.new_id()))
    return None
