"""Weak duality: a method's rates and prices become a schedule and a certificate.

The feasibility check recomputes the utility of the rates and the checker the dual function of the
prices (Boyd and Vandenberghe, 2004).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.bot.certificate.check import BotCertificate, Prices
from optsched.families.bot.instance import BotInstance, BotSchedule
from optsched.families.bot.loads import filled
from optsched.numbers.arrays import Floats
from optsched.process import work_units

JUDGING = 0.3, 0.01  # work units of a check, and per pair


def report(inst: BotInstance, progress: Progress, rho: Floats) -> None:
    """Report rates (K, N), scaled to the largest load; the feasibility check values them."""
    work_units.spend(JUDGING[0] + JUDGING[1] * rho.size)
    rho = filled(inst, rho)
    if np.isfinite(rho).all():
        progress.incumbent(math.inf, BotSchedule.of(rho))


def settle(inst: BotInstance, progress: Progress, levels: Sequence[Prices]) -> None:
    """Report prices and their bound."""
    work_units.spend(JUDGING[0] + JUDGING[1] * inst.present.size * len(levels))
    certificate = BotCertificate(instance_sha256=progress.digest, levels=tuple(levels))
    try:
        progress.tighten(progress.check(certificate), lambda: certificate)
    except ValueError:  # prices of a solver that was stopped may bound nothing
        return
