"""Damaged certificates, schedules and results of instances whose optimum has a closed form.

The checker refuses, or proves a bound that is true; the judge accepts nothing better than the
optimum, up to its tolerance; a result is never called optimal that is not.
"""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
from independent.bot import wild
from pydantic import ValidationError

from optsched.core import solve
from optsched.engine.interval import CLOSED
from optsched.families.bot.certificate.bound import attained, log_mean
from optsched.families.bot.certificate.format import BotCertificate, Prices, check
from optsched.families.bot.certificate.format import levels as levels_of
from optsched.families.bot.fairness import log_mean_rate
from optsched.families.bot.gaps import distance
from optsched.families.bot.instance import Application, BotInstance, BotSchedule, Link
from optsched.families.bot.verify import totals, verify
from optsched.problem import InputError
from optsched.results.result import recheck, save_result

ROUNDS = 60  # per instance and kind of damage
ALPHAS = (0.0, 1e-7, 0.5, 1.0, 2.0, 100.0, "inf")
SIZES = (1e-18, 1.0, 1e18)
ODD = (0.0, 5e-324, 1e-310, 1e-300, 1e-12, 0.3, 1.0, 1.0000001, 3.0, 1e12, 1e300, 1.7e308)
WORSE = (-1.0, math.inf, math.nan, 10**400, "1", "x", None, [], {}, True, 2**70, 1e400)


def instance(alpha, size):
    """Both masters at node 0 of speed 2; node 1 has speed 5 behind a link that carries 3 tasks.

    A task of application 1 is as large as one of application 0: 5 tasks/s in all, for each 2.5.
    """
    apps = tuple(Application(master=0, flop=size, bytes=4.0 * size) for _ in range(2))
    return BotInstance(
        speed=(2.0 * size, 5.0 * size),
        links=(Link(a=0, b=1, forward=12.0 * size, backward=7.0 * size),),
        applications=apps,
        alpha=alpha,
    )


# All rates are of order 1, so that every alpha has a utility; sizes are those of data and prices.
CASES = [(alpha, size) for alpha in ALPHAS for size in SIZES]
LOG_BEST = math.log(2.5)


def certificate(inst, size):
    """Return the prices that prove the optimum: of node 0 and of the way to node 1."""
    levels = [{"nodes": [[0, 1 / size]], "arcs": [[0, 0.25 / size]], "floors": None}]
    return {"instance_sha256": inst.digest(), "levels": levels}


def damaged(content, rng):
    """Change one number or list somewhere in JSON data."""
    places = list(_places(content))
    holder, key = rng.choice(places)
    old = holder[key]
    kind = rng.randrange(6)
    if isinstance(old, list) and old and kind < 4:
        if kind == 0:
            old.append(json.loads(json.dumps(rng.choice(old))))
        elif kind == 1:
            old.pop(rng.randrange(len(old)))
        elif kind == 2:
            rng.shuffle(old)
        else:
            old.append(rng.choice(ODD + WORSE))
    elif isinstance(old, float) and kind < 3:
        holder[key] = old * rng.choice((0.5, 1 - 1e-6, 1 + 1e-6, 2.0, 1e10, 1e-10))
    else:
        holder[key] = rng.choice(ODD if kind < 5 else WORSE)
    return content


def _places(content):
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield content, key
        if isinstance(value, dict | list):
            yield from _places(value)


@pytest.mark.parametrize(("alpha", "size"), CASES)
def test_damaged_certificates(alpha, size):
    inst = instance(alpha, size)
    assert abs(log_mean_rate(alpha, inst.weights, check(inst, proof(inst, size))) - LOG_BEST) < 1e-9
    rng = random.Random(f"{alpha} {size}")
    refused = 0
    for _ in range(ROUNDS):
        content = certificate(inst, size)
        for _ in range(rng.randrange(1, 4)):
            damaged(content, rng)
        try:
            bound = check(inst, BotCertificate.model_validate(content))
        except ValueError:
            refused += 1
            continue
        assert log_mean_rate(alpha, inst.weights, bound) >= LOG_BEST - 1e-12, content
    assert 0 < refused < ROUNDS


def proof(inst, size):
    return BotCertificate.model_validate(certificate(inst, size))


@pytest.mark.parametrize(("alpha", "size"), CASES)
def test_damaged_schedules(alpha, size):
    inst, rng = instance(alpha, size), random.Random(f"schedule {alpha} {size}")
    certain, accepted = proof(inst, size), 0
    for _ in range(ROUNDS):
        content = {"rates": [[0, 0, 1.0], [1, 0, 1.5], [0, 1, 1.0], [1, 1, 1.5]]}
        for _ in range(rng.randrange(1, 3)):
            damaged(content, rng)
        try:
            schedule = BotSchedule.model_validate(content)
        except ValidationError:
            continue
        verdict = verify(inst, schedule)
        if not verdict.feasible:
            assert all(math.isfinite(v.amount) for v in verdict.violations)
            continue
        accepted += 1
        assert log_mean_rate(alpha, inst.weights, verdict.value) <= LOG_BEST + 1.1e-9, content
        gap = distance(inst, schedule, verdict.value, certain, check(inst, certain))
        if alpha == "inf":  # on every level
            lost = 2.5 / max(float(min(totals(inst, schedule))), 1e-300) - 1
            assert gap >= lost - 1e-8
    assert accepted


@pytest.mark.parametrize(("alpha", "size"), CASES)
def test_damaged_results(alpha, size, tmp_path):
    inst, rng = instance(alpha, size), random.Random(f"result {alpha} {size}")
    path = tmp_path / "result.json"
    found = solve(inst)
    assert found.status == "optimal"
    save_result(path, inst, found)
    whole = path.read_text()
    (sound,) = recheck(path)
    assert sound.accepted
    for _ in range(ROUNDS // 2):
        content = json.loads(whole)
        for _ in range(rng.randrange(1, 3)):
            inside = [content["optimum"][part] for part in ("certificate", "schedule")]
            part = rng.choice([content["optimum"], *(x for x in inside if isinstance(x, dict))])
            damaged(part, rng)
        content["optimum"]["family"] = "bot"
        path.write_text(json.dumps(content))
        try:
            (again,) = recheck(path)
        except InputError:
            continue
        if not again.accepted:
            continue
        if again.value is not None:
            assert log_mean_rate(alpha, inst.weights, again.value) <= LOG_BEST + 1.1e-9
        if again.bound is not None:
            assert log_mean_rate(alpha, inst.weights, again.bound) >= LOG_BEST - 1e-12
        if again.what == "optimum":
            assert abs(log_mean_rate(alpha, inst.weights, again.value) - LOG_BEST) <= 2 * CLOSED


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [alpha for alpha in ALPHAS if alpha != 100.0])
def test_no_prices_are_below_the_optimum(alpha):
    # of platforms whose numbers span many orders of magnitude, at prices that span more
    refused = 0
    for seed in range(40):
        inst = wild(seed, alpha)
        found = solve(inst)
        rng = np.random.default_rng([seed, 9])
        for width in (1, 8, 60):
            nodes, arcs = (
                10.0 ** rng.uniform(-width, width, n) * (rng.random(n) < 0.8)
                for n in (len(inst.speed), 2 * len(inst.links))
            )
            levels = (Prices.of(nodes, arcs),)
            random_proof = BotCertificate(instance_sha256=inst.digest(), levels=levels)
            try:
                bound = check(inst, random_proof)
            except ValueError:
                refused += 1
                continue
            assert bound >= found.value - abs(found.value) * 1e-15, (seed, width)
            if alpha != "inf":
                priced = log_mean(inst, *inside(inst, random_proof))
                assert priced >= attained(inst, totals(inst, found.schedule))
    assert refused < 80


def inside(inst, certain):
    (level,) = levels_of(inst, certain)
    return level.pay, level.task


def test_what_a_file_asks_for_is_bounded_by_its_instance():
    inst = instance(1.0, 1.0)
    many = [[i, 1.0] for i in range(10**5)]
    for nodes in (many, [[10**300, 1.0]], [[0, 10**400]], [[0, 1e301]]):
        content = certificate(inst, 1.0)
        content["levels"][0]["nodes"] = nodes
        with pytest.raises(ValueError, match=r"does not exist|nodes"):
            check(inst, BotCertificate.model_validate(content))
    content = certificate(inst, 1.0)
    content["levels"] *= 1000
    with pytest.raises(ValueError, match="1000 levels, expected at most 1"):
        check(inst, BotCertificate.model_validate(content))
