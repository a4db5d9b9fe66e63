"""Dantzig-Wolfe decomposition of `completion` with prices on capacity, on a time grid.

The decomposition of a time-indexed program by job (Dantzig and Wolfe, 1960); van den Akker et al.
(2000) decompose such programs by machine. Rows are the capacities of every class of equal servers
and resource, summed over spans of consecutive slots, a surrogate relaxation (Glover, 1968); blocks
are the jobs, each of which must be scheduled. The prices of a span's slots are multiples of one
profile, the value of the slots as far as it is known: these are valid prices, so a coarse grid
gives a bound too, only sooner, and never a worse one than prices that have the profile already.
The engine maximizes: a column's value is the negative of its weighted completion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from optsched.engine.colgen import Column, Pricing
from optsched.families.completion.instance import CompletionInstance, Piece
from optsched.families.completion.modes import Cluster, Modes, Types
from optsched.families.completion.oracle.schedule import (
    CheapestSchedule,
    best_schedule,
    load_of,
    placement,
)
from optsched.families.completion.oracle.servers import PricedServers
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.process import work_units


class JobTables:
    """Tables of an instance that all methods use: types, modes, classes of servers, a horizon.

    Parameters
    ----------
    inst : CompletionInstance
    """

    def __init__(self, inst: CompletionInstance) -> None:
        self.inst = inst
        self.cluster = Cluster(inst)
        self.tasks = [self.cluster.task(job) for job in inst.jobs]
        self.modes = [t.modes for t in self.tasks]
        self.types: Types = self.cluster.types
        a = inst.arrays
        self.classes = a.classes
        self.class_of = np.zeros(len(a.capacity), np.int64)  # (H,)
        for c, members in enumerate(a.classes):
            self.class_of[members] = c
        self.count = np.array([len(members) for members in a.classes], np.int64)
        self.capacity = a.capacity  # (H, R)
        self.class_capacity = np.ascontiguousarray(
            a.capacity[[members[0] for members in a.classes]]
        )
        self.arrival = np.array([job.arrival for job in inst.jobs], np.int64)
        self.weight = np.array([job.weight for job in inst.jobs])

    def impossible(self) -> int | None:
        """Return a job that cannot be scheduled even alone, if there is one."""
        for j, modes in enumerate(self.modes):
            shortest, deadline = modes.shortest, self.inst.deadline
            if shortest is None:
                return j
            if deadline is not None and self.arrival[j] + shortest > deadline:
                return j
        return None

    def load(self, piece: Piece) -> Ints:
        """Return the load of a schedule on single servers, shape (H, R)."""
        load = np.zeros_like(self.capacity)
        for h, n in piece.workers:
            load[h] += n * self.types.worker_demand[piece.worker_type]
        for h, s in piece.ps:
            assert piece.ps_type is not None
            load[h] += s * self.types.ps_demand[piece.ps_type]
        return load


class StoppedError(Exception):
    """There is no time to call the oracle for all jobs."""


class CapacityRelaxation:
    """The decomposition on a time grid.

    Parameters
    ----------
    jobs : Jobs
    slots : int
        From this slot on nothing has a price.
    span : int
        Slots that share a row.
    rent : array of shape (L,), optional
        Relative value of the slots: their prices differ so within a span, where they
        are equal else.
    deadline : int, optional
        By which all jobs end (default: the instance's, if it has one).
    """

    def __init__(
        self,
        jobs: JobTables,
        slots: int,
        span: int = 1,
        rent: Floats | None = None,
        deadline: int | None = None,
    ) -> None:
        self.jobs, self.span = jobs, span
        self.stop: Callable[[], bool] = lambda: False  # called from job to job
        spans = -(-slots // span)
        self.deadline = jobs.inst.deadline if deadline is None else deadline
        self.slots = spans * span
        if self.deadline is not None:
            self.slots = min(self.slots, self.deadline)
        whole = (jobs.class_capacity * jobs.count[:, None]).astype(float)  # (C, R)
        self.shape = (spans, *whole.shape)
        lengths = np.minimum(span, self.slots - span * np.arange(spans))
        self.rhs = (lengths[:, None, None] * whole).ravel()
        part = np.zeros(self.slots)
        if rent is not None:
            part[: rent.size] = rent[: part.size]
        # of the value of the most expensive slot: added to the value of every slot
        part += 1e-6 * (float(part.max(initial=0.0)) or 1.0)
        sums = np.add.reduceat(part, span * np.arange(spans))
        self.part: Floats = part / np.repeat(sums / lengths, lengths)  # (slots,), 1 on average
        self.up_to = np.concatenate([[0.0], np.cumsum(self.part)])
        n = len(jobs.modes)
        self.copies = np.ones(n)
        self.equality: Flags = np.ones(n, bool)
        shortest = [modes.shortest or 0 for modes in jobs.modes]
        dearest = jobs.weight * (jobs.arrival + self.slots + np.array(shortest))
        self.penalty = 10.0 * float(dearest.max(initial=1.0))
        if self.deadline is not None:
            # so expensive that a share of 1 % that does not fit proves that nothing does
            self.penalty = max(self.penalty, 100.0 * self.deadline * float(jobs.weight.sum()))

    def per_slot(self, prices: Floats) -> Floats:
        """Return prices by slot, shape (L, C, R)."""
        spread: Floats = np.repeat(prices.reshape(self.shape), self.span, axis=0)[: self.slots]
        return np.ascontiguousarray(spread * self.part[:, None, None])

    def coarsen(self, prices: Floats) -> Floats:
        """Return prices of slots (L', C, R) as prices of spans: their means."""
        wide = np.zeros((self.shape[0] * self.span, *self.shape[1:]))
        n = min(len(prices), len(wide))
        wide[:n] = prices[:n]
        means: Floats = wide.reshape(self.shape[0], self.span, -1).mean(axis=1)
        return means.ravel()

    def servers(self, prices: Floats) -> PricedServers:
        """Return the classes of empty servers at the prices of all rows."""
        jobs = self.jobs
        # of summing up prices, for every slot, class and resource
        steps = 50 * self.slots * jobs.class_capacity.size
        if not work_units.fits(work_units.STEP * steps):
            raise StoppedError
        work_units.steps(steps)
        return PricedServers.of(jobs.types, self.per_slot(prices), jobs.class_capacity, jobs.count)

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Call the oracle for every job; see `colgen.Decomposition`."""
        servers = self.servers(prices)
        best = np.empty(len(self.copies))
        columns = []
        for j in range(best.size):
            if self.stop():
                raise StoppedError
            found = self.cheapest(j, servers, -float(duals[j]))
            if found is None:
                best[j] = duals[j]
                continue
            best[j] = -found.value
            workers, ps = placement(self.jobs.types, servers, found)
            load = load_of(self.jobs.types, found, workers, ps)
            columns.append(self.column(j, found.start, found.completion, load, found))
        return Pricing(best, columns)

    def modes(self, j: int) -> tuple[Modes, tuple[Ints, Ints] | None]:
        """Return the modes of job j that are allowed, and their first and last starts."""
        return self.jobs.modes[j], None

    def cheapest(self, j: int, servers: PricedServers, cutoff: float) -> CheapestSchedule | None:
        """Return the cheapest schedule of job j, None if none is below ``cutoff``."""
        modes, starts = self.modes(j)
        # of the oracle and what is made of its answer
        # of the oracle, for every mode and class of servers
        work_units.steps(15_000 + 20 * modes.size * len(self.jobs.count))
        return best_schedule(
            self.jobs.types,
            modes,
            servers,
            arrival=int(self.jobs.arrival[j]),
            weight=float(self.jobs.weight[j]),
            deadline=self.deadline,
            cutoff=cutoff,
            starts=starts,
        )

    def column(
        self, j: int, start: int, end: int, load: Ints, choice: CheapestSchedule | Piece
    ) -> Column:
        """Return the column of a schedule with ``load`` (C, R) in every slot."""
        rows, usage = self.usage(start, end, load)
        return Column(j, -float(self.jobs.weight[j]) * end, rows, usage, choice)

    def usage(self, start: int, end: int, load: Ints) -> tuple[Ints, Floats]:
        """Return the rows that a load uses from ``start`` to ``end``, and how much of them."""
        end = min(end, self.slots)
        if start >= end:
            return np.empty(0, np.int64), np.empty(0)
        spans = np.arange(start // self.span, (end - 1) // self.span + 1)
        first, last = np.maximum(start, spans * self.span), np.minimum(end, (spans + 1) * self.span)
        overlap = self.up_to[last] - self.up_to[first]
        flat = load.ravel()
        used = np.flatnonzero(flat)
        rows = (spans[:, None] * flat.size + used[None, :]).ravel()
        return rows, (overlap[:, None] * flat[used][None, :]).ravel().astype(float)

    def columns_of(self, pieces: Sequence[tuple[int, Piece]]) -> list[Column]:
        """Return the columns of schedules on single servers."""
        out = []
        for j, piece in pieces:
            load = np.zeros((len(self.jobs.count), self.jobs.capacity.shape[1]), np.int64)
            np.add.at(load, self.jobs.class_of, self.jobs.load(piece))
            out.append(self.column(j, piece.start, piece.end, load, piece))
        return out
