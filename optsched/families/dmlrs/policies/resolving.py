"""The policy `re-solve`, on the program of `dmlrs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule
from optsched.families.dmlrs.optimum.monolithic_mip import schedule_of, variables
from optsched.scheduling.online.resolving import ReSolve


class Resolving(ReSolve):
    """See `ReSolve`: workers and parameter servers are decided slot by slot. Guarantee: none."""

    family = "dmlrs"
    slots: ClassVar[Mapping[str, int]] = {"inner": 1, "outer": 1, "w": 1, "s": 1}

    def variables(self, inst: DmlrsInstance, slot: int) -> int:  # noqa: ARG002
        """Return about how many variables the program has."""
        return variables(inst)

    def schedule(self, inst: DmlrsInstance, model: Any) -> DmlrsSchedule:
        """Read the schedule out of a solved model: the jobs that complete."""
        return schedule_of(inst, model)
