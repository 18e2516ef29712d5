"""``ask``: one question, one answer, no async."""

from __future__ import annotations

import pytest

from ropewalk import Allow, SessionGone, TurnFailed, UsageError, ask
from tests.client.leftovers import alive
from tests.client.scripted import VERSIONS, ScriptedCli


@pytest.mark.parametrize("version", VERSIONS)
def test_ask_gives_the_answer_as_text_and_leaves_nothing_running(scripted: ScriptedCli, version: str) -> None:
    """ours"""
    options = scripted.options({"2 + 2": [{"thinking": "easy"}, {"text": "Four."}]}, version=version)
    assert ask("What is 2 + 2?", options) == "Four."
    assert alive(str(scripted.ledger)) == []


def test_options_can_be_given_by_name(scripted: ScriptedCli) -> None:
    """ours"""
    assert ask("hello", scripted.options(), model="haiku") == "You said: hello"
    assert scripted.heard("user")


def test_questions_are_denied_when_nobody_answers_them(scripted: ScriptedCli) -> None:
    """ours: a script has no person to ask, and must not wait for one"""
    touch = {"tool": "Bash", "input": {"command": "touch x"}, "if_denied": [{"text": "Denied: {reason}"}]}
    rules = {"make": [touch, {"text": "Made."}]}
    assert ask("make it", scripted.options(rules)).startswith("Denied: No person is here")
    assert ask("make it", scripted.options(rules, on_question=lambda asked: Allow())) == "Made."


def test_a_turn_that_fails_raises_with_the_clis_words(scripted: ScriptedCli) -> None:
    """measured: an API failure is a result with is_error and subtype success"""
    with pytest.raises(TurnFailed) as failed:
        ask("hello", scripted.options({"hello": [{"fail": 400, "words": "bad request of mine"}]}, version="2.1.62"))
    assert "bad request of mine" in str(failed.value) and failed.value.session_id


def test_a_session_that_dies_raises_with_its_last_words(scripted: ScriptedCli) -> None:
    """ours"""
    with pytest.raises(SessionGone, match="alas") as gone:
        ask("die", scripted.options({"die": [{"stderr": "alas"}, {"text": "x"}, {"fault": "crash", "code": 7}]}))
    assert gone.value.exit_code == 7


async def test_inside_a_loop_it_says_what_to_use_instead(scripted: ScriptedCli) -> None:
    """ours: it would block the loop"""
    with pytest.raises(UsageError, match="async with Client"):
        ask("hello", scripted.options())
