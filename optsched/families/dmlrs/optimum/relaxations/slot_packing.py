"""Kernel: exact pricing of a slot, a dynamic program over sets of jobs.

A job sits on one machine at most, so every machine gets a set of jobs. Branch and bound finds the
best load of every set (Horowitz and Sahni, 1974), and a dynamic program over the machines assigns
disjoint sets, with subsets of jobs as states (Held and Karp, 1962).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.slots import plain_int

MOST_JOBS = 12  # above it, there are too many sets
MOST_STEPS = 200_000  # of all searches on one class of machines
LOOSE = 1.0 + 1e-9


class Slots(NamedTuple):
    """Values of the jobs in T slots, and prices of the machines of C classes."""

    value: Floats  # (T, I, N + 1) of n workers together; never falls with n
    price: Floats  # (T, R, C) of a unit of capacity
    load: Floats  # (I, N + 1, R) of n workers and their parameter servers; below 0: impossible
    capacity: Floats  # (C, R)
    copies: Ints  # (C,) machines of a class
    upper: Ints  # (T, I) most workers


class PricedMachine(NamedTuple):
    """Knapsack problem of one machine: jobs, their values and loads, prices."""

    value: Floats  # (I, N + 1) of n workers
    price: Floats  # (R,) of a unit
    load: Floats  # (I, N + 1, R) units of n workers
    capacity: Floats  # (R,) units
    upper: Ints  # (I,) most workers
    item: Ints  # (n,): the jobs that sets consist of


class Knapsack(NamedTuple):
    """One resource, or the sum of all, of a `PricedMachine`: a relaxation that is fast to solve."""

    net_value: Floats  # (n, N + 1): of this many workers
    size: Floats  # (n, N + 1): of this many workers; the machine's is 1
    density: Floats  # (n,): the greatest of every item
    most: Floats  # (n,): the greatest value of every item
    needed: Floats  # (n,): the size that earns it at that density
    order: Ints  # (n,): items by falling density


@kernel
def pack_slots(slots: Slots, bound: Floats, number: Ints, group: Ints) -> None:
    """Solve `pack_slot` for all slots: ``bound`` (T,), ``number`` and ``group`` (T, I)."""
    for t in range(bound.size):
        bound[t] = pack_slot(t, slots, number[t], group[t])


@kernel
def pack_slot(t: int, slots: Slots, number: Ints, group: Ints) -> float:
    """Maximize the value of workers less the prices of their machines, in slot ``t``.

    ``number`` and ``group``, of shape (I,), receive the workers of each job, and the class of its
    machine.

    Returns
    -------
    float
        No packing has a greater value. That of ``number`` unless a search had to be cut short.
    """
    value, price, upper = slots.value[t], slots.price[t], slots.upper[t]
    load, capacity, count = slots.load, slots.capacity, slots.copies
    jobs, classes = upper.size, count.size
    number[:], group[:] = 0, 0
    item = np.empty(jobs, np.int64)
    n = 0
    for i in range(jobs):
        if upper[i] > 0 and value[i, -1] > 0.0:
            item[n] = i
            n += 1
    if n == 0:
        return 0.0
    sets, machines = 1 << n, 0
    for c in range(classes):
        machines += min(count[c], n)
    total = np.zeros(sets)
    after = np.empty(sets)
    chosen = np.zeros((machines, sets), np.int64)
    at = np.empty(machines, np.int64)
    net_value, closure = np.empty((classes, sets)), np.empty(sets)
    list_of = np.empty(sets, np.int64)
    m, excess = 0, 0.0
    for c in range(classes):
        machine = PricedMachine(value, price[:, c], load, capacity[c], upper, item[:n])
        sack = surrogate(machine)
        excess += min(count[c], n) * set_values(machine, sack, net_value[c], closure)
        used = 0
        for s in range(1, sets):
            if net_value[c, s] > -np.inf:
                list_of[used] = s
                used += 1
        for _ in range(min(count[c], n)):
            for s in range(sets):
                best, take = total[s], 0
                for k in range(used):
                    a = list_of[k]
                    if a & ~s == 0 and total[s ^ a] + net_value[c, a] > best:
                        best, take = total[s ^ a] + net_value[c, a], a
                after[s], chosen[m, s] = best, take
            total[:] = after
            at[m] = c
            m += 1
    left = sets - 1
    y = np.empty(n, np.int64)
    for k in range(m - 1, -1, -1):
        a, c = chosen[k, left], at[k]
        left ^= a
        if a == 0:
            continue
        machine = PricedMachine(value, price[:, c], load, capacity[c], upper, item[:n])
        best_of_set(machine, surrogate(machine), a, -np.inf, plain_int(MOST_STEPS), y)
        for j in range(n):
            if (a >> j) & 1:
                number[item[j]], group[item[j]] = y[j], c
    return float(total[sets - 1] + excess)


@kernel
def net(value: float, price: Floats, load: Floats) -> float:
    """Return the value of workers less ``price`` (R,) of a unit times their ``load`` (R,)."""
    net_value = value
    for r in range(price.size):
        net_value -= price[r] * load[r]
    return net_value


@kernel
def holds(load: Floats, free: Floats) -> bool:
    """Whether a ``load`` (R,), below 0 if it is impossible, fits into ``free`` (R,) units."""
    fits = True
    for r in range(free.size):
        fits = fits and 0.0 <= load[r] <= free[r]
    return fits


@kernel
def surrogate(machine: PricedMachine) -> Knapsack:
    """Choose the resource, or all of them added up, whose fractional knapsack is the tightest."""
    value, price, load, capacity, upper, item = machine
    n, resources = item.size, capacity.size
    numbers = load.shape[1]
    most = np.zeros(n)
    net_value = np.full((n, numbers), -np.inf)
    for k in range(n):
        i = item[k]
        for w in range(1, min(upper[i], numbers - 1) + 1):
            if holds(load[i, w], capacity):
                net_value[k, w] = net(value[i, w], price, load[i, w])
                most[k] = max(most[k], net_value[k, w])
    endless = np.full(n, np.inf)
    best = Knapsack(net_value, np.zeros((n, numbers)), endless, most, most / endless, np.arange(n))
    tightest = np.inf
    for q in range(resources + 1):
        size, total = np.zeros((n, numbers)), 0.0
        for r in range(resources):
            if capacity[r] > 0.0 and q in (r, resources):
                total += 1.0
                for k in range(n):
                    for w in range(1, numbers):
                        if net_value[k, w] > -np.inf:
                            size[k, w] += load[item[k], w, r] / capacity[r]
        if total == 0.0:
            continue
        size /= total
        density = np.zeros(n)
        for k in range(n):
            for w in range(1, numbers):
                if net_value[k, w] > 0.0:
                    each = net_value[k, w] / size[k, w] if size[k, w] > 0.0 else np.inf
                    density[k] = max(density[k], each)
        order = np.argsort(-density)
        needed = np.zeros(n)
        for k in range(n):
            if most[k] > 0.0:
                needed[k] = most[k] / density[k]
        found = Knapsack(net_value, size, density, most, needed, order)
        promise = promised(found, order, (1 << n) - 1, 0, LOOSE)
        if promise < tightest:
            tightest, best = promise, found
    return best


@kernel
def promised(sack: Knapsack, order: Ints, items: int, first: int, left: float) -> float:
    """Return the fractional knapsack of the items of a set from position ``first`` on.

    ``order`` (n,) lists items by falling density.
    """
    total = 0.0
    for k in range(first, order.size):
        j = order[k]
        if not (items >> j) & 1 or sack.most[j] <= 0.0:
            continue
        if sack.needed[j] > left:
            return float(total + max(0.0, left) * sack.density[j])
        total += sack.most[j]
        left -= sack.needed[j]
    return total


@kernel
def set_values(machine: PricedMachine, sack: Knapsack, net_value: Floats, closure: Floats) -> float:
    """Fill ``net_value`` (2**n,) of every set of items: its best load, -inf if a subset equals it.

    ``closure`` (2**n,) is scratch memory. Returns how much greater the value of any set might be,
    if a search had to be cut short.
    """
    n, steps, excess = machine.item.size, plain_int(MOST_STEPS), 0.0
    net_value[0], closure[0] = 0.0, 0.0
    y = np.empty(n, np.int64)
    for s in range(1, net_value.size):
        floor, net_value[s] = -np.inf, -np.inf
        for j in range(n):  # without one
            if (s >> j) & 1:
                floor = max(floor, closure[s ^ (1 << j)])
        closure[s] = floor
        promise = promised(sack, sack.order, s, 0, LOOSE)
        if promise <= floor:
            continue
        found, steps = best_of_set(machine, sack, s, floor, steps, y)
        if steps <= 0:
            excess = max(excess, promise - max(found, floor, -promise))
        if found > floor:
            net_value[s] = closure[s] = found
    return excess


@kernel
def best_of_set(
    machine: PricedMachine, sack: Knapsack, items: int, floor: float, steps: int, y: Ints
) -> tuple[float, int]:
    """Search the best load with some workers of every item of a set, above ``floor``.

    Returns its value, -inf if there is none, and how many steps are left; ``y`` (n,) gets the
    workers of each item.
    """
    load, capacity, upper, item = machine.load, machine.capacity, machine.upper, machine.item
    size, net_value, order = sack.size, sack.net_value, sack.order
    resources = capacity.size
    path = np.empty(order.size, np.int64)
    n = 0
    for k in range(order.size):
        if (items >> order[k]) & 1:
            path[n] = order[k]
            n += 1
    free = np.empty((n + 1, resources))
    free[0] = capacity
    left, earned = np.empty(n + 1), np.zeros(n + 1)
    left[0] = LOOSE
    now = np.zeros(n + 1, np.int64)
    best, found = floor, -np.inf
    k = 0
    now[0] = -1
    while k >= 0:
        j = path[k]
        i = item[j]
        if now[k] < 0:
            now[k] = min(upper[i], load.shape[1] - 1) + 1
        now[k] -= 1
        w = now[k]
        if w < 1:
            k -= 1
            continue
        if not holds(load[i, w], free[k]):
            continue
        steps -= 1
        if steps <= 0:
            break
        left[k + 1] = left[k] - size[j, w]
        earned[k + 1] = earned[k] + net_value[j, w]
        if earned[k + 1] + promised(sack, path[:n], items, k + 1, left[k + 1]) <= best:
            continue
        if k + 1 == n:
            best = found = earned[n]
            for q in range(n):
                y[path[q]] = now[q]
            continue
        for r in range(resources):
            free[k + 1, r] = free[k, r] - load[i, w, r]
        k += 1
        now[k] = -1
    return found, steps
