"""Four ways to the optimum of 100 random small instances agree, and no policy beats it."""

import pytest
from independent.oasis import optimum, random_instance
from sweeps import sweep

from optsched.core import simulate, solve
from optsched.families.oasis import FAMILY

INSTANCES, CHUNK = 100, 10
METHODS = ("compact", "cpsat", "auto")


@pytest.mark.parametrize("first", sweep(range(0, INSTANCES, CHUNK), 1))
def test_every_method_agrees_and_no_policy_is_better(first):
    for seed in range(first, first + CHUNK):
        inst = random_instance(seed)
        best = optimum(inst)
        about = pytest.approx(best, rel=1e-6, abs=1e-9)
        for method in METHODS:
            found = solve(inst, method=method, time_limit=60)
            assert found.value == about, (seed, method)
            assert found.bound == about, (seed, method)
            assert found.bound >= best * (1 - 1e-12), (seed, method)
            assert found.status.closed, (seed, method)
            assert FAMILY.verify(inst, found.schedule).value == found.value, (seed, method)
            assert found.bound_level in ("certified", "claimed"), (seed, method)
            assert found.bound_level == "certified" or method != "auto", seed
        for policy in FAMILY.policies:
            run = simulate(inst, policy)
            verdict = FAMILY.verify(inst, run.schedule, unfinished=True)
            assert verdict.value == run.value, (seed, policy)
            assert run.value <= best * (1 + 1e-9), (seed, policy)


def test_the_instances_are_worth_solving():
    """Jobs are turned away, machines and packing matter, and every kind of utility occurs."""
    drawn = [random_instance(seed) for seed in range(INSTANCES)]
    jobs = [job for inst in drawn for job in inst.jobs]
    assert {job.utility.kind for job in jobs} == {"sigmoid", "inverse", "constant", "table"}
    assert any(len(set(inst.worker_capacity)) < len(inst.worker_capacity) for inst in drawn)
    assert any(0 in job.worker_demand for job in jobs)
    assert any(0 in job.ps_demand for job in jobs)
