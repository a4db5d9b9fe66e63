"""Large instances: relaxed bounds are never below exact ones, and limits of time are kept."""

from itertools import pairwise

import numpy as np
import pytest
from independent.oasis import optimum, random_instance
from independent.oasis_certificate import tiny_instance

from optsched import solve
from optsched.engine.progress import Progress
from optsched.families.oasis.certificate import limits
from optsched.families.oasis.certificate.bound import LeafBounds
from optsched.families.oasis.certificate.check import CapacityPrices, OasisCertificate, check
from optsched.families.oasis.certificate.convexified import best_payoff, least_costs, minorant
from optsched.families.oasis.certificate.kernels import NONE, cheapest, slot_costs
from optsched.families.oasis.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.convexified import RelaxedBlocks
from optsched.families.oasis.optimum.search.greedy_schedule import GreedySchedule
from optsched.families.oasis.sources.presets import generate
from optsched.families.oasis.verify import _at_once, verify
from optsched.problem import Level
from optsched.proofs.grid import to_grid

SEEDS = range(40)
NEAR = 1e-3  # how far a relaxed bound may be above the exact one


def drawn(seed: int):
    """Return a preset's instance and prices of all rows, (slot, resource, class) per side."""
    inst, draw = generate("small", seed=seed), np.random.default_rng([seed, 9])
    exact = CapacityRelaxation(inst)
    prices = draw.random(exact.rhs.size) * (draw.random(exact.rhs.size) < 0.7)
    return inst, exact, prices * draw.choice([0.1, 1.0, 10.0]) / np.maximum(exact.rhs, 1.0)


def by_class(exact: CapacityRelaxation, prices):
    """Return the same prices as the relaxed oracle has them: (class, resource, slot)."""
    parts = np.split(prices, [exact.sizes[0]])
    return np.concatenate(
        [
            p.reshape(shape).transpose(2, 1, 0).ravel()
            for p, shape in zip(parts, exact.shapes, strict=True)
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_relaxed_payoffs_are_never_below_the_exact_ones(seed):
    inst, exact, prices = drawn(seed)
    relaxed, every = RelaxedBlocks(inst), np.arange(len(inst.jobs))
    best = exact.payoffs(prices)
    rows = by_class(exact, prices)
    assert rows @ relaxed.rhs == pytest.approx(prices @ exact.rhs)
    total, _ = relaxed.sweep(rows, every, True)
    hulls = relaxed.found.payoff.copy()
    assert total == pytest.approx(hulls.sum())
    relaxed.sweep(rows, every, False)
    assert np.all(hulls >= best * (1 - 1e-9))
    assert np.all(relaxed.found.payoff >= hulls * (1 - 1e-9))


@pytest.mark.slow
@pytest.mark.parametrize("hulls", [True, False])
def test_what_blocks_use_is_a_subgradient(hulls):
    for seed in SEEDS:
        inst, exact, prices = drawn(seed)
        relaxed, every = RelaxedBlocks(inst), np.arange(len(inst.jobs))
        rows = by_class(exact, prices)
        here, usage = relaxed.sweep(rows, every, hulls)
        for factor in (0.5, 0.9, 1.1, 2.0):
            there, _ = relaxed.sweep(factor * rows, every, hulls)
            assert there >= here - (factor - 1) * (usage @ rows) - 1e-9 * here


def certificate(inst, seed: int, bits: int = 20) -> OasisCertificate:
    a, draw = inst.arrays, np.random.default_rng([seed, 3])

    def side(classes, units):
        shape = (inst.horizon, len(classes), len(inst.resources))
        return to_grid(draw.random(shape) * (draw.random(shape) < 0.7) / units, bits)

    prices = CapacityPrices.of(
        side(a.worker_classes, a.worker_scale), side(a.ps_classes, a.ps_scale)
    )
    return OasisCertificate.root(inst, prices, bits)


@pytest.mark.slow
def test_bounds_by_hulls_are_never_below_those_of_the_program(monkeypatch):
    differ = 0
    for seed in SEEDS:
        for inst in (tiny_instance(seed), random_instance(seed)):
            proof = certificate(inst, seed)
            exact = check(inst, proof)
            with monkeypatch.context() as patch:
                patch.setattr(limits, "LARGE", 0)
                relaxed = check(inst, proof)
            assert exact <= relaxed
            differ += relaxed > exact
    assert differ  # else nothing was relaxed


@pytest.mark.slow
def test_large_bounds_are_near_those_of_the_program():
    inst = generate("earnable", seed=3, jobs=40, slots=200, machines=20)
    exact = CapacityRelaxation(inst)
    prices = np.full(exact.rhs.size, 0.05) / exact.rhs.clip(1.0)
    leaf = LeafBounds(inst, 40)
    best = exact.payoffs(prices)
    relaxed = RelaxedBlocks(inst)
    total, _ = relaxed.sweep(by_class(exact, prices), np.arange(40), True)
    worth = prices @ exact.rhs
    assert worth + best.sum() <= worth + total <= (worth + best.sum()) * (1 + NEAR)
    assert leaf.cap.tolist() == relaxed.jobs.most.tolist()


def test_hulls_are_convex_and_never_above_the_costs():
    draw = np.random.default_rng(4)
    for _ in range(300):
        most = int(draw.integers(1, 12))
        steps = draw.integers(0, 40, most) * (draw.random(most) < 0.7)
        cost = np.concatenate([[0], np.cumsum(steps)])
        slope, length = np.empty(most, np.int64), np.empty(most, np.int64)
        used = minorant(cost, most, slope, length)
        assert length[:used].sum() == most
        assert all(a < b for a, b in pairwise(slope[:used].tolist()))
        below = np.concatenate([[0], np.cumsum(np.repeat(slope[:used], length[:used]))])
        assert np.all(below <= cost)
        assert below[-1] > cost[-1] - most  # of a rounding for each worker


def test_least_costs_are_never_above_those_of_the_program():
    draw = np.random.default_rng(5)
    for _ in range(200):
        slots, most = int(draw.integers(1, 6)), int(draw.integers(1, 5))
        needed = np.ceil(np.arange(most + 1) * draw.choice([0.3, 0.6, 1.0]) - 1e-9).astype(np.int64)
        unit = tuple(draw.integers(0, 50, (slots, 2)) for _ in range(2))
        rooms = tuple(draw.integers(0, most + 1, 2) for _ in range(2))
        cost = slot_costs(unit[0], rooms[0], unit[1], rooms[1], needed)
        work = int(draw.integers(1, slots * most + 1))
        high = np.full(slots, most)
        ends = np.minimum.accumulate(cheapest(cost, np.zeros_like(high), high, work))
        least = least_costs(unit, rooms, needed, work)
        assert np.all(np.diff(least) <= 0)
        assert np.all(least <= ends)
        assert np.all((least >= NONE) == (ends >= NONE))


def test_the_best_payoff_is_found_with_few_looks():
    draw = np.random.default_rng(6)
    for _ in range(300):
        slots = int(draw.integers(1, 30))
        worth = -np.sort(-draw.integers(0, 10**6, slots))
        ends = -np.sort(-draw.integers(0, 10**6, slots))
        ends[: draw.integers(0, slots)] = NONE
        best = max(0, *(int(w - e) for w, e in zip(worth, ends, strict=True)))
        found = best_payoff(ends, lambda c, worth=worth: int(worth[c]), worth.astype(float))
        assert best <= found <= best * (1 + 2**-20)


@pytest.mark.slow
def test_large_instances_have_bound_and_schedule(monkeypatch):
    monkeypatch.setattr(limits, "LARGE", 0)
    for seed in range(3):
        inst = random_instance(seed)
        found = solve(inst, time_limit=0.5)
        best = optimum(inst)
        assert found.bound_level is Level.CERTIFIED
        assert found.value <= best * (1 + 1e-9)
        assert best <= found.certified_bound * (1 + 1e-9)
        assert found.value > 0.5 * best


@pytest.mark.slow
def test_the_judge_hears_of_better_schedules_only(monkeypatch):
    """Schedules of thousands of jobs take seconds to write down and to judge."""
    heard: list[float] = []

    def incumbent(self, value, schedule):
        heard.append(value)
        self.accept(schedule, self.family.verify(self.instance, schedule))

    monkeypatch.setattr(limits, "LARGE", 0)
    monkeypatch.setattr(Progress, "incumbent", incumbent)
    for seed in range(3):
        heard.clear()
        found = solve(random_instance(seed), work_limit=300)
        assert found.value == pytest.approx(heard[-1])
        assert all(a < b for a, b in pairwise(heard))


@pytest.mark.slow
def test_schedules_of_many_entries_are_judged_alike():
    inst = generate("small", seed=3, jobs=20, slots=12, machines=12)
    schedule = solve(inst, method="search", time_limit=0.5).schedule
    quick, slow = _at_once(inst, schedule), verify(inst, schedule)
    assert quick == slow
    jobs = [i for i, job in enumerate(schedule.jobs) if job is not None]
    assert len(jobs) > 3
    for k, i in enumerate(jobs):
        job = schedule.jobs[i]
        entry, rest = job.workers[0], job.workers[1:]
        wrong = (
            {"workers": rest},
            {"workers": ((entry[0], entry[1], entry[2] + inst.jobs[i].chunks), *rest)},
            {"workers": ((inst.horizon, *entry[1:]), *rest)},
            {"workers": ((entry[0], 10**6, entry[2]), *rest)},
            {"ps": job.ps[1:]},
            {"ps": (*job.ps, (inst.horizon - 1, 0, 1))},
            {"workers": (*job.workers, *job.workers)},
        )[k % 7]
        broken = [*schedule.jobs]
        broken[i] = job.model_copy(update=wrong)
        changed = schedule.model_copy(update={"jobs": tuple(broken)})
        assert not verify(inst, changed).feasible
        assert _at_once(inst, changed) is None


@pytest.mark.slow
def test_jobs_go_in_and_out_of_what_is_free():
    inst = generate("paper", seed=0, jobs=10, slots=10, machines=20)
    blocks = RelaxedBlocks(inst)
    board = GreedySchedule(blocks, np.zeros(blocks.rhs.size))
    empty = [m.free.copy() for m in board.machines]
    placed = [i for i in range(10) if board.insert(i, 1.0)]
    assert len(placed) > 1
    full = [m.free.copy() for m in board.machines]
    assert all((f >= 0).all() and (f < e).any() for f, e in zip(full, empty, strict=True))
    for i in placed:
        board.restore(i, board.remove(i))
    assert all((m.free == f).all() for m, f in zip(board.machines, full, strict=True))
    for i in placed:
        board.remove(i)
    assert all((m.free == e).all() for m, e in zip(board.machines, empty, strict=True))
