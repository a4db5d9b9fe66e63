"""Family `dmlrs`: reference files; tiny random instances, their placements and optimum.

Written from the definition, by trying everything: fractions, no kernels, no tables. Some instances
are on the edge: whole worker-slots just train a job, or just do not.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from independent import reference
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob, DmlrsSchedule, batch_slots
from optsched.numbers.resources import MachineClass
from optsched.numbers.utility import Inverse, Table

FILES = reference.files("dmlrs")
EPS = Fraction(1, 10**9)
Placement = tuple[tuple[int, ...], tuple[int, ...]]  # workers, PS by machine


def load(file: Path, locality: str = "job") -> tuple[DmlrsInstance, dict[str, Any]]:
    """Return the instance of a reference file in a reading of locality, and its known answers."""
    return reference.load(DmlrsInstance, file, locality=locality)


def schedule(raw: list[dict[str, list[Any]] | None]) -> DmlrsSchedule:
    """Return a schedule of a reference file; entries of number 0 are left out."""
    jobs = [j and {side: [e for e in j[side] if e[2]] for side in ("workers", "ps")} for j in raw]
    return DmlrsSchedule.model_validate({"jobs": jobs})


def simple_job(**changes: Any) -> DmlrsJob:
    """Return a job that is worth 1 and takes one worker for a slot, but for changes."""
    fields = {
        "arrival": 0,
        "epochs": 1,
        "chunks": 1,
        "batches_per_chunk": 1,
        "batch_time": 1.0,
        "gradient_mb": 0.0,
        "inner_bandwidth": 1.0,
        "outer_bandwidth": 1.0,
        "ps_bandwidth": 1.0,
        "worker_demand": (1.0,),
        "ps_demand": (0.0,),
        "utility": {"kind": "constant", "value": 1.0},
    }
    return DmlrsJob.model_validate(fields | changes)


@cache
def tiny(seed: int, locality: str = "job") -> DmlrsInstance:
    """Draw an instance of two or three jobs, two machines, three slots."""
    rng = np.random.default_rng([20261, seed])
    machines = [(float(rng.integers(2, 6)), float(rng.integers(3, 8))) for _ in range(2)]
    if rng.random() < 0.3:
        machines[1] = machines[0]
    jobs = []
    for _ in range(int(rng.integers(2, 4))):
        outer = float(rng.choice([0.5, 1.0, 2.0]))
        inner = outer * float(rng.choice([1.0, 1.5, 2.0, 4.0]))
        utility = (
            Inverse(scale=float(rng.integers(2, 30)))
            if rng.random() < 0.5
            else Table(values=tuple(sorted(rng.integers(1, 40, 3).astype(float), reverse=True)))
        )
        jobs.append(
            DmlrsJob(
                arrival=int(rng.integers(2)),
                epochs=int(rng.integers(1, 3)),
                chunks=int(rng.integers(1, 3)),
                batches_per_chunk=int(rng.integers(1, 3)),
                batch_time=float(rng.choice([0.1, 0.2, 0.35])),
                gradient_mb=float(rng.choice([0.1, 0.2, 0.4])),
                inner_bandwidth=inner,
                outer_bandwidth=outer,
                ps_bandwidth=float(rng.choice([1.5, 2.0, 4.0, 8.0])),
                worker_demand=(float(rng.integers(0, 3)), float(rng.integers(1, 4))),
                ps_demand=(float(rng.integers(0, 2)), float(rng.integers(1, 3))),
                utility=utility,
            )
        )
    return DmlrsInstance(
        slot_seconds=0.008,
        horizon=3,
        resources=("gpu", "memory"),
        machines=tuple(MachineClass(capacity=c) for c in machines),
        locality=locality,
        jobs=tuple(jobs),
    )


def mixed(seed: int, locality: str = "job") -> DmlrsInstance:
    """Draw a tiny instance in mixed units: of resources, of machines, and of utilities."""
    rng = np.random.default_rng([20262, seed])
    data = tiny(seed, locality).model_dump(mode="json")
    for r in range(2):
        unit = 10.0 ** int(rng.integers(0, 7))
        rows = [job[side] for job in data["jobs"] for side in ("worker_demand", "ps_demand")]
        for row in [*rows, *(machine["capacity"] for machine in data["machines"])]:
            row[r] *= unit
    if rng.random() < 0.5:
        small = data["machines"][1]
        small["capacity"] = [
            float(int(x / 10.0 ** int(rng.choice([3, 6])))) for x in small["capacity"]
        ]
    for job in data["jobs"]:
        worth, utility = 10.0 ** int(rng.choice([-8, -3, 0, 3, 8])), job["utility"]
        if utility["kind"] == "table":
            utility["values"] = [x * worth for x in utility["values"]]
        else:
            utility["scale"] *= worth
    return DmlrsInstance.model_validate(data)


def placements(inst: DmlrsInstance, job: DmlrsJob) -> list[tuple[Placement, Fraction]]:
    """Return every placement of one job in one slot that the definition allows, and its work."""
    machines = range(len(inst.capacity))
    b_in, b_ex, big_b = (
        Fraction(str(x)) for x in (job.inner_bandwidth, job.outer_bandwidth, job.ps_bandwidth)
    )
    e = Fraction(8, 1000) * Fraction(str(job.gradient_mb)) / Fraction(str(inst.slot_seconds))
    tau = Fraction(str(job.batch_time))
    counts = range(job.chunks + 1)
    found = []
    for w in product(counts, repeat=len(machines)):
        if not 0 < sum(w) <= job.chunks:
            continue
        for s in product(counts, repeat=len(machines)):
            if not 0 < sum(s) <= sum(w):
                continue
            holds = [p for p in machines if s[p]]
            alone = len({h for h in machines if w[h] or s[h]}) == 1
            done = flow = Fraction(0)
            for h in machines:
                if inst.locality == "job":
                    near, links = alone, b_in if alone else b_ex
                else:
                    near = holds == [h]
                    links = sum((b_in if p == h else b_ex for p in holds), Fraction(0))
                done += w[h] / (tau + 2 * e / (b_in if near else b_ex))
                flow += w[h] * links
            if flow / big_b <= sum(s) + EPS * max(1, sum(s)) and fits(inst, usage(job, (w, s))):
                found.append(((w, s), done))
    return found


def usage(job: DmlrsJob, place: Placement) -> tuple[tuple[float, ...], ...]:
    """Return what a placement uses, by machine and resource (whole numbers)."""
    return tuple(
        tuple(w * a + s * b for a, b in zip(job.worker_demand, job.ps_demand, strict=True))
        for w, s in zip(*place, strict=True)
    )


def fits(inst: DmlrsInstance, used: Any) -> bool:
    """Whether a load fits on the machines."""
    return all(
        x <= c
        for row, limit in zip(used, inst.capacity, strict=True)
        for x, c in zip(row, limit, strict=True)
    )


@cache
def optimum(inst: DmlrsInstance) -> float:
    """Return the greatest utility: over slots, every joint placement of all jobs."""
    options, work, slack = [], [], []  # in units that make all fractions of a job whole
    for job in inst.jobs:
        batches = job.epochs * job.chunks * job.batches_per_chunk
        ways = [(usage(job, place), done) for place, done in placements(inst, job)]
        unit = math.lcm(EPS.denominator, *(done.denominator for _, done in ways))
        best = dict.fromkeys((used, int(done * unit)) for used, done in ways)
        options.append([(None, 0), *best])
        work.append(batches * unit)
        slack.append(int(EPS * unit) * max(1, batches))

    @cache
    def joint(active: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Return the work of all jobs in one slot, for every way that fits."""
        found: dict[tuple[Any, tuple[int, ...]], None] = {(None, ()): None}
        for i in range(len(inst.jobs)):
            grown: dict[tuple[Any, tuple[int, ...]], None] = {}
            for used, done in found:
                for more, extra in options[i] if i in active else options[i][:1]:
                    both = more if used is None else used if more is None else _plus(used, more)
                    if both is None or fits(inst, both):
                        grown[both, (*done, extra)] = None
            found = grown
        return tuple({done: None for _, done in found})

    states: dict[tuple[int, ...], float] = {tuple(work): 0.0}
    for t in range(inst.horizon):
        after: dict[tuple[int, ...], float] = {}
        for left, value in states.items():
            active = tuple(i for i, x in enumerate(left) if x > 0 and inst.jobs[i].arrival <= t)
            for done in joint(active):
                new, earned = [], value
                for i, (x, d) in enumerate(zip(left, done, strict=True)):
                    rest = x - d
                    if d and rest <= slack[i]:
                        rest = 0
                        earned += inst.jobs[i].utility(t - inst.jobs[i].arrival)
                    new.append(rest)
                key = tuple(new)
                if earned > after.get(key, -1.0):
                    after[key] = earned
        states = after
    return max(states.values())


def _plus(a: Any, b: Any) -> Any:
    return tuple(tuple(x + y for x, y in zip(r, q, strict=True)) for r, q in zip(a, b, strict=True))


def crossing(inst: DmlrsInstance, inner: int, outer: int) -> float:
    """Return the time of a mini-batch at which this many worker-slots just train job 0."""
    job = inst.jobs[0]
    times = [
        batch_slots(job, b, inst.slot_seconds) for b in (job.inner_bandwidth, job.outer_bandwidth)
    ]
    sent = [x - Fraction(str(job.batch_time)) for x in times]
    batches = job.epochs * job.chunks * job.batches_per_chunk
    low, high = 0.0, 1e6
    while math.nextafter(low, high) < high:
        mid = (low + high) / 2
        at = [Fraction(str(mid)) + x for x in sent]
        done = inner / at[0] + outer / at[1]
        low, high = (mid, high) if done >= batches * (1 - EPS) else (low, mid)
    return low


@cache
def on_the_edge(seed: int) -> DmlrsInstance:
    """Return an instance whose first job is trained, or just not, by whole worker-slots."""
    rng = np.random.default_rng([20262, seed])
    inst = tiny(int(rng.integers(10_000)))
    slots = (inst.horizon - inst.jobs[0].arrival) * inst.jobs[0].chunks
    inner = int(rng.integers(slots + 1))
    outer = int(rng.integers(slots + 1 - inner))
    time = crossing(inst, inner, outer) if inner + outer else 0.1
    for _ in range(int(rng.integers(3))):
        time = math.nextafter(time, math.inf)
    if time < 1e-3:
        return on_the_edge(seed + 10**6)
    data = inst.model_dump()
    data["jobs"] = [dict(job) for job in data["jobs"]]
    data["jobs"][0]["batch_time"] = time
    return DmlrsInstance.model_validate(data)
