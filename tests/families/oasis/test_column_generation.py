"""Column generation at prices on capacity: the same linear program, however it is requested."""

from __future__ import annotations

import numpy as np
import pytest
from patience import LONG

from optsched import solve
from optsched.engine.colgen import Master, generate_columns
from optsched.families.oasis.optimum.priced_search import CONVERGED
from optsched.families.oasis.optimum.relaxations.capacity import Around, CapacityRelaxation
from optsched.families.oasis.sources.traces import generate
from optsched.problem import Level


def test_schedules_around_prices_are_those_of_the_oracle():
    blocks = CapacityRelaxation(generate("small", seed=1))
    around, prices = Around(blocks), np.full(blocks.rhs.size, 1e-3)
    expected = blocks.price(prices, np.zeros(blocks.jobs))
    chosen = np.array([0, 3, 4])
    total, usage = around.sweep(prices, chosen, exact=True)
    assert total == pytest.approx(expected.best[chosen].sum())
    mine = [c for c in expected.columns if c.block in chosen]
    assert [(c.block, c.value) for c in around.columns] == [(c.block, c.value) for c in mine]
    used = np.zeros(prices.size)
    for c in mine:
        used[c.rows] += c.usage
    assert usage == pytest.approx(used)
    around.sweep(prices, np.array([1]), exact=True)
    assert len(around.columns) >= len(mine)


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "seed"), [("paper", 1), ("earnable", 3)])
def test_it_converges_to_the_program_of_the_simplex(preset, seed):
    inst = generate(preset, seed=seed, jobs=8, slots=12, machines=4)
    blocks = CapacityRelaxation(inst)
    whole = generate_columns(
        blocks, Master(blocks), stop=lambda _: False, tolerance=lambda _: 1e-9, smoothing=0.5
    )
    assert whole.converged
    found = solve(inst, method="colgen", time_limit=LONG)
    assert found.seconds < LONG
    assert found.bound_level is Level.CERTIFIED
    assert whole.value * (1 - 1e-8) <= found.bound <= whole.value * (1 + 1.01 * CONVERGED)
