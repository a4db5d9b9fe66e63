"""Instances between those with a program and those of thousands of jobs: `auto` by time."""

import pytest

from optsched.core import solve
from optsched.engine.progress import Progress
from optsched.families.oasis import FAMILY
from optsched.families.oasis.optimum import methods
from optsched.families.oasis.sources.presets import generate

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("threads", [1, 2])
def test_where_there_is_no_time_for_a_program_prices_come_in_small_steps(threads, monkeypatch):
    inst = generate("earnable", seed=1, jobs=100, slots=60, machines=75)
    asked = []
    monkeypatch.setattr(methods.Portfolio, "tighten", lambda *_: asked.append("tighten"))
    result = solve(inst, time_limit=4.0, threads=threads)
    assert not asked
    assert result.certified_gap is not None
    assert result.certified_gap < 0.5  # the program alone left a gap of 2.6 on such instances


def test_where_there_is_time_prices_in_small_steps_come_first(monkeypatch):
    inst = generate("earnable", seed=1, jobs=60, slots=40, machines=20)
    before = []
    monkeypatch.setattr(
        methods.Portfolio, "tighten", lambda search, *_: before.append(search.progress.bound)
    )
    result = solve(inst, time_limit=6.0)
    assert before[0] == pytest.approx(result.certified_bound, rel=1e-3)
    assert result.certified_bound < 0.8 * inst.arrays.utility.max(axis=1).sum()


def test_prices_in_small_steps_are_prices_on_capacity():
    """The exact oracle earns no more at them than the relaxed one, so they are in their places."""
    inst = generate("earnable", seed=1, jobs=40, slots=30, machines=16)
    progress = Progress(FAMILY, inst, time_limit=20.0, gap=0.0)
    search = methods.Portfolio(inst, progress, 1, 0)
    search.fill()
    exact = search.capacity.bound(search.prices)
    assert 0.9 * search.bound <= exact <= search.bound * (1 + 1e-9)
