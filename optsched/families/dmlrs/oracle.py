"""The best schedule of one job at prices, where workers and parameter servers share machines.

Slots are opened one by one from the job's arrival; each offers its cheapest placements for every
amount of work (`theta`). Their lower convex hulls, merged, bound what a completion by then costs at
least and at most; once the utility of a later completion is no more than what is already certain,
nothing later can be better. Only if a payoff above the cutoff is possible, labels (`labels`) find
the exact optimum, and only near the hull.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from optsched.families.dmlrs.instance import DmlrsInstance, linked_table
from optsched.families.dmlrs.oracle_kernels import best_schedule, place_schedule, slot_places
from optsched.resources import close
from optsched.scheduling.oracle import Machines
from optsched.scheduling.slots import Floats, Ints


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


Scratch = tuple[Floats, Ints, Floats, Ints, Floats, Floats, Ints, Ints]


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
        compile_kernels()
        self.most = most
        self.amount = np.zeros(horizon, np.int64)
        self.scratch = new_scratch(machines, most)

    def best(self, job: Request, machines: Machines, cutoff: float = 0.0) -> Best | None:
        """Return the schedule of the greatest payoff above ``cutoff``, None if there is none.

        Ties: payoffs within 1e-9 relative are equal, and the earliest completion wins; then the
        least work in the last slot, then in the slot before it, and so on; inner before outer.
        """
        payoff, completion = best_schedule(
            job.arrival,
            job.work,
            (job.inner, job.outer),
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
            self.amount,
            *self.scratch,
        )
        if completion < 0:
            return None
        return Best(payoff, completion, self.amount.copy())

    def places(self, job: Request, machines: Machines, best: Best) -> Ints:
        """Return where a best schedule runs: rows [side (0 workers, 1 PS), slot, machine, number].

        A class of machines appears once for every machine of it that is used.
        """
        entries: Ints = place_schedule(
            best.amount,
            job.arrival,
            best.completion,
            job.worker_demand,
            job.ps_demand,
            job.ps_inner,
            job.ps_outer,
            machines.price,
            machines.free,
            machines.count,
            machines.stranded,
            *self.scratch[:6],
        )
        return entries

    def slot(self, job: Request, machines: Machines, slot: int, kind: int) -> Ints:
        """Return rows [machine, workers, PS] of the cheapest placement of a kind (see `Best`).

        There are none if no such placement fits.
        """
        rows: Ints = slot_places(
            kind,
            machines.price[slot],
            machines.free[slot],
            machines.count,
            job.worker_demand,
            job.ps_demand,
            job.ps_inner,
            job.ps_outer,
            machines.stranded,
            *self.scratch[:6],
        )
        return rows


def new_scratch(machines: int, most: int) -> Scratch:
    """Return the scratch arrays of the kernels."""
    return (
        np.empty((7, machines)),
        np.empty(machines, np.int64),
        np.empty((5, most + 1)),
        np.empty((2, most + 1), np.int64),
        np.empty((most + 1, most + 1)),
        np.empty((most + 1, most + 1)),
        np.empty((1, 2, most + 1, most + 1), np.int64),
        np.empty(1, np.int64),
    )


@cache
def compile_kernels() -> None:
    """Compile what an oracle runs, so that no decision is timed with it."""
    demand, table, utility = np.ones(1), np.arange(3), np.full(1, 9.0)
    close(utility)
    price = np.ones((1, 1, 2))
    free = np.full((1, 1, 2), 4.0)
    count = np.ones(2, np.int64)
    amount = np.zeros(1, np.int64)
    job = (demand, demand, table, table)
    first: list[Any] = [0, 2, (1, 1), *job, utility, price, free, count, 0.0, 0.0, amount]
    best_schedule(*first, *list[Any](new_scratch(2, 2)))
    for kind in (4, 5):
        amount[0] = kind
        rest: list[Any] = [amount, 0, 0, *job, price, free, count, 0.0]
        place_schedule(*rest, *list[Any](new_scratch(2, 2)[:6]))
