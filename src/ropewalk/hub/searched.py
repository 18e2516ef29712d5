"""What can be searched for in an event, by its kind: the words that people would remember. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..store.base import Searchable

LONGEST = 20_000
"""Characters of one event that are indexed: the rest is in the line, and nobody remembers a word of it."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode


def _words(*names: str) -> Callable[[bytes], Searchable | None]:
    def found(body: bytes) -> Searchable | None:
        event = _decode(body)
        text = " ".join(str(event[name]) for name in names if event.get(name))
        return Searchable(text[:LONGEST], str(event.get("tool", ""))) if text else None

    return found


def _call(body: bytes) -> Searchable | None:
    event = _decode(body)
    given = event.get("input")
    values = [str(value) for value in given.values() if isinstance(value, str | int)] if isinstance(given, dict) else []
    path = str(given.get("file_path") or given.get("path") or "") if isinstance(given, dict) else ""
    text = " ".join(values) or str(event.get("title", ""))
    return Searchable(text[:LONGEST], str(event.get("tool", "")), path)


SEARCHED: dict[str, Callable[[bytes], Searchable | None]] = {
    "prompt_queued": _words("text"),
    "text": _words("text"),
    "tool_started": _call,
    "tool_finished": _words("output"),
    "question_opened": _words("words"),
    "question_closed": _words("message", "because"),
    "session_created": _words("title", "cwd"),
    "session_changed": _words("title"),
    "warning": _words("text"),
    "failed": _words("text"),
}
