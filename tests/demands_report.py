"""`make demands`: what is proven, explained and open, counted by document and tag. Collects the tests, runs none of them."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections import Counter
from collections.abc import Mapping

import pytest

from tests.demand import TAGS, Demand, Pair, chosen, faults, links_of, read_manifest, state_of

STATES = ("proven", "explained", "open")


class Collected:
    """A pytest plugin that keeps what was collected."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = session.items


def collect() -> list[pytest.Item]:
    """Every test of the tree. Leaves the program, with pytest's words, when one can't be collected."""
    collected, words = Collected(), io.StringIO()
    with contextlib.redirect_stdout(words):
        code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider"], plugins=[collected])
    if code != pytest.ExitCode.OK:
        print(*words.getvalue().splitlines()[-40:], sep="\n", file=sys.stderr)
        sys.exit("demands: the tests can't be collected, so nothing can be counted")
    return collected.items


def counts(demands: Mapping[str, Demand], links: Mapping[Pair, list[str]], tags: tuple[str, ...]) -> list[str]:
    """One line a document and tag, and the total."""
    tally: dict[tuple[str, str], Counter[str]] = {}
    for demand in demands.values():
        for tag in (tag for tag in tags if tag in demand.tags):
            tally.setdefault((demand.seed, tag), Counter())[state_of(demand, tag, links)] += 1
    in_order = sorted(tally, key=lambda key: (key[0], TAGS.index(key[1])))
    lines = [f"{seed} {tag}  {words(tally[seed, tag])}" for seed, tag in in_order]
    return [*lines, f"total  {words(sum(tally.values(), Counter()))}"]


def words(tally: Counter[str]) -> str:
    return "  ".join(f"{tally[state]} {state}" for state in STATES)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.demands_report", description=__doc__)
    parser.add_argument("--only", metavar="IDS", help="count these: 002, 000-01..22,27")
    parser.add_argument("--tags", metavar="TAGS", default=",".join(TAGS), help="count these kinds of proof: unit,real,lib")
    parser.add_argument("--open", action="store_true", help="list what is open")
    parser.add_argument("--tests", action="store_true", help="list the tests that prove each")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    everything = read_manifest()
    links = links_of(collect())
    demands = chosen(everything, options.only) if options.only else everything
    tags = tuple(options.tags.split(","))
    for demand in demands.values():
        for tag in (tag for tag in tags if tag in demand.tags):
            if options.open and state_of(demand, tag, links) == "open":
                print(f"open  {demand.id} {tag}  {demand.says}")
            if options.tests:
                print(
                    "\n".join(f"{demand.id} {tag}  {test}" for test in links.get((demand.id, tag), [])) or f"{demand.id} {tag}  –"
                )
    print("\n".join(counts(demands, links, tags)))
    wrong = faults(everything, links)
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
