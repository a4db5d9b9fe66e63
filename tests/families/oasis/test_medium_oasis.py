"""Instances between those with a program and those of thousands of jobs: `auto` by time."""

from __future__ import annotations

import pytest

from optsched.families.oasis.optimum import methods
from optsched.families.oasis.sources.presets import generate
from optsched.optimum import solve


@pytest.mark.parametrize("threads", [1, 2])
def test_where_there_is_no_time_for_a_program_prices_come_in_small_steps(threads, monkeypatch):
    inst = generate("earnable", seed=1, jobs=100, slots=60, machines=75)
    asked = []
    monkeypatch.setattr(methods.Search, "tighten", lambda *_: asked.append("tighten"))
    result = solve(inst, time_limit=4.0, threads=threads)
    assert not asked
    assert result.certified_gap is not None
    assert result.certified_gap < 0.5  # the program alone left a gap of 2.6 on such instances


def test_where_there_is_time_prices_in_small_steps_come_first(monkeypatch):
    inst = generate("earnable", seed=1, jobs=60, slots=40, machines=20)
    before = []
    monkeypatch.setattr(
        methods.Search, "tighten", lambda search, *_: before.append(search.progress.bound)
    )
    result = solve(inst, time_limit=6.0)
    assert before[0] == pytest.approx(result.certified_bound, rel=1e-3)
    assert result.certified_bound < 0.8 * inst.arrays.utility.max(axis=1).sum()
