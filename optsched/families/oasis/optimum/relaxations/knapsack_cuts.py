"""Knapsack cuts: separation of Fenchel cuts for the knapsack polytope of a machine.

A Fenchel cut (Boyd, 1994) is the most violated inequality that holds for all patterns of a
machine. Column generation after Gilmore and Gomory (1961) computes the fewest machines that host
given fractional numbers of workers; its dual values, scaled as by Farley (1990), are weights under
which every pattern has a total of at most 1, even if column generation stops early.
"""

from __future__ import annotations

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.patterns import STEPS, Knapsacks, best_patterns
from optsched.scheduling.oracle.slots import plain_int


@kernel(nogil=True)
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
    """Find weights under which patterns total at most 1, and ``number`` as much as possible.

    Column generation of Gilmore and Gomory for the (fractional) least number of machines that host
    ``number``; its dual values are the weights. They are valid whenever it stops.

    Parameters
    ----------
    number : array of shape (I,)
        Workers of each job in a slot, in fractions.
    demand : array of shape (I, R)
    capacity : array of shape (R,)
        Units of one worker; of one machine.
    upper : array of shape (I,)
        The most workers of each job.
    count : int
        Machines that there are: it stops once ``number`` is known to fit.
    rounds, nodes : int
        Limits of the iterations, and of `best_patterns`.
    weight : array of shape (I,)
        Receives the weights: at least 0, and ``weight @ pattern <= 1`` for every pattern.

    Returns
    -------
    float
        ``weight @ number``: machines that are needed at least.
    """
    jobs, resources = demand.shape
    item, most = np.empty(jobs, np.int64), np.empty((1, jobs), np.int64)
    m = 0
    for i in range(jobs):
        weight[i] = 0.0
        fit = upper[i] if number[i] > 0.0 else 0
        for r in range(resources):
            if demand[i, r] > 0.0:
                fit = min(fit, int(capacity[r] // demand[i, r]))
        if fit > 0:
            item[m], most[0, m] = i, fit
            m += 1
    machine, need, want = np.empty((1, resources)), np.empty((m, resources)), np.empty(m)
    value, top, column = np.empty((1, m)), np.empty(1), np.empty(m)
    lower, pattern = np.zeros((1, m), np.int64), np.empty((1, m), np.int64)
    # the basis: at first, machines full of one job
    inverse, cost, x = np.zeros((m, m)), np.ones(m), np.empty(m)
    for r in range(resources):
        machine[0, r] = capacity[r]
    for k in range(m):
        want[k] = number[item[k]]
        x[k] = want[k] / most[0, k]
        inverse[k, k] = 1.0 / most[0, k]
        for r in range(resources):
            need[k, r] = demand[item[k], r]
    knapsacks = Knapsacks(value, need, machine, lower, most)
    steps = plain_int(STEPS)
    least = 0.0
    for _ in range(rounds):
        # a packing that needs this little more than there is, relatively, is not cut off
        if cost @ x <= count * (1.0 + 1e-6):
            break
        dual = cost @ inverse
        worst = 0
        for k in range(1, m):
            if dual[k] < dual[worst]:
                worst = k
        if dual[worst] < -1e-9:  # more than the number may be hosted
            for k in range(m):
                column[k] = 0.0
            column[worst] = -1.0
            price = 0.0
        else:
            for k in range(m):
                value[0, k] = max(0.0, dual[k])
            best_patterns(knapsacks, top, pattern, nodes, steps)
            needed = value[0] @ want / top[0]
            for k in range(m):
                if needed > least:
                    weight[item[k]] = value[0, k] / top[0]
                column[k] = pattern[0, k]
            least = max(least, needed)
            price = 1.0
            if value[0] @ column <= 1.0 + 1e-6:
                break
        direction = inverse @ column
        leave, step = -1, np.inf
        for k in range(m):
            if direction[k] > 1e-9 and x[k] / direction[k] < step:
                leave, step = k, x[k] / direction[k]
        if leave < 0:
            break
        for k in range(m):
            if k != leave:
                x[k] = max(0.0, x[k] - step * direction[k])
                share = direction[k] / direction[leave]
                for j in range(m):
                    inverse[k, j] -= share * inverse[leave, j]
        for j in range(m):
            inverse[leave, j] /= direction[leave]
        x[leave], cost[leave] = step, price
    return least
