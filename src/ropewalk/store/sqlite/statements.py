"""Changes and conditions as SQL, values as SQLite takes them. Refuses names that are no table or column of ours."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from ropewalk.store.base import Change, Condition, Less, More, Plus, Put, Remove, SeqOf, Value, cleaned
from ropewalk.store.rows import TABLES

Bound = str | int | float | bytes | None

INTEGER_MOST, INTEGER_LEAST = 2**63 - 1, -(2**63)
OWN = frozenset({"last_seq"})
"""Columns that are read and never written: the store counts them."""
GIVEN_ONCE = frozenset({"epoch"})
"""Columns of a session that only the store changes later."""


def bound(value: Value | object, first_seq: int = 0) -> Bound:
    """A value as SQLite takes it. Raises TypeError for what it never takes."""
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, int):
        return min(max(int(value), INTEGER_LEAST), INTEGER_MOST)
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, SeqOf):
        return first_seq + value.index
    if isinstance(value, Plus):
        return value.amount
    if isinstance(value, list | tuple):
        return msgspec.json.encode([cleaned(item) if isinstance(item, str) else item for item in value]).decode()
    raise TypeError(f"a {type(value).__name__} can't be stored in a column")


@cache
def _checked(table: str, columns: tuple[str, ...]) -> None:
    if table not in TABLES:
        raise ValueError(f"there is no table {table}")
    if unknown := set(columns) - set(TABLES[table].__struct_fields__):
        raise ValueError(f"{table} has no {', '.join(sorted(unknown))}")


@cache
def _insert(table: str, columns: tuple[str, ...], over: bool) -> str:
    _checked(table, columns)
    names = ", ".join(f'"{name}"' for name in columns)
    sql = f'INSERT INTO "{table}" ({names}) VALUES ({", ".join("?" * len(columns))})'
    if not over:
        return sql
    key = TABLES[table].key
    sets = ", ".join(f'"{name}" = excluded."{name}"' for name in columns if name not in key and name not in GIVEN_ONCE)
    return f"{sql} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {sets}" if sets else f"{sql} ON CONFLICT DO NOTHING"


def insert(put: Put, first_seq: int) -> tuple[str, list[Bound]]:
    columns = tuple(name for name in put.values if name not in OWN)
    return _insert(put.table, columns, put.over), [bound(put.values[name], first_seq) for name in columns]


def conditions(table: str, *wheres: Mapping[str, Condition]) -> tuple[str, list[Bound]]:
    """``WHERE`` text (without the word) and its values; ``1`` for none."""
    terms: list[str] = []
    values: list[Bound] = []
    for where in wheres:
        _checked(table, tuple(where))
        for name, wanted in where.items():
            if isinstance(wanted, More | Less):
                terms.append(f'"{name}" {">" if isinstance(wanted, More) else "<"} ?')
                values.append(bound(wanted.than))
            elif isinstance(wanted, tuple):
                terms.append(f'"{name}" IN ({", ".join("?" * len(wanted))})')
                values += map(bound, wanted)
            elif wanted is None:
                terms.append(f'"{name}" IS NULL')
            else:
                terms.append(f'"{name}" = ?')
                values.append(bound(wanted))
    return " AND ".join(terms) or "1", values


def _set(name: str, value: Value) -> str:
    return f'"{name}" = coalesce("{name}", 0) + ?' if isinstance(value, Plus) else f'"{name}" = ?'


def update(change: Change, first_seq: int) -> tuple[str, list[Bound]]:
    _checked(change.table, tuple(change.set))
    if change.table == "session" and (owned := (OWN | GIVEN_ONCE) & set(change.set)):
        raise ValueError(f"{', '.join(sorted(owned))} of a session is written by the store alone")
    where, values = conditions(change.table, change.key, change.where)
    sets = ", ".join(_set(name, value) for name, value in change.set.items())
    sql = f'UPDATE "{change.table}" SET {sets} WHERE {where}'
    return sql, [bound(value, first_seq) for value in change.set.values()] + values


def delete(remove: Remove) -> tuple[str, list[Bound]]:
    where, values = conditions(remove.table, remove.key, remove.where)
    return f'DELETE FROM "{remove.table}" WHERE {where}', values


SIZES = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Rows in one statement. sqlite3 lets go of the interpreter's lock at each statement, and a busy loop gives it back only
after the switch interval: with a row a statement (executemany) a spinning loop left 700 rows/s. So the last statement is filled
up with empty rows, which cost less than further statements for the rest."""


class ManyRows:
    """Inserts many rows of one width with few statements. Their first value is never None."""

    def __init__(self, head: str, width: int, tail: str = "", more: str = "") -> None:
        """``more``: what stands in every row behind the values."""
        one = f"({', '.join('?' * width)}{more})"
        self._width = width
        self._sql = {
            size: f"{head} SELECT * FROM (VALUES {', '.join([one] * size)}) WHERE column1 IS NOT NULL {tail}" for size in SIZES
        }

    def run(self, execute: Any, flat: list[Any]) -> None:
        """``flat``: the values of all rows, one after the other."""
        at, rows = 0, len(flat) // self._width
        while at < rows:
            size = SIZES[min(bisect_left(SIZES, rows - at), len(SIZES) - 1)]
            part = flat[at * self._width : (at + size) * self._width]
            execute(self._sql[size], part + [None] * (size * self._width - len(part)))
            at += size


EVENTS = ManyRows("INSERT INTO event (id, epoch, kind, at, process, line_no, part, crc, body)", 9)
UNKEPT = ManyRows("INSERT INTO event (id, epoch, kind, at, process, line_no, part, crc, body, unkept)", 9, more=", 1")
LINES = ManyRows("INSERT INTO line (id, n, at, crc, raw)", 5)
COUNTERS = ManyRows("INSERT INTO counter (no, seq)", 2, "ON CONFLICT (no) DO UPDATE SET seq = excluded.seq")


def names(columns: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)
