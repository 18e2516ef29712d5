"""The audit as a file: CSV or JSON lines, a piece at a time. Refuses cells that a spreadsheet would take for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import msgspec

from ..events import views as v

FORMS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
PIECE = 64 * 1024
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""A cell that begins so is run by spreadsheets; the wide forms too, by some."""
COLUMNS: dict[str, Callable[[v.VerdictView], str]] = {
    "time": lambda one: datetime.fromtimestamp(one.at, UTC).isoformat(timespec="milliseconds"),
    "session": lambda one: one.session,
    "session_title": lambda one: one.session_title,
    "tool": lambda one: one.tool,
    "what": lambda one: one.what,
    "behavior": lambda one: one.behavior,
    "because_kind": lambda one: one.because_kind,
    "because": lambda one: one.because,
    "because_id": lambda one: one.because_id,
    "who": lambda one: one.by,
    "door": lambda one: one.door,
    "message": lambda one: one.message,
    "input": lambda one: _text(one.input),
    "ran": lambda one: _text(one.ran),
    "hash": lambda one: one.hash,
    "folder": lambda one: one.cwd,
    "turn": lambda one: "" if one.turn is None else str(one.turn),
    "delivered": lambda one: {None: "", True: "yes", False: "no"}[one.delivered],
    "tool_use": lambda one: one.tool_use or "",
    "question": lambda one: one.question or "",
    "id": lambda one: one.id,
}


async def written(views: AsyncIterator[v.VerdictView], form: str) -> AsyncIterator[bytes]:
    write, piece = (_row, _line(list(COLUMNS))) if form == "csv" else (_object, b"")
    async for view in views:
        piece += write(view)
        if len(piece) >= PIECE:
            yield piece
            piece = b""
    if piece:
        yield piece


def _object(view: v.VerdictView) -> bytes:
    return msgspec.json.encode(view) + b"\n"


def _row(view: v.VerdictView) -> bytes:
    return _line([safe(cell(view)) for cell in COLUMNS.values()])


def _line(cells: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerow(cells)
    return text.getvalue().encode("utf-8", "replace")


def safe(cell: str) -> str:
    """As a spreadsheet shows it and nothing runs it; what it begins with is kept behind an apostrophe."""
    return f"'{cell}" if cell.lstrip(" ").startswith(FORMULA) else cell


def _text(given: object) -> str:
    if given is None:
        return ""
    return bytes(given).decode() if isinstance(given, msgspec.Raw) else msgspec.json.encode(given).decode()
