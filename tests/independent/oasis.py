"""Family `oasis`: reference files; tiny random instances and their optimum by brute force.

Written from the definition (1)-(13). Numbers are fractions of the written decimals, and a slot is
packed on single machines by trying every distribution.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from independent import reference
from optsched.families.oasis.instance import OasisInstance, OasisJob, OasisSchedule
from optsched.numbers.resources import MachineClass

FILES = reference.files("oasis")
UTILITIES = ("sigmoid", "inverse", "constant", "table")


def load(path: Path) -> tuple[OasisInstance, dict[str, Any]]:
    """Return the instance of a reference file and its known answers."""
    return reference.load(OasisInstance, path)


def schedule(raw: list[dict[str, list[Any]] | None]) -> OasisSchedule:
    """Return a schedule of the reference format; entries of number 0 are left out."""
    jobs = [j and {side: [e for e in j[side] if e[2]] for side in ("workers", "ps")} for j in raw]
    return OasisSchedule.model_validate({"jobs": jobs})


def simple_job(**changes: Any) -> OasisJob:
    """Return a job that is worth 1 and takes one worker and one PS for a slot, but for changes."""
    fields = {
        "arrival": 0,
        "epochs": 1,
        "chunks": 1,
        "batches_per_chunk": 1,
        "batch_time": 1.0,
        "gradient_mb": 0.0,
        "worker_bandwidth": 1.0,
        "ps_bandwidth": 1.0,
        "worker_demand": (1.0,),
        "ps_demand": (1.0,),
        "utility": {"kind": "constant", "value": 1.0},
    }
    return OasisJob.model_validate(fields | changes)


@cache
def random_instance(seed: int) -> OasisInstance:
    """Draw 2 to 4 jobs, 3 to 5 slots, 1 to 3 machines a side and 1 to 2 resources."""
    draw = np.random.default_rng(seed)
    horizon, resources = int(draw.integers(3, 6)), int(draw.integers(1, 3))

    def tenths(low, high, size=None):
        return draw.integers(low, high, size=size) / 10

    def machines():
        kinds = [tuple(tenths(10, 45, resources)) for _ in range(2)]
        return tuple(
            MachineClass(capacity=kinds[draw.integers(2)]) for _ in range(draw.integers(1, 4))
        )

    def demand():
        return tuple(tenths(4, 21, resources) * (draw.random(resources) > 0.15))

    def utility():
        kind = UTILITIES[draw.integers(4)]
        scale = float(tenths(10, 200))
        if kind == "sigmoid":
            target = float(tenths(0, 40))
            return {"kind": kind, "scale": scale, "decay": float(tenths(0, 30)), "target": target}
        if kind == "table":
            values = sorted(tenths(0, 200, draw.integers(1, horizon + 1)), reverse=True)
            return {"kind": kind, "values": values}
        return {"kind": kind, "value" if kind == "constant" else "scale": scale}

    def job():
        chunks, batches = int(draw.integers(1, 5)), int(draw.integers(1, 4))
        bandwidth = float(tenths(5, 20))
        return OasisJob(
            arrival=int(draw.integers(0, horizon - 1)),
            epochs=int(draw.integers(1, 3)),
            chunks=chunks,
            batches_per_chunk=batches,
            batch_time=round(float(draw.integers(10, 160)) / (100 * batches), 3),
            gradient_mb=float(tenths(0, 2)),
            worker_bandwidth=bandwidth,
            ps_bandwidth=round(bandwidth * float(draw.choice([1, 1.5, 2, 3])), 2),
            worker_demand=demand(),
            ps_demand=demand(),
            utility=utility(),
        )

    return OasisInstance(
        slot_seconds=0.008,
        horizon=horizon,
        resources=("gpu", "memory")[:resources],
        worker_machines=machines(),
        ps_machines=machines(),
        jobs=tuple(job() for _ in range(draw.integers(2, 5))),
    )


@cache
def optimum(inst: OasisInstance) -> float:
    """Return the greatest total utility (1) of all schedules."""
    packs = [
        _Packing([c.capacity for c in inst.worker_machines], [j.worker_demand for j in inst.jobs]),
        _Packing([c.capacity for c in inst.ps_machines], [j.ps_demand for j in inst.jobs]),
    ]
    menus = [_menu(inst, i, packs) for i in range(len(inst.jobs))]
    slots = range(inst.horizon)
    numbers = [[[0] * len(menus) for _ in slots] for _ in packs]
    best = 0.0

    def extend(i: int, value: float) -> None:
        nonlocal best
        best = max(best, value)
        if i == len(menus):
            return
        later = sum(menu[0][0] for menu in menus[i + 1 :] if menu)
        for earned, workers, ps in menus[i]:
            if value + earned + later <= best:
                break
            for t in slots:
                numbers[0][t][i], numbers[1][t][i] = workers[t], ps[t]
            if all(
                pack.fits(tuple(n[t]))
                for pack, n in zip(packs, numbers, strict=True)
                for t in slots
            ):
                extend(i + 1, value + earned)
        for t in slots:
            numbers[0][t][i] = numbers[1][t][i] = 0
        if value + later > best:
            extend(i + 1, value)

    extend(0, 0.0)
    return best


def _menu(inst, i, packs):
    """Return the schedules of job i on empty machines, (utility, workers, PS), best first.

    Exactly W_i worker-slots: a schedule with more stays one when a worker goes, and ends no later.
    """
    job = inst.jobs[i]
    e_over_b = _written(job.gradient_mb) / _written(job.worker_bandwidth)
    per_batch = _written(job.batch_time) + 2 * e_over_b
    work = math.ceil(job.epochs * job.chunks * job.batches_per_chunk * per_batch)
    ratio = _written(job.worker_bandwidth) / _written(job.ps_bandwidth)
    served = [math.ceil(n * ratio) for n in range(job.chunks + 1)]

    def alone(number):
        return tuple(number if j == i else 0 for j in range(len(inst.jobs)))

    possible = [
        n
        for n in range(job.chunks + 1)
        if packs[0].fits(alone(n)) and packs[1].fits(alone(served[n]))
    ]
    slots = [possible if t >= job.arrival else [0] for t in range(inst.horizon)]
    menu = []
    for workers in product(*slots):
        if sum(workers) == work:
            end = max(t for t, n in enumerate(workers) if n)
            earned = _utility(job.utility, end - job.arrival)
            if earned > 0:
                menu.append((earned, workers, tuple(served[n] for n in workers)))
    return sorted(menu, reverse=True)


class _Packing:
    """Whether numbers of every job fit together on single machines; remembers its answers."""

    def __init__(self, capacity, demand):
        self.capacity = tuple(tuple(_written(c) for c in row) for row in capacity)
        self.demand = [tuple(_written(d) for d in row) for row in demand]
        self.known = {}

    def fits(self, numbers):
        if numbers not in self.known:
            self.known[numbers] = self._place(numbers, self.capacity)
        return self.known[numbers]

    def _place(self, numbers, free):
        """Put one worker of the first job that has any left on every machine in turn."""
        i = next((i for i, n in enumerate(numbers) if n), None)
        if i is None:
            return True
        fewer = (*numbers[:i], numbers[i] - 1, *numbers[i + 1 :])
        for h, row in enumerate(free):
            left = tuple(c - d for c, d in zip(row, self.demand[i], strict=True))
            fits = row not in free[:h] and min(left) >= 0  # equal machines: the first will do
            if fits and self._place(fewer, (*free[:h], left, *free[h + 1 :])):
                return True
        return False


def _utility(f, delay):
    if f.kind == "sigmoid":
        return f.scale / (1 + math.exp(f.decay * (delay - f.target)))
    if f.kind == "inverse":
        return f.scale / (1 + delay)
    if f.kind == "constant":
        return f.value
    return f.values[delay] if delay < len(f.values) else 0.0


def _written(x):
    return Fraction(repr(float(x)))
