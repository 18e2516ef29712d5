"""Which variables a CLI gets to see: the allow-list as a function, and the environment that a real child then has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.errors import UsageError
from ropewalk.transports.environment import ALLOWED, ALLOWED_BEGINNINGS, environment_for
from ropewalk.transports.launch import Launch
from ropewalk.transports.stdio import StdioTransport
from tests.contract.listening import Ear, until
from tests.demand import demand

PERSON = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_ALL": "C",
    "XDG_RUNTIME_DIR": "/run/1",
    "https_proxy": "http://proxy",
    "TZ": "UTC",
}
LOGIN = {
    "CLAUDE_CONFIG_DIR": "/home/me/.claude2",
    "CLAUDE_CODE_OAUTH_TOKEN": "subscription",
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "AWS_PROFILE": "work",
    "ANTHROPIC_BASE_URL": "https://gateway",
    "ANTHROPIC_AUTH_TOKEN": "gateway",
    "ANTHROPIC_DEFAULT_OPUS_MODEL": "opus",
}
LEAKS = {
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CLAUDE_CODE_CHILD_SESSION": "1",
    "CLAUDE_CODE_SESSION_ID": "outer",
    "CLAUDE_CODE_SESSION_ACCESS_TOKEN": "outer",
    "ROPEWALK_TOKEN": "ours",
    "ROPEWALK_PROCESS": "outer",
    "TELEGRAM_BOT_TOKEN": "ours",
    "DATABASE_URL": "postgres://secret",
    "LD_PRELOAD": "/evil.so",
    "NODE_OPTIONS": "--require /evil.js",
    "VIRTUAL_ENV": "/venv",
}
REMOTE_RUN = {
    "CLAUDE_CODE_REMOTE": "1",
    "CLAUDE_CODE_REMOTE_SESSION_ID": "r-1",
    "CLAUDE_CODE_CONTAINER_ID": "c-1",
    "CLAUDE_CODE_ENVIRONMENT_RUNNER_VERSION": "7",
}


def test_the_person_s_surroundings_and_login_come_along() -> None:
    """ours: a CLI started by us finds its programs, the network and the same login as one typed in a terminal."""
    assert environment_for(PERSON | LOGIN, {}) == PERSON | LOGIN


def test_other_programs_secrets_our_tokens_and_an_outer_session_stay_behind() -> None:
    """measured (names in 2.1.326): variables of a parent session change how a CLI behaves."""
    assert environment_for(PERSON | LEAKS, {}) == PERSON


def test_an_api_key_is_left_out_unless_api_billing_was_asked_for() -> None:
    """seed 004: with the key in sight the CLI would bill it in place of the subscription."""
    parent = PERSON | {"ANTHROPIC_API_KEY": "sk"}
    assert environment_for(parent, {}) == PERSON
    assert environment_for(parent, {}, api_billing=True) == parent
    assert environment_for(PERSON, {}, api_billing=True) == PERSON


def test_what_the_session_asked_for_wins() -> None:
    """ours: over the person's own, and over the list."""
    asked = {"PATH": "/opt/bin", "NODE_OPTIONS": "--max-old-space-size=512", "ANTHROPIC_API_KEY": "fake"}
    assert environment_for(PERSON | LEAKS, asked) == PERSON | asked


@demand("001-90")
def test_variables_of_a_remote_run_can_be_set_per_session_and_are_not_inherited() -> None:
    """seed 001: one session may be marked as a remote run; the next one is not."""
    assert environment_for(PERSON | REMOTE_RUN, {}) == PERSON
    assert environment_for(PERSON, REMOTE_RUN) == PERSON | REMOTE_RUN


@given(st.dictionaries(st.text(min_size=1), st.text()), st.booleans())
def test_nothing_comes_along_that_the_table_does_not_name(parent: dict[str, str], api_billing: bool) -> None:
    """ours: an allow-list forgets nothing that somebody invents tomorrow."""
    for name, value in environment_for(parent, {}, api_billing=api_billing).items():
        assert parent[name] == value
        assert name in ALLOWED or name.startswith(tuple(ALLOWED_BEGINNINGS)) or (name == "ANTHROPIC_API_KEY" and api_billing)


def test_every_line_of_the_table_has_a_reason_and_none_is_ours_or_a_loader_s() -> None:
    """ours."""
    for name, reason in [*ALLOWED.items(), *ALLOWED_BEGINNINGS.items()]:
        assert reason, name
        assert not name.startswith(("ROPEWALK", "LD_", "PYTHON", "NODE_OPTIONS")), name
    assert not any("CLAUDE".startswith(name) or name.startswith("CLAUDE") for name in ALLOWED_BEGINNINGS)


@pytest.mark.parametrize("variables", [{"": "x"}, {"A=B": "x"}, {"A\0": "x"}, {"A": "secret\0"}])
def test_what_no_process_can_have_is_refused_without_telling_the_value(variables: dict[str, str]) -> None:
    """ours: a mistake in the options is told before anything starts; values may be secrets."""
    with pytest.raises(UsageError) as refusal:
        environment_for({}, variables)
    assert "secret" not in str(refusal.value)


async def test_a_real_child_has_exactly_this_environment_the_marker_and_these_words(tmp_path: Path) -> None:
    """ours: seen from outside, in /proc."""
    env = environment_for(PERSON | LEAKS | {"ANTHROPIC_API_KEY": "sk"}, {"LINES": "two\nlines"})
    launch = Launch((sys.executable, "-I", "-S", "-c", "input()"), ("--model=a b", "--x=$(id)", ""), str(tmp_path), env)
    transport = StdioTransport(launch)
    await transport.start(Ear())
    words = [*launch.argv, ""]
    await until(lambda: Path(f"/proc/{transport.pid}/cmdline").read_text().split("\0") == words, "these words")
    seen = dict(line.split("=", 1) for line in Path(f"/proc/{transport.pid}/environ").read_text().split("\0") if line)
    assert seen == env | {"ROPEWALK_PROCESS": launch.marker}
    assert Path(f"/proc/{transport.pid}/cwd").resolve() == tmp_path.resolve()
    await transport.stop(patience=0)
