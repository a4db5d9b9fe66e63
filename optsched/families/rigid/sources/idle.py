"""Down times of a cluster, and jobs that are missing in its log, in a recorded schedule.

Nodes count as one pool, or as one per partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optsched.families.rigid.instance import RigidInstance
from optsched.numbers.arrays import Flags, Floats, Ints

MOST = 1000  # jobs that are looked at
CYCLE = 60  # s: shorter waits may only be due to when the scheduler runs
LASTS = 600  # s: shorter standstills do not count
ALMOST = 0.05  # of every resource: if no more is used, almost nothing runs
MATTERS = 0.01  # of the mean waiting time


@dataclass(frozen=True)
class Standstill:
    """Periods in which nothing, or almost nothing, ran although jobs waited that fitted."""

    periods: tuple[tuple[int, int], ...]  # from second, until second
    running: int  # most jobs that ran at once in them
    waiting: int  # most jobs that waited at once in them
    inside: float  # s of the mean waiting time that lie in them
    whole: float  # s of the mean waiting time that jobs waited which waited in them


class Record:
    """A recorded schedule."""

    def __init__(self, inst: RigidInstance, starts: Sequence[int]) -> None:
        self.start = np.array(starts, np.int64)
        self.arrival = np.array([job.arrival for job in inst.jobs], np.int64)
        self.need = np.array([[job.tasks * d for d in job.need] for job in inst.jobs], np.int64)
        self.total = np.array(inst.total, np.int64)
        weight = np.array([job.weight for job in inst.jobs], np.float64)
        self.share: Floats = weight / weight.sum()  # of means
        ends = self.start + [job.run for job in inst.jobs]
        self.last = int(self.arrival.max())  # from then on, jobs of the log may be missing
        self.first_end = int(ends.min())  # until then also: those that ended before
        moments = np.concatenate([[0], self.start, ends])
        self.times, which = np.unique(moments, return_inverse=True)
        taken = np.column_stack([self.need, np.ones(len(ends), np.int64)])
        used = np.zeros((len(self.times), taken.shape[1]), np.int64)
        np.add.at(used, which.ravel(), np.concatenate([0 * taken[:1], taken, -taken]))
        used = np.cumsum(used, axis=0)  # from each of the times on
        self.free: Ints = self.total - used[:, :-1]
        self.running: Ints = used[:, -1]

    @property
    def mean(self) -> float:
        """Mean waiting time, s."""
        return float(self.share @ (self.start - self.arrival))

    def free_while_waiting(self, since: int = 0) -> tuple[float, float, int]:
        """Return for which share of waiting times enough was free, their hours, and of how many.

        These are at most `MOST` jobs that arrived ``since`` then, waited longer than `CYCLE` and
        started before the last one arrived: all that could run while they waited is then in the
        window.
        """
        long = self.start > self.arrival + CYCLE
        waited = np.flatnonzero(long & (self.arrival >= since) & (self.start <= self.last))
        waited = waited[:: 1 + len(waited) // MOST]
        idle = whole = 0
        for i in waited.tolist():
            _, spans, enough = self._wait(i)
            idle += int(spans[enough].sum())
            whole += int(spans.sum())
        return idle / max(1, whole), whole / 3600, len(waited)

    def _wait(self, i: int, until: int | None = None) -> tuple[slice, Ints, Flags]:
        """Return the times while a job waited, how long each was, and whether it fitted then.

        Parameters
        ----------
        i : int
        until : int, optional
            One of the times, at which the job is no longer looked at.
        """
        begin, end = self.arrival[i], min(self.start[i], until or self.start[i])
        first = int(np.searchsorted(self.times, begin, "right")) - 1
        last = int(np.searchsorted(self.times, end))
        spans = np.diff(np.clip(self.times[first : last + 1], begin, end))
        room = (self.free[first:last] >= self.need[i]) | (self.need[i] == 0)
        return slice(first, last), spans, np.all(room, axis=1)

    def before_first_end(self) -> tuple[float, int]:
        """Return how long jobs waited that fitted before the first one ended, and their number.

        That is in s of the mean waiting time. A log of what ran in a period lacks the jobs that
        ended before it, for which these may have waited. It counts only while every earlier job
        that needs the same resources fitted as well.
        """
        taken = np.zeros(self.free.shape, np.bool_)  # by an earlier job without space
        had = list[int]()
        early = (self.arrival < self.first_end) & (self.start > self.arrival)
        for i in sorted(np.flatnonzero(early).tolist(), key=self.arrival.__getitem__):
            when, spans, room = self._wait(i, self.first_end)
            used = self.need[i] > 0
            if spans[room & ~np.any(taken[when] & used, axis=1)].sum() > CYCLE:
                had.append(i)
            taken[when] |= used & ~room[:, None]
        return float(self.share[had] @ (self.start - self.arrival)[had]), len(had)

    def standstill(self) -> Standstill | None:
        """Return when nothing ran, or else almost nothing, although jobs waited that all fitted.

        Each period lasts at least `LASTS`. None: this matters little for the mean waiting time.
        """
        found = (self._standstill(part) for part in (0.0, ALMOST))
        return next((one for one in found if one.inside > MATTERS * self.mean), None)

    def _standstill(self, part: float) -> Standstill:
        """Return when at most this part of every resource was used although jobs waited."""
        low = np.all(self.total - self.free <= part * self.total, axis=1)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], low, [False]])))
        times, waits = np.append(self.times, self.last), self.start > self.arrival + CYCLE
        periods, running, waiting = list[tuple[int, int]](), 0, 0
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            begin, end = max(int(times[a]), self.first_end), min(int(times[b]), self.last)
            there = np.flatnonzero(waits & (self.arrival < end) & (self.start > begin))
            need, room = self.need[there], self.free[a:b].min(axis=0)
            if end - begin < LASTS or np.any((need > room) & (need > 0)):  # reserved for it
                continue
            for first, last in _joined(self.arrival[there], self.start[there], begin, end):
                if last - first >= LASTS:
                    periods.append((first, last))
                    then = (times[a:b] < last) & (times[a + 1 : b + 1] > first)
                    running = max(running, int(self.running[a:b][then].max()))
                    waiting = max(waiting, self._at_once(there, first, last))
        overlap = np.zeros(len(self.start), np.int64)
        for first, last in periods:
            overlap += np.fmax(0, np.fmin(self.start, last) - np.fmax(self.arrival, first))
        whole = np.where(overlap > 0, self.start - self.arrival, 0)
        means = float(self.share @ overlap), float(self.share @ whole)
        return Standstill(tuple(periods), running, waiting, *means)

    def _at_once(self, jobs: Ints, first: int, last: int) -> int:
        """Return how many of the jobs waited at once between two times."""
        begin = np.fmax(self.arrival[jobs], first)
        end = np.fmin(self.start[jobs], last)
        begin, end = np.sort(begin[begin < end]), np.sort(end[begin < end])
        ended = np.searchsorted(end, begin, "right")
        return int((np.arange(1, len(begin) + 1) - ended).max())


def _joined(begins: Ints, ends: Ints, first: int, last: int) -> list[tuple[int, int]]:
    """Return the union of intervals, as far as it lies between two times."""
    found = list[tuple[int, int]]()
    pairs = zip(begins.clip(first).tolist(), ends.clip(None, last).tolist(), strict=True)
    for begin, end in sorted(pairs):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found
