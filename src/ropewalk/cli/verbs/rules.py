"""``rules test``: one request tried, or one a line, by rules given with it or by the hub's. Refuses to run or save anything."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import HubUnreachable, RopewalkError, UsageError
from ...permissions.rulebook import Rulebook
from ...permissions.tools import READS, WRITES
from ..asked import COLORS, check_choice
from ..codes import DONE, UNREACHABLE
from ..judging import Asked, Json, asked_from, book_from_file, book_from_lists, judged, said
from ..parts import draw_verdict
from ..screen import Screen, look_around

if TYPE_CHECKING:
    from ...client.remote import Remote

SAYS = {"Bash": "command", "WebFetch": "url", "WebSearch": "query", **READS, **WRITES, "Glob": "pattern", "Grep": "pattern"}
"""What the one word on the command line is to each tool."""
GIVE = "start one with `ropewalk serve`, or give the rules: --rules FILE"


def test(
    words: str | None, *, tool: str, given: str | None, cwd: str, rules: str | None, jsonl: bool, resolve: bool,
    as_json: bool, color: str, ascii_only: bool,
) -> int:  # fmt: skip
    """Its exit code: 0 whatever the verdict, 3 where a hub was needed and none runs. Raises ``UsageError``."""
    check_choice("color", color, COLORS)
    folder = os.path.abspath(os.path.expanduser(cwd))
    book = book_from_file(Path(rules)) if rules is not None else None
    if jsonl:
        if words is not None or given is not None:
            raise UsageError("--jsonl reads its requests from stdin: leave COMMAND and --input out")
        return _lines(folder, book, resolve)
    asked, from_stdin = _one(words, tool, given, folder)
    with HubOfUser() as hub:
        answer = _answer(asked, book, hub, resolve=True)
    if as_json or from_stdin:
        sys.stdout.write(json.dumps(answer) + "\n")
    else:
        draw_verdict(Screen(look_around(color, ascii_only=ascii_only, answer=True)), answer)
    return DONE


def _one(words: str | None, tool: str, given: str | None, cwd: str) -> tuple[Asked, bool]:
    """The request, and whether it came as JSON on stdin. Raises ``UsageError``."""
    if words is not None and given is not None:
        raise UsageError("COMMAND and --input both say what the tool gets: choose one")
    if given is not None:
        return asked_from(json.dumps({"tool": tool, "input": _object(given)}), cwd), False
    if words is not None:
        if tool not in SAYS:
            raise UsageError(f"what {words!r} is to {tool} is not known: say it with --input '{{…}}'")
        return Asked(tool, {SAYS[tool]: words}, cwd), False
    if sys.stdin.isatty():
        raise UsageError("there is nothing to test; give a command: ropewalk rules test 'git status', or a request on stdin")
    return asked_from(sys.stdin.buffer.read(), cwd), True


def _object(given: str) -> Any:
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        raise UsageError('--input is a JSON object such as the tool gets: \'{"file_path": "src/a.py"}\'') from None


def _book_for(asked: Asked, book: Rulebook | None) -> Rulebook | None:
    """The request's own rules first."""
    return book_from_lists(asked.rules) if asked.rules is not None else book


def _answer(asked: Asked, book: Rulebook | None, hub: HubOfUser, *, resolve: bool) -> Json:
    """By the request's own rules, else by the file's, else by the saved ones."""
    found = book_from_lists(asked.rules) if asked.rules is not None else book
    return judged(asked, found, resolve=resolve) if found is not None else hub.answer(asked)


class HubOfUser:
    """The hub, looked for when a request first needs it. Use it in a ``with``."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._remote: Remote | None = None
        self.missing: HubUnreachable | None = None

    def __enter__(self) -> HubOfUser:
        return self

    def __exit__(self, *_: object) -> None:
        if self._runner is not None and self._remote is not None:
            self._runner.run(self._remote.close())
        if self._runner is not None:
            self._runner.close()

    def answer(self, asked: Asked) -> Json:
        """By the rules that are saved. Raises ``HubUnreachable`` with both ways out; once gone it is not waited for again."""
        if self.missing is not None:
            raise self.missing
        self._runner = self._runner or asyncio.Runner()
        try:
            told = self._runner.run(self._ask(asked))
        except HubUnreachable as error:
            self.missing = HubUnreachable(f"{str(error).partition(';')[0]}, and no rules are given; {GIVE}")
            raise self.missing from None
        parts = told.get("parts", [])
        rows = (
            (part["text"], *(part.get(name, "") for name in ("kind", "verdict", "because")), part.get("tags", []))
            for part in parts
        )
        return said(told["behavior"], told["because"], rows)

    async def _ask(self, asked: Asked) -> Json:
        if self._remote is None:
            from ...config import load  # noqa: PLC0415 - with rules given, nothing of the hub's is loaded
            from ..found import find_hub  # noqa: PLC0415 - the same
            from .asking import connected, quiet_logs  # noqa: PLC0415 - the same

            quiet_logs()
            config = load()
            self._remote = connected(config, find_hub(config))
        return await self._remote.test_rules(asked.tool, asked.input, asked.cwd)


# -- many


def _lines(cwd: str, book: Rulebook | None, resolve: bool) -> int:
    """One line out for each line in, at once: a program may wait for each."""
    with HubOfUser() as hub:
        for line in sys.stdin.buffer:
            try:
                answer = _answer(asked_from(line, cwd), book, hub, resolve=resolve)
            except (RopewalkError, ValueError, RecursionError) as wrong:
                answer = {"error": str(wrong) or type(wrong).__name__}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
        return DONE if hub.missing is None else UNREACHABLE
