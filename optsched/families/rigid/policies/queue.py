"""Queues of jobs: FCFS, EASY and conservative backfilling, and orders of priority.

EASY backfilling (Lifka, 1995) and conservative backfilling as Mualem and Feitelson (2001) define
them; EASY reorders its queue by a priority where it is given one. Plans use requested times, or
exact run times where the policy declares that it knows them (``exact``).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from optsched.families.rigid.facts import RUN_TIMES
from optsched.families.rigid.instance import Platform, Submission
from optsched.families.rigid.online import Decision, Event
from optsched.families.rigid.profile import earliest, holds, take
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.numbers.streams import Streams
from optsched.problem import Information, PolicyError, Prior


class QueuedJobs(NamedTuple):
    """Jobs as they are placed, by number: in a pool a job is one task."""

    planned: Ints  # (n,) run time, s
    tasks: Ints  # (n,)
    need: Ints  # (n, K) of one task
    allocation: Ints  # (n, H) tasks of each running job on each node


class JobTable:
    """Columns of numbers by job, which grow as jobs are submitted.

    ``tasks`` and ``need`` are those of the submission, ``placed_tasks`` and ``placed_need`` what
    `Platform.demand` makes of them.
    """

    def __init__(self, **widths: int) -> None:
        self.columns = {name: np.zeros((64, width), np.int64) for name, width in widths.items()}

    def put(self, i: int, **values: Any) -> None:
        """Write the known attributes of a job."""
        for name, value in values.items():
            column = self.columns[name]
            if i >= len(column):
                more = np.zeros((max(i + 1, 2 * len(column)), column.shape[1]), np.int64)
                more[: len(column)] = column
                self.columns[name] = column = more
            column[i] = value

    @property
    def jobs(self) -> QueuedJobs:
        """The columns that the kernels take."""
        names = ("planned", "placed_tasks", "placed_need", "tasks_on")
        return QueuedJobs(*(self[name] for name in names))

    def __getitem__(self, name: str) -> Ints:
        column = self.columns[name]
        return column if name in ("need", "placed_need", "tasks_on") else column[:, 0]


class Queue:
    """Queue in the order of submission, and free capacity: the base class of all policies here.

    Machines that have no resource in common, such as those of different partitions, have a queue
    each.

    Parameters
    ----------
    exact : bool
        Plan with exact run times, else with requested times.
    """

    name = "fcfs"
    information: Information = "after"

    def __init__(self, *, exact: bool = False) -> None:
        self.exact = exact
        if exact:
            self.name = f"{self.name}-exact"

    @property
    def knows(self) -> Sequence[str]:
        """Run times, if it plans with them."""
        return (RUN_TIMES,) if self.exact else ()

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Begin with empty machines."""
        self.public, self.prior = public, prior
        self.free = public.bins.copy()
        self.table = JobTable(
            arrival=1,
            planned=1,
            tasks=1,
            weight=1,
            need=len(public.resources),
            placed_tasks=1,
            placed_need=len(public.resources),
            tasks_on=len(self.free),
        )
        self.part = [*range(len(public.resources))]  # which of them are on the same machines
        for machine in public.machines:
            self._join(machine.capacity)
        self.jobs: dict[int, Submission] = {}
        self.waiting: list[int] = []
        self.running: list[tuple[int, int]] = []  # (planned end, job), ascending
        self.ends: dict[int, int] = {}  # planned, of running jobs

    def step(self, event: Event) -> Decision:
        """Process ends and arrivals, and start jobs."""
        for i in event.ended:
            self.ended(i, event.slot)
        for i, job in event.arrived:
            self.arrived(i, job, event.slot)
        waiting, chosen = self.waiting, list[int]()
        for queue in self.queues():
            self.waiting = queue
            chosen += self.choose(event.slot)
        self.waiting = waiting
        for i in chosen:
            self.started(i, event.slot)
        if chosen:
            gone = set(chosen)
            self.waiting = [i for i in self.waiting if i not in gone]
        return tuple(chosen)

    def queues(self) -> list[list[int]]:
        """Return the waiting jobs by the machines that they may use."""
        if len({*self.part}) == 1:
            return [self.waiting]
        found: dict[int, list[int]] = {}
        for i in self.waiting:
            first = next((k for k, d in enumerate(self.jobs[i].need) if d), 0)
            found.setdefault(self.part[first], []).append(i)
        return [*found.values()]

    def _join(self, amounts: Sequence[int]) -> None:
        """Note that these resources are on the same machines, or needed together."""
        parts = {self.part[k] for k, amount in enumerate(amounts) if amount}
        if len(parts) > 1:
            self.part = [min(parts) if p in parts else p for p in self.part]

    def arrived(self, i: int, job: Submission, now: int) -> None:
        """Take down a job that is submitted."""
        planned = self.prior[RUN_TIMES][i] if self.exact else job.request
        tasks, need = self.public.demand(job)
        known = {"tasks": job.tasks, "need": job.need, "weight": job.weight}
        placed = {"placed_tasks": tasks, "placed_need": need, "tasks_on": 0}
        self.table.put(i, arrival=now, planned=planned, **known, **placed)
        self._join(job.need)
        self.jobs[i] = job
        self.waiting.append(i)

    def started(self, i: int, now: int) -> None:
        """Give a job the first nodes with space."""
        t = self.table
        tasks_on, need = t["tasks_on"][i], t["placed_need"][i]
        holds(self.free, int(t["placed_tasks"][i]), need, tasks_on)
        self.free -= tasks_on[:, None] * need
        self.ends[i] = now + int(t["planned"][i])
        insort(self.running, (self.ends[i], i))

    def ended(self, i: int, now: int) -> bool:
        """Release the resources of a job; return whether it ends when it was planned to."""
        t = self.table
        self.free += t["tasks_on"][i][:, None] * t["placed_need"][i]
        end = self.ends.pop(i)
        del self.running[bisect_left(self.running, (end, i))]
        return end == now

    def choose(self, now: int) -> list[int]:  # noqa: ARG002
        """Return the jobs that start: the head of the queue, while it fits."""
        return fitting(self.waiting, self.free, self.table, in_order=True)


def fitting(
    jobs: Sequence[int], free: Ints, table: JobTable, *, in_order: bool = False
) -> list[int]:
    """Return the jobs that fit next to each other; ``in_order``: none after one that does not."""
    chosen, left, tasks_on = [], free.copy(), np.zeros(len(free), np.int64)
    for i in jobs:
        tasks, need = int(table["placed_tasks"][i]), table["placed_need"][i]
        if holds(left, tasks, need, tasks_on) == tasks:
            left -= tasks_on[:, None] * need
            chosen.append(i)
        elif in_order:
            break
    return chosen


class Easy(Queue):
    """EASY backfilling: jobs may overtake if they do not delay the head of the queue.

    The queue may be ordered anew at each event by ``priority``, the smallest number first.
    """

    name = "easy"

    def priority(self, now: int, waiting: Ints) -> Floats | None:  # noqa: ARG002
        """Return a number for each of the waiting jobs; None: in the order of submission."""
        return None

    def ordered(self, now: int) -> Ints:
        """Return the waiting jobs by ``priority``, those with equal numbers as submitted.

        Raises
        ------
        PolicyError
            ``priority`` did not return a number for each of them.
        """
        waiting = np.array(self.waiting)
        returned = self.priority(now, waiting.copy())
        if returned is None:
            return waiting
        rank = np.asarray(returned)
        expected = f"expected None or one number for each of the {len(waiting)} waiting jobs"
        if rank.dtype.kind not in "biuf":
            raise PolicyError(f"priority returned no numbers ({rank.dtype}), {expected}")
        if rank.shape != waiting.shape:
            size = f"{rank.size} number" + "s" * (rank.size != 1)
            found = size if rank.ndim == 1 else f"an array of shape {rank.shape}"
            raise PolicyError(f"priority returned {found}, {expected}")
        if np.isnan(rank).any():
            raise PolicyError(f"priority returned NaN for job {waiting[np.isnan(rank)][0]}")
        return waiting[np.argsort(rank, kind="stable")]

    def choose(self, now: int) -> list[int]:
        """Return the jobs that start."""
        if not self.waiting:
            return []
        waiting = self.ordered(now)
        busy = np.array(self.running, np.int64).reshape(-1, 2)
        found = backfilled(now, waiting, busy, self.free, self.table.jobs)
        return [int(i) for i in found]


class Conservative(Queue):
    """Conservative backfilling: every job has a reservation, and the plan is rebuilt.

    The plan changes only where a job ends before it was planned to: then it is built again, in the
    order of the queue (full compression). Other events add the new jobs, with the same result. On
    nodes a job whose reservation is now may find the nodes split otherwise, and then waits.
    """

    name = "conservative"

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:
        """Begin with an empty plan."""
        super().start(public, prior, streams)
        self.times = np.zeros(64, np.int64)
        self.plan = np.zeros((64, *self.free.shape), np.int64)
        self.rows, self.old = 0, True
        self.reserved: dict[int, int] = {}
        self.planned: list[int] = []  # waiting jobs that are in the plan

    def ended(self, i: int, now: int) -> bool:
        """Release the resources of a job; the plan is out of date if it ends early."""
        on_time = super().ended(i, now)
        self.old |= not on_time
        return on_time

    def queues(self) -> list[list[int]]:
        """Return one queue: its plan has all jobs, and those of other machines delay none."""
        return [self.waiting]

    def choose(self, now: int) -> list[int]:
        """Return the jobs whose reservation is now."""
        known = len(self.planned)
        size = 2 * (len(self.running) + len(self.waiting)) + self.rows + 8
        if self.old or self.public.packed or len(self.times) < size:
            self.times = np.zeros(2 * size, np.int64)
            self.plan = np.zeros((2 * size, *self.free.shape), np.int64)
            known, self.rows = 0, 0
        busy = np.array(self.running, np.int64).reshape(-1, 2)
        fresh = np.array(self.waiting[known:], np.int64)
        starts = np.zeros(len(fresh), np.int64)
        plan = (self.times, self.plan, self.rows)
        self.rows = reserve(now, fresh, busy, self.free, self.table.jobs, *plan, starts)
        self.old = False
        self.reserved |= dict(zip(fresh.tolist(), starts.tolist(), strict=True))
        due = [i for i in self.waiting if self.reserved[i] == now]
        chosen = fitting(due, self.free, self.table) if self.public.packed else due
        gone = set(chosen)
        self.planned = [i for i in self.waiting if i not in gone]
        return chosen


@kernel
def backfilled(now: int, waiting: Ints, busy: Ints, free: Ints, jobs: QueuedJobs) -> Ints:
    """Return the jobs that EASY starts.

    Parameters
    ----------
    now : int
    waiting : shape (m,)
        Jobs in the order of the queue.
    busy : shape (r, 2)
        [planned end, job] of the running jobs, ascending.
    free : shape (H, K)
        Units of each resource that are free on each node.
    jobs : Jobs
    """
    planned, tasks, need, allocation = jobs
    left = free.copy()
    tasks_on = np.zeros(left.shape[0], np.int64)
    chosen = np.empty(waiting.size, np.int64)
    ends, taken = (
        np.empty(waiting.size, np.int64),
        np.empty((waiting.size, tasks_on.size), np.int64),
    )
    m = 0
    for i in waiting:
        if holds(left, tasks[i], need[i], tasks_on) < tasks[i]:
            break
        for h in range(tasks_on.size):
            left[h] -= tasks_on[h] * need[i]
        chosen[m], ends[m], taken[m] = i, now + planned[i], tasks_on
        m += 1
    if m == waiting.size:
        return chosen[:m]
    head = waiting[m]
    # the shadow time: planned ends in ascending order, those of jobs that start now among them
    extra, shadow = left.copy(), now
    order = np.argsort(ends[:m])
    a = b = 0
    while holds(extra, tasks[head], need[head], tasks_on) < tasks[head]:
        shadow = min(
            int(busy[a, 0]) if a < busy.shape[0] else 2**62,
            int(ends[order[b]]) if b < m else 2**62,
        )
        while a < busy.shape[0] and busy[a, 0] == shadow:
            for h in range(tasks_on.size):
                extra[h] += allocation[busy[a, 1], h] * need[busy[a, 1]]
            a += 1
        while b < m and ends[order[b]] == shadow:
            for h in range(tasks_on.size):
                extra[h] += taken[order[b], h] * need[chosen[order[b]]]
            b += 1
    for h in range(tasks_on.size):
        extra[h] -= tasks_on[h] * need[head]
    first = m
    for at in range(first + 1, waiting.size):
        i = waiting[at]
        if holds(left, tasks[i], need[i], tasks_on) < tasks[i]:
            continue
        if now + planned[i] > shadow:  # it still runs when the head starts
            fits = True
            for h in range(tasks_on.size):
                for k in range(need.shape[1]):
                    fits = fits and tasks_on[h] * need[i, k] <= max(extra[h, k], 0)
            if not fits:
                continue
            for h in range(tasks_on.size):
                extra[h] -= tasks_on[h] * need[i]
        for h in range(tasks_on.size):
            left[h] -= tasks_on[h] * need[i]
        chosen[m] = i
        m += 1
    return chosen[:m]


@kernel
def reserve(
    now: int,
    fresh: Ints,
    busy: Ints,
    free: Ints,
    jobs: QueuedJobs,
    times: Ints,
    plan: Ints,
    rows: int,
    starts: Ints,
) -> int:
    """Add jobs to a plan, each as early as it fits; without rows, begin with the running jobs.

    ``starts`` receives the reservations; returns the number of rows.

    Parameters
    ----------
    now : int
    fresh : shape (m,)
        Jobs in the order of the queue.
    busy : shape (r, 2)
        [planned end, job] of the running jobs, ascending.
    free : shape (H, K)
        Units of each resource that are free on each node now.
    jobs : Jobs
    times : shape (n,) or longer
        Seconds at which the rows of the plan begin.
    plan : shape (n, H, K) or longer
        Units that are free from then on.
    rows : int
    starts : shape (jobs,)
    """
    planned, tasks, need, allocation = jobs
    if rows == 0:
        times[0], plan[0], rows = now, free, 1
        for a in range(busy.shape[0]):
            i = busy[a, 1]
            if busy[a, 0] > times[rows - 1]:
                times[rows], plan[rows] = busy[a, 0], plan[rows - 1]
                rows += 1
            for h in range(free.shape[0]):
                plan[rows - 1, h] += allocation[i, h] * need[i]
    tasks_on = np.zeros(free.shape[0], np.int64)
    for at in range(fresh.size):
        i = fresh[at]
        starts[at] = earliest(times, plan, rows, now, planned[i], tasks[i], need[i], tasks_on)
        rows = take(times, plan, rows, starts[at], starts[at] + planned[i], need[i], tasks_on, 1)
    return rows
