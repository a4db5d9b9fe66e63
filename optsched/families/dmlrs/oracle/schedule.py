"""Pricing subproblem of one job whose workers and parameter servers share machines, solved exactly.

A label-setting dynamic program over slots (Desrochers and Soumis, 1988), which a convex hull
relaxation bounds (Sinha and Zoltners, 1979).

Slots are opened one by one from the job's arrival; each offers its cheapest placements for every
amount of work (`slot_placements`). Their lower convex hulls, merged, bound the cost of a
completion by then from both sides; once the utility of a later completion does not exceed a payoff
that is already certain, no later slot can be better. Only if a payoff above the cutoff is
possible, labels (`work_over_slots`) find the exact optimum, and only near the hull.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.families.dmlrs.oracle.request import (
    CompletionWindow,
    Labels,
    Request,
    Scratch,
    SlotOffers,
)
from optsched.families.dmlrs.oracle.slot_offers import open_slots
from optsched.families.dmlrs.oracle.work_over_slots import TOO_MANY_LABELS, search
from optsched.numbers.arrays import Ints
from optsched.scheduling.oracle.schedule import PricedMachines

LABELS = 1024  # for which there is space at the beginning
NO_ENTRIES = np.empty((0, 4), np.int64)


@dataclass(frozen=True)
class Best:
    """The best schedule found; ``amount[t]`` is 2 workers + (0 inner | 1 outer), 0: none."""

    payoff: float
    completion: int
    amount: Ints  # (T,)


class Oracle:
    """Finds best schedules; holds the kernels' working arrays.

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
        self.whole = CompletionWindow(0, horizon - 1)
        self.amount = np.zeros(horizon, np.int64)
        self.entries = np.empty((2 * horizon * most, 4), np.int64)  # never more PS than workers
        self.offers = SlotOffers.empty(horizon, self.options(most))
        self.scratch = Scratch.empty(machines, most)
        self.labels = Labels.empty(horizon, LABELS)

    def options(self, most: int) -> int:
        """Return how many ways there are to work in a slot, at most."""
        return 2 * most

    def best(self, job: Request, machines: PricedMachines, cutoff: float = 0.0) -> Best | None:
        """Return the schedule of the greatest payoff above ``cutoff``, None if there is none.

        Ties: payoffs within 1e-9 relative are equal, and the earliest completion wins; then the
        least work in the last slot, then in the slot before it, and so on; inner before outer.
        """
        if not job.most:
            return None
        found, certain = self.open(job, machines, cutoff)
        return self.among(job, found, certain, cutoff) if found else None

    def open(self, job: Request, machines: PricedMachines, cutoff: float) -> tuple[int, float]:
        """Fill the offers; return the number of candidate completion slots, and a lower bound."""
        memory = NO_ENTRIES, self.offers, self.scratch
        found: tuple[int, float] = open_slots(
            job, machines, self.whole, cutoff, self.amount, *memory
        )
        return found

    def among(self, job: Request, found: int, certain: float, cutoff: float) -> Best | None:
        """Return the best schedule of the present offers, None if none is above ``cutoff``."""
        return self._search(job, self.whole, found, certain, cutoff)

    def within(
        self, job: Request, machines: PricedMachines, window: CompletionWindow
    ) -> Best | None:
        """Return the best schedule in ``window``, whatever it pays; None if there is none."""
        fewest = int(window.limits[0].max(initial=0))
        if fewest:  # forced numbers may be more than are useful
            job = job.forced(fewest)
        if not job.most or window.last < job.arrival:
            return None
        memory = NO_ENTRIES, self.offers, self.scratch
        open_slots(job, machines, window, 0.0, self.amount, *memory)
        return self._search(job, window)

    def places(self, job: Request, machines: PricedMachines, best: Best) -> Ints:
        """Return where a best schedule runs: rows [side (0 workers, 1 PS), slot, machine, number].

        A class of machines appears once for every machine of it that is used.
        """
        memory = self.entries, self.offers, self.scratch
        placed, _ = open_slots(job, machines, self.whole, 0.0, best.amount, *memory)
        return self.entries[:placed].copy()

    def slot(self, job: Request, machines: PricedMachines, slot: int, kind: int) -> Ints:
        """Return rows [machine, workers, PS] of the cheapest placement of a kind (see `Best`).

        There are none if no such placement fits.
        """
        amount = np.zeros(self.amount.size, np.int64)
        amount[slot] = kind
        alone = job._replace(arrival=slot)  # the slot may be one before the job came
        rows: dict[int, list[int]] = {}
        for side, _, h, number in self.places(alone, machines, Best(0.0, slot, amount)).tolist():
            rows.setdefault(h, [h, 0, 0])[1 + side] += number
        return np.array(list(rows.values()), np.int64).reshape(-1, 3)

    def _search(
        self,
        job: Request,
        window: CompletionWindow,
        found: int = 0,
        certain: float = 0.0,
        cutoff: float = 0.0,
    ) -> Best | None:
        """Search among the present offers, as `work_over_slots.search`."""
        amount = np.zeros(self.amount.size, np.int64)
        while True:
            labels = self.labels
            if found:
                entries = found, int(self.offers.ends[found - 1]) + 2
                labels = labels._replace(surplus=np.empty(entries))
            payoff, completion = search(
                job, window, found, certain, cutoff, self.offers, labels, amount
            )
            if completion != TOO_MANY_LABELS:
                return None if completion < 0 else Best(payoff, completion, amount)
            self.labels = Labels.empty(self.amount.size, 4 * labels.paid.size)
