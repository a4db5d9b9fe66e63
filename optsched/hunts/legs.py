"""Searches in legs of about a second, here or in other processes.

This is a campaign in which a cell follows from the one before it. A search is a function of its
seed and of what its evaluations say. So a process that takes up one which another has begun repeats
it up to there, with the evaluations that are known.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from optsched.campaigns.crews.queue import Queue
from optsched.hunts.evaluation import Evaluation, Judge, Terms, TheoremError, Trophy
from optsched.hunts.notebook import KEY, Notebook, Rows
from optsched.hunts.search import Search
from optsched.numbers.boxes import Data
from optsched.problem import Instance, family_or_problem
from optsched.process import blas, interrupts

SECONDS = 1.0  # of a leg


@dataclass(frozen=True)
class Reached:
    """What came of a leg."""

    rows: Rows  # new ones, by instance
    count: int  # evaluations of the search so far
    trophy: Trophy | None  # the best so far; None: nothing counts yet, or it is no better
    wall: float
    when: int = 0  # the evaluation that has found it


@dataclass(frozen=True)
class Leg:
    """The next part of the search of a seed."""

    terms: Terms
    seed: int
    goal: int  # evaluations
    rows: Rows = field(repr=False)
    count: int = 0  # evaluations before this leg
    kind = ""

    @property
    def _key(self) -> tuple[str, int]:
        return self.terms.model_dump_json(), self.seed

    @property
    def mark(self) -> tuple[int, int]:
        """Which one it is."""
        return self.seed, self.count

    def compute(self) -> Reached:
        """Search for about a second; what a signal has cut short does not count."""
        began = time.perf_counter()
        with blas.one_thread():  # as many as there are processes are at work
            running = _running.get(self._key)
            if running is None or running.search.count != self.count:
                running = _running[self._key] = _Running(self)
            running.new = {}
            while running.search.count < self.goal:
                if interrupts.asked() is not None:
                    break
                running.step(self.rows)
                ahead = running.search.count > self.count
                if running.trophy is not None and running.trophy.excess:
                    break
                if ahead and time.perf_counter() - began >= SECONDS:
                    break
            trophy = running.prize()
        if running.search.count >= self.goal:
            del _running[self._key]
        wall = time.perf_counter() - began
        return Reached(running.new, running.search.count, trophy, wall, running.when)


class _Running:
    """A search that this process has in hand."""

    def __init__(self, leg: Leg) -> None:
        family = family_or_problem(leg.terms.family)
        assert family.box is not None  # the hunt has seen to it
        box = family.box(leg.terms.preset, **leg.terms.sizes)
        self.judge = Judge(family, leg.terms)
        self.search = Search(family, box, leg.terms, leg.seed, self.ask)
        self.steps: Iterator[Any] = self.search.steps()
        self.known: Rows = {}
        self.new: Rows = {}
        self.trophy: Trophy | None = None
        self.when = 0
        self._asked: Instance | None = None
        self._record: Instance | None = None  # the best

    def ask(self, instance: Instance, _data: Data) -> Evaluation:
        """Return an evaluation that is known, or make it."""
        key = instance.digest()[:KEY]
        self._asked = instance
        self.judge.last = None
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.judge(instance)
            if interrupts.asked() is None:
                self.new[key] = found
        return found

    def step(self, rows: Rows) -> None:
        """Make the next evaluation."""
        if len(rows) > len(self.known):
            self.known = rows | self.known
        before = self.search.best
        next(self.steps)
        last = self.judge.last
        if last is not None and last.excess:
            self.trophy = last
        elif self.search.best is not before:
            self.trophy, self.when = last, self.search.count
            self._record = self._asked

    def prize(self) -> Trophy | None:
        """Return the best instance with its schedules; if they are not known any more, again."""
        if self.trophy is None and self.search.best is not None and interrupts.asked() is None:
            assert self._record is not None  # there is a best one
            self.judge(self._record)
            self.trophy = self.judge.last
        return self.trophy


_running: dict[tuple[str, int], _Running] = {}  # searches that this process has begun


class Legs(Queue[Leg]):
    """The legs of all searches of a hunt: the next one is there when the one before is done."""

    def __init__(self, seeds: Sequence[int], goal: int, notebook: Notebook) -> None:
        super().__init__()
        self._notebook, self._goal = notebook, goal
        self._waiting = deque(Leg(notebook.terms, seed, goal, notebook.rows) for seed in seeds)
        self._left[""] = len(seeds)
        self.counts = dict.fromkeys(seeds, 0)
        self.best: Trophy | None = None
        self.when = 0
        self.cells = len(seeds) * goal

    def is_empty(self) -> bool:
        """Whether nothing waits to be begun."""
        return not self._waiting

    def next(self) -> list[Leg]:
        """Return the next leg."""
        return [self._waiting.popleft()]

    def take(self, task: Leg, found: Reached) -> None:
        """Keep what a leg has found, and begin the next one.

        Raises
        ------
        TheoremError
            A ratio exceeds what theory guarantees for its instance.
        """
        self._notebook.add(found.rows)
        self.counts[task.seed] = found.count
        self.done = sum(self.counts.values())
        trophy = found.trophy
        if trophy is not None and (trophy.excess or self._is_better(trophy)):
            self.best, self.when = trophy, found.when
        if self.best is not None and self.best.excess:
            raise TheoremError(self.best.excess)
        if found.count < self._goal:
            rows = self._notebook.rows
            self._waiting.append(Leg(task.terms, task.seed, self._goal, rows, found.count))
            self._left[""] += 1

    def _is_better(self, trophy: Trophy) -> bool:
        return self.best is None or trophy.found.low > self.best.found.low

    def give_up(self, task: Leg, reason: str) -> None:
        """Say what went wrong.

        Raises
        ------
        RuntimeError
            Names the search.
        """
        raise RuntimeError(f"search of seed {task.seed}: {reason}")

    def flush(self, *, now: bool = False) -> None:
        """Write the notebook; it knows itself whether it is time."""
        if now:
            self._notebook.write()

    def __str__(self) -> str:
        best = (
            "none counts yet" if self.best is None else f"ratio at least {self.best.found.low:.4g}"
        )
        return f"evaluation {self.done} of {self.cells}, {best}"
