"""Commands taken apart, by class: what must come out plain, what must be doubted, what is dangerous, which files are opened."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ropewalk.permissions.shell import Script, taken_apart

FOLDER = Path(__file__).with_name("corpus") / "shell"


def classes(name: str) -> list[Any]:
    found = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    return [pytest.param(kind["cases"], id=title.replace(" ", "-")) for title, kind in found.items()]


def programs(script: Script) -> list[str]:
    return [part.words[0].text for part in script.parts if part.kind == "command" and part.words]


def doubts(script: Script) -> str:
    return script.doubt or next((part.doubt for part in script.parts if part.doubt), "")


def wrong(cases: list[list[Any]], judge: Any) -> list[str]:
    return [f"{case[0]!r}: {problem}" for case in cases if (problem := judge(taken_apart(case[0]), *case[1:]))]


@pytest.mark.parametrize("cases", classes("plain"))
def test_everyday_commands_are_understood_without_a_doubt(cases: list[list[Any]]) -> None:
    """Ours: whoever is asked about `git status && npm test` stops reading the questions."""

    def judge(script: Script, expected: str) -> str:
        danger = next((part.danger for part in script.parts if part.danger), "")
        return doubts(script) or danger or ("" if programs(script) == expected.split() else f"found {programs(script)}")

    assert wrong(cases, judge) == []


@pytest.mark.parametrize("cases", classes("doubt"))
def test_what_bash_could_read_otherwise_is_a_doubt_and_its_programs_are_still_seen(cases: list[list[Any]]) -> None:
    """PROOF's classes of shell holes, published ones among them."""

    def judge(script: Script, seen: str) -> str:
        missing = [name for name in seen.split() if name not in programs(script)]
        return "no doubt" if not doubts(script) else f"did not see {missing} in {programs(script)}" if missing else ""

    assert wrong(cases, judge) == []


@pytest.mark.parametrize("cases", classes("danger"))
def test_options_that_write_or_run_are_named(cases: list[list[Any]]) -> None:
    """ours: a prefix rule needs knowledge of its program's dangerous options, or asks."""

    def judge(script: Script, word: str) -> str:
        named = [each for part in script.parts for each in part.danger_words]
        return "" if word in named and any(part.danger for part in script.parts) else f"named {named}"

    assert wrong(cases, judge) == []


@pytest.mark.parametrize("cases", classes("apart"))
def test_a_command_is_taken_apart_into_its_parts_with_their_folders(cases: list[list[Any]]) -> None:
    """Ours; cd, then write past the protection, is CVE-2026-25722."""

    def judge(script: Script, expected: list[list[str]]) -> str:
        found = [[part.kind, part.text, "?" if part.folder is None else part.folder] for part in script.parts]
        return script.doubt or ("" if found == expected else f"found {found}")

    assert wrong(cases, judge) == []


@pytest.mark.parametrize("cases", classes("files"))
def test_the_files_of_known_programs_are_found(cases: list[list[Any]]) -> None:
    """Ours: rules for Read and Edit cover what an understood program would open."""

    def judge(script: Script, reads: list[str], writes: list[str]) -> str:
        part = script.parts[0]
        found = (list(part.reads), list(part.writes), part.understood_files)
        return "" if found == (reads, writes, True) else f"found {found}"

    assert wrong(cases, judge) == []
