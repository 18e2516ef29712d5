"""The real CLI's command line, read as it reads it. Refuses what it refuses, with its words and exit code 1."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from .versions import Traits


class Refused(Exception):
    """The launch ends here: words for stderr, and the exit code."""

    def __init__(self, words: str, code: int = 1) -> None:
        super().__init__(words)
        self.words, self.code = words, code


@dataclass
class Flags:
    """What was asked for on the command line."""

    print_mode: bool = False
    show_version: bool = False
    output_format: str = "text"
    input_format: str = "text"
    verbose: bool = False
    prompt_tool: str | None = None
    partial: bool = False
    replay: bool = False
    hook_events: bool = False
    mode: str = "default"
    allowed: list[str] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)
    skip_permissions: bool = False
    may_skip_permissions: bool = False
    session_id: str | None = None
    resume: str | None = None
    go_on: bool = False
    fork: bool = False
    resume_at: str | None = None
    max_turns: int | None = None
    max_budget: float | None = None
    json_schema: str | None = None
    model: str | None = None
    mcp_config: list[str] = field(default_factory=list)
    settings: str | None = None
    add_dirs: list[str] = field(default_factory=list)
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    sdk_url: str | None = None
    prompt: str | None = None


SWITCHES = {
    "-p": "print_mode", "--print": "print_mode", "-v": "show_version", "--version": "show_version", "--verbose": "verbose",
    "--include-partial-messages": "partial", "--replay-user-messages": "replay", "--include-hook-events": "hook_events",
    "--dangerously-skip-permissions": "skip_permissions", "--allow-dangerously-skip-permissions": "may_skip_permissions",
    "-c": "go_on", "--continue": "go_on", "--fork-session": "fork",
}  # fmt: skip
VALUES = {
    "--output-format": "output_format", "--input-format": "input_format", "--permission-prompt-tool": "prompt_tool",
    "--permission-mode": "mode", "--session-id": "session_id", "-r": "resume", "--resume": "resume",
    "--resume-session-at": "resume_at",
    "--max-turns": "max_turns", "--max-budget-usd": "max_budget", "--json-schema": "json_schema", "--model": "model",
    "--settings": "settings", "--system-prompt": "system_prompt", "--append-system-prompt": "append_system_prompt",
    "--sdk-url": "sdk_url",
}  # fmt: skip
LISTS = {
    "--allowedTools": "allowed", "--allowed-tools": "allowed", "--disallowedTools": "denied", "--disallowed-tools": "denied",
    "--mcp-config": "mcp_config", "--add-dir": "add_dirs",
}  # fmt: skip
TAKEN_QUIETLY = {
    "--setting-sources", "--fallback-model", "--agents", "--agent", "--betas", "--tools", "--plugin-dir", "--effort",
    "--debug-file", "--max-thinking-tokens", "--name", "-n", "--system-prompt-file", "--append-system-prompt-file",
}  # fmt: skip
"""Flags of real CLIs that take a value and change nothing here."""
SWITCHED_QUIETLY = {"--strict-mcp-config", "--no-session-persistence", "--disable-slash-commands", "--debug", "-d", "--bare"}
FORMATS = {"--output-format": ("text", "json", "stream-json"), "--input-format": ("text", "stream-json")}


def parse(argv: Sequence[str], traits: Traits) -> Flags:
    """Read the arguments; raises `Refused` as the real one would leave."""
    flags = Flags()
    words = _split(argv)
    while words:
        word = words.pop(0)
        if word in SWITCHES:
            setattr(flags, SWITCHES[word], True)
        elif word in VALUES:
            _set_value(flags, word, _value(words, word), traits)
        elif word in LISTS:
            getattr(flags, LISTS[word]).extend(_several(words, word))
        elif word in TAKEN_QUIETLY:
            _value(words, word)
        elif word.startswith("-") and word not in SWITCHED_QUIETLY:
            raise Refused(f"error: unknown option '{word}'")
        elif not word.startswith("-"):
            flags.prompt = word
    if not flags.show_version:
        _check(flags, traits)
    return flags


def _split(argv: Sequence[str]) -> list[str]:
    """``--flag=value`` becomes two words; a value that begins with a dash stays whole behind a marker."""
    words: list[str] = []
    for word in argv:
        name, equals, value = word.partition("=")
        words += [name, _QUOTED + value] if equals and name.startswith("--") else [word]
    return words


_QUOTED = "\0="
"""Before a value that was given with ``=``: it is a value whatever it begins with."""


def _value(words: list[str], flag: str) -> str:
    if not words or (words[0].startswith("-") and len(words[0]) > 1):
        raise Refused(f"error: option '{flag} <value>' argument missing")
    return words.pop(0).removeprefix(_QUOTED)


def _several(words: list[str], flag: str) -> list[str]:
    """A list flag eats words up to the next flag; commas and blanks outside brackets separate rules."""
    if words and words[0].startswith(_QUOTED):
        return _rules(words.pop(0).removeprefix(_QUOTED))
    found = [*_rules(_value(words, flag))]
    while words and not words[0].startswith("-"):
        found += _rules(words.pop(0))
    return found


def _rules(text: str) -> list[str]:
    rules, depth, current = [], 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char in ", " and depth <= 0:
            rules.append(current)
            current = ""
        else:
            current += char
    return [rule for rule in [*rules, current] if rule]


def _set_value(flags: Flags, flag: str, value: str, traits: Traits) -> None:
    if flag in FORMATS and value not in FORMATS[flag]:
        raise Refused(_not_a_choice(flag, "<format>", value, FORMATS[flag]))
    if flag == "--permission-mode" and value not in traits.modes:
        raise Refused(_not_a_choice(flag, "<mode>", value, _shown(traits.modes)))
    converted: object = value
    if flag in ("--max-turns", "--max-budget-usd"):
        converted = _number(flag, value)
    setattr(flags, VALUES[flag], converted)


def _shown(modes: tuple[str, ...]) -> tuple[str, ...]:
    """2.1.326 takes "default" and lists it as "manual"."""
    return tuple(mode for mode in modes if mode != "default") if "manual" in modes else modes


def _not_a_choice(flag: str, place: str, value: str, choices: Sequence[str]) -> str:
    return f"error: option '{flag} {place}' argument '{value}' is invalid. Allowed choices are {', '.join(choices)}."


def _number(flag: str, value: str) -> int | float:
    try:
        return int(value) if flag == "--max-turns" else float(value)
    except ValueError:
        raise Refused(f"error: option '{flag} <value>' argument '{value}' is invalid. must be a number") from None


def _check(flags: Flags, traits: Traits) -> None:
    if flags.sdk_url and not traits.sdk_url:
        raise Refused(f'Error: --sdk-url rejected: host "{_host(flags.sdk_url)}" is not an approved Anthropic endpoint.')
    if flags.sdk_url:
        # Measured 2.1.37 and 2.1.62: a link implies the stream formats, and questions come without the prompt tool flag.
        flags.output_format = flags.input_format = "stream-json"
        flags.verbose, flags.prompt_tool = True, "stdio"
    if flags.output_format == "stream-json" and not flags.verbose:
        raise Refused("Error: When using --print, --output-format=stream-json requires --verbose")
    if flags.input_format == "stream-json" and flags.output_format != "stream-json":
        raise Refused("Error: --input-format=stream-json requires output-format=stream-json.")
    if flags.session_id and (flags.resume or flags.go_on) and not flags.fork:
        raise Refused(_both_ids(traits))
    if flags.session_id and not is_uuid(flags.session_id):
        raise Refused("Error: Invalid session ID. Must be a valid UUID.")
    _check_permissions(flags)


def _check_permissions(flags: Flags) -> None:
    flags.mode = "default" if flags.mode in ("manual", "delegate") else flags.mode
    if flags.skip_permissions:
        flags.mode = "bypassPermissions"
    if flags.mode == "bypassPermissions" and os.geteuid() == 0 and not os.environ.get("ROPEWALK_SIM_ROOT"):
        raise Refused("--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons")


def _both_ids(traits: Traits) -> str:
    if traits.checks_modes:
        return "Error: --session-id with --continue or --resume also needs --fork-session."
    return "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified."


def _host(url: str) -> str:
    return url.partition("//")[2].split("/")[0].rsplit(":", 1)[0]


def is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
