"""``python -m prove``: all proofs, or one, by the count; can be stopped and goes on. Exit 1 when anything was lost."""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import time
from collections import deque

from .lane import heeding_signals, in_lane
from .proof import Order, Proof
from .proofs import ALL
from .report import FAULT_HEAD, PROMISE_HEAD, fault_rows, judged, promise_rows, table, write
from .state import PLACE, State
from .tally import Tally

STEP = 25
"""Blows of one lane's errand: a house takes as many."""
LANES = 2


def main() -> int:
    asked = options()
    chosen = [proof for proof in ALL if not asked.only or proof.name in asked.only.split(",")]
    if not chosen:
        say(f"there is no {asked.only}; the proofs are {', '.join(proof.name for proof in ALL)}")
        return 2
    partly = bool(asked.only or asked.count or asked.first)
    state = State(asked.seed, asked.full)
    if not partly and not asked.fresh and state.load():
        say(f"going on with {PLACE}")
    if asked.page:
        write(list(ALL), state.tallies, asked.seed, asked.full)
        return 0
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a thousand listeners are a thousand descriptors
    say(f"seed {asked.seed}")
    try:
        asyncio.run(heeding_signals(Run(chosen, state, asked, partly).all()))
    except asyncio.CancelledError:
        say("stopped; the same command goes on from here" if not partly else "stopped")
        return 130
    return finish(chosen, state, asked, partly)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m prove", description=__doc__)
    parser.add_argument("--only", default="", help="names of proofs, such as F1 or F1,F4")
    parser.add_argument("--count", type=int, default=0, help="blows of each, in place of its own number")
    parser.add_argument("--first", type=int, default=0, help="the number of the first blow: repeats one that failed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="the counts before a release")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run has done")
    parser.add_argument("--keep", action="store_true", help="leave the folders in which something was wrong")
    parser.add_argument("--page", action="store_true", help="only write the page from what was counted so far")
    return parser.parse_args()


class Run:
    """Proofs that measure time run alone, first; the others two at a time."""

    def __init__(self, chosen: list[Proof], state: State, asked: argparse.Namespace, partly: bool) -> None:
        self.state, self.asked, self.partly = state, asked, partly
        self.alone = sorted((proof for proof in chosen if proof.alone), key=lambda proof: proof.name != "G13")
        self.rest = deque(sorted((proof for proof in chosen if not proof.alone), key=self._work, reverse=True))
        self.began = time.monotonic()
        self.before = state.seconds

    def _work(self, proof: Proof) -> float:
        """The longest first, so that both lanes end together."""
        return self.wanted(proof) * proof.seconds

    def wanted(self, proof: Proof) -> int:
        return int(self.asked.count or proof.counts[1 if self.asked.full else 0])

    async def all(self) -> None:
        for proof in self.alone:
            await self.one(proof)
        async with asyncio.TaskGroup() as group:
            for _ in range(LANES):
                group.create_task(self.lane())

    async def lane(self) -> None:
        while self.rest:
            await self.one(self.rest.popleft())

    async def one(self, proof: Proof) -> None:
        wanted, began = self.wanted(proof), time.monotonic()
        so_far = self.state.tallies.setdefault(proof.name, Tally())
        if so_far.struck >= wanted:
            return
        say(f"{proof.name}  {proof.words}: {wanted - so_far.struck} blows")
        while (so_far := self.state.tallies[proof.name]).struck < wanted:
            count = min(STEP, wanted - so_far.struck)
            order = Order(self.asked.seed, self.asked.first + so_far.struck, count, so_far, lambda: None, say,
                          keep=self.asked.keep, full=self.asked.full)  # fmt: skip
            await in_lane(proof, order, lambda counted, so_far=so_far: self.counted(proof, so_far, counted))  # type: ignore[misc]
            now = self.state.tallies[proof.name]
            lost, doubled = sum(now.lost.values()), sum(now.doubled.values())
            seconds = f"{time.monotonic() - began:.0f} s"
            say(f"    {proof.name} {now.struck}/{wanted}  {lost} lost, {doubled} doubled  {seconds}")
            if now.struck == so_far.struck:
                raise RuntimeError(f"{proof.name} struck nothing")

    def counted(self, proof: Proof, before: Tally, counted: Tally) -> None:
        total = Tally.from_object(before.as_object())
        total.merge(counted)
        self.state.tallies[proof.name] = total
        self.state.seconds = self.before + time.monotonic() - self.began
        if not self.partly:
            self.state.save()


def finish(chosen: list[Proof], state: State, asked: argparse.Namespace, partly: bool) -> int:
    tallies = judged(chosen, state.tallies)
    say("")
    say(table(PROMISE_HEAD, promise_rows(chosen, tallies)))
    say("")
    say(table(FAULT_HEAD, fault_rows(chosen, tallies)))
    say(f"\n{state.seconds / 60:.1f} minutes")
    wrong = [words for tally in tallies.values() for words in tally.wrong]
    for words in wrong[:40]:
        say(f"- {words[:1500]}")
    if not partly:
        write(list(ALL), state.tallies, asked.seed, asked.full)
    return 1 if wrong else 0


def say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main())
