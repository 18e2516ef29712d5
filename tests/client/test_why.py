"""Why a session is gone: the CLI's words, joined with what to do next."""

from __future__ import annotations

from ropewalk import ClientOptions, Result
from ropewalk.client.why import why_gone
from ropewalk.transports.base import End

GONE = End(1, "the CLI exited with code 1", ())
UNKNOWN = Result(subtype="error_during_execution", is_error=True, num_turns=0, errors=["No conversation found"])


def test_an_unknown_session_is_told_with_the_way_out() -> None:
    """seed 002; measured (all): a result without turns, then exit 1"""
    why = why_gone(GONE, UNKNOWN, ClientOptions(resume="s1", cwd="/srv/work"))
    assert why.startswith("the CLI exited with code 1: No conversation found. ")
    assert "s1 does not exist in /srv/work" in why and "cwd" in why and "leave resume out" in why


def test_an_unknown_message_is_told_as_such() -> None:
    """measured (all): --resume-session-at with a uuid that is not there ends like an unknown session"""
    why = why_gone(GONE, UNKNOWN, ClientOptions(resume="s1", resume_at="m1"))
    assert "m1 belongs to session s1" in why and "leave resume_at out" in why


def test_other_ends_keep_their_own_sentence() -> None:
    """ours: advice is given only where the cause is known"""
    assert why_gone(GONE, None, ClientOptions(resume="s1")) == GONE.why
    failed = Result(subtype="error_during_execution", is_error=True, num_turns=2, errors=["broken"])
    assert why_gone(GONE, failed, ClientOptions(resume="s1")) == GONE.why
    assert why_gone(GONE, Result(subtype="success"), ClientOptions(resume="s1")) == GONE.why
    assert why_gone(GONE, UNKNOWN, ClientOptions()) == f"{GONE.why}: No conversation found"
