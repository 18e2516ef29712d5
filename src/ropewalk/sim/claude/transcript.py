"""The session's file: what was said, kept for --resume. Refuses to replay it on the wire (no real CLI does).

One JSON object a line in ``<config>/projects/<folder with dashes>/<session id>.jsonl``: the prompts, the assistant and user
lines, and, at a clean end, the money spent.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from .session import Json

KEPT = frozenset({"user", "assistant"})


def folder(config_dir: str, cwd: str) -> Path:
    return Path(config_dir) / "projects" / re.sub(r"[^A-Za-z0-9]", "-", cwd)


@dataclass
class Transcript:
    """Entries of one session; `keep` appends. A session without a prompt leaves no file."""

    path: Path
    entries: list[Json] = field(default_factory=list)

    @classmethod
    def of(cls, config_dir: str, cwd: str, session_id: str) -> Transcript:
        return cls(folder(config_dir, cwd) / f"{session_id}.jsonl")

    def load(self) -> bool:
        """Read what is there; False when there is nothing."""
        if not self.path.is_file():
            return False
        rows = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        self.entries = [entry for row in rows if (entry := _entry(row)) is not None]
        return bool(self.entries)

    def keep(self, line: Json) -> None:
        self.entries.append(line)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        row = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, row)
        finally:
            os.close(descriptor)

    def copy_to(self, other: Transcript) -> None:
        """A fork begins with everything that was said."""
        for entry in self.entries:
            other.keep(entry)

    def cut_after(self, uuid: str) -> bool:
        """Forget what came after a message; False when no such message is known."""
        place = next((n for n, entry in enumerate(self.entries) if entry.get("uuid") == uuid), None)
        if place is None:
            return False
        self.entries, kept = [], self.entries[: place + 1]
        self.path.unlink()
        for entry in kept:
            self.keep(entry)
        return True

    def prompt_uuids(self) -> set[str]:
        return {str(entry["uuid"]) for entry in self.entries if entry.get("type") == "user" and "uuid" in entry}

    def prompts(self) -> int:
        return sum(entry.get("type") == "user" and not entry.get("fromCli") for entry in self.entries)

    def spent(self) -> float:
        """The total that a clean end left; 0 after a kill."""
        return float(self.entries[-1].get("total_cost_usd", 0.0)) if self.entries else 0.0


def _entry(row: str) -> Json | None:
    try:
        entry = json.loads(row)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def newest(config_dir: str, cwd: str) -> str | None:
    """The id of the folder's latest session: what --continue takes."""
    files = sorted(folder(config_dir, cwd).glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    return files[-1].stem if files else None
