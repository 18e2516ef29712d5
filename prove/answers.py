"""What the API answers, page by page, against the file: events, lines, prompts' states, open questions."""

from __future__ import annotations

import base64
from typing import Any

from .book import Book, read
from .check import Findings
from .people import People

PAGE = 500


async def compare_with_api(people: People, sessions: list[str], findings: Findings) -> None:
    """No turn may be under way; that a process is put to sleep meanwhile does no harm: the file is read before and after."""
    before = read(people.house.database)
    told = {session: {event["seq"]: event for event in await _all(people, f"/sessions/{session}/events")} for session in sessions}
    after = read(people.house.database)
    for session, events in told.items():
        findings.counts["events over the API"] += len(events)
        stored = after.events.get(session, {})
        if len(events) < len(before.events.get(session, {})) or events != {seq: stored.get(seq) for seq in events}:
            findings.lose("G10", f"/events of {session} are others than those of the file")
        await _lines(people, after, session, findings)
    shown = {item["id"] for item in (await people.get("/questions"))["items"]}
    if shown != {row["id"] for row in after.questions.values() if row["state"] == "open"}:
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
