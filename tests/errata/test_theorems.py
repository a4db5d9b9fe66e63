"""Theorems of the papers that hold, tested; and the list of claims of the pages on the papers."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from theorems import CLAIMS

import optsched
from optsched.families.bipartite.pictures import split
from optsched.families.bipartite.sources.presets import generate as bipartite
from optsched.families.bot.policies.convergence import convergence
from optsched.families.bot.policies.negotiation import Negotiation, Steps
from optsched.families.bot.sources.presets import generate as bot
from optsched.families.completion.policies.paper import price_base, weight_bound
from optsched.families.completion.sources.presets import generate as completion
from optsched.families.dmlrs.policies.prior import theorem_gain
from optsched.papers.completion.weight_bound import most_weight
from optsched.papers.verdict import Support

TESTS = Path(__file__).parents[1]
ERRATA = (TESTS.parent / "docs" / "errata.md").read_text(encoding="utf-8")
ROWS = [(paper, claim) for paper, claims in CLAIMS.items() for claim in claims]


@pytest.mark.parametrize(("paper", "claim"), ROWS)
def test_every_claim_names_a_test_and_errata_that_exist(paper, claim):
    if claim.test:
        file, _, name = claim.test.partition("::")
        assert re.search(rf"^def {name}\(", (TESTS / file).read_text(encoding="utf-8"), re.M)
    assert claim.test or claim.errata or claim.verdict is Support.UNTESTABLE
    for label in claim.errata:
        assert label.startswith(paper.upper())
        assert f"### {label}\n" in ERRATA or f"| {label} |" in ERRATA


def test_theorems_and_lemmas_of_all_papers_are_listed():
    def numbers(paper, kind):
        text = " ".join(claim.what for claim in CLAIMS[paper])
        return {int(n) for n in re.findall(rf"{kind} (\d)", text)}

    assert numbers("oasis", "Theorem") == {1, 2, 3, 4}
    assert numbers("oasis", "Lemma") == {1, 2, 3}
    assert numbers("dmlrs", "Theorem") == {2, 3}
    assert numbers("dmlrs", "Lemma") == numbers("dmlrs", "Fact") == {1}
    assert numbers("completion", "Theorem") == set(range(1, 9))
    assert numbers("completion", "Lemma") == {1, 2}
    assert numbers("bipartite", "Theorem") == numbers("bipartite", "Proposition") == {1}


def test_oasis_lemma_3_prices_satisfy_the_differential_relationship():
    rng = np.random.default_rng(0)
    for _ in range(50):
        low, capacity = rng.uniform(1e-6, 1), rng.uniform(1, 100)
        high = low * math.exp(rng.uniform(0.1, 20))
        alpha = math.log(high / low)
        used, step = rng.uniform(0, capacity), 1e-7 * capacity

        def price(g, low=low, high=high, capacity=capacity):
            return low * (high / low) ** (g / capacity)  # (22)

        slope = (price(used + step) - price(used - step)) / (2 * step)
        assert price(used) == pytest.approx(capacity / alpha * slope, rel=1e-5)


def test_oasis_lemma_2_the_relationship_bounds_the_increments():
    # a job takes some of each of several resources; its payoff and its cost make up its utility
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(1, 6))
        before, capacity = rng.uniform(0.1, 5, n), rng.uniform(1, 9, n)
        taken, alpha = rng.uniform(0, 1, n), rng.uniform(1, 9)
        # the largest prices after it that keep the relationship
        after = before + rng.uniform(0, 1, n) * alpha * before * taken / capacity
        payoff = rng.uniform(0, 3)
        primal = payoff + float(before @ taken)
        dual = payoff + float((after - before) @ capacity)
        assert primal >= dual / alpha - 1e-12


def test_dmlrs_a5_the_gain_keeps_the_cover_constraints():
    rng = np.random.default_rng(2)
    delta, runs = 1.0, 2000
    for rows in (1, 2, 5):
        matrix, solution = rng.uniform(0.1, 1, (rows, 40)), rng.uniform(0, 0.5, 40)
        cover = matrix @ solution  # every row is met with equality
        x = math.log(3 * rows / delta) / float((cover[:, None] / matrix).min())  # W_a
        scaled = (1 + x + math.sqrt(x * x + 2 * x)) * solution
        drawn = np.floor(scaled) + (rng.random((runs, 40)) < scaled - np.floor(scaled))
        missed = (drawn @ matrix.T < cover - 1e-9).any(axis=1).mean()
        assert missed <= delta / 3 + 0.03
    assert theorem_gain(delta) == 1 + math.log(6) + math.sqrt(math.log(6) ** 2 + 2 * math.log(6))


@pytest.mark.parametrize("architecture", ["ps", "ring"])
def test_completion_theorems_2_and_7_schedules_are_feasible(architecture):
    for seed in range(6):
        inst = completion("mid", seed=seed, jobs=8, machines=3, architecture=architecture)
        # `most_weight` raises where the feasibility check refuses a schedule or it ends too late
        found = most_weight(inst, 16, price_base(inst, weight_bound(inst)), seconds=0.0)
        assert found.by_method["a_maxweight"] >= 0


@pytest.mark.parametrize("architecture", ["ps", "ring"])
def test_completion_theorem_3_within_two_log_lambda(architecture):
    for seed in range(6):
        inst = completion("mid", seed=seed, jobs=8, machines=3, architecture=architecture)
        lam = price_base(inst, weight_bound(inst))
        found = most_weight(inst, 16, lam, seconds=0.5)
        if found.by_method["a_maxweight"] > 0:
            assert found.ratio("a_maxweight") <= 2 * math.log2(lam)


@pytest.mark.parametrize("architecture", ["ps", "ring"])
def test_completion_theorem_5_a_online_is_4_alpha_competitive(architecture):
    for seed in range(4):
        inst = completion("small", seed=seed, architecture=architecture)
        report = optsched.compare(inst, ["a_online"], work_limit=500)
        (row,) = report.policies
        assert row.ratio.high is not None
        assert row.ratio.guarantee is not None
        assert row.ratio.high <= row.ratio.guarantee


def test_bipartite_proposition_1_the_reward_is_concave():
    rng = np.random.default_rng(3)
    for seed in range(3):
        inst = bipartite("small", seed=seed, slots=4)
        run = optsched.simulate(inst, "fairness")
        one = np.zeros_like(np.asarray(run.schedule.decisions[0], dtype=float))
        two = np.asarray(run.schedule.decisions[-1], dtype=float)
        for _ in range(20):
            share = rng.random()
            jobs = np.asarray(inst.jobs[int(rng.integers(inst.horizon))])

            def reward(y, inst=inst, jobs=jobs):
                gain, overhead = split(inst, y, jobs)
                return gain - overhead

            between = reward(share * one + (1 - share) * two)
            assert between >= share * reward(one) + (1 - share) * reward(two) - 1e-9


def test_bot_small_steps_reach_the_optimum():
    steps = Steps(algorithm="adaptive", rho=0.05, tilde=0.05, lam=0.7, mu=0.7)
    for seed in range(3):
        inst = bot("small", seed=seed)
        series, _ = Negotiation(inst, steps).run(3000)
        best = optsched.solve(inst)
        assert convergence(series, best.value).converged
