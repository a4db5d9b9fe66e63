"""The board: what goes in comes out, and never more than there is."""

import numpy as np
import pytest
from small_requests import request

from optsched.scheduling.board import JobPlan, PlanBoard, plan_entries
from optsched.scheduling.oracle.schedule import Oracle, PricedMachines


class Priced(PlanBoard):
    """A board of 3 slots, and the oracle; a PS serves two workers, and there are two."""

    def __init__(self, *requests, price=0.0, workers=(2.0, 1.0)):
        free = (np.tile(np.array(workers), (3, 1, 1)), np.full((3, 1, 1), 2.0))
        super().__init__(requests, free)
        prices = (np.full((3, 1, len(workers)), price), np.zeros((3, 1, 1)))
        self.sides = [
            PricedMachines(p, f, np.ones(f.shape[2], np.int64))
            for p, f in zip(prices, free, strict=True)
        ]
        self.oracle = Oracle(3, len(workers), 2, max(r.work for r in requests))

    def insert(self, i, cutoff=0.0):
        best = self.oracle.best(self.requests[i], *self.sides, cutoff)
        if best is not None:
            end = best.completion
            entries = plan_entries(self.requests[i], best.amount, end, *self.sides)
            self.restore(i, JobPlan(float(self.requests[i].utility[end]), end, entries))
        return best is not None


def test_jobs_take_what_is_left():
    here = Priced(request(), request(), request())
    assert here.insert(0)
    assert here.plans[0].completion == 0
    assert here.plans[0].entries.tolist() == [[0, 0, 0, 2], [1, 0, 0, 1]]
    assert here.insert(1)  # one worker in slot 0 on machine 1, one in slot 1
    assert here.plans[1].completion == 1
    assert here.plans[1].entries.tolist() == [
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [1, 1, 0, 1],
    ]
    assert here.value == 9 + 6
    assert here.free[0][:, 0].tolist() == [[0, 0], [1, 1], [2, 1]]
    assert here.free[1][:, 0, 0].tolist() == [0, 1, 2]


def test_taking_out_and_putting_back():
    here = Priced(request(), request())
    empty = [f.copy() for f in here.free]
    here.insert(0)
    here.insert(1)
    full = [f.copy() for f in here.free]
    plan = here.remove(0)
    assert here.value == 6
    assert 0 not in here.plans
    here.restore(0, plan)
    assert here.value == 15
    assert all(np.array_equal(a, b) for a, b in zip(here.free, full, strict=True))
    here.remove(1)
    here.remove(0)
    assert here.value == 0
    assert all(np.array_equal(a, b) for a, b in zip(here.free, empty, strict=True))


def test_nobody_enters_who_does_not_pay():
    here = Priced(request(), price=5.0)
    assert not here.insert(0)  # two workers cost 10 of 9
    assert here.value == 0
    assert not here.plans
    here = Priced(request(), price=4.0)
    assert here.insert(0)
    here.remove(0)
    assert not here.insert(0, cutoff=1.0)


def test_random_moves_never_overload():
    rng = np.random.default_rng(0)
    jobs = [
        request(work=int(rng.integers(1, 5)), demand=float(rng.integers(1, 3))) for _ in range(6)
    ]
    here = Priced(*jobs, price=0.5, workers=(4.0, 3.0))
    for _ in range(300):
        i = int(rng.integers(len(jobs)))
        if i in here.plans:
            here.remove(i)
        else:
            here.insert(i)
        assert min(f.min() for f in here.free) >= 0
        used = [np.zeros_like(f) for f in here.free]
        for j, plan in here.plans.items():
            for side, t, h, n in plan.entries:
                used[side][t, 0, h] += n * (jobs[j].worker_demand, jobs[j].ps_demand)[side][0]
        whole = Priced(*jobs, workers=(4.0, 3.0)).free
        for u, f, c in zip(used, here.free, whole, strict=True):
            assert np.array_equal(u + f, c)
        assert here.value == pytest.approx(
            sum(jobs[j].utility[p.completion] for j, p in here.plans.items())
        )
    assert here.plans


def test_a_plan_takes_the_cheapest_machines():
    price, free = np.array([[[3.0, 1.0, 2.0]]]), np.array([[[4.0, 2.0, 5.0]]])
    each, none = np.ones(3, np.int64), np.zeros(5, np.int64)
    units, demand = np.arange(5), np.array([2.0])
    job = request()._replace(units=units, worker_demand=demand, ps_demand=demand, ps_needed=none)
    side = PricedMachines(price, free, each)
    entries = plan_entries(job, np.array([4]), 0, side, side)
    assert entries.tolist() == [[0, 0, 1, 1], [0, 0, 2, 2], [0, 0, 0, 1]]
    # machine 2 would be left with 1 of its 5; charged for that, a worker on it costs 2 * 5 / 2
    side = side._replace(fragmentation_penalty=1.0)
    entries = plan_entries(job, np.array([1]), 0, side, side)
    assert entries.tolist() == [[0, 0, 1, 1]]
