"""Links tests to the demands they prove, and counts what is proven. Knows manifest and marker; collects and prints nothing."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

MANIFEST = Path(__file__).with_name("demands.toml")
TAGS = ("unit", "real", "lib", "sim", "browser", "bot", "grpc", "docs")

Pair = tuple[str, str]
"""An id and a tag: what is proven, explained or open."""


def demand(*ids: str, tag: str = "unit") -> pytest.MarkDecorator:
    """Mark a test, a class or a `pytest.param` as the proof, of this kind, of these demands. Marks add up."""
    if not ids or tag not in TAGS:
        raise ValueError(f"demand() takes ids and a tag of {', '.join(TAGS)}; got {ids!r} and {tag!r}")
    return pytest.mark.demand(*ids, tag=tag)


@dataclass(frozen=True, slots=True)
class Demand:
    """One sentence that can be shown true or false."""

    id: str
    says: str
    source: str
    tags: tuple[str, ...]
    explained: Mapping[str, str] = field(default_factory=dict)

    @property
    def seed(self) -> str:
        return self.id.partition("-")[0]


def read_manifest(path: Path = MANIFEST) -> dict[str, Demand]:
    """Every demand by its id, in the manifest's order."""
    tables = tomllib.loads(path.read_text("utf-8"))["demand"]
    return {
        id: Demand(id, table["says"], table["source"], tuple(table["tags"]), table.get("explained", {}))
        for id, table in tables.items()
    }


def links_of(items: Iterable[pytest.Item]) -> dict[Pair, list[str]]:
    """Which collected tests stand for which pair. A test that is skipped or expected to fail proves nothing."""
    links: dict[Pair, list[str]] = {}
    for item in items:
        if item.get_closest_marker("skip") or item.get_closest_marker("xfail"):
            continue
        for mark in item.iter_markers("demand"):
            for id in mark.args:
                links.setdefault((id, mark.kwargs.get("tag", "unit")), []).append(item.nodeid)
    return links


def faults(demands: Mapping[str, Demand], links: Mapping[Pair, list[str]]) -> list[str]:
    """What is wrong with the links, one sentence each; open pairs are no fault."""
    found = []
    for (id, tag), tests in links.items():
        where = tests[0]
        if id not in demands:
            found.append(f"{where} is linked to {id}, which is not in the manifest")
        elif tag not in demands[id].tags:
            found.append(f"{where} is linked to {id} as {tag}, which asks for {', '.join(demands[id].tags)}")
        elif tag in demands[id].explained:
            found.append(f"{id} {tag} is explained in the manifest and proven by {where}: it can only be one of them")
    for demand in demands.values():
        found += [
            f"{demand.id} explains {tag}, a tag that it does not have" for tag in demand.explained if tag not in demand.tags
        ]
    return found


def state_of(demand: Demand, tag: str, links: Mapping[Pair, list[str]]) -> str:
    """`proven`, `explained` or `open`."""
    if (demand.id, tag) in links:
        return "proven"
    return "explained" if tag in demand.explained else "open"


def chosen(demands: Mapping[str, Demand], only: str) -> dict[str, Demand]:
    """Those that a filter names: `002` is a whole document, `000-01..22,27` a range and one more of the same document."""
    wanted: set[str] = set()
    seed = ""
    for word in re.split(r"[,;\s]+", only.strip()):
        match = re.fullmatch(r"(?:(\d{3})-)?(\d\d)(?:(?:\.\.|…)(\d\d))?", word)
        if word in {demand.seed for demand in demands.values()}:
            wanted |= {id for id in demands if id.startswith(word)}
        elif match and (seed := match[1] or seed):
            wanted |= {f"{seed}-{number:02}" for number in range(int(match[2]), int(match[3] or match[2]) + 1)}
        else:
            raise ValueError(f"{word!r} names no demand; write 002, 000-01, 000-01..22 or 000-01..22,27")
    if unknown := wanted - demands.keys():
        raise ValueError(f"not in the manifest: {', '.join(sorted(unknown))}")
    return {id: demand for id, demand in demands.items() if id in wanted}
