"""A session as one file that stands alone: its events as JSON lines, as one JSON object, or as a text to read."""

from __future__ import annotations

import time

import msgspec

from ..errors import UsageError
from ..events.views import SessionView
from ..store.base import Store

PAGE = 1000
FORMS = {"jsonl": "application/x-ndjson", "json": "application/json", "md": "text/markdown; charset=utf-8"}


async def exported(store: Store, session: SessionView, form: str) -> tuple[str, str, bytes]:
    """(file name, content type, bytes)."""
    if form not in FORMS:
        raise UsageError(f"format is one of {', '.join(FORMS)}")
    bodies: list[bytes] = []
    after = 0
    while page := await store.events(session.id, after, PAGE):
        after = page[-1][0]
        bodies += [body for _, body in page]
    name = f"ropewalk-{session.id}.{form}"
    if form == "jsonl":
        return name, FORMS[form], b"\n".join(bodies) + b"\n"
    if form == "json":
        return name, FORMS[form], b'{"session":%b,"events":[%b]}' % (msgspec.json.encode(session), b",".join(bodies))
    return name, FORMS[form], _text(session, [msgspec.json.decode(body) for body in bodies]).encode()


def _text(session: SessionView, events: list[dict[str, object]]) -> str:
    words = [f"# {session.title or session.id}", f"{session.cwd} · ${session.cost_usd:.2f}", ""]
    for event in events:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(str(event.get("at", 0)))))
        match event.get("kind"):
            case "prompt_queued":
                words += [f"## {event.get('by') or 'Prompt'}, {at}", "", str(event.get("text", "")), ""]
            case "text":
                words += [str(event.get("text", "")), ""]
            case "tool_started":
                words += [f"- **{event.get('tool')}** {event.get('title', '')}"]
            case "question_closed":
                words += [f"- question {event.get('fate')}: {event.get('behavior') or ''} {event.get('by') or ''}".rstrip()]
            case "turn_ended":
                words += ["", f"*Done, ${float(str(event.get('cost_usd', 0))):.2f}, {at}*", ""]
    return "\n".join(words) + "\n"
