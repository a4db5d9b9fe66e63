"""The best schedule of one job at prices, where workers and parameter servers share machines.

Slots are opened one by one from the job's arrival; each offers its cheapest placements for every
amount of work (`theta`). Their lower convex hulls, merged, bound what a completion by then costs at
least and at most; once the utility of a later completion is no more than what is already certain,
nothing later can be better. Only if a payoff above the cutoff is possible, labels (`labels`) find
the exact optimum, and only near the hull.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from optsched.families.dmlrs.instance import DmlrsInstance, linked_table
from optsched.families.dmlrs.oracle.kernels import open_slots
from optsched.families.dmlrs.oracle.work_over_slots import NO_ROOM, search
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import close
from optsched.scheduling.oracle.schedule import Machines


@dataclass(frozen=True)
class Request:
    """One job as the oracle sees it; work in the units of ``Needs``."""

    arrival: int
    work: int
    inner: int  # work of one worker in a slot at the inner rate
    outer: int
    worker_demand: Floats  # (R,)
    ps_demand: Floats  # (R,)
    ps_inner: Ints  # (K + 1,) PS that 0, 1, ... workers need at the inner rate; below 0: impossible
    ps_outer: Ints  # (K + 1,)
    utility: Floats  # (T,) if it completes in slot t; read-only, as that of an instance
    linked: Ints | None = None  # (K + 1, K + 1), link by link: PS of workers beside them, elsewhere

    def __post_init__(self) -> None:
        close(self.utility)

    @cached_property
    def most(self) -> tuple[int, int]:
        """Return the most workers at either rate that can matter in a slot."""
        return (
            useful_workers(self.work, self.inner, self.ps_inner),
            useful_workers(self.work, self.outer, self.ps_outer),
        )


def useful_workers(work: int, rate: int, table: Ints, fewest: int = 0) -> int:
    """Return the most workers that matter in a slot: those who do the whole work, or ``fewest``.

    No more than ``table`` has numbers of PS for.
    """
    most = min(table.size - 1, max(fewest, -(-work // rate)))
    while most > 0 and table[most] < 0:
        most -= 1
    return int(most)


@dataclass(frozen=True)
class Best:
    """The best schedule found; ``amount[t]`` is 2 workers + (0 inner | 1 outer), 0: none."""

    payoff: float
    completion: int
    amount: Ints  # (T,)


def requests(inst: DmlrsInstance) -> list[Request]:
    """Return every job in the oracle's terms."""
    arrays = inst.arrays
    return [
        Request(
            arrival=job.arrival,
            work=needs.work,
            inner=needs.inner,
            outer=needs.outer,
            worker_demand=arrays.worker_demand[i].astype(float),
            ps_demand=arrays.ps_demand[i].astype(float),
            ps_inner=np.array(needs.ps_inner, np.int64),
            ps_outer=np.array(needs.ps_outer, np.int64),
            utility=arrays.utility[i],
            linked=np.array(linked_table(job), np.int64) if inst.locality == "link" else None,
        )
        for i, (job, needs) in enumerate(zip(inst.jobs, inst.needs, strict=True))
    ]


Scratch = tuple[Floats, Ints, Floats, Ints, Floats, Floats]
ANYTHING = np.zeros((3, 0), np.int64)  # limits that there are none
NO_PRICES = np.zeros((0, 0))
LABELS = 1024  # for which there is room at the beginning


class Offers(NamedTuple):
    """What slots offer, and in which of them a completion may be best: see `labels.search`."""

    options: Ints
    cost: Floats
    size: Ints
    slopes: Floats
    lengths: Ints
    ends: Ints
    promise: Floats

    @classmethod
    def empty(cls, slots: int, options: int) -> Offers:
        """Return arrays to be filled."""
        return cls(
            np.empty((2, slots, options), np.int64),
            np.empty((slots, options)),
            np.empty(slots, np.int64),
            np.empty((2, slots * options)),
            np.empty((2, slots * options), np.int64),
            np.empty(slots, np.int64),
            np.empty((2, slots)),
        )


class Oracle:
    """Finds best schedules; holds the scratch memory of the kernels.

    Parameters
    ----------
    horizon : int
    machines : int
        The most entries of a list of machines.
    most : int
        The most workers of a job in one slot.
    """

    def __init__(self, horizon: int, machines: int, most: int) -> None:
        self.most = most
        self.amount = np.zeros(horizon, np.int64)
        self.scratch = new_scratch(machines, most)
        self.offers = Offers.empty(horizon, self.options(most))
        self.entries = np.empty((2 * horizon * most, 4), np.int64)  # never more PS than workers
        self.memory: list[Any] = [*self.scratch, *self.offers, self.entries]
        self.start = np.empty(horizon + 2, np.int64)
        self.label, self.paid = np.empty((LABELS, 3), np.int64), np.empty(LABELS)

    def options(self, most: int) -> int:
        """Return how many ways there are to work in a slot, at most."""
        return 2 * most

    def best(self, job: Request, machines: Machines, cutoff: float = 0.0) -> Best | None:
        """Return the schedule of the greatest payoff above ``cutoff``, None if there is none.

        Ties: payoffs within 1e-9 relative are equal, and the earliest completion wins; then the
        least work in the last slot, then in the slot before it, and so on; inner before outer.
        """
        if not any(job.most):
            return None
        found, certain = self.open(job, machines, cutoff)
        return self.among(job, found, certain, cutoff) if found else None

    def open(self, job: Request, machines: Machines, cutoff: float) -> tuple[int, float]:
        """Fill the offers; return in how many slots a completion may be best, and what is sure."""
        last = self.amount.size - 1
        return self._open_slots(
            job, machines, job.arrival, last, job.most, self.amount, cutoff=cutoff
        )

    def among(self, job: Request, found: int, certain: float, cutoff: float) -> Best | None:
        """Return the best schedule of the present offers, None if none is above ``cutoff``."""
        payoff, completion = self._search(job, self.amount, found, certain, cutoff)
        return None if completion < 0 else Best(payoff, completion, self.amount.copy())

    def within(
        self,
        job: Request,
        machines: Machines,
        window: tuple[int, int],
        limits: Ints,
        together: Floats = NO_PRICES,
        most_together: int = -1,
    ) -> Best | None:
        """Return the best schedule that completes in ``window`` and keeps ``limits``.

        ``limits`` of shape (3, T) are lower, upper and mode of a `nodes.Node`. With ``together``,
        shape (T, N + 1), n workers at the inner rate have a price of their own, and there are at
        most ``most_together`` in a slot.
        """
        first, last = window
        most, fewest = job.most, int(limits[0].max(initial=0))
        if fewest:  # forced numbers may be more than are useful
            most = (
                useful_workers(job.work, job.inner, job.ps_inner, fewest),
                useful_workers(job.work, job.outer, job.ps_outer, fewest),
            )
        if not any(most) or last < job.arrival:
            return None
        amount = np.zeros(self.amount.size, np.int64)
        self._open_slots(
            job, machines, job.arrival, last, most, amount,
            limits=limits, together=together, most_together=most_together,
        )  # fmt: skip
        first, last = max(0, first - job.arrival), last - job.arrival
        payoff, completion = self._search(job, amount, 0, 0.0, 0.0, (first, last), limits)
        return None if completion < 0 else Best(payoff, completion, amount)

    def places(self, job: Request, machines: Machines, best: Best) -> Ints:
        """Return where a best schedule runs: rows [side (0 workers, 1 PS), slot, machine, number].

        A class of machines appears once for every machine of it that is used.
        """
        placed, _ = self._open_slots(
            job, machines, job.arrival, best.completion, job.most, best.amount, placing=True
        )
        return self.entries[:placed].copy()

    def slot(self, job: Request, machines: Machines, slot: int, kind: int) -> Ints:
        """Return rows [machine, workers, PS] of the cheapest placement of a kind (see `Best`).

        There are none if no such placement fits.
        """
        amount = np.zeros(self.amount.size, np.int64)
        amount[slot] = kind
        placed, _ = self._open_slots(job, machines, slot, slot, job.most, amount, placing=True)
        rows: dict[int, list[int]] = {}
        for side, _, h, number in self.entries[:placed].tolist():
            rows.setdefault(h, [h, 0, 0])[1 + side] += number
        return np.array(list(rows.values()), np.int64).reshape(-1, 3)

    def _open_slots(
        self,
        job: Request,
        machines: Machines,
        first: int,
        last: int,
        most: tuple[int, int],
        amount: Ints,
        *,
        cutoff: float = 0.0,
        limits: Ints = ANYTHING,
        together: Floats = NO_PRICES,
        most_together: int = -1,
        placing: bool = False,
    ) -> tuple[int, float]:
        found: tuple[int, float] = open_slots(
            first,
            last,
            job.work,
            job.inner,
            job.outer,
            *most,
            job.worker_demand,
            job.ps_demand,
            job.ps_inner,
            job.ps_outer,
            job.utility,
            machines.price,
            machines.free,
            machines.count,
            machines.stranded,
            cutoff,
            limits,
            together,
            most_together,
            placing,
            amount,
            *self.memory,
        )
        return found

    def _search(
        self,
        job: Request,
        amount: Ints,
        found: int,
        certain: float,
        cutoff: float,
        window: tuple[int, int] = (0, 0),
        limits: Ints = ANYTHING,
    ) -> tuple[float, int]:
        """Search among the present offers; return payoff and completion, as `labels.search`."""
        offers = self.offers
        surplus = np.empty((found, int(offers.ends[found - 1]) + 2)) if found else NO_PRICES
        while True:
            payoff, completion = search(
                job.arrival,
                *window,
                job.work,
                job.utility,
                offers.options,
                offers.cost,
                offers.size,
                limits,
                found,
                offers.ends,
                offers.promise,
                surplus,
                certain,
                cutoff,
                self.start,
                self.label,
                self.paid,
                amount,
            )
            if completion != NO_ROOM:
                return payoff, completion + job.arrival if completion >= 0 else -1
            room = 4 * self.paid.size
            self.label, self.paid = np.empty((room, 3), np.int64), np.empty(room)


def new_scratch(machines: int, most: int) -> Scratch:
    """Return the scratch arrays of `theta.open_slot`."""
    return (
        np.empty((7, machines)),
        np.empty(machines, np.int64),
        np.empty((4, most + 1)),
        np.empty((2, most + 1), np.int64),
        np.empty((most + 1, most + 1)),
        np.empty((most + 1, most + 1)),
    )
