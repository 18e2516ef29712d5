"""The store on SQLite: one writer thread, readers of their own. Refuses a second hub on the same file."""

from __future__ import annotations

from ropewalk.store.sqlite.store import SqliteStore, open_store

__all__ = ["SqliteStore", "open_store"]
