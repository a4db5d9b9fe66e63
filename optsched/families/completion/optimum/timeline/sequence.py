"""The dynamic program over time at work: ever further up from the bound."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from optsched.families.completion.certificate.format import round_up
from optsched.families.completion.optimum.cpsat import Choices, Program
from optsched.families.completion.optimum.dominance import undominated
from optsched.families.completion.optimum.prices.filtering import filtered, reduced
from optsched.families.completion.optimum.prices.priced_search import Search
from optsched.families.completion.optimum.prices.repricing import Repricing
from optsched.families.completion.optimum.timeline.paths import Paths, refuted
from optsched.families.completion.optimum.timeline.program import Outcome, Path, Timeline
from optsched.families.completion.optimum.timeline.slot_items import SlotItems
from optsched.families.completion.optimum.tree.branching import WindowBlocks
from optsched.numbers.arrays import Floats
from optsched.problem import Implementation

SAFE = 1e-8  # relative: rounding of floats
LIMITS = (0.15, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the gap: up to where it looks, in turn
REPRICING_SHARE = 0.05  # of the time that is left, at most
REPRICING = 1.0, 2.0  # seconds, and times that of the last run, at most
PLACE_SECONDS = 2.0  # of CP-SAT to place the jobs of a path on single servers


class Sequencing:
    """What the dynamic program has found out about an instance.

    Parameters
    ----------
    search : Search
        Holds a schedule, and prices.
    problem : WindowBlocks
        At whose states prices are looked for.
    """

    def __init__(self, search: Search, problem: WindowBlocks) -> None:
        self.search, self.progress, self.jobs = search, search.progress, search.jobs
        self.modes = undominated(self.jobs)
        self.items = SlotItems(self.jobs, self.modes)
        self.choosing = False  # whether the least path is not enough
        self.by = Implementation.TIME_PROGRAM  # what claims rest on
        self.repricing = Repricing(problem, search.prices, threads=search.threads, seed=search.seed)
        # no value lies between the multiples of this
        self.step = float(round_up(search.inst, Fraction(1, 10**12)))

    def left(self) -> list[Choices] | None:
        """Return the modes and starts that may be in a schedule no worse than the best."""
        search = self.search
        return filtered(self.jobs, search.prices, search.bound, self.progress.value, self.modes)

    def leaf(self, choices: Sequence[Choices], prices: Floats, until: float) -> bool:
        """Look for better schedules made of some choices; return whether there is none any more."""
        goal = self._goal()
        some = self._reduced(choices, prices, goal)
        if some is None:
            return True
        if self.over(until):
            return False
        program = Timeline(self.jobs, self.items, [prices, *self.repricing.kept], some)
        found = self._run(program, goal, until)
        return found.finished and (found.best is None or self._reached(found.best))

    def over(self, until: float) -> bool:
        """Whether it is later than ``until``, or nothing more is to be done at all."""
        return self.progress.stop() or self.progress.seconds() > until

    def _goal(self) -> float:
        """Return what a better schedule has to be below."""
        value = self.progress.value
        assert value is not None
        return value - max(self.step / 2, SAFE * value)

    def _reached(self, path: Path) -> bool:
        return self._goal() <= path.value

    def _reduced(
        self, choices: Sequence[Choices], prices: Floats, top: float
    ) -> list[Choices] | None:
        """Return what may be in a schedule of at most ``top``; None if there is none."""
        some = reduced(self.jobs, choices, prices, top)
        return None if some is None or not all(len(c.modes) for c in some) else some

    def _run(self, program: Timeline, top: float, until: float) -> Outcome:
        found = program.least(top, lambda: self.over(until))
        if found.best is not None:
            self._place(found.best, min(PLACE_SECONDS, until - self.progress.seconds()))
        return found

    def everything(self, until: float) -> bool:
        """Look for better schedules; return whether there is none any more.

        Below limits that come closer and closer to the best schedule.
        """
        first = self.search.prices
        low, rest, left = self.search.bound, list(LIMITS), self.left()
        assert left is not None
        while rest:
            if self.over(until):
                return False
            top = low + rest[0] * (self._goal() - low)
            some = self._reduced(left, first, top)
            if some is None:
                rest.pop(0)
                continue

            def make(prices: Sequence[Floats], choices: Sequence[Choices] = some) -> Timeline:
                return Timeline(self.jobs, self.items, prices, choices)

            began = self.progress.seconds()
            program = make(self.repricing.kept)
            if not self.choosing:
                found = self._run(program, top, until)
                if not found.finished:
                    return False
                self._claim(top if found.best is None else found.best.value)
                if found.best is not None and self._reached(found.best):
                    return True
                # cannot be placed: perhaps since a list of items counted as fitting
                if found.best is not None and self.items.settle(found.best.lists):
                    continue
                self.choosing = found.best is not None
            if self.choosing:
                if not self._choose(program, top, until):
                    return False
                if self._goal() <= top:
                    return True
            rest.pop(0)
            if rest:
                now = self.progress.seconds()
                further = low + rest[0] * (self._goal() - low)
                most = REPRICING[0] + REPRICING[1] * (now - began)
                end = now + min(most, REPRICING_SHARE * (until - now))
                self.repricing.improve(program, make, further, partial(self.over, end))
        return True

    def _choose(self, program: Timeline, top: float, until: float) -> bool:
        """Place the least path below ``top`` that can be placed; return whether that is done."""

        def stop() -> bool:
            return self.over(until)

        found = program.least(top, stop, keep=True)
        graph = program.graph() if found.finished else None
        if graph is None:
            return False
        for path in Paths(program, graph, top).best_first(stop):
            if path is None:
                return False
            if self.items.settle(path.lists) or refuted(path, self.items):
                continue
            how = self._place(path, until - self.progress.seconds())
            if how == "infeasible":  # from here on it is CP-SAT's word, too
                self.by = Implementation.CP_SAT
                continue
            self._claim(path.value)
            return how in ("optimal", "feasible")
        self._claim(top)
        return True

    def _claim(self, least: float) -> None:
        """Claim that nothing is below a value."""
        exact = float(round_up(self.search.inst, Fraction(least * (1 - SAFE))))
        assert self.progress.value is not None
        self.progress.claim(self.by, min(exact, self.progress.value))

    def _place(self, path: Path, seconds: float) -> str:
        """Look for a schedule on single servers as a path says; return how that ended."""
        return Program(self.jobs, path.choices).solve(
            self.progress,
            threads=self.search.threads,
            seed=self.search.seed,
            claim=False,
            seconds=max(0.0, seconds),
        )
