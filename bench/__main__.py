"""``python -m bench [client|hub|verdicts]``: runs the courses, prints the tables. Refuses to hide what is not reached.

Exit code 0 when everything ran, reached or not; with ``--strict`` 1 when a target was not reached.
"""

from __future__ import annotations

import argparse
import sys

from bench import client, verdicts
from bench.hub import report as hub
from bench.report import Report


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench", description="ropewalk beside its peer and its limits, in one run")
    words.add_argument("what", nargs="?", choices=("client", "hub", "verdicts"), help="only one of them")
    words.add_argument("--quick", action="store_true", help="only show that it all runs, in about a minute")
    words.add_argument("--strict", action="store_true", help="exit 1 when a target is not reached")
    words.add_argument("--only", default="", help="of the hub, only measures with this in their name: flow, latency, fan-out, …")
    words.add_argument("--rounds", type=int, default=0, help="of the hub, so many rounds of each measure")
    given = words.parse_args()
    reached = True
    for name in ("client", "hub", "verdicts") if not given.only else ("hub",):
        if given.what in (None, name):
            found = _found(name, given)
            print(found.text() + "\n")
            if not given.quick and not given.only:
                print(f"All figures: {found.save()}\n")
            reached = reached and found.reached
    return 1 if given.strict and not reached else 0


def _found(name: str, given: argparse.Namespace) -> Report:
    if name == "client":
        return client.quick() if given.quick else client.full()
    if name == "verdicts":
        return verdicts.quick() if given.quick else verdicts.full()
    return (hub.quick if given.quick else hub.full)(given.only, given.rounds)


if __name__ == "__main__":
    sys.exit(main())
