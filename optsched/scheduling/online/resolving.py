"""The policy `re-solve`: solve the family's program of all jobs that have arrived, again and again.

At every arrival it takes the best schedule of all known jobs, given the earlier decisions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.problem import Family, Information, InputError, PolicyError, Prior, get_family
from optsched.scheduling.jobs import Arrivals, ChunkedJob
from optsched.scheduling.placement import Placement
from optsched.solvers import silent_pyomo, solve_mip, written
from optsched.solvers.status import TOLERANCE


class ReSolve:
    """Solves the program of the arrived jobs, and follows the solution until others arrive.

    The variables of earlier slots keep their values, so a job that has begun is completed.
    Guarantee: none. The program is solved to a relative gap, or for an amount of work, so a run
    comes out the same on any machine. Where that leads to nothing, the last solution stays, if it
    is one without the new jobs.

    Parameters
    ----------
    most : int
        Variables of the program, about. If the arrived jobs need more, the run ends.
    effort : float
        Work on one program, in units of about a millisecond.
    gap : float
        Relative gap at which a program counts as solved.
    window : float
        It also knows the jobs that arrive within this many slots.
    coming : sequence of Arrivals
        Where it finds them: all arrivals.
    """

    name = "re-solve"
    information: Information = "after"
    knows: tuple[str, ...] = ()
    family: ClassVar[str]
    slots: ClassVar[Mapping[str, int]]
    """The variables that are decided slot by slot -> position of the slot in their index."""
    mip: ClassVar[Any]
    """The module with the size of the program, `variables`, and how it is read, `schedule_of`."""

    def __init__(
        self,
        most: int = 20_000,
        effort: float = 2000.0,
        gap: float = 0.001,
        window: float = 0.0,
        coming: Sequence[Arrivals] = (),
    ) -> None:
        if not (most >= 1 and effort > 0 and gap >= 0 and window >= 0):
            raise InputError(
                f"re-solve: most {most}, effort {effort}, gap {gap}, window {window}, "
                "expected most >= 1, effort > 0, gap >= 0, window >= 0"
            )
        self.most, self.effort, self.gap = most, effort, gap
        self.window, self.coming = window, coming

    def start(self, public: Any, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Begin without jobs."""
        self.platform = {name: getattr(public, name) for name in type(public).model_fields}
        self.known: list[int] = []  # the jobs of the program, by their index in the instance
        self.jobs: list[ChunkedJob] = []
        self.ahead = deque(self.coming)
        self.values: dict[tuple[str, Any], float] = {}  # of the last program's variables
        self.plan: Any = None  # the schedule of the known jobs

    @property
    def record(self) -> Family:
        """The family's record."""
        return get_family(self.family)

    def step(self, event: Arrivals) -> Mapping[int, Any]:
        """Solve again if jobs have arrived; return the plan's placements in this slot."""
        arrived = dict(event.jobs)
        while self.ahead and self.ahead[0].slot <= event.slot + self.window:
            arrived |= self.ahead.popleft().jobs
        new = [i for i in arrived if i not in self.known]
        if new:
            self.known += new
            self.jobs += [arrived[i] for i in new]
            self._solve(event.slot)
        return {} if self.plan is None else self.now(event.slot)

    def _solve(self, slot: int) -> None:
        content = {**self.platform, "jobs": tuple(self.jobs)}
        inst: Any = self.record.instance(**content)
        size = self.variables(inst, slot)
        if size > self.most:
            raise PolicyError(
                f"policy re-solve: slot {slot}: the program of the {len(self.jobs)} jobs that have "
                f"arrived has about {size} variables, expected at most {self.most}: a smaller "
                "instance, or another policy"
            )
        with silent_pyomo():
            model = self.program(inst, slot)
            program = written(model)
        keys = [(v.parent_component().name, v.index()) for v in program.variables]
        low, high = program.range
        start = np.array([self.values.get(key, 0.0) for key in keys])
        for j, (name, index) in enumerate(keys):
            if name in self.slots and index[self.slots[name]] < slot:
                low[j] = high[j] = start[j]
        found = solve_mip(
            program.cost,
            program.rows,
            *program.row_range,
            low,
            high,
            program.integer,
            start=start,
            gap=self.gap,
            effort=self.effort,
        )
        x = start if found.x is None else found.x
        if found.x is None and not _within(program.rows @ start, program.row_range):
            raise PolicyError(
                f"policy re-solve: slot {slot}: no schedule of the {len(self.jobs)} jobs that have "
                f"arrived was found within effort {self.effort:g}, expected a smaller instance, or "
                "more effort"
            )
        self.values = dict(zip(keys, x.tolist(), strict=True))
        for variable, value in zip(program.variables, x.tolist(), strict=True):
            variable.set_value(value, skip_validation=True)
        self.plan = self.mip.schedule_of(inst, model)

    def program(self, inst: Any, slot: int) -> Any:  # noqa: ARG002
        """Return the program of the jobs that have arrived."""
        assert self.record.program is not None
        return self.record.program(inst)

    def variables(self, inst: Any, slot: int) -> int:  # noqa: ARG002
        """Return about how many variables the program has."""
        return int(self.mip.variables(inst))

    def now(self, slot: int) -> Mapping[int, Any]:
        """Return the plan's placements in a slot, as a decision of the family."""
        placed = {}
        for i, known, job in zip(self.known, self.jobs, self.plan.jobs, strict=False):
            if job is not None and known.arrival <= slot:
                sides = [{h: n for t, h, n in side if t == slot} for side in (job.workers, job.ps)]
                placed[i] = Placement(*sides)
        return placed


def _within(activity: Floats, limits: tuple[Floats, Floats]) -> bool:
    """Return whether rows are satisfied, but for rounding."""
    slack = TOLERANCE * np.maximum(1.0, np.abs(activity))
    return bool(np.all((activity >= limits[0] - slack) & (activity <= limits[1] + slack)))
