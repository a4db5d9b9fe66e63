"""Input of the label-setting algorithm (Desrochers and Soumis, 1988): job, window, scratch arrays.

I: jobs; T: slots; R: resources; H: entries of a list of machines; K: the most workers of the job;
N: the most workers of any job; O: the most options of a slot.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from optsched.families.dmlrs.instance import DmlrsInstance, Needs, linked_needs
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import close
from optsched.process import interrupts

NOT_LINKED = np.zeros((0, 0), np.int64)
ANY_NUMBER = np.zeros((2, 0), np.int64)  # no limits on numbers
NO_PRICES = np.zeros((0, 0))


class Request(NamedTuple):
    """One job as the oracle sees it; work in the units of ``Needs``, demands in those of prices."""

    arrival: int
    work: int
    inner: int  # work of one worker in a slot at the inner rate
    outer: int
    most_inner: int  # workers at either rate that can matter in a slot
    most_outer: int
    worker_demand: Floats  # (R,)
    ps_demand: Floats  # (R,)
    ps_inner: Ints  # (K + 1,) PS that 0, 1, ... workers need at the inner rate; below 0: impossible
    ps_outer: Ints  # (K + 1,)
    utility: Floats  # (T,) if it completes in slot t; read-only, as that of an instance
    linked: Ints  # (K + 1, K + 1), link by link: PS of workers next to them, elsewhere; or (0, 0)

    @classmethod
    def of(
        cls,
        arrival: int,
        needs: Needs,
        demands: tuple[Floats, Floats],
        utility: Floats,
        linked: Ints = NOT_LINKED,
    ) -> Self:
        """Return the request of a job; ``demands`` of a worker and of a PS."""
        close(utility)
        inner, outer = (np.array(t, np.int64) for t in (needs.ps_inner, needs.ps_outer))
        most = (
            useful_workers(needs.work, needs.inner, inner),
            useful_workers(needs.work, needs.outer, outer),
        )
        return cls(arrival, *needs[:3], *most, *demands, inner, outer, utility, linked)

    def forced(self, fewest: int) -> Self:
        """Return the request where up to ``fewest`` workers are forced, useful or not."""
        return self._replace(
            most_inner=useful_workers(self.work, self.inner, self.ps_inner, fewest),
            most_outer=useful_workers(self.work, self.outer, self.ps_outer, fewest),
        )

    @property
    def most(self) -> int:
        """The most workers that can matter in a slot; 0: it can never run."""
        return max(self.most_inner, self.most_outer)


def useful_workers(work: int, rate: int, table: Ints, fewest: int = 0) -> int:
    """Return the most workers that matter in a slot: those that do the whole work, or ``fewest``.

    No more than ``table`` has numbers of PS for.
    """
    most = min(table.size - 1, max(fewest, -(-work // rate)))
    while most > 0 and table[most] < 0:
        most -= 1
    return int(most)


def requests(inst: DmlrsInstance) -> list[Request]:
    """Return every job in the oracle's terms."""
    a, link = inst.arrays, inst.locality == "link"
    alpha, beta = a.worker_demand.astype(float), a.ps_demand.astype(float)
    made = []
    for i, (job, needs) in enumerate(zip(inst.jobs, inst.needs, strict=True)):
        interrupts.leave_if_abandoned()
        table = linked_needs(job) if link else NOT_LINKED
        made.append(Request.of(job.arrival, needs, (alpha[i], beta[i]), a.utility[i], table))
    return made


class CompletionWindow(NamedTuple):
    """Limits on the completion of a schedule, and on its workers."""

    first: int  # slots in which it may complete
    last: int
    limits: Ints = ANY_NUMBER  # (2, T) lower and upper of a `SlotNode`, or (2, 0)
    together: Floats = NO_PRICES  # (T, N + 1), or (0, 0): see ``most_together``
    most_together: int = -1  # if it is not below 0: n workers at the inner rate, of which it is the
    # most, have the price ``together[t, n]``, and those of the machines are for outer placements


class SlotOffers(NamedTuple):
    """Options in the slots from the arrival on, and slots in which completion may be optimal."""

    work: Ints  # (T, O) of the options, ascending
    kind: Ints  # (T, O) of the options, as in `Best.amount`
    cost: Floats  # (T, O) of all their workers and PS
    size: Ints  # (T,) how many options there are
    slopes: Floats  # (2, T O) segments of the hull: of all slots together, of one
    lengths: Ints  # (2, T O) their work
    ends: Ints  # (T,) slots in which a completion may be best, ascending
    promise: Floats  # (2, T) the most payoff of a completion in the slot; its price of work

    @classmethod
    def empty(cls, slots: int, options: int) -> Self:
        """Return arrays to be filled."""
        return cls(
            np.empty((slots, options), np.int64),
            np.empty((slots, options), np.int64),
            np.empty((slots, options)),
            np.empty(slots, np.int64),
            np.empty((2, slots * options)),
            np.empty((2, slots * options), np.int64),
            np.empty(slots, np.int64),
            np.empty((2, slots)),
        )


class Scratch(NamedTuple):
    """Working arrays of `slot_placements.open_slot`."""

    machine_floats: Floats  # (5, H)
    machine_ints: Ints  # (H,)
    parts: Floats  # (4, N + 1) receives in rows 0 and 1 the cost of n workers, inner and outer
    numbers: Ints  # (2, N + 1) receives in row 0 the host of n inner workers
    one: Floats  # (N + 1, N + 1)
    more: Floats  # (N + 1, N + 1)
    abandoned: Ints  # (1,) see `interrupts.abandoned`
    steps: Floats  # (2,) elementary steps of outer placements so far, and at most

    @classmethod
    def empty(cls, machines: int, most: int) -> Self:
        """Return arrays for lists of this many machines, and jobs of this many workers."""
        return cls(
            np.empty((5, machines)),
            np.empty(machines, np.int64),
            np.empty((4, most + 1)),
            np.empty((2, most + 1), np.int64),
            np.empty((most + 1, most + 1)),
            np.empty((most + 1, most + 1)),
            interrupts.abandoned(),
            np.array([0.0, np.inf]),
        )


class Hosts(NamedTuple):
    """Hosts of the best outer placements, by visit v; empty if V is 0.

    With M the PS of the most workers, ``chosen[v, 0]`` and ``chosen[v, 1]`` state what the machine
    hosts in the best ways over one machine and over more: -1 nothing, else 2 (w (M + 1) + s) + (1:
    the rest sits on more than one machine).
    """

    machine: Ints  # (V,)
    chosen: Ints  # (V, 2, N + 1, M + 1)


NOTHING_KEPT = Hosts(np.empty(0, np.int64), np.empty((0, 2, 0, 0), np.int64))


class Labels(NamedTuple):
    """Working arrays of `work_over_slots.search`: its labels."""

    start: Ints  # (T + 2,) the first label before each slot
    label: Ints  # (L, 3) work, label before, option
    paid: Floats  # (L,)
    surplus: Floats  # at least (E, T + 1) for E slots in which the job may complete; or (0, 0)

    @classmethod
    def empty(cls, horizon: int, entries: int) -> Self:
        """Return arrays for this many labels."""
        return cls(
            np.empty(horizon + 2, np.int64),
            np.empty((entries, 3), np.int64),
            np.empty(entries),
            NO_PRICES,
        )
