"""Damage: what the judge and the checker accept of it is true; the optimum is known exactly."""

import json
import math
import re
import sys
from decimal import Decimal

import numpy as np
import pytest
from independent.bipartite import separable_optimum

from optsched.core import simulate, solve
from optsched.families.bipartite import FAMILY
from optsched.families.bipartite.certificate.format import BipartiteCertificate, check, scope
from optsched.families.bipartite.instance import BipartiteInstance, BipartiteSchedule, Record
from optsched.families.bipartite.instance_utilities import KINDS
from optsched.families.bipartite.online import verify
from optsched.families.bipartite.optimum.decision import Solver
from optsched.families.bipartite.optimum.initial_bounds import always, empty, opening
from optsched.families.bipartite.sources.presets import generate
from optsched.families.bipartite.verify import Verifier, is_stationary
from optsched.results.result import recheck, save_result

TOLERANCE = Decimal("1.2e-9")  # of the limits, and of the rewards that are computed


def spread(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def separable(seed):
    """An instance of any magnitude with a known optimum: machines have a port each, or none."""
    rng = np.random.default_rng(seed)
    ports, slots, size = int(rng.integers(1, 4)), int(rng.integers(1, 4)), spread(rng, 1e-12, 1e12)
    gain = spread(rng, 1e-12, 1e12)

    def amount():
        return 0.0 if rng.random() < 0.1 else size * spread(rng, 0.1, 10)

    def machine():
        kind = KINDS[int(rng.integers(len(KINDS)))]
        near = size if kind == "reciprocal" else gain
        return {
            "capacity": (amount(),),
            "ports": (int(rng.integers(ports)),) if rng.random() < 0.9 else (),
            "utility": ({"kind": kind, "alpha": near * spread(rng, 0.1, 10)},),
        }

    return BipartiteInstance.model_validate(
        {
            "horizon": slots,
            "resources": ("cpu",),
            "overhead": (min(1.0, spread(rng, 1e-3, 2) * gain),),
            "ports": tuple({"request": (amount(),)} for _ in range(ports)),
            "machines": tuple(machine() for _ in range(int(rng.integers(1, 5)))),
            "arrivals": rng.integers(0, 2, (slots, ports)).tolist(),
        }
    )


def contended(seed):
    """An instance in which ports compete, and a value that somebody reaches."""
    inst = generate("small", seed=seed, slots=6, machines=2, contention=4.0, density=4.0)
    return inst, Decimal(solve(inst).value), Decimal(solve(inst, method="stationary").value)


def damaged_integer(rng, x):
    return int(
        [
            0, x + 1, max(0, x - 1), 2 * x, x // 2, 2**53, 2**63, 2**64 + 1, 2**199, 2**200,
            10**400, -1, x ^ (1 << int(rng.integers(40))), int(rng.integers(2**40)),
        ][int(rng.integers(14))]
    )  # fmt: skip


def damaged_certificate(rng, content):
    """Change one to three things in a certificate's JSON."""
    for _ in range(int(rng.integers(1, 4))):
        what = int(rng.integers(7))
        one = content["prices"][int(rng.integers(len(content["prices"])))]
        if what == 0:
            name = ("share_bits", "nu_bits")[int(rng.integers(2))]
            content[name] = int(rng.integers(-320, 320))
        elif what == 1:
            content["scope"] = ("slots", "stationary", "all")[int(rng.integers(3))]
            content["assigned"] = content["assigned"] if rng.random() < 0.5 else []
        elif what == 2 and content["assigned"]:
            i = int(rng.integers(len(content["assigned"])))
            content["assigned"][i] = int(rng.integers(-1, len(content["prices"]) + 1))
        elif what == 3:
            content["prices"].append({"share": one["share"][::-1], "nu": one["nu"][::-1]})
        elif what == 4:  # share moves from one resource to another
            shares = one["share"]
            if len(shares) > 1:
                i, j = rng.integers(len(shares), size=2)
                moved = shares[i] // int(rng.integers(1, 9))
                shares[i], shares[j] = shares[i] - moved, shares[j] + moved
        else:
            name = ("share", "nu")[what % 2]
            i = int(rng.integers(len(one[name]) or 1))
            if rng.random() < 0.05:
                one[name] = one[name][1:]
            elif one[name]:
                one[name][i] = damaged_integer(rng, one[name][i])
    return content


def proved_by(inst, content):
    """Return what a certificate's JSON proves, and for what; None if it is refused."""
    try:
        certificate = BipartiteCertificate.model_validate(content)
        bound = check(inst, certificate)
    except ValueError:
        return None
    assert math.isfinite(bound)
    return Decimal(bound), scope(certificate)


def certificates(inst):
    yield opening(inst)[1]()
    for method in ("auto", "stationary"):
        yield solve(inst, method=method).certificate


def test_damaged_certificates_prove_what_is_true():
    rng, accepted, refused = np.random.default_rng(0), 0, 0
    for seed in range(60):
        inst = separable(seed)
        truth = separable_optimum(inst)
        for certificate in certificates(inst):
            before = certificate.model_dump(mode="json")
            assert proved_by(inst, before)[0] >= truth
            for _ in range(10):
                content = damaged_certificate(rng, json.loads(json.dumps(before)))
                found = proved_by(inst, content)
                assert found is None or found[0] >= truth, (seed, content)
                accepted, refused = accepted + (found is not None), refused + (found is None)
    assert accepted > 300
    assert refused > 300


@pytest.mark.slow
def test_damaged_certificates_of_those_who_compete():
    rng, narrower = np.random.default_rng(1), 0
    for seed in range(10):
        inst, best, still = contended(seed)
        assert still < best
        for certificate in certificates(inst):
            before = certificate.model_dump(mode="json")
            for _ in range(40):
                content = damaged_certificate(rng, json.loads(json.dumps(before)))
                found = proved_by(inst, content)
                if found is not None:
                    bound, asked = found
                    assert bound >= (still if asked == "stationary" else best), (seed, content)
                    narrower += asked == "stationary" and bound < best
    assert narrower > 10  # what the scope is for


def damaged_decision(rng, y):
    """Change one to three amounts of a decision."""
    y = list(y)
    for _ in range(int(rng.integers(1, 4)) if y else 0):
        i = int(rng.integers(len(y)))
        y[i] = [
            0.0, -0.0, y[i] * (1 + 1e-9), y[i] * (1 + 1e-8), y[i] * 2, -y[i], 5e-324, 1e308,
            math.nextafter(y[i], math.inf), math.inf, math.nan, y[i] / 2, -1e-300, 1e15,
        ][int(rng.integers(14))]  # fmt: skip
    if rng.random() < 0.05:
        y = y[:-1] if rng.random() < 0.5 else [*y, 0.0]
    return tuple(y)


@pytest.mark.slow
def test_damaged_schedules_earn_no_more_than_the_optimum():
    rng, accepted, refused = np.random.default_rng(2), 0, 0
    for seed in range(100):
        inst = separable(seed)
        truth = separable_optimum(inst)
        good = solve(inst).schedule
        for _ in range(12):
            decisions = [damaged_decision(rng, y) for y in good.decisions]
            used = [int(rng.integers(len(decisions) + (rng.random() < 0.05))) for _ in good.used]
            if rng.random() < 0.03:
                used.append(0)
            bad = BipartiteSchedule.model_construct(
                decisions=tuple(decisions), used=tuple(used), rewards=(), record=None
            )
            verdict = verify(inst, bad)
            assert (verdict.value is None) == bool(verdict.violations)
            if verdict.value is not None:
                assert Decimal(verdict.value) <= truth * (1 + TOLERANCE), (seed, decisions)
            accepted += verdict.value is not None
            refused += verdict.value is None
    assert accepted > 250
    assert refused > 250


@pytest.mark.slow
def test_full_use_of_the_tolerance_stays_within_the_bound():
    for seed in range(60):
        inst, a = separable(seed), separable(seed).arrays
        rows = np.repeat(np.arange(len(a.capacity)), np.diff(a.start))
        most = np.minimum(a.upper, a.capacity[rows]) * (1 + 0.999e-9)
        free = inst.model_copy(update={"overhead": (0.0,)})
        verdict = verify(free, always(free, most))
        assert verdict.feasible
        for certificate in certificates(free):
            assert verdict.value <= check(free, certificate)


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
