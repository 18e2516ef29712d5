"""A small, seeded sample of every proof in `prove/`: a blow or a few of each. `make prove` strikes them by the hundred."""

from __future__ import annotations

import pytest

from prove.proof import Order, Proof
from prove.proofs import ALL
from prove.tally import Tally

SAMPLED = [proof for proof in ALL if proof.sample]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("proof", SAMPLED, ids=lambda proof: proof.name)
async def test_a_sample_of_each_blow_loses_nothing_and_doubles_nothing(proof: Proof) -> None:
    """ours: the ledgers of CLIs, people and listeners against the hub's log."""
    tally = Tally()
    await proof.run(Order(11, 0, proof.sample, tally, lambda: None, lambda words: None))
    assert tally.wrong == []
    assert tally.struck >= proof.sample
