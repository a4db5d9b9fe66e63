"""Damage: what the judge and the checker accept of it is true; the optimum is known exactly."""

import json
import math
import random
import re
import sys
from decimal import Decimal

import numpy as np
import pytest
from known_optima import bipartite_prices, damage, separable

from optsched.core import simulate, solve
from optsched.families.bipartite import FAMILY
from optsched.families.bipartite.certificate.check import BipartiteCertificate, check, scope
from optsched.families.bipartite.instance import BipartiteInstance, BipartiteSchedule, Record
from optsched.families.bipartite.online import verify
from optsched.families.bipartite.optimum.decision import Solver
from optsched.families.bipartite.optimum.initial_bounds import always, empty
from optsched.families.bipartite.sources.presets import generate
from optsched.families.bipartite.verify import Verifier, is_stationary
from optsched.results.result import recheck, save_result


def contended(seed):
    """An instance in which ports compete, and a value that somebody reaches."""
    inst = generate("small", seed=seed, slots=6, machines=2, contention=4.0, density=4.0)
    return inst, Decimal(solve(inst).value), Decimal(solve(inst, method="stationary").value)


def proved_by(inst, content):
    """Return what a certificate's JSON proves, and for what; None if it is refused."""
    try:
        certificate = BipartiteCertificate.model_validate(content)
        bound = check(inst, certificate)
    except ValueError:
        return None
    assert math.isfinite(bound)
    return Decimal(bound), scope(certificate)


@pytest.mark.slow
def test_damaged_certificates_of_those_who_compete():
    draw, narrower = random.Random(1), 0
    for seed in range(10):
        inst, best, still = contended(seed)
        assert still < best
        for before in bipartite_prices(inst):
            for _ in range(40):
                content = json.loads(json.dumps(before))
                damage(content, draw)
                found = proved_by(inst, content)
                if found is not None:
                    bound, asked = found
                    assert bound >= (still if asked == "stationary" else best), (seed, content)
                    narrower += asked == "stationary" and bound < best
    assert narrower > 10  # what the scope is for


@pytest.mark.slow
def test_full_use_of_the_tolerance_stays_within_the_bound():
    for seed in range(60):
        inst, a = separable(seed), separable(seed).arrays
        rows = np.repeat(np.arange(len(a.capacity)), np.diff(a.start))
        most = np.minimum(a.upper, a.capacity[rows]) * (1 + 0.999e-9)
        free = inst.model_copy(update={"overhead": (0.0,)})
        verdict = verify(free, always(free, most))
        assert verdict.feasible
        for content in bipartite_prices(free):
            assert verdict.value <= check(free, BipartiteCertificate.model_validate(content))


# --- the judge --------------------------------------------------------------------------------


def judged(inst, *decisions):
    verifier = Verifier(inst)
    for t, y in enumerate(decisions):
        verifier.slot(t, inst.jobs[t], np.array(y))
    return verifier.verdict()


def test_hostile_amounts_are_named():
    inst = generate("small", seed=0)
    a, good = inst.arrays, np.zeros(inst.arrays.channels)
    huge = np.full(a.channels, sys.float_info.max)
    assert len(judged(inst, huge).violations) == 45  # sums that overflow are no traceback
    for amount, message in [
        (math.nan, "is nan, expected a number"),
        (math.inf, "is inf, expected a number"),
        (-math.inf, "is -inf, expected a number"),
        (-5e-324, "expected at least 0"),
        (1e308, "expected at most"),
    ]:
        y = good.copy()
        y[3] = amount
        assert re.search(message, str(judged(inst, y)))
    assert judged(inst, -good).value == 0  # -0.0
    for shape in ((0,), (a.channels + 1,), (a.channels, 1), ()):
        assert "decision of shape" in str(judged(inst, np.zeros(shape)))


def test_slots_and_decisions_are_added_up_alike():
    for seed in range(5):
        inst = generate("counts", seed=seed)
        run = simulate(inst, "fairness")
        verifier = Verifier(inst)
        for t in range(inst.horizon):
            y = np.array(run.schedule.decisions[run.schedule.used[t]])
            verifier.slot(t, inst.jobs[t], y)
        assert verifier.verdict().value == verify(inst, run.schedule).value == run.value
        assert tuple(verifier.rewards) == run.schedule.rewards


def test_rewards_that_a_schedule_makes_up_are_refused():
    inst = generate("small", seed=0)
    schedule = simulate(inst, "drf").schedule
    rewards = list(schedule.rewards)
    rewards[7] += 1e-6
    lying = schedule.model_copy(update={"rewards": tuple(rewards)})
    assert "slot 7: the stated reward is" in str(verify(inst, lying))
    short = schedule.model_copy(update={"rewards": schedule.rewards[1:]})
    assert "rewards of 39 slots, expected 40" in str(verify(inst, short))
    assert verify(inst, schedule.model_copy(update={"rewards": ()})).feasible


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        ("drf", {"speed": 3.0}, "cannot be repeated"),
        ("ogasched", {"eta": "fast"}, "cannot be repeated"),
        ("ogasched", {"start_at": "top"}, "cannot be repeated"),
        ("ogasched", {"step": "magic"}, "cannot be repeated: step is 'magic'"),
        ("\x1b[2J", {}, "only runs of"),
    ],
)
def test_hostile_records_are_refused(policy, options, message):
    inst = generate("small", seed=0)
    record = Record(policy=policy, options=options, fingerprint="0" * 64)
    made = BipartiteSchedule(decisions=(), used=(), record=record)
    assert message in str(verify(inst, made))
    beside = empty(inst).model_copy(update={"record": Record.model_construct(**dict(record))})
    assert verify(inst, beside).value is None


# --- which question ---------------------------------------------------------------------------


def test_a_stationary_schedule_is_told_from_others():
    inst = generate("small", seed=0)
    assert is_stationary(inst, solve(inst, method="stationary").schedule)
    best = solve(inst).schedule
    assert not is_stationary(inst, best)
    y = best.decisions[0]
    twice = BipartiteSchedule(decisions=(y, y), used=(0, 1) * 20)
    assert is_stationary(inst, twice)  # the same under two numbers
    record = Record(policy="drf", options={}, fingerprint="0" * 64)
    assert not is_stationary(inst, BipartiteSchedule(decisions=(), used=(), record=record))
    assert not is_stationary(inst, BipartiteSchedule(decisions=(y,), used=(1,) * 40))


def test_a_stationary_bound_does_not_pass_for_another(tmp_path):
    inst = generate("small", seed=0)
    still, best = solve(inst, method="stationary"), solve(inst)
    assert (FAMILY.scope(still.certificate), FAMILY.scope(best.certificate)) == ("stationary", "")
    assert still.bound < best.value
    path = tmp_path / "result.json"

    def looked_at(**changes):
        save_result(path, inst, still.model_copy(update=changes))
        return recheck(path)[0]

    honest = looked_at()
    assert honest.accepted
    assert honest.what == "best stationary schedule"
    forged = looked_at(method="auto", scope="")
    assert not forged.accepted
    assert "the certificate is about stationary schedules, expected all" in str(forged)
    renamed = still.certificate.model_copy(
        update={"scope": "slots", "assigned": (0,) * len(inst.patterns[0])}
    )
    assert not looked_at(method="auto", scope="", certificate=renamed).accepted
    assert check(inst, renamed) >= best.value  # those prices, for every slot
    assert not looked_at(schedule=best.schedule, value=best.value, scope="stationary").accepted


def test_known_schedules_that_change_are_no_start_of_the_stationary_question():
    inst = generate("small", seed=0)
    best = solve(inst).schedule
    found = solve(inst, method="stationary", start=[best])
    assert is_stationary(inst, found.schedule)
    assert found.value <= found.bound


def test_idle_prices_prove_what_the_solver_says():
    """Shares that make a port want nothing, rounded to the grid, still prove exactly that."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        inst = generate("small", seed=seed, slots=5, utilities=("log", "reciprocal", "poly"))
        content = inst.model_dump()
        content["overhead"] = (1.0, 1.0, 1.0)
        for machine in content["machines"]:
            for utility in machine["utility"]:
                utility["alpha"] = {"log": 0.3, "poly": 0.6, "reciprocal": 1.9}[utility["kind"]]
                utility["alpha"] *= float(rng.uniform(0.8, 1.0)) ** (
                    -1.0 if utility["kind"] == "reciprocal" else 1.0
                )
        inst = BipartiteInstance.model_validate(content)
        found = solve(inst)
        assert (found.status, found.value, found.bound) == ("optimal", 0.0, 0.0)
        solved = Solver(inst).solve(inst.counts, 1e-6)
        assert not solved.y.any()
