"""The timeline of the search against the step function that policies plan with."""

import numpy as np
import pytest

from optsched.families.rigid import profile
from optsched.families.rigid.optimum import timeline
from optsched.families.rigid.optimum.methods import Portfolio
from optsched.families.rigid.optimum.params import Params
from optsched.families.rigid.optimum.search import DRAWS, shake, total
from optsched.problem import get_family


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("seed", range(20))
def test_jobs_go_in_and_out_as_in_a_step_function(seed, nodes):
    rng = np.random.default_rng(seed)
    n, bins = 30, np.full((nodes, 2), 8)
    low, run = rng.integers(0, 40, n), rng.integers(1, 30, n)
    need, tasks = rng.integers(0, 5, (n, 2)), rng.integers(1, 2 * nodes, n)
    tasks[need.sum(axis=1) == 0] = 1
    if nodes == 1:  # a job of a pool is one task
        tasks[:] = 1
    line = timeline.opened(low, bins)
    times, free = np.zeros(4 * n + 9, np.int64), np.empty((4 * n + 9, *bins.shape), np.int64)
    free[0], rows = bins, 1
    start, allocation = np.full(n, -1), np.zeros((n, nodes), np.int64)
    for i in rng.integers(0, n, 150):
        if start[i] >= 0:
            timeline.remove(line, i, need[i], allocation[i])
            start[i] = -1
            times[0], free[0], rows = 0, bins, 1
            for j in np.flatnonzero(start >= 0):
                end = start[j] + run[j]
                rows = profile.take(times, free, rows, start[j], end, need[j], allocation[j], 1)
            continue
        room = np.zeros(nodes, np.int64)
        expected = profile.earliest(times, free, rows, low[i], run[i], tasks[i], need[i], room)
        found, node, _ = timeline.earliest(line, i, run[i], tasks[i], need[i], allocation[i])
        assert (found, [*allocation[i]]) == (expected, [*room])
        start[i] = found
        timeline.insert(line, i, found, run[i], need[i], allocation[i], node)
        rows = profile.take(times, free, rows, found, found + run[i], need[i], room, 1)


class Endless:
    """Progress that never stops."""

    params = Params()

    def stop(self):
        return False


@pytest.mark.parametrize("seed", range(5))
def test_the_walk_keeps_its_best_schedule(seed):
    inst = get_family("rigid").generate("lublin", seed=seed, jobs=40)
    search = Portfolio(inst, Endless(), seed)
    p, walk = search.problem, search.walk
    search.list(p.jobs.arrival)
    first = search.cost
    draws = np.random.default_rng(seed).random((2000, DRAWS))
    shake(p.jobs, p.load, p.late, walk, 240, draws, 0.3 * first / p.n)
    assert search.cost == total(p.jobs, p.late, walk.best_start) <= first
    assert walk.cost[0] == total(p.jobs, p.late, walk.start) >= search.cost
    for start, allocation in (
        (walk.start, walk.allocation),
        (walk.best_start, walk.best_allocation),
    ):
        assert get_family("rigid").verify(inst, p.schedule(start, allocation)).feasible
