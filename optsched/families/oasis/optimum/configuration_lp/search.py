"""Large neighborhood search with a diving heuristic on the configuration LP.

The neighborhood (Shaw, 1998) frees the decisions of a few jobs: whether they run, and when they
complete. A dive re-decides them on the linear program of `ConfigurationLp`, with column generation
after every decision (Sadykov et al., 2019): completions are postponed to where little completes
later, and jobs that lack most work stay out. The decisions are kept if they earn no less. At the
end every slot gets one of its packings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from optsched.engine.params import Count, Number, Share
from optsched.families.oasis.instance import OasisSchedule
from optsched.families.oasis.optimum.configuration_lp.linear_program import ConfigurationLp, LpPoint
from optsched.families.oasis.optimum.configuration_lp.pricing import PackedSlot, SlotPricing
from optsched.families.oasis.optimum.relaxations.cutting_planes import LpGuidance
from optsched.families.oasis.optimum.relaxations.unit_price import UnitPriceDecomposition
from optsched.numbers.arrays import Floats, Ints
from optsched.scheduling.board import JobPlan
from optsched.scheduling.online.round_robin import first_fit


@dataclass(frozen=True)
class DiveParams:
    """Parameters of the search.

    Attributes
    ----------
    likely : float
        Share of a job that completes in a slot of the relaxation above which the slot is an option
        of the job.
    after : ints
        Slots after a likely or known completion that are options as well.
    before : ints
        Distances of slots before a known completion that are options as well.
    levels : floats
        Shares of the best utility of a job; the last slot that earns each of them is an option.
    few : float
        Share of a job that completes in the relaxation above which the job takes part.
    first : int
        Rounds of column generation at the first prices.
    again : int
        Rounds of column generation with the known schedule.
    near : float
        Share of moves that open jobs that can run in the same slot; the others open random jobs.
    later : float
        Share of a job's completions in the relaxation that must lie in its new slot or later.
    last : floats
        Values of `later`, one after the other, for jobs whose completion has been decided before.
    whole : float
        Share of a job in the relaxation above which its completion is decided.
    none : float
        Share of a job in the relaxation below which it stays out.
    sure : float
        Share of a job's completions by its new slot above which it moves there at once; if there is
        no such job, half of the jobs move.
    tried : int
        Jobs without enough work among which the best one to leave out is searched for.
    loss : float
        Relative loss of value at which a dive ends early.
    patience : int
        Rounds of column generation in which a dive must recover its loss at the end.
    kept : int
        Packings kept in the restricted master, those with the least reduced cost.
    most : int
        Packings in the restricted master above which some are removed.
    report : float
        Relative improvement above which a schedule is made at once.
    settling : int, float
        Rounds of column generation before a schedule is made, and their largest share of the time.
    """

    likely: Share = 0.05
    after: Number = 3
    before: tuple[Count, ...] = (1, 2, 4)
    levels: tuple[Share, ...] = (0.995, 0.97, 0.9, 0.8, 0.6, 0.4, 0.2)
    few: Share = 0.01
    first: Number = 6
    again: Number = 3
    near: Share = 0.7
    later: Share = 0.35
    last: tuple[Share, ...] = (0.1, 0.02, 0.003)
    whole: Share = 0.99
    none: Share = 0.02
    sure: Share = 0.9
    tried: Number = 3
    loss: Share = 0.003
    patience: Count = 5
    kept: Count = 500
    most: Count = 1000
    report: Share = 0.005
    settling: tuple[Count, Share] = (20, 0.2)


class SlotSearch:
    """The decisions of a search, and the program that states what they earn.

    Parameters
    ----------
    blocks : UnitPriceDecomposition
    guide : LpGuidance
    schedule : OasisSchedule
        Where it begins.
    rng : Generator
    params : DiveParams
    """

    def __init__(
        self,
        blocks: UnitPriceDecomposition,
        guide: LpGuidance,
        schedule: OasisSchedule,
        rng: Generator,
        params: DiveParams = DiveParams(),
    ) -> None:
        self.blocks, self.rng, self.params = blocks, rng, params
        self.slots = SlotPricing(blocks, guide.prices, rng)
        ends = _completions(schedule)
        options = self._options(guide, ends)
        self.program = ConfigurationLp(self.slots, options)
        self.jobs = list(options)
        self.decided: set[int] = set()
        self.ending = 0.0  # seconds that settling the slots takes, as far as is known
        self._begin(schedule, ends)

    def _begin(self, schedule: OasisSchedule, ends: Mapping[int, int]) -> None:
        """Begin with a schedule, and packings at the first prices."""
        program = self.program
        for _ in range(self.params.first):
            program.add(self.slots.price_some(program.every, self.slots.price, program.last, {}))
        program.add(self.slots.of(schedule))
        for i, c in program.options.items():
            if i in ends:
                program.open(i, int(np.searchsorted(c, ends[i])))
                self.decided.add(i)
            else:
                program.close(i)

    def _options(self, guide: LpGuidance, ends: Mapping[int, int]) -> dict[int, Ints]:
        """Return in which slots jobs may complete: where the relaxation does, and a little on."""
        blocks, params, utility = self.blocks, self.params, self.blocks.arrays.utility
        out = {}
        for i, first in enumerate(blocks.inst.earliest):
            takes_part = guide.near[i] or guide.share[i] > params.few or i in ends
            if not takes_part or first is None or utility[i, first] <= 0:
                continue
            likely = np.flatnonzero(guide.completed[i] > params.likely)
            found = {int(c) + k for c in likely for k in range(params.after + 1)}
            found |= {
                int(np.flatnonzero(utility[i] >= level * utility[i, first])[-1])
                for level in params.levels
            }
            if i in ends:
                found |= {ends[i] + k for k in range(params.after + 1)}
                found |= {ends[i] - k for k in params.before}
            some = [c for c in sorted(found) if first <= c < blocks.slots and utility[i, c] > 0]
            if some:
                out[i] = np.array(some, np.int64)
        return out

    def search(
        self, left: Callable[[], float], found: Callable[[dict[int, JobPlan]], float]
    ) -> None:
        """Search until no time is left; hand over plans that may be better.

        Parameters
        ----------
        left : callable
            Seconds that are left.
        found : callable
            Takes plans; returns the value of the best schedule that is known.
        """
        if not self.jobs:
            return
        program, params, began = self.program, self.params, left()
        reported = found({})
        best = program.improve(params.again)
        rounds, longest = params.settling
        self.ending = min(rounds * (began - left()) / params.again, longest * left())
        while left() > self.ending:
            before = dict(program.lowest), set(self.decided)
            for i in self._choose():
                program.open(i)
                self.decided.discard(i)
            point = self._dive(best.value, left)
            # values, relatively: sums in other orders
            if point is None or point.value < best.value * (1 - 1e-9):
                self._back(*before)
            else:
                best = point
                if best.value > reported * (1 + params.report):
                    began, reported = left(), best.value
                    found(self.plans(best))
                    self.ending = began - left()  # the first rounds may have been far slower
            if len(program.packings) > params.most:
                program.drop_columns(params.kept)
                best = program.solve()[0]
        if left() > 0:
            found(self.plans(program.solve()[0]))

    def _choose(self) -> list[int]:
        """Draw jobs to open: as a rule, some that can run in the same slot."""
        size, slot = (
            int(self.rng.integers(2, 20)),
            int(self.rng.integers(self.blocks.slots)),
        )
        near = self.jobs
        if self.rng.random() < self.params.near:
            options = self.program.options
            near = [i for i in self.jobs if self.slots.arrival[i] <= slot <= options[i][-1]]
        some = self.rng.choice(len(near), size=min(size, len(near)), replace=False)
        return [near[k] for k in some.tolist()]

    def _back(self, lowest: Mapping[int, int], decided: set[int]) -> None:
        self.decided = decided
        for i, k in lowest.items():
            if self.program.lowest[i] != k:
                self.program.open(i, k)

    def _dive(self, least: float, left: Callable[[], float]) -> LpPoint | None:
        """Decide the open completions; None if the value is below ``least``, or on timeout."""
        program, params, level = self.program, self.params, 0
        point = program.improve(1)
        while True:
            if left() <= self.ending or point.value < least * (1 - params.loss):
                return None
            share = {
                i: float(point.x[program.row[i]].sum()) for i in self.jobs if not program.closed(i)
            }
            later = {
                i: self._put_off(i, point.x, level) for i, s in share.items() if s > params.whole
            }
            moves = {i: k for i, (k, _) in later.items() if k is not None}
            order = sorted(moves, key=lambda i: -later[i][1])
            sure = [i for i in order if later[i][1] > params.sure]
            lacking = [i for i, s in share.items() if s <= params.whole]
            # nothing is put off for a job that may stay out in the end
            decisions = sure if sure or lacking else order[: max(1, len(order) // 2)]
            for i in decisions:
                program.open(i, moves[i])
                self.decided.add(i)
            if len(decisions) < 2 and lacking:
                out = [i for i in lacking if share[i] < params.none]
                for i in out or [self._least_missed(lacking, point.x)]:
                    program.close(i)
                    self.decided.discard(i)
            elif not decisions:
                level += 1
                if level == len(params.last):
                    return self._recover(point, least, left)
                continue
            point = program.improve(1)

    def _least_missed(self, lacking: Sequence[int], x: Floats) -> int:
        """Return the job without which most is earned, of those that earn least now."""
        program, utility = self.program, self.blocks.arrays.utility
        earned = {i: float(utility[i, program.options[i]] @ x[program.row[i]]) for i in lacking}
        some = sorted(lacking, key=lambda i: earned[i])[: self.params.tried]
        value = dict.fromkeys(some, 0.0)
        for i in some if len(some) > 1 else []:
            lowest = program.lowest[i]
            program.close(i)
            value[i] = program.solve()[0].value
            program.open(i, lowest)
        return max(some, key=lambda i: value[i])

    def _recover(self, point: LpPoint, least: float, left: Callable[[], float]) -> LpPoint:
        """Add packings for the decisions, while they may soon reach ``least``."""
        while (
            least * (1 - self.params.loss) < point.value < least * (1 - 1e-9)
            and left() > self.ending
        ):
            before, point = point.value, self.program.improve(1)
            if self.params.patience * (point.value - before) < least - point.value:
                break
        return point

    def _put_off(self, i: int, x: Floats, level: int) -> tuple[int | None, float]:
        """Return the option to which job i moves, None if it stays, and the share done by then."""
        mine = x[self.program.row[i]]
        tail = np.cumsum(mine[::-1])[::-1] / mine.sum()
        enough = self.params.last[level] if i in self.decided else self.params.later
        k = int(np.flatnonzero(tail >= enough)[-1])
        settled = i in self.decided and k <= self.program.lowest[i]
        return None if settled else k, 1.0 - float(tail[k + 1 :].max(initial=0.0))

    def plans(self, point: LpPoint) -> dict[int, JobPlan]:
        """Give every slot one packing; return where the jobs run whose work is done."""
        return self.of_packings(self.program.used(self.program.settle(point)))

    def of_packings(self, chosen: Mapping[int, PackedSlot]) -> dict[int, JobPlan]:
        """Return where the jobs run whose work is done by packings, slot -> packing."""
        rows: dict[int, list[tuple[int, int, int, int]]] = {}
        left, utility = list(self.blocks.inst.work), self.blocks.arrays.utility
        end: dict[int, int] = {}
        for t, p in sorted(chosen.items()):
            for k, i in enumerate(p.jobs.tolist()):
                n = min(left[i], int(p.number[k]))
                if not n or i not in self.program.options:
                    continue
                left[i] -= n
                end[i] = t
                for side, most in enumerate((n, int(self.blocks.needed[i][n]))):
                    kept = first_fit(p.hosted[side][:, k].astype(np.int64), most)
                    rows.setdefault(i, []).extend(
                        (side, t, int(h), int(kept[h])) for h in np.flatnonzero(kept)
                    )
        return {
            i: JobPlan(float(utility[i, t]), t, np.array(rows[i], np.int64))
            for i, t in end.items()
            if left[i] == 0 and utility[i, t] > 0
        }


def _completions(schedule: OasisSchedule) -> dict[int, int]:
    """Return when the jobs complete that run."""
    return {
        i: max(t for t, _, _ in job.workers)
        for i, job in enumerate(schedule.jobs)
        if job is not None and job.workers
    }
