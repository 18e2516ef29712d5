"""What the API answers, page by page, against the file: events, lines, prompts' states, open questions."""

from __future__ import annotations

import base64
from typing import Any

from .book import Book
from .check import Findings
from .people import People

PAGE = 500


async def compare_with_api(people: People, book: Book, sessions: list[str], findings: Findings) -> None:
    """Nothing may be under way."""
    for session in sessions:
        told = {event["seq"]: event for event in await _all(people, f"/sessions/{session}/events")}
        findings.counts["events over the API"] += len(told)
        if told != book.events.get(session, {}):
            findings.lose(
                "G10", f"/events of {session} has {len(told)} events, the file {len(book.events.get(session, {}))}, or others"
            )
        await _lines(people, book, session, findings)
    shown = {item["id"] for item in (await people.get("/questions"))["items"]}
    if shown != {row["id"] for row in book.questions.values() if row["state"] == "open"}:
        findings.lose("G9", f"the inbox shows {shown}")


async def _lines(people: People, book: Book, session: str, findings: Findings) -> None:
    told: dict[str, dict[int, bytes]] = {}
    for item in await _all(people, f"/sessions/{session}/lines", dir="out"):
        raw = base64.b64decode(item["base64"]) if item.get("base64") else str(item.get("line", "")).encode()
        told.setdefault(item["process"], {})[item["n"]] = raw
    stored = {
        name: book.lines[name] for name, row in book.processes.items() if row["session"] == session and book.lines.get(name)
    }
    findings.counts["lines over the API"] += sum(map(len, told.values()))
    if told != stored:
        findings.lose("G3", f"/lines of {session} are others than those of the file")


async def _all(people: People, path: str, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = await people.get(path, after=after, limit=PAGE, **query)
        found += page["items"]
        after = page["next"]
    return found
