"""Rules as faces see them. Pure; refuses to read anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ..events import views as v
from ..permissions.rulefile import RuleFile
from ..permissions.rules import Rule
from ..permissions.secrets import built_in
from ..sessions.inforce import InForce
from ..store.rows import RuleRow


def rule_view(row: RuleRow, titles: Mapping[str, str]) -> v.RuleView:
    ends_with: Literal["", "turn", "session"] = "turn" if row.turn is not None else "session" if row.scope == "session" else ""
    return v.RuleView(
        id=row.id, text=row.text, behavior=row.behavior, scope=row.scope, place=row.place,  # type: ignore[arg-type]
        place_title=titles.get(row.place, ""), by=row.by, door=row.door, question=row.question, session=row.session,
        note=row.note, created_at=row.created_at, ends_at=row.ends_at, uses_left=row.uses_left, ends_with=ends_with,
        hits=row.hits,        hit_at=row.hit_at, ended_at=row.ended_at, ended_why=row.ended_why,
    )  # fmt: skip


def built_in_views(rules: InForce) -> list[v.RuleView]:
    """All of them, also those that are switched off."""
    off = {rule.id for rule in built_in()} - {rule.id for rule in built_in(sorted({*rules.off, *rules.file.off}))}
    return [
        v.RuleView(
            id=rule.id, text=rule.text, behavior=rule.behavior, source="built_in", note=rule.note, enabled=rule.id not in off
        )
        for rule in built_in()
    ]


def file_views(file: RuleFile, path: str, configured: Sequence[Rule]) -> list[v.RuleView]:
    """Of the file with rules, and those that the configuration allows."""
    allowed = [
        v.RuleView(id=f"file:configuration:{number}", text=rule.text, behavior="allow", source="file", file="the configuration")
        for number, rule in enumerate(configured, 1)
    ]
    return allowed + [
        v.RuleView(
            id=f"file:{number}", text=rule.text, behavior=rule.behavior, scope=rule.scope, place=rule.place, source="file",
            file=path, note=rule.note,
        )
        for number, rule in enumerate(file.rules, 1)
    ]  # fmt: skip
