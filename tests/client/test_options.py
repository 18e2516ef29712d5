"""What a client is to be: checked before anything starts, glued into single words, or said over stdin."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ropewalk import Client, ClientOptions, CliNotFound, FolderMissing, UsageError
from ropewalk.client.options import flags, initialize_fields, is_one_rule
from ropewalk.client.roads import launch_for
from ropewalk.client.version import cli_version
from ropewalk.sim.claude.ledger import read
from tests.client.leftovers import alive
from tests.client.played import PlayedCli, connected
from tests.client.scripted import CLI, ScriptedCli

UUID = "7d0c6f3e-1111-4222-8333-444444444444"
HOSTILE = ["--dangerously-skip-permissions", "-p", "--settings={}", "x --model=y", "a;b", "$(touch x)", "é ü", " "]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"permission_mode": "yolo"}, "no permission mode 'yolo'; there are acceptEdits, auto"),
        ({"session_id": UUID, "resume": UUID}, "only when fork=True"),
        ({"session_id": UUID, "continue_last": True}, "only when fork=True"),
        ({"session_id": "mine"}, "must be a UUID"),
        ({"resume": UUID, "continue_last": True}, "choose one"),
        ({"fork": True}, "give resume or continue_last"),
        ({"resume_at": UUID}, "give resume or continue_last"),
        ({"extra_args": {"verbose": None}}, "--verbose is set by ropewalk itself"),
        ({"extra_args": {"--sdk-url": "ws://x"}}, "--sdk-url is set by ropewalk itself"),
        ({"extra_args": {"a b": None}}, "is no flag"),
        ({"extra_args": {"": None}}, "is no flag"),
        ({"extra_args": {"model=x": None}}, "is no flag"),
        ({"transport": "carrier pigeon"}, "stdio, websocket and hybrid"),
        ({"allowed_tools": ["Bash, Write"]}, "is not one rule"),
        ({"disallowed_tools": ["Bash(rm:*"]}, "is not one rule"),
        ({"max_turns": 0}, "at least 1"),
    ],
)
def test_options_that_can_t_be_meant_are_refused_with_what_to_change(wrong: dict[str, Any], words: str) -> None:
    """ours; measured: --session-id with --resume is refused by every CLI unless it forks"""
    with pytest.raises(UsageError, match=words.replace("*", r"\*")):
        Client(ClientOptions(**wrong))


def test_options_that_belong_together_are_taken_together() -> None:
    """ours"""
    for together in (
        ClientOptions(session_id=UUID, resume=UUID, fork=True),
        ClientOptions(continue_last=True, fork=True, resume_at=UUID),
    ):
        together.check()
        assert "--fork-session" in flags(together)


@pytest.mark.parametrize(
    "rule", ["Bash", "Bash(git log:*)", "mcp__db__*", "WebFetch(domain:a.com)", "Bash(echo (a), b)", "Read(//tmp/**)"]
)
def test_one_rule_is_one_rule(rule: str) -> None:
    """ours"""
    assert is_one_rule(rule)


@pytest.mark.parametrize(
    "rule", ["", " ", "Bash Write", "Bash,Write", "Bash(a) Write(b)", "Bash(", "Bash(a))", "Bash(a)b", "(a)", "Bash\n"]
)
def test_what_is_not_one_rule_never_becomes_a_wider_one(rule: str) -> None:
    """ours: the CLI would read it as several rules, or as a bare tool"""
    assert not is_one_rule(rule)


def test_the_flags_that_the_protocol_needs_are_always_there() -> None:
    """measured: without --verbose the CLI exits, without the prompt tool it never asks (all versions)"""
    words = flags(ClientOptions())
    assert words[:5] == (
        "--print",
        "--output-format=stream-json",
        "--input-format=stream-json",
        "--verbose",
        "--permission-prompt-tool=stdio",
    )
    assert "--replay-user-messages" in words and "--include-partial-messages" in words
    assert "--include-partial-messages" not in flags(ClientOptions(partial=False))


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ({"permission_mode": "plan"}, "--permission-mode=plan"),
        ({"model": "opus"}, "--model=opus"),
        ({"resume": UUID}, f"--resume={UUID}"),
        ({"resume": UUID, "resume_at": UUID}, f"--resume-session-at={UUID}"),
        ({"session_id": UUID}, f"--session-id={UUID}"),
        ({"continue_last": True}, "--continue"),
        ({"resume": UUID, "fork": True}, "--fork-session"),
        ({"max_turns": 3}, "--max-turns=3"),
        ({"max_budget_usd": 0.5}, "--max-budget-usd=0.5"),
        ({"allowed_tools": ["Bash(git log:*)"]}, "--allowedTools=Bash(git log:*)"),
        ({"disallowed_tools": ["Write"]}, "--disallowedTools=Write"),
        ({"add_dirs": [Path("/srv/a b")]}, "--add-dir=/srv/a b"),
        ({"skip_permissions": True}, "--dangerously-skip-permissions"),
        ({"allow_bypass": True}, "--allow-dangerously-skip-permissions"),
        ({"extra_args": {"fallback-model": "haiku"}}, "--fallback-model=haiku"),
        ({"extra_args": {"--strict-mcp-config": None}}, "--strict-mcp-config"),
    ],
)
def test_every_option_is_one_word(option: dict[str, Any], word: str) -> None:
    """ours: values are glued to their flag"""
    words = flags(ClientOptions(**option))
    usual = {*flags(ClientOptions()), f"--resume={UUID}"} - {word}
    assert [one for one in words if one not in usual] == [word]


TEXTS = ("model", "resume", "resume_at", "permission_mode", "allowed_tools", "disallowed_tools", "add_dirs", "extra_args")


def with_text(name: str, value: str) -> ClientOptions:
    more: dict[str, Any] = {"resume": UUID} if name == "resume_at" else {}
    shaped: Any = {"allowed_tools": [value], "disallowed_tools": [value], "add_dirs": [value], "extra_args": {"effort": value}}
    return ClientOptions(**{**more, name: shaped.get(name, value)}, cli=CLI)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", HOSTILE)
def test_no_text_can_become_a_flag_of_its_own(name: str, value: str) -> None:
    """ours: one word more than without it, and that word begins with the option's own flag; or it is refused"""
    options = with_text(name, value)
    try:
        options.check()
    except UsageError:
        return
    plain = flags(with_text(name, "plain"))
    words = flags(options)
    assert len(words) == len(plain)
    (changed,) = [(after, before) for after, before in zip(words, plain, strict=True) if after != before]
    assert changed[0].partition("=")[0] == changed[1].partition("=")[0] and changed[0].endswith(value)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", ["a\nb", "a\0b"])
def test_a_line_break_or_nul_is_refused_before_anything_starts(name: str, value: str) -> None:
    """ours"""
    with pytest.raises(UsageError):
        options = with_text(name, value)
        options.check()
        launch_for(options).check()


async def test_the_words_of_the_running_process_are_those_that_were_built(scripted: ScriptedCli) -> None:
    """ours: as the system has them, with a hostile model's name in the midst"""
    async with Client(scripted.options(model="--dangerously-skip-permissions", allowed_tools=["Bash(ls:*)"])) as client:
        words = Path(f"/proc/{client.pid}/cmdline").read_bytes().decode().split("\0")[:-1]
        assert tuple(words) == client.argv
        assert words[3:] == list(flags(client.options)) and "--model=--dangerously-skip-permissions" in words
        reply = await client.query("hello")
        assert client.mode == "default" and not reply.failed


async def test_long_and_secret_texts_go_over_stdin(scripted: ScriptedCli) -> None:
    """ours: argv is seen by everybody on the machine and has a limit"""
    said: dict[str, Any] = {
        "system_prompt": "you are " + "x" * 300_000,
        "append_system_prompt": "be kind",
        "agents": {"tester": {"description": "tests", "prompt": "test"}},
        "json_schema": {"type": "object"},
        "initialize": {"title": "a title"},
    }
    async with Client(scripted.options(**said)) as client:
        assert not [word for word in client.argv if len(word) > 200]
    entry = next(entry for entry in read(scripted.ledger) if entry.direction == "in")
    assert entry.size > 300_000


def test_what_initialize_says() -> None:
    """ours: nothing that was not asked for; further fields win"""
    assert initialize_fields(ClientOptions(), {}, []) == {}
    options = ClientOptions(
        system_prompt="a", append_system_prompt="b", agents={"x": {}}, json_schema={}, initialize={"systemPrompt": "c", "new": 1}
    )
    hooks: dict[str, Any] = {"Stop": []}
    assert initialize_fields(options, hooks, ["srv"]) == {
        "hooks": hooks,
        "sdkMcpServers": ["srv"],
        "jsonSchema": {},
        "systemPrompt": "c",
        "appendSystemPrompt": "b",
        "agents": {"x": {}},
        "new": 1,
    }


async def test_the_environment_is_what_is_allowed_and_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: see transports.environment; the key only when its billing is asked for"""
    for name, value in {"SECRET_OF_OTHERS": "1", "CLAUDECODE": "1", "ANTHROPIC_API_KEY": "k", "LANG": "C"}.items():
        monkeypatch.setenv(name, value)
    plain, billed = PlayedCli(), PlayedCli()
    async with connected(plain, env={"MINE": "yes"}), connected(billed, api_billing=True, checkpoints=False):
        assert plain.launch is not None and billed.launch is not None
        seen, paid = plain.launch.env, billed.launch.env
    assert seen["MINE"] == "yes" and seen["LANG"] == "C" and seen["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] == "1"
    assert not {"SECRET_OF_OTHERS", "CLAUDECODE", "ANTHROPIC_API_KEY"} & set(seen)
    assert paid["ANTHROPIC_API_KEY"] == "k" and "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING" not in paid


def test_options_show_what_was_chosen_and_no_secrets() -> None:
    """ours: they end up in logs"""
    options = ClientOptions(model="opus", env={"TOKEN": "s3cret"}, max_turns=3)
    assert (
        repr(options) == "ClientOptions(model='opus', max_turns=3, env=['TOKEN'])" and repr(ClientOptions()) == "ClientOptions()"
    )


# -- which program, which folder


def wrapper(folder: Path) -> Path:
    """A program that is the scripted CLI."""
    path = folder / "claude"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m ropewalk.sim.claude "$@"\n')
    path.chmod(0o755)
    return path


@pytest.mark.slow
async def test_the_cli_can_be_a_path_a_sequence_or_a_variable(
    scripted: ScriptedCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ours"""
    program = wrapper(tmp_path)
    monkeypatch.setenv("ROPEWALK_CLI", str(program))
    for cli in (program, str(program), CLI, None):
        async with Client(scripted.options(cli=cli)) as client:
            assert client.connected and client.argv[0] == (CLI[0] if cli is CLI else str(program))


async def test_a_cli_that_is_not_there_is_told_with_the_way_to_get_it(
    scripted: ScriptedCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ours"""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ROPEWALK_CLI", raising=False)
    for cli in (None, "/no/such/claude", ["/no/such/claude"]):
        client = Client(scripted.options(cli=cli))
        with pytest.raises(CliNotFound, match="npm install"):
            await client.connect()
        assert client.pid is None


async def test_a_folder_that_is_not_there_is_an_error(scripted: ScriptedCli) -> None:
    """ours: never another folder"""
    with pytest.raises(FolderMissing, match="no-such-folder"):
        await Client(scripted.options(cwd="/no-such-folder")).connect()


async def test_a_road_of_ones_own_needs_no_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: tests of bots run where no claude is installed"""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ROPEWALK_CLI", raising=False)
    cli = PlayedCli()
    cli.program = None
    async with connected(cli) as client:
        assert client.road == "custom" and client.argv[0] == "claude"


# -- roads


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["websocket", "hybrid"])
@pytest.mark.parametrize("version", ["2.1.37", "2.1.62", "2.1.120"])
async def test_older_clis_dial_in_where_that_is_asked_for(scripted: ScriptedCli, version: str, transport: str) -> None:
    """measured: --sdk-url takes any host up to 2.1.120"""
    async with Client(scripted.options(version=version, transport=transport, close_patience=0.3)) as client:
        assert client.road == transport and client.version == tuple(map(int, version.split(".")))
        assert (await client.query("over the link")).result == "You said: over the link"


async def test_newer_clis_are_spoken_to_over_pipes_and_it_is_said_why(scripted: ScriptedCli) -> None:
    """measured: from 2.1.121 on a local --sdk-url is refused"""
    async with Client(scripted.options(version="2.1.326", transport="websocket")) as client:
        assert client.road == "stdio: claude 2.1.326 takes --sdk-url only to its vendor's hosts"
        assert (await client.query("hello")).result == "You said: hello"


@pytest.mark.slow
async def test_a_version_that_can_t_be_asked_is_none_and_nothing_is_left(tmp_path: Path) -> None:
    """ours"""
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 600\n")
    silent.chmod(0o755)
    assert await cli_version([str(silent)], {**os.environ, "MARK": str(tmp_path)}, patience=0.2) is None
    assert alive(f"MARK={tmp_path}") == []
    assert await cli_version([str(tmp_path / "missing")]) is None
    assert await cli_version([sys.executable, "-c", "print('no version here')"]) is None
    assert await cli_version(CLI, {**os.environ, "ROPEWALK_SIM_VERSION": "2.1.62"}) == (2, 1, 62)
