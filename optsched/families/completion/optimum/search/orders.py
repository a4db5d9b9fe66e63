"""Local search over priority rules for the schedule generation scheme.

Jobs are ordered by weight per resource use, which generalizes Smith's ratio (Smith, 1956), and
dispatched by the parallel scheme of `dispatch` (Kolisch, 1996). The resource use of a mode is its
weighted share of each resource times its duration; a job's list of modes holds those near its
least. The weights of resources, the width of the lists and shifts of single jobs in the order are
changed at random and kept if the schedule improves. For thousands of jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from optsched.engine.params import Amount, Count, Share
from optsched.families.completion.instance import CompletionInstance, CompletionSchedule, Piece
from optsched.families.completion.modes import Types
from optsched.families.completion.optimum.relaxations.offers import JobRuns
from optsched.families.completion.optimum.search.dispatch import (
    Placed,
    ServerArrays,
    dispatch,
    nothing_placed,
    placeable,
)
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.numbers.streams import Streams
from optsched.process import work_units


@dataclass(frozen=True)
class OrderParams:
    """Parameters of the search.

    Attributes
    ----------
    modes : int
        Most modes per job.
    tolerance : float
        Initial tolerance: relative excess of a mode's weighted demand over the least one above
        which the mode is not used.
    spread : float
        Standard deviation of changes of the logarithms of the resource weights and of the
        tolerance.
    shift : float
        Standard deviation of changes of the logarithm of a job's priority.
    weight_share : float
        Share of moves that change resource weights and tolerance; the others change priorities.
    """

    modes: Count = 16
    tolerance: Amount = 0.2
    spread: Amount = 0.3
    shift: Amount = 0.5
    weight_share: Share = 0.2


@dataclass(frozen=True, eq=False)
class Rule:
    """Parameters of one dispatch: weights of resources and changes of the order."""

    mix: Floats  # (R,) weights of resources
    tolerance: float
    shift: Floats  # (J,) is added to the logarithms of places in the order


@dataclass(frozen=True, eq=False)
class Dispatched:
    """A schedule, the rule that made it, and its weighted completion; infinite: there is none."""

    rule: Rule
    value: float
    placed: Placed


class Orders:
    """Dispatches the jobs of an instance, and looks for a better rule.

    Parameters
    ----------
    inst : CompletionInstance
    types : Types
    offers : JobRuns
    """

    def __init__(
        self,
        inst: CompletionInstance,
        types: Types,
        offers: JobRuns,
        params: OrderParams = OrderParams(),
    ) -> None:
        self.inst, self.offers, self.params = inst, offers, params
        capacity = inst.arrays.capacity
        ps = types.ps_demand if len(types.ps_demand) else np.zeros((1, capacity.shape[1]), np.int64)
        steps = np.zeros(1, np.int64)
        self.platform = ServerArrays(
            capacity, types.worker_demand, ps, types.ps_needed, types.ring, steps
        )
        self.arrival = np.array([job.arrival for job in inst.jobs], np.int64)
        self.weight = np.array([job.weight for job in inst.jobs])
        self.most = max((job.chunks for job in inst.jobs), default=1)
        self.whole = np.maximum(1, capacity.sum(axis=0)).astype(float)  # (R,)
        taken = types.worker_demand[offers.worker_type] * offers.workers[:, None]
        taken = taken + ps[offers.kind] * offers.ps[:, None]
        self.taken = taken * (offers.duration[:, None] / self.whole)  # (G, R) shares times slots
        self.fits = self._fits()

    def _fits(self) -> Flags:
        """Return which ways to run fit on empty servers as `dispatch` fills them, (G,)."""
        o = self.offers
        shape = (o.worker_type.max(initial=0) + 1, o.kind.max(initial=0) + 1, 2, self.most + 1)
        way = np.ravel_multi_index((o.worker_type, o.kind, o.together, o.workers), shape)
        ps = np.full(int(np.prod(shape)), -1, np.int64)
        ps[way] = o.ps
        some = np.flatnonzero(ps >= 0)
        kind, ps_kind, together, workers = np.unravel_index(some, shape)
        columns = (np.ones(some.size, np.int64), kind, workers, together, ps_kind, ps[some])
        first = np.arange(some.size + 1)
        each = JobRuns(first, *columns, first, first, workers)
        found = np.zeros(ps.size, np.bool_)
        placed = nothing_placed(some.size, self.most)
        found[some] = placeable(self.platform, each, 1.0 / self.whole, placed)
        fits: Flags = found[way]
        return fits

    def first(self) -> Dispatched:
        """Dispatch with all resources alike."""
        resources, jobs = self.whole.size, self.weight.size
        return self.run(
            Rule(np.full(resources, 1.0 / resources), self.params.tolerance, np.zeros(jobs))
        )

    def run(self, rule: Rule, limit: float = np.inf) -> Dispatched:
        """Dispatch the jobs; what is not better than ``limit`` is of no interest."""
        # elementary steps for a job and for a way to run, as a rule
        usual = 2000 * self.weight.size + 20 * self.offers.duration.size
        work_units.steps(usual)
        area = np.where(self.fits, self.taken @ rule.mix, np.inf)
        ways, least = menus(self.offers.first, area, rule.tolerance, self.params.modes)
        with np.errstate(divide="ignore"):  # jobs that take nothing go first
            place = np.log(least) - np.log(self.weight) + rule.shift
        order = np.argsort(place, kind="stable")
        placed = nothing_placed(self.weight.size, self.most)
        weights = rule.mix / self.whole
        self.platform.steps[0] = 0
        value = dispatch(
            self.platform,
            self.offers,
            ways,
            order,
            self.arrival,
            self.weight,
            weights,
            limit,
            placed,
        )
        work_units.spend(work_units.STEP * max(0, int(self.platform.steps[0]) - usual))
        return Dispatched(rule, float(value), placed)

    def improve(
        self,
        best: Dispatched,
        seed: int,
        stop: Callable[[], bool],
        found: Callable[[Dispatched], None],
    ) -> Dispatched:
        """Change the rule until ``stop`` is true; ``found`` receives every better schedule."""
        rng = Streams(seed)("orders of dispatch")
        jobs = self.weight.size
        while not stop():
            rule = best.rule
            if rng.random() < self.params.weight_share:
                factor = np.exp(self.params.spread * rng.normal(size=rule.mix.size + 1))
                mix = rule.mix * factor[:-1]
                rule = replace(rule, mix=mix / mix.sum(), tolerance=rule.tolerance * factor[-1])
            else:
                shift, number = rule.shift.copy(), int(np.exp(rng.uniform(0.0, np.log(jobs))))
                chosen = rng.choice(jobs, size=number, replace=False)
                shift[chosen] += self.params.shift * rng.normal(size=number)
                rule = replace(rule, shift=shift)
            new = self.run(rule, best.value)
            if new.value < best.value:
                best = new
                found(best)
        return best

    def ends(self, placed: Placed) -> Ints:
        """Return when the jobs end, (J,)."""
        ends: Ints = placed.start + self.offers.duration[placed.way]
        return ends

    def loads(self, placed: Placed) -> Floats:
        """Return what each job takes: shares of all servers times slots, (J, R)."""
        loads: Floats = self.taken[placed.way]
        return loads

    def schedule(self, placed: Placed) -> CompletionSchedule:
        """Return the schedule in which all jobs run so."""
        o, ways, ring = self.offers, placed.way, self.platform.ring
        columns = (o.duration[ways], o.worker_type[ways], o.kind[ways], *placed[1:])
        pieces = [
            Piece(
                start=start,
                duration=duration,
                worker_type=worker_type,
                ps_type=None if ring else kind,
                workers=tuple(zip(where[:parts], number[:parts], strict=True)),
                ps=() if ring else ((host, ps),),
            )
            for duration, worker_type, kind, start, host, ps, parts, where, number in zip(
                *(column.tolist() for column in columns), strict=True
            )
        ]
        return CompletionSchedule(jobs=tuple((piece,) for piece in pieces))


@kernel
def menus(first: Ints, area: Floats, tolerance: float, most: int) -> tuple[Ints, Floats]:
    """Return each job's ways to run that take little more than the least, and the least.

    Shapes (J, most), by the resources they need, -1: no more; and (J,), infinite if nothing fits.

    Parameters
    ----------
    first : shape (J + 1,)
        Where the ways of a job begin.
    area : shape (G,)
        Resources that each of them needs; infinite: it does not fit.
    """
    jobs = first.size - 1
    ways, least = np.full((jobs, most), -1, np.int64), np.empty(jobs)
    for j in range(jobs):
        least[j] = np.inf
        for k in range(first[j], first[j + 1]):
            least[j] = min(least[j], area[k])
        limit, number = least[j] * (1 + tolerance), 0
        if least[j] == np.inf:
            continue
        for k in range(first[j], first[j + 1]):
            if area[k] > limit:
                continue
            x = number
            while x > 0 and area[ways[j, x - 1]] > area[k]:
                if x < most:
                    ways[j, x] = ways[j, x - 1]
                x -= 1
            if x < most:
                ways[j, x] = k
                number = min(number + 1, most)
    return ways, least
