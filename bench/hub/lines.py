"""The lines that the hub's measures send: one long turn of whole blocks. Refuses to hold recorded words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.corpus import SEED, Line, Maker, encoded


class Turn(Maker):
    """Text, a tool's call, its result, and again: lines of which each is stored and told as an event. About 0.8 kB each."""

    def whole(self) -> Iterator[Line]:
        while True:
            self._calls += 1
            call = self._tool_id()
            yield self._assistant({"type": "text", "text": self._say(self._chance.randint(5, 60))})
            given = {"command": self._say(self._chance.randint(2, 12)), "description": self._say(5)}
            yield self._assistant({"type": "tool_use", "id": call, "name": "Bash", "input": given})
            words = self._say(self._chance.randint(5, 60))
            block = {"tool_use_id": call, "type": "tool_result", "content": words, "is_error": False}
            shown = {"stdout": words, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
            message = {"role": "user", "content": [block]}
            told = self._told("user", message=message, parent_tool_use_id=None, timestamp=self._time())
            yield {**told, "tool_use_result": shown}


def write_whole_lines(folder: Path, *, lines: int, seed: int = SEED) -> Path:
    """Write them unless these very ones are there already; returns the file."""
    path = folder / f"whole-{seed}-{lines}.jsonl"
    if not path.exists():
        made = Turn(seed).whole()
        half = path.with_suffix(".half")
        half.write_bytes(b"".join(encoded(next(made)) for _ in range(lines)))
        half.replace(path)
    return path
