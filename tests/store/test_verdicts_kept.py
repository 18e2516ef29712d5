"""Rules and verdicts over the schemas: kept by every migration and by salvage; a verdict is never changed, never removed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ropewalk.errors import ConditionFailed
from ropewalk.store.base import Change, Entry, Remove, put
from ropewalk.store.rows import QuestionRow, RuleRow, VerdictRow
from ropewalk.store.sqlite import open_store
from ropewalk.store.sqlite.check import check
from ropewalk.store.sqlite.migrations import migrate, scripts
from ropewalk.store.sqlite.salvage import salvage
from tests.store.words import begin, facts, texts

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("version", [1, 2])
async def test_what_earlier_schemas_held_of_questions_verdicts_and_rules_is_there_in_ours(tmp_path: Path, version: int) -> None:
    """ours: rows are kept, and new columns say what can be known of them"""
    with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as old:
        migrate(old, scripts()[:version])
        old.execute(
            "INSERT INTO question VALUES ('q','s','p','r','permission','Bash',x'7b7d',x'7b7d','answered',1,2,'Mia','web',NULL,3)"
        )
        old.execute(
            "INSERT INTO verdict VALUES ('v','s','q','Bash','Run: ls','allow','person','','Mia','Mia','web',x'7b7d',NULL,2)"
        )
        rule = "INSERT INTO rule VALUES (?,'deny',?,?,'everywhere','','Mia','',1,NULL,NULL,7,NULL)"
        old.executemany(rule, [("r1", "Bash", "curl:*"), ("r2", "WebFetch", "")])
    async with open_store(tmp_path / "db") as store:
        question = await store.get(QuestionRow, "q")
        assert question is not None and (question.state, question.by, question.delivered_at) == ("answered", "Mia", 3.0)
        verdict = await store.get(VerdictRow, "v")
        assert verdict is not None and (verdict.behavior, verdict.by, verdict.tool_use, verdict.rules) == (
            "allow",
            "Mia",
            None,
            [],
        )
        rules = {row.id: row for row in await store.find(RuleRow)}
        assert {name: (row.text, row.hits, row.ended_at) for name, row in rules.items()} == {
            "r1": ("Bash(curl:*)", 7, None),
            "r2": ("WebFetch", 7, None),
        }
    with closing(sqlite3.connect(tmp_path / "db")) as now:
        assert now.execute("PRAGMA user_version").fetchone() == (len(scripts()),)


def row_of(name: str) -> VerdictRow:
    return VerdictRow(id=name, session="s", tool="Bash", what="Run: ls", behavior="deny", because_kind="rule", at=1.0)


async def test_a_verdict_is_never_changed_and_never_removed(tmp_path: Path) -> None:
    """PROOF S46: by nobody, and whoever tries harms nothing else"""
    async with open_store(tmp_path / "db") as store:
        await begin(store)
        await store.append(Entry(rows=[put(row_of("v"))]))
        other = row_of("v")
        other.behavior = "allow"
        for attempt in (
            Change("verdict", {"id": "v"}, {"behavior": "allow"}),
            Remove("verdict", {"id": "v"}),
            put(other),
            put(other, over=True),
        ):
            with pytest.raises(ConditionFailed):
                await store.append(Entry(rows=[attempt]))
        assert (await store.get(VerdictRow, "v")) == row_of("v")
        await store.append(facts("a"))
        assert store.health.well and await texts(store) == [(1, "a")]
    with closing(sqlite3.connect(tmp_path / "db")) as stranger:
        for sql in ("UPDATE verdict SET behavior = 'allow'", "DELETE FROM verdict"):
            with pytest.raises(sqlite3.IntegrityError, match="a verdict is never"):
                stranger.execute(sql)


async def test_rules_and_verdicts_are_salvaged(tmp_path: Path) -> None:
    """ours: with all that they say, and they still can't be changed"""
    async with open_store(tmp_path / "db") as store:
        await begin(store)
        deny = RuleRow(id="r", text="Bash(curl:*)", behavior="deny", tool="Bash", pattern="curl:*", by="Mia", note="not here")
        await store.append(Entry(rows=[put(deny), *(put(row_of(f"v{at}")) for at in range(50))]))
    saved = salvage(tmp_path / "db", tmp_path / "saved")
    assert (saved.kept["rule"], saved.kept["verdict"], saved.unsound, saved.holes) == (1, 50, 0, 0)
    assert check(tmp_path / "saved") == []
    async with open_store(tmp_path / "saved") as store:
        assert await store.find(RuleRow) == [deny]
        assert await store.find(VerdictRow, limit=100) == [row_of(f"v{at}") for at in range(50)]
        with pytest.raises(ConditionFailed):
            await store.append(Entry(rows=[Remove("verdict", {"id": "v1"})]))
