"""The program over time at work: ever further up from the bound, with a certificate for each step.

What the certificate's checker does is done here at a limit that rises from the bound to the best
known value. A path to the end that it leaves is a schedule of the relaxation: either credits show
why its jobs do not fit on single servers, or CP-SAT places them, and there is a better schedule.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from optsched.families.completion.certificate.bound import Evaluation, value_step
from optsched.families.completion.certificate.choices import menu_of
from optsched.families.completion.certificate.conflicts import FIRST, LAST
from optsched.families.completion.certificate.format import CompletionCertificate, latest_cost
from optsched.families.completion.certificate.program import (
    MOST_JOBS,
    MOST_LISTS,
    Conflict,
    Program,
    proved,
)
from optsched.families.completion.certificate.timeline import (
    MOST_STATES,
    Path,
    Timeline,
    UnfinishedError,
    Units,
)
from optsched.families.completion.instance import CompletionSchedule
from optsched.families.completion.optimum.cpsat import Choices, unmasked
from optsched.families.completion.optimum.cpsat import Program as Declared
from optsched.families.completion.optimum.prices.priced_search import Search, certify
from optsched.families.completion.optimum.prices.repricing import Listed, Repricing
from optsched.families.completion.optimum.timeline.packing import conflict_of, fewest
from optsched.families.completion.optimum.tree.branching import WindowBlocks
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.magnitudes import TooLargeError
from optsched.numbers.resources import exact
from optsched.process import effort
from optsched.proofs.grid import float_below, sparse, to_grid

SAFE = 1e-9  # relative: rounding of floats
STEP = 0.125  # of the gap: how much further it looks each time
FEW_STATES = 2**14  # at first
REPRICING_SHARE = 0.05  # of the time that is left, at most
REPRICING = 1.0, 2.0  # seconds, and times that of the last run, at most
PLACE_SECONDS = 2.0  # of CP-SAT to place the jobs of a path on single servers
FINEST, COARSEST = 36, -1000  # bits of the grid
MARGIN = 2  # of these, for prices that are greater than the first
STATES_STEPS, LIST_STEPS = 500_000, 2_000_000  # of kernels: some states, a list of runs
AGAIN = 16  # conflicts after which states are looked for anew


class Prover:
    """What the program over time has proved about an instance.

    Parameters
    ----------
    search : Search
        Holds a schedule, and prices.
    problem : WindowBlocks
        At whose states prices are looked for.
    """

    def __init__(self, search: Search, problem: WindowBlocks) -> None:
        self.search, self.progress, self.inst = search, search.progress, search.inst
        self.step = value_step(self.inst)
        self.evaluation = Evaluation(self.inst)
        self.platform = self.evaluation.platform
        self.repricing = Repricing(problem, search.prices, threads=search.threads, seed=search.seed)
        self.lists: list[Listed] = []
        self.slots = len(search.prices)
        self.conflicts: list[Conflict] = []
        self.runs: list[Ints] = []  # of the conflicts
        self.fitting: set[tuple[int, ...]] = set()  # lists of items without a conflict
        self.stuck = False  # a path that is refuted by nothing, and cannot be placed

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

    def _stop(self) -> bool:
        """Whether to stop; asked after some states."""
        effort.steps(STATES_STEPS)
        return self.progress.stop()

    def everything(self) -> None:
        """Prove that nothing is better than the best schedule, which may be found; or give up."""
        try:
            if not 1 <= len(self.inst.jobs) <= MOST_JOBS or not self._begin():
                return
        except TooLargeError:  # for the checker, too
            return
        low, proven = math.ceil(Fraction(self.search.bound * (1 - SAFE)) / self.step), 0
        end = 0.0

        def over() -> bool:
            return self._stop() or self.progress.seconds() > end

        done, share, most = 0.0, STEP, FEW_STATES
        while most <= MOST_STATES:
            began, value = self.progress.seconds(), self.value()
            aim = min(value, low + math.ceil(share * (value - low)))
            reached = self._prove(aim, most) if aim > proven else proven
            if self.progress.stop():
                return
            if reached is None:  # too many states: a nearer aim, at better prices, and more room
                share, most = (done + share) / 2, 2 * most
            else:
                if reached > proven:
                    self._report(reached)
                if self.stuck or reached >= self.value():
                    return
                proven, done, share = reached, share, min(1.0, share + STEP)
            now = self.progress.seconds()
            latest = REPRICING[0] + REPRICING[1] * (now - began)
            end = now + min(latest, REPRICING_SHARE * self.progress.left())
            top = self._limit(self.value())
            self.lists = self.repricing.improve(self.timeline, self.lists, self._read, top, over)

    def _begin(self) -> bool:
        """Choose the grid; return whether there is one."""
        menu = menu_of(self.evaluation, (self.value() - 1) * self.step)
        if menu is None:  # not even alone are all jobs done for less
            self._report(self.value())
            return False
        Units(self.evaluation, menu, 0).check(self.slots, MOST_LISTS)
        for bits in range(FINEST, COARSEST, -1):
            self.units = Units(self.evaluation, menu, bits + MARGIN)
            if self._read(self.search.prices) is not None:
                break
        self.units = Units(self.evaluation, menu, bits)
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
        """Return what costs less than so many steps, on the grid."""
        return math.floor((aim - 1) * self.step / self.units.unit)

    def _prove(self, aim: int, most: int) -> int | None:
        """Prove that no schedule costs less than so many steps; return what is proved.

        That is less where a better schedule is found, or a path that nothing refutes. None where
        it was stopped, or there are more than ``most`` states.
        """
        while True:
            lists = [one.priced for one in self.lists]
            timeline = self.timeline = Timeline(self.units, lists, self.runs)
            if not timeline.run(self._limit(aim), self._stop, most):
                return None
            graph, learned = timeline.graph(), 0
            while learned < AGAIN:
                try:
                    path = timeline.next_path(graph, self._limit(aim), self._stop)
                except UnfinishedError:
                    return None
                if path is None:
                    return aim
                conflict, value = self._conflict(path), self._steps(path.end.tolist())
                if conflict is not None:
                    self.conflicts.append(conflict)
                    self.runs.append(np.array(conflict.runs, np.int64))
                    timeline.learn(self.runs)
                    learned += 1
                    continue
                self._place(path)
                self.stuck |= self.value() > value
                aim = min(aim, value, math.ceil(path.value * self.units.unit / self.step))

    def _conflict(self, path: Path) -> Conflict | None:
        """Return why the jobs of a path do not fit: in a slot, else in all slots; None: unknown."""
        for t in np.unique(path.start).tolist():
            some = np.flatnonzero((path.start <= t) & (t < path.end))
            key = tuple(sorted(path.item[some].tolist()))
            if key not in self.fitting:
                effort.steps(LIST_STEPS)
                found = conflict_of(self.platform, self._runs(path, some, None))
                if found is not None:
                    return fewest(self.platform, found)
                self.fitting.add(key)
        found = conflict_of(self.platform, self._runs(path, np.arange(len(path.item)), path))
        return None if found is None else fewest(self.platform, found)

    def _runs(self, path: Path, some: Ints, where: Path | None) -> Ints:
        """Return runs (E, 7) of some jobs of a path, in one slot or where they are."""
        runs = np.zeros((len(some), 7), np.int64)
        runs[:, :FIRST] = self.units.menu.items[path.item[some]]
        if where is not None:
            runs[:, FIRST], runs[:, LAST] = where.start[some], where.end[some] - 1
        return runs

    def _place(self, path: Path) -> None:
        """Look for a schedule on single servers as a path says."""
        choices = []
        durations = self.units.menu.duration[path.choice].tolist()
        for j, d in enumerate(durations):
            rows = unmasked(self.search.jobs, j)
            kind = self.units.menu.items[path.item[j], 0]
            rows = rows[(rows[:, 0] == kind) & (rows[:, 4] == d)]
            choices.append(Choices(rows, [[int(path.start[j])]] * len(rows)))
        limits = {"threads": self.search.threads, "seed": self.search.seed}
        program = Declared(self.search.jobs, choices)
        program.solve(self.progress, **limits, claim=False, seconds=PLACE_SECONDS)

    def _report(self, steps: int) -> None:
        """Report what is proved at the present prices and conflicts."""
        lists = tuple(one.entries for one in self.lists) or ((),)
        bits = self.units.grid_bits if self.lists else 0
        conflicts = tuple(self.conflicts)
        first = certify(self.inst, self.search.prices)

        def made() -> CompletionCertificate:
            program = Program(value=steps, grid_bits=bits, prices=lists, conflicts=conflicts)
            try:
                proved(self.evaluation, program)
            except TooLargeError:  # to be looked at at once
                return first
            return first.model_copy(update={"program": program})

        impossible = self.progress.schedule is None and steps >= self.value()
        self.progress.infeasible |= impossible
        bound = math.inf if impossible else float_below(steps * self.step)
        self.progress.proved(bound, made)
