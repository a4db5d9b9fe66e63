"""States of the search of family `completion`, and what is free in them, slot by slot."""

from __future__ import annotations

import numpy as np

from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.families.completion.optimum.search.neighborhood import Neighborhood
from optsched.families.completion.oracle.servers import MOST_UNITS
from optsched.families.completion.sources.presets import generate

SLOTS = 60
ARRAYS = ("free", "room", "total")


def filled(architecture="ps", seed=3, jobs=12, machines=3, factor=0.0):
    inst = generate("mid", seed=seed, jobs=jobs, machines=machines, architecture=architecture)
    made = JobTables(inst)
    prices = np.random.default_rng(0).uniform(0, 5, (SLOTS, *made.class_capacity.shape))
    area = Neighborhood(made, prices, SLOTS)
    area.construct(np.argsort(-area.tables.density, kind="stable").tolist(), factor)
    return area


def by_slot(servers):
    """Return what is free in every slot, and check that segments are no shorter than they must."""
    number = int(servers.number[0])
    begin, rows = servers.begin[: number + 1], servers.rows[:number]
    length = np.diff(begin)
    assert begin[0] == 0
    assert (length > 0).all()
    assert (servers.cuts[begin[1:-1]] > 0).all()
    assert np.count_nonzero(servers.cuts[1:]) == number - 1
    assert sorted(servers.rows) == list(range(servers.rows.size))
    of_slots = np.repeat(rows, length)
    max_units = servers.max_units[of_slots]
    free = servers.free[of_slots].reshape(len(max_units), max_units.shape[2], -1).transpose(1, 0, 2)
    return {"free": free, "room": max_units, "total": servers.total[of_slots].T}


def arrays(area):
    return by_slot(area.servers)


def same(a, b):
    return all(np.array_equal(a[name], b[name]) for name in ARRAYS)


def recomputed(area):
    """Work out from the pieces of a schedule what is free, how many workers fit, and their sum."""
    types, jobs = area.jobs.types, area.jobs
    free = np.repeat(jobs.capacity[:, None, :], area.slots, axis=1)
    for i, piece in enumerate(area.pieces(area.plans)):
        if area.plans.mode[i] < 0:
            continue
        window = slice(piece.start, piece.end)
        for h, n in piece.workers:
            free[h, window] -= n * types.worker_demand[piece.worker_type]
        for h, s in piece.ps:
            free[h, window] -= s * types.ps_demand[piece.ps_type]
    max_units = np.empty((area.slots, len(types.worker_demand), len(jobs.capacity)), np.int16)
    for m, e in enumerate(types.worker_demand):
        used = np.flatnonzero(e)
        max_units[:, m] = np.minimum((free[:, :, used] // e[used]).min(axis=2), MOST_UNITS).T
    return {"free": free, "room": max_units, "total": max_units.sum(axis=2, dtype=np.int64).T}
