"""The lines that the hub's measures send: one long turn of whole blocks. Refuses to hold recorded words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from bench.corpus import LINES, SEED, Line, Maker, encoded


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


def write_whole_lines(folder: Path, *, seed: int = SEED) -> Path:
    """One init, then text, tools and their results. Written unless these very lines are there already; returns the file."""
    return _written(folder / f"whole-{seed}-{LINES}.jsonl", seed, lambda line: True)


def write_text_lines(folder: Path, *, seed: int = SEED) -> Path:
    """One init, then text lines alone: each is one event and changes nothing else, for the prototype and for the hub."""
    return _written(folder / f"text-{seed}-{LINES}.jsonl", seed, _is_text)


def _is_text(line: Line) -> bool:
    message = line["message"]
    return isinstance(message, dict) and message["content"][0]["type"] == "text"


def _written(path: Path, seed: int, wanted: Callable[[Line], bool]) -> Path:
    if not path.exists():
        turn = Turn(seed)
        made = (encoded(line) for line in turn.whole() if wanted(line))
        half = path.with_suffix(".half")
        half.write_bytes(b"".join([encoded(turn._init()), *(next(made) for _ in range(LINES - 1))]))
        half.replace(path)
    return path
