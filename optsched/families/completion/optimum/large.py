"""List scheduling and a subgradient method for instances with thousands of jobs.

A first schedule comes from the parallel schedule generation scheme (Kolisch, 1996;
`search.orders`). Initial prices are read off it: if the servers worked it off without gaps, one
slot less would save all remaining jobs their weight, which gives a price per time, the same for
all servers, that is nearly as good as any. The subgradient method of `engine.ascent` (Held et al.,
1974) improves it, for resources and increasingly short blocks of time. All work grows with jobs
times ways to run.
"""

from __future__ import annotations

import numpy as np

from optsched.engine.ascent import Ascent, AscentLevel
from optsched.engine.progress import Progress
from optsched.engine.reserve import Reserve, busy
from optsched.families.completion.certificate.bound import MOST_CELLS
from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.modes import Cluster
from optsched.families.completion.optimum.horizon import LARGE, size
from optsched.families.completion.optimum.params import Params
from optsched.families.completion.optimum.relaxations.offers import (
    JobRuns,
    joined,
    offers_of_job,
    tables_of,
)
from optsched.families.completion.optimum.relaxations.piecewise_prices import PiecewisePrices
from optsched.families.completion.optimum.relaxations.priced_search import certify
from optsched.families.completion.optimum.search.orders import Dispatched, Orders
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.streams import Streams
from optsched.problem import Method

WHOLE = (
    200_000  # jobs times servers, above which memory does not suffice for a program of all at once
)
BLOCKS = 60  # of time, in which prices are constant; then twice as many, and again


def large(inst: CompletionInstance) -> bool:
    """Whether an instance is too large for boards, master problems and exact oracles."""
    return size(inst) > LARGE


def whole(method: Method) -> Method:
    """Return the method that writes one program of all, for any size.

    Where instances are large, a schedule is dispatched before; where they are too large for such a
    program, that is all.
    """

    def run(inst: CompletionInstance, progress: Progress, *, threads: int, seed: int) -> None:
        if large(inst):
            search = Dispatching(inst, progress, seed)
            if not search.prepare():
                return
            search.dispatch()
        if size(inst) <= WHOLE and not progress.stop():
            method(inst, progress, threads=threads, seed=seed)

    return run


def solve_large(
    inst: CompletionInstance,
    progress: Progress,
    *,
    threads: int,  # noqa: ARG001 - one is enough for the kernels
    seed: int,
) -> None:
    """Dispatch a schedule; find prices, and then better orders."""
    search = Dispatching(inst, progress, seed)
    if not search.prepare():
        return
    search.dispatch()
    search.find_prices(0.5)
    search.improve()


class Dispatching:
    """The best dispatched schedule so far, and prices that are read off it."""

    def __init__(self, inst: CompletionInstance, progress: Progress, seed: int) -> None:
        self.inst, self.progress, self.seed = inst, progress, seed
        self.params: Params = progress.params
        # share of the time that is kept for feasibility check and checker, at most; that may pass
        self.reserve, self.until = Reserve(progress, 0.5), 1.0
        # seconds of a processor
        self.reserve.work = (1e-3 + 4e-4) * len(inst.jobs)
        self.types = Cluster(inst).types
        self.best: Dispatched | None = None
        self.prices: Floats | None = None  # (L, C, R) of slots, the best so far
        self.reported = 0.0  # share of the time that had passed then

    def stop(self) -> bool:
        """Whether the time is up."""
        return self.progress.stop() or self.reserve.share() >= self.until

    def prepare(self) -> bool:
        """List in which ways jobs can run; False if there is no time, or some job cannot run."""
        tables, parts = tables_of(self.inst, self.types), []
        for job in self.inst.jobs:
            if self.progress.stop():
                return False
            parts.append(offers_of_job(tables, self.inst.durations(job)))
        self.offers: JobRuns = joined(parts)
        deadline = np.inf if self.inst.deadline is None else self.inst.deadline
        nothing = np.zeros((1, len(self.inst.arrays.classes), len(self.inst.resources)))
        for job, part in zip(self.inst.jobs, parts, strict=True):
            if not len(part) or job.arrival + part[:, 0].min() > deadline:
                self.progress.infeasible = True
                self.progress.tighten(np.inf, lambda: certify(self.inst, nothing))
                return False
        self.orders = Orders(self.inst, self.types, self.offers, self.params.orders)
        return True

    def dispatch(self) -> None:
        """Make a first schedule."""
        first = self.orders.first()
        if np.isfinite(first.value):
            self.best = first
            began = busy()
            self.report(first)
            self.reserve.work += busy() - began

    def find_prices(self, until: float) -> None:
        """Read prices off the schedule; find better ones, for ever shorter blocks of time.

        ``until`` is the share of the time that may have passed then.
        """
        if self.best is None:
            return
        self.until = until
        edges, prices, scarce = self._prices(self.best)
        if int(edges[-1]) * len(self.inst.arrays.classes) > MOST_CELLS:
            return  # more prices than the checker reads
        # of the value of the scarcest resource: initial value of the other ones
        start = np.full(prices.shape, 0.005)
        start[:, scarce] = 1.0
        blocks = PiecewisePrices(self.inst, self.types, self.offers, edges, prices)
        placed = self.best.placed
        blocks.answers.way[:], blocks.answers.start[:] = placed.way, placed.start
        found = self._ascend(blocks, start.ravel(), (BLOCKS, BLOCKS // 8, 1))
        while not self.stop() and blocks.length.max() > 1:
            blocks = blocks.halved(found)
            found = self._ascend(blocks, np.ones(blocks.rhs.size), (1,))

    def _ascend(self, blocks: PiecewisePrices, start: Floats, levels: tuple[int, ...]) -> Floats:
        """Improve prices, first with this many blocks of time alike; return the best."""

        def prove(bound: float, prices: Floats) -> None:
            self.prices = blocks.per_slot(prices)
            self.progress.tighten(-bound, lambda: certify(self.inst, blocks.per_slot(prices)))

        rng = Streams(self.seed)("ascent")
        ascent = Ascent(blocks, rng, self.stop, prove, self.params.ascent)
        ascent.look(start)
        for n in levels:
            if self.stop():
                break
            last, gain = (0.02, 2e-3) if n > 1 else (0.001, 3e-4)
            ascent.descend(AscentLevel(blocks.groups(n), 2 * max(last, 0.01), last, gain))
        return ascent.prices if ascent.bound < np.inf else start

    def _prices(self, found: Dispatched) -> tuple[Ints, Floats, int]:
        """Return edges of blocks of time, prices of a slot (B, R), and the scarcest resource.

        In a time in which jobs of weight w end that take this many shares of all servers times
        slots, a slot of all servers has value w per share for later ones. Prices of all
        resources have the same shape in time, and the same value.
        """
        inst, placed = self.inst, found.placed
        ends, loads = self.orders.ends(placed), self.orders.loads(placed)
        scarce = int(loads.sum(axis=0).argmax())
        edges = np.unique(np.linspace(0, int(ends.max()), BLOCKS + 1).round().astype(np.int64))
        begun = np.searchsorted(edges, placed.start, side="right") - 1  # (J,)
        weight = np.bincount(begun, self.orders.weight, minlength=edges.size - 1)
        load = np.bincount(begun, loads[:, scarce], minlength=edges.size - 1)
        rate = np.zeros(edges.size - 1)  # of what waits, per slot
        last = 0.0
        for b in range(rate.size - 1, -1, -1):
            last = weight[b] / load[b] if load[b] > 0 else last
            rate[b] = last
        falls = rate * np.diff(edges)
        total_price = np.cumsum(falls[::-1])[::-1] - falls / 2  # of a slot of all servers
        units = inst.arrays.capacity.sum(axis=0)
        each = np.divide(1.0, units, out=np.zeros(units.size), where=units > 0)
        prices: Floats = total_price[:, None] * each
        return edges, prices, scarce

    def improve(self) -> None:
        """Look for better orders until the time is up."""
        self.until = 1.0
        if self.best is None:
            return
        self.best = self.orders.improve(self.best, self.seed, self.stop, self.found)
        self.report(self.best)

    def found(self, better: Dispatched) -> None:
        """Receive a better schedule; report it, unless one was reported a short time ago."""
        share = self.reserve.share()
        # of the time passes between two schedules that the feasibility check sees
        if share > self.reported + 0.1:
            self.report(better)
            self.reported = share

    def report(self, found: Dispatched) -> None:
        """Check a schedule, if there is time."""
        deadline = self.inst.deadline
        if deadline is None or self.orders.ends(found.placed).max() <= deadline:
            self.progress.incumbent(found.value, self.orders.schedule(found.placed))
