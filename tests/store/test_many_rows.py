"""Many rows in few statements: all of them, none else, in their order."""

from __future__ import annotations

import sqlite3

import pytest

from ropewalk.store.sqlite.statements import SIZES, ManyRows


@pytest.mark.parametrize("count", [0, 1, 3, 6, 64, 65, 1000, 1024, 1025, 3000])
def test_rows_come_whole_in_order_and_with_few_statements(count: int) -> None:
    """Ours: what fills up the last statement leaves no row, and a value that is not set stays so."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE given (id INTEGER, name TEXT, more INTEGER)")
    rows = [(number, None if number % 3 else f"row {number}") for number in range(count)]
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    many = ManyRows("INSERT INTO given (id, name, more)", 2, more=", 7")
    many.run(connection.execute, [value for row in rows for value in row])
    connection.set_trace_callback(None)
    assert connection.execute("SELECT id, name FROM given ORDER BY rowid").fetchall() == rows
    assert connection.execute("SELECT count(*) FROM given WHERE more = 7").fetchone() == (count,)
    assert sum(sql.startswith("INSERT") for sql in asked) == -(-count // SIZES[-1])
    connection.close()


def test_a_row_that_is_there_can_be_put_over() -> None:
    """Ours: the counters of sessions are written so."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE counter (no INTEGER PRIMARY KEY, seq INTEGER)")
    many = ManyRows("INSERT INTO counter (no, seq)", 2, "ON CONFLICT (no) DO UPDATE SET seq = excluded.seq")
    for start in (0, 100):
        many.run(connection.execute, [value for no in range(5) for value in (no, start + no)])
    assert connection.execute("SELECT seq FROM counter ORDER BY no").fetchall() == [(100,), (101,), (102,), (103,), (104,)]
    connection.close()
