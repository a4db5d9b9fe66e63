"""Kernel: an inequality that holds for everything that machines of one class can host."""

from __future__ import annotations

import numpy as np

from optsched.kernels import kernel
from optsched.scheduling.patterns import STEPS, best_pattern
from optsched.scheduling.slots import Floats, Ints, plain_int

TINY = 1e-9
ENOUGH = 1e-6  # a packing that needs this little more than there is, relatively, is not cut off


@kernel
def packing_cut(
    number: Floats,
    demand: Floats,
    capacity: Floats,
    upper: Ints,
    count: int,
    rounds: int,
    nodes: int,
    weight: Floats,
) -> float:
    """Find weights that no machine exceeds 1 with, and ``number`` exceeds by as much as possible.

    Column generation of Gilmore and Gomory, in reverse: the fewest machines (in fractions) that
    host ``number``, and their dual prices. Any weights made so are valid, whenever it stops.

    Parameters
    ----------
    number : array of shape (I,)
        Workers of each job in a slot, in fractions.
    demand : array of shape (I, R)
    capacity : array of shape (R,)
        Of one machine.
    upper : array of shape (I,)
        The most workers of each job.
    count : int
        Machines that there are: it stops once ``number`` is known to fit.
    rounds, nodes : int
        Limits of the iterations, and of `best_pattern`.
    weight : array of shape (I,)
        Receives the weights: at least 0, and ``weight @ pattern <= 1`` for every pattern.

    Returns
    -------
    float
        ``weight @ number``: machines that are needed at least.
    """
    jobs, resources = demand.shape
    weight[:] = 0.0
    item, most = np.empty(jobs, np.int64), np.empty(jobs, np.int64)
    m = 0
    for i in range(jobs):
        fit = upper[i] if number[i] > 0.0 else 0
        for r in range(resources):
            if demand[i, r] > 0.0:
                fit = min(fit, int(capacity[r] // demand[i, r]))
        if fit > 0:
            item[m], most[m] = i, fit
            m += 1
    item, most = item[:m], most[:m]
    need, want = demand[item], number[item]
    # the basis: at first, machines full of one job
    inverse, cost, x = np.zeros((m, m)), np.ones(m), want / most
    for k in range(m):
        inverse[k, k] = 1.0 / most[k]
    lower, pattern = np.zeros(m, np.int64), np.empty(m, np.int64)
    steps = plain_int(STEPS)
    column = np.empty(m)
    least = 0.0
    for _ in range(rounds):
        if cost @ x <= count * (1.0 + ENOUGH):
            break
        dual = cost @ inverse
        worst = int(np.argmin(dual))
        if dual[worst] < -TINY:  # more than the number may be hosted
            column[:] = 0.0
            column[worst] = -1.0
            price = 0.0
        else:
            value = np.maximum(dual, 0.0)
            top = best_pattern(value, need, capacity, lower, most, pattern, nodes, steps)
            needed = float(value @ want) / top
            if needed > least:
                least = needed
                weight[item] = value / top
            column[:] = pattern
            price = 1.0
            if value @ column <= 1.0 + ENOUGH:
                break
        direction = inverse @ column
        leave, step = -1, np.inf
        for k in range(m):
            if direction[k] > TINY and x[k] / direction[k] < step:
                leave, step = k, x[k] / direction[k]
        if leave < 0:
            break
        for k in range(m):
            if k != leave:
                x[k] = max(0.0, x[k] - step * direction[k])
                inverse[k] -= direction[k] / direction[leave] * inverse[leave]
        inverse[leave] /= direction[leave]
        x[leave], cost[leave] = step, price
    return least
