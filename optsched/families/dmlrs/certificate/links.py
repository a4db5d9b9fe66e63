"""Integer kernels of the checker: placements of a job in a slot in the reading "link".

They price the slots of the job's subproblem in the Lagrangian dual bound (Geoffrion, 1974). In the
reading "link" it is enough that all parameter servers (PS) sit on one machine. Suppose they sit on
k of them, with s_h on machine h, together with w_h of the n workers. The flow is

    sum over h of (w_h b_in + (n - w_h) b_ex),

over the machines with PS, which is what each of these machines would serve if it had all PS, added
up. So one of them has PS enough to serve all workers alone: the others can go, no worker moves,
and the workers on the machine of the PS that remain become faster. (Within the tolerance as well:
it only grows when a sum is divided.) So a slot's placement is a number of workers on the machine of
the PS, and a number elsewhere.
"""

from __future__ import annotations

import numpy as np

from optsched.families.dmlrs.certificate.kernels import NONE, holds
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel


@kernel
def linked_costs(
    worker: Ints,
    ps: Ints,
    free: Ints,
    count: Ints,
    alpha: Ints,
    beta: Ints,
    needed: Ints,
    steps: Floats,
) -> Ints:
    """Return the least cost of a workers with all PS and b elsewhere, shape of ``needed``.

    Parameters
    ----------
    worker, ps : shape (C,)
        Price of one worker, one PS, on a machine of each class.
    free : shape (C, R), units
    count : shape (C,)
    alpha, beta : shape (R,), units of a worker, a PS
    needed : shape (K + 1, K + 1)
        PS that they need, below 0: impossible.
    steps : shape (2,)
        Elementary steps so far; returns at once if they exceed the second number.
    """
    most, zero = needed.shape[0] - 1, int(np.int64(0))  # no literal: `holds` is compiled once
    cost = np.full(needed.shape, NONE, np.int64)
    cost[0, 0] = 0
    max_units = np.zeros(worker.size, np.int64)  # workers on one machine
    for c in range(worker.size):
        while max_units[c] < most and holds(free[c], alpha, beta, max_units[c] + 1, zero):
            max_units[c] += 1
    order = np.argsort(worker)
    far = np.empty(most + 1, np.int64)
    steps[0] += needed.size
    for c in range(worker.size):
        if steps[0] > steps[1]:
            return cost
        far[:] = NONE  # cost of workers on all machines but one of class c, cheapest first
        far[0], placed = 0, 0
        for k in order:
            for _ in range(min(most, (count[k] - (k == c)) * max_units[k])):
                if placed < most:
                    far[placed + 1] = far[placed] + worker[k]
                    placed += 1
        steps[0] += order.size + 4 * (most + 1) * (placed + 1)
        for a in range(most + 1):
            for b in range(placed + 1):
                m = needed[a, b]
                if m >= 0 and a + b > 0 and holds(free[c], alpha, beta, a, m):
                    cost[a, b] = min(cost[a, b], a * worker[c] + m * ps[c] + far[b])
    return cost


@kernel
def linked_options(cost: Ints, rates: Ints, total: int, low: int, high: int) -> tuple[Ints, Ints]:
    """Return the work and cost of the options of a slot, both rising; dominated options left out.

    ``cost`` is that of `linked_costs`, ``rates`` (2,) the work of a worker on
    the machine of its PS, and elsewhere.
    """
    most = cost.shape[0] - 1
    work, price = np.empty(cost.size, np.int64), np.empty(cost.size, np.int64)
    n = 0
    for a in range(most + 1):
        for b in range(most + 1 - a):
            if a + b > 0 and low <= a + b <= high and cost[a, b] < NONE:
                near = total if a > total // rates[0] else a * rates[0]
                rest = total if b > total // rates[1] else b * rates[1]
                work[n], price[n] = min(total, near + rest), cost[a, b]
                n += 1
    kept, least = 0, NONE
    out, paid = np.empty(n, np.int64), np.empty(n, np.int64)
    for k in np.argsort(work[:n])[::-1]:
        if price[k] < least:
            if kept > 0 and out[kept - 1] == work[k]:
                kept -= 1
            out[kept], paid[kept] = work[k], price[k]
            least = price[k]
            kept += 1
    return out[:kept][::-1].copy(), paid[:kept][::-1].copy()
