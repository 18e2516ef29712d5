"""What is read newest first over all sessions: verdicts, and events of one kind.

Refuses to count or to skip: a page goes on from the place of the last one, whatever was added meanwhile.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from ropewalk.store.base import Given, Latest, Place, StoredEvent, cleaned
from ropewalk.store.rows import VerdictRow
from ropewalk.store.sqlite.keys import SEQ_MOST, event_ids, sound
from ropewalk.store.sqlite.reading import PAGE_BYTES, like, mapper, no_of, page_of
from ropewalk.store.sqlite.sickness import Damaged
from ropewalk.store.sqlite.statements import conditions, names

MOST_AT_ONCE = 500
_OF_RULE = "because_id IN (SELECT id FROM rule WHERE rule.{0} = ?)"


def verdicts(connection: sqlite3.Connection, asked: Given) -> list[tuple[Place, VerdictRow]]:
    equal = {name: getattr(asked, name) for name in ("session", "tool", "tool_use", "behavior") if getattr(asked, name)}
    where, values = conditions("verdict", equal | ({"because_kind": asked.kinds} if asked.kinds else {}))
    terms = [where]
    for name, wanted in (("by", asked.who), ("door", asked.door)):
        if wanted:
            terms.append(f'("{name}" = ? OR {_OF_RULE.format(name)})')
            values += [cleaned(wanted)] * 2
    if asked.text:
        terms.append("what LIKE ? ESCAPE '\\'")
        values.append(f"%{like(asked.text)}%")
    _bounds(terms, values, asked, "rowid")
    fields = VerdictRow.__struct_fields__
    sql = f"SELECT rowid, {names(fields)} FROM verdict WHERE {' AND '.join(terms)} ORDER BY at DESC, rowid DESC LIMIT ?"
    row = mapper(VerdictRow)
    found = ((each[0], row(each[1:])) for each in connection.execute(sql, [*values, page_of(asked.limit)]))
    return [(Place(one.at, key), one) for key, one in found]


def judged(connection: sqlite3.Connection, calls: set[tuple[str, str]]) -> set[tuple[str, str]]:
    wanted = list({call for _, call in calls})
    found: set[tuple[str, str]] = set()
    for at in range(0, len(wanted), MOST_AT_ONCE):
        some = wanted[at : at + MOST_AT_ONCE]
        sql = f"SELECT session, tool_use FROM verdict WHERE tool_use IN ({', '.join('?' * len(some))})"
        found |= calls.intersection(connection.execute(sql, list(map(cleaned, some))))
    return found


def latest(connection: sqlite3.Connection, asked: Latest) -> list[tuple[Place, StoredEvent]]:
    terms, values = ["event.kind = ?"], list[Any]([cleaned(asked.kind)])
    way = "INDEXED BY event_tools" if asked.kind == "tool_finished" else ""
    if way:
        terms, values = ["event.kind = 'tool_finished'"], []  # the index is found by these very words
    if asked.session:
        if (no := no_of(connection, "session", asked.session)) is None:
            return []
        terms.append("event.id BETWEEN ? AND ?")
        values += event_ids(no)
        way = "NOT INDEXED"  # the log of a session lies together: that is less than the calls of all sessions
    _bounds(terms, values, asked, "event.id")
    sql = f"""
        SELECT event.id, event.crc, session.id, event.kind, event.at, event.body, process.id, event.line_no
        FROM event {way} JOIN session ON session.no = event.id >> 32 LEFT JOIN process ON process.no = event.process
        WHERE {" AND ".join(terms)} ORDER BY event.at DESC, event.id DESC LIMIT ?
    """
    page, held = list[tuple[Place, StoredEvent]](), 0
    for id, crc, session, kind, at, body, process, line in connection.execute(sql, [*values, page_of(asked.limit)]):
        if not sound(id, crc, body):
            raise Damaged(f"event {id & SEQ_MOST} is not what was stored")
        page.append((Place(at, id), StoredEvent(session, id & SEQ_MOST, kind, at, body, process, line)))
        held += len(body)
        if held > PAGE_BYTES:
            break
    return page


def _bounds(terms: list[str], values: list[Any], asked: Given | Latest, key: str) -> None:
    at = "event.at" if isinstance(asked, Latest) else "at"
    for sign, bound in ((">=", asked.since), ("<", asked.until)):
        if bound is not None:
            terms.append(f"{at} {sign} ?")
            values.append(bound)
    if asked.before is not None:
        terms.append(f"({at}, {key}) < (?, ?)")
        values += [asked.before.at, asked.before.key]
