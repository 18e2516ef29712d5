"""Open questions in a store: ``python -m bench.hub.asked HOME COUNT``. As cards are: parts, offers, a hash. Refuses SQL."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import msgspec

from ropewalk.events import views as v
from ropewalk.hub.searched import SEARCHED
from ropewalk.store.base import Entry, put
from ropewalk.store.rows import QuestionRow, SessionRow
from ropewalk.store.sqlite import open_store


async def ask(home: Path, count: int) -> None:
    now = time.time()
    async with open_store(home / "ropewalk.db", searched=SEARCHED) as store:
        sessions = [row.id for row in await store.find(SessionRow, limit=50)]
        asked = [_question(at, sessions[at % len(sessions)], now - count + at) for at in range(count)]
        await store.append(Entry(rows=[put(row) for row in asked]))


def _question(at: int, session: str, when: float) -> QuestionRow:
    command = f"npm run build -- --only part{at} && git add dist && git commit -m 'part {at}'"
    words = [part.strip() for part in command.split("&&")]
    parts = [v.Part(text=part, kind="command", verdict="ask", because="no rule matches") for part in words]
    steps = [v.Step(rules=[f"Bash({part})" for part in words]), v.Step(rules=["Bash(npm run:*)", "Bash(git:*)"])]
    offers = [v.Offer(scope=scope, rules=steps[0].rules, steps=steps) for scope in ("session", "folder")]
    view = v.QuestionView(
        id=f"asked{at:06d}", session=session, asks="permission", tool="Bash", cwd="/home/user/shop", opened_at=when,
        title_words="Run a command?", line=f"Run: {command}", input={"command": command, "description": f"Build part {at}"},
        parts=parts, offers=offers, hash="0" * 32,
    )  # fmt: skip
    return QuestionRow(
        id=view.id, session=session, process="gone", request_id=f"request-{at}", kind="permission", tool="Bash",
        input=msgspec.json.encode(view.input), asked=msgspec.json.encode(view), opened_at=when,
    )  # fmt: skip


if __name__ == "__main__":
    asyncio.run(ask(Path(sys.argv[1]), int(sys.argv[2])))
