"""Damaged certificates, schedules and results of instances whose optimum is known: none gets by.

Seeded, so that a failure comes again. Magnitudes are drawn as well as values: what wraps in 64
bits wraps at special places.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from independent.completion import exclusive, in_order, least, optimum, tiny
from pydantic import ValidationError
from sweeps import sweep

from optsched.core import Optimum, solve
from optsched.families.completion.certificate.format import ATTRIBUTES, CompletionCertificate, check
from optsched.families.completion.instance import CompletionInstance, CompletionSchedule
from optsched.families.completion.verify import verify
from optsched.problem import InputError
from optsched.results.result import recheck, save_result

ROUNDING = 1 + Fraction(1, 10**12)  # the judge adds up floats
WHOLE = [0, 1, 2, 3, 7, 40, 2**20, 2**31, 2**32, 2**40 - 1, 2**40, 2**40 + 1, 2**43, 10**13]
WHOLE += [2**53, 2**61, 2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64, 2**70, 10**30, -1]
Known = tuple[CompletionInstance, Fraction | None]


@cache
def brute(seed: int) -> Known:
    inst = tiny(seed)
    best = optimum(inst)
    return inst, None if best is None else Fraction(best)


@cache
def large(seed: int) -> Known:
    """Draw an instance at the edge of what can be counted."""
    rng = np.random.default_rng([seed, 77])
    workers = int(rng.choice([1, 1, 3, 100, 1000]))
    scale = float(rng.choice([1e-100, 1e-12, 1e-3, 1.0, 1e6, 1e15, 1e99]))
    longest = int(rng.choice([3, 1500, 10**6, 2**30 // workers]))
    demand = float(rng.choice([1.0, 1e-9, 0.125, 900.000001]))  # the last is near 2**40 units
    jobs = [
        (
            int(rng.integers(0, 9)) if workers == 1 else 0,
            float(rng.integers(1, 10)) * scale,
            int(rng.integers(1, longest + 1)),
        )
        for _ in range(int(rng.integers(1, 4)))
    ]
    some = exclusive(jobs, workers=workers, demand=demand)
    end = sum(d for *_, d in jobs)
    late = bool(rng.random() < 0.3)
    inst = exclusive(
        jobs,
        workers=workers,
        demand=demand,
        horizon=max(10, end + int(rng.integers(-3, 9))) if late else some.horizon,
        deadline=late,
    )
    return inst, least(inst)


def instances(seed: int) -> Known:
    return brute(seed % 40) if seed % 2 else large(seed % 200)


def honest(inst: CompletionInstance, rng: np.random.Generator) -> dict[str, Any]:
    """Return a tree with random prices, as JSON: no better than an honest one, and valid."""
    a = inst.arrays
    slots = int(rng.integers(1, 12))
    heaviest = max(job.weight for job in inst.jobs)
    lists = []
    bits = int(40 - math.log2(heaviest))
    for _ in range(3):
        prices = rng.uniform(0, 2 * heaviest, (slots, len(a.classes), a.capacity.shape[1]))
        prices *= rng.random(prices.shape) < 0.4
        prices /= np.maximum(1, a.capacity.max(axis=0))
        lists.append(CompletionCertificate.root(inst, prices, bits).prices[0])
    job = int(rng.integers(len(inst.jobs)))
    first = {"node": "split", "job": job, "attribute": str(rng.choice(ATTRIBUTES))}
    second = {"node": "split", "job": 0, "attribute": "completion"}
    return {
        "instance_sha256": inst.digest(),
        "grid_bits": bits,
        "prices": json.loads(json.dumps(lists)),
        "nodes": [
            {**first, "at": int(rng.integers(0, 5)), "left": 1, "right": 2},
            {"node": "leaf", "prices": 0},
            {**second, "at": int(rng.integers(1, 40)), "left": 3, "right": 4},
            {"node": "leaf", "prices": 1},
            {"node": "leaf", "prices": 2},
        ],
    }


def places(what: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all numbers and words."""
    if isinstance(what, dict | list):
        for key, value in what.items() if isinstance(what, dict) else enumerate(what):
            yield from places(value, (*path, key))
    else:
        yield path


def damage(what: dict[str, Any], rng: np.random.Generator, times: int) -> None:
    """Replace some numbers, and now and then leave out or repeat an entry of a list."""
    for _ in range(times):
        everywhere = list(places(what))
        path = everywhere[int(rng.integers(len(everywhere)))]
        holder: Any = what
        for key in path[:-1]:
            holder = holder[key]
        old = holder[path[-1]]
        if isinstance(holder, list) and rng.random() < 0.1:
            holder.append(holder[0]) if rng.random() < 0.5 else holder.pop()
        elif isinstance(old, int) and not isinstance(old, bool):
            new = WHOLE[int(rng.integers(len(WHOLE)))]
            holder[path[-1]] = new if rng.random() < 0.7 else max(0, old + int(rng.integers(-2, 3)))
        elif isinstance(old, float):
            holder[path[-1]] = old * float(rng.choice([0.0, -1.0, 1e-9, 0.99, 1.01, 1e9, 1e300]))
        elif old in ATTRIBUTES:
            holder[path[-1]] = str(rng.choice(ATTRIBUTES))


@pytest.mark.slow
@pytest.mark.parametrize("part", sweep(range(10), 4))
def test_no_damaged_certificate_proves_too_much(part):
    proved = refused = 0
    for seed in range(250 * part, 250 * (part + 1)):
        rng = np.random.default_rng([seed, 5])
        inst, best = instances(seed)
        content = honest(inst, rng)
        damage(content, rng, int(rng.integers(0, 5)))
        try:
            bound = check(inst, CompletionCertificate.model_validate(content))
        except ValueError:
            refused += 1
            continue
        proved += 1
        assert best is None or bound <= best * ROUNDING, (seed, bound, float(best), content)
    assert proved >= 50
    assert refused >= 50


@pytest.mark.parametrize("part", range(4))
def test_no_damaged_schedule_is_better_than_the_best(part):
    accepted = refused = 0
    for seed in range(600 * part, 600 * (part + 1)):
        rng = np.random.default_rng([seed, 6])
        inst, best = large(seed % 200)
        order = rng.permutation(len(inst.jobs)).tolist()
        content = in_order(inst, order).model_dump(mode="json")
        damage(content, rng, int(rng.integers(0, 4)))
        try:
            schedule = CompletionSchedule.model_validate(content)
        except ValidationError:
            refused += 1
            continue
        verdict = verify(inst, schedule)
        if verdict.value is None:
            refused += 1
            continue
        accepted += 1
        assert best is not None, (seed, content)
        assert verdict.value * ROUNDING >= best, (seed, content)
        assert all(len(pieces) == 1 for pieces in schedule.jobs)
    assert accepted >= 50
    assert refused >= 100


@pytest.fixture(scope="module")
def results() -> list[tuple[CompletionInstance, Fraction | None, Optimum]]:
    out = []
    for seed in (1, 2, 4, 5, 12):
        inst, best = brute(seed)
        out.append((inst, best, solve(inst, method="branch-and-price", time_limit=20)))
    return out


@pytest.mark.slow
def test_verify_derives_nothing_false_of_damaged_results(results, tmp_path):
    path = tmp_path / "result.json"
    derived = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, 7])
        inst, best, found = results[seed % len(results)]
        save_result(path, inst, found)
        content = json.loads(path.read_text())
        damage(content["optimum"], rng, int(rng.integers(0, 4)))
        path.write_text(json.dumps(content))
        try:
            (said,) = recheck(path)
        except InputError:
            continue
        if not said.accepted:
            continue
        derived += 1
        if best is None:
            assert said.value is None
        else:
            assert said.value is None or said.value * ROUNDING >= best, seed
            assert said.bound is None or said.bound <= best * ROUNDING, seed
    assert derived >= 30
