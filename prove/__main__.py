"""``python -m prove``: all proofs, or one, by the count; can be stopped and goes on. Exit 1 when anything was lost."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

from .proof import Order, Proof
from .proofs import ALL
from .report import FAULT_HEAD, PROMISE_HEAD, fault_rows, promise_rows, table, write
from .state import PLACE, State
from .tally import Tally

STEP = 25
"""Blows between two lines of news."""


def main() -> int:
    asked = options()
    chosen = [proof for proof in ALL if not asked.only or proof.name in asked.only.split(",")]
    if not chosen:
        say(f"there is no {asked.only}; the proofs are {', '.join(proof.name for proof in ALL)}")
        return 2
    partly = bool(asked.only or asked.count)
    state = State(asked.seed, asked.full)
    if not partly and not asked.fresh and state.load():
        say(f"going on with {PLACE}")
    began = time.monotonic()
    say(f"seed {asked.seed}")
    try:
        for proof in chosen:
            run(proof, state, asked, partly)
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here" if not partly else "stopped")
        return 130
    return finish(chosen, state, asked, partly, time.monotonic() - began)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m prove", description=__doc__)
    parser.add_argument("--only", default="", help="names of proofs, such as F1 or F1,F4")
    parser.add_argument("--count", type=int, default=0, help="blows of each, in place of its own number")
    parser.add_argument("--first", type=int, default=0, help="the number of the first blow: repeats one that failed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="the counts before a release")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run has done")
    parser.add_argument("--keep", action="store_true", help="leave the folders in which something was wrong")
    return parser.parse_args()


def run(proof: Proof, state: State, asked: argparse.Namespace, partly: bool) -> None:
    wanted = asked.count or proof.counts[1 if asked.full else 0]
    tally = state.tallies.setdefault(proof.name, Tally())
    if tally.blows >= wanted:
        return
    began = time.monotonic()
    say(f"{proof.name}  {proof.words}: {wanted - tally.blows} blows")

    def saved() -> None:
        if not partly:
            state.save()

    while tally.blows < wanted:
        before = tally.blows
        count = min(STEP, wanted - tally.blows)
        order = Order(asked.seed, asked.first + before, count, tally, saved, say, keep=asked.keep, full=asked.full)
        asyncio.run(proof.run(order))
        state_words = f"{sum(tally.lost.values())} lost, {sum(tally.doubled.values())} doubled"
        say(f"    {tally.blows}/{wanted}  {state_words}  {time.monotonic() - began:.0f} s")
        saved()


def finish(chosen: list[Proof], state: State, asked: argparse.Namespace, partly: bool, seconds: float) -> int:
    tallies = {proof.name: state.tallies[proof.name] for proof in chosen}
    say("")
    say(table(PROMISE_HEAD, promise_rows(chosen, tallies)))
    say("")
    say(table(FAULT_HEAD, fault_rows(chosen, tallies)))
    say(f"\n{seconds / 60:.1f} minutes")
    wrong = [words for tally in tallies.values() for words in tally.wrong]
    for words in wrong[:40]:
        say(f"- {words[:1500]}")
    if not asked.only:
        write(list(ALL), tallies, asked.seed, asked.full)
    return 1 if wrong else 0


def say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main())
