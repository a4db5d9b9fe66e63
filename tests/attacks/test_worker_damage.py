"""Families `oasis` and `dmlrs`: damage of every kind, at every magnitude; what is accepted is true.

The optimum is known, by trying everything.
"""

from __future__ import annotations

import json
import math
from functools import cache

import numpy as np
import pytest
from independent import dmlrs, oasis
from pydantic import ValidationError

from optsched.core import solve
from optsched.families.dmlrs.certificate import format as proof
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, JobSchedule
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.numbers.utility import Constant, Inverse, Sigmoid, Table
from optsched.problem import InputError, get_family
from optsched.results.result import recheck, save_result

CASES = 10  # instances of each family
CERTIFICATES, SCHEDULES, RESULTS = 60, 40, 11  # damaged ones of each: 1110 in each family
NUMBERS = (0, 1, 2, 3, 5, 7, 40, 60, 2**31, 2**43, 2**50, 2**53, 2**61, 2**62 - 1, 2**62)
NUMBERS += (2**63 - 1, 2**63, 10**30, 10**40, -1)
SAME = 1 + 1e-9
EXACT = {"oasis": 1 + 1e-12, "dmlrs": SAME}  # of what a certificate proves
both = pytest.mark.parametrize("family", EXACT)


def of_oasis(seed):
    """Return an instance at another magnitude, and its optimum; some have more resources."""
    inst, draw = oasis.random_instance(seed), np.random.default_rng([seed, 5])
    data = json.loads(inst.model_dump_json())
    factor = 10.0 ** int(draw.integers(-12, 13))
    size = float(draw.choice([1, 1e-3, 1e3, 12345.678]))
    padding = (0.0,) * int(draw.choice([0, 0, 1, 40]))
    grown(data, factor, size)
    for job in data["jobs"]:
        for name in ("worker_demand", "ps_demand"):
            job[name] += padding
    if draw.random() < 0.5:  # as large as a demand may be, so that it fits nowhere
        huge = [999_999_999.123456789] * (len(inst.resources) + len(padding))
        data["jobs"].append(data["jobs"][0] | {"worker_demand": huge})
    for machine in data["worker_machines"] + data["ps_machines"]:
        machine["capacity"] += [float(draw.choice([0, 1, 1e5])) for _ in padding]
    data["resources"] = [*inst.resources, *(f"r{k}" for k in range(len(padding)))]
    return OasisInstance.model_validate(data), oasis.optimum(inst) * factor


def of_dmlrs(seed):
    """Return an instance at another magnitude, and its optimum."""
    inst = dmlrs.tiny(seed, "link" if seed % 3 == 2 else "job")
    draw, data = np.random.default_rng([20263, seed]), json.loads(inst.model_dump_json())
    factor = 10.0 ** int(draw.integers(-12, 13))
    # so large that they have 2**49 units of 1e-9, and their sums with the tolerance still fit
    grown(data, factor, float(draw.choice([1.0, 1e-3, 12345.678, 65536.123456789])))
    return DmlrsInstance.model_validate(data), dmlrs.optimum(inst) * factor


def grown(data, factor, size):
    """Multiply utilities by one number, demands and capacities by another."""
    for job in data["jobs"]:
        for name in ("worker_demand", "ps_demand"):
            job[name] = [round(x * size, 9) for x in job[name]]
        utility = job["utility"]
        for name in {"scale", "value", "values"} & utility.keys():
            x = utility[name]
            utility[name] = [y * factor for y in x] if isinstance(x, list) else x * factor
    for side in {"machines", "worker_machines", "ps_machines"} & data.keys():
        for machine in data[side]:
            machine["capacity"] = [round(x * size, 9) for x in machine["capacity"]]


@cache
def cases(family):
    """Return (instance, its optimum, what `solve` found)."""
    draw = {"oasis": of_oasis, "dmlrs": of_dmlrs}[family]
    return [(inst, best, solve(inst, time_limit=300)) for inst, best in map(draw, range(CASES))]


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
            proof.CapacityPrices.of(per_unit),
            proof.UnitPrices.of(prices(2, len(inst.jobs), slots, classes)),
            proof.PackingPrices.of(prices(len(inst.jobs), slots, 2), per_unit),
        ]
        return proof.Leaf(prices=kinds[int(draw.integers(3 if inst.locality == "job" else 2))])

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
            nodes[k] = proof.ModeSplit(**where)
        elif kind == 1:
            nodes[k] = proof.WorkersSplit(at=int(draw.integers(inst.jobs[job].chunks)), **where)
        else:
            nodes[k] = proof.CompletionSplit(**where)
        leaves += [len(nodes), len(nodes) + 1]
        nodes += [leaf(), leaf()]
    return proof.DmlrsCertificate(instance_sha256=inst.digest(), grid_bits=bits, nodes=tuple(nodes))


@pytest.mark.slow
@both
def test_undamaged_they_are_true(family):
    facts = get_family(family)
    for k, (inst, best, found) in enumerate(cases(family)):
        assert found.value == pytest.approx(best, rel=1e-9, abs=0), k
        assert found.status.closed, k
        assert family == "dmlrs" or found.bound_level == "certified", k
        assert facts.check(inst, found.certificate) >= best / EXACT[family], k
        bound, certificate = facts.opening(inst)
        assert bound * SAME >= facts.check(inst, certificate()) >= best / SAME, k


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


@pytest.mark.slow
@both
def test_damaged_certificates_prove_what_is_true_or_nothing(family):
    facts, held = get_family(family), {True: 0, False: 0}
    for seed, (inst, best, found) in enumerate(cases(family)):
        for trial in range(CERTIFICATES):
            draw = np.random.default_rng([seed, trial])
            drawn = family == "dmlrs" and trial % 4
            whole = priced(inst, best, draw) if drawn else found.certificate
            raw = json.loads(whole.model_dump_json())
            if draw.random() < 0.15:
                raw["grid_bits"] = int(draw.integers(-50, 130))
            damage(raw, draw)
            try:
                bound = facts.check(inst, facts.certificate.model_validate(raw))
            except ValueError:
                held[False] += 1
                continue
            held[True] += 1
            assert bound >= best / EXACT[family], (seed, trial)
    assert min(held.values()) >= 50, held


@pytest.mark.slow
@both
def test_no_damaged_schedule_is_worth_more_than_the_optimum(family):
    facts, held = get_family(family), {True: 0, False: 0}
    for seed, (inst, best, found) in enumerate(cases(family)):
        for trial in range(SCHEDULES):
            draw = np.random.default_rng([seed, trial, 1])
            raw = json.loads(found.schedule.model_dump_json())
            damage(raw, draw)
            try:
                schedule = facts.schedule.model_validate(raw)
            except ValidationError:
                held[False] += 1
                continue
            for unfinished in (False, True):
                verdict = told(inst, schedule, unfinished=unfinished)
                assert (verdict.value or 0) <= best * SAME, (seed, trial)
            held[verdict.feasible] += 1
    assert min(held.values()) >= 20, held


def told(inst, schedule, **how):
    """Return the verdict on a schedule, which states what is wrong, or what it earns."""
    verdict = get_family(inst.family).verify(inst, schedule, **how)
    assert (verdict.value is None) == bool(verdict.violations)
    assert all(math.isfinite(v.amount) for v in verdict.violations)
    assert str(verdict)
    return verdict


@pytest.mark.slow
@both
def test_damaged_results_are_refused_or_true(family, tmp_path):
    held = {True: 0, False: 0}
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    for seed, (inst, best, found) in enumerate(cases(family)):
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
    assert min(held.values()) >= 20, held


@pytest.mark.parametrize("copies", [1, 3])
def test_the_judge_reports_what_no_file_should_hold(copies):
    most = 2**53 - 1
    for seed in range(6):
        inst, _ = of_oasis(seed)
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
                    told(inst, OasisSchedule.model_validate({"jobs": (jobs * 9)[:n]}))


UTILITIES = [
    Inverse(scale=3.0),
    Constant(value=3.0),
    Table(values=(3.0, 2.0)),
    Sigmoid(scale=3.0, decay=700.0, target=-3.0),
]


@pytest.mark.parametrize("utility", UTILITIES, ids=lambda u: u.kind)
@pytest.mark.parametrize("locality", ["job", "link"])
def test_the_judge_reports_what_no_schedule_should_hold(utility, locality):
    data = dmlrs.tiny(5, locality).model_dump()
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
                told(inst, schedule)
                told(inst, schedule, unfinished=True)
