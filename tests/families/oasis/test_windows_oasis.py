"""Work inside windows, against trying everything."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.families.oasis.optimum.relaxations.windows import (
    ConstantRun,
    windowed_backtrack,
    windowed_costs,
)

SEEDS = st.integers(0, 2**32 - 1)


def window(seed):
    """Draw prices, PS table, limits and work of one job in 1 to 4 slots from a first slot."""
    draw = np.random.default_rng(seed)
    first, length = int(draw.integers(0, 3)), int(draw.integers(1, 5))
    slots = first + length
    worker, ps = draw.integers(0, 5, slots) / 4, draw.integers(0, 5, slots) / 4
    needed = np.ceil(np.arange(5) * draw.choice([0.4, 0.7, 1.0])).astype(np.int64)
    lower = draw.integers(0, 4, slots) * (draw.random(slots) < 0.3)
    upper = np.minimum(4, lower + draw.integers(0, 4, slots))
    return worker, ps, needed, lower, upper, first, slots - 1, int(draw.integers(1, 8))


def cost_of(amounts, worker, ps, needed, first):
    return sum(worker[t] * n + ps[t] * needed[n] for t, n in enumerate(amounts, start=first))


@given(SEEDS)
def test_windowed_costs_try_every_job(seed):
    """Lower limits may request more than the work: a job may do too much, never too little."""
    worker, ps, needed, lower, upper, first, last, work = window(seed)
    table, ending = np.full((last + 2, work + 1), np.nan), np.full(last + 1, np.nan)
    job = ConstantRun(worker, ps, needed, lower, upper, work)
    windowed_costs(job, first, last, table, ending)
    for end in range(first, last + 1):
        ranges = [range(lower[t], upper[t] + 1) for t in range(first, end + 1)]
        costs = [
            cost_of(n, worker, ps, needed, first)
            for n in product(*ranges)
            if n[-1] > 0 and sum(n) >= work
        ]
        assert ending[end] == pytest.approx(min(costs, default=np.inf)), end
        if not costs:
            continue
        amount = np.zeros(last + 1, np.int64)
        windowed_backtrack(job, first, end, table, ending, amount)
        found = amount[first : end + 1]
        assert cost_of(found, worker, ps, needed, first) == pytest.approx(ending[end])
        assert found.sum() >= work
        assert found[-1] > 0
        assert (lower[first : end + 1] <= found).all()
        assert (found <= upper[first : end + 1]).all()
        assert amount[:first].sum() == amount[end + 1 :].sum() == 0
