"""Initial bounds: the Lagrangian dual bound at capacity prices 0, and the empty schedule.

See Geoffrion (1974). It needs no compiled kernel, so every solve starts with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from optsched.families.bipartite.certificate.check import BITS, BipartiteCertificate, Prices
from optsched.families.bipartite.instance import BipartiteInstance, BipartiteSchedule
from optsched.families.bipartite.instance_utilities import LOG, POLY, RECIPROCAL
from optsched.numbers.arrays import Floats, Ints


def empty(inst: BipartiteInstance) -> BipartiteSchedule:
    """Return the schedule of zero amounts."""
    return always(inst, np.zeros(inst.arrays.channels))


def always(inst: BipartiteInstance, y: Floats) -> BipartiteSchedule:
    """Return the schedule that uses one decision in all slots."""
    return BipartiteSchedule.model_construct(
        decisions=(tuple(y.tolist()),), used=(0,) * inst.horizon, rewards=(), record=None
    )


def opening(inst: BipartiteInstance) -> tuple[float, Callable[[], BipartiteCertificate]]:
    """Return a bound on all schedules, and the data of its certificate: capacity costs nothing.

    Every job gets all that it may have on every machine; its overhead is left out of the bound,
    but not of the certificate, which proves no more.
    """

    def certificate() -> BipartiteCertificate:
        a = inst.arrays
        one = Prices.model_construct(
            share=((2**BITS,) + (0,) * (a.resources - 1)) * a.copies, nu=(0,) * len(a.capacity)
        )
        return BipartiteCertificate(
            instance_sha256=inst.digest(),
            scope="slots",
            share_bits=BITS,
            nu_bits=0,
            prices=(one,),
            assigned=(0,) * len(inst.patterns[0]),
        )

    # the common tolerance, and rounding: of fewer than 2**24 numbers >= 0
    return math.fsum((most_gains(inst) * inst.counts).tolist()) * (1 + 1e-8), certificate


def most_gains(inst: BipartiteInstance) -> Floats:
    """Return the gain of each copy from its full requests, shape (C,)."""
    a = inst.arrays
    y = np.minimum(a.upper, a.capacity[a.row])
    if a.summed:
        owners = a.port * a.resources + a.row % a.resources
        sums = np.bincount(owners, y, minlength=a.copies * a.resources).astype(np.float64)
        each: Floats = gains_of(*a.of_sum, sums.reshape(a.copies, -1))
        return np.asarray(each.sum(axis=1), dtype=np.float64)
    gains = gains_of(a.kind[a.row], a.alpha[a.row], y)
    return np.bincount(a.port, gains, minlength=a.copies).astype(np.float64)


CURVED: tuple[tuple[int, Callable[[Floats, Floats], Floats]], ...] = (
    # kind, and f(y) of (60) of many channels at once, of alpha and y
    (LOG, lambda alpha, y: alpha * np.log1p(y)),
    (RECIPROCAL, lambda alpha, y: y / (alpha * (y + alpha))),
    (POLY, lambda alpha, y: alpha * y / (np.sqrt(y + 1) + 1)),
)


def gains_of(kind: Ints, alpha: Floats, y: Floats) -> Floats:
    """Return f(y) of (60) of many channels at once."""
    gains = alpha * y
    for which, gained in CURVED:
        gains = np.where(kind == which, gained(alpha, y), gains)
    return gains
