"""Limits on what one slot holds: proved, checked again, refused where damaged, and used."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from independent.oasis_certificate import Twin, tiny_instance

from optsched.engine.budget import Budget
from optsched.engine.colgen import Master, generate_columns
from optsched.families.oasis.certificate.bound import LeafBounds
from optsched.families.oasis.certificate.format import (
    CompletionSplit,
    Leaf,
    OasisCertificate,
    SlotPrices,
    check,
    leaf_bounds,
)
from optsched.families.oasis.certificate.slot_limits import check_limits
from optsched.families.oasis.optimum.prices.slot_limits import prove
from optsched.families.oasis.optimum.search.slot_repair import SlotRepair
from optsched.families.oasis.optimum.search.whole_slots import WholeSlots
from optsched.families.oasis.optimum.shadow import shadow_prices
from optsched.families.oasis.optimum.tree.branching import UnitTree
from optsched.families.oasis.sources.presets import generate

BITS = 20
TIGHT = {2: 9, 3: 9, 6: 6}  # completions that patterns of machines allow, and whole slots do not


def packs(demand, capacity, number):
    """Whether so many of each job fit on the machines, by trying everything."""
    jobs = [i for i, n in enumerate(number) if n]
    if not jobs:
        return True
    i, left = jobs[0], list(number)
    left[i] -= 1
    for h in {tuple(c): h for h, c in enumerate(capacity)}.values():
        rest = [c - d for c, d in zip(capacity[h], demand[i], strict=True)]
        if min(rest) >= 0 and packs(demand, [*capacity[:h], rest, *capacity[h + 1 :]], left):
            return True
    return False


def most_of_a_slot(inst, weights):
    """Return the most weighted workers of a slot, by trying all numbers."""
    a = inst.arrays
    sides = [(a.worker_demand, a.worker_capacity), (a.ps_demand, a.ps_capacity)]
    sides = [(d.tolist(), c.tolist()) for d, c in sides]
    ranges = [range(job.chunks + 1) for job in inst.jobs]
    best = 0
    for number in product(*ranges):
        ps = [inst.ps_needed(i)[n] for i, n in enumerate(number)]
        worth = sum(w * number[i] for i, w in weights.items())
        if worth > best and all(
            packs(*side, n) for side, n in zip(sides, (number, ps), strict=True)
        ):
            best = worth
    return best


def proved(inst, weights, goal=0):
    return prove(UnitTree(inst), weights, goal, lambda: False).limit


def some_weights(inst, seed):
    draw = np.random.default_rng([seed, 7])
    return {i: int(draw.integers(1, 6)) for i in range(len(inst.jobs))}


@pytest.mark.parametrize("seed", range(25))
def test_what_is_proved_is_the_most_that_a_slot_holds(seed):
    inst = tiny_instance(seed)
    weights = some_weights(inst, seed)
    bounds = LeafBounds(inst, BITS)
    most = most_of_a_slot(inst, weights)
    limit = proved(inst, weights)
    check_limits([limit], bounds)
    assert limit.most == most
    if most:
        with pytest.raises(ValueError, match=f"most is {most - 1}, expected {most}"):
            check_limits([limit.model_copy(update={"most": most - 1})], bounds)


def with_limits(inst, limits, nodes):
    return OasisCertificate(
        instance_sha256=inst.digest(), grid_bits=BITS, limits=tuple(limits), nodes=tuple(nodes)
    )


@pytest.mark.parametrize("seed", range(12))
def test_bound_with_limits_is_that_of_the_definition(seed):
    inst, draw = tiny_instance(seed), np.random.default_rng([seed, 3])
    jobs, slots = len(inst.jobs), inst.horizon
    limits = [proved(inst, some_weights(inst, k)) for k in range(2)]

    def prices():
        per_worker = draw.integers(0, 4 << BITS, (2, jobs, slots)) * draw.integers(0, 2)
        return SlotPrices.of(*per_worker, draw.integers(0, 2 << BITS, (2, slots)))

    job = int(draw.integers(jobs))
    split = CompletionSplit(job=job, slot=inst.jobs[job].arrival, left=1, right=2)
    certificate = with_limits(inst, limits, [split, Leaf(prices=prices()), Leaf(prices=prices())])
    assert list(leaf_bounds(inst, certificate)) == Twin(inst, certificate).bounds()


def damaged(limit):
    """Yield a limit with a part that is wrong, and what is said of it."""
    text = limit.model_dump()
    (job, weight), *others = text["weights"]
    split = next(k for k, node in enumerate(text["nodes"]) if node["node"] != "leaf")
    leaf = next(k for k, node in enumerate(text["nodes"]) if node["node"] == "leaf")

    def changed(k, **what):
        nodes = [dict(node) for node in text["nodes"]]
        nodes[k] |= what
        return {**text, "nodes": nodes}

    yield {**text, "most": text["most"] - 1}, "which is proved"
    yield {**text, "weights": [(job, weight + 1), *others]}, "which is proved"
    yield {**text, "weights": [(job, 0), *others]}, "expected 1"
    yield {**text, "weights": [(job, -weight), *others]}, "expected 1"
    yield {**text, "weights": [(job, 2**40), *others]}, "expected 1"
    yield {**text, "weights": [(job, weight), (job, weight)]}, "two weights"
    yield {**text, "weights": [(99, weight), *others]}, "job 99 does not exist"
    yield changed(leaf, prices=()), "which is proved"
    yield changed(leaf, prices=[(2, job, 1)]), "side 2 does not exist"
    yield changed(leaf, prices=[(0, 99, 1)]), "job 99 does not exist"
    yield changed(leaf, prices=[(0, job, -1)]), "expected 0"
    yield changed(leaf, prices=[(0, job, 2**40)]), "expected 0"
    yield changed(leaf, prices=[(0, job, 1), (0, job, 1)]), "given twice"
    yield changed(split, left=0), "child 0 does not exist"
    yield changed(split, right=text["nodes"][split]["left"]), "already a child"
    yield changed(split, job=99), "job 99 does not exist"
    yield changed(split, at=10**6), "at 1000000 does not exist"
    yield {**text, "nodes": [text["nodes"][leaf]]}, "which is proved"
    yield {**text, "nodes": [*text["nodes"], text["nodes"][leaf]]}, "cannot be reached"


def test_damaged_limits_are_refused():
    inst = generate("paper", seed=0, jobs=10, slots=10, machines=20)
    limit = proved(inst, {0: 1, 1: 1, 4: 5, 8: 1})
    check(inst, with_limits(inst, [limit], [Leaf()]))
    assert {node.node for node in limit.nodes} == {"leaf", "number", "machine"}
    machine = next(k for k, node in enumerate(limit.nodes) if node.node == "machine")
    cases = list(damaged(limit))
    text = limit.model_dump()
    text["nodes"][machine]["machine"] = 99
    cases.append((text, "machine of side . 99 does not exist"))
    assert len(cases) >= 20
    for wrong, says in cases:
        with pytest.raises(ValueError, match=says):
            check(inst, with_limits(inst, [type(limit).model_validate(wrong)], [Leaf()]))


def test_prices_of_limits_are_checked():
    inst = tiny_instance(0)
    limit = proved(inst, some_weights(inst, 0))
    for entry, says in (
        ((1, 0, 5), "limit 1 does not exist"),
        ((0, 99, 5), "slot 99 does not exist"),
        ((0, 0, -5), "expected 0"),
    ):
        leaf = Leaf(prices=SlotPrices(entries=(), limits=(entry,)))
        with pytest.raises(ValueError, match=says):
            check(inst, with_limits(inst, [limit], [leaf]))


def test_dear_limits_stay_in_range():
    inst = tiny_instance(3)
    limit = proved(inst, some_weights(inst, 3))
    dear = tuple((0, t, 2**62 - 1) for t in range(inst.horizon))
    certificate = with_limits(inst, [limit], [Leaf(prices=SlotPrices(entries=(), limits=dear))])
    plain = with_limits(inst, [], [Leaf()])
    # whoever runs pays more than it earns, so only the limits are worth something
    assert check(inst, certificate) > check(inst, plain) > 0


def test_limits_say_nothing_of_more_machines():
    inst = tiny_instance(0)
    limit = proved(inst, some_weights(inst, 0))
    runs = int(UnitTree(inst).most.argmax())
    prices = SlotPrices(entries=((0, runs, inst.jobs[runs].arrival, 1 << BITS),))
    assert shadow_prices(inst, with_limits(inst, [limit], [Leaf(prices=prices)]))
    priced = prices.model_copy(update={"limits": ((0, 0, 1),)})
    assert shadow_prices(inst, with_limits(inst, [limit], [Leaf(prices=priced)])) == []


@pytest.fixture(scope="module")
def tight():
    inst = generate("paper", seed=0, jobs=10, slots=10, machines=20)
    problem = UnitTree(inst)
    whole = WholeSlots(SlotRepair(problem, TIGHT, np.random.default_rng(0)))
    budget = Budget()
    assert whole.relax(budget.span())
    return inst, whole.limits(budget.span())


def test_completions_that_no_whole_slots_do_are_cut_off(tight):
    inst, found = tight
    weights = np.max([bound.weights for bound in found], axis=0)
    held = 0
    for t in range(inst.horizon):
        active = [i for i, due in TIGHT.items() if inst.jobs[i].arrival <= t <= due and weights[i]]
        if active:
            held += min(bound.limit.most for bound in found if bound.weights[active].all())
    assert held < weights @ inst.work


def test_rows_of_limits_lower_the_bound(tight):
    inst, found = tight
    problem = UnitTree(inst)
    node = problem.root()
    for i in range(problem.jobs):
        for half, slot in ((0, TIGHT.get(i)), (1, inst.horizon - 1 if i not in TIGHT else None)):
            if slot is not None:
                node = node.at_completion(i, slot)[half]
    worth = sum(inst.arrays.utility[i, t] for i, t in TIGHT.items())
    bounds = []
    for limits in ([], found):
        problem.limit(limits)
        here = problem.at(node)
        master = Master(here)
        relaxation = generate_columns(here, master, stop=lambda r: r.bound < worth - 1e-6)
        bounds.append(relaxation.bound)
    assert bounds[0] >= worth - 1e-6 > bounds[1]


def test_completions_that_whole_slots_do_are_begun_by_them():
    inst = generate("paper", seed=1, jobs=10, slots=10, machines=20)
    problem = UnitTree(inst)
    due = {0: 9}
    repair = SlotRepair(problem, due, np.random.default_rng(0))
    whole = WholeSlots(repair)
    budget = Budget()
    assert whole.relax(budget.span())
    whole.begin(budget.span())
    assert (repair.missing() <= 0).all()
