"""What may run in a slot, and whether it fits on single servers.

An item stands for all modes of a job with the same worker type and duration: so many workers on one
server, or so many on several, with one of some types of parameter servers (PS). Jobs with the same
choice share an item. What was found out about a list of items is remembered.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.families.completion.modes import Types
from optsched.families.completion.optimum.prices.capacity import Jobs
from optsched.families.completion.optimum.timeline.layers import (
    Fit,
    Memory,
    learn,
    packs,
    remembered,
)
from optsched.families.completion.optimum.timeline.slot_kernels import NO, YES, Items, Servers
from optsched.families.completion.oracle.servers import rooms
from optsched.numbers.arrays import Ints, Medium

MEMORY = 2**21  # lists of items; a power of two
TRIES = 1000  # steps to fit a list on the servers; then it counts as fitting
MOST_WORKERS = 1000
MOST_TABLE = 10**6  # entries of a table of workers that fit on all servers together
MOST_TRIES = 10_000_000  # the same for a list that matters
STAY_TRIES = 10_000  # the same for slots in which jobs have to stay where they are
MOST_STAY_TRIES = 300_000
NEVER = 2**40
Stay = tuple[tuple[int, int], ...]  # items, and bits of the slots in which they run


class SlotItems:
    """The items of an instance, and the servers they have to fit on.

    Parameters
    ----------
    jobs : Jobs
    modes : sequence of arrays of shape (K, 5)
        Rows [worker type, PS type, q, workers, duration] of every job.
    """

    def __init__(self, jobs: Jobs, modes: Sequence[Ints]) -> None:
        types = jobs.types
        self.index: list[dict[tuple[int, int], int]] = []  # of each job, by type and duration
        known: dict[tuple[int, ...], int] = {}
        for rows in modes:
            mine = {}
            for m, d in np.unique(rows[:, [0, 4]], axis=0).tolist():
                item = _item(rows[(rows[:, 0] == m) & (rows[:, 4] == d)])
                mine[m, d] = known.setdefault((m, *item), len(known))
            self.index.append(mine)
        kinds = np.array(list(known), np.int64).reshape(-1, 5)
        use = _least_use(jobs, kinds)
        # lists are tried in the order of the items: large ones first
        order = np.argsort(-(use / jobs.cluster.whole).max(axis=1), kind="stable")
        rank = np.argsort(order).tolist()
        self.index = [{key: rank[i] for key, i in mine.items()} for mine in self.index]
        m, apart, apart_ps, together, together_ps = np.ascontiguousarray(kinds[order].T)
        self.items = Items(m, apart, apart_ps, together, together_ps, use[order])
        self.servers = Servers(
            *(jobs.capacity, jobs.capacity.sum(axis=0), types),
            *_together(types, jobs.capacity, len(modes)),
        )
        self.memory = Memory(
            np.empty((MEMORY, len(modes)), np.int32),
            np.full(MEMORY, -1, np.int8),
            np.zeros(1, np.int64),
            np.full(1, TRIES, np.int64),
        )
        self.fit = Fit(self.servers, self.items, self.memory)
        self.stayed: dict[Stay, tuple[bool, int]] = {}  # whether they fit, after so many tries

    def stays(self, stay: Stay, tries: int = STAY_TRIES) -> bool:
        """Return whether items may run without moving; where that is not sure, True.

        Parameters
        ----------
        stay : tuple of pairs
            Ascending: items, and bits of the slots in which they run.
        tries : int
            Steps to find out.
        """
        fits, tried = self.stayed.get(stay, (True, 0))
        if fits and tried < tries:
            which, layers = np.array(stay, np.int64).T
            how = self.packs(which.astype(np.int32), np.ascontiguousarray(layers), tries)
            fits, tried = how != NO, NEVER if how == YES else tries
            self.stayed[stay] = fits, tried
        return fits

    def packs(self, which: Medium, layers: Ints, tries: int) -> int:
        """Return whether items fit, bits of whose layers are given: YES, NO or UNKNOWN."""
        number = int(layers.max(initial=1)).bit_length()
        return int(packs(self.servers, self.items, which, layers, number, tries))

    def settle(self, lists: Sequence[Sequence[tuple[int, int]]]) -> bool:
        """Find out whether lists of (item, job) fit; return whether one counted so and does not."""
        refuted = False
        for one in lists:
            which: Medium = np.array(sorted(i for i, _ in one), np.int32)
            if remembered(self.fit, which):
                fits = self.packs(which, np.ones(which.size, np.int64), MOST_TRIES)
                learn(self.memory, which, fits)
                refuted |= fits == NO
        return refuted


def _item(rows: Ints) -> tuple[int, int, int, int]:
    """Return (workers apart, bits of their PS types, workers together, bits) of modes."""
    out = []
    for q in (0, 1):
        mine = rows[rows[:, 2] == q]
        bits = int(np.bitwise_or.reduce(1 << mine[:, 1])) if len(mine) else 0
        out += [int(mine[:, 3].min(initial=NEVER)) if bits else 0, bits]
    return out[0], out[1], out[2], out[3]


def _least_use(jobs: Jobs, kinds: Ints) -> Ints:
    """Return what items use of the whole cluster at least, shape (I, R)."""
    types = jobs.types
    use = np.full((len(kinds), types.worker_demand.shape[1]), NEVER)
    for i, (m, *sides) in enumerate(kinds.tolist()):
        for n, bits, alone in ((*sides[:2], False), (*sides[2:], True)):
            for p in range(bits.bit_length()):
                if (bits >> p) & 1:
                    load = n * types.worker_demand[m]
                    if not types.ring:
                        needed = (
                            types.ps_needed[m, p, :1] if alone else types.ps_needed[m, p, 1 : n + 1]
                        )
                        load = load + int(needed.min()) * types.ps_demand[p]
                    use[i] = np.minimum(use[i], load)
    return np.ascontiguousarray(use)


def _together(types: Types, capacity: Ints, most_ps: int) -> tuple[Ints, Ints]:
    """Return how many workers of the last type fit on servers (H, R) beside others and some PS.

    Every PS takes the least of every resource that any type takes. Returns the sizes of the table
    (one more than the most workers of each other type, and PS), and the table, flat; -1: the others
    do not fit. It is empty if it would be large.
    """
    workers, free_ps = types.worker_demand, types.ring or not len(types.ps_demand)
    least_ps = np.zeros_like(workers[0]) if free_ps else types.ps_demand.min(axis=0)
    demand = np.concatenate([workers[:-1], least_ps[None]])
    most = np.stack([rooms(capacity, e) for e in demand], axis=1).clip(max=MOST_WORKERS)  # (H, M)
    most[:, -1] = 0 if free_ps else most[:, -1].clip(max=most_ps)
    sizes = most.sum(axis=0) + 1
    sizes[-1] = min(sizes[-1], most_ps + 1)
    if float(np.prod(sizes.astype(float))) > MOST_TABLE:
        return sizes, np.empty(0, np.int64)
    table = np.full(sizes, -1, np.int64)
    table[(0,) * len(sizes)] = 0
    for free, here in zip(capacity, most, strict=True):
        more = np.full_like(table, -1)
        every = np.indices(here + 1).reshape(here.size, -1).T
        left = free - every @ demand
        fit = (left >= 0).all(axis=1)
        beside = rooms(left[fit], workers[-1]).clip(max=MOST_WORKERS)
        for counts, number in zip(every[fit].tolist(), beside.tolist(), strict=True):
            before = table[
                tuple(slice(0, size - n) for size, n in zip(table.shape, counts, strict=True))
            ]
            with_these = np.where(before >= 0, before + number, -1)
            place = tuple(slice(n, None) for n in counts)
            more[place] = np.maximum(more[place], with_these)
        table = more
    return sizes, table.ravel()
