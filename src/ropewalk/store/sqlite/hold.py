"""The connection that writes, and the file under it: commit, check that the file is where it was, give up and open again.

Refuses to write on after an error: what a failed fsync left in the system's memory is not what is on the disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ropewalk.store.base import Entry
from ropewalk.store.delivery import Outcome
from ropewalk.store.sqlite.connections import writer
from ropewalk.store.sqlite.ledger import Ledger
from ropewalk.store.sqlite.place import identity
from ropewalk.store.sqlite.readers import Readers
from ropewalk.store.sqlite.sickness import Misplaced
from ropewalk.store.sqlite.witness import Witness, read_told, taken_back

CHECKPOINT_AT_REST, CHECKPOINT_MOST = 1024 * 1024, 16 * 1024 * 1024
"""Bytes of log that are moved into the file when nothing else comes; and at the latest. With more, a flood would be stored a
little quicker; but entries wait meanwhile, and a log that is overwritten syncs cheaper than one that grows."""
COMMIT_BYTES = 32 * 1024
"""What a commit adds to the log beside its entries: the ends of a few indexes."""


class Hold:
    """Used by the writer's thread alone."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, readers: Readers, at_point: Callable[[str], None] | None
    ) -> None:
        self._path, self._readers, self._at_point = path, readers, at_point
        self.connection = connection
        self.ledger = Ledger(connection, at_point)
        self._file, self._wal = identity(str(path)), identity(f"{path}-wal")
        self._logged = 0
        self._witness = Witness(path, connection)

    def commit(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Store them where a restart will find them. Raises ``sqlite3.Error`` or ``Misplaced``: then they are in doubt."""
        outcomes = self.ledger.commit(entries)
        self.check_place()
        self._witness.note(self.ledger.commits, self.ledger.grown)
        return outcomes

    def check_place(self) -> None:
        """That the file and its log are those that we have open. Raises ``Misplaced``."""
        if identity(str(self._path)) != self._file:
            raise Misplaced(f"{self._path} was moved, removed or replaced while the hub runs; put it back, or restart the hub")
        wal = identity(f"{self._path}-wal")
        if wal != self._wal and self._wal is not None:
            raise Misplaced(f"{self._path}-wal was removed or replaced while the hub runs; leave the files beside it alone")
        self._wal = wal

    def logged(self, size: int) -> None:
        """So much was told: move the log into the file when it has grown."""
        self._logged += COMMIT_BYTES + size * 4 // 3
        self._checkpoint(CHECKPOINT_MOST)

    def rest(self) -> None:
        """Nothing waits: what a busy time left in the log can go into the file."""
        self._checkpoint(CHECKPOINT_AT_REST)

    def _checkpoint(self, least: int) -> None:
        """What fails here is in the log still."""
        if self._logged > least:
            self._logged = 0
            with suppress(sqlite3.Error):
                self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def reopen(self) -> None:
        """Give the connection up and take a new one that can see all that is committed, and has it on the disk.

        Raises ``sqlite3.Error`` or ``Misplaced``, as often as it is tried.
        """
        if identity(str(self._path)) != self._file:
            self.check_place()
        if self._wal is not None and identity(f"{self._path}-wal") != self._wal:
            self._rescue_log()
        self.connection.close()
        self.connection = writer(self._path)
        if (lost := taken_back(self.connection, read_told(self._path))) is not None:
            raise Misplaced(lost.refusal(self._path))
        # Reads the log back and writes it into the file: what of it a failed fsync did not bring to the disk is there then.
        self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self.ledger = Ledger(self.connection, self._at_point)
        self._witness.renew(self.connection)
        self._wal = identity(f"{self._path}-wal")

    def _rescue_log(self) -> None:
        """The log has no name any more, but this connection still has it: into the file with it, then let everyone go.

        A reader left open would lend its old view of the log to the new connection.
        """
        self._readers.shut()
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._wal = None

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.connection.close()
        self._witness.close()
