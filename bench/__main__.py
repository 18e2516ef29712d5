"""``python -m bench``: prepare, run the course, print the table, keep the figures. Refuses to hide a ratio that is not reached.

Exit code 0 when everything ran, reached or not; with ``--strict`` 1 when a target was not reached.
"""

from __future__ import annotations

import argparse
import sys

from bench.report import full, quick


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench", description="ropewalk beside its peer and the limit, in one run")
    words.add_argument("--quick", action="store_true", help="only show that it all runs, in under a minute")
    words.add_argument("--strict", action="store_true", help="exit 1 when a target is not reached")
    given = words.parse_args()
    report = quick() if given.quick else full()
    print(report.text())
    if not given.quick:
        print(f"\nAll figures: {report.save()}")
    return 1 if given.strict and not report.reached else 0


if __name__ == "__main__":
    sys.exit(main())
