"""``python -m bench [client|hub]``: run the courses, print the tables, keep the figures. Refuses to hide what is not reached.

Exit code 0 when everything ran, reached or not; with ``--strict`` 1 when a target was not reached.
"""

from __future__ import annotations

import argparse
import sys

from bench import report
from bench.hub import report as hub_report


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench", description="ropewalk beside its peer and its limits, in one run")
    words.add_argument("what", nargs="?", choices=("client", "hub"), help="only the library beside its peer, or only the hub")
    words.add_argument("--quick", action="store_true", help="only show that it all runs, in about a minute")
    words.add_argument("--strict", action="store_true", help="exit 1 when a target is not reached")
    given = words.parse_args()
    reached = True
    for name, course in {"client": report, "hub": hub_report}.items():
        if given.what in (None, name):
            found = course.quick() if given.quick else course.full()
            print(found.text() + "\n")
            if not given.quick:
                print(f"All figures: {found.save()}\n")
            reached = reached and found.reached
    return 1 if given.strict and not reached else 0


if __name__ == "__main__":
    sys.exit(main())
