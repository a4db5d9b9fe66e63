"""Neighborhood search on a scheduling board, and what it reports.

See `search` (Shaw, 1998). A family adds the prices at which its board inserts jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.random import Generator

from optsched.engine.progress import Progress
from optsched.engine.search import LnsParams, improve
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.problem import Schedule
from optsched.scheduling.board import FACTORS, JobPlan, PricedBoard, plan_of, planned_jobs


class Neighborhood:
    """A board, and the search on it.

    Parameters
    ----------
    board : PricedBoard
    payoff : array of shape (I,)
        The most that each job can earn; jobs of payoff 0 are not tried.
    kinds : pair of callables
        Make the schedule of a job, and that of all jobs.
    params : LnsParams
    """

    weights: list[float] | None = None  # see `improve`

    def __init__(
        self,
        board: PricedBoard,
        payoff: Floats,
        kinds: tuple[Callable[..., Any], Callable[..., Schedule]],
        params: LnsParams,
    ) -> None:
        self.board, self.payoff = board, payoff
        self.kinds, self.params = kinds, params

    def plans_of(self, schedule: Any) -> dict[int, JobPlan]:
        """Return the plans of a feasible schedule, of jobs that earn."""
        plans = {}
        for i, job in enumerate(schedule.jobs):
            if job is None:
                continue
            plan = plan_of(job, self.board.requests[i].utility)
            if plan.value > 0:
                plans[i] = plan
        return plans

    def search(
        self,
        progress: Progress,
        *,
        seed: int,
        start: int,
        done: Callable[[], float],
        met: Callable[[Mapping[int, JobPlan]], None] = lambda _: None,
    ) -> dict[int, JobPlan]:
        """Search from the present state; report every better schedule; return the best plans.

        ``met`` is called with every better state, whether it is reported or not.
        """
        self.progress, self.met = progress, met
        self.keep()
        self.report()
        met(self.best)
        self.moves(Streams(seed)("neighbourhood", start), done)
        progress.incumbent(self.value, self.schedule(self.best))
        return self.best

    def moves(self, rng: Generator, done: Callable[[], float]) -> None:
        """Change the state until ``done``, the share of the time that has passed, is 1."""
        improve(
            self.board,
            self.payoff.tolist(),
            self.board.windows,
            len(FACTORS),
            rng,
            done=done,
            found=self.found,
            weights=self.weights,
            arrived=self.arrived,
            params=self.params,
        )

    def keep(self) -> None:
        """Note the state as the best."""
        self.best, self.value = dict(self.board.plans), self.board.value

    def report(self) -> None:
        """Report the best state."""
        self.progress.incumbent(self.value, self.schedule(self.best))
        self.reported = self.progress.seconds()

    def found(self) -> None:
        """Note that the state is better than ever before."""
        self.keep()
        self.met(self.best)
        # checking a schedule takes a while: not every step is reported at once
        if self.progress.seconds() > self.reported + 2.0:
            self.report()

    def arrived(self) -> bool:
        """Put a better state of another search on the board; return whether there was one."""
        return False

    def schedule(self, plans: Mapping[int, JobPlan]) -> Any:
        """Turn plans into a schedule."""
        job, whole = self.kinds
        return whole(jobs=planned_jobs(len(self.payoff), plans, job))
