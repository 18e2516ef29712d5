"""A change of a file as lines: what goes, what comes, where. Refuses to shorten it, and to guess at a file it can't read."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LARGEST = 4 * 1024 * 1024
"""Bytes of a file that is compared; of a larger one only the change itself is shown."""

WORTH = 4_000_000
"""Lines times lines that are compared one by one; more would keep a person waiting."""

NEAR = 3
"""Unchanged lines shown around a change."""

Row = tuple[str, int, str]
GAP: Row = ("@", 0, "")


@dataclass(frozen=True, slots=True)
class Change:
    """``rows``: (sign, line number or 0, text); sign is ``+``, ``-``, ``=`` or ``@`` for a gap."""

    verb: str
    path: str
    rows: tuple[Row, ...]
    note: str = ""

    @property
    def more(self) -> int:
        return sum(sign == "+" for sign, _, _ in self.rows)

    @property
    def less(self) -> int:
        return sum(sign == "-" for sign, _, _ in self.rows)


def change_of(tool: str, given: Mapping[str, Any], folder: str, known: Mapping[str, Any] | None = None) -> Change | None:
    """What Write, Edit or MultiEdit would do to the file as it is now; None where the input has another shape.

    ``known``: the file as the hub had it read where it lies, when this was asked; without it, it is read here.
    """
    path = given.get("file_path")
    if not isinstance(path, str):
        return None
    before = known.get("text") if known is not None else _text(os.path.join(folder, path))
    unread = known is not None and before is None and known.get("exists") is not False
    if tool == "Write" and isinstance(given.get("content"), str):
        verb = "Overwrite" if before is not None or unread else "Create"
        note = f"compared with nothing: {(known or {}).get('why') or 'its text is not known'}" if unread else ""
        return Change(verb, path, _rows(before or "", given["content"]), note)
    edits = given.get("edits") if tool == "MultiEdit" else [given]
    pairs = [_pair(edit) for edit in edits] if isinstance(edits, list) else []
    if not pairs or None in pairs:
        return None
    return _edited(path, before, [pair for pair in pairs if pair is not None])


def changed_since(path: str, folder: str, known: Mapping[str, Any]) -> bool:
    """Whether the file on this machine has another text than the hub read. What can't be read here is not called changed."""
    now = _text(os.path.join(folder, path))
    return now is not None and "text" in known and now != known["text"]


def _pair(edit: Any) -> tuple[str, str, bool] | None:
    if (
        not isinstance(edit, Mapping)
        or not isinstance(edit.get("old_string"), str)
        or not isinstance(edit.get("new_string"), str)
    ):
        return None
    return edit["old_string"], edit["new_string"], bool(edit.get("replace_all"))


def _edited(path: str, before: str | None, pairs: list[tuple[str, str, bool]]) -> Change:
    after, places = before, 0
    for old, new, everywhere in pairs:
        if after is None or not old or old not in after:
            return Change("Change", path, _bare(pairs), "compared with nothing: the file can't be read here, or has other words")
        places += after.count(old) if everywhere else 1
        after = after.replace(old, new) if everywhere else after.replace(old, new, 1)
    note = f"in {places} places" if any(everywhere for _, _, everywhere in pairs) and places > 1 else ""
    return Change("Change", path, _rows(before or "", after or ""), note)


def _bare(pairs: list[tuple[str, str, bool]]) -> tuple[Row, ...]:
    rows: list[Row] = []
    for old, new, everywhere in pairs:
        if rows or everywhere:
            rows.append(("@", 0, "everywhere" if everywhere else ""))
        rows += [("-", 0, line) for line in _lines(old)] + [("+", 0, line) for line in _lines(new)]
    return tuple(rows)


def _rows(before: str, after: str) -> tuple[Row, ...]:
    old, new = _lines(before), _lines(after)
    rows: list[Row] = []
    for kind, a, b, c, d in _opcodes(old, new):
        if kind == "equal":
            rows += [("=", number + 1, old[number]) for number in range(a, b)]
        else:
            rows += [("-", number + 1, old[number]) for number in range(a, b)]
            rows += [("+", number + 1, new[number]) for number in range(c, d)]
    rows = _without_far(rows)
    if before and before.endswith("\n") != after.endswith("\n"):
        rows.append(("@", 0, "a newline at the end" if after.endswith("\n") else "no newline at the end"))
    return tuple(rows)


def _without_far(rows: list[Row]) -> list[Row]:
    """Unchanged lines further than ``NEAR`` from a change become one gap."""
    near = [False] * len(rows)
    for index, (sign, _, _) in enumerate(rows):
        if sign != "=":
            for other in range(max(0, index - NEAR), min(len(rows), index + NEAR + 1)):
                near[other] = True
    kept: list[Row] = []
    for index, row in enumerate(rows):
        if near[index]:
            kept.append(row)
        elif kept and kept[-1] != GAP:
            kept.append(GAP)
    return kept[:-1] if kept and kept[-1] == GAP else kept


def _opcodes(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    """difflib's, for the part between what both begin and end with; past ``WORTH`` that part is old against new as a whole."""
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - head) if old[-1 - n] != new[-1 - n]), most - head)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(a) * len(b) > WORTH:
        middle: list[tuple[str, int, int, int, int]] = [("replace", 0, len(a), 0, len(b))]
    else:
        middle = list(difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes())
    codes = [(kind, i + head, j + head, k + head, m + head) for kind, i, j, k, m in middle]
    start = [("equal", 0, head, 0, head)] if head else []
    end = [("equal", len(old) - tail, len(old), len(new) - tail, len(new))] if tail else []
    return [*start, *codes, *end]


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _text(path: str) -> str | None:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
            return None
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, ValueError):
        return None
