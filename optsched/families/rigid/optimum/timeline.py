"""Free capacity over time as a linked list, for the large neighborhood search (Shaw, 1998).

Such profiles are those of backfilling schedulers (Mualem and Feitelson, 2001). Events are the
list's nodes: 0 is the beginning of time, ``1 + 3 i`` the earliest start of job i, ``2 + 3 i`` its
start, ``3 + 3 i`` its end. A node holds the free capacity until the next node, in one row of the
list, an array of shape (1 + 3 n, FREE + H K): nodes that follow
each other in time are far apart in memory, and a row takes one access to it. A job goes
in and out in the number of events while it waits and runs, at any position in a long schedule;
the arrays of `optsched.families.rigid.profile` move all later rows.
"""

from __future__ import annotations

import numpy as np

from optsched.families.rigid.profile import holds
from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

END = -1  # after the last node

WHEN, AFTER, BEFORE = 0, 1, 2  # columns: seconds, the next node or END, the one before
FREE = 3  # from this one on: units of each resource on each node, until the next


@kernel
def opened(low: Ints, bins: Ints) -> Ints:
    """Return the timeline of no jobs: nodes by number, of shape (1 + 3 n, FREE + H K).

    Parameters
    ----------
    low : shape (n,)
        Earliest starts, in seconds.
    bins : shape (H, K)
        Units of each resource on each node.
    """
    line = np.empty((1 + 3 * low.size, FREE + bins.size), np.int64)
    line[0, WHEN], line[0, AFTER], line[0, BEFORE] = 0, END, END
    line[0, FREE:] = bins.ravel()
    last = 0
    for i in np.argsort(low, kind="mergesort"):
        last = link(line, 1 + 3 * i, low[i], last)
    return line


@kernel(counted=False)
def link(line: Ints, node: int, when: int, near: int) -> int:
    """Put a node into the list behind all others of its time; search from ``near`` on.

    ``line`` is that of `opened`, of shape (1 + 3 n, FREE + H K).
    """
    at = near
    while line[at, WHEN] > when:
        at = line[at, BEFORE]
    later = line[at, AFTER]
    while later != END and line[later, WHEN] <= when:
        at, later = later, line[later, AFTER]
    line[node, WHEN], line[node, BEFORE], line[node, AFTER] = when, at, later
    line[at, AFTER] = node
    if later != END:
        line[later, BEFORE] = node
    for c in range(FREE, line.shape[1]):
        line[node, c] = line[at, c]
    return node


@kernel(counted=False)
def unlink(line: Ints, node: int) -> None:
    """Take a node out of the list; ``line`` (1 + 3 n, FREE + H K) is that of `opened`."""
    at, later = line[node, BEFORE], line[node, AFTER]
    line[at, AFTER] = later
    if later != END:
        line[later, BEFORE] = at


@kernel(counted=False)
def insert(line: Ints, i: int, start: int, run: int, need: Ints, tasks_on: Ints, near: int) -> int:
    """Start job ``i``; return the number of nodes that changed.

    ``line`` is that of `opened`, of shape (1 + 3 n, FREE + H K).
    ``need`` has shape (K,), units of a task; ``tasks_on`` has shape (H,), its tasks on each node.
    Its place is searched from the node ``near`` on.
    """
    first = link(line, 2 + 3 * i, start, near)
    last = link(line, 3 + 3 * i, start + run, first)
    return add(line, first, last, need, tasks_on, -1)


@kernel(counted=False)
def remove(line: Ints, i: int, need: Ints, tasks_on: Ints) -> int:
    """Take job ``i`` out; arguments and result as in `insert`.

    The node before its start stays in column BEFORE.
    """
    first, last = 2 + 3 * i, 3 + 3 * i
    passed = add(line, first, last, need, tasks_on, 1)
    unlink(line, first)
    unlink(line, last)
    return passed


@kernel(counted=False)
def add(line: Ints, first: int, last: int, need: Ints, tasks_on: Ints, sign: int) -> int:
    """Add the use of a job, ``sign`` 1, or subtract it, from one node until another.

    ``line`` is that of `opened`, of shape (1 + 3 n, FREE + H K).
    ``need`` has shape (K,), units of a task; ``tasks_on`` has shape (H,), its tasks on each node.
    """
    passed = 2
    for h in range(tasks_on.size):
        for k in range(need.size):
            units, c = sign * tasks_on[h] * need[k], FREE + h * need.size + k
            if units:
                node = first
                while node != last:
                    line[node, c] += units
                    node = line[node, AFTER]
                    passed += 1
    return passed


@kernel
def earliest(
    line: Ints, i: int, run: int, tasks: int, need: Ints, tasks_on: Ints
) -> tuple[int, int, int]:
    """Return the earliest start at which job ``i`` fits all the time that it runs.

    ``line`` is that of `opened`, of shape (1 + 3 n, FREE + H K).
    At the end of time it must fit. ``need`` has shape (K,), units of a task; ``tasks_on`` has shape
    (H,) and receives its tasks on each node, first nodes first.

    Returns
    -------
    start : int
        In seconds.
    node : int
        The node of that time.
    passed : int
        The number of nodes that were looked at.
    """
    nodes = tasks_on.size
    at, passed = 1 + 3 * i, 1
    if nodes == 1:
        tasks_on[0] = tasks
        while True:
            start = line[at, WHEN]
            node, fits = at, True
            while node != END and line[node, WHEN] < start + run:
                later = line[node, AFTER]
                passed += 1
                fits = True
                for k in range(need.size):
                    fits &= line[node, FREE + k] >= tasks * need[k]
                if not fits and (later == END or line[later, WHEN] > line[node, WHEN]):
                    break
                fits, node = True, later
            if fits:
                return start, at, passed
            # the job cannot start before a node at which it does not fit has passed
            at = line[node, AFTER]
    least = np.empty((nodes, need.size), np.int64)
    while True:
        start = line[at, WHEN]
        node, fits = at, True
        least[:] = 2**62
        while fits and node != END and line[node, WHEN] < start + run:
            later = line[node, AFTER]
            passed += 1
            if later == END or line[later, WHEN] > line[node, WHEN]:
                for h in range(nodes):
                    for k in range(need.size):
                        free = line[node, FREE + h * need.size + k]
                        least[h, k] = min(least[h, k], free)
                fits = holds(least, tasks, need, tasks_on) == tasks
            node = later
        if fits:
            return start, at, passed
        at = line[at, AFTER]
