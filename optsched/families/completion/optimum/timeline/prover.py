"""Bounded dynamic programming over time with logic-based Benders cuts, as a solution method.

The dynamic program over time is a relaxation: the cluster's capacity is aggregated. States whose
Lagrangian dual bound exceeds a limit are dropped (Morin and Marsten, 1976); the limit rises from
the dual bound to the incumbent, with a certificate at each step. A path of the program is a
schedule of the relaxation: CP-SAT places it on single servers, which gives a better schedule, or a
conflict proves that it does not fit and is added, as in logic-based Benders decomposition (Hooker
and Ottosson, 2003). Where a slot has many states, a beam search follows the best of them (Ow and
Morton, 1988); it proves nothing, but shows which conflicts and prices the next run needs.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from optsched.engine.reserve import Reserve, busy
from optsched.families.completion.certificate.bound import BoundEvaluator, value_step
from optsched.families.completion.certificate.check import CompletionCertificate, latest_cost
from optsched.families.completion.certificate.choices import menu_of
from optsched.families.completion.certificate.conflicts import FIRST
from optsched.families.completion.certificate.program import (
    MOST_JOBS,
    MOST_LISTS,
    Conflict,
    TimelineProof,
    proved,
)
from optsched.families.completion.certificate.states import ITEM, NOTHING
from optsched.families.completion.certificate.timeline import (
    MOST_STATES,
    Path,
    Timeline,
    TimelineGrid,
    UnfinishedError,
)
from optsched.families.completion.instance import CompletionSchedule
from optsched.families.completion.optimum.cpsat import Choices, CpSatProgram, unmasked
from optsched.families.completion.optimum.relaxations.priced_search import Portfolio, certify
from optsched.families.completion.optimum.relaxations.repricing import Listed, Repricing
from optsched.families.completion.optimum.timeline.packing import conflict_in_time, conflict_of
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.overflow import TooLargeError
from optsched.numbers.resources import exact
from optsched.problem import Implementation
from optsched.process import work_units
from optsched.proofs.grid import float_below, sparse, to_grid

LEARNED, REFUTED, DOUBTED, MISSED = range(4)  # what has become of a path

Key = tuple[int, ...]  # starts and choices of a path


class Prover:
    """Results of the dynamic program over time on an instance.

    Parameters
    ----------
    search : Portfolio
        Holds a schedule, and prices.
    """

    def __init__(self, search: Portfolio) -> None:
        self.search, self.params = search, search.whole.prover
        self.progress, self.inst = search.progress, search.inst
        self.step = value_step(self.inst)
        self.evaluation = BoundEvaluator(self.inst)
        self.platform = self.evaluation.platform
        self.repricing = Repricing(
            search.jobs, search.prices, threads=search.threads, seed=search.seed
        )
        self.lists: list[Listed] = []
        self.slots = len(search.prices)
        self.conflicts: list[Conflict] = []
        self.runs: list[Ints] = []  # of the conflicts
        self.fitting: Ints  # (N, I) how often each item is in lists without a conflict
        self.doubts: dict[Key, bool] = {}  # paths without a conflict: whether CP-SAT refutes them
        self.patience = 1  # times the usual seconds of CP-SAT
        self.proven = 0  # in steps: no schedule costs less
        self.reserve = Reserve(search.progress, self.params.most_kept)
        self.began = busy()  # with a walk to the end, in seconds of the processor
        self.ran = 0.0  # such seconds that the last run took

    def value(self) -> int:
        """Return the value of the best schedule, in steps; if none is known, more than any has."""
        best = self.progress.schedule
        if best is None:
            return int(latest_cost(self.inst) / self.step) + 1
        assert isinstance(best, CompletionSchedule)
        return self._steps([pieces[-1].end for pieces in best.jobs])

    def _steps(self, ends: list[int]) -> int:
        jobs = self.inst.jobs
        total = sum(exact(job.weight) * end for job, end in zip(jobs, ends, strict=True))
        return int(total / self.step)

    def _over(self) -> bool:
        """Whether to stop, with the time that looking at the certificate again takes."""
        return self.progress.stop() or self.reserve.share() >= 1

    def _late(self) -> bool:
        """Whether a signal or the clock ends it; a call costs no effort."""
        return self.progress.called_off() or self.reserve.share() >= 1

    def _stop(self) -> bool:
        """Whether to stop; called after some states."""
        # of kernels: some states, a list of runs
        work_units.steps(500_000)
        return self._over()

    def everything(self) -> None:
        """Prove that nothing is better than the best schedule, which may be found; or give up."""
        try:
            if 1 <= len(self.inst.jobs) <= MOST_JOBS and self._begin():
                self._climb()
                while not self._over() and not all(self.doubts.values()):
                    self.patience *= self.params.patience
                    self.doubts = {key: True for key, sure in self.doubts.items() if sure}
                    self._climb()
        except TooLargeError:  # for the checker as well
            return

    def _climb(self) -> None:
        """Raise the limit from what is proved to the best value, or to where nothing helps."""
        known = self.progress.bound
        bound = known if known is not None and math.isfinite(known) else self.search.bound
        # relative: rounding of floats
        proven = math.ceil(Fraction(bound * (1 - 1e-9)) / self.step)
        proven = max(self.proven, min(proven, self.value()) - 1)
        stride, failed = math.ceil(self.params.stride * (self.value() - proven)), 0
        first, dives = self.progress.seconds(), 0.0  # seconds
        end, most = 0.0, self.params.first_states

        def over() -> bool:
            return self._stop() or self.progress.seconds() > end

        while proven < self.value() and failed < self.params.failures:
            began = self.progress.seconds()
            if len(self.lists) > 1 and dives <= self.params.beam_share * (began - first):
                if self._prove(self.value(), width=self.params.width):
                    return
                dives += self.progress.seconds() - began
            began = self.progress.seconds()
            aim = min(self.value(), proven + stride)
            done = self._prove(aim, most=most)
            if self._over():
                return
            if done:
                proven, failed = aim, 0
                if self.params.growth * self.timeline.pool.size[0] < most:
                    stride *= 2
                else:
                    most = self.params.growth * int(self.timeline.pool.size[0])
            else:  # a nearer aim, at better prices
                proven = max(proven, self.proven)
                stride, failed = max(1, stride // 2), failed + 1
            now = self.progress.seconds()
            latest = self.params.repricing[0] + self.params.repricing[1] * (now - began)
            end = now + min(latest, self.params.repricing_share * self.progress.left())
            top = self._limit(min(self.value(), proven + 2 * stride))
            self.lists = self.repricing.improve(self.timeline, self.lists, self._read, top, over)

    def _begin(self) -> bool:
        """Choose the grid; return whether there is one."""
        menu = menu_of(self.evaluation, (self.value() - 1) * self.step)
        if menu is None:  # not even alone are all jobs done for less
            self._report(self.value())
            return False
        self.fitting = np.zeros((1, len(menu.items)), np.int64)
        TimelineGrid(self.evaluation, menu, 0).check(self.slots, MOST_LISTS)
        # bits of the grid
        for bits in range(36, -1000, -1):
            # of these, for prices that are greater than the first
            self.units = TimelineGrid(self.evaluation, menu, bits + 2)
            if self._read(self.search.prices) is not None:
                break
        self.units = TimelineGrid(self.evaluation, menu, bits)
        first = self._read(self.search.prices)
        self.lists = [] if first is None else [first]
        return first is not None

    def _read(self, prices: Floats) -> Listed | None:
        """Return prices (L, C, R) as a list on the grid; None if they are too large."""
        prices = prices[: self.slots] / float(self.step)
        given = sparse(to_grid(prices, self.units.grid_bits))
        entries = tuple((t, c, r, p) for t, c, r, p in given)
        try:
            return Listed(entries, self.units.priced(entries, self.slots, "prices"))
        except TooLargeError:
            return None

    def _limit(self, aim: int) -> int:
        """Return what costs less than this many steps, on the grid."""
        return math.floor((aim - 1) * self.step / self.units.unit)

    def _prove(self, aim: int, *, most: int = MOST_STATES, width: int = MOST_STATES) -> bool:
        """Return whether no schedule costs less than this many steps, or than the best one.

        Not if there are more than ``most`` states, or more than ``width`` in a slot, of which the
        best alone are followed. A certificate is reported; what also rests on CP-SAT's claim is
        claimed.
        """
        while True:
            lists = [one.priced for one in self.lists]
            timeline = self.timeline = Timeline(self.units, lists, self.runs)
            began, self.ran = self.progress.seconds(), -busy()
            whole = timeline.run(self._limit(aim), self._stop, most=most, width=width)
            self.ran += busy()
            if self._over():
                return False
            try:
                if timeline.pool.size[0] > self.params.conflict_states:
                    self._contest(self.progress.seconds() - began)
                if not whole and width == MOST_STATES:
                    return False
                # conflicts after which states are looked for anew
                learned = len(self.runs) + 16
                done = self._paths(aim, whole, learned)
            except UnfinishedError:
                return False
            if done or len(self.runs) < learned:
                return done

    def _paths(self, aim: int, whole: bool, most: int) -> bool:
        """Refute or place all paths of the last run, as `_prove`; until this many runs are known.

        They are walked to ever higher values: a schedule that is found ends the walk.
        """
        graph, timeline, missed, least, sure = self.timeline.graph(), self.timeline, 0, aim, True
        last = self._limit(aim)
        begin = min(int(graph.rest[0]), last)
        # of the way from the least path to the limit: so much of it at first
        for part in (16, 8, 4, 2, 1):
            self.began = busy()
            timeline.restart(graph)
            top = begin + (last - begin) // part
            while True:
                limit = min(top, self._limit(self.value()))
                path = timeline.next_path(graph, limit, self._stop)
                if path is None:
                    break
                if len(self.runs) >= most:
                    return False
                fate = self._fate(path, whole)
                if fate == MISSED:
                    missed += 1
                    # paths that cannot be placed, where not all states are followed
                    if missed == 2:
                        return False
                if fate in (REFUTED, DOUBTED):
                    least = min(least, math.ceil(path.value * self.units.unit / self.step))
                    sure &= fate == REFUTED
            if whole:
                shown = aim if top == last else math.floor(top * self.units.unit / self.step) + 1
                self._report(min(least, shown, self.value()))
        if whole and sure and least < self.value():
            claimed = float_below(min(aim, self.value()) * self.step)
            self.progress.claim(Implementation.CP_SAT, claimed)
        return whole

    def _fate(self, path: Path, whole: bool) -> int:
        """Find out whether a path can be placed."""
        if self._in_a_slot(path):
            return LEARNED
        value, runs = self._steps(path.end.tolist()), self._runs(path)
        key = (*path.start.tolist(), *path.choice.tolist())
        if value >= self.value():
            return REFUTED
        if key in self.doubts:
            return REFUTED if self.doubts[key] else DOUBTED
        if self._learn(
            conflict_in_time(self.platform, runs, self._late, self.params.conflict_slots)
        ):
            return LEARNED
        # slots by which it may then start jobs later
        how = self._place(path, 0 if whole else 2)
        if value >= self.value():
            return REFUTED
        if not whole:
            self._search(path)
            return MISSED
        if self._learn(
            conflict_in_time(self.platform, runs, self._late, least=self.params.conflict_slots)
        ):
            return LEARNED
        self.doubts[key] = how == "infeasible"
        return REFUTED if self.doubts[key] else DOUBTED

    def _search(self, path: Path) -> None:
        """Look for a schedule in which jobs start about as a path states."""
        self.search.order = path.start.astype(float)
        self.search.improve(min(self.search.short, self.progress.left()))

    def _learn(self, conflict: Conflict | None) -> bool:
        """Know a conflict; return whether it is one."""
        if conflict is None:
            return False
        self.conflicts.append(conflict)
        self.runs.append(np.array(conflict.runs, np.int64))
        self.timeline.learn(self.runs)
        return True

    def _in_a_slot(self, path: Path) -> bool:
        """Learn why what a path runs in a slot does not fit; return whether that is so."""
        return any(
            self._at_once(path.item[(path.start <= t) & (t < path.end)])
            for t in np.unique(path.start).tolist()
        )

    def _at_once(self, items: Ints) -> bool:
        """Learn why items do not fit in a slot; return whether that is so."""
        number = np.bincount(items, minlength=self.fitting.shape[1])
        if (number <= self.fitting).all(axis=1).any():
            return False
        # of kernels: some states, a list of runs
        work_units.steps(2_000_000)
        runs = np.zeros((len(items), 7), np.int64)
        runs[:, :FIRST] = self.units.menu.items[items]
        if self._learn(conflict_of(self.platform, runs, self._late)):
            return True
        self.fitting = np.concatenate([self.fitting, number[None]])
        return False

    def _contest(self, seconds: float) -> None:
        """Learn why what often runs at once does not fit, after a run of this many seconds."""
        end = self.progress.seconds() + min(
            self.params.conflict_seconds[0] + seconds, self.params.conflict_seconds[1]
        )
        for items in often(self.timeline):
            if self._over() or self.progress.seconds() > end:
                break
            if not self.timeline.refused(items):
                self._at_once(items)

    def _runs(self, path: Path) -> Ints:
        """Return the runs (E, 7) of a path."""
        items = self.units.menu.items[path.item]
        return np.concatenate([items, path.start[:, None], path.end[:, None] - 1], axis=1)

    def _place(self, path: Path, later: int) -> str:
        """Look for a schedule on single servers near a path; return how that ended."""
        choices = []
        durations = self.units.menu.duration[path.choice].tolist()
        for j, d in enumerate(durations):
            rows = unmasked(self.search.jobs, j)
            kind, start = self.units.menu.items[path.item[j], 0], int(path.start[j])
            rows = rows[(rows[:, 0] == kind) & (rows[:, 4] == d)]
            choices.append(Choices(rows, [list(range(start, start + later + 1))] * len(rows)))
        program = CpSatProgram(self.search.jobs, choices)
        # of CP-SAT to place the jobs of a path on single servers
        seconds = self.patience * 2.0
        threads, seed = self.search.threads, self.search.seed
        return program.solve(
            self.progress, threads=threads, seed=seed, claim=False, seconds=seconds
        )

    def _report(self, steps: int) -> None:
        """Report what is proved at the present prices and conflicts."""
        if steps <= self.proven:
            return
        self.proven = steps
        # the certificate's runs that are still to come: as it is made, and as it is checked
        work = 2 * (self.ran + busy() - self.began)
        # seconds by which that may end after the limit
        if self.reserve.counts and work > self.progress.left() + 1.0:
            return  # what was reported before can be looked at in time
        self.reserve.work = work
        lists = tuple(one.entries for one in self.lists) or ((),)
        bits = self.units.grid_bits if self.lists else 0
        conflicts, prices = tuple(self.conflicts), self.search.prices

        def made() -> CompletionCertificate:
            first = certify(self.inst, prices)
            program = TimelineProof(value=steps, grid_bits=bits, prices=lists, conflicts=conflicts)
            try:
                proved(self.evaluation, program)
            except TooLargeError:  # to be looked at at once
                return first
            return first.model_copy(update={"program": program})

        impossible = self.progress.schedule is None and steps >= self.value()
        self.progress.infeasible |= impossible
        bound = math.inf if impossible else float_below(steps * self.step)
        self.progress.tighten(bound, made)


def often(timeline: Timeline) -> list[Ints]:
    """Return the items that run at once where a run starts jobs, the most frequent lists first."""
    steps = timeline.steps
    # steps that are looked at
    some = np.unique(np.linspace(0, int(steps.size[0]) - 1, 30_000).astype(np.int64))
    some = some[steps.first[some + 1] > steps.first[some]]
    first, last = steps.first[some], steps.first[some + 1]
    before = timeline.pool.runs[steps.source[some]]
    jobs = before.shape[1]
    rows = np.full((len(some), 2 * jobs), -1, np.int64)
    rows[:, :jobs] = np.where(before < NOTHING, before & ITEM, -1)
    for k in range(jobs):
        there = first + k < last
        rows[there, jobs + k] = timeline.demand.item[steps.choice[first[there] + k]]
    rows, counts = np.unique(np.sort(rows, axis=1), axis=0, return_counts=True)
    return [row[row >= 0] for row in rows[np.argsort(-counts, kind="stable")]]
