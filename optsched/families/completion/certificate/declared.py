"""Dual bound at the capacity duals of the linear relaxation of (2), (15), in integers.

Weak duality with directed rounding (Neumaier and Shcherbina, 2004). The relaxation may split a job
over modes, starts and servers. At prices of capacity, a unit of mode k from slot t on costs

    w (t + d) + n min_c W_c + min_c S_c                            q = 0, parameter servers (PS)
    w (t + d) + n (1 - 1 / M) min_c W_c + min_c (n W_c / M + S_c)  q = 1, PS
    w (t + d) + n min_c W_c                                        ring

with W_c and S_c the price of a worker and a PS on class c in all of its slots, and M the most PS
that any mode of any job needs: big-M of (2i) lets one PS sit where 1 / M of the workers do, and
does not involve bandwidths. So no job costs less than its cheapest unit.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from optsched.families.completion.certificate.bound import BoundEvaluator, ScaledPrices
from optsched.families.completion.certificate.kernels import FAR, CumulativeCosts
from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel
from optsched.numbers.overflow import INT64


class StartWindows(NamedTuple):
    """When a unit may run."""

    first: int  # start
    latest: int  # start
    end: int  # the slot by which it ends


def relaxed_bound(evaluation: BoundEvaluator, priced: ScaledPrices) -> Fraction | None:
    """Return the bound; None where a job has no schedule."""
    inst, most = evaluation.inst, most_servers(evaluation)
    total = -priced.charge
    for j, modes in enumerate(evaluation.modes):
        arrival, weight = inst.jobs[j].arrival, int(priced.weights[j])
        free = max(arrival, priced.costs.worker.shape[1] - 1)  # from here on, later is no cheaper
        starts = StartWindows(arrival, free, FAR if inst.deadline is None else inst.deadline)
        found = np.zeros(2, np.int64)
        least = cheapest_unit(modes, starts, weight, most, inst.ring, priced.costs, found)
        if least == INT64:
            return None
        total += int(least)
    return total * Fraction(2) ** -priced.grid


def most_servers(evaluation: BoundEvaluator) -> int:
    """Return M, the most PS that any mode needs."""
    if evaluation.inst.ring:
        return 1
    needed = evaluation.platform.needed
    of_jobs = (needed[m[:, 1], m[:, 2], m[:, 4]] for m in evaluation.modes if len(m))
    return max((int(found.max()) for found in of_jobs), default=1)


@kernel
def cheapest_unit(
    modes: Ints,
    starts: StartWindows,
    weight: int,
    most: int,
    ring: bool,
    costs: CumulativeCosts,
    found: Ints,
) -> int:
    """Return what a unit of the job costs at least, rounded down; INT64 if it has no schedule.

    No number is greater than those that `BoundEvaluator` sees to.

    Parameters
    ----------
    modes : shape (G, 5)
        Rows [duration, worker type, PS type, q, workers], by duration.
    starts : StartWindows
    weight, most : int
    ring : bool
    costs : CumulativeCosts
    found : shape (2,)
        Receives the mode and the start.
    """
    least = INT64
    slots = costs.worker.shape[1] - 1
    for k in range(modes.shape[0]):
        d, m, p, q, n = modes[k, 0], modes[k, 1], modes[k, 2], modes[k, 3], modes[k, 4]
        for t in range(starts.first, min(starts.latest, starts.end - d) + 1):
            cost = weight * (t + d)
            if cost >= least:
                break
            a, b = min(t, slots), min(t + d, slots)
            worker = costs.worker[m, b] - costs.worker[m, a]
            cost += n * worker.min()
            if not ring:
                ps = costs.ps[p, b] - costs.ps[p, a]
                if q == 0:
                    cost += ps.min()
                else:
                    cost -= -(-n * worker.min() // most)
                    cost += (n * worker // most + ps).min()
            if cost < least:
                least = cost
                found[0], found[1] = k, t
    return least
