"""Small events and entries for the tests of stores. Refuses the product's own events: a store does not know them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ropewalk.store.base import Entry, Line, RowChange, Searchable, Store, Stored, put
from ropewalk.store.rows import ProcessRow, SessionRow

BOUND = 30.0
"""Seconds that anything may take before a test gives up."""


class Said(Struct, kw_only=True, tag_field="kind", tag="said"):
    session: str = ""
    seq: int = 0
    at: float = 0.0
    text: str = ""
    tool: str = ""
    number: int = 0


class Counted(Struct, kw_only=True, tag_field="kind", tag="counted"):
    session: str = ""
    seq: int = 0
    at: float = 0.0


class Finished(Struct, kw_only=True, tag_field="kind", tag="tool_finished"):
    session: str = ""
    seq: int = 0
    at: float = 0.0
    tool_use: str = ""


def searchable(body: bytes) -> Searchable:
    said = msgspec.json.decode(body, type=Said)
    return Searchable(said.text, said.tool)


SEARCHED = {"said": searchable}


def said(*texts: str, session: str = "s", **more: Any) -> list[Said]:
    return [Said(session=session, at=1.0, text=text, **more) for text in texts]


def facts(*texts: str, session: str = "s", rows: Sequence[RowChange] = (), keep: bool = True) -> Entry:
    return Entry(session=session, events=said(*texts, session=session), rows=rows, keep=keep)


def heard(n: int, *texts: str, process: str = "p", session: str = "s", rows: Sequence[RowChange] = ()) -> Entry:
    """What the CLI's line number ``n`` comes to."""
    line = Line(process, "out", n, float(n), f"line {n}".encode())
    return Entry(
        session=session, events=said(*texts, session=session), rows=rows, lines=[line], process=process, line_no=n, keep=True
    )


def run(first: int, *lines: list[str], process: str = "p", session: str = "s") -> Entry:
    """What lines come to that came together, from number ``first`` on."""
    told = [text for line in lines for text in line]
    kept = [Line(process, "out", n, float(n), f"line {n}".encode()) for n in range(first, first + len(lines))]
    return Entry(
        session=session, events=said(*told, session=session), lines=kept, process=process, line_no=first,
        parts=[len(line) for line in lines], keep=True,
    )  # fmt: skip


async def begin(store: Store, session: str = "s", process: str = "p", **more: Any) -> Stored:
    """A session and its process."""
    rows = [put(SessionRow(id=session, **more)), put(ProcessRow(id=process, session=session))]
    return await store.append(Entry(session=session, rows=rows))


async def texts(store: Store, session: str = "s") -> list[tuple[int, str]]:
    """(seq, text) of everything that is stored of a session."""
    return [(seq, msgspec.json.decode(body)["text"]) for seq, body in await store.events(session, limit=10_000)]


def into(heard: list[Stored]) -> Callable[[Stored], None]:
    return heard.append
