"""Gains of the sum over machines, (7) as it is printed: judge, bound, optimum, policy, program."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from independent.bipartite import utility
from scipy.optimize import LinearConstraint, minimize

import optsched
from optsched.core import simulate, solve
from optsched.families.bipartite.certificate.enclosure import sum_surplus_above
from optsched.families.bipartite.instance import BipartiteInstance, BipartiteSchedule
from optsched.families.bipartite.instance_utilities import KINDS
from optsched.families.bipartite.online import verify
from optsched.families.bipartite.pictures import split
from optsched.families.bipartite.policies.paper import OgaSched, gradient_bound, regret_guarantee
from optsched.families.bipartite.sources.presets import generate
from optsched.models.bipartite import bipartite_program
from optsched.solvers import solve_cvxpy

GAP = 1e-6


def reward(inst, y, jobs):
    """(7), (8), written down again: f_k of the sum over machines."""
    a = inst.arrays
    total = 0.0
    for copy in np.flatnonzero(jobs):
        sums = [y[(a.port == copy) & (a.row % a.resources == k)].sum() for k in range(a.resources)]
        gains = (f(s) for f, s in zip(inst.machines[0].utility, sums, strict=True))
        total += sum(gains) - max(b * s for b, s in zip(a.beta, sums, strict=True))
    return total


def some_decision(inst, rng):
    a = inst.arrays
    y = rng.uniform(0, 1, a.channels) * np.minimum(a.upper, a.capacity[a.row])
    used = np.bincount(a.row, y, minlength=len(a.capacity))
    return y * np.minimum(1, a.capacity / np.maximum(used, 1e-300))[a.row]


@pytest.mark.parametrize("preset", ["sum", "counts"])
def test_the_judge_and_the_pictures_know_7(preset):
    inst = generate(preset, seed=3, gain="sum")
    rng = np.random.default_rng(0)
    decisions = [some_decision(inst, rng) for _ in range(inst.horizon)]
    schedule = BipartiteSchedule(
        decisions=tuple(tuple(y.tolist()) for y in decisions), used=tuple(range(inst.horizon))
    )
    known = [reward(inst, y, jobs) for y, jobs in zip(decisions, inst.jobs, strict=True)]
    assert verify(inst, schedule).value == pytest.approx(sum(known), rel=1e-12)
    for y, jobs, q in zip(decisions, inst.jobs, known, strict=True):
        gained, overhead = split(inst, y, jobs)
        assert gained - overhead == pytest.approx(q, rel=1e-9)


def test_a_reward_that_cancels_is_computed_again():
    """f (2 + 1) = 3 alpha, less the overhead 3 beta: nothing is left but what is written."""
    line = {"kind": "linear", "alpha": 0.3}
    inst = BipartiteInstance(
        horizon=1, resources=("cpu",), overhead=(0.3,), gain="sum", ports=({"request": (9,)},),
        machines=[{"capacity": (9,), "ports": (0,), "utility": (line,)}] * 2, arrivals=((1,),),
    )  # fmt: skip
    schedule = BipartiteSchedule(decisions=((0.1, 0.2),), used=(0,))
    assert verify(inst, schedule).value == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_optimum_bound_and_program_agree(kind, seed):
    inst = generate("sum", seed=seed, utilities=(kind,), machines=4, ports=3, slots=8)
    for method in ("auto", "stationary"):
        found = solve(inst, method=method)
        assert found.gap <= GAP
        weight = None if method == "auto" else inst.counts
        assert solve_cvxpy(bipartite_program(inst, weight)).value == pytest.approx(
            found.value, rel=2e-6
        )
    relaxed = optsched.relax(inst)
    assert relaxed.certified_bound == pytest.approx(solve(inst).value, rel=GAP)


def test_optimum_by_another_solver():
    """SLSQP on a smooth form: one decision for all slots, the overhead a variable."""
    for seed in range(3):
        inst = generate("sum", seed=seed, machines=3, ports=2, slots=6, utilities=("log", "poly"))
        a, n = inst.arrays, inst.counts
        whose = a.port * a.resources + a.row % a.resources
        size = a.copies * a.resources

        def loss(z, inst=inst, n=n, whose=whose, size=size, a=a):
            sums = np.bincount(whose, z[: a.channels], minlength=size).reshape(a.copies, -1)
            f = inst.machines[0].utility
            gains = sum(f[k](max(0.0, sums[p, k])) * n[p] for p, k in np.ndindex(sums.shape))
            return float(n @ z[a.channels :]) - gains

        rows = np.zeros((len(a.capacity) + size, a.channels + a.copies))
        rows[a.row, np.arange(a.channels)] = 1.0
        rows[len(a.capacity) + whose, np.arange(a.channels)] = a.beta[a.row % a.resources]
        for p, k in np.ndindex(a.copies, a.resources):
            rows[len(a.capacity) + p * a.resources + k, a.channels + p] = -1.0
        most = np.concatenate([a.capacity, np.zeros(size)])
        bounds = [(0, x) for x in a.upper] + [(0, None)] * a.copies
        start = np.zeros(a.channels + a.copies)
        limits = LinearConstraint(rows, -np.inf, most)
        found = minimize(
            loss, start, method="SLSQP", bounds=bounds, constraints=[limits],
            options={"maxiter": 500, "ftol": 1e-12},
        )  # fmt: skip
        assert solve(inst, method="stationary").value == pytest.approx(-found.fun, rel=1e-5)


def sizes(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(range(len(KINDS))),
    sizes(1e-6, 1e6),
    st.integers(1, 1000),
    st.lists(
        st.tuples(
            st.one_of(st.just(0.0), sizes(1e-6, 1e6)), st.one_of(st.just(0.0), sizes(1e-9, 1e9)),
            st.floats(0, 1),
        ),
        min_size=1,
        max_size=4,
    ),
)  # fmt: skip
def test_surplus_of_a_sum_is_enclosed(kind, alpha, n, channels):
    """No amounts earn more, and the bound is that of amounts that do: exact decimals."""
    u, price, part = (np.array(x) for x in zip(*channels, strict=True))
    found = Decimal(sum_surplus_above(kind, alpha, float(n), u, price))

    def earned(y):
        total = sum((Decimal(x) for x in y), Decimal(0))
        cost = sum((Decimal(p) * Decimal(x) for p, x in zip(price, y, strict=True)), Decimal(0))
        return n * utility(kind, alpha, total) - cost

    candidates = [part * u, np.zeros(len(u)), u]
    for k in np.argsort(price):  # fill the cheapest, one after another, the last in part
        cheaper = np.where(price < price[k], u, 0.0)
        for share in np.linspace(0, 1, 9):
            y = cheaper.copy()
            y[k] = share * u[k]
            candidates.append(y)
    assert found >= max(map(earned, candidates))


def test_ogasched_steps_along_the_gradient_of_the_sum():
    """Differences of (7), one channel after another, are the step before the projection."""
    inst = generate("sum", seed=2, machines=4, slots=3)
    a = inst.arrays
    rng = np.random.default_rng(1)
    first = 0.3 * some_decision(inst, rng)
    eta, h = 1e-6, 1e-6
    policy = OgaSched("constant", eta=eta, start_at=first)
    shown = []
    streams = optsched.numbers.streams.Streams(0)
    policy.start(inst.platform(), {}, streams)
    for event in optsched.get_family("bipartite").events(inst, "before"):
        shown.append(policy.step(event))
    jobs = inst.jobs[0]
    inside = (first > 1e-3) & (first < a.upper - 1e-3)
    for i in np.flatnonzero(inside):
        more, less = first.copy(), first.copy()
        more[i] += h
        less[i] -= h
        slope = (reward(inst, more, jobs) - reward(inst, less, jobs)) / (2 * h)
        assert (shown[1][i] - first[i]) / eta == pytest.approx(slope, abs=1e-4)
    assert inside.any()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_theorem_1_holds_for_any_concave_gain_of_the_sum(seed):
    inst = generate("sum", seed=seed, slots=200)
    best = solve(inst, method="stationary").bound
    for policy in ("ogasched-theory", "ogasched-adaptive"):
        found = simulate(inst, policy)
        assert found.value <= solve(inst).bound
        if policy == "ogasched-theory":
            assert best - found.value <= regret_guarantee(inst)
    a, steepest = inst.arrays, [f.slope(0.0) for f in inst.machines[0].utility]
    norm = math.sqrt(sum(max(steepest[k], a.beta[k]) ** 2 for k in a.row % a.resources))
    assert norm <= gradient_bound(inst) * (1 + 1e-12)  # (50): the gradient is steepest at 0


def test_files_without_the_option_keep_their_digest():
    inst = generate("small", seed=0)
    assert "gain" not in inst.model_dump(mode="json")
    assert '"gain":"sum"' in generate("sum", seed=0).model_dump_json()
    same = BipartiteInstance.model_validate(inst.model_dump(mode="json") | {"gain": "machine"})
    assert same.digest() == inst.digest()


def test_a_resource_has_one_utility():
    content = generate("small", seed=0).model_dump(mode="json") | {"gain": "sum"}
    with pytest.raises(ValueError, match="machine 1: utility differs from that of machine 0"):
        BipartiteInstance.model_validate(content)
    with pytest.raises(optsched.InputError, match="unknown gain 'all'"):
        generate("small", gain="all")


def test_linear_gains_are_the_same_in_both_readings():
    summed = generate("sum", seed=1, utilities=("linear",), slots=10)
    apart = BipartiteInstance.model_validate(summed.model_dump(mode="json") | {"gain": "machine"})
    assert solve(summed).value == pytest.approx(solve(apart).value, rel=GAP)
    for policy in ("ogasched", "ogasched-adaptive"):
        assert simulate(summed, policy).value == pytest.approx(simulate(apart, policy).value)
