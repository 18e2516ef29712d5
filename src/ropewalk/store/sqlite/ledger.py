"""Entries into one transaction: conditions, fences, dense numbers, replays. Refuses threads: whoever holds the connection calls.

Numbers are given here and nowhere else. What the ledger remembers (last seq, last line) is what the file holds: after anything
went wrong it forgets, and reads it again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress

from ropewalk.errors import ConditionFailed, Fenced, StoreError
from ropewalk.store.base import (
    TABLES,
    Change,
    Entry,
    EventLike,
    Line,
    Plus,
    Put,
    Remove,
    RowChange,
    SeqOf,
    Stored,
    Value,
    cleaned,
)  # fmt: skip
from ropewalk.store.delivery import Outcome
from ropewalk.store.sqlite.keys import line_id, line_ids, line_of
from ropewalk.store.sqlite.sheet import Sheet
from ropewalk.store.sqlite.statements import COUNTERS, delete, insert, update

ALONE = (StoreError, ValueError, TypeError, OverflowError, RecursionError)
"""What is the fault of one entry, beside what ``_alone`` says of SQLite's own errors: it fails alone."""

NOT_THE_DISK = {
    sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE, sqlite3.SQLITE_MISUSE,
    sqlite3.SQLITE_TOOBIG,
}  # fmt: skip


class _Undo(Exception):
    """An entry failed after it had changed a row: the batch begins again, each entry by itself."""


def _alone(error: Exception) -> bool:
    """Binding a value that SQLite does not take has no code."""
    code = getattr(error, "sqlite_errorcode", None)
    return not isinstance(error, sqlite3.Error) or code is None or (code & 0xFF) in NOT_THE_DISK


class _Session:
    __slots__ = ("epoch", "no", "seq")

    def __init__(self, no: int, epoch: int, seq: int) -> None:
        self.no, self.epoch, self.seq = no, epoch, seq


class _Process:
    """``out``: the last stored line that it said; ``since``: how many we wrote to it after that one.

    ``heard``: no line beyond this one is stored, or has left events.
    """

    __slots__ = ("heard", "no", "out", "since")

    def __init__(self, no: int, out: int, since: int, heard: int) -> None:
        self.no, self.out, self.since, self.heard = no, out, since, max(out, heard)


class Ledger:
    """One connection's writer. ``doubt`` is the number of the commit that is being made, and what it will have meant."""

    def __init__(self, connection: sqlite3.Connection, at_point: Callable[[str], None] | None = None) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._at_point = at_point
        self._sessions: dict[str, _Session] = {}
        self._processes: dict[str, _Process] = {}
        self._sheet = Sheet()
        self._touched: dict[int, int] = {}
        self._later: dict[str, dict[str, Value]] = {}  # plain changes of sessions: only the last of a batch counts
        self._changed = False
        self.grown: dict[int, int] = {}
        """Session number → last seq, of those that got events; whoever keeps the index takes from it."""
        self.commits: int = self._execute("SELECT seq FROM counter WHERE no = 0").fetchone()[0]
        self.doubt: tuple[int, list[Outcome]] | None = None

    def raise_epochs(self, owner: str) -> dict[str, int]:
        """Take every session, in a transaction of its own."""
        self.forget()
        with self._connection:
            self._execute("BEGIN IMMEDIATE")
            self._execute("UPDATE session SET epoch = epoch + 1, owner = ?", (cleaned(owner),))
            return dict(self._execute("SELECT id, epoch FROM session").fetchall())

    def forget(self) -> None:
        """Something was rolled back: nothing remembered is believed."""
        self._sessions.clear()
        self._processes.clear()
        self._drop()

    def _drop(self) -> None:
        self._sheet.clear()
        self._touched, self._later = {}, {}

    def commit(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Store them in one transaction. Each has its outcome; a disk that fails raises ``sqlite3.Error`` for all of them."""
        try:
            return self._transact(entries, self._together)
        except _Undo:
            return self._transact(entries, self._apart)

    def _transact(self, entries: Sequence[Entry], way: Callable[[Sequence[Entry]], list[Outcome]]) -> list[Outcome]:
        self.doubt = None
        try:
            self._execute("BEGIN IMMEDIATE")
            outcomes = way(entries)
            self._touched[0] = self.commits + 1
            COUNTERS.run(self._execute, [number for pair in self._touched.items() for number in pair])
            self.doubt = (self.commits + 1, outcomes)
            self._point("store: before commit")
            self._execute("COMMIT")
        except BaseException:
            self.forget()
            with suppress(sqlite3.Error):
                self._connection.rollback()
            raise
        self.commits += 1
        del self._touched[0]
        self.grown.update(self._touched)
        self._drop()
        self._point("store: after commit")
        return outcomes

    def _point(self, name: str) -> None:
        if self._at_point is not None:
            self._at_point(name)

    def _together(self, entries: Sequence[Entry]) -> list[Outcome]:
        """The fast way: rows one by one, events and lines of all entries at once, and nothing to undo."""
        outcomes: list[Outcome] = []
        for entry in entries:
            self._changed = False
            try:
                outcomes.append(self._one(entry))
            except (sqlite3.Error, *ALONE) as error:
                if not _alone(error):
                    raise
                if self._changed:
                    raise _Undo from error
                outcomes.append(error)
        try:
            self._flush()
        except (sqlite3.Error, *ALONE) as error:
            raise (_Undo if _alone(error) else error) from error
        return outcomes

    def _apart(self, entries: Sequence[Entry]) -> list[Outcome]:
        """The slow way: each by itself, so that only what can't be stored is undone."""
        outcomes: list[Outcome] = []
        for entry in entries:
            before = dict(self._touched)
            self._execute("SAVEPOINT entry")
            try:
                outcome: Outcome = self._one(entry)
                self._flush()
            except (sqlite3.Error, *ALONE) as error:
                if not _alone(error):
                    raise
                self._execute("ROLLBACK TO entry")
                self.forget()
                self._touched = before
                outcome = error
            self._execute("RELEASE entry")
            outcomes.append(outcome)
        return outcomes

    def _flush(self) -> None:
        self._write_later()
        self._sheet.write(self._execute)

    def _one(self, entry: Entry) -> Stored:
        if entry.epoch:
            self._fence(entry)
        if entry.line_no is not None and self._replayed(entry):
            return Stored(entry, [], True)
        if entry.rows:
            self._change(entry)
        bodies = self._take_events(entry) if entry.events else []
        if entry.lines:
            self._take_lines(entry)
        return Stored(entry, bodies)

    def _fence(self, entry: Entry) -> None:
        known = self._sessions.get(entry.session) or self._load(entry.session)
        if known is not None and entry.epoch < known.epoch:
            raise Fenced(entry.session, entry.epoch, known.epoch)

    def _change(self, entry: Entry) -> None:
        known = (self._sessions.get(entry.session) or self._load(entry.session)) if entry.events else None
        first_seq = known.seq + 1 if known else 1
        for change in entry.rows:
            self._change_one(change, first_seq)
            self._changed = True

    def _waits(self, change: RowChange) -> bool:
        """A status changes with every tool: what nobody can see between two statements of one commit is left out."""
        if change.table != "session":
            return False
        if isinstance(change, Change) and not change.must and not change.where and list(change.key) == ["id"]:
            values, id = change.set.values(), change.key["id"]
            if isinstance(id, str) and not any(isinstance(value, Plus | SeqOf) for value in values):
                self._later.setdefault(id, {}).update(change.set)
                return True
        self._write_later()
        return False

    def _write_later(self) -> None:
        later, self._later = self._later, {}
        for id, values in later.items():
            self._execute(*update(Change("session", {"id": id}, values, must=False), 0))

    def _change_one(self, change: RowChange, first_seq: int) -> None:
        if self._waits(change):
            return
        if isinstance(change, Put):
            sql, values = insert(change, first_seq)
            try:
                self._execute(sql, values)
            except sqlite3.IntegrityError as error:
                key: dict[str, object] = {name: change.values.get(name) for name in TABLES[change.table].key}
                raise ConditionFailed(change.table, key, f"this {change.table} can't be added: {error}") from None
            return
        sql, values = update(change, first_seq) if isinstance(change, Change) else delete(change)
        try:
            found = self._execute(sql, values).rowcount
        except sqlite3.IntegrityError as error:  # what may not be changed: a fault of the entry, and no sickness of the disk
            raise ConditionFailed(change.table, {**change.key, **change.where}, str(error)) from None
        if not found and change.must:
            raise ConditionFailed(change.table, {**change.key, **change.where})
        if isinstance(change, Remove):
            self._sessions.clear()
            self._processes.clear()

    # --- events and lines

    def _load(self, session: str) -> _Session | None:
        sql = "SELECT no, epoch, coalesce(seq, 0) FROM session LEFT JOIN counter USING (no) WHERE id = ?"
        row = self._execute(sql, (session,)).fetchone()
        if row is None:
            return None
        # Given in this transaction, and not in the file before its end.
        known = self._sessions[session] = _Session(row[0], row[1], max(row[2], self._touched.get(row[0], 0)))
        return known

    def _process(self, id: str) -> _Process:
        known = self._processes.get(id)
        if known is None:
            row = self._execute("SELECT no FROM process WHERE id = ?", (id,)).fetchone()
            if row is None:
                raise ConditionFailed("process", {"id": id}, f"there is no process {id}")
            last = self._execute("SELECT max(id) FROM line WHERE id BETWEEN ? AND ?", line_ids(row[0])).fetchone()[0]
            sql = "SELECT max(line_no) FROM event WHERE process = ? AND unkept IS NOT NULL"
            heard = self._execute(sql, row).fetchone()[0]
            known = self._processes[id] = _Process(row[0], *(line_of(last) if last else (0, 0)), heard or 0)
        return known

    def _replayed(self, entry: Entry) -> bool:
        """A line beyond all that were heard is new without a look into the file; any other is looked up."""
        n = entry.line_no
        if entry.process is None or n is None:
            raise ValueError("a line_no needs the process whose line it is")
        process = self._process(entry.process)
        if n > process.heard:
            process.heard = entry.lines[-1].n if entry.parts else n
            return False
        if entry.parts:
            self._leave_out_replayed(entry, process)
            return not entry.parts
        return self._is_stored(process, n)

    def _leave_out_replayed(self, entry: Entry, process: _Process) -> None:
        """Only what of a run is new stays in it."""
        events, lines, parts, at = list[EventLike](), list[Line](), list[int](), 0
        for line, count in zip(entry.lines, entry.parts, strict=True):
            if not self._is_stored(process, line.n):
                lines.append(line)
                parts.append(count)
                events += entry.events[at : at + count]
            at += count
        entry.events, entry.lines, entry.parts = events, lines, parts
        process.heard = max([process.heard, *(line.n for line in lines)])

    def _is_stored(self, process: _Process, n: int) -> bool:
        kept, unkept = "FROM line WHERE id = ?", "FROM event WHERE process = ? AND line_no = ? AND unkept IS NOT NULL"
        sql = f"SELECT EXISTS (SELECT 1 {kept}) OR EXISTS (SELECT 1 {unkept})"
        return bool(self._execute(sql, (line_id(process.no, n, 0), process.no, n)).fetchone()[0])

    def _take_lines(self, entry: Entry) -> None:
        if entry.parts:
            process = self._process(entry.process or "")
            self._sheet.add_run(process.no, entry.lines)
            if (last := entry.lines[-1].n) > process.out:
                process.out, process.since = last, 0
            return
        for line, id in [(line, self._line_id(line)) for line in entry.lines]:
            self._sheet.add_line(id, line)

    def _line_id(self, line: Line) -> int:
        process = self._process(line.process)
        if line.dir == "in":
            process.since += 1
            return line_id(process.no, process.out, process.since)
        if line.n > process.out:
            process.out, process.since = line.n, 0
        return line_id(process.no, line.n, 0)

    def _take_events(self, entry: Entry) -> list[bytes]:
        known = self._sessions.get(entry.session) or self._load(entry.session)
        if known is None:
            raise ConditionFailed("session", {"id": entry.session}, f"there is no session {entry.session}")
        process = None if entry.line_no is None else self._process(entry.process or "").no
        bodies = self._sheet.add_events(entry, known.no, known.epoch, known.seq, process)
        known.seq += len(bodies)
        self._touched[known.no] = known.seq
        self._changed = True
        return bodies
