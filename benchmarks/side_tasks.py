"""What `side_by_side` times, in a process that knows one checkout of optsched only.

    python benchmarks/side_tasks.py CHECKOUT FOLDER

A line of standard input names a task, FOLDER holds its instance; the answer is a line of JSON: how
long one run took, and what came out. Seconds are those that the processor worked, for the methods
themselves as well. Checkouts will do in which modules have other names: see `MOVED`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

FAMILIES = "optsched.families"
CAPACITY, SCHEDULE, SERVERS, LINKED = (
    "optimum.relaxations.capacity",
    "oracle.schedule",
    "oracle.servers",
    "oracle.linked",
)
MOVED = {  # where a module was before
    f"{FAMILIES}.oasis.{CAPACITY}": f"{FAMILIES}.oasis.optimum.prices.capacity",
    f"{FAMILIES}.dmlrs.{CAPACITY}": f"{FAMILIES}.dmlrs.optimum.prices.capacity",
    f"{FAMILIES}.dmlrs.{LINKED}": f"{FAMILIES}.dmlrs.oracle",
    f"{FAMILIES}.completion.{CAPACITY}": f"{FAMILIES}.completion.optimum.prices.capacity",
    f"{FAMILIES}.completion.{SCHEDULE}": f"{FAMILIES}.completion.oracle",
    f"{FAMILIES}.completion.{SERVERS}": f"{FAMILIES}.completion.oracle",
    "optsched.scheduling.oracle.schedule": "optsched.scheduling.oracle",
}
LIMIT = 20.0  # seconds for an optimum
APART = (0.8, 1.2)  # factors by which prices of equal machines differ
UNEVEN = 0.7  # standard deviation of the logarithm of a slot's price

Answer = dict[str, Any]  # what came out, and perhaps seconds of its own
Task = Callable[[], Answer]


def main(checkout: str, folder: str) -> None:
    """Answer until there are no more questions."""
    time.perf_counter = time.process_time  # before anything of the checkout reads the clock
    sys.path.insert(0, checkout)
    import optsched

    if not str(optsched.__file__).startswith(checkout):
        raise SystemExit(f"{checkout}: optsched comes from {optsched.__file__}")
    for line in sys.stdin:
        run = task(line.strip(), folder)
        began = time.process_time()
        answer = run()
        took = time.process_time() - began
        print(json.dumps({"seconds": took, **answer}), flush=True)


def module(name: str) -> Any:
    """Import a module by its name of today, or else by that of before."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return import_module(MOVED[name])


def of(home: Any, *names: str) -> Any:
    """Return what is known by the first of the names, today or before, that ``home`` has."""
    return next(getattr(home, name) for name in names if hasattr(home, name))


def relaxation(home: Any) -> Any:
    """Return the class of a decomposition with prices on capacity."""
    return of(home, "CapacityRelaxation", "CapacityBlocks", "ServerBlocks")


@cache
def task(name: str, folder: str) -> Task:
    """Return a task, ready to run: "what family ..."."""
    from optsched.problem import get_family

    what, family, *rest = name.split()
    kind = get_family(family).instance
    content = json.loads((Path(folder) / f"{name}.json").read_text())
    instance = kind.model_validate({k: v for k, v in content.items() if k in kind.model_fields})
    made: Task = KINDS[what](instance, family, *rest)
    return made


def oracle(instance: Any, family: str, where: str) -> Task:
    """Call the oracle for every job, on classes of machines or on machines that all differ."""
    made: Task = {"oasis": _separated, "dmlrs": _shared, "completion": _servers}[family](
        instance, distinct=where == "distinct"
    )
    return made


def policy(instance: Any, _family: str, name: str) -> Task:
    """Time the decisions of a policy."""
    from optsched import simulate

    def run() -> Answer:
        found = simulate(instance, name, seed=1)
        return {"values": [found.value], "seconds": found.seconds}

    return run


def optimum(instance: Any, _family: str, method: str) -> Task:
    """Solve with one thread."""
    from optsched import solve

    def run() -> Answer:
        found = solve(instance, method=method, time_limit=LIMIT, threads=1, seed=1)
        return {"values": [found.value], "gap": found.gap}

    return run


KINDS = {"oracle": oracle, "policy": policy, "optimum": optimum, "small": optimum}


def _prices(free: Any, total: float) -> Any:
    """Return prices (T, R, H) at which all that is free (T, R, H) is worth so much, or nearly."""
    rng = np.random.default_rng(1)
    price = np.exp(UNEVEN * rng.standard_normal((free.shape[0], 1, 1)))
    price = price * rng.uniform(*APART, size=free.shape)
    whole = np.maximum(free.sum(axis=(0, 2), keepdims=True), 1.0) * free.shape[1]
    return np.ascontiguousarray(price * total / whole)


def _machines(capacity: Any, count: Any, slots: int, total: float) -> Any:
    home = module("optsched.scheduling.oracle.schedule")
    kind = of(home, "PricedMachines", "Machines")
    free = np.ascontiguousarray(np.repeat(capacity.astype(float).T[None], slots, axis=0))
    return kind(_prices(free * count, total), free, count)


def _separated(instance: Any, *, distinct: bool) -> Task:
    schedule, arrays = module("optsched.scheduling.oracle.schedule"), instance.arrays
    blocks = relaxation(module(f"{FAMILIES}.oasis.{CAPACITY}"))(instance)
    total = 0.3 * sum(job.utility(0) for job in instance.jobs)
    sides = []
    for side, whole in enumerate((arrays.worker_capacity, arrays.ps_capacity)):
        capacity, count = (
            (whole, np.ones(len(whole), np.int64))
            if distinct
            else (blocks.capacity[side], blocks.count[side])
        )
        sides.append(_machines(capacity, count, instance.horizon, total / 2))
    most = max(job.chunks for job in instance.jobs)
    wide = max(side.count.size for side in sides)
    search = schedule.Oracle(instance.horizon, wide, most, max(instance.work))

    def run() -> Answer:
        found = [search.best(job, *sides) for job in blocks.requests]
        return {"values": [None if best is None else best.payoff for best in found]}

    return run


def _shared(instance: Any, *, distinct: bool) -> Task:
    blocks, linked = (module(f"{FAMILIES}.dmlrs.{name}") for name in (CAPACITY, LINKED))
    blocks = relaxation(blocks)(instance)
    whole = instance.arrays.capacity
    capacity, count = (
        (whole, np.ones(len(whole), np.int64)) if distinct else (blocks.capacity, blocks.count)
    )
    total = 0.3 * sum(job.utility(0) for job in instance.jobs)
    machines = _machines(capacity, count, instance.horizon, total)
    if hasattr(linked, "oracle_for"):
        search = linked.oracle_for(instance, len(count))
    else:
        most = max(job.chunks for job in instance.jobs)
        search = linked.Oracle(instance.horizon, len(count), most)

    def run() -> Answer:
        found = [search.best(job, machines) for job in blocks.requests]
        return {"values": [None if best is None else best.payoff for best in found]}

    return run


def _servers(instance: Any, *, distinct: bool) -> Task:
    find = module(f"{FAMILIES}.completion.{SCHEDULE}").best_schedule
    home = module(f"{FAMILIES}.completion.{CAPACITY}")
    jobs = of(home, "JobTables", "Jobs")(instance)
    whole, count = (
        (jobs.capacity, jobs.cluster.ones) if distinct else (jobs.class_capacity, jobs.count)
    )
    slots = 2 * instance.horizon
    free = np.repeat((whole * count[:, None]).astype(float).T[None], slots, axis=0)  # (L, R, H)
    total = float(jobs.weight.sum()) * instance.horizon
    prices = np.ascontiguousarray(_prices(free, total).transpose(0, 2, 1))
    kind = module(f"{FAMILIES}.completion.{SERVERS}").PricedServers
    servers = kind.of(jobs.types, prices, whole, count)

    def run() -> Answer:
        values = []
        for j, modes in enumerate(jobs.modes):
            arrival = int(jobs.arrival[j])
            found = find(
                jobs.types, modes, servers, arrival=arrival, weight=float(jobs.weight[j]),
                deadline=arrival + instance.horizon,
            )  # fmt: skip
            values.append(None if found is None else found.value)
        return {"values": values}

    return run


if __name__ == "__main__":
    main(*sys.argv[1:])
