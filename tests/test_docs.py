"""The docs are true where a machine can tell: the module map, links between pages, the commands and names that they mention."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from ropewalk.permissions.rulefile import rules_from_toml
from tests.demand import demand
from tools import reference
from tools.module_map import PACKAGE, PAGE, first_line, with_map

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MODULES = sorted(PACKAGE.rglob("*.py"))


def names(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_module_map_equals_the_tree() -> None:
    """ours: `make map` writes it from the modules' first docstring lines."""
    page = PAGE.read_text("utf-8")
    assert page == with_map(page), "run `make map`"


def test_events_and_settings_are_documented_as_they_are() -> None:
    """ours: `make map` writes both pages from the structs."""
    assert reference.EVENTS.read_text("utf-8") == reference.events_page(), "run `make map`"
    assert reference.CONFIGURATION.read_text("utf-8") == reference.configuration_page(), "run `make map`"


@pytest.mark.parametrize("module", MODULES, ids=names)
def test_a_module_says_in_its_first_line_what_it_is(module: Path) -> None:
    """ours: an empty `__init__` has nothing to say."""
    if module.read_text("utf-8").strip():
        assert re.search(r"[.:]$", first_line(module)), (
            f"{names(module)}: its docstring must begin with a whole sentence on one line"
        )


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """ours"""
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text("utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_every_decision_is_listed() -> None:
    """ours: docs/index.md is where people look for them."""
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    decisions = [path.name for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert decisions and [name for name in decisions if f"decisions/{name}" not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_make_targets_that_the_docs_name_exist(page: Path) -> None:
    """ours"""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z]+)", page.read_text("utf-8")))
    assert named - targets == set()


@demand("001-62", tag="docs")
def test_the_docs_say_why_no_question_came() -> None:
    """seed: by the three layers, in their order: the CLI's hooks, its own rules and mode, and only then us"""
    page = (ROOT / "docs" / "how-to" / "rules.md").read_text("utf-8")
    layers = re.findall(r"^\d\. \*\*(.*?)\*\*", page.partition("## Why did no question come?")[2], re.MULTILINE)
    assert layers == ["Claude Code's own hooks.", "Claude Code's own rules and its mode.", "ropewalk's rules, then you."]
    for other in ("terminal.md", "questions.md"):
        assert "rules.md" in (ROOT / "docs" / "how-to" / other).read_text("utf-8")


@demand("004-40", tag="docs")
def test_the_set_of_rules_that_the_docs_begin_with_leaves_commands_out() -> None:
    """seed: whether a command runs unasked is for a person to decide; every set that is printed is one that is taken"""
    page = (ROOT / "docs" / "how-to" / "rules.md").read_text("utf-8")
    first, *others = [rules_from_toml(text) for text in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]
    assert {rule.tool for rule in first.rules} >= {"Read", "WebSearch", "TodoWrite"} and others
    assert all(rule.tool not in ("Bash", "Edit") for rule in first.rules) and "`Bash` is not in it, on purpose" in page


def test_the_locks_hold_hashes_and_no_addresses() -> None:
    """ours: any registry that serves the same files will do."""
    for lock in sorted((ROOT / "requirements").glob("*.txt")):
        text = lock.read_text("utf-8")
        pinned = re.findall(r"^[\w.-]+==\S+.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
        assert pinned and all("--hash=sha256:" in entry for entry in pinned), lock.name
        assert not re.search(r"://|^-|--(index-url|extra-index-url|find-links)", text, re.MULTILINE), lock.name


def test_the_lock_holds_everything_that_the_wheel_asks_for() -> None:
    """ours"""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / "dev.txt").read_text("utf-8"), re.MULTILINE))
    asked = {re.split(r"[<>=;\[]", wanted)[0] for wanted in project["dependencies"]}
    assert asked and asked <= locked
