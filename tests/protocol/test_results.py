"""How a turn ended: failed or not by one rule, with the CLI's reasons, and in words that say what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ropewalk.protocol.codec import decode
from ropewalk.protocol.messages import Assistant, Result
from ropewalk.protocol.words import ADVICE, CAUSES, advice, stop_note, why_it_ended
from tests.demand import demand
from tests.protocol.captures import names, on_all, process, samples
from tests.protocol.wire import line


def ended(**fields: Any) -> Result:
    message = decode(line(type="result", **fields))
    assert isinstance(message, Result)
    return message


TABLE = [
    # subtype, is_error, terminal_reason, num_turns → failed, interrupted
    ("success", False, None, 1, False, False),
    ("success", False, "completed", 1, False, False),
    ("success", True, None, 1, True, False),
    ("success", True, "api_error", 1, True, False),
    ("success", True, "prompt_too_long", 1, True, False),
    ("success", True, "blocking_limit", 1, True, False),
    ("success", False, "aborted_tools", 2, False, True),
    ("error_during_execution", False, None, 2, True, True),
    ("error_during_execution", True, "aborted_streaming", 2, True, True),
    ("error_during_execution", True, "aborted_tools", 3, True, True),
    ("error_during_execution", True, None, 0, True, False),
    ("error_max_turns", False, None, 3, True, False),
    ("error_max_turns", True, "max_turns", 3, True, False),
    ("error_max_budget_usd", False, None, 2, True, False),
    ("error_max_budget_usd", True, "budget_exhausted", 2, True, False),
    ("error_max_structured_output_retries", True, None, 6, True, False),
    ("error_max_structured_output_retries", True, "structured_output_retry_exhausted", 6, True, False),
    ("error", True, None, None, True, False),
    ("error", False, None, None, True, False),
    ("something_new", False, None, 1, True, False),
    ("", False, None, None, True, False),
]


@demand("004-13")
@pytest.mark.parametrize(("subtype", "is_error", "terminal_reason", "num_turns", "failed", "interrupted"), TABLE)
def test_one_rule_decides_whether_a_turn_failed(
    subtype: str, is_error: bool, terminal_reason: str | None, num_turns: int | None, failed: bool, interrupted: bool
) -> None:
    """seed; measured: older CLIs say is_error false on interrupts and limits, all say success on API failures."""
    one = ended(subtype=subtype, is_error=is_error, terminal_reason=terminal_reason, num_turns=num_turns)
    assert (one.failed, one.interrupted) == (failed, interrupted)
    assert bool(one.reasons) == failed


OUTCOMES: dict[str, list[tuple[bool, bool]]] = {
    "text_partial": [(False, False)],
    "interrupt_streaming": [(True, True), (False, False)],
    "interrupt_tool": [(True, True), (False, False)],
    "bash_deny_interrupt": [(True, True), (False, False)],
    "max_turns": [(True, False), (False, False)],
    "max_budget": [(True, False), (True, False)],
    "api_401": [(True, False)],
    "resume_unknown": [(True, False)],
    "schema_bad": [(True, False)],
}


@demand("001-26", "004-13")
@pytest.mark.parametrize(
    ("name", "outcomes"), [(name, outcomes) for scenario, outcomes in OUTCOMES.items() for name in on_all(scenario)]
)
def test_recorded_ends_are_judged_alike_on_every_version(name: str, outcomes: list[tuple[bool, bool]]) -> None:
    """measured: what differs between versions does not differ here."""
    results = [decode(json.dumps(one).encode()) for one in process(name).said if one["type"] == "result"]
    judged = [(one.failed, one.interrupted) for one in results if isinstance(one, Result)]
    assert judged[: len(outcomes)] == outcomes
    assert all(one.reasons for one in results if isinstance(one, Result) and one.failed)


@demand("000-28")
def test_every_form_of_error_result_shows_its_text() -> None:
    """seed: an ``error`` text, an ``errors`` list, or the text in ``result``."""
    assert ended(subtype="error", is_error=True, error="broken").reasons == ("broken",)
    assert ended(subtype="error_during_execution", errors=["one", "two"]).reasons == ("one", "two")
    assert ended(subtype="success", is_error=True, result="API Error: 529").reasons == ("API Error: 529",)
    assert ended(subtype="error_max_turns", errors=[]).reasons == ("error_max_turns",)
    assert ended(subtype="error", error={"type": "overloaded"}).reasons == ("error",)
    assert ended(subtype="success", result="fine", errors=[]).reasons == ()


@demand("001-26")
@pytest.mark.parametrize("subtype", [one for one in CAUSES if one.startswith("error_")])
def test_each_error_subtype_shows_its_errors_and_a_sentence_on_what_triggers_it(subtype: str) -> None:
    """seed: the four of them."""
    one = ended(
        subtype=subtype, is_error=True, num_turns=0 if subtype == "error_during_execution" else 3, errors=["the CLI's words"]
    )
    assert one.reasons == ("the CLI's words",)
    assert why_it_ended(one).endswith(".") and len(why_it_ended(one)) > 40


@demand("001-26")
def test_every_subtype_that_was_recorded_has_its_sentence() -> None:
    """measured"""
    assert {found["subtype"] for _, found in samples("result")} <= CAUSES.keys()


def test_the_sentence_tells_apart_what_the_subtype_does_not() -> None:
    """ours: an interrupt, a resume that found nothing, an API failure, a turn pushed aside, a word of tomorrow."""
    sentences = [
        why_it_ended(ended(subtype="error_during_execution", num_turns=2)),
        why_it_ended(ended(subtype="error_during_execution", num_turns=0, is_error=True)),
        why_it_ended(ended(subtype="success", is_error=True)),
        why_it_ended(ended(subtype="success", terminal_reason="aborted_tools")),
        why_it_ended(ended(subtype="success")),
        why_it_ended(ended(subtype="error_of_tomorrow")),
        why_it_ended(ended(subtype="")),
    ]
    assert len(set(sentences)) == len(sentences)
    assert "interrupted" in sentences[0] and "does not exist" in sentences[1] and "error_of_tomorrow" in sentences[5]


@demand("001-23")
@pytest.mark.parametrize(
    "kind", ["authentication_failed", "billing_error", "rate_limit", "invalid_request", "server_error", "unknown"]
)
def test_each_kind_of_failure_becomes_a_sentence_that_says_what_to_do(kind: str) -> None:
    """seed: the six of them."""
    message = decode(
        line(type="assistant", error=kind, message={"model": "<synthetic>", "content": [{"type": "text", "text": "x"}]})
    )
    assert isinstance(message, Assistant) and message.error == kind
    assert advice(kind) == ADVICE[kind]
    assert any(verb in advice(kind) for verb in ("sign in", "check", "wait", "shorten", "try again"))


@demand("001-23")
def test_every_kind_that_was_recorded_has_its_advice_and_a_new_one_gets_some_too() -> None:
    """measured (all versions), and one of tomorrow."""
    recorded = {found["error"] for _, found in samples("assistant") if found.get("error")}
    assert {"authentication_failed", "rate_limit", "unknown"} <= recorded <= ADVICE.keys()
    assert "quota_of_tomorrow" in advice("quota_of_tomorrow")
    assert len(set(ADVICE.values())) == len(ADVICE)


@demand("000-12")
def test_a_cut_off_answer_is_told_as_such_and_an_ordinary_end_is_not() -> None:
    """seed: max_tokens is told to the person as "cut off"."""
    assert "cut off" in (stop_note("max_tokens") or "")
    assert [stop_note(reason) for reason in ("end_turn", "tool_use", "stop_sequence", None, "of tomorrow")] == [None] * 5


def test_api_failures_are_recorded_with_an_error_kind_and_a_failed_result() -> None:
    """measured (all versions): no line of type error; an assistant line with ``error``, then a result that failed."""
    seen = 0
    for name in (one for one in names() if "/stdio/api_4" in one or "/stdio/no_key" in one):
        messages = [decode(raw) for raw in process(name).out]
        kinds = [one.error for one in messages if isinstance(one, Assistant) and one.error]
        failures = [one for one in messages if isinstance(one, Result) and one.failed]
        assert bool(kinds) == bool(failures), name
        seen += bool(failures)
    assert seen >= 9
