"""Queries to Algorithm 4: one job, one slot, part of the machines in use."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.families.dmlrs.oracle.request import requests
from optsched.families.dmlrs.oracle.schedule import Oracle
from optsched.families.dmlrs.policies.rounding import Relaxation, SlotProblem, round_until_feasible
from optsched.families.dmlrs.sources.presets import generate
from optsched.numbers.streams import Streams
from optsched.papers.dmlrs.common import COMMON
from optsched.papers.experiment import OPEN, Cell, Row, Setting, fresh, grid
from optsched.scheduling.oracle.schedule import Machines

GAINS = (1.0, 1.002, 1.004, 1.006, 1.008, 1.01, 1.1, 1.5)
LOADS = (0.0, 0.5, 1.0)  # machines are used up to this share, each at random
QUERIES = 30  # jobs per instance, with a third of their workers and with all
MOST_ROUNDS = 5000
MACHINES, SLOTS = 50, 100
SETTINGS = (
    *COMMON,
    Setting("machines, slots", "50, 100", 'Sec. 4.1: "we let H = 50 and T = 100"'),
    Setting("G", "1 to 1.01; beside: 1.1, 1.5", 'Sec. 4.1: "vary the pre-rounding gain factor G '
            'from 1 to 1.01"'),
    Setting("queries", "30 jobs, a third of their workers and all", OPEN),
    Setting("use of machines", "up to 0, 50, 100 %, each at random; e^8 from empty to full", OPEN),
    Setting("roundings", "at most 5000; failures count as 5000", OPEN),
)  # fmt: skip
SPAN = 8.0  # ln of the price of a full machine over that of an empty one


def cells(seeds: int) -> list[Cell]:
    """Return one cell per gain, load and instance."""
    return grid(gain=GAINS, load=LOADS, seed=fresh(seeds))


def run(cell: Cell, _time_limit: float) -> Row:
    """Round the relaxation of every query; compare with the exact placements."""
    inst = generate("paper", seed=cell["seed"], jobs=QUERIES, slots=SLOTS, machines=MACHINES)
    streams = Streams(cell["seed"])
    used = streams("use of machines").random((len(inst.capacity), 1)) * cell["load"]
    free = np.floor(inst.arrays.capacity * (1 - used)).T[None].copy()  # (1, R, H)
    whole = np.maximum(inst.arrays.capacity.astype(float), 1.0).T
    price = np.exp(SPAN * np.broadcast_to(used.T, whole.shape))[None] / whole[None]
    cluster = Machines(np.ascontiguousarray(price), free, np.ones(len(inst.capacity), np.int64))
    oracle = Oracle(1, len(inst.capacity), max(job.chunks for job in inst.jobs))
    rounds: list[int] = []
    outer: list[float] = []
    both: list[float] = []
    failed = 0
    for i, request in enumerate(requests(inst)):
        worker, ps = (price[0].T @ d for d in (request.worker_demand, request.ps_demand))
        demands = request.worker_demand, request.ps_demand
        problem = SlotProblem(worker, ps, free[0], *demands, request.ps_inner, request.ps_outer)
        relaxation = Relaxation(problem)
        most = inst.jobs[i].chunks
        for n in sorted({max(1, most // 3), most}):
            exact = _cost(oracle.slot(request, cluster, 0, 2 * n + 1), worker, ps)
            fractional = relaxation.solve(n)
            if exact is None or fractional is None:
                continue
            rng = streams(f"rounding {cell['gain']} {cell['load']} {n}", i)
            found = round_until_feasible(problem, fractional, n, cell["gain"], MOST_ROUNDS, rng)
            if isinstance(found, int):
                failed += 1
                rounds.append(MOST_ROUNDS)
                continue
            cost = problem.cost(found[0], found[1])
            rounds.append(found[2])
            outer.append(cost / exact)
            enough = -(-min(request.work, n * request.outer) // request.inner)
            inner = _cost(oracle.slot(request, cluster, 0, 2 * int(enough)), worker, ps)
            cheap = float("inf") if inner is None else inner
            both.append(min(cost, cheap) / min(exact, cheap))
    return {"asked": len(rounds), "failed": failed, "rounds": rounds, "outer": outer, "both": both}


def _cost(rows: Any, worker: Any, ps: Any) -> float | None:
    """Return the price of a placement; None if there is none."""
    if not len(rows):
        return None
    machine, workers, servers = rows.T
    return float(workers @ worker[machine] + servers @ ps[machine])
