"""Family `completion`: reference files; tiny random instances and their optima by brute force.

Written from the definition. The optimum of `exclusive` instances of any magnitude is that of the
best order of jobs on one server: a job needs the whole server for this many slots. Where it may
also run on a part of it, for as much longer, all jobs are there from the beginning: then sharing
the server is never better than taking turns, since whole shares would end no later in the best
order.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from operator import gt, le
from pathlib import Path
from typing import Any

from numpy.random import default_rng

from independent import reference
from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionJob,
    CompletionSchedule,
    Piece,
    PsType,
    WorkerType,
)
from optsched.numbers.resources import MachineClass, exact

FILES = reference.files("completion")


def load(path: Path, **fields: object) -> tuple[CompletionInstance, dict[str, Any]]:
    """Return the instance of a reference file and its known answers."""
    return reference.load(CompletionInstance, path, **fields)


def schedule(raw: list[Any]) -> CompletionSchedule:
    """Return a schedule of the reference format; entries of number 0 are left out."""
    return CompletionSchedule(jobs=tuple((piece(j),) for j in raw))


def piece(raw: dict[str, Any]) -> Piece:
    """Return how one job runs."""
    return Piece(
        start=raw["start"],
        duration=raw["duration"],
        worker_type=raw["worker_type"],
        ps_type=raw["ps_type"],
        workers=tuple((h, n) for h, n in enumerate(raw["workers"]) if n),
        ps=tuple((h, n) for h, n in enumerate(raw["ps"]) if n),
    )


def simple_job(**changes: Any) -> CompletionJob:
    """Return a job of weight 1 that takes one worker for a slot, but for changes."""
    fields = {
        "arrival": 0,
        "weight": 1.0,
        "epochs": 1,
        "chunks": 1,
        "batches_per_chunk": 1,
        "batch_time": (1.0,),
        "update_time": (0.0,),
        "gradient_mb": 0.0,
    }
    return CompletionJob.model_validate(fields | changes)


@cache
def tiny(seed: int) -> CompletionInstance:
    """Draw 2-3 jobs on 2 servers, 4-5 slots, even seeds with PS, odd ones as a ring."""
    rng = default_rng([seed, 31])
    ring = bool(seed % 2)
    horizon = int(rng.integers(4, 6))
    kinds = 0 if ring else 1
    worker = [
        WorkerType(
            demand=(int(rng.integers(1, 3)), float(rng.integers(0, 16)) / 10),
            bandwidth=float(rng.integers(1, 4)),
        )
        for _ in range(int(rng.integers(1, 3)))
    ]
    ps = [
        PsType(demand=(0, float(rng.integers(1, 11)) / 10), bandwidth=float(rng.integers(1, 4)))
        for _ in range(kinds)
    ]
    jobs = [
        CompletionJob(
            arrival=int(rng.integers(0, 2)),
            weight=int(rng.integers(1, 10)),
            epochs=int(rng.integers(1, 3)),
            chunks=int(rng.integers(1, 3)),
            batches_per_chunk=int(rng.integers(1, 4)),
            batch_time=tuple(float(rng.integers(10, 60)) / 100 for _ in worker),
            update_time=tuple(float(rng.integers(0, 10)) / 100 for _ in range(max(1, kinds))),
            gradient_mb=float(rng.integers(0, 20)) / 100,
        )
        for _ in range(int(rng.integers(2, 4)))
    ]
    same = rng.random() < 0.4
    first = (float(rng.integers(2, 5)), float(rng.integers(15, 40)) / 10)
    second = first if same else (float(rng.integers(1, 5)), float(rng.integers(10, 40)) / 10)
    return CompletionInstance(
        architecture="ring" if ring else "ps",
        slot_seconds=0.008,
        horizon=horizon,
        enforce_horizon=True,
        resources=("gpu", "cpu"),
        servers=(MachineClass(capacity=first), MachineClass(capacity=second)),
        worker_types=tuple(worker),
        ps_types=tuple(ps),
        jobs=tuple(jobs),
    )


Usage = tuple[int, ...]  # (H * R,) in units


def unit(inst: CompletionInstance) -> int:
    """Return how many units a whole has: all amounts are multiples of one."""
    rows = (*inst.capacity, *(kind.demand for kind in (*inst.worker_types, *inst.ps_types)))
    return math.lcm(*(Fraction(str(x)).denominator for row in rows for x in row))


def _units(inst: CompletionInstance, row: Sequence[float]) -> list[int]:
    return [int(Fraction(str(x)) * unit(inst)) for x in row]


def _capacity(inst: CompletionInstance) -> Usage:
    return tuple(x for row in inst.capacity for x in _units(inst, row))


def runs(inst: CompletionInstance, job: CompletionJob) -> Iterator[tuple[int, Usage]]:
    """Yield the duration and the load of every placement of ``job`` on the empty servers."""
    servers = range(len(inst.capacity))
    capacity, duration = _capacity(inst), cache(inst.duration)
    most_ps = 0 if inst.ring else 6
    for m, worker in enumerate(inst.worker_types):
        for p in range(max(1, len(inst.ps_types))):
            z = [0] * len(inst.resources) if inst.ring else _units(inst, inst.ps_types[p].demand)
            units = list(zip(_units(inst, worker.demand), z, strict=True))
            b, big = Fraction(str(worker.bandwidth)), Fraction(0)
            if not inst.ring:
                big = Fraction(str(inst.ps_types[p].bandwidth))
            for y in product(range(job.chunks + 1), repeat=len(inst.capacity)):
                n = sum(y)
                if not 1 <= n <= job.chunks:
                    continue
                for s in product(range(most_ps + 1), repeat=len(inst.capacity)):
                    load = tuple(y[h] * a + s[h] * c for h in servers for a, c in units)
                    if any(map(gt, load, capacity)):
                        continue
                    if not inst.ring and (
                        not any(s) or any(s[h] and (n - y[h]) * b > s[h] * big for h in servers)
                    ):
                        continue
                    hosts = {h for h in servers if y[h] or s[h]}
                    yield duration(job, m, p, len(hosts) == 1, n), load


@cache
def optimum(inst: CompletionInstance) -> float | None:
    """Return the least weighted completion, None if not all jobs can end by the horizon."""
    choices = []
    for job in inst.jobs:
        kept: dict[Usage, int] = {}
        for d, load in runs(inst, job):
            kept[load] = min(d, kept.get(load, d))
        kept = {
            x: d for x, d in kept.items() if not any(_beats(y, c, x, d) for y, c in kept.items())
        }
        choices.append(
            sorted(
                ((job.weight * (t + d), t, d, load) for load, d in kept.items()
                 for t in range(job.arrival, inst.horizon - d + 1)),
                key=lambda c: c[:3],
            )
        )  # fmt: skip
    if any(not c for c in choices):
        return None
    rest = [sum(c[0][0] for c in choices[k:]) for k in range(len(choices) + 1)]
    capacity = _capacity(inst)
    used = [[0] * len(capacity) for _ in range(inst.horizon)]
    best: list[float | None] = [None]

    def place(k: int, value: float) -> None:
        if best[0] is not None and value + rest[k] >= best[0]:
            return
        if k == len(choices):
            best[0] = value
            return
        for cost, t, d, load in choices[k]:
            if best[0] is not None and value + cost + rest[k + 1] >= best[0]:
                return
            if _fits(used[t : t + d], load, capacity):
                _add(used, t, d, load, 1)
                place(k + 1, value + cost)
                _add(used, t, d, load, -1)

    place(0, 0.0)
    return best[0]


@cache
def solvable(number: int) -> list[int]:
    """Return which of the first seeds draw a tiny instance that has a schedule."""
    return [seed for seed in range(number) if optimum(tiny(seed)) is not None]


def most_weight(inst: CompletionInstance, tau: int) -> float:
    """Return the most weight that can end by ``tau`` on empty servers, with all jobs there: (7)."""
    choices = []
    for job in inst.jobs:
        kept = {(load, d) for d, load in runs(inst, job) if d <= tau}
        kept = {(x, d) for x, d in kept if not any(_beats(y, c, x, d) for y, c in kept)}
        choices.append([(t, d, load) for load, d in kept for t in range(tau - d + 1)])
    capacity = _capacity(inst)
    used = [[0] * len(capacity) for _ in range(tau)]

    def most(k: int) -> float:
        if k == len(choices):
            return 0.0
        best = most(k + 1)
        for t, d, load in choices[k]:
            if best == sum(job.weight for job in inst.jobs[k:]):
                break
            if _fits(used[t : t + d], load, capacity):
                _add(used, t, d, load, 1)
                best = max(best, inst.jobs[k].weight + most(k + 1))
                _add(used, t, d, load, -1)
        return best

    return most(0)


def _beats(a: Usage, c: int, b: Usage, d: int) -> bool:
    """Whether a run is another, and neither longer nor larger."""
    return c <= d and a != b and all(map(le, a, b))


def _fits(used: list[list[int]], load: Usage, capacity: Usage) -> bool:
    return all(x + y <= c for row in used for x, y, c in zip(row, load, capacity, strict=True))


def _add(used: list[list[int]], t: int, d: int, load: Usage, sign: int) -> None:
    for row in used[t : t + d]:
        for k, x in enumerate(load):
            row[k] += sign * x


def exclusive(
    jobs: Sequence[tuple[int, float, int]],
    *,
    workers: int = 1,
    demand: float = 1.0,
    horizon: int = 50,
    deadline: bool = False,
) -> CompletionInstance:
    """Return jobs of (arrival, weight, duration with all workers) on one server.

    A worker takes ``demand``, and ``workers`` of them all that there is.
    """
    assert workers == 1 or not any(arrival for arrival, *_ in jobs)
    return CompletionInstance(
        architecture="ring",
        slot_seconds=10.0,
        horizon=horizon,
        enforce_horizon=deadline,
        resources=("gpu",),
        servers=(MachineClass(capacity=(workers * demand,)),),
        worker_types=(WorkerType(demand=(demand,), bandwidth=10.0),),
        jobs=tuple(
            simple_job(arrival=arrival, weight=weight, epochs=duration, chunks=workers)
            for arrival, weight, duration in jobs
        ),
    )


def least(inst: CompletionInstance) -> Fraction | None:
    """Return the optimum; None if the deadline is too early."""
    found = []
    for order in permutations(range(len(inst.jobs))):
        end, total = 0, Fraction(0)
        for j in order:
            job = inst.jobs[j]
            end = max(end, job.arrival) + inst.duration(job, 0, 0, True, job.chunks)
            total += exact(job.weight) * end
        if inst.deadline is None or end <= inst.deadline:
            found.append(total)
    return min(found, default=None)


def in_order(inst: CompletionInstance, order: Sequence[int]) -> CompletionSchedule:
    """Return the schedule in which jobs run in an order, each as soon as it can."""
    pieces: dict[int, Piece] = {}
    end = 0
    for j in order:
        job = inst.jobs[j]
        piece = Piece(
            start=max(end, job.arrival),
            duration=inst.duration(job, 0, 0, True, job.chunks),
            worker_type=0,
            ps_type=None,
            workers=((0, job.chunks),),
            ps=(),
        )
        pieces[j], end = piece, piece.end
    return CompletionSchedule(jobs=tuple((pieces[j],) for j in range(len(pieces))))
