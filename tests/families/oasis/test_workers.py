"""The two decompositions of family `oasis` against the programs that they stand for."""

from itertools import product

import numpy as np
import pytest
from independent.oasis import optimum, random_instance
from scipy.optimize import linprog

from optsched.engine.colgen import Master, generate_columns
from optsched.families.oasis.certificate.check import check
from optsched.families.oasis.optimum.build_certificate import certify_capacity
from optsched.families.oasis.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.relaxation import compact_prices
from optsched.families.oasis.optimum.relaxations.unit_price import UnitPriceDecomposition

SEEDS = range(15)


def never(_):
    return False


def relax(problem):
    return generate_columns(problem, Master(problem), stop=never, tolerance=lambda _: 1e-9)


def every_column(problem):
    """Return a column for every schedule of exactly the work, and for every pattern."""
    inst, columns = problem.inst, []
    for i, job in enumerate(inst.jobs):
        most = int(problem.most[i])
        slots = [range(most + 1) if t >= job.arrival else (0,) for t in range(inst.horizon)]
        for n in product(*slots):
            if sum(n) == inst.work[i]:
                end = max(t for t, x in enumerate(n) if x)
                if problem.arrays.utility[i, end] > 0:
                    columns.append(problem.job_column(i, end, np.array(n)))
    for b, host in enumerate(problem.hosts):
        capacity, demand = problem.capacity[host.side][host.group], problem.demand[host.side]
        here = problem.row[host.side, :, host.slot] >= 0
        for y in product(*(range(int(m) + 1) for m in problem.most * here)):
            if any(y) and (np.array(y) @ demand <= capacity).all():
                columns.append(problem.host_column(b, np.array(y)))
    return columns


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_is_that_of_the_program_with_every_pattern(seed):
    problem = UnitPriceDecomposition(random_instance(seed))
    columns = every_column(problem)
    if not problem.rows or not columns:
        assert relax(problem).bound == 0
        return
    usage = np.zeros((problem.rows, len(columns)))
    member = np.zeros((problem.copies.size, len(columns)))
    for k, c in enumerate(columns):
        usage[c.rows, k] += c.usage
        member[c.block, k] = 1
    whole = linprog(
        [-c.value for c in columns],
        A_ub=np.vstack([usage, member]),
        b_ub=np.concatenate([problem.rhs, problem.copies]),
    )
    assert whole.status == 0
    assert relax(problem).bound == pytest.approx(-whole.fun, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_bound_is_valid_and_patterns_are_tighter(seed):
    inst = random_instance(seed)
    best = optimum(inst)
    slots, problem = relax(UnitPriceDecomposition(inst)), CapacityRelaxation(inst)
    prices = compact_prices(problem)
    bound = problem.bound(prices)
    assert best * (1 - 1e-9) <= slots.bound <= bound * (1 + 1e-7) + 1e-9
    certified = check(inst, certify_capacity(problem, prices))
    assert certified == pytest.approx(bound, rel=1e-6, abs=1e-6)
    assert certified >= best * (1 - 1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_are_what_their_block_is_paid_for(seed):
    inst = random_instance(seed)
    rng = np.random.default_rng(seed)
    problem = UnitPriceDecomposition(inst)
    prices = rng.random(problem.rhs.size)
    pricing = problem.price(prices, np.zeros(problem.copies.size))
    for c in pricing.columns:
        payoff = c.value - prices[c.rows] @ c.usage
        assert payoff == pytest.approx(pricing.best[c.block])
        assert payoff > 0
        if c.block < problem.jobs:
            completion, amount = c.choice
            assert amount.sum() >= inst.work[c.block]
            assert amount[completion] > 0
            assert not amount[completion + 1 :].any()
            assert c.value == problem.inst.arrays.utility[c.block, completion]


def test_machine_prices_are_those_of_their_class():
    inst = random_instance(3)
    problem = CapacityRelaxation(inst)
    prices = np.arange(problem.rhs.size, dtype=float)
    for spread, classes, part in zip(
        problem.by_machine(prices),
        problem.classes,
        np.split(prices, [problem.sizes[0]]),
        strict=True,
    ):
        by_class = part.reshape(inst.horizon, len(inst.resources), len(classes))
        for c, members in enumerate(classes):
            for h in members:
                assert np.array_equal(spread[:, :, h], by_class[:, :, c])
