"""Integer kernel of the checker: best packing of one slot, by dynamic programming over sets.

Every job sits on at most one machine, together with its parameter servers (PS). Branch and bound
finds the best load of every set of jobs (Horowitz and Sahni, 1974), and a dynamic program assigns
sets to machines (Held and Karp, 1962). All numbers are ``int64``; `limits.ValueGrid` refuses
values of which a sum here would reach ``NONE`` (2**62).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.dmlrs.certificate.kernels import NONE, SURROGATE, share
from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

MOST_JOBS = 12  # with a price in one slot: above it, there are too many sets
MOST_STEPS = 1_000_000  # of the searches on one class of machines


class MachineJobs(NamedTuple):
    """n jobs on one machine, each with up to N workers; R resources."""

    net_value: Ints  # (n, N + 1) of this many workers; -NONE: not allowed
    load: Ints  # (n, N + 1, R) units
    size: Ints  # (n, N + 1) of the load, in one measure of all resources, rounded down
    most: Ints  # (n,) the greatest value
    density: Ints  # (n,) the greatest value per size, rounded up


@kernel
def best_packing(net_value: Ints, load: Ints, capacity: Ints, count: Ints) -> int:
    """Return the greatest value of inner placements on all machines of a slot.

    Parameters
    ----------
    net_value : shape (C, n, N + 1)
        Of n workers of each job on a machine of each class; -NONE: not allowed. No workers are
        of value 0.
    load : shape (n, N + 1, R), units
    capacity : shape (C, R), units
    count : shape (C,)
    """
    classes, n = net_value.shape[:2]
    sets = 1 << n
    total = np.zeros(sets, np.int64)  # of the best packing of a set of jobs on the machines so far
    after, useful = np.empty(sets, np.int64), np.empty(sets, np.int64)
    for c in range(classes):
        value = set_values(net_value[c], load, capacity[c])
        used = 0
        for s in range(1, sets):
            if value[s] > -NONE:
                useful[used] = s
                used += 1
        for _ in range(min(count[c], n)):
            for s in range(sets):
                best = total[s]
                for k in range(used):
                    a = useful[k]
                    if a & ~s == 0:
                        best = max(best, total[s ^ a] + value[a])
                after[s] = best
            total[:] = after
    return int(total[sets - 1])


@kernel
def set_values(net_value: Ints, load: Ints, capacity: Ints) -> Ints:
    """Return for every set of jobs the value of the best load of one machine, or a bound on it.

    -NONE if there is none, or if a subset has the same value; shape (2**n,). The machine has
    ``net_value`` (n, N + 1), ``load`` (n, N + 1, R) and ``capacity`` (R,), in units.
    """
    n = net_value.shape[0]
    most = np.zeros(n, np.int64)
    for j in range(n):
        most[j] = max(0, net_value[j, 1:].max())
    size, density, order, whole = measured(net_value, load, capacity, most)
    options = MachineJobs(net_value, load, size, most, density)
    value, closure = np.full(1 << n, -NONE, np.int64), np.empty(1 << n, np.int64)
    value[0] = closure[0] = 0
    # no literals: numba would compile the callee again for each
    steps, lowest, zero = int(np.int64(MOST_STEPS)), int(np.int64(-NONE)), int(np.int64(0))
    for s in range(1, value.size):
        floor = lowest
        for j in range(n):
            if (s >> j) & 1:
                floor = max(floor, closure[s ^ (1 << j)])
        closure[s] = floor
        members = np.array([j for j in order if (s >> j) & 1], np.int64)
        promise = promised(most, density, members, zero, whole)
        if promise <= floor:
            continue
        found, steps = best_of_set(options, capacity, members, whole, floor, steps)
        if steps <= 0:
            found = promise
        if found > floor:
            value[s] = closure[s] = found
    return value


@kernel
def measured(
    net_value: Ints, load: Ints, capacity: Ints, most: Ints
) -> tuple[Ints, Ints, Ints, int]:
    """Choose the resource, or all of them added up, whose fractional knapsack is the tightest.

    Returns the size of every option, rounded down, the greatest density of every job, rounded up,
    the jobs by falling density, and the size of the machine, which has ``capacity`` (R,). The
    others as in `MachineJobs`.
    """
    n, numbers = net_value.shape
    resources = capacity.size
    size, density = np.zeros((n, numbers), np.int64), np.full(n, NONE, np.int64)
    order, whole, tightest, zero = np.arange(n), 0, NONE, int(np.int64(0))
    for q in range(resources + 1):
        measure, limit = np.zeros((n, numbers), np.int64), zero
        for r in range(resources):
            if capacity[r] > 0 and q in (r, resources):
                limit += SURROGATE
                for j in range(n):
                    for w in range(1, numbers):
                        if net_value[j, w] > -NONE:
                            measure[j, w] += share(load[j, w, r], capacity[r])
        if limit == 0:
            continue
        dense = np.zeros(n, np.int64)
        for j in range(n):
            for w in range(1, numbers):
                if net_value[j, w] > 0:
                    each = net_value[j, w] // measure[j, w] + 1 if measure[j, w] else NONE
                    dense[j] = max(dense[j], each)
        ranked = np.argsort(-dense)
        promise = promised(most, dense, ranked, zero, limit)
        if promise < tightest:
            size, density, order, whole, tightest = measure, dense, ranked, limit, promise
    return size, density, order, whole


@kernel
def promised(most: Ints, density: Ints, members: Ints, first: int, left: int) -> int:
    """Return a bound on the value of the jobs from position ``first`` of ``members`` on.

    The fractional knapsack, where a job has a value of at most ``most``, and ``density`` per unit
    of its size. Sizes are rounded up to whole units; the loss is no more than a
    density. ``most`` and ``density`` have shape (n,), ``members`` (m,) are jobs, the densest first.
    """
    total = 0
    for k in range(first, members.size):
        j = members[k]
        if most[j] <= 0:
            continue
        if density[j] == NONE:
            total += most[j]
            continue
        needed = -(-most[j] // density[j])
        if needed > left:
            return int(total + max(0, left) * density[j])
        total += most[j] + density[j]
        left -= needed
    return int(total)


@kernel
def best_of_set(
    options: MachineJobs, capacity: Ints, members: Ints, whole: int, floor: int, steps: int
) -> tuple[int, int]:
    """Return the greatest value above ``floor`` with workers of all ``members``, else ``floor``.

    Depth first, densest first; also returns how many steps are left: the search is complete if
    there are any.

    Parameters
    ----------
    capacity : shape (R,), units
    members : shape (m,)
        Jobs, the densest first.
    whole : int
        Size of the machine.
    """
    net_value, load, size, most, density = options
    n, resources, numbers = members.size, capacity.size, net_value.shape[1]
    free = np.empty((n + 1, resources), np.int64)
    free[0] = capacity
    left, earned = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    left[0] = whole
    now = np.full(n, numbers, np.int64)
    best, k = floor, 0
    while k >= 0:
        now[k] -= 1
        w, j = now[k], members[k]
        if w == 0:
            now[k] = numbers
            k -= 1
            continue
        fits = net_value[j, w] > -NONE
        for r in range(resources):
            free[k + 1, r] = free[k, r] - load[j, w, r]
            fits = fits and free[k + 1, r] >= 0
        if not fits:
            continue
        steps -= 1
        if steps <= 0:
            break
        left[k + 1] = left[k] - size[j, w]
        earned[k + 1] = earned[k] + net_value[j, w]
        if earned[k + 1] + promised(most, density, members, k + 1, left[k + 1]) <= best:
            continue
        if k + 1 == n:
            best = earned[n]
        else:
            k += 1
    return int(best), steps
