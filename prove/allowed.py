"""What may be allowed: by a rule that was there, by a grant with uses left, by a person; each with a verdict that was kept.

Knows the rules of a house without asking them (`script.ruled`). Refuses nothing; it says what is wrong.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from .book import Book
from .people import People
from .script import ruled

ASKED = b'"can_use_tool"'


class Allowing:
    def __init__(self, book: Book, people: People) -> None:
        self._book, self._people = book, people
        self._requests: dict[tuple[str, str], dict[str, Any]] = {}
        for process, lines in book.lines.items():
            for raw in lines.values():
                if ASKED in raw:
                    line = json.loads(raw)
                    self._requests[process, str(line.get("request_id"))] = line.get("request") or {}
        self._kept: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in book.verdicts.values():
            if row["behavior"] == "allow":
                self._kept.setdefault((row["session"], row["tool_use"]), []).append(row)

    def why_not(self, process: str, request: str, question: dict[str, Any] | None) -> str:
        """Why this request should not have been allowed; empty: somebody allowed it, and that is on the disk."""
        asked = self._requests.get((process, request))
        if asked is None:
            return f"a CLI was told allow for {request}, which it is not known to have asked"
        session = self._book.processes[process]["session"]
        kept = self._kept.get((session, str(asked.get("tool_use_id"))), [])
        command = str((asked.get("input") or {}).get("command", ""))
        if not kept:
            return f"{command or asked.get('tool_name')} was allowed ({request}), and no verdict is kept"
        if not any(self._stands(row, command, question) for row in kept):
            return f"{command or asked.get('tool_name')} was allowed ({request}) by {kept[0]['because']!r}, which nobody made"
        return ""

    def _stands(self, row: dict[str, Any], command: str, question: dict[str, Any] | None) -> bool:
        if row["because_kind"] == "person":
            return question is not None and self._people.verdicts.get(question["id"]) == "allow"
        if row["because_kind"] == "rule":
            return ruled(command) == "allow"
        rule = self._book.rules.get(row["because_id"])
        return row["because_kind"] == "grant" and rule is not None and rule["text"] == f"Bash({command})"

    def overused(self) -> list[str]:
        """Grants that answered more often than people said, or whose own count is another than that of their verdicts."""
        given = Counter(row["because_id"] for row in self._book.verdicts.values() if row["because_kind"] == "grant")
        asked = {
            str(act.answer.get("id")): act.body["remember"]["uses"]
            for act in self._people.acts
            if act.ok and act.body.get("remember")
        }
        wrong = []
        for name, rule in self._book.rules.items():
            most = asked.get(str(rule["question"]))
            if most is not None and given[name] > most:
                wrong.append(f"the grant {rule['text']} was for {most} uses and answered {given[name]} times")
            if rule["hits"] != given[name]:
                wrong.append(f"the grant {rule['text']} counts {rule['hits']} hits and has {given[name]} verdicts")
        return wrong
