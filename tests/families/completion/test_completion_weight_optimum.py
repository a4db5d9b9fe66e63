"""The optimum of (7), (16): CP-SAT, the declarative program and brute force agree."""

import pytest
from independent.completion import most_weight as by_trying_everything
from independent.completion import tiny

from optsched.families.completion.policies.paper import price_base
from optsched.families.completion.sources.presets import generate
from optsched.models.completion import max_weight_ilp
from optsched.papers.completion.weight_bound import most_weight
from optsched.papers.completion.weight_optimum import best_weight, weight_of
from optsched.solvers import solve_pyomo


@pytest.mark.slow
@pytest.mark.parametrize("tau", [1, 2, 4])
def test_three_ways_to_the_optimum(tau):
    some = left_out = 0
    for seed in range(20):
        inst = tiny(seed)
        best = by_trying_everything(inst, tau)
        found = best_weight(inst, tau)
        assert found.optimal, seed
        assert found.value == pytest.approx(best), seed
        assert weight_of(inst, tau, found.schedule) == found.value
        assert solve_pyomo(max_weight_ilp(inst, tau)).objective == pytest.approx(best), seed
        some += best > 0
        left_out += 0 < best < sum(job.weight for job in inst.jobs)
    assert some > 0
    assert left_out > 0 or tau == 1


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["ps", "ring"])
def test_optimum_between_heuristics_and_prices(architecture):
    inst = generate("mid", seed=3, jobs=10, machines=2, architecture=architecture)
    lam = price_base(inst, 3.0)
    prices = most_weight(inst, 14, lam, seconds=5.0, span=1)
    exact = most_weight(inst, 14, lam, seconds=5.0, span=1, exact=60.0)
    assert prices.bound_by == "prices"
    assert not prices.optimal
    assert exact.optimal
    assert exact.bound_by == "cpsat"
    assert prices.value <= exact.value <= exact.bound <= prices.bound
    assert exact.ratio("jain") <= prices.ratio("jain")
    assert weight_of(inst, 14, exact.schedule) == exact.value


def test_weights_in_fractions_are_bounded_from_above():
    inst = tiny(3)
    thirds = tuple(job.model_copy(update={"weight": job.weight / 3}) for job in inst.jobs)
    inst = inst.model_copy(update={"jobs": thirds})
    found = best_weight(inst, 4)
    best = by_trying_everything(inst, 4)
    assert found.value == pytest.approx(best)
    assert best <= found.bound <= best * (1 + 1e-6)


@pytest.mark.slow
def test_a_limit_leaves_a_bound():
    inst = generate("paper", seed=0, jobs=30, machines=10)
    found = best_weight(inst, 40, seconds=0.0)
    assert not found.optimal
    assert found.value <= found.bound <= sum(job.weight for job in inst.jobs)


def test_a_schedule_that_ends_too_late_is_rejected():
    inst = tiny(3)
    found = best_weight(inst, 4)
    late = max(piece.end for piece in found.schedule.values())
    with pytest.raises(RuntimeError, match="breaks the model"):
        weight_of(inst, late - 1, found.schedule)
