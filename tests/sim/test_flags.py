"""sim claude reads the real command line and refuses as the real one refuses."""

from __future__ import annotations

import pytest

from ropewalk.sim.claude.flags import Flags, Refused, parse
from ropewalk.sim.claude.versions import V37, V62, V326, Traits

from .conftest import Start

STREAM = ["-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose"]


def refusal(words: list[str], traits: Traits = V326) -> str:
    with pytest.raises(Refused) as caught:
        parse(words, traits)
    assert caught.value.code == 1
    return caught.value.words


def test_a_value_may_stand_behind_an_equals_sign_or_in_the_next_word() -> None:
    """Ours: callers write both, and values that begin with a dash need the first."""
    one = parse([*STREAM, "--model", "m", "--system-prompt=--not a flag", "--max-turns=3"], V326)
    assert (one.model, one.system_prompt, one.max_turns) == ("m", "--not a flag", 3)
    assert parse([*STREAM, "--model=m"], V326).model == "m"


def test_rules_are_separated_by_commas_blanks_and_words() -> None:
    """Measured: --allowedTools takes all three, and brackets keep a rule together."""
    flags = parse([*STREAM, "--allowedTools", "Bash(git add:*, rm)", "Read,Edit Write", "--disallowedTools=WebFetch"], V326)
    assert flags.allowed == ["Bash(git add:*, rm)", "Read", "Edit", "Write"]
    assert flags.denied == ["WebFetch"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-p", "--output-format=stream-json"], "requires --verbose"),
        ([*STREAM, "--no-such-flag"], "unknown option '--no-such-flag'"),
        ([*STREAM, "--permission-mode", "nonsense"], "argument 'nonsense' is invalid"),
        ([*STREAM, "--session-id", "abc"], "Invalid session ID"),
        ([*STREAM, "--session-id=00000000-0000-4000-8000-000000000001", "--continue"], "--fork-session"),
        ([*STREAM, "--output-format=xml"], "argument 'xml' is invalid"),
        ([*STREAM, "--max-turns=many"], "must be a number"),
        ([*STREAM, "--model"], "argument missing"),
        (["-p", "--input-format=stream-json"], "requires output-format=stream-json"),
    ],
)
def test_what_the_real_one_refuses_is_refused_with_exit_1(words: list[str], sentence: str) -> None:
    """Measured (2.1.37, 2.1.62, 2.1.326)."""
    assert sentence in refusal(words)


def test_modes_are_those_of_the_version() -> None:
    """Measured: auto only on 2.1.326, delegate only on 2.1.37, which then runs in default."""
    assert parse([*STREAM, "--permission-mode=auto"], V326).mode == "auto"
    assert parse([*STREAM, "--permission-mode=delegate"], V37).mode == "default"
    assert "Allowed choices are acceptEdits, bypassPermissions, default, dontAsk, plan." in refusal(
        [*STREAM, "--permission-mode=auto"], V62
    )
    assert "manual" in refusal([*STREAM, "--permission-mode=delegate"])


def test_a_local_link_is_refused_by_versions_that_refuse_it() -> None:
    """Measured: 2.1.120 dials, 2.1.121 and 2.1.326 exit 1."""
    assert 'host "127.0.0.1" is not an approved' in refusal(["-p", "--sdk-url", "ws://127.0.0.1:1/x"])
    flags = parse(["-p", "--sdk-url", "ws://127.0.0.1:1/x"], V62)
    assert (flags.input_format, flags.prompt_tool) == ("stream-json", "stdio")


def test_flags_that_change_nothing_here_are_taken() -> None:
    """Ours: a controller that gives more flags than we know of must not fail for that."""
    assert parse([*STREAM, "--setting-sources", "user", "--strict-mcp-config", "--fallback-model=x"], V326) == parse(STREAM, V326)


def test_nothing_given_is_nothing_set() -> None:
    assert parse([], V326) == Flags()


def test_the_version_is_told_and_nothing_else(start: Start) -> None:
    """Measured: one line, exit 0."""
    sim = start(None, "--version", version="2.1.62", flags=[])
    assert sim.exit_code() == 0
    assert sim.raw == [b"2.1.62 (Claude Code)\n"]


def test_a_prompt_in_the_arguments_is_answered_without_stream_input(start: Start) -> None:
    """Measured: `claude -p "…"` prints the result's text."""
    sim = start([{"text": "Hello {prompt}."}], "-p", "you", flags=[])
    assert sim.exit_code() == 0
    assert sim.raw == [b"Hello you.\n"]


def test_a_prompt_in_the_arguments_is_ignored_with_stream_input(start: Start) -> None:
    """Measured, all versions: [prompt_argv]."""
    sim = start([{"text": "Hello."}], "ignored")
    sim.close_input()
    assert sim.exit_code() == 0
    assert sim.said == []
