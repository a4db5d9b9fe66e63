"""Damage of every kind, at every magnitude: what is accepted is true. The optimum is known."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from independent.dmlrs import optimum, tiny
from pydantic import ValidationError

from optsched.core import solve
from optsched.families.dmlrs.certificate.format import (
    CapacityPrices,
    CompletionSplit,
    DmlrsCertificate,
    Leaf,
    ModeSplit,
    PackingPrices,
    UnitPrices,
    WorkersSplit,
    check,
)
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, JobSchedule
from optsched.families.dmlrs.optimum.opening import opening
from optsched.families.dmlrs.verify import verify
from optsched.numbers.utility import Constant, Inverse, Sigmoid, Table
from optsched.problem import InputError
from optsched.results.result import recheck, save_result

CASES = 20  # instances
CERTIFICATES, SCHEDULES, RESULTS = 60, 40, 10  # of each: 2200 in all
NUMBERS = (0, 1, 2, 5, 60, 2**31, 2**43, 2**50, 2**61, 2**62 - 1, 2**62, 2**63, 10**40, -1)
SAME = 1 + 1e-9


def at_another_size(seed):
    """Return an instance, its optimum, and the number that utilities were multiplied by."""
    draw = np.random.default_rng([20263, seed])
    inst = tiny(seed, "link" if seed % 3 == 2 else "job")
    factor = 10.0 ** int(draw.integers(-12, 13))
    # so large that they have 2**49 units of 1e-9, and their sums with the tolerance still fit
    size = float(draw.choice([1.0, 1e-3, 12345.678, 65536.123456789]))
    data = json.loads(inst.model_dump_json())
    for job in data["jobs"]:
        for name in ("worker_demand", "ps_demand"):
            job[name] = [round(x * size, 9) for x in job[name]]
        utility = job["utility"]
        for name in {"scale", "values"} & utility.keys():
            x = utility[name]
            utility[name] = [y * factor for y in x] if isinstance(x, list) else x * factor
    for machines in data["machines"]:
        machines["capacity"] = [round(x * size, 9) for x in machines["capacity"]]
    return DmlrsInstance.model_validate(data), optimum(inst) * factor


def priced(inst, best, draw):
    """Return a certificate of any shape, with prices that are near what jobs can earn."""
    bits = 40 - math.frexp(best or 1.0)[1]
    slots, classes, resources = inst.horizon, len(inst.arrays.classes), len(inst.resources)

    def prices(*shape):
        drawn = draw.random(shape) * (draw.random(shape) < 0.4) * 2.0**40
        return drawn.astype(np.int64)

    def leaf():
        capacity = inst.arrays.capacity.max(axis=0)[None, None, :]
        per_unit = prices(slots, classes, resources) // np.maximum(capacity, 1)
        kinds = [
            CapacityPrices.of(per_unit),
            UnitPrices.of(prices(2, len(inst.jobs), slots, classes)),
            PackingPrices.of(prices(len(inst.jobs), slots, 2), per_unit),
        ]
        return Leaf(prices=kinds[int(draw.integers(3 if inst.locality == "job" else 2))])

    nodes, leaves = [leaf()], [0]
    for _ in range(int(draw.integers(4))):
        k = leaves.pop(int(draw.integers(len(leaves))))
        job = int(draw.integers(len(inst.jobs)))
        where = {
            "job": job,
            "slot": int(draw.integers(inst.jobs[job].arrival, slots)),
            "left": len(nodes),
            "right": len(nodes) + 1,
        }
        kind = int(draw.integers(3))
        if kind == 0 and inst.locality == "job":
            nodes[k] = ModeSplit(**where)
        elif kind == 1:
            nodes[k] = WorkersSplit(at=int(draw.integers(inst.jobs[job].chunks)), **where)
        else:
            nodes[k] = CompletionSplit(**where)
        leaves += [len(nodes), len(nodes) + 1]
        nodes += [leaf(), leaf()]
    return DmlrsCertificate(instance_sha256=inst.digest(), grid_bits=bits, nodes=tuple(nodes))


@pytest.fixture(scope="module")
def cases():
    """Return (instance, its optimum, what `solve` found)."""
    found = [at_another_size(seed) for seed in range(CASES)]
    return [(inst, best, solve(inst, time_limit=300)) for inst, best in found]


def test_undamaged_they_are_true(cases):
    for k, (inst, best, found) in enumerate(cases):
        assert found.value == pytest.approx(best, rel=1e-9, abs=0), k
        assert found.status.closed, k
        assert check(inst, found.certificate) >= best / SAME, k
        bound, certificate = opening(inst)
        assert bound * SAME >= check(inst, certificate()) >= best / SAME, k


def places(raw, wanted, path=()):
    """Yield where in a document there is something of the types that are wanted."""
    for key, x in raw.items() if isinstance(raw, dict) else enumerate(raw):
        if isinstance(x, wanted) and not isinstance(x, bool):
            yield (*path, key)
        if isinstance(x, dict | list):
            yield from places(x, wanted, (*path, key))


def inside(raw, path):
    for key in path:
        raw = raw[key]
    return raw


def damage(raw, draw):
    """Change numbers; leave out, repeat or move parts of lists."""
    for _ in range(int(draw.choice([1, 1, 2, 5]))):
        numeric = draw.random() < 0.75
        found = list(places(raw, int | float if numeric else list))
        if not found:
            continue
        *path, key = found[draw.integers(len(found))]
        holder, how = inside(raw, path), int(draw.integers(4))
        if numeric:
            x = holder[key]
            holder[key] = (
                NUMBERS[draw.integers(len(NUMBERS))],
                x + int(draw.integers(-2, 3)),
                x * 2 ** int(draw.integers(1, 40)),
                x // 2 ** int(draw.integers(1, 40)),
            )[how]
        elif holder[key]:
            part = holder[key]
            k = int(draw.integers(len(part)))
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
            whole = found.certificate if trial % 4 == 0 else priced(inst, best, draw)
            raw = json.loads(whole.model_dump_json())
            if draw.random() < 0.1:
                raw["grid_bits"] = int(draw.integers(-50, 130))
            damage(raw, draw)
            try:
                bound = check(inst, DmlrsCertificate.model_validate(raw))
            except ValueError:
                held[False] += 1
                continue
            held[True] += 1
            assert bound >= best / SAME, (seed, trial)
    assert min(held.values()) >= 100, held


def test_no_damaged_schedule_is_worth_more_than_the_optimum(cases):
    held = {True: 0, False: 0}
    for seed, (inst, best, found) in enumerate(cases):
        for trial in range(SCHEDULES):
            draw = np.random.default_rng([seed, trial, 1])
            raw = json.loads(found.schedule.model_dump_json())
            damage(raw, draw)
            try:
                schedule = DmlrsSchedule.model_validate(raw)
            except ValidationError:
                held[False] += 1
                continue
            for unfinished in (False, True):
                verdict = verify(inst, schedule, unfinished=unfinished)
                assert (verdict.value is None) == bool(verdict.violations)
                assert all(math.isfinite(v.amount) for v in verdict.violations)
                assert str(verdict)
                assert (verdict.value or 0) <= best * SAME, (seed, trial)
            held[verdict.feasible] += 1
    assert min(held.values()) >= 50, held


def test_damaged_results_are_refused_or_true(cases, tmp_path):
    held = {True: 0, False: 0}
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    for seed, (inst, best, found) in enumerate(cases):
        save_result(good, inst, found)
        text = good.read_text()
        for trial in range(RESULTS):
            content = json.loads(text)
            damage(content["optimum"], np.random.default_rng([seed, trial, 2]))
            bad.write_text(json.dumps(content))
            try:
                (again,) = recheck(bad)
            except InputError:
                held[False] += 1
                continue
            held[again.accepted] += 1
            if again.accepted:
                assert (again.value or 0) <= best * SAME, (seed, trial)
                assert again.bound is None or again.bound >= best / SAME, (seed, trial)
    assert min(held.values()) >= 50, held


UTILITIES = [
    Inverse(scale=3.0),
    Constant(value=3.0),
    Table(values=(3.0, 2.0)),
    Sigmoid(scale=3.0, decay=700.0, target=-3.0),
]


@pytest.mark.parametrize("utility", UTILITIES, ids=lambda u: u.kind)
@pytest.mark.parametrize("locality", ["job", "link"])
def test_the_judge_reports_what_no_schedule_should_hold(utility, locality):
    data = tiny(5, locality).model_dump()
    data["jobs"] = [job | {"arrival": 2, "utility": utility} for job in data["jobs"]]
    inst = DmlrsInstance.model_validate(data)
    huge, enough = 10**5000, 10**6
    hostile = [
        (),
        ((1, 0, enough),),  # done one slot before it came, where 1 / (1 + d) has no value
        ((0, 0, enough),),
        ((2, 0, huge), (2, 0, huge)),
        ((huge, 0, 1),),
        ((2, huge, 1),),
        tuple((2, h % 2, 1) for h in range(1000)),
    ]
    for workers in hostile:
        for ps in hostile:
            plan = JobSchedule.model_construct(workers=workers, ps=ps)
            for jobs in ((plan,), (plan,) * len(inst.jobs), (plan,) * 9, ()):
                schedule = DmlrsSchedule.model_construct(jobs=jobs)
                verdict = verify(inst, schedule)
                assert (verdict.value is None) == bool(verdict.violations)
                assert all(math.isfinite(v.amount) for v in verdict.violations)
                assert str(verdict)
                verify(inst, schedule, unfinished=True)
