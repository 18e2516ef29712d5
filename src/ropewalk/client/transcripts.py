"""The CLI's own record of a session: where it lies and what is in it. Refuses to write there, and to fail over a torn line.

One JSON object a line. Prompts, answers and tool results are typed as on the wire; the rest (titles, snapshots, attachments, by
version) is kept whole. A CLI that was killed may have written less than it said on the wire: our own log is the record.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..protocol.codec import decode
from ..protocol.messages import Assistant, Garbage, User

LONGEST = 200
"""Characters of a folder's name before newer CLIs (2.1.62, 2.1.326) cut it and add a hash; 2.1.37 keeps no record past the
length that a file system takes."""


class Entry(Struct, frozen=True):
    """One line. ``message`` is set for prompts, answers and tool results; ``fields`` has all of any line."""

    raw: bytes
    kind: str
    """The line's own type: user, assistant, system, attachment, queue-operation …; empty for what is no JSON object."""
    fields: dict[str, Any]
    message: User | Assistant | None

    @property
    def uuid(self) -> str | None:
        """The message's id: ``resume_at`` takes that of an answer."""
        return _text(self.fields.get("uuid"))

    @property
    def parent(self) -> str | None:
        """The id of the line that this one follows. A rewound conversation branches here."""
        return _text(self.fields.get("parentUuid"))

    @property
    def at(self) -> str | None:
        """When, in UTC (ISO 8601)."""
        return _text(self.fields.get("timestamp"))

    @property
    def sidechain(self) -> bool:
        """Does it belong to a sub-agent?"""
        return bool(self.fields.get("isSidechain"))


def transcript_path(cwd: str | os.PathLike[str], session_id: str, config_dir: str | os.PathLike[str] | None = None) -> Path:
    """Where the record of that session of that folder is, or would be: ask ``exists()``.

    ``config_dir``: the CLI's own folder, else $CLAUDE_CONFIG_DIR, else ~/.claude. Read it with ``read_transcript``.
    """
    projects = _config_folder(config_dir) / "projects"
    name, file = project_name(cwd), f"{session_id}.jsonl"
    if len(name) > LONGEST:
        name = name[:LONGEST]
        folders = (folder for folder in sorted(projects.glob(f"{name}*")) if (folder / file).exists())
        return next(folders, projects / name) / file
    return projects / name / file


def find_transcript(session_id: str, config_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """The record of a session whose folder is not known; ``cwd`` in its entries tells the folder. None when there is none."""
    if re.search(r"[/*?\[\]]", session_id):
        return None
    return next((_config_folder(config_dir) / "projects").glob(f"*/{session_id}.jsonl"), None)


def project_name(cwd: str | os.PathLike[str]) -> str:
    """What the CLI calls a folder: links followed, everything but plain letters and digits a dash (measured on all versions).

    It counts in UTF-16: a sign outside the basic plane becomes two dashes.
    """
    return "".join("-" * (1 + (sign > "\uffff")) if not _PLAIN.match(sign) else sign for sign in os.path.realpath(cwd))


def read_transcript(path: str | os.PathLike[str]) -> Iterator[Entry]:
    """Its entries in order, read as you go. Raises ``OSError`` when the file can't be read, nothing for what is in it."""
    with open(path, "rb") as file:
        for line in file:
            if raw := line.strip():
                yield _entry(raw)


_PLAIN = re.compile("[a-zA-Z0-9]")


def _entry(raw: bytes) -> Entry:
    message = decode(raw)
    fields = {} if isinstance(message, Garbage) else message.fields()
    return Entry(raw, _text(fields.get("type")) or "", fields, message if isinstance(message, User | Assistant) else None)


def _config_folder(given: str | os.PathLike[str] | None) -> Path:
    if given is not None:
        return Path(given)
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
