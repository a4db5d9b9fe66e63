"""Checker of conflicts: Farkas certificates that runs do not fit on single servers.

Every run has credits for its workers and for the host of its parameter servers (PS). In any
placement each server hosts a share of the runs that fits on it, and all credits are earned. So if
the best share of one server, summed over the servers, earns less, the runs do not fit (Farkas,
1902). The best share is found by branch and bound with a Lagrangian bound whose multipliers come
from a subgradient method (Held et al., 1974). Integers only; any multipliers are valid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.completion.certificate.kernels import KernelPlatform
from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

MOST_RUNS = 62  # of a conflict: a set of them is a bit mask
MOST_OPTIONS = 4096  # of all runs on one server
SUBGRADIENTS = 40  # steps to good prices
MOST_VALUE = 2.0**61  # of all that is free at prices, at most
CALL = 500  # nodes that a class of servers counts as
# columns of runs
TYPE, APART, APART_PS, TOGETHER, TOGETHER_PS, FIRST, LAST = range(7)


class ServerChoices(NamedTuple):
    """Loads and credits that each run can have on a server of one class."""

    first: Ints  # (E + 1,) options of every run, the most credits first
    credit: Ints  # (O,) credits of the run
    load: Ints  # (O, R) units of each resource
    what: Ints  # (O, 3) workers that count, host, whether all is together


def total_credit(runs: Ints, given: Ints) -> int:
    """Return what all runs earn: (E, 2) credits for each worker, if they may be apart, and host."""
    return int((runs[:, APART] * given[:, 0] + given[:, 1]).sum())  # below 62 * 2**54


def layers_of(runs: Ints) -> tuple[Ints, Ints]:
    """Return bits of the slots in which each run is active, and the slots that count.

    In these a run begins, and the active runs are no subset of those of another slot.
    """
    begins = np.unique(runs[:, FIRST])
    there = (runs[:, FIRST] <= begins[:, None]) & (begins[:, None] <= runs[:, LAST])  # (L, E)
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in there]
    kept = np.array([not any(one < other for other in sets) for one in sets])
    bits = [sum(1 << t for t in np.flatnonzero(run).tolist()) for run in there[kept].T]
    return np.array(bits, np.int64), begins[kept]


def share(
    platform: KernelPlatform, c: int, runs: Ints, given: Ints, nodes: Ints, least: int = 0
) -> tuple[int, Ints]:
    """Return the most credits (E, 2) of runs on a server of class c, and what it holds (E, 3).

    -1, and what earns less, where that takes more than ``nodes`` (1,), which are counted down;
    ``least``, and nothing, where none earns more than that.
    """
    layers, slots = layers_of(runs)
    capacity, held = platform.capacity[c], np.zeros((len(runs), 3), np.int64)
    nodes[0] -= CALL
    options = options_of(platform, capacity, runs, given, MOST_OPTIONS, nodes)
    return int(best_share(options, capacity, layers, len(slots), held, nodes, least)), held


def refuted(platform: KernelPlatform, runs: Ints, given: Ints, nodes: Ints) -> bool | None:
    """Return whether credits (E, 2) show that runs (E, 7) do not fit together.

    None where finding out takes too long, see `share`.
    """
    earned = 0
    for c, count in enumerate(platform.servers.tolist()):
        best, _ = share(platform, c, runs, given, nodes)
        if best < 0:
            return None
        earned += count * best
    return earned < total_credit(runs, given)


@kernel
def _add(options: ServerChoices, at: int, n: int, credit: int, load: Ints, what: Ints) -> int:
    """Add an option behind ``n``, of a run whose first is ``at``; return how many there are.

    None is added that earns nothing, or no more than another one that takes no more. It takes
    ``load`` (R,) units and is noted as ``what`` (3,), both as a row of `ServerChoices`.
    """
    if credit <= 0:
        return n
    kept = at
    for o in range(at, n):
        less, more = True, True
        for r in range(load.size):
            less &= options.load[o, r] <= load[r]
            more &= options.load[o, r] >= load[r]
        if less and options.credit[o] >= credit:
            return n
        if not (more and options.credit[o] <= credit):
            options.credit[kept] = options.credit[o]
            options.load[kept] = options.load[o]
            options.what[kept] = options.what[o]
            kept += 1
    k = kept
    if k == options.credit.size:
        return k + 1  # too many
    while k > at and options.credit[k - 1] < credit:
        options.credit[k] = options.credit[k - 1]
        options.load[k] = options.load[k - 1]
        options.what[k] = options.what[k - 1]
        k -= 1
    options.credit[k] = credit
    options.load[k] = load
    options.what[k] = what
    return kept + 1


@kernel
def options_of(
    platform: KernelPlatform,
    capacity: Ints,
    runs: Ints,
    given: Ints,
    most: int,
    nodes: Ints,
) -> ServerChoices:
    """Return what runs with credits ``given`` (E, 2) may have on a server: ``capacity`` (R,) units.

    Where there are more than ``most`` options, ``nodes`` (1,) is set to -1; else it is counted down
    by the comparisons. The columns of ``runs`` (E, 7) are TYPE to LAST.
    """
    resources = capacity.size
    options = ServerChoices(
        np.zeros(runs.shape[0] + 1, np.int64),
        np.empty(most, np.int64),
        np.empty((most, resources), np.int64),
        np.empty((most, 3), np.int64),
    )
    load, what = np.empty(resources, np.int64), np.empty(3, np.int64)
    n = 0
    for x in range(runs.shape[0]):
        at = n
        m, apart, together = runs[x, TYPE], runs[x, APART], runs[x, TOGETHER]
        max_units = max(apart, together)
        for r in range(resources):
            if platform.e[m, r] > 0:
                max_units = min(max_units, capacity[r] // platform.e[m, r])
        # workers of a job that is apart, without its host
        alone = min(max_units, apart - 1 if platform.ring else apart)
        for y in range(1, alone + 1):
            for r in range(resources):
                load[r] = y * platform.e[m, r]
            what[0], what[1], what[2] = y, 0, 0
            n = _add(options, at, n, y * given[x, 0], load, what)
            nodes[0] -= 1 + n - at
            if n > most or nodes[0] < 0:
                nodes[0] = -1
                return options
        for q in range(2):
            mask, p = runs[x, TOGETHER_PS if q == 1 else APART_PS], 0
            while mask > 0:
                if mask & 1 and not (q == 0 and platform.ring):
                    low = together if q == 1 else 0
                    high = together if q == 1 else apart - 1
                    for g in range(low, min(high, max_units) + 1):
                        fits = True
                        for r in range(resources):
                            load[r] = g * platform.e[m, r]
                            if not platform.ring:
                                s = platform.needed[m, p, 0 if q == 1 else apart - g]
                                load[r] += s * platform.z[p, r]
                            fits &= load[r] <= capacity[r]
                        if not fits:
                            continue
                        counted = apart if q == 1 else g
                        what[0], what[1], what[2] = counted, 1, q
                        credit = counted * given[x, 0] + given[x, 1]
                        n = _add(options, at, n, credit, load, what)
                        nodes[0] -= 1 + n - at
                        if n > most or nodes[0] < 0:
                            nodes[0] = -1
                            return options
                mask >>= 1
                p += 1
        options.first[x + 1] = n
    return options


@kernel
def _fits(free: Ints, layers: int, load: Ints) -> bool:
    """Whether a load (R,) fits into the units that are ``free`` (L, R) in some of the slots."""
    for t in range(free.shape[0]):
        if (layers >> t) & 1:
            for r in range(load.size):
                if load[r] > free[t, r]:
                    return False
    return True


@kernel
def _take(free: Ints, layers: int, load: Ints, sign: int) -> None:
    """Take a load (R,) from the units that are ``free`` (L, R) in some of the slots."""
    for t in range(free.shape[0]):
        if (layers >> t) & 1:
            for r in range(load.size):
                free[t, r] -= sign * load[r]


@kernel
def _first(options: ServerChoices, x: int, free: Ints, layers: Ints, least: Ints) -> int:
    """Return the first option of run x that fits into ``free`` (L, R) units, or the next run's.

    ``least`` (R,) is filled in: what is free in all slots of the run, those of its ``layers`` (E,),
    as bits.
    """
    resources = free.shape[1]
    for r in range(resources):
        least[r] = 2**62
        for t in range(free.shape[0]):
            if (layers[x] >> t) & 1:
                least[r] = min(least[r], free[t, r])
    for o in range(options.first[x], options.first[x + 1]):
        fits = True
        for r in range(resources):
            fits &= options.load[o, r] <= least[r]
        if fits:
            return int(o)
    return int(options.first[x + 1])


@kernel
def _multipliers(options: ServerChoices, capacity: Ints, layers: Ints, number: int) -> Ints:
    """Return prices of what is free, shape (L, R), at which no share earns much: a good bound.

    By subgradients, in floats, then cut to whole numbers: any prices will do. A server has
    ``capacity`` (R,) units in a slot; ``layers`` (E,) are the slots of each run, as bits.
    """
    runs, resources = layers.size, capacity.size
    price, best_price = np.zeros((number, resources)), np.zeros((number, resources))
    best, used = np.inf, np.zeros((number, resources))
    for _ in range(SUBGRADIENTS):
        total = 0.0
        for t in range(number):
            for r in range(resources):
                total += price[t, r] * capacity[r]
                used[t, r] = 0.0
        for x in range(runs):
            most, chosen = 0.0, -1
            for o in range(options.first[x], options.first[x + 1]):
                earns = float(options.credit[o])
                for t in range(number):
                    if (layers[x] >> t) & 1:
                        for r in range(resources):
                            earns -= price[t, r] * options.load[o, r]
                if earns > most:
                    most, chosen = earns, o
            total += most
            for t in range(number):
                if chosen >= 0 and (layers[x] >> t) & 1:
                    for r in range(resources):
                        used[t, r] += options.load[chosen, r]
        if total < best:
            best = total
            best_price[:, :] = price
        norm = 0.0
        for t in range(number):
            for r in range(resources):
                if capacity[r] > 0:
                    over = used[t, r] / capacity[r] - 1.0
                    if over > 0.0 or price[t, r] > 0.0:
                        norm += over * over
        if norm == 0.0:
            break
        step = 0.1 * best / norm
        for t in range(number):
            for r in range(resources):
                if capacity[r] > 0:
                    over = used[t, r] / capacity[r] - 1.0
                    price[t, r] = max(0.0, price[t, r] + step * over / capacity[r])
    out = np.empty((number, resources), np.int64)
    for t in range(number):
        for r in range(resources):
            most = MOST_VALUE / (number * resources * max(1, capacity[r]))
            out[t, r] = int(min(best_price[t, r], most))
    return out


@kernel
def best_share(
    options: ServerChoices,
    capacity: Ints,
    layers: Ints,
    number: int,
    held: Ints,
    nodes: Ints,
    least_value: int,
) -> int:
    """Return the most credits of runs on one server, -1 if the search would take too long.

    Depth first, run by run; a node is cut where no run could do better with all that is free, or
    if at some prices the free capacity has less value than the runs need.

    Parameters
    ----------
    capacity : shape (R,), units
    layers : shape (E,)
        Bits of the slots in which each run is active, ``number`` of them.
    held : shape (E, 3)
        Zeros; filled in: the options taken, as `ServerChoices.what`.
    nodes : shape (1,)
        Of the search that are left.
    least_value : int
        Shares that earn no more are not looked for.
    """
    runs = layers.size
    free = np.empty((number, capacity.size), np.int64)
    least = np.empty(capacity.size, np.int64)
    for t in range(number):
        for r in range(capacity.size):
            free[t, r] = capacity[r]
    taken, best_taken = np.full(runs, -1, np.int64), np.full(runs, -1, np.int64)
    if nodes[0] < 0:
        return -1
    price = _multipliers(options, capacity, layers, number)
    nodes[0] -= SUBGRADIENTS * number * options.first[runs]
    charge, surplus = np.zeros(options.first[runs], np.int64), np.zeros(runs + 1, np.int64)
    for x in range(runs - 1, -1, -1):  # what it pays to take, beyond the prices
        surplus[x] = surplus[x + 1]
        for o in range(options.first[x], options.first[x + 1]):
            for t in range(number):
                if (layers[x] >> t) & 1:
                    for r in range(capacity.size):
                        charge[o] += price[t, r] * options.load[o, r]
            surplus[x] = max(surplus[x], surplus[x + 1] + options.credit[o] - charge[o])
    left = 0  # value of all that is free
    for t in range(number):
        for r in range(capacity.size):
            left += price[t, r] * capacity[r]
    following = np.zeros(runs + 1, np.int64)  # option of each run; behind its last: none of them
    best, value, x, down = least_value, 0, 0, True
    while x >= 0:
        if down:
            down = False
            if value > best:
                best = value
                for k in range(runs):
                    best_taken[k] = taken[k] if k < x else -1
            promise = value
            for k in range(x, runs):
                if value + surplus[x] + left <= best:
                    nodes[0] -= 1
                    break
                o = _first(options, k, free, layers, least)
                if k == x:
                    following[x] = o
                if o < options.first[k + 1]:
                    promise += options.credit[o]
                nodes[0] -= 1 + o - options.first[k]
                if promise > best:
                    break
            if promise <= best:  # also behind the last run
                x -= 1
                continue
            if nodes[0] < 0:
                break
        elif taken[x] >= 0:
            o = taken[x]
            value -= options.credit[o]
            left += charge[o]
            _take(free, layers[x], options.load[o], -1)
            taken[x] = -1
        o, end = following[x], options.first[x + 1]
        while o < end and not _fits(free, layers[x], options.load[o]):
            o += 1
        nodes[0] -= 1 + o - following[x]
        if o > end:
            x -= 1
            continue
        following[x] = o + 1
        if o < end:
            taken[x] = o
            value += options.credit[o]
            left -= charge[o]
            _take(free, layers[x], options.load[o], 1)
        x += 1
        down = True
    for k in range(runs):
        for i in range(3):
            held[k, i] = options.what[best_taken[k], i] if best_taken[k] >= 0 else 0
    return int(best) if nodes[0] >= 0 else -1
