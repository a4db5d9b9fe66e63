"""Prices by small steps say which jobs need not take part in the first round of tightening."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.engine.budget import Budget
from optsched.engine.colgen import lagrangian
from optsched.families.oasis.certificate.format import check
from optsched.families.oasis.optimum.certify import certify_slots
from optsched.families.oasis.optimum.prices.capacity import CapacityBlocks
from optsched.families.oasis.optimum.prices.relaxation import compact_prices
from optsched.families.oasis.optimum.prices.stepwise import stepwise_prices
from optsched.families.oasis.optimum.prices.tightening import Tightening
from optsched.families.oasis.sources.presets import generate


@pytest.fixture(scope="module")
def crowded():
    """Most jobs find no room."""
    return CapacityBlocks(generate("earnable", seed=1, jobs=40, slots=30, machines=10))


def bound_at(problem, prices):
    return lagrangian(problem, prices, problem.price(prices, np.zeros(problem.jobs)).best)


def prices_of(problem, stop=lambda: False):
    return stepwise_prices(problem.inst, np.random.default_rng(0), stop)


@pytest.mark.slow
def test_they_are_about_as_good_as_those_of_the_program(crowded):
    prices = prices_of(crowded)
    assert prices.shape == crowded.rhs.shape
    assert (prices >= 0).all()
    at_program = bound_at(crowded, compact_prices(crowded))
    assert bound_at(crowded, prices) < 1.1 * at_program < bound_at(crowded, 0 * prices)


def test_who_is_told_to_stop_has_no_prices(crowded):
    assert not prices_of(crowded, lambda: True).any()


def test_the_first_round_is_smaller_and_as_good(crowded):
    some, every = (Tightening(crowded, threads=1) for _ in range(2))
    some.begin(prices_of(crowded))
    likely = set(some.jobs)
    for tightening in (some, every):
        tightening.round(Budget(60.0).span())
    assert 0 < len(likely) < 0.8 * crowded.jobs
    assert some.bound == pytest.approx(every.bound, rel=0.02)
    assert some.jobs >= set(np.flatnonzero(some.guide.near).tolist())
    certified = check(crowded.inst, certify_slots(crowded.inst, some.guide.prices))
    assert certified == pytest.approx(some.bound, rel=2e-3)
    assert certified <= some.bound * (1 + 1e-9)


def test_jobs_that_were_left_out_come_back(crowded):
    tightening = Tightening(crowded, threads=1)
    tightening.begin(prices_of(crowded))
    alone = min(tightening.jobs)
    tightening.jobs = {alone}  # as if all others had been too dear
    tightening.round(Budget(60.0).span())
    assert not tightening.done
    assert len(tightening.jobs) > 10


def test_where_no_job_earns_anything_near_all_take_part(crowded):
    tightening = Tightening(crowded, threads=1)
    tightening.begin(np.full(crowded.rhs.size, 1e9))
    assert tightening.jobs is None
