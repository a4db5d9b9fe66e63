"""BinPacking and Spreading: tasks of a job, one by one, on the fullest or emptiest machines.

A job is a number of tasks: one for every machine of its port, as the paper leaves all channels open
to it, or for a share of them, rounded up. Every task requests a_l^k on a machine of its own. With a
task for every machine the order of machines changes nothing, since a request limits each channel
alone: both are then one policy. Ports are served by index. A machine is scored by the mean of used
/ capacity over the resources that it has, when the task is placed; one with nothing left of what
the port requires is passed over; ties go to the lowest index.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optsched.families.bipartite.instance import Slot
from optsched.families.bipartite.policies.common import Baseline
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.kernels import kernel, plain
from optsched.problem import InputError

CLOSE = 1e-12  # difference up to which two scores are the same, and nothing is left


class Places(NamedTuple):
    """Where the tasks of a job may go: a place is a copy and a machine, copy by copy."""

    first: Ints  # (C + 1,) first place of each copy
    machine: Ints  # (places,) index
    nth: Ints  # (places,) the channel's number among those of the row
    tasks: Ints  # (C,) tasks of a job
    start: Ints  # (R * K + 1,) first channel of each row
    request: Floats  # (C, K) units of each resource, of a task
    capacity: Floats  # (R, K) units of each resource


class SlotPacking(NamedTuple):
    """State of the packing of one slot."""

    used: Floats  # (R, K) units of each resource, at first 0
    score: Floats  # (R,), at first 0
    free: Flags  # (places,) whether it is unused


class BinPacking(Baseline):
    """The fullest machine that has something left.

    Parameters
    ----------
    share : float
        Tasks of a job / machines of its port, rounded up. Below 1 the order of machines matters.
    whole : bool
        Whether a task is placed only where it fits completely.
    """

    name = "binpacking"
    fullest = True

    def __init__(self, share: float = 1.0, *, whole: bool = False) -> None:
        super().__init__()
        if not 0 < share <= 1:
            raise InputError(f"share is {share}, expected above 0 and at most 1")
        self.options = {"share": share, "whole": whole}

    def prepare(self) -> None:
        """List the machines of every copy, and its first channel on each."""
        a = self.arrays
        degrees = np.diff(a.start)[:: a.resources]
        machine = np.repeat(np.arange(len(degrees)), degrees)
        nth = np.arange(len(machine)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
        copy = a.port[a.start[machine * a.resources] + nth]
        order = np.argsort(copy, kind="stable")
        counts = np.bincount(copy, minlength=a.copies)
        share = self.options["share"]
        self._places = Places(
            first=np.concatenate([[0], np.cumsum(counts)]),
            machine=machine[order],
            nth=nth[order],
            tasks=np.array([math.ceil(share * n - 1e-9) for n in counts], np.int64),
            start=a.start,
            request=a.request,
            capacity=a.capacity.reshape(-1, a.resources),
        )

    def fill(self, event: Slot, y: Floats) -> None:
        """Place the tasks of all jobs."""
        places = self._places
        scratch = SlotPacking(
            np.zeros(places.capacity.shape),
            np.zeros(len(places.capacity)),
            np.empty(len(places.machine), np.bool_),
        )
        whole = self.options["whole"]
        place_tasks(y, event.jobs, plain(places), self.fullest, whole, plain(scratch))


class Spreading(BinPacking):
    """The emptiest machine."""

    name = "spreading"
    fullest = False


@kernel(error_model="numpy")
def place_tasks(
    y: Floats, jobs: Flags, places: Places, fullest: bool, whole: bool, scratch: SlotPacking
) -> None:
    """Place the tasks of ``jobs`` (C,) port by port; written into ``y`` (N,), at first 0."""
    first, machine, nth, tasks, start, request, capacity = places
    used, score, free = scratch
    resources = capacity.shape[1]
    sign = 1.0 if fullest else -1.0
    for p in range(len(jobs)):
        if not jobs[p]:
            continue
        begin, end = first[p], first[p + 1]
        for j in range(begin, end):
            free[j] = True
        for _ in range(tasks[p]):
            best = -1
            for j in range(begin, end):
                r = machine[j]
                if not free[j]:
                    continue
                if best >= 0 and sign * score[r] <= sign * score[machine[best]] + CLOSE:
                    continue
                if _has_capacity(used[r], capacity[r], request[p], whole):
                    best = j
                else:
                    free[j] = False  # it never gets emptier
            if best < 0:
                break
            free[best] = False
            r = machine[best]
            total, kinds = 0.0, 0
            for k in range(resources):
                amount = min(request[p, k], max(0.0, capacity[r, k] - used[r, k]))
                y[start[r * resources + k] + nth[best]] = amount
                used[r, k] += amount
                if capacity[r, k] > 0.0:
                    total += used[r, k] / capacity[r, k]
                    kinds += 1
            score[r] = total / kinds if kinds > 0 else 0.0


@kernel(error_model="numpy")
def _has_capacity(used: Floats, capacity: Floats, demand: Floats, whole: bool) -> bool:
    """Return whether a machine has something left of what is ``demand`` (K,), or all of it.

    ``used`` and ``capacity`` (K,) are the machine's, each in the unit of the resource.
    """
    some = False
    for k in range(len(demand)):
        left = capacity[k] - used[k]
        near = CLOSE * max(1.0, capacity[k])
        if whole and demand[k] > left + near:
            return False
        if demand[k] > 0.0 and left > near:
            some = True
    return some
