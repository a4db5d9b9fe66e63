"""The policy `re-solve`, on the program of `oasis`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.monolithic_mip import schedule_of, variables
from optsched.scheduling.online.resolving import ReSolve


class Resolving(ReSolve):
    """See `ReSolve`: workers and parameter servers are decided slot by slot. Guarantee: none."""

    family = "oasis"
    slots: ClassVar[Mapping[str, int]] = {"y": 2, "z": 2}

    def variables(self, inst: OasisInstance, slot: int) -> int:  # noqa: ARG002
        """Return about how many variables the program has."""
        return variables(inst)

    def schedule(self, inst: OasisInstance, model: Any) -> OasisSchedule:
        """Read the schedule out of a solved model: the jobs that complete."""
        return schedule_of(inst, model)
