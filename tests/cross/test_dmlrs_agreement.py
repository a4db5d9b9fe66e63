"""All methods, both programs and brute force agree on tiny random instances."""

import pytest
from independent.dmlrs import optimum, tiny
from sweeps import sweep

from optsched.core import solve
from optsched.models.dmlrs import dmlrs_ilp
from optsched.problem import Level, Status
from optsched.solvers import solve_pyomo


@pytest.mark.slow
@pytest.mark.parametrize("block", sweep(range(4), 1))
def test_everybody_finds_the_same_optimum(block):
    open_ = []
    for seed in range(20 * block, 20 * block + 20):
        inst = tiny(seed)
        best = pytest.approx(optimum(inst), rel=1e-6, abs=1e-9)
        found = solve(inst, time_limit=120)
        assert (found.status, found.bound_level) == (Status.OPTIMAL, Level.CERTIFIED), seed
        priced = solve(inst, method="branch-and-price", time_limit=120)
        assert priced.bound >= found.value * (1 - 1e-9), seed
        if priced.status is Status.OPTIMAL:
            assert priced.value == found.value == best, seed
        else:
            assert priced.value <= found.value * (1 + 1e-9), seed
            open_.append(seed)
        relaxed = solve(inst, method="colgen", time_limit=120)
        assert relaxed.bound >= found.value * (1 - 1e-6), seed
        assert solve_pyomo(dmlrs_ilp(inst)).objective == best, seed
        other = tiny(seed, "link")
        linked = pytest.approx(optimum(other), rel=1e-6, abs=1e-9)
        assert solve_pyomo(dmlrs_ilp(other)).objective == linked, seed
    # leaves whose numbers of workers do not fit onto machines: which, depends on the LP's vertices
    assert len(open_) <= 3


def test_the_two_readings_differ_in_both_directions():
    values = [(optimum(tiny(seed)), optimum(tiny(seed, "link"))) for seed in range(60)]
    assert any(job > link for job, link in values)
    assert any(link > job for job, link in values)
