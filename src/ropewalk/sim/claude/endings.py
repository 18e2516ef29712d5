"""How turns end early: interrupted, over a limit, without the output that was asked for. Refuses to say it: the turn does."""

from __future__ import annotations

from .results import Ending
from .structured import RETRIES
from .versions import Traits


class StopTurn(Exception):
    """The turn ends here, in this way."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.subtype)
        self.ending = ending


def aborted(traits: Traits, reason: str, stop_reason: str | None) -> Ending:
    """An interrupt, or a denial that stops the turn: what was used is not counted in it (measured, all versions)."""
    words = f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop_reason or 'null'}"
    return Ending(
        "error_during_execution",
        traits.interrupted_is_error,
        reason=reason,
        stop_reason=stop_reason if traits.rich_results else None,
        errors=[words] if traits.rich_results else [],
        counts_usage=False,
    )


def out_of_turns(traits: Traits, limit: int, stop_reason: str) -> Ending:
    return _limit(traits, "error_max_turns", "max_turns", stop_reason, f"Reached maximum number of turns ({limit})")


def out_of_money(traits: Traits, limit: float, stop_reason: str | None) -> Ending:
    return _limit(traits, "error_max_budget_usd", "budget_exhausted", stop_reason, f"Reached maximum budget (${limit:g})")


def _limit(traits: Traits, subtype: str, reason: str, stop_reason: str | None, words: str) -> Ending:
    rich = traits.rich_results
    shown = stop_reason if rich else None
    return Ending(subtype, traits.limits_are_errors, reason=reason, stop_reason=shown, errors=[words] if rich else [])


def without_output(traits: Traits, complaint: str) -> Ending:
    """Too many structured outputs that did not fit."""
    words = f"Failed to provide valid structured output after {RETRIES} attempts"
    if traits.rich_results:
        words += f" — last StructuredOutput error: {complaint}"
    shown = "tool_use" if traits.rich_results else None
    reason = "structured_output_retry_exhausted"
    return Ending("error_max_structured_output_retries", True, reason=reason, stop_reason=shown, errors=[words])


def pushed_aside() -> Ending:
    """A prompt with priority "now" ends the turn after the present tool (measured 2.1.326)."""
    return Ending(text="", reason="aborted_tools", stop_reason="tool_use")
