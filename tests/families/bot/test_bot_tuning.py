"""The search for step sizes."""

import pytest

import optsched
from optsched.families.bot.policies.negotiation import Steps
from optsched.families.bot.policies.tuning import FACTORS, Score, score, search_steps
from optsched.families.bot.sources.presets import generate

TINY = Steps(algorithm="adaptive", rho=1e-4, tilde=0.05, lam=0.7, mu=0.7)
LENGTH = 400


@pytest.fixture(scope="module")
def platforms():
    made = [generate("heterogeneous", seed=s, nodes=12) for s in range(100, 104)]
    return [(inst, optsched.solve(inst).value) for inst in made]


@pytest.fixture(scope="module")
def found(platforms):
    return search_steps(platforms, TINY, iterations=LENGTH)


def test_score_by_hand(platforms):
    slow = score(platforms, TINY, LENGTH)
    assert (slow.missed, slow.time) == (4, LENGTH + 1)  # so small a step gets nowhere
    assert slow.distance > 0.16
    assert score(platforms, TINY.model_copy(update={"rho": 0.05}), LENGTH).missed == 0
    # first which converge, then how soon, then how near
    assert Score(0, 90.0, 1.0) < Score(1, 10.0, 0.0) < Score(1, 11.0, 0.0) < Score(1, 11.0, 0.1)


def test_the_search_repairs_a_step_that_is_too_small(platforms, found):
    assert found.start == score(platforms, TINY, LENGTH)
    assert found.score == score(platforms, found.steps, LENGTH)
    assert found.score.missed == 0
    assert found.steps.rho > 10 * TINY.rho


def test_no_single_factor_makes_it_better(platforms, found):
    for name in FACTORS:
        for factor in (4.0, 2.0, 0.5, 0.25):
            size = float(f"{getattr(found.steps, name) * factor:.4g}")
            if name != "tilde" or size <= 1:
                other = found.steps.model_copy(update={name: size})
                assert score(platforms, other, LENGTH) >= found.score


def test_what_is_found_serves_platforms_that_were_not_searched_on(found):
    others = [generate("heterogeneous", seed=s, nodes=12) for s in range(4)]
    judged = [(inst, optsched.solve(inst).value) for inst in others]
    assert score(judged, found.steps, LENGTH).missed <= 1


def test_the_search_is_deterministic_and_ends(platforms, found):
    assert search_steps(platforms, TINY, iterations=LENGTH) == found
    short = search_steps(platforms, TINY, iterations=LENGTH, most=5)
    assert short.tried == 5
    assert found.score <= short.score <= short.start


def test_options_of_the_algorithm_are_kept(platforms):
    printed = TINY.model_copy(update={"dual_step": "printed", "threshold": 1e-6})
    kept = search_steps(platforms[:1], printed, iterations=100, most=20).steps
    assert (kept.algorithm, kept.dual_step, kept.threshold) == ("adaptive", "printed", 1e-6)


def test_smoothing_stays_within_1(platforms):
    steps = TINY.model_copy(update={"rho": 0.05, "tilde": 0.9})
    assert search_steps(platforms[:1], steps, iterations=100, most=30).steps.tilde <= 1


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"mu": 0.0}, {}, "step size mu is 0"),
        ({}, {"finest": 1.0}, r"factors 4.0 to 1.0, expected numbers above 1"),
        ({}, {"widest": 1.1}, r"factors 1.1 to 1.25"),
    ],
)
def test_wrong_input(platforms, changes, options, message):
    with pytest.raises(ValueError, match=message):
        search_steps(platforms, TINY.model_copy(update=changes), **options)
    with pytest.raises(ValueError, match="no platforms"):
        search_steps([], TINY)
