"""Columns of the configuration LP: packings of whole slots, priced heuristically.

A column is a packing of all machines of a slot (Gilmore and Gomory, 1961). The kernels of `packing`
find new ones at the prices of work; the columns of a known schedule are read off it.

The pricing subproblems of the dual bound are in `relaxations.unit_price`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from optsched.families.oasis.instance import OasisSchedule
from optsched.families.oasis.optimum.configuration_lp.packing import (
    Hosted,
    PackingSide,
    PricingProblem,
    SlotWork,
    price_slots,
)
from optsched.families.oasis.optimum.relaxations.capacity import SIDES
from optsched.families.oasis.optimum.relaxations.cutting_planes import Prices
from optsched.families.oasis.optimum.relaxations.unit_price import UnitPriceDecomposition
from optsched.numbers.arrays import Floats, Ints, Small
from optsched.process import work_units

MOVES = 40  # of improving a packing


@dataclass(frozen=True, eq=False)
class PackedSlot:
    """Workers and PS on all machines in one slot: a column of the configuration LP."""

    slot: int
    jobs: Ints  # (n,) that may run
    number: Ints  # (n,) workers that do
    hosted: tuple[Small, Small]  # (H, n) workers and (K, n) PS, by machine; more may fit


class SlotPricing:
    """Packs slots at prices of work.

    Parameters
    ----------
    blocks : UnitPriceDecomposition
    prices : pair of shape (J, T)
        Of a worker, and of one of its PS, to begin with.
    rng : Generator
    """

    def __init__(self, blocks: UnitPriceDecomposition, prices: Prices, rng: Generator) -> None:
        self.blocks, self.rng, inst = blocks, rng, blocks.inst
        arrays, self.most = blocks.arrays, blocks.most
        self.needed = np.zeros((blocks.jobs, max(n.size for n in blocks.needed)), np.int64)
        for row, n in zip(self.needed, blocks.needed, strict=True):
            row[: n.size] = n
        some = np.maximum(self.most, 1)
        ratio = self.needed[np.arange(blocks.jobs), self.most] / some
        self.arrival = np.array([job.arrival for job in inst.jobs], np.int64)
        kind = [np.empty(len(c), np.int64) for c in (arrays.worker_capacity, arrays.ps_capacity)]
        for of, classes in zip(kind, blocks.classes, strict=True):
            for c, members in enumerate(classes):
                of[members] = c
        self.sides = (
            PackingSide(blocks.demand[0], blocks.capacity[0], kind[0]),
            PackingSide(blocks.demand[1], blocks.capacity[1], kind[1]),
        )
        self.shapes = [(of.size, blocks.jobs) for of in kind]
        self.work = SlotWork(self.most, self.needed)
        worker, ps = prices[0], prices[1] * ratio[:, None]
        sizes = [
            (side.demand / np.maximum(side.kinds.max(axis=0), 1.0)).max(axis=1, initial=0.0)
            for side in self.sides
        ]
        self.price: Floats = worker + ps  # of a worker with its PS, (J, T)
        highest = max(float(self.price.max(initial=0.0)), 1e-9)
        # the same: what resources count for where the prices of both sides are 0
        level = [1e-3 * highest * size[:, None] for size in sizes]
        level[1] *= ratio[:, None]
        whole_price = self.price + level[0] + level[1] + 1e-12
        self.part = np.array([(worker + level[0]) / whole_price, (ps + level[1]) / whole_price])
        # of the highest price: value of capacity to jobs that pay nothing
        self.spare: Floats = 1e-4 * highest * sizes[0]  # (J,)

    def price_some(
        self, slots: Ints, price: Floats, last: Ints, known: Mapping[int, PackedSlot]
    ) -> list[PackedSlot]:
        """Pack some slots at prices of work (J, T), from known packings, slot -> packing.

        ``last`` (J,) are the slots up to which jobs may run.
        """
        value = np.ascontiguousarray((price[:, slots] + self.spare[:, None]).T)
        there = (self.arrival[None, :] <= slots[:, None]) & (slots[:, None] <= last[None, :])
        pricing = PricingProblem(
            slots,
            there & (self.most > 0)[None, :] & (value > 0),
            value,
            self.part,
            np.array([t in known for t in slots.tolist()], bool),
        )
        # elementary steps of packing a job into a slot
        work_units.steps(25_000 * float(pricing.may.sum()))
        counts = [np.zeros((slots.size, *shape), np.int16) for shape in self.shapes]
        hosted = Hosted(counts[0], counts[1], np.zeros(value.shape, np.int64))
        for s, t in enumerate(slots.tolist()):
            if t in known:
                allowed = pricing.may[s, known[t].jobs]
                jobs = known[t].jobs[allowed]
                hosted.worker[s][:, jobs] = known[t].hosted[0][:, allowed]
                hosted.ps[s][:, jobs] = known[t].hosted[1][:, allowed]
        price_slots(pricing, self.work, self.sides, MOVES, self.rng, hosted)
        out = []
        for s, t in enumerate(slots.tolist()):
            jobs = np.flatnonzero(pricing.may[s])
            if jobs.size:
                both = hosted.worker[s][:, jobs], hosted.ps[s][:, jobs]
                out.append(PackedSlot(t, jobs, hosted.number[s, jobs], both))
        return out

    def of(self, schedule: OasisSchedule) -> list[PackedSlot]:
        """Return the packings of a schedule."""
        slots = self.blocks.slots
        hosted = [np.zeros((slots, *shape), np.int16) for shape in self.shapes]
        for i, job in enumerate(schedule.jobs):
            for side, entries in zip(SIDES, (job.workers, job.ps) if job else (), strict=False):
                for t, h, n in entries:
                    hosted[side][t, h, i] += n
        number = hosted[0].sum(axis=1, dtype=np.int64)
        out = []
        for t in range(slots):
            run = np.flatnonzero(number[t])
            both = hosted[0][t][:, run], hosted[1][t][:, run]
            out.append(PackedSlot(t, run, number[t, run], both))
        return [slot for slot in out if slot.jobs.size]
