"""Neighborhood search on a knapsack, whose optimum is known, and on a cluster."""

from itertools import combinations

import numpy as np
import pytest
from independent.oasis import optimum, random_instance

from optsched.engine.progress import Progress
from optsched.engine.search import LnsParams, construct, improve
from optsched.families.oasis import FAMILY
from optsched.families.oasis.optimum.search.neighborhood import Neighborhood, flat_prices
from optsched.families.oasis.sources.traces import generate
from optsched.scheduling.board import load


class Knapsack:
    """A board: jobs of some size and worth share one room; factor 1 takes only dense jobs."""

    def __init__(self, seed, jobs=14):
        draw = np.random.default_rng(seed)
        self.size = draw.integers(3, 12, jobs).tolist()
        self.worth = draw.integers(3, 12, jobs).astype(float).tolist()
        self.room = sum(self.size) // 2
        self.value = 0.0
        self.plans = {}

    def insert(self, i, factor):
        assert i not in self.plans
        if self.size[i] > self.room or self.worth[i] <= factor * self.size[i]:
            return False
        self.restore(i, self.size[i])
        return True

    def remove(self, i):
        self.value -= self.worth[i]
        self.room += self.size[i]
        return self.plans.pop(i)

    def restore(self, i, plan):
        assert plan <= self.room
        self.plans[i] = plan
        self.room -= plan
        self.value += self.worth[i]

    def optimum(self):
        room = sum(self.size) // 2
        return max(
            sum(self.worth[i] for i in chosen)
            for n in range(len(self.size) + 1)
            for chosen in combinations(range(len(self.size)), n)
            if sum(self.size[i] for i in chosen) <= room
        )


def clock(steps):
    """Return the share of ``steps`` that has passed, one more at every question."""
    passed = iter(range(steps + 1))
    return lambda: next(passed) / steps


def improved(board, *, steps=400, seed=0, worth=None):
    """Search; return the values that were reported."""
    values = []
    improve(
        board,
        board.worth if worth is None else worth,
        [(0, 0)] * len(board.size),
        2,
        np.random.default_rng(seed),
        done=clock(steps),
        found=lambda: values.append(board.value),
    )
    return values


@pytest.mark.parametrize("seed", range(6))
def test_it_finds_the_best_knapsack(seed):
    board = Knapsack(seed, jobs=12)
    construct(board, range(12), 0)
    first = board.value
    values = improved(board, steps=1500)
    assert max([first, *values]) == board.optimum()
    assert all(later > earlier for earlier, later in zip([first, *values], values, strict=False))


def test_construct_goes_in_order():
    board = Knapsack(0)
    construct(board, [5, 3, 5][:2], 0)
    assert list(board.plans) == [5, 3]
    board = Knapsack(0)
    construct(board, range(14), 1)
    assert all(board.worth[i] > board.size[i] for i in board.plans)


def test_the_same_seed_makes_the_same_moves():
    boards = [Knapsack(3) for _ in range(3)]
    found = [improved(b, seed=s) for b, s in zip(boards, (1, 1, 2), strict=True)]
    assert found[0] == found[1]
    assert boards[0].plans == boards[1].plans
    assert found[0] != found[2]


def test_a_move_that_is_not_accepted_leaves_no_trace():
    board, values, passed = Knapsack(5), [], clock(1500)
    construct(board, range(14), 0)

    def done():
        values.append(board.value)
        return passed()

    improve(
        board,
        board.worth,
        [(0, 0)] * 14,
        2,
        np.random.default_rng(0),
        done=done,
        found=lambda: None,
    )
    # annealing accepts a loss of 25 temperatures with probability exp(-25)
    assert np.diff(values).min() >= -25 * LnsParams.cooling[0] * max(values)


def test_worthless_jobs_are_left_alone():
    board = Knapsack(4)
    improved(board, worth=[w if i % 2 else 0.0 for i, w in enumerate(board.worth)])
    assert board.plans
    assert all(i % 2 for i in board.plans)
    untouched = Knapsack(4)
    assert improved(untouched, worth=[0.0] * 14) == []
    assert not untouched.plans


def searched(inst, seed=0, steps=300):
    progress = Progress(FAMILY, inst, time_limit=60.0, gap=0.0)
    area = Neighborhood(inst, flat_prices(inst))
    area.start()
    began = area.board.value
    best = area.search(progress, seed=seed, start=0, done=clock(steps))
    return progress, area, best, began


@pytest.mark.parametrize("seed", range(20))
def test_schedules_of_a_tiny_cluster_are_right_and_mostly_optimal(seed):
    inst = random_instance(seed)
    progress, area, best, began = searched(inst)
    verdict = FAMILY.verify(inst, area.schedule(best))
    assert verdict.value == progress.value
    assert began - 1e-9 <= progress.value <= optimum(inst) * (1 + 1e-9)
    assert progress.value >= 0.8 * optimum(inst)


def test_a_search_is_repeatable_and_better_than_its_start():
    inst = generate("small", seed=1)
    first, second = searched(inst), searched(inst)
    assert first[0].schedule == second[0].schedule
    assert first[0].value > first[3]


def test_plans_can_be_loaded_again():
    inst = generate("small", seed=1)
    _, area, best, _ = searched(inst)
    other = Neighborhood(inst, flat_prices(inst))
    other.start()
    load(other.board, best)
    assert other.board.value == pytest.approx(sum(p.value for p in best.values()))
    assert other.schedule(other.board.plans) == area.schedule(best)


def test_unlikely_jobs_are_hardly_tried():
    tried = []
    here = Knapsack(seed=1, jobs=40)
    construct(here, range(40), 0)
    out = [i for i in range(40) if i not in here.plans]
    likely = out[:3]
    inserts = here.insert

    def insert(i, factor):
        if i in out:
            tried.append(i)
        return i not in out and inserts(i, factor)

    here.insert = insert
    improve(
        here,
        here.worth,
        [(0, 0)] * 40,
        1,
        np.random.default_rng(0),
        done=clock(50),
        found=lambda: None,
        weights=[1e9 if i in likely else 1e-9 for i in range(40)],
        params=LnsParams(tries=5),
    )
    often = [tried.count(i) for i in likely]
    seldom = [tried.count(i) for i in out[3:]]
    assert min(often) == 50  # in every move
    assert max(seldom) < 25
