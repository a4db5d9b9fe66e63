"""The policy `re-solve`, on the program of `oasis`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from optsched.families.oasis.optimum import monolithic_mip
from optsched.scheduling.online.resolving import ReSolve


class Resolving(ReSolve):
    """See `ReSolve`: workers and parameter servers are decided slot by slot. Guarantee: none."""

    family = "oasis"
    mip: ClassVar = monolithic_mip
    slots: ClassVar[Mapping[str, int]] = {"y": 2, "z": 2}
