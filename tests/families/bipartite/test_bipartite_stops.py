"""Stops: whenever a method is told to end, what it leaves is true; compiled work hears of it."""

import threading
from itertools import count, pairwise

import numpy as np
import pytest

from optsched.core import solve
from optsched.families.bipartite import FAMILY
from optsched.families.bipartite.certificate.check import check
from optsched.families.bipartite.online import verify
from optsched.families.bipartite.optimum.decision import Solver
from optsched.families.bipartite.optimum.interior import LiveChannels, maximize
from optsched.families.bipartite.policies.projection import Live
from optsched.families.bipartite.sources.presets import generate
from optsched.process.background import supervised

SEARCHES = [m for m in FAMILY.methods if m != "relaxation"]  # which finds no schedule


class Signal:
    """Interrupts when it is requested to look for the nth time."""

    def __init__(self, after):
        self.after = after

    def __call__(self, progress):
        self.after -= 1
        if self.after < 0:
            progress.end()


@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("after", [0, 1, 2, 3, 4, 6, 9, 15, 30])
def test_an_interrupt_at_any_time_leaves_what_is_true(method, after):
    inst = generate("small", seed=1, slots=12)
    best = solve(inst)
    found = solve(inst, method=method, watch=Signal(after))
    assert verify(inst, found.schedule).value == found.value <= best.bound
    assert check(inst, found.certificate) == found.certified_bound
    if found.scope == "":
        assert found.bound >= best.value * (1 - 1e-6)


def test_ctrl_c_leaves_what_was_found():
    inst = generate("small", seed=1)
    looks = count()

    def watch(_):
        if next(looks) == 12:
            raise KeyboardInterrupt

    found = solve(inst, watch=watch)
    best = solve(inst)
    assert 0.9 * best.value <= found.value <= best.bound <= found.bound


def test_quick_patterns_need_no_stationary_decision(monkeypatch):
    inst = generate("small", seed=1)
    found, weights = [], []
    solving = Solver.try_to_solve

    def counted(self, weight, *rest):
        weights.append(weight)
        return solving(self, weight, *rest)

    monkeypatch.setattr(Solver, "try_to_solve", counted)
    for quick in (Solver.quick, lambda *_: False):
        monkeypatch.setattr(Solver, "quick", quick)
        found.append(solve(inst))
    assert len(weights) == 2 * len(inst.patterns[0]) + 1
    assert found[0].schedule == found[1].schedule
    assert found[0].certificate == found[1].certificate


def test_what_is_not_solved_takes_the_best_that_is_known():
    inst = generate("small", seed=1)
    stops = [solve(inst, watch=Signal(after)) for after in range(5, 25)]
    values, bounds = [s.value for s in stops], [s.bound for s in stops]
    assert all(late >= early * (1 - 1e-7) for early, late in pairwise(values))
    assert bounds[-1] < bounds[0]
    assert stops[-1].gap < stops[0].gap


def test_the_interior_point_that_is_stopped_leaves_a_point_and_prices():
    inst = generate("paper", seed=0, slots=5)
    live, weight = Live(inst.arrays), inst.counts.astype(np.float64)
    best = Solver(inst).solve(inst.counts, 1e-6)
    found = maximize(np.ones(2, np.int64), weight, 1e-6, LiveChannels.of(live, len(weight)))
    y, _, _, value, bound, iterations = found
    assert iterations == 0
    assert value <= best.bound
    assert bound >= best.value
    assert (y >= 0).all()
    assert (y <= live.channels.upper).all()


def test_work_that_is_told_to_stop_ends_with_what_it_has():
    asked = []

    def work(stopped):
        while not stopped[0]:
            threading.Event().wait(0.001)
        return "the best so far"

    def stop():
        asked.append(threading.current_thread() is threading.main_thread())
        return len(asked) == 3

    assert supervised(work, stop) == "the best so far"
    assert asked == [True] * 3


def test_work_that_ends_by_itself_is_not_asked_to_and_one_that_fails_says_so():
    assert supervised(lambda _stopped: 7, lambda: False) == 7

    def fail(_stopped):
        raise ArithmeticError("as if")

    with pytest.raises(ArithmeticError, match="as if"):
        supervised(fail, lambda: False)


def test_work_that_hears_nothing_is_left_alone():
    go = threading.Event()
    assert supervised(lambda _stopped: go.wait(), lambda: True, patience=0.01) is None
    go.set()
