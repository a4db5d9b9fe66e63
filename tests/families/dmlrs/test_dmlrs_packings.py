"""Prices of workers that sit together: packings of a slot, the tree, and its certificates."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent.dmlrs import optimum, tiny

from optsched.core import solve
from optsched.engine.branch import BranchAndBoundTree, BranchAndPrice, TreeNode
from optsched.engine.colgen import lagrangian
from optsched.engine.slot_tree import Completion
from optsched.families.dmlrs.certificate.check import (
    CompletionSplit,
    DmlrsCertificate,
    Leaf,
    PackingPrices,
    WorkersSplit,
    check,
)
from optsched.families.dmlrs.certificate.kernels import NONE
from optsched.families.dmlrs.certificate.slot_packing import best_packing
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.optimum.build_certificate import certify_capacity, certify_tree
from optsched.families.dmlrs.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.dmlrs.optimum.relaxations.slot_packing import Slots, pack_slot
from optsched.families.dmlrs.optimum.tree.branching import SlotTree
from optsched.families.dmlrs.sources.presets import generate


def drawn(seed):
    """Draw what `pack_slot` takes: whole values and prices, so that both kernels must agree."""
    rng = np.random.default_rng(seed)
    jobs, classes, most = int(rng.integers(1, 4)), int(rng.integers(1, 3)), 3
    load = np.zeros((jobs, most + 1, 2))
    for i in range(jobs):
        worker, ps, each = rng.integers(0, 4, 2), rng.integers(0, 4, 2), int(rng.integers(1, 3))
        for n in range(1, most + 1):
            load[i, n] = n * worker - (-n // each) * ps
    if rng.random() < 0.2:
        load[0, most] = -1  # impossible
    value = np.concatenate([np.zeros((jobs, 1)), rng.integers(0, 9, (jobs, most))], axis=1)
    price = rng.integers(0, 3, (2, classes)) * float(rng.integers(2))
    capacity = rng.integers(3, 9, (classes, 2)).astype(float)
    upper = rng.integers(0, most + 1, jobs)
    return value.cumsum(axis=1), price, load, capacity, rng.integers(1, 3, classes), upper


def worth(number, place, value, price, load, capacity):
    """Return what a packing is worth, None if it does not fit; ``place``: (class, machine)."""
    left = {h: capacity[h[0]].copy() for h in place}
    total = 0.0
    for i, n in enumerate(number):
        if n:
            if load[i, n, 0] < 0:
                return None
            left[place[i]] -= load[i, n]
            total += value[i, n] - price[:, place[i][0]] @ load[i, n]
    return total if all((x >= 0).all() for x in left.values()) else None


@given(st.integers(0, 2**32 - 1))
def test_packings_by_trying_all(seed):
    value, price, load, capacity, count, upper = drawn(seed)
    jobs = len(value)
    machines = [(c, k) for c in range(count.size) for k in range(count[c])]
    numbers = product(*(range(most + 1) for most in upper))
    every = (
        worth(n, p, value, price, load, capacity)
        for n in numbers
        for p in product(machines, repeat=jobs)
    )
    best = max(x for x in every if x is not None)
    number, group = np.zeros((2, jobs), np.int64)
    slots = Slots(value[None], price[None], load, capacity, count, upper[None])
    found = pack_slot(0, slots, number, group)
    assert found == pytest.approx(best)
    assert (number <= upper).all()
    earned = sum(value[i, n] - price[:, group[i]] @ load[i, n] for i, n in enumerate(number) if n)
    assert earned == pytest.approx(best)
    # the checker's kernel, which has the options beforehand
    n = np.arange(load.shape[1])
    allowed = n <= upper[:, None]
    options = np.full((count.size, *allowed.shape), -NONE)
    for c in range(count.size):
        fits = allowed & (load >= 0).all(axis=2) & (load <= capacity[c]).all(axis=2)
        options[c] = np.where(fits, (value - load @ price[:, c]) * 2**30, -NONE)
    exact = best_packing(options, load.astype(int), capacity.astype(int), count)
    assert exact == int(best * 2**30)


@given(st.integers(0, 60), st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 5]))
def test_any_prices_bound_the_optimum(seed, noise, level):
    inst = tiny(seed)
    rng = np.random.default_rng(noise)
    most = max(job.chunks for job in inst.jobs)
    together = rng.integers(0, 2000, (len(inst.jobs), inst.horizon, most)) * level
    shape = (inst.horizon, len(inst.arrays.classes), len(inst.resources))
    prices = PackingPrices.of(together, rng.integers(0, 500, shape) * int(rng.integers(2)))
    best = optimum(inst) * (1 - 1e-12)
    assert check(inst, DmlrsCertificate.root(inst, prices, 10)) >= best
    job = int(rng.integers(len(inst.jobs)))
    where = {"job": job, "slot": int(rng.integers(inst.jobs[job].arrival, inst.horizon))}
    nodes = (
        CompletionSplit(**where, left=1, right=2, prices=prices),
        WorkersSplit(**where, at=int(rng.integers(inst.jobs[job].chunks)), left=3, right=4),
        Leaf(),
        Leaf(),
        Leaf(),
    )
    split = DmlrsCertificate(instance_sha256=inst.digest(), grid_bits=10, nodes=nodes)
    assert check(inst, split) >= best


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_the_tree_finds_the_optimum_whatever_the_rates(seed):
    inst, schedules = tiny(seed), []
    problem = SlotTree(CapacityRelaxation(inst))
    best = optimum(inst)

    def relaxed(relaxation):
        schedules.append(problem.schedule(relaxation))

    tree = BranchAndPrice(
        problem,
        target=lambda: best * (1 + 1e-9),
        stop=lambda: False,
        improved=lambda _: None,
        relaxed=relaxed,
    )
    assert tree.run()
    bound = check(inst, certify_tree(problem, tree.tree))
    assert best * (1 - 1e-12) <= bound <= best * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_rates_far_apart(seed):
    inst = generate("paper", seed=seed, jobs=5, slots=6, machines=3, g_unit="Mbit")
    ours = solve(inst, method="branch-and-price", time_limit=120)
    other = solve(inst, method="cpsat", time_limit=120)
    assert ours.value == pytest.approx(other.value)
    assert ours.bound == pytest.approx(other.bound)
    kinds = {n.prices.kind for n in ours.certificate.nodes if n.prices is not None}
    assert kinds == {"packings"}


def in_other_units(inst, *factors):
    """Return the instance with its amounts times a factor of each resource."""
    data = inst.model_dump()
    places = [(machines, "capacity") for machines in data["machines"]]
    places += [(job, side) for job in data["jobs"] for side in ("worker_demand", "ps_demand")]
    for part, name in places:
        part[name] = tuple(x * f for x, f in zip(part[name], factors, strict=True))
    return DmlrsInstance.model_validate(data)


UNITS = [(1.0,) * 3, (1e6,) * 3, (1e-6,) * 3, (1.2345678,) * 3, (1.0, 1e6, 1e-7), (1e-7, 1.0, 3e6)]


@pytest.mark.parametrize("factors", UNITS)
@pytest.mark.parametrize("dear", [1.0, 1e3, 1e6])
def test_a_tree_proves_its_bound_in_any_unit_where_a_job_must_pay_a_lot(dear, factors):
    inst = in_other_units(generate("small", seed=0), *factors)
    capacity = CapacityRelaxation(inst)
    problem = SlotTree(capacity)
    job = next(i for i, end in enumerate(inst.earliest) if end is not None)
    last = inst.horizon - 1
    halves = problem.root().at_completion(job, last)
    prices = np.concatenate([np.zeros(problem.workers), dear / capacity.rhs])
    nodes = []
    for half, paid in zip(halves, (prices, 0 * prices), strict=True):
        here = problem.at(half)
        best = here.price(paid, np.full(here.copies.size, np.inf)).best
        nodes.append(TreeNode(half, lagrangian(here, paid, best), paid))
    root = TreeNode(problem.root(), np.inf, 0 * prices, Completion(job, last), (1, 2))
    tree = BranchAndBoundTree([root, *nodes])
    assert check(inst, certify_tree(problem, tree)) == pytest.approx(tree.bound(), rel=1e-9)


@pytest.mark.parametrize("factors", UNITS)
def test_prices_of_capacity_prove_their_bound_in_any_unit(factors):
    inst = in_other_units(generate("small", seed=0), *factors).shifted(7)
    problem = CapacityRelaxation(inst)
    prices = 12.8 / problem.rhs
    bound = lagrangian(problem, prices, problem.price(prices, np.zeros(problem.jobs)).best)
    assert check(inst, certify_capacity(problem, prices)) == pytest.approx(bound, rel=1e-9)


def test_broken_prices_are_refused():
    inst = tiny(0)
    for prices, message in [
        (PackingPrices(together=((0, 0, 99, 1),), capacity=()), "k 99 does not exist"),
        (PackingPrices(together=((0, 9, 0, 1),), capacity=()), "slot 9 does not exist"),
        (PackingPrices(together=(), capacity=((0, 0, 9, 1),)), "resource 9 does not exist"),
    ]:
        with pytest.raises(ValueError, match=message):
            check(inst, DmlrsCertificate.root(inst, prices, 10))
