"""Questions to a connection, answered as rows and pages. Refuses to write, and knows no thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar, get_type_hints

import msgspec

from ropewalk.errors import UsageError
from ropewalk.store.base import (
    Away,
    Condition,
    Direction,
    LastLines,
    SessionFilter,
    SessionPage,
    StoredEvent,
    StoredLine,
    Usage,
    cleaned,
)
from ropewalk.store.rows import ProcessRow, SessionRow, TableRow
from ropewalk.store.sqlite.keys import SEQ_MOST, event_id, event_ids, line_id, line_ids, sound
from ropewalk.store.sqlite.sickness import Damaged
from ropewalk.store.sqlite.statements import bound, conditions, names

Row = TypeVar("Row", bound=TableRow)

AWAY_MOST = 10_000
LIMIT_MOST = 10_000
"""No page holds more, whatever is asked for."""
PAGE_BYTES = 8 * 1024 * 1024
"""Nor more bytes than this, the last of it aside."""


# --- rows


@cache
def _source(kind: type[TableRow]) -> str:
    return f"SELECT {names(kind.__struct_fields__)} FROM {'session_now' if kind is SessionRow else kind.table}"


@cache
def mapper(kind: type[Row]) -> Callable[[Sequence[Any]], Row]:
    """The one way from a row to its struct: truth values and lists are made, all else is as it stands."""
    hints = get_type_hints(kind)
    made: dict[int, Callable[[Any], Any]] = {}
    for at, name in enumerate(kind.__struct_fields__):
        if hints[name] is bool:
            made[at] = bool
        elif hints[name] == list[str]:
            made[at] = msgspec.json.Decoder(list[str]).decode
    fields = kind.__struct_fields__

    def row(values: Sequence[Any]) -> Row:
        each = list(values)
        try:
            for at, make in made.items():
                each[at] = make(each[at])
        except msgspec.MsgspecError as error:
            raise Damaged(f"a row of {kind.table} can't be read") from error
        return kind(**dict(zip(fields, each, strict=True)))

    return row


def get(connection: sqlite3.Connection, kind: type[Row], key: Sequence[str | int]) -> Row | None:
    where, values = conditions(kind.table, dict(zip(kind.key, key, strict=True)))
    found = connection.execute(f"{_source(kind)} WHERE {where}", values).fetchone()
    return None if found is None else mapper(kind)(found)


def find(
    connection: sqlite3.Connection, kind: type[Row], where: Mapping[str, Condition], order: str, newest: bool, limit: int
) -> list[Row]:
    terms, values = conditions(kind.table, where)
    if order and order not in kind.__struct_fields__:
        raise ValueError(f"{kind.table} has no {order}")
    by = f'"{order}"' if order else "no" if kind in (SessionRow, ProcessRow) else "rowid"
    way = "DESC" if newest else "ASC"
    tie = "" if kind is SessionRow or not order else f", rowid {way}"
    sql = f"{_source(kind)} WHERE {terms} ORDER BY {by} {way}{tie} LIMIT ?"
    return list(map(mapper(kind), connection.execute(sql, [*values, page_of(limit)])))


def page_of(limit: int) -> int:
    return max(0, min(limit, LIMIT_MOST))


# --- sessions


def sessions(connection: sqlite3.Connection, asked: SessionFilter) -> SessionPage:
    terms, values = _session_terms(asked)
    limit = max(1, page_of(asked.limit))
    sql = f"SELECT no, {names(SessionRow.__struct_fields__)} FROM session_now WHERE {' AND '.join(terms) or '1'} "
    found = connection.execute(f"{sql} ORDER BY changed_at DESC, no DESC LIMIT ?", [*values, limit + 1]).fetchall()
    row = mapper(SessionRow)
    page = [row(each[1:]) for each in found[:limit]]
    return SessionPage(page, f"{page[-1].changed_at!r}_{found[limit - 1][0]}" if len(found) > limit else "")


def _session_terms(asked: SessionFilter) -> tuple[list[str], list[Any]]:
    equal: dict[str, Condition] = {}
    if asked.status:
        equal["status"] = asked.status
    if asked.archived is not None:
        equal["archived"] = asked.archived
    if asked.runner:
        equal["runner"] = asked.runner
    if asked.folder:
        equal["cwd"] = asked.folder
    where, values = conditions("session", equal)
    terms = [where]
    if asked.tag:
        terms.append("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)")
        values.append(cleaned(asked.tag))
    if asked.text:
        pattern = like(asked.text)
        terms.append(
            " OR ".join(f"{name} LIKE ? ESCAPE '\\'" for name in ("title", "cwd", "tags", "last_prompt", "id")).join("()")
        )
        values += [f"%{pattern}%"] * 4 + [f"{pattern}%"]
    if asked.cursor:
        terms.append("(changed_at, no) < (?, ?)")
        values += _cursor(asked.cursor)
    return terms, values


def like(text: str) -> str:
    return cleaned(text).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _cursor(text: str) -> tuple[float, int]:
    try:
        at, _, no = text.partition("_")
        return float(at), int(no)
    except ValueError:
        raise UsageError("this cursor is none of ours; begin again without one") from None


# --- events


def no_of(connection: sqlite3.Connection, table: Literal["session", "process"], id: str) -> int | None:
    found = connection.execute(f"SELECT no FROM {table} WHERE id = ?", (bound(id),)).fetchone()
    return None if found is None else int(found[0])


def events(
    connection: sqlite3.Connection, session: str, after: int, limit: int, kinds: Sequence[str], most: int
) -> list[tuple[int, bytes]]:
    if (no := no_of(connection, "session", session)) is None or after >= SEQ_MOST:
        return []
    terms, values = _kinds(kinds)
    sql = f"SELECT id, crc, body FROM event WHERE id > ? AND id <= ? {terms} ORDER BY id LIMIT ?"
    found = connection.execute(sql, [event_id(no, after), event_ids(no)[1], *values, page_of(limit)])
    return _bodies(found, min(most, PAGE_BYTES) or PAGE_BYTES)


def last_events(
    connection: sqlite3.Connection, session: str, limit: int, before: int | None, kinds: Sequence[str]
) -> list[tuple[int, bytes]]:
    if (no := no_of(connection, "session", session)) is None:
        return []
    terms, values = _kinds(kinds)
    end = event_ids(no)[1] + 1 if before is None else event_id(no, before)
    sql = f"SELECT id, crc, body FROM event WHERE id > ? AND id < ? {terms} ORDER BY id DESC LIMIT ?"
    return _bodies(connection.execute(sql, [event_ids(no)[0], end, *values, page_of(limit)]))[::-1]


def _kinds(kinds: Sequence[str]) -> tuple[str, list[Any]]:
    return (f"AND kind IN ({', '.join('?' * len(kinds))})", list(map(bound, kinds))) if kinds else ("", [])


def _bodies(rows: Iterable[tuple[int, int, bytes]], most: int = PAGE_BYTES) -> list[tuple[int, bytes]]:
    """What fits into a page, at least one; as it was stored, or ``Damaged``."""
    page, held = [], 0
    for id, crc, body in rows:
        if not sound(id, crc, body):
            raise Damaged(f"event {id & SEQ_MOST} is not what was stored")
        page.append((id & SEQ_MOST, body))
        held += len(body)
        if held > most:
            break
    return page


def event(connection: sqlite3.Connection, session: str, seq: int) -> StoredEvent | None:
    if (no := no_of(connection, "session", session)) is None:
        return None
    sql = (
        "SELECT kind, event.at, body, process.id, line_no FROM event LEFT JOIN process ON process.no = process WHERE event.id = ?"
    )
    found = connection.execute(sql, (event_id(no, seq),)).fetchone()
    return None if found is None else StoredEvent(session, seq, *found)


# --- lines

_LINE = "SELECT line.id, process.id, CASE line.id & 16383 WHEN 0 THEN 'out' ELSE 'in' END, n, at, raw, crc FROM line, process"


def _line(row: tuple[Any, ...]) -> StoredLine:
    if not sound(row[0], row[6], row[5]):
        raise Damaged(f"line {row[3]} is not what was stored")
    return StoredLine(*row[:6])


def lines(connection: sqlite3.Connection, session: str, after: int, dir: Direction | None, limit: int) -> list[StoredLine]:
    processes = connection.execute("SELECT no FROM process WHERE session = ? ORDER BY no", (bound(session),)).fetchall()
    page: list[StoredLine] = []
    for (no,) in processes:
        first, last = line_ids(no)
        if last > after and len(page) < limit:
            page += _lines_of(connection, no, max(first - 1, after), dir, limit - len(page))
            if sum(len(line.raw) for line in page) > PAGE_BYTES:
                break
    return page


def _lines_of(connection: sqlite3.Connection, process: int, after: int, dir: Direction | None, limit: int) -> list[StoredLine]:
    way = {"out": "AND line.id & 16383 = 0", "in": "AND line.id & 16383 > 0", None: ""}[dir]
    sql = f"{_LINE} WHERE process.no = ? AND line.id > ? AND line.id <= ? {way} ORDER BY line.id LIMIT ?"
    found = connection.execute(sql, (process, bound(after), line_ids(process)[1], page_of(limit)))
    page, held = [], 0
    for row in found:
        page.append(_line(row))
        held += len(row[5])
        if held > PAGE_BYTES:
            break
    return page


def lines_of(connection: sqlite3.Connection, process: str, after: int, limit: int) -> list[StoredLine]:
    """Of one process, both directions, after a cursor."""
    no = no_of(connection, "process", process)
    return [] if no is None else _lines_of(connection, no, max(after, line_ids(no)[0] - 1), None, limit)


def line(connection: sqlite3.Connection, process: str, n: int, dir: Direction) -> StoredLine | None:
    if (no := no_of(connection, "process", process)) is None:
        return None
    if dir == "out":
        found = connection.execute(f"{_LINE} WHERE process.no = ? AND line.id = ?", (no, line_id(no, n, 0))).fetchone()
    else:
        sql = f"{_LINE} WHERE process.no = ? AND line.id BETWEEN ? AND ? AND line.id & 16383 > 0 AND n = ?"
        found = connection.execute(sql, (no, *line_ids(no), bound(n))).fetchone()
    return None if found is None else _line(found)


def last_lines(connection: sqlite3.Connection, process: str) -> LastLines:
    if (no := no_of(connection, "process", process)) is None:
        return LastLines(0, 0)
    sql = "SELECT n FROM line WHERE id BETWEEN ? AND ? AND id & 16383 {} ORDER BY id DESC LIMIT 1"
    last = [connection.execute(sql.format(way), line_ids(no)).fetchone() for way in ("= 0", "> 0")]
    return LastLines(*(row[0] if row else 0 for row in last))


# --- sums

_USAGE_NAMES = {"day": "strftime('%Y-%m-%d', at, 'unixepoch')", "model": "model", "folder": "folder", "session": "session"}


def usage(connection: sqlite3.Connection, by: str, since: float | None, until: float | None) -> list[Usage]:
    name = _USAGE_NAMES[by]
    sql = f"""
        SELECT {name} AS name, count(DISTINCT session || ' ' || seq), total(cost_usd),
               count(DISTINCT CASE WHEN cost_usd IS NULL THEN session || ' ' || seq END),
               sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens)
        FROM turn WHERE at >= ? AND at < ? GROUP BY 1 ORDER BY {"1" if by == "day" else "3 DESC, 1"}
    """
    bounds = (0.0 if since is None else since, 1e18 if until is None else until)
    return [Usage(*row) for row in connection.execute(sql, bounds)]


def away(connection: sqlite3.Connection, after: float, limit: int) -> list[Away]:
    sql = (
        f"SELECT no, {names(SessionRow.__struct_fields__)} FROM session_now WHERE changed_at > ? ORDER BY changed_at DESC LIMIT ?"
    )
    changed = connection.execute(sql, (after, page_of(limit))).fetchall()
    return [_away(connection, row[0], mapper(SessionRow)(row[1:]), after) for row in changed]


def _away(connection: sqlite3.Connection, no: int, session: SessionRow, after: float) -> Away:
    kinds: dict[str, int] = {}
    first = session.last_seq + 1
    sql = f"SELECT id & {SEQ_MOST}, kind, at FROM event WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?"
    for seq, kind, at in connection.execute(sql, (*event_ids(no), AWAY_MOST)):
        if at <= after:
            break
        kinds[kind] = kinds.get(kind, 0) + 1
        first = seq
    return Away(session, first, kinds)


def sizes(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """(sessions, unindexed events, bytes of the database without its log)."""
    count = connection.execute("SELECT count(*) FROM session").fetchone()[0]
    behind = connection.execute("SELECT coalesce(sum(seq - indexed), 0) FROM counter WHERE no > 0").fetchone()[0]
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return count, behind, pages * size
