"""What whole slots can host: packings that are priced, and those that a schedule has.

Where no packing of a slot is known, one machine after the other is filled; then, or if one is
known, some machines are filled anew, again and again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from optsched.families.oasis.instance import OasisSchedule
from optsched.families.oasis.optimum.prices.capacity import SIDES
from optsched.families.oasis.optimum.prices.tightening import Prices
from optsched.families.oasis.optimum.prices.workers import UnitBlocks
from optsched.families.oasis.optimum.slotwise.packing import Packing, Side, learn, pack
from optsched.families.oasis.optimum.slotwise.refilling import Jobs, refill
from optsched.numbers.arrays import Floats, Ints, Small
from optsched.process import effort

PACKING = 25_000  # elementary steps of packing a job into a slot
MOVES = 40  # of improving a packing
SPARE = 1e-4  # of the highest price: what room is worth to jobs that pay nothing
LEVEL = 1e-3  # the same: what resources count for where the prices of both sides are 0


@dataclass(frozen=True, eq=False)
class Slot:
    """What all machines host in a slot."""

    slot: int
    jobs: Ints  # (n,) that may run
    number: Ints  # (n,) workers that do
    hosted: tuple[Small, Small]  # (H, n) workers and (K, n) PS, by machine; more may have room

    def numbers(self, jobs: int) -> Ints:
        """Return the workers of all jobs, shape (J,)."""
        out = np.zeros(jobs, np.int64)
        out[self.jobs] = self.number
        return out


class Slots:
    """Packs slots at prices of work.

    Parameters
    ----------
    blocks : UnitBlocks
    prices : pair of shape (J, T)
        Of a worker, and of one of its PS, to begin with.
    rng : Generator
    """

    def __init__(self, blocks: UnitBlocks, prices: Prices, rng: Generator) -> None:
        self.blocks, self.rng, inst = blocks, rng, blocks.inst
        arrays, self.most = blocks.arrays, blocks.most
        self.needed = np.zeros((blocks.jobs, max(n.size for n in blocks.needed)), np.int64)
        for row, n in zip(self.needed, blocks.needed, strict=True):
            row[: n.size] = n
        some = np.maximum(self.most, 1)
        self.ratio = self.needed[np.arange(blocks.jobs), self.most] / some
        self.arrival = np.array([job.arrival for job in inst.jobs], np.int64)
        whole = [c.astype(float) for c in (arrays.worker_capacity, arrays.ps_capacity)]
        self.sides = [
            Side(blocks.demand[side], whole[side], blocks.capacity[side], count)
            for side in SIDES
            for count in [np.array([len(m) for m in blocks.classes[side]], np.int64)]
        ]
        worker, ps = prices[0], prices[1] * self.ratio[:, None]
        sizes = [
            (side.demand / np.maximum(side.kinds.max(axis=0), 1.0)).max(axis=1, initial=0.0)
            for side in self.sides
        ]
        self.price: Floats = worker + ps  # of a worker with its PS, (J, T)
        highest = max(float(self.price.max(initial=0.0)), 1e-9)
        level = [LEVEL * highest * size[:, None] for size in sizes]
        level[1] *= self.ratio[:, None]
        whole_price = self.price + level[0] + level[1] + 1e-12
        self.part = np.array([(worker + level[0]) / whole_price, (ps + level[1]) / whole_price])
        self.spare: Floats = SPARE * highest * sizes[0]  # (J,)
        self.turn = 0

    def price_slot(self, t: int, price: Floats, last: Ints, known: Slot | None) -> Slot | None:
        """Pack a slot at prices of work (J,), for jobs that may run up to slot ``last`` (J,)."""
        value = price + self.spare
        may = (self.arrival <= t) & (t <= last) & (self.most > 0) & (value > 0)
        jobs = np.flatnonzero(may)
        if jobs.size == 0:
            return None
        effort.steps(PACKING * jobs.size)
        value, want, ratio = value[jobs], self.most[jobs], self.ratio[jobs]
        worker, ps = sides = self._sides(jobs)
        part = np.ascontiguousarray(self.part[:, jobs, t])
        each = value * part[1] / np.maximum(ratio, 1e-12)
        packing = Packing(
            ((value * part[0])[None], each[None]),
            np.zeros(jobs.size, np.int64),
            np.zeros((len(worker.capacity), jobs.size), np.int16),
            np.zeros((len(ps.capacity), jobs.size), np.int16),
        )
        needed = self.needed[jobs]
        if known is None:
            pack(want, needed, sides, bool(self.turn % 2), packing)
        else:
            stays = np.flatnonzero(may[known.jobs])
            where = np.searchsorted(jobs, known.jobs[stays])
            packing.worker[:, where] = known.hosted[0][:, stays]
            packing.ps[:, where] = known.hosted[1][:, stays]
        refill(Jobs(value, part, want, needed), sides, packing, MOVES, self.rng)
        learn(value, want, ratio, sides, part)
        self.part[:, jobs, t] = part
        return Slot(t, jobs, packing.number, (packing.worker, packing.ps))

    def _sides(self, jobs: Ints) -> tuple[Side, Side]:
        """Return both sides for some jobs."""
        worker, ps = (side._replace(demand=side.demand[jobs]) for side in self.sides)
        return worker, ps

    def price_some(
        self, slots: Ints, price: Floats, last: Ints, known: Mapping[int, Slot]
    ) -> list[Slot]:
        """Pack some slots at prices of work (J, T), beginning with what is known, slot -> packing.

        ``last`` (J,) are the slots up to which jobs may run.
        """
        self.turn += 1
        found = (self.price_slot(t, price[:, t], last, known.get(t)) for t in slots.tolist())
        return [slot for slot in found if slot is not None]

    def of(self, schedule: OasisSchedule) -> list[Slot]:
        """Return what the machines host in a schedule."""
        jobs, slots = self.blocks.jobs, self.blocks.slots
        hosted = [np.zeros((slots, len(s.capacity), jobs), np.int16) for s in self.sides]
        for i, job in enumerate(schedule.jobs):
            for side, entries in zip(SIDES, (job.workers, job.ps) if job else (), strict=False):
                for t, h, n in entries:
                    hosted[side][t, h, i] += n
        number = hosted[0].sum(axis=1, dtype=np.int64)
        out = []
        for t in range(slots):
            run = np.flatnonzero(number[t])
            both = hosted[0][t][:, run], hosted[1][t][:, run]
            out.append(Slot(t, run, number[t, run], both))
        return [slot for slot in out if slot.jobs.size]
