"""The CLI's words, from switches and values. Refuses values that could pass for a flag: each is glued to its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

STREAM_FLAGS = (
    "--print",
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--permission-prompt-tool=stdio",
    "--replay-user-messages",
)
"""Without --verbose the CLI exits; without --permission-prompt-tool=stdio it never asks (measured on all versions). The echo of
our prompts is the receipt that they were taken."""

OURS = frozenset({"print", "p", "sdk-url"} | {flag.lstrip("-").partition("=")[0] for flag in STREAM_FLAGS})
"""Flags that make the protocol work: nobody else may set them."""

CHECKPOINTS = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"
"""With it the CLI keeps file checkpoints, so that ``rewind_files`` works."""


def words(
    switches: Mapping[str, bool], values: Mapping[str, object], lists: Mapping[str, Iterable[object]] | None = None
) -> tuple[str, ...]:
    """Switches that are on, values that are there, one word for each item of a list; after the flags of the protocol."""
    said = [*STREAM_FLAGS, *(flag for flag, wanted in switches.items() if wanted)]
    said += [f"{flag}={value}" for flag, value in values.items() if value is not None]
    said += [f"{flag}={value}" for flag, several in (lists or {}).items() for value in several]
    return tuple(said)
