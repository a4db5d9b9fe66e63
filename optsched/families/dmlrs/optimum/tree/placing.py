"""Placement of the jobs of one slot on single machines: a vector packing integer program.

HiGHS decides whether given numbers of workers and PS fit (Huangfu and Hall, 2018); branch and
price calls it where all numbers of a node are integers.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse import coo_array

from optsched import solvers
from optsched.engine.budget import Limits
from optsched.families.dmlrs.certificate.forced import INNER_ONLY, Conflict
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, Entry, JobSchedule
from optsched.scheduling.board import placed_jobs

Placed = dict[int, list[tuple[int, int, int]]]
"""Job -> rows (machine, workers, PS)."""


def pack(inst: DmlrsInstance, requests: Conflict, limits: Limits) -> Placed | None:
    """Place all ``requests`` at once on the empty machines; None if no way was found."""
    if not requests:
        return {}
    a, h = inst.arrays, len(inst.capacity)
    scale = np.maximum(a.capacity.max(axis=0), 1)
    entries: list[tuple[int, int, float]] = []
    lower: list[float] = []
    upper: list[float] = []
    most: list[float] = []
    columns: dict[tuple[int, int, int], int] = {}  # (wish, machine, 0 workers | 1 PS | 2 all inner)

    def column(key: tuple[int, int, int], limit: float, load: np.ndarray) -> None:
        k = columns[key] = len(most)
        most.append(limit)
        for r in np.flatnonzero(load):
            entries.append((key[1] * load.size + int(r), k, float(load[r] / scale[r])))

    rows = h * a.capacity.shape[1]
    lower += [-np.inf] * rows
    upper += (a.capacity / scale).ravel().tolist()
    for k, (job, mode, workers) in enumerate(requests):
        alpha, beta, needs = a.worker_demand[job], a.ps_demand[job], inst.needs[job]
        if mode == INNER_ONLY:
            load = workers * alpha + needs.ps_inner[workers] * beta
            for p in range(h):
                column((k, p, 2), 1.0, load)
            entries += [(len(lower), columns[k, p, 2], 1.0) for p in range(h)]
            lower.append(1.0)
            upper.append(1.0)
            continue
        servers = needs.ps_outer[workers]
        for side, (demand, number) in enumerate(((alpha, workers), (beta, servers))):
            for p in range(h):
                column((k, p, side), number, demand)
            entries += [(len(lower), columns[k, p, side], 1.0) for p in range(h)]
            lower.append(number)
            upper.append(number)
        for p in range(h):  # something sits elsewhere
            entries += [(len(lower), columns[k, p, side], 1.0) for side in (0, 1)]
            lower.append(-np.inf)
            upper.append(workers + servers - 1)
    index = np.array([(r, c) for r, c, _ in entries]).T
    matrix = coo_array(
        (np.array([v for _, _, v in entries]), (index[0], index[1])), shape=(len(lower), len(most))
    )
    result = solvers.solve_mip(
        np.array([p / (h * max(1, requests[k][2])) for k, p, _ in columns]),
        matrix.tocsc(),
        np.array(lower),
        np.array(upper),
        np.zeros(len(most)),
        np.array(most),
        np.ones(len(most), bool),
        gap=1.0,
        **limits,
    )
    if result.x is None:
        return None
    placed: dict[int, dict[int, list[int]]] = {job: {} for job, _, _ in requests}
    for (k, p, what), c in columns.items():
        number = int(result.x[c])
        if not number:
            continue
        job, _, workers = requests[k]
        spot = placed[job].setdefault(p, [0, 0])
        if what == 2:
            spot[:] = [workers, inst.needs[job].ps_inner[workers]]
        else:
            spot[what] += number
    return {i: [(p, w, s) for p, (w, s) in spots.items()] for i, spots in placed.items()}


def schedule_of(jobs: int, slots: Iterable[Placed | None]) -> DmlrsSchedule | None:
    """Return the schedule of these placements, slot by slot; None if one of them is missing."""
    placed: list[tuple[list[Entry], list[Entry]]] = [([], []) for _ in range(jobs)]
    for t, found in enumerate(slots):
        if found is None:
            return None
        for i, spots in found.items():
            placed[i][0].extend((t, h, w) for h, w, _ in spots if w)
            placed[i][1].extend((t, h, s) for h, _, s in spots if s)
    runs = {i for i, (workers, _) in enumerate(placed) if workers}
    return DmlrsSchedule(jobs=placed_jobs(placed, runs, JobSchedule))
