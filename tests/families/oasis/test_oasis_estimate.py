"""U and L from past experience: what counts, what does not, and what a run with them states."""

import math

import pytest

from optsched.core import simulate
from optsched.families.oasis.policies.estimate import learn
from optsched.families.oasis.policies.paper import KNOWLEDGE, Oasis
from optsched.families.oasis.sources.presets import generate

CONSTANT = (1.0, 0.0, 0.0)  # time-insensitive jobs only


def past(number, **options):
    return [generate("small", seed=seed, **options) for seed in range(10, 10 + number)]


def true(inst):
    return [(KNOWLEDGE[f"ln_U{side}"](inst), KNOWLEDGE[f"ln_L{side}"](inst)) for side in (1, 2)]


def test_where_all_utilities_count_the_estimate_is_the_truth_about_the_past():
    one, *_ = past(1, mix=CONSTANT)
    assert list(learn([one])) == true(one)


def test_several_instances_give_the_widest_bounds():
    seen = past(4, mix=CONSTANT)
    (upper, lower), _ = learn(seen)
    sides = [true(inst)[0] for inst in seen]
    assert lower == min(low for _, low in sides)
    for r, u in enumerate(upper):
        known = [up[r] for up, _ in sides if up[r] is not None]
        assert u == max(known, default=None)


def test_utilities_that_are_worth_next_to_nothing_do_not_set_l():
    (inst,) = past(1, mix=(0.5, 0.0, 0.5))  # steep sigmoids next to constant utilities
    workers, _ = learn([inst])
    literal = true(inst)[0]
    assert literal[1] < workers[1]
    # a share of 1 % is at most ln 100 below the utility without delay, which is from 1 to 100
    largest = max(u for u in workers[0] if u is not None)
    assert largest - workers[1] < largest - literal[1]
    wide, _ = learn([inst], min_share=1e-300)
    assert literal[1] <= wide[1] < workers[1]


def test_nothing_can_be_learnt_from_nothing():
    with pytest.raises(ValueError, match="0 instances"):
        learn([])
    with pytest.raises(ValueError, match="min_share 0"):
        learn(past(1), min_share=0.0)


def test_a_run_with_estimates_knows_no_bounds_and_has_no_guarantee():
    inst = generate("small", seed=1)
    estimate = learn(past(3))
    run = simulate(inst, Oasis(estimate=estimate))
    assert (run.policy, run.guarantee) == ("oasis-estimated", None)
    assert set(run.prior) == {"most_workers", "most_work"}
    workers, ps = true(inst)
    told = type(estimate)(workers, ps)
    assert simulate(inst, Oasis(estimate=told)).value == simulate(inst, Oasis()).value


def test_a_factor_moves_the_estimate():
    estimate = learn(past(2))
    policy = Oasis(estimate=estimate, U_factor=math.e)
    upper, lower = policy._estimates(*estimate.workers)
    assert lower == estimate.workers[1]
    pairs = zip(upper, estimate.workers[0], strict=True)
    assert all(a is b is None or a == pytest.approx(b + 1) for a, b in pairs)
    with pytest.raises(ValueError, match="no estimate next to it"):
        Oasis(L_floor=0.1, estimate=estimate)
