"""What an end means and what to do about it, in sentences for people. Pure tables; refuses to read the CLI's own sentences.

The CLI's wording changes from version to version: these go by its fields alone.
"""

from __future__ import annotations

from .messages import Result

ADVICE = {
    "authentication_failed": "Not signed in, or the key is refused: run `claude` and sign in (/login), or set ANTHROPIC_API_KEY.",
    "billing_error": "The account can't pay for this: check its plan or credit, then send the prompt again.",
    "rate_limit": "The account's limit is reached: wait until it resets, or continue with another account or model.",
    "invalid_request": "The API refused the request: shorten the conversation (/compact), or check attachments and model.",
    "server_error": "The API failed or is overloaded; nothing is wrong here: wait a little and send the prompt again.",
    "max_output_tokens": "The answer was cut off at the model's output limit: ask it to go on, or to answer in smaller parts.",
    "unknown": "The API failed and the CLI does not say how: read its words, try again, then look at its stderr.",
}
"""``Assistant.error`` → what to do. 2.1.62 says unknown where 2.1.326 says rate_limit or server_error."""

CAUSES = {
    "success": "The turn is done.",
    "error": "The turn failed.",
    "error_during_execution": "The turn broke off: it was interrupted, or what it should resume does not exist in this folder.",
    "error_max_turns": "The turn took as many model rounds as --max-turns allows; the next prompt starts with a fresh count.",
    "error_max_budget_usd": "The session spent what --max-budget-usd allows: later prompts end at once; raise it and start anew.",
    "error_max_structured_output_retries": "Five answers did not fit the JSON schema: make it simpler, or the prompt clearer.",
}
"""``Result.subtype`` → what triggers it."""

STOPS = {
    "max_tokens": "The answer was cut off at the model's output limit.",
    "model_context_window_exceeded": "The answer was cut off: the conversation fills the model's context.",
    "refusal": "The model declined to answer.",
}
"""Stop reasons that a person should hear of; end_turn, tool_use, stop_sequence and null are the ordinary ones."""


def advice(error: str) -> str:
    """What to do about an ``Assistant.error``, also about one that we have never heard of."""
    return ADVICE.get(error) or f"The API failed ({error}): the CLI's own words are in the message; try again."


def stop_note(stop_reason: str | None) -> str | None:
    """A sentence when the answer is not whole; None when there is nothing to tell."""
    return STOPS.get(stop_reason or "")


def why_it_ended(result: Result) -> str:
    """One sentence about the end of a turn; ``result.reasons`` has the CLI's own words."""
    if result.interrupted:
        return "The turn was interrupted." if result.failed else "The turn was pushed aside by a prompt that could not wait."
    if result.subtype == "error_during_execution" and not result.num_turns:
        return (
            "What should be resumed does not exist in this folder: check the id and the working folder, or start a new session."
        )
    if result.failed and result.subtype == "success":
        return "The model could not be reached or refused the request; the session lives and takes the next prompt."
    return CAUSES.get(result.subtype) or f"The turn ended with {result.subtype or 'no word of how'}."
