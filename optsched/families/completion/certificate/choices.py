"""Dominance between the modes of a job, and between the items that run on servers.

Mode elimination as in multi-mode project scheduling (Sprecher et al., 1997). A mode is left out if
another one of the same locality is no longer, has no more workers, each of them no heavier, and
parameter servers (PS) that take no more for any number of workers elsewhere: put its workers on
places of the others, one of them away from the host if they were apart, and its PS on the host.
The remaining modes of a job with the same worker type and duration are one choice. It runs an
*item*: this many workers on several servers with one of some types of PS, or this many on one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from optsched.families.completion.certificate.bound import BoundEvaluator
from optsched.families.completion.certificate.kernels import KernelPlatform
from optsched.families.completion.instance import CompletionInstance
from optsched.numbers.arrays import Flags, Ints
from optsched.numbers.overflow import Magnitude, TooLargeError

MOST_MODES = 4096  # of a job, of those that are short enough
MOST_PAIRS = 2**28  # comparisons of what PS take
MOST_COVERS = 2**22  # pairs of an item of a conflict and one of a job
TYPE, APART, APART_PS, TOGETHER, TOGETHER_PS = range(5)  # columns of items


class JobChoices(NamedTuple):
    """Choices of the jobs, one job after the other, and their items."""

    items: Ints  # (I, 5): worker type, workers apart, bits of PS types, workers together, bits
    first: Ints  # (J + 1,) choices of every job
    item: Ints  # (N,)
    duration: Ints  # (N,)
    use: Ints  # (I, R) units of the whole cluster, at least

    def shortest(self) -> Ints:
        """Return the least duration of every job."""
        return np.minimum.reduceat(self.duration, self.first[:-1])


class Comparison:
    """Which kinds of workers and PS are no heavier than others.

    Parameters
    ----------
    platform : Platform
    most : int
        Workers of a job.
    """

    def __init__(self, platform: KernelPlatform, most: int) -> None:
        e = platform.e
        self.worker: Flags = np.asarray((e[:, None] <= e[None]).all(axis=2))  # (M, M)
        self.ring, kinds = platform.ring, len(e)
        self.types = 1 if platform.ring else len(platform.z)
        self.pair = self.worker  # (M * P, M * P) also by what the PS take
        if not platform.ring:
            count = kinds * self.types
            Magnitude("comparisons of PS", count**2 * (most + 1) * e.shape[1]).fits(MOST_PAIRS)
            load = platform.needed[:, :, : most + 1, None] * platform.z[None, :, None]
            load = load.reshape(count, -1)
            lighter = np.array([(one <= load).all(axis=1) for one in load])
            worker = self.worker.repeat(self.types, axis=0).repeat(self.types, axis=1)
            self.pair = np.logical_and(lighter, worker)
        self.known: dict[tuple[int, ...], bool] = {}

    def undominated(self, rows: Ints) -> Ints:
        """Return the modes (G, 5) of a job that it needs."""
        d, m, p, q, n = rows.T
        pair = m * self.types + p
        below = self.pair[pair[:, None], pair[None]] & (q[:, None] == q[None])
        below &= (n[:, None] <= n[None]) & (d[:, None] <= d[None])
        # of modes that take the same, the first stays
        same = below & below.T
        worse = below & ~same | (same & np.tri(len(rows), k=-1, dtype=bool).T)
        left: Ints = rows[~worse.any(axis=0)]
        return left

    def covers(self, items: Ints, others: Ints) -> Flags:
        """Return whether an item fits wherever another one does, shape (X, I).

        Raises
        ------
        ValueError
            There are too many pairs.
        """
        Magnitude("items of conflicts times items", len(items) * len(others)).fits(MOST_COVERS)
        out = [[self._covers(x, i) for i in others.tolist()] for x in items.tolist()]
        return np.array(out, np.bool_).reshape(len(items), len(others))

    def _covers(self, x: Sequence[int], i: Sequence[int]) -> bool:
        for number, mask in ((APART, APART_PS), (TOGETHER, TOGETHER_PS)):
            if i[mask] and not (x[mask] and x[number] <= i[number]):
                return False
            if i[mask] and not self._lighter(x[TYPE], x[mask], i[TYPE], i[mask]):
                return False
        return True

    def _lighter(self, m: int, mask: int, other: int, others: int) -> bool:
        """Whether for each PS type of the other item one of the item's will do."""
        key = m, mask, other, others
        if key not in self.known:
            mine, theirs = (
                [p for p in range(self.types) if (bits >> p) & 1] for bits in (mask, others)
            )
            a, b = m * self.types, other * self.types
            self.known[key] = all(any(self.pair[a + p, b + k] for p in mine) for k in theirs)
        return self.known[key]


def menu_of(evaluation: BoundEvaluator, limit: Fraction) -> JobChoices | None:
    """Return what the jobs may do in schedules that cost at most ``limit``; None if there is none.

    Raises
    ------
    ValueError
        A job has too many modes.
    """
    inst, platform = evaluation.inst, evaluation.platform
    alone = []
    for w, job, d in zip(evaluation.weights, inst.jobs, evaluation.modes.shortest, strict=True):
        if d is None:
            return None
        alone.append(w * (job.arrival + d))
    rest = limit - sum(alone)
    left = []
    for w, one, job, rows in zip(
        evaluation.weights, alone, inst.jobs, evaluation.modes, strict=True
    ):
        last = (rest + one) // w  # at best
        if inst.deadline is not None:
            last = min(last, inst.deadline)
        short = rows[rows[:, 0] <= last - job.arrival]
        if len(short) > MOST_MODES:
            raise TooLargeError(
                f"a job has {len(short)} modes that are short enough, expected at most {MOST_MODES}"
            )
        if not len(short):
            return None
        left.append(short)
    comparison = Comparison(platform, max(int(rows[:, 4].max()) for rows in left))
    return _menu(inst, platform, [comparison.undominated(rows) for rows in left])


def _menu(inst: CompletionInstance, platform: KernelPlatform, modes: Sequence[Ints]) -> JobChoices:
    known: dict[tuple[int, ...], int] = {}
    first, chosen = [0], []
    for rows in modes:
        for d, m in np.unique(rows[:, :2], axis=0).tolist():
            item = _item(rows[(rows[:, 0] == d) & (rows[:, 1] == m)])
            chosen.append((known.setdefault((m, *item), len(known)), d))
        first.append(len(chosen))
    items = np.array(list(known), np.int64)
    item, duration = np.array(chosen, np.int64).T
    whole = [sum(row) for row in inst.arrays.capacity.T.tolist()]
    return JobChoices(
        items,
        np.array(first, np.int64),
        np.ascontiguousarray(item),
        np.ascontiguousarray(duration),
        np.array([_least_use(platform, one, whole) for one in items.tolist()], np.int64),
    )


def _item(rows: Ints) -> tuple[int, int, int, int]:
    """Return (workers apart, bits of their PS types, workers together, bits) of modes."""
    out = []
    for q in (0, 1):
        mine = rows[rows[:, 3] == q]
        bits = int(np.bitwise_or.reduce(1 << mine[:, 2])) if len(mine) else 0
        out += [int(mine[:, 4].min()) if bits else 0, bits]
    return out[0], out[1], out[2], out[3]


def _least_use(platform: KernelPlatform, item: Sequence[int], whole: Sequence[int]) -> list[int]:
    """Return what an item uses of the cluster (R,) at least, and no more than one unit too much."""
    m, least = item[TYPE], [most + 1 for most in whole]
    for number, mask, alone in ((APART, APART_PS, False), (TOGETHER, TOGETHER_PS, True)):
        n = item[number]
        for p in range(item[mask].bit_length()):
            if not (item[mask] >> p) & 1:
                continue
            for r in range(len(whole)):
                load = n * int(platform.e[m, r])
                if not platform.ring:
                    away = platform.needed[m, p, :1] if alone else platform.needed[m, p, 1 : n + 1]
                    load += int(away.min()) * int(platform.z[p, r])
                least[r] = min(least[r], load)
    return least
