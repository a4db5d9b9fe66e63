"""The policy `re-solve`, on the program of `completion`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from optsched.families.completion.instance import CompletionInstance, Piece
from optsched.families.completion.modes import Cluster
from optsched.families.completion.optimum import monolithic_mip
from optsched.problem import PolicyError
from optsched.scheduling.online.resolving import ReSolve


class Resolving(ReSolve):
    """See `ReSolve`: starts are decided slot by slot, and no job is stopped. Guarantee: none."""

    family = "completion"
    mip: ClassVar = monolithic_mip
    slots: ClassVar[Mapping[str, int]] = {"x": 2, "y": 2, "s": 2, "u": 2}

    def _solve(self, slot: int) -> None:
        """Solve again; where jobs cannot all end by the deadline, some end after it."""
        self.in_time = bool(self.platform["enforce_horizon"])
        try:
            super()._solve(slot)
        except PolicyError:
            if not self.in_time:
                raise
            self.in_time = False
            super()._solve(slot)

    def ends(self, inst: CompletionInstance, slot: int) -> list[int]:
        """Return by which slot jobs end: one after the other, behind the planned ones, they can."""
        cluster = Cluster(inst)
        shortest = [cluster.task(job).modes.shortest or 0 for job in inst.jobs]
        arrivals = zip(inst.jobs, shortest, strict=True)
        if self.in_time and all(job.arrival + d <= inst.horizon for job, d in arrivals):
            return [inst.horizon] * len(inst.jobs)
        planned = [] if self.plan is None else [pieces[-1].end for pieces in self.plan.jobs]
        begun = max([slot, *(job.arrival for job in inst.jobs), *planned])
        return [begun + sum(shortest[len(planned) :])] * len(inst.jobs)

    def variables(self, inst: CompletionInstance, slot: int) -> int:
        """Return about how many variables the program has."""
        return monolithic_mip.variables(inst, self.ends(inst, slot))

    def program(self, inst: CompletionInstance, slot: int) -> Any:
        """Return the program of the jobs that have arrived."""
        assert self.record.program is not None
        return self.record.program(inst, self.ends(inst, slot))

    def now(self, slot: int) -> Mapping[int, list[Piece]]:
        """Return the jobs that start; after the last slot of arrivals, all that are left."""
        last = slot == self.platform["horizon"]
        return {
            j: list(pieces)
            for j, pieces in zip(self.known, self.plan.jobs, strict=True)
            if pieces[0].start == slot or (last and pieces[0].start > slot)
        }
