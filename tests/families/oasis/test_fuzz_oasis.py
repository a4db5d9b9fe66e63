"""Damage of every kind: what is accepted is true. The optimum is known, by trying everything."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from independent.oasis import optimum, random_instance
from pydantic import ValidationError

from optsched import solve
from optsched.families.oasis.certificate.format import OasisCertificate, check
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.verify import verify
from optsched.problem import InputError
from optsched.results.result import recheck, save_result

CASES = 24  # instances, each with the certificate and the schedule of its solution
CERTIFICATES, SCHEDULES, RESULTS = 60, 40, 12  # damaged ones of each: 2688 in all
NUMBERS = (0, 1, 2, 3, 7, 40, 2**31, 2**53, 2**61, 2**62 - 1, 2**62, 2**63 - 1, 2**63, 10**30, -1)
SAME = 1e-9


def changed(inst: OasisInstance, draw) -> tuple[OasisInstance, float]:
    """Return the instance at another magnitude, and what its optimum is multiplied by."""
    data = json.loads(inst.model_dump_json())
    factor = 10.0 ** int(draw.integers(-12, 13))
    size = float(draw.choice([1, 1e-3, 1e3, 12345.678]))
    padding = (0.0,) * int(draw.choice([0, 0, 1, 40]))
    for job in data["jobs"]:
        for name in ("scale", "value"):
            if name in job["utility"]:
                job["utility"][name] *= factor
        if "values" in job["utility"]:
            job["utility"]["values"] = [x * factor for x in job["utility"]["values"]]
        for name in ("worker_demand", "ps_demand"):
            job[name] = [round(x * size, 9) for x in job[name]] + [*padding]
    if draw.random() < 0.5:  # as large as a demand may be, so that it fits nowhere
        huge = [999_999_999.123456789] * (len(inst.resources) + len(padding))
        data["jobs"].append(data["jobs"][0] | {"worker_demand": huge})
    for side in ("worker_machines", "ps_machines"):
        for machine in data[side]:
            machine["capacity"] = [round(x * size, 9) for x in machine["capacity"]]
            machine["capacity"] += [float(draw.choice([0, 1, 1e5])) for _ in padding]
    data["resources"] = [*inst.resources, *(f"r{k}" for k in range(len(padding)))]
    return OasisInstance.model_validate(data), factor


@pytest.fixture(scope="module")
def cases():
    """Return (instance, its optimum, what `solve` found)."""
    out = []
    for seed in range(CASES):
        inst, factor = changed(random_instance(seed), np.random.default_rng([seed, 5]))
        out.append((inst, optimum(random_instance(seed)) * factor, solve(inst, time_limit=5)))
    return out


def test_undamaged_they_are_true(cases):
    for k, (inst, best, found) in enumerate(cases):
        assert found.value == pytest.approx(best, rel=1e-9), k
        assert check(inst, found.certificate) >= best * (1 - 1e-12), k
        assert found.status == "optimal", k
        assert found.bound_level == "certified", k


def numbers(raw, path=()):
    """Yield where the numbers of a document are."""
    for key, x in raw.items() if isinstance(raw, dict) else enumerate(raw):
        if isinstance(x, dict | list):
            yield from numbers(x, (*path, key))
        elif isinstance(x, int | float) and not isinstance(x, bool):
            yield (*path, key)


def lists(raw, path=()):
    for key, x in raw.items() if isinstance(raw, dict) else enumerate(raw):
        if isinstance(x, dict | list):
            yield from lists(x, (*path, key))
        if isinstance(x, list) and x:
            yield (*path, key)


def at(raw, path):
    for key in path:
        raw = raw[key]
    return raw


def damage(raw, draw):
    """Change a few numbers, and leave out, repeat or move parts of lists."""
    for _ in range(int(draw.choice([1, 1, 2, 5]))):
        if draw.random() < 0.75:
            places = list(numbers(raw))
            if not places:
                continue
            *path, key = places[draw.integers(len(places))]
            holder = at(raw, path)
            how = draw.integers(4)
            if how == 0:
                holder[key] = NUMBERS[draw.integers(len(NUMBERS))]
            elif how == 1:
                holder[key] += int(draw.integers(-2, 3))
            elif how == 2:
                holder[key] *= 2 ** int(draw.integers(1, 40))
            else:
                holder[key] //= 2 ** int(draw.integers(1, 40))
        else:
            places = list(lists(raw))
            if not places:
                continue
            part = at(raw, places[draw.integers(len(places))])
            k = int(draw.integers(len(part)))
            how = draw.integers(3)
            if how == 0:
                del part[k]
            elif how == 1:
                part.append(json.loads(json.dumps(part[k])))
            else:
                part[k], part[-1] = part[-1], part[k]


def test_damaged_certificates_prove_what_is_true_or_nothing(cases):
    held = {True: 0, False: 0}
    for seed, (inst, best, found) in enumerate(cases):
        for trial in range(CERTIFICATES):
            draw = np.random.default_rng([seed, trial])
            raw = json.loads(found.certificate.model_dump_json())
            if draw.random() < 0.2:
                raw["grid_bits"] = int(draw.integers(0, 97))
            damage(raw, draw)
            try:
                bound = check(inst, OasisCertificate.model_validate(raw))
            except ValueError:
                held[False] += 1
                continue
            held[True] += 1
            assert bound >= best * (1 - 1e-12), (seed, trial)
    assert min(held.values()) >= 100, held


def test_no_damaged_schedule_is_worth_more_than_the_optimum(cases):
    held = {True: 0, False: 0}
    for seed, (inst, best, found) in enumerate(cases):
        for trial in range(SCHEDULES):
            draw = np.random.default_rng([seed, trial, 1])
            raw = json.loads(found.schedule.model_dump_json())
            damage(raw, draw)
            try:
                schedule = OasisSchedule.model_validate(raw)
            except ValidationError:
                held[False] += 1
                continue
            for unfinished in (False, True):
                verdict = verify(inst, schedule, unfinished=unfinished)
                assert (verdict.value is None) == bool(verdict.violations)
                assert all(math.isfinite(v.amount) for v in verdict.violations)
                assert str(verdict)
                assert (verdict.value or 0) <= best * (1 + SAME), (seed, trial)
            held[verdict.feasible] += 1
    assert min(held.values()) >= 50, held


def test_damaged_results_are_refused_or_true(cases, tmp_path):
    held = {True: 0, False: 0}
    path, broken = tmp_path / "good.json", tmp_path / "bad.json"
    for seed, (inst, best, found) in enumerate(cases):
        save_result(path, inst, found)
        text = path.read_text()
        for trial in range(RESULTS):
            draw = np.random.default_rng([seed, trial, 2])
            content = json.loads(text)
            damage(content["optimum"], draw)
            broken.write_text(json.dumps(content))
            try:
                (again,) = recheck(broken)
            except InputError:
                held[False] += 1
                continue
            held[again.accepted] += 1
            if again.accepted:
                assert (again.value or 0) <= best * (1 + SAME), (seed, trial)
                assert again.bound is None or again.bound >= best * (1 - SAME), (seed, trial)
    assert min(held.values()) >= 50, held


@pytest.mark.parametrize("copies", [1, 3])
def test_the_judge_reports_what_no_file_should_hold(cases, copies):
    most = 2**53 - 1
    for inst, _, _ in cases[:6]:
        hostile = (
            [],
            [(0, 0, most)] * copies,
            [(most, most, most)] * copies,
            [(inst.horizon, 0, 1)] * copies,
            [(0, len(inst.worker_capacity), 1)] * copies,
            [(max(0, inst.jobs[0].arrival - 1), 0, inst.work[0])] * copies,
        )
        for workers in hostile:
            for ps in hostile:
                plan = {"workers": workers, "ps": ps}
                jobs = [plan] + [None] * (len(inst.jobs) - 1)
                for n in (0, 1, len(jobs), len(jobs) + 5):
                    schedule = OasisSchedule.model_validate({"jobs": (jobs * 9)[:n]})
                    verdict = verify(inst, schedule)
                    assert (verdict.value is None) == bool(verdict.violations)
