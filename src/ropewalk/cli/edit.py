"""A person's own version of an input: in their editor, or on a line. Refuses to answer: what was edited is shown again first."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import tempfile
from collections.abc import Mapping
from typing import Any

from .hand import Hand

FIELDS = {
    "Bash": ("command", ".sh"),
    "Write": ("content", ".txt"),
    "Edit": ("new_string", ".txt"),
    "WebFetch": ("url", ".txt"),
    "WebSearch": ("query", ".txt"),
    "ExitPlanMode": ("plan", ".md"),
}
"""The one field that a person wants to change; of other tools the whole input, as JSON."""


async def edited(hand: Hand, tool: str, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The whole new input; None when nothing was changed, or it can't be meant (then the person was told)."""
    field, suffix = FIELDS.get(tool, ("", ".json"))
    if not isinstance(given.get(field), str):
        field, suffix = "", ".json"
    before = given[field] if field else json.dumps(given, ensure_ascii=False, indent=2)
    after = await _text(hand, before, suffix, field or "input as JSON")
    if after is None or after == before or not after.strip():
        hand.screen.say("  unchanged")
        return None
    return {**given, field: after} if field else _object(hand, after)


def _object(hand: Hand, text: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError as error:
        hand.screen.say(f"  not JSON, so nothing is changed: {error}")
        return None
    if not isinstance(found, dict) or not found:
        hand.screen.say("  an input is an object with at least one field; nothing is changed")
        return None
    return found


async def _text(hand: Hand, before: str, suffix: str, what: str) -> str | None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if editor:
        return await in_editor(hand, editor, before, suffix)
    return await hand.line(f"new {what} (^D: back; set EDITOR for more than a line)")


async def in_editor(hand: Hand, editor: str, before: str, suffix: str) -> str | None:
    """The text after the person left the editor; None when the editor failed."""
    file, path = tempfile.mkstemp(prefix="ropewalk-", suffix=suffix)
    try:
        with os.fdopen(file, "w", encoding="utf-8", errors="surrogatepass") as begun:
            begun.write(before)
        with hand.keyboard.lent():
            code = await _run([*shlex.split(editor), path])
        if code != 0:
            hand.screen.say(f"  the editor ended with {code}; nothing is changed")
            return None
        after = _read(path)
    except (OSError, ValueError) as error:
        hand.screen.say(f"  no editor: {error}")
        return None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
    # Editors end a file with a newline; a command that had none does not want one.
    return after if before.endswith("\n") else after.removesuffix("\n")


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as finished:
        return finished.read()


async def _run(argv: list[str]) -> int:
    editor = await asyncio.create_subprocess_exec(*argv)
    try:
        return await editor.wait()
    except asyncio.CancelledError:  # the question was withdrawn: there is nothing left to edit
        with contextlib.suppress(ProcessLookupError):
            editor.terminate()
        await editor.wait()
        raise
