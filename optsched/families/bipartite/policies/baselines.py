"""The policies that the paper compares with; all see the jobs of a slot before they decide.

DRF. Ports with a job are served in ascending order of their dominant shares. The share of a port is
max_k a^k / (sum of c^k over its machines), over the resources that it requests. A port comes last
if it requests a resource that none of its machines has. A port takes what is left, up to its
request, on every channel; ties go to the lowest index.

Fairness. A machine divides each resource in proportion to the requests: among the ports that have a
job, by default. As printed the sum goes over all ports of the machine, which leaves the shares of
idle ports unused; `Fairness(among="all")` does that.

BinPacking and Spreading. Tasks of a job go, one by one, to the fullest or emptiest machines. A job
is a number of tasks: one for every machine of its port, as the paper leaves all channels open
to it, or for a share of them, rounded up. Every task requests a_l^k on a machine of its own. With a
task for every machine the order of machines changes nothing, since a request limits each channel
alone: both are then one policy. Ports are served by index. A machine is scored by the mean of used
/ capacity over the resources that it has, when the task is placed; one with nothing left of what
the port requires is passed over; ties go to the lowest index.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from optsched.families.bipartite.instance import Platform, Slot
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.kernels import kernel, plain
from optsched.numbers.streams import Streams
from optsched.problem import Information, InputError, Policy, Prior

CLOSE = 1e-12  # difference (of shares relative) up to which two are the same, and nothing is left


class Baseline(ABC):
    """Decides on every slot anew, knowing the slot's jobs; nothing is given where none is."""

    name: str
    information: Information = "after"
    knows: tuple[str, ...] = ()
    options: Mapping[str, Any] = MappingProxyType({})

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Take the platform."""
        self.arrays = public.arrays
        self.prepare()
        nobody = Slot.without_jobs(self.arrays.copies)
        self.fill(nobody, np.zeros(self.arrays.channels))  # compiled before decisions are timed

    def prepare(self) -> None:  # noqa: B027 (most have nothing to prepare)
        """Compute the constants of all slots."""

    def step(self, event: Slot) -> Floats:
        """Return the decision for one slot."""
        y = np.zeros(self.arrays.channels)
        self.fill(event, y)
        return y

    @abstractmethod
    def fill(self, event: Slot, y: Floats) -> None:
        """Write the decision into ``y``, which is 0 everywhere."""


class Drf(Baseline):
    """Dominant resource fairness: the least demanding port first."""

    name = "drf"

    def prepare(self) -> None:
        """Put the channels of each row in the order of their ports; equal shares: by index."""
        a = self.arrays
        available = np.zeros((a.copies, a.resources))
        np.add.at(available, (a.port, a.row % a.resources), a.capacity[a.row])
        with np.errstate(divide="ignore", invalid="ignore"):
            requested = np.where(a.request > 0, a.request / available, 0.0)
            shares = requested.max(axis=1, initial=0.0)
            order = np.argsort(shares, kind="stable")
            ordered = shares[order]
            apart = np.diff(ordered) > CLOSE * ordered[1:]  # inf - inf is no difference
        group = np.concatenate([[0], np.cumsum(apart)])
        rank = np.empty(a.copies, np.int64)
        rank[order[np.lexsort((order, group))]] = np.arange(a.copies)
        self._sorted = np.lexsort((rank[a.port], a.row))

    def fill(self, event: Slot, y: Floats) -> None:
        """Serve the ports in order."""
        a = self.arrays
        take_what_is_left(y, event.jobs, self._sorted, a.start, a.port, a.upper, a.capacity)


@kernel
def take_what_is_left(
    y: Floats, jobs: Flags, channels: Ints, start: Ints, port: Ints, upper: Floats, capacity: Floats
) -> None:
    """Give every copy with a job the remaining capacity of each row, up to its request.

    ``channels`` (N,) are served in this order within a row; ``y`` (N,) is filled, and whether there
    is a job, ``jobs`` (C,), is known per copy. The others as in `BipartiteArrays`.
    """
    for row in range(len(capacity)):
        left = capacity[row]
        for j in range(start[row], start[row + 1]):
            i = channels[j]
            if jobs[port[i]]:
                amount = min(upper[i], left)
                y[i] = amount
                left -= amount


class Fairness(Baseline):
    """Shares in proportion to the requests, at most the request.

    Parameters
    ----------
    among : {"jobs", "all"}
        Whether a machine divides among its ports that have a job, or among all.
    """

    def __init__(self, among: Literal["jobs", "all"] = "jobs") -> None:
        if among not in ("jobs", "all"):
            raise InputError(f"among is {among!r}, expected 'jobs' or 'all'")
        self.options = {"among": among}
        self.name = "fairness" if among == "jobs" else "fairness-printed"

    def fill(self, event: Slot, y: Floats) -> None:
        """Divide every row."""
        a = self.arrays
        everybody = self.options["among"] == "all"
        divide(y, event.jobs, everybody, a.start, a.port, a.upper, a.capacity)


@kernel(error_model="numpy")
def divide(
    y: Floats, jobs: Flags, everybody: bool, start: Ints, port: Ints, upper: Floats,
    capacity: Floats,
) -> None:  # fmt: skip
    """Give every copy with a job min(a, c a / sum of a).

    Whether there is one, ``jobs`` (C,), is known per copy; ``y`` (N,) is filled. The others as in
    `BipartiteArrays`.
    """
    for row in range(len(capacity)):
        demand = 0.0
        for i in range(start[row], start[row + 1]):
            if everybody or jobs[port[i]]:
                demand += upper[i]
        if demand > 0.0:
            share = min(1.0, capacity[row] / demand)
            for i in range(start[row], start[row + 1]):
                if jobs[port[i]]:
                    y[i] = upper[i] * share


class Places(NamedTuple):
    """Where the tasks of a job may go: a place is a copy and a machine, copy by copy."""

    first: Ints  # (C + 1,) first place of each copy
    machine: Ints  # (places,) index
    nth: Ints  # (places,) the channel's number among those of the row
    tasks: Ints  # (C,) tasks of a job
    start: Ints  # (R * K + 1,) first channel of each row
    request: Floats  # (C, K) units of each resource, of a task
    capacity: Floats  # (R, K) units of each resource


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
        whole = self.options["whole"]
        place_tasks(y, event.jobs, plain(self._places), self.fullest, whole)


class Spreading(BinPacking):
    """The emptiest machine."""

    name = "spreading"
    fullest = False


@kernel(error_model="numpy")
def place_tasks(y: Floats, jobs: Flags, places: Places, fullest: bool, whole: bool) -> None:
    """Place the tasks of ``jobs`` (C,) port by port; written into ``y`` (N,), at first 0."""
    first, machine, nth, tasks, start, request, capacity = places
    resources = capacity.shape[1]
    used, score = np.zeros(capacity.shape), np.zeros(len(capacity))
    free = np.empty(len(machine), np.bool_)
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


BASELINES: Mapping[str, Callable[..., Policy]] = {
    "drf": Drf,
    "fairness": Fairness,
    "fairness-printed": lambda **options: Fairness(**{"among": "all", **options}),
    "binpacking": BinPacking,
    "spreading": Spreading,
}
