"""The policy `re-solve`, on the program of `dmlrs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from optsched.families.dmlrs.optimum import monolithic_mip
from optsched.scheduling.online.resolving import ReSolve


class Resolving(ReSolve):
    """See `ReSolve`: workers and parameter servers are decided slot by slot. Guarantee: none."""

    family = "dmlrs"
    mip: ClassVar = monolithic_mip
    slots: ClassVar[Mapping[str, int]] = {"inner": 1, "outer": 1, "w": 1, "s": 1}
