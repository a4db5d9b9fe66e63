"""Free capacity of the machines over time, and placement of a job: compiled functions.

A profile is a step function: ``free[a]`` holds from ``times[a]`` until ``times[a + 1]``, and the
last row for ever. Rows are (H, K): the free units of each resource on each node; a pool is one
node, and each of its jobs is one task. Policies plan with it, and the search places jobs
in it one by one.
"""

from __future__ import annotations

import numpy as np

from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel


@kernel
def holds(free: Ints, tasks: int, need: Ints, tasks_on: Ints) -> int:
    """Return how many tasks fit, at most ``tasks``; ``tasks_on`` receives those of each node.

    Parameters
    ----------
    free : shape (H, K)
        Units of each resource that are free on each node.
    tasks : int
    need : shape (K,)
        Units that a task takes.
    tasks_on : shape (H,)
        Tasks on each node.
    """
    found = 0
    for h in range(free.shape[0]):
        most = tasks - found
        for k in range(need.size):
            if need[k] > 0:
                if free[h, k] < need[k]:
                    most = 0
                elif most > 1:
                    most = min(most, free[h, k] // need[k])
        tasks_on[h] = most
        found += most
        if found == tasks:
            tasks_on[h + 1 :] = 0
            break
    return found


@kernel
def segment(times: Ints, n: int, when: int) -> int:
    """Return the row that holds at ``when``, which is not before the first.

    ``times`` as in `earliest`.
    """
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if times[middle] <= when:
            low = middle
        else:
            high = middle
    return low


@kernel
def earliest(
    times: Ints,
    free: Ints,
    n: int,
    ready: int,
    duration: int,
    tasks: int,
    need: Ints,
    tasks_on: Ints,
) -> int:
    """Return the earliest start from ``ready`` on at which a job fits all the time that it runs.

    ``tasks_on`` receives how many tasks run on each node, the first nodes first. At the end of the
    profile the job must fit.

    Parameters
    ----------
    times : shape (n,) or longer
        Seconds at which the rows begin, ascending.
    free : shape (n, H, K) or longer
        Units of each resource that are free on each node.
    need : shape (K,)
        Units that a task takes.
    tasks_on : shape (H,)
        Tasks on each node.
    """
    nodes = free.shape[1]
    a = segment(times, n, ready)
    least = np.empty(free.shape[1:], np.int64)
    while True:
        start: int = max(ready, times[a])
        j, fits = a, True
        if nodes == 1:
            while j < n and times[j] < start + duration:
                for k in range(need.size):
                    if free[j, 0, k] < need[k]:
                        fits = False
                        break
                if not fits:
                    break
                j += 1
            if fits:
                tasks_on[0] = tasks
                return start
            a = j + 1  # no start before the end of row j
        else:
            least[:] = free[a]
            while fits:
                j += 1
                if j == n or times[j] >= start + duration:
                    break
                for h in range(nodes):
                    for k in range(need.size):
                        least[h, k] = min(least[h, k], free[j, h, k])
                fits = holds(least, tasks, need, tasks_on) == tasks
            if fits and holds(least, tasks, need, tasks_on) == tasks:
                return start
            a += 1


@kernel
def cut(times: Ints, free: Ints, n: int, when: int) -> int:
    """Let a row begin at ``when``; return the number of rows. There is space for one more.

    ``times`` and ``free`` as in `earliest`.
    """
    a = segment(times, n, when)
    if times[a] == when:
        return n
    for j in range(n, a + 1, -1):
        times[j] = times[j - 1]
        free[j] = free[j - 1]
    times[a + 1] = when
    free[a + 1] = free[a]
    return n + 1


@kernel
def take(
    times: Ints, free: Ints, n: int, start: int, end: int, need: Ints, tasks_on: Ints, sign: int
) -> int:
    """Allocate the resources of a job from ``start`` until ``end``, or release them (``sign`` -1).

    Returns the number of rows; there is space for two more. Arrays as in `earliest`.
    """
    n = cut(times, free, n, start)
    n = cut(times, free, n, end)
    a = segment(times, n, start)
    while a < n and times[a] < end:
        for h in range(tasks_on.size):
            if tasks_on[h]:
                for k in range(need.size):
                    free[a, h, k] -= sign * tasks_on[h] * need[k]
        a += 1
    return n
