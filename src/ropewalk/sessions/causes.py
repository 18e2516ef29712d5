"""Why something ended, in at most sixty characters, and the verb that would help. Pure tables; refuses the CLI's sentences."""

from __future__ import annotations

from ..events import events as e

LONGEST = 60
"""Characters of a ``why``: it stands in one row of a list on a phone."""


def fit(text: str) -> str:
    """One line of at most ``LONGEST`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"


ERRORS: dict[str, tuple[str, str]] = {
    "authentication_failed": ("Not signed in to Claude", "sign_in"),
    "billing_error": ("The account can't pay for this", "check_account"),
    "rate_limit": ("The account's limit is reached", "change_model"),
    "invalid_request": ("The API refused the request", "send_again"),
    "server_error": ("Claude's service failed or is overloaded", "send_again"),
    "max_output_tokens": ("Cut off at the model's output limit", "send_again"),
    "unknown": ("Claude's service failed and does not say how", "send_again"),
}
"""The CLI's kind of failure → why, and what helps."""

SUBTYPES: dict[str, tuple[str, str]] = {
    "error_max_turns": ("Stopped: as many rounds as --max-turns allows", "send_again"),
    "error_max_budget_usd": ("Stopped: the budget is spent", "raise_budget"),
    "error_max_structured_output_retries": ("No answer fitted the JSON schema", "send_again"),
    "error_during_execution": ("What should be resumed is not in this folder", "choose_folder"),
    "success": ("The model could not be reached, or refused", "send_again"),
}
"""How a failed turn ended, where no kind of failure was named."""

CODES: dict[str, tuple[str, str]] = {
    "folder_missing": ("Folder is gone", "choose_folder"),
    "cli_not_found": ("No claude on this machine", "install_claude"),
    "resume": ("What should be resumed is not in this folder", "choose_folder"),
    "limit_reached": ("Too many processes run already", "wake"),
}
"""Codes of ``failed`` events; others are told in their own words."""

MUTE = "it closed its output"
"""How the end of one is told that was ended because nothing more could come of it."""


def turn_failure(event: e.TurnEnded) -> tuple[str, str]:
    """Of a turn that failed and was not interrupted."""
    if event.error:
        return ERRORS.get(event.error) or (fit(f"Claude's service failed ({event.error})"), "send_again")
    return SUBTYPES.get(event.subtype) or (fit(f"The turn ended with {event.subtype or 'no word of how'}"), "send_again")


def failure(event: e.Failed) -> tuple[str, str]:
    return CODES.get(event.code) or (fit(event.text) or "Failed, without a word why", "wake")


def process_end(event: e.ProcessEnded) -> str:
    """Of a process that nobody ended."""
    if event.why.startswith(MUTE):
        return "It closed its output, and was ended"
    said = next((line for line in reversed(event.stderr) if line.strip()), "")
    match event.code:
        case 137:
            return "Killed, out of memory (137)"
        case -9:
            return "Killed from outside (signal 9)"
        case 143 | -15:
            return "Ended from outside (SIGTERM)"
        case None:
            return fit(event.why) or "The process is gone"
        case 0:
            return "Ended by itself in mid-turn"
        case code if code < 0:
            return f"Died of signal {-code}"
    return fit(f"Ended with exit code {event.code}{f': {said}' if said else ''}")
