"""The best policies as policies: simulated, sampled, sandboxed, and where others stand."""

import math
import statistics

import pytest
from games import matching, paging, skiing, trading

import optsched
from optsched.minimax.certificate import follow
from optsched.minimax.policy import Optimal
from optsched.problem import PolicyError

RUNS = 400  # benchmarks/minimax.py: 10,000


def expected(game):
    """Return the expected value of the best randomized policy on every instance."""
    tree = game.tree
    costs = follow(tree, game.certificate.randomized)
    return [float(tree.sign * cost / tree.scale) for cost in costs]


@pytest.mark.slow
@pytest.mark.parametrize("instances", [skiing(3, 6), matching.instances()])
def test_samples_lie_in_their_confidence_interval(instances):
    game = optsched.minimax(instances)
    policy = game.policy
    for inst, mean in zip(instances, expected(game), strict=True):
        values = [optsched.simulate(inst, policy, seed=seed).value for seed in range(RUNS)]
        error = statistics.stdev(values) / math.sqrt(RUNS)
        assert abs(statistics.fmean(values) - mean) <= 4.5 * error + 1e-12


@pytest.mark.parametrize("menu", [matching, paging(3, 4), trading((1, 2, 4), 3)])
def test_the_deterministic_policy_reaches_its_value(menu):
    game = optsched.minimax(menu)
    standing = game.standing(game.deterministic_policy)
    assert standing.value == pytest.approx(game.deterministic, rel=1e-12)
    assert standing.error == 0


def test_a_seed_fixes_what_is_drawn():
    game = optsched.minimax(skiing(4, 8))
    inst = game.instances[-1]
    runs = [optsched.simulate(inst, game.policy, seed=s).schedule for s in (1, 2, 3, 4, 5, 1)]
    assert runs[0] == runs[-1]
    assert len({run.values for run in runs}) > 1


@pytest.mark.slow
def test_a_policy_that_was_written_runs_in_the_sandbox(tmp_path):
    game = optsched.minimax(matching)
    name = f"{game.policy.save(tmp_path / 'best.py')}:policy"
    inst = game.instances[-1]
    for seed in range(2):
        here = optsched.simulate(inst, game.policy, seed=seed)
        for sealed in (False, True):
            there = optsched.simulate(inst, name, seed=seed, sandbox=sealed)
            assert there.sealed == sealed
            assert there.schedule == here.schedule


def test_a_policy_of_other_instances_is_refused():
    game = optsched.minimax(skiing(4, 6))
    with pytest.raises(PolicyError, match="in none of the instances"):
        optsched.simulate(skiing(5, 2)[-1], game.policy)


@pytest.mark.slow
def test_three_numbers_of_a_policy():
    game = optsched.minimax(skiing(5, 15))
    always = game.standing("greedy")
    assert (always.value, always.instance, always.optimum) == (3.0, 14, 1.0)
    assert always.best == game.value < game.deterministic < always.value
    random = game.standing("random", runs=20)
    assert random.error > 0
    assert random.value > game.value
    assert "best online algorithm 1.48" in str(always)


def test_the_optimal_policy_shares_nothing_between_runs():
    policy = optsched.minimax(skiing(3, 5)).policy
    assert isinstance(policy(), Optimal)
    assert policy() is not policy
