"""Initial bounds: weak duality at one price for all flop, and a feasible schedule, in plain Python.

The Lagrangian dual bound as if tasks traveled at no cost (Geoffrion, 1974).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optsched.families.bot.certificate.check import BotCertificate, Prices, check
from optsched.families.bot.instance import BotInstance, BotSchedule, single


def modest(inst: BotInstance) -> BotSchedule:
    """Return a schedule with positive rates.

    Each of K applications runs on the one node that suits it best, at 1 / K of the rate that it
    could have there alone; so nothing is loaded beyond K / K. (Doing nothing is feasible too, and
    -inf for many utilities.)
    """
    count = len(inst.applications)
    best = [single(inst, k) for k in range(count)]
    return BotSchedule(rates=tuple((n, k, rate / count) for k, (n, rate) in enumerate(best)))


def opening(inst: BotInstance) -> tuple[float, Callable[[], BotCertificate]]:
    """Return the bound of one price for all flop, as if tasks travelled for nothing."""
    prices = Prices.of(inst.present.any(axis=0).astype(float), np.zeros(2 * len(inst.links)))
    certificate = BotCertificate(instance_sha256=inst.digest(), levels=(prices,))
    return check(inst, certificate), lambda: certificate
