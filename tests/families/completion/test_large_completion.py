"""Large instances: relaxed costs are never above exact ones, and dispatched schedules are valid."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from independent.completion import optimum, runs, tiny, unit

from optsched import solve
from optsched.core.optimum import Level
from optsched.families.completion.certificate.bound import BoundEvaluator
from optsched.families.completion.certificate.check import CompletionCertificate, check
from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.modes import Cluster
from optsched.families.completion.optimum import cpsat, large
from optsched.families.completion.optimum.relaxations.offers import joined, offers_of_job, tables_of
from optsched.families.completion.optimum.relaxations.piecewise_prices import PiecewisePrices
from optsched.families.completion.optimum.search.orders import Orders
from optsched.families.completion.oracle.schedule import best_schedule
from optsched.families.completion.oracle.servers import PricedServers
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.verify import verify
from optsched.numbers.resources import exact
from optsched.process import interrupts

SEEDS = range(24)


def free(seed: int) -> CompletionInstance:
    """Draw an instance without a deadline: tiny ones, every other one a ring, or presets."""
    if seed % 3:
        return tiny(seed).model_copy(update={"enforce_horizon": False})
    return generate("small", seed=seed, jobs=6)


def parts(inst: CompletionInstance):
    """Return the types, and in which ways jobs can run."""
    types = Cluster(inst).types
    tables = tables_of(inst, types)
    return types, joined([offers_of_job(tables, inst.durations(job)) for job in inst.jobs])


def blockwise(inst: CompletionInstance, seed: int) -> PiecewisePrices:
    """Draw prices of a few blocks of time; some are 0."""
    draw = np.random.default_rng([seed, 5])
    edges = np.cumsum([0, *draw.integers(1, 7, size=int(draw.integers(1, 6)))])
    prices = draw.random((edges.size - 1, len(inst.resources))) * draw.choice([0.01, 0.3, 5.0])
    prices *= (draw.random(prices.shape) < 0.8) / inst.arrays.scale
    return PiecewisePrices(inst, *parts(inst), edges, prices)


# --- the checker looks at few starts ---


def cheapest(inst: CompletionInstance, j: int, prices) -> Fraction | None:
    """Return the least weight * completion + cost of a job over all placements and starts."""
    a, job, whole = inst.arrays, inst.jobs[j], unit(inst)
    of = {h: c for c, members in enumerate(a.classes) for h in members}
    scale = [Fraction(int(x)) for x in a.scale]
    best = None
    for d, load in set(runs(inst, job)):
        for t in range(job.arrival, max(job.arrival, len(prices)) + 1):
            if inst.deadline is not None and t + d > inst.deadline:
                continue
            cost = exact(job.weight) * (t + d)
            for s in range(t, min(t + d, len(prices))):
                for x, amount in enumerate(load):
                    h, r = divmod(x, len(scale))
                    cost += int(prices[s, of[h], r]) * scale[r] * amount / whole
            best = cost if best is None else min(best, cost)
    return best


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_the_checker_misses_no_start(seed):
    """Of starts between two changes of prices it looks at none: none is cheaper."""
    inst, draw = tiny(seed), np.random.default_rng([seed, 6])
    evaluation = BoundEvaluator(inst)
    length = draw.integers(1, 4, size=4)
    prices = draw.integers(0, 4, size=(4, len(inst.arrays.classes), len(inst.resources)))
    prices = np.repeat(prices * (draw.random(prices.shape) < 0.7), length, axis=0)
    entries = [(*where, int(prices[tuple(where)])) for where in np.argwhere(prices).tolist()]
    priced = evaluation.priced(entries, 0, "prices")
    costs = [cheapest(inst, j, prices) for j in range(len(inst.jobs))]
    worth = Fraction(priced.charge) * Fraction(2) ** -priced.grid
    assert evaluation.bound(priced) == (None if None in costs else sum(costs) - worth)


# --- the relaxed oracle ---


@pytest.mark.parametrize("seed", SEEDS)
def test_relaxed_costs_are_never_above_the_exact_ones(seed):
    inst = free(seed)
    blocks, cluster = blockwise(inst, seed), Cluster(inst)
    one = np.ones(blocks.rhs.size)
    capacity = inst.arrays.capacity[[members[0] for members in inst.arrays.classes]]
    count = np.array([len(members) for members in inst.arrays.classes], np.int64)
    for factor in (0.0, 1.0, 3.0):
        prices = blocks.per_slot(factor * one)
        servers = PricedServers.of(cluster.types, prices, capacity, count)
        for j, job in enumerate(inst.jobs):
            relaxed = -blocks.sweep(factor * one, np.array([j]), False)[0]
            found = best_schedule(
                cluster.types,
                cluster.task(job).modes,
                servers,
                arrival=job.arrival,
                weight=job.weight,
            )
            if found is None:
                assert relaxed == math.inf
                continue
            assert relaxed <= found.value * (1 + 1e-9)
            if factor == 0.0:
                assert relaxed == pytest.approx(found.value)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_checker_finds_no_less_than_the_relaxed_bound(seed):
    inst = free(seed)
    blocks = blockwise(inst, seed)
    one = np.ones(blocks.rhs.size)
    cost, usage = blocks.sweep(one, np.arange(blocks.blocks), False)
    relaxed = -(one @ blocks.rhs) - cost
    found = check(inst, CompletionCertificate.root(inst, blocks.per_slot(one), 30))
    assert found == math.inf or relaxed <= found + 1e-6 * abs(relaxed)
    for factor in (0.5, 0.9, 1.1, 2.0):  # what is used is a subgradient
        there, _ = blocks.sweep(factor * one, np.arange(blocks.blocks), False)
        assert there >= cost - (factor - 1) * (usage @ one) - 1e-9 * abs(cost)


@pytest.mark.parametrize("seed", SEEDS)
def test_halves_of_blocks_begin_with_the_same_prices(seed):
    blocks = blockwise(free(seed), seed)
    prices = np.linspace(0.5, 1.5, blocks.rhs.size)
    finer = blocks.halved(prices)
    assert np.allclose(finer.per_slot(np.ones(finer.rhs.size)), blocks.per_slot(prices))
    assert finer.rhs.sum() == pytest.approx(prices @ blocks.rhs)
    assert finer.length.max() == max(1, -(-int(blocks.length.max()) // 2))


# --- dispatch ---


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_dispatched_schedules_are_valid(seed):
    inst = free(seed)
    orders = Orders(inst, *parts(inst))
    first = orders.first()
    verdict = verify(inst, orders.schedule(first.placed))
    assert verdict.violations == ()
    assert verdict.value == first.value
    left = iter(range(20))
    better = orders.improve(first, 0, lambda: next(left, None) is None, lambda _: None)
    assert better.value <= first.value
    assert verify(inst, orders.schedule(better.placed)).value == better.value


@pytest.mark.slow
def test_jobs_wait_until_there_is_room():
    inst = generate("small", seed=1, jobs=30, machines=3)
    orders = Orders(inst, *parts(inst))
    first = orders.first()
    assert (first.placed.start > orders.arrival).any()
    assert orders.run(first.rule, limit=first.value).value == math.inf


# --- the method ---


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_what_a_large_instance_gets_is_true(seed, monkeypatch):
    """Tiny instances are solved as if they were large: the optimum is between both sides."""
    monkeypatch.setattr(large, "LARGE", 0)
    inst = tiny(seed)
    found = [solve(inst, work_limit=300.0, check="certified") for _ in range(2)]
    assert found[0].certified_bound == found[1].certified_bound
    assert found[0].value == found[1].value
    best = optimum(inst)
    if best is None:
        assert found[0].value is None
        return
    assert found[0].bound_level is Level.CERTIFIED
    assert found[0].certified_bound <= best
    assert found[0].value is None or found[0].value >= best


@pytest.mark.slow
def test_prices_are_read_off_a_schedule(monkeypatch):
    monkeypatch.setattr(large, "LARGE", 0)
    inst = generate("small", seed=0, jobs=20)
    found = solve(inst, work_limit=2000.0)
    assert found.history[0].value is None  # without prices
    assert found.certified_bound > 1.2 * found.history[0].bound
    assert found.certified_gap < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("method", ["compact", "cpsat"])
def test_a_program_of_all_is_written_where_it_fits(method, monkeypatch):
    """Else a dispatched schedule is all there is; where it does, that one comes first."""
    monkeypatch.setattr(large, "LARGE", 0)
    inst = tiny(2)
    fits = solve(inst, method=method)
    monkeypatch.setattr(large, "WHOLE", 0)
    beyond = solve(inst, method=method)
    assert fits.value == optimum(inst)
    assert fits.history[1].value == beyond.value
    assert [point.value is None for point in beyond.history] == [True, False]
    assert beyond.bound == beyond.certified_bound == beyond.history[0].bound


@pytest.mark.slow
def test_a_program_is_given_up_while_it_is_written(monkeypatch):
    """A thread that writes a program ends at its next look, once nobody waits for it."""
    ended = []

    def write(*_):
        try:
            while True:
                interrupts.leave_if_abandoned()
        finally:
            ended.append(True)

    monkeypatch.setattr(cpsat, "CpSatProgram", write)
    found = solve(generate("small", seed=0, jobs=6), method="cpsat", time_limit=0.3)
    assert found.value is not None
    assert found.certified_bound is not None
    while not ended:
        time.sleep(0.01)
