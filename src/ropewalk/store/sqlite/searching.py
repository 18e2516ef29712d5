"""Search: words to a safe FTS5 query, hits read back from their events, the index filled in slices. Refuses FTS5's own syntax.

The index is filled by the writer in slices of a few milliseconds between commits, without a pause when nothing else comes. In
the commits themselves it would cost more than storing does. ``counter.indexed`` says how far it is, in the same transaction.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable

from msgspec import MsgspecError

from ropewalk.store.base import Hit, Search, Searchable, Searched, SearchPage, cleaned
from ropewalk.store.sqlite.keys import SEQ_BITS, SEQ_MOST, event_id
from ropewalk.store.sqlite.readers import with_cap
from ropewalk.store.sqlite.statements import bound

CAP_SECONDS = 1.0
WORDS_MOST = 32
TEXT_MOST = 256 * 1024
"""Of one event so much can be found."""
SLICE_SECONDS = 0.005
SLICE_EVENTS = 200


def query(asked: Search) -> str:
    """What FTS5 is asked: every word in quotes, so that none of it is syntax. Empty: nothing to look for."""
    terms = [f"text : {term}" for term in _terms(asked.text, beginning=True)]
    terms += [f"tool : {term}" for term in _terms(asked.tool)]
    terms += [f"path : {term}" for term in _terms(asked.path)]
    return " AND ".join(terms)


def _terms(text: str, beginning: bool = False) -> list[str]:
    found = [phrase or word for phrase, word in re.findall(r'"([^"]*)"|(\S+)', cleaned(text))]
    words = [word.replace('"', '""') for word in found if any(c.isalnum() for c in word)][:WORDS_MOST]
    terms = [f'"{word}"' for word in words]
    if beginning and terms and not text.rstrip().endswith('"') and not text[-1:].isspace():
        terms[-1] += " *"
    return terms


def search(connection: sqlite3.Connection, asked: Search, searched: Searched) -> SearchPage:
    words = query(asked)
    behind = connection.execute("SELECT coalesce(sum(seq - indexed), 0) FROM counter WHERE no > 0").fetchone()[0]
    if not words:
        return SearchPage([], 0, False, behind)
    sql, values = _sql(asked, words)
    hits: list[Hit] = []
    last, cut = 0, False
    with_cap(connection, CAP_SECONDS)
    try:
        for id, session, kind, at, body in connection.execute(sql, values):
            last = id
            hits.append(Hit(session, id & SEQ_MOST, kind, at, text_of(searched, kind, body) or Searchable("")))
            if len(hits) >= max(1, asked.limit):
                break
        else:
            last = 0
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        cut = True
    return SearchPage(hits, last, cut, behind)


def _sql(asked: Search, words: str) -> tuple[str, list[object]]:
    terms, values = ["event_text MATCH ?"], [words]
    wheres: list[tuple[str, object]] = []
    if asked.cursor:
        wheres.append(("event_text.rowid < ?", asked.cursor))
    if asked.since is not None:
        wheres.append(("event.at >= ?", asked.since))
    if asked.until is not None:
        wheres.append(("event.at < ?", asked.until))
    if asked.session:
        ids = "(SELECT no {} << 32 FROM session WHERE id = ?)"
        wheres.append((f"event_text.rowid >= {ids.format('')}", bound(asked.session)))
        wheres.append((f"event_text.rowid < {ids.format('+ 1')}", bound(asked.session)))
    every: list[object] = [*values]
    for term, value in wheres:
        terms.append(term)
        every.append(value)
    if asked.kinds:
        terms.append(f"event.kind IN ({', '.join('?' * len(asked.kinds))})")
        every += asked.kinds
    sql = f"""
        SELECT event.id, session.id, event.kind, event.at, event.body
        FROM event_text JOIN event ON event.id = event_text.rowid JOIN session ON session.no = event.id >> {SEQ_BITS}
        WHERE {" AND ".join(terms)} ORDER BY event_text.rowid DESC
    """
    return sql, every


def text_of(searched: Searched, kind: str, body: bytes) -> Searchable | None:
    """What can be searched for in an event; None also where the reader of that kind can't read it."""
    try:
        return reader(body) if (reader := searched.get(kind)) else None
    except (MsgspecError, ValueError, TypeError, LookupError, AttributeError):
        return None


class Index:
    """Which sessions search does not know to their end, and the next slice of work. The writer's own."""

    def __init__(self, connection: sqlite3.Connection, searched: Searched) -> None:
        self._searched = searched
        self._behind: dict[int, tuple[int, int]] = {}
        self.reload(connection)

    def reload(self, connection: sqlite3.Connection) -> None:
        if self._searched:
            rows = connection.execute("SELECT no, indexed, seq FROM counter WHERE no > 0 AND indexed < seq")
            self._behind = {no: (indexed, seq) for no, indexed, seq in rows}

    @property
    def due(self) -> bool:
        return bool(self._behind)

    def grew(self, connection: sqlite3.Connection, sessions: dict[int, int]) -> None:
        """These have events up to that seq now."""
        if not self._searched:
            return
        for no, seq in sessions.items():
            if no in self._behind:
                self._behind[no] = (self._behind[no][0], seq)
            else:
                row = connection.execute("SELECT indexed FROM counter WHERE no = ?", (no,)).fetchone()
                self._behind[no] = (row[0] if row else 0, seq)

    def stop(self) -> None:
        """It is damaged: what it has can be asked for, nothing is added any more."""
        self._searched, self._behind = {}, {}

    def work(self, connection: sqlite3.Connection) -> None:
        """One slice, in a transaction of its own. Raises ``sqlite3.Error``; then nothing of it was done."""
        until = time.monotonic() + SLICE_SECONDS
        behind = dict(self._behind)
        connection.execute("BEGIN IMMEDIATE")
        try:
            while behind and time.monotonic() < until:
                self._some_of_one(connection, behind, until)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.rollback()
            raise
        self._behind = behind

    def _some_of_one(self, connection: sqlite3.Connection, behind: dict[int, tuple[int, int]], until: float) -> None:
        """The session that waits longest; what is left of it goes behind the others."""
        no, (indexed, seq) = next(iter(behind.items()))
        kinds = list(self._searched)
        upto = min(seq, indexed + SLICE_EVENTS)
        sql = f"SELECT id, kind, body FROM event WHERE id > ? AND id <= ? AND kind IN ({', '.join('?' * len(kinds))}) ORDER BY id"
        rows = connection.execute(sql, (event_id(no, indexed), event_id(no, upto), *kinds))
        done = self._fill(connection, rows, upto, until)
        connection.execute("UPDATE counter SET indexed = ? WHERE no = ?", (done, no))
        del behind[no]
        if done < seq:
            behind[no] = (done, seq)

    def _fill(self, connection: sqlite3.Connection, rows: Iterable[tuple[int, str, bytes]], upto: int, until: float) -> int:
        for id, kind, body in rows:
            if (found := text_of(self._searched, kind, body)) is not None:
                values = (id, cleaned(found.text[:TEXT_MOST]), cleaned(found.tool), cleaned(found.path))
                connection.execute("INSERT INTO event_text (rowid, text, tool, path) VALUES (?, ?, ?, ?)", values)
            if time.monotonic() > until:
                return id & SEQ_MOST
        return upto
