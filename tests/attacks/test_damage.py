"""Damaged certificates, schedules and results of every family: what is accepted of them is true.

The optimum is known without a solver: by trying everything, or in closed form.
"""

import json
import math
import random

import pytest
from known_optima import MAKE, damage, known
from pydantic import ValidationError

from optsched.engine.interval import CLOSED
from optsched.problem import InputError, family_of
from optsched.results.result import recheck, save_result

CASES = {"bipartite": 20, "bot": 21, "completion": 120, "dmlrs": 10, "oasis": 10}  # instances
CERTIFICATES, SCHEDULES, RESULTS = 600, 1200, 120  # damaged ones of each family
QUICK = ("bot", "completion")
every = pytest.mark.parametrize(
    "family", [pytest.param(f, marks=[] if f in QUICK else [pytest.mark.slow]) for f in MAKE]
)


@pytest.mark.slow
@every
def test_damaged_certificates_prove_what_is_true_or_nothing(family):
    held = {True: 0, False: 0}
    for trial in range(CERTIFICATES):
        one = known(family, trial % CASES[family])
        draw = random.Random(f"{family} {trial}")
        raw = json.loads(json.dumps(one.certificate(draw)))
        if "grid_bits" in raw and draw.random() < 0.1:
            raw["grid_bits"] = draw.randrange(-50, 130)
        if draw.random() < 0.9:
            damage(raw, draw)
        facts = family_of(one.instance)
        try:
            bound = facts.check(one.instance, facts.certificate.model_validate(raw))
        except ValueError:
            held[False] += 1
            continue
        held[True] += 1
        assert not one.too_tight(bound), (trial, bound, one.best)
    assert min(held.values()) >= 100, held


@every
def test_no_damaged_schedule_is_better_than_the_optimum(family):
    held = {True: 0, False: 0}
    for trial in range(SCHEDULES):
        one = known(family, trial % CASES[family])
        if one.schedule is None:
            continue
        draw, raw = random.Random(f"{family} {trial}"), json.loads(json.dumps(one.schedule))
        damage(raw, draw)
        facts = family_of(one.instance)
        try:
            schedule = facts.schedule.model_validate(raw)
        except ValidationError:
            held[False] += 1
            continue
        for unfinished in (False, True):
            verdict = facts.verify(one.instance, schedule, unfinished=unfinished)
            assert (verdict.value is None) == bool(verdict.violations), trial
            assert all(math.isfinite(v.amount) for v in verdict.violations), trial
        if family == "completion":  # where jobs may be unfinished, less is done
            verdict = facts.verify(one.instance, schedule)
        held[verdict.feasible] += 1
        assert verdict.value is None or not one.too_good(verdict.value), trial
    assert min(held.values()) >= 40, held


@pytest.mark.slow
@every
def test_damaged_results_are_refused_or_true(family, tmp_path):
    held, path = {True: 0, False: 0}, tmp_path / "result.json"
    for trial in range(RESULTS):
        one = known(family, trial % 10 * (CASES[family] // 10))
        save_result(path, one.instance, one.solve())
        content, draw = json.loads(path.read_text()), random.Random(f"{family} {trial}")
        best = content["optimum"]
        if draw.random() < 0.8:
            parts = (best, best["certificate"], best["schedule"])
            damage(draw.choice([part for part in parts if part]), draw)
        path.write_text(json.dumps(content))
        try:
            (again,) = recheck(path)
        except InputError:
            held[False] += 1
            continue
        held[again.accepted] += 1
        if not again.accepted:
            continue
        assert again.value is None or not one.too_good(again.value), trial
        assert again.bound is None or not one.too_tight(again.bound), trial
        if again.value is not None and again.gap is not None and again.gap <= CLOSED:
            assert one.measure(again.value) == pytest.approx(float(one.best), rel=3 * CLOSED, abs=0)
    assert min(held.values()) >= 10, held


@pytest.mark.slow
@pytest.mark.parametrize("family", ["oasis", "dmlrs"])
def test_undamaged_they_are_true(family):
    for k in range(CASES[family]):
        one = known(family, k)
        facts, found, best = family_of(one.instance), one.solve(), float(one.best)
        assert found.value == pytest.approx(best, rel=1e-9, abs=0), k
        assert found.status.closed, k
        assert family == "dmlrs" or found.bound_level == "certified", k
        bound, certificate = facts.opening(one.instance)
        proved = facts.check(one.instance, certificate())
        assert bound * (1 + 1e-9) >= proved, k
        assert not one.too_tight(proved), k
