"""Free capacity over time as a linked list, for the large neighborhood search (Shaw, 1998).

Such profiles are those of backfilling schedulers (Mualem and Feitelson, 2001). Events are the
list's nodes: 0 is the beginning of time, ``1 + 3 i`` the earliest start of job i, ``2 + 3 i`` its
start, ``3 + 3 i`` its end. A node holds the free capacity until the next node. A job goes
in and out in the number of events while it waits and runs, at any position in a long schedule;
the arrays of `optsched.families.rigid.profile` move all later rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.rigid.profile import holds
from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

END = -1  # after the last node


class NodeTimeline(NamedTuple):
    """Nodes in order of time; those of jobs that are out are not linked."""

    when: Ints  # (1 + 3 n,) seconds
    after: Ints  # (1 + 3 n,) the next node, or END
    before: Ints  # (1 + 3 n,) the one before
    free: Ints  # (1 + 3 n, H, K) units of each resource on each node until the next


@kernel
def opened(low: Ints, bins: Ints) -> NodeTimeline:
    """Return the timeline of no jobs.

    Parameters
    ----------
    low : shape (n,)
        Earliest starts, in seconds.
    bins : shape (H, K)
        Units of each resource on each node.
    """
    size = 1 + 3 * low.size
    line = NodeTimeline(
        np.zeros(size, np.int64),
        np.full(size, END, np.int64),
        np.full(size, END, np.int64),
        np.empty((size, bins.shape[0], bins.shape[1]), np.int64),
    )
    line.free[0] = bins
    last = 0
    for i in np.argsort(low, kind="mergesort"):
        last = link(line, 1 + 3 * i, low[i], last)
    return line


@kernel
def link(line: NodeTimeline, node: int, when: int, near: int) -> int:
    """Put a node into the list behind all others of its time; search from ``near`` on."""
    at = near
    while line.when[at] > when:
        at = line.before[at]
    while line.after[at] != END and line.when[line.after[at]] <= when:
        at = line.after[at]
    later = line.after[at]
    line.when[node], line.before[node], line.after[node] = when, at, later
    line.after[at] = node
    if later != END:
        line.before[later] = node
    for h in range(line.free.shape[1]):
        for k in range(line.free.shape[2]):
            line.free[node, h, k] = line.free[at, h, k]
    return node


@kernel
def unlink(line: NodeTimeline, node: int) -> None:
    """Take a node out of the list."""
    at, later = line.before[node], line.after[node]
    line.after[at] = later
    if later != END:
        line.before[later] = at


@kernel
def insert(
    line: NodeTimeline, i: int, start: int, run: int, need: Ints, tasks_on: Ints, near: int
) -> int:
    """Start job ``i``; return the number of nodes that changed.

    ``need`` has shape (K,), units of a task; ``tasks_on`` has shape (H,), its tasks on each node.
    Its place is searched from the node ``near`` on.
    """
    first = link(line, 2 + 3 * i, start, near)
    last = link(line, 3 + 3 * i, start + run, first)
    return add(line, first, last, need, tasks_on, -1)


@kernel
def remove(line: NodeTimeline, i: int, need: Ints, tasks_on: Ints) -> int:
    """Take job ``i`` out; arguments and result as in `insert`.

    The node before its start stays in ``line.before``.
    """
    first, last = 2 + 3 * i, 3 + 3 * i
    passed = add(line, first, last, need, tasks_on, 1)
    unlink(line, first)
    unlink(line, last)
    return passed


@kernel
def add(line: NodeTimeline, first: int, last: int, need: Ints, tasks_on: Ints, sign: int) -> int:
    """Add the use of a job, ``sign`` 1, or subtract it, from one node until another.

    ``need`` has shape (K,), units of a task; ``tasks_on`` has shape (H,), its tasks on each node.
    """
    node, passed = first, 2
    while node != last:
        for h in range(tasks_on.size):
            if tasks_on[h]:
                for k in range(need.size):
                    line.free[node, h, k] += sign * tasks_on[h] * need[k]
        node = line.after[node]
        passed += 1
    return passed


@kernel
def earliest(
    line: NodeTimeline, i: int, run: int, tasks: int, need: Ints, tasks_on: Ints
) -> tuple[int, int, int]:
    """Return the earliest start at which job ``i`` fits all the time that it runs.

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
    nodes = line.free.shape[1]
    least = np.empty(line.free.shape[1:], np.int64)
    at, passed = 1 + 3 * i, 1
    while True:
        start = line.when[at]
        node, fits = at, True
        least[:] = 2**62
        while node != END and line.when[node] < start + run:
            later = line.after[node]
            passed += 1
            if later == END or line.when[later] > line.when[node]:
                if nodes == 1:
                    for k in range(need.size):
                        if line.free[node, 0, k] < need[k]:
                            fits = False
                else:
                    for h in range(nodes):
                        for k in range(need.size):
                            least[h, k] = min(least[h, k], line.free[node, h, k])
                    fits = holds(least, tasks, need, tasks_on) == tasks
                if not fits:
                    break
            node = later
        if fits:
            if nodes == 1:
                tasks_on[0] = tasks
            return start, at, passed
        # a pooled job cannot start before a node at which it does not fit has passed
        at = line.after[node] if nodes == 1 else line.after[at]
