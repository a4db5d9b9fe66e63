"""Conflicts: Farkas certificates that runs do not fit on single servers, by column generation.

The configuration LP over patterns of one server (Gilmore and Gomory, 1961) is infeasible exactly
if credits exist (Farkas, 1902) that the runs earn together and the servers cannot earn. The
program for the credits gets a row per pattern, separated by the best pattern of every class. A
deletion filter (Chinneck and Dravnieks, 1991) then removes runs while the rest still does not fit,
which makes the Benders cut strong.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optsched import solvers
from optsched.families.completion.certificate.conflicts import (
    APART,
    FIRST,
    LAST,
    layers_of,
    share,
    total_credit,
)
from optsched.families.completion.certificate.kernels import KernelPlatform
from optsched.families.completion.certificate.program import Conflict
from optsched.families.completion.certificate.timeline import UnfinishedError
from optsched.numbers.arrays import Flags, Floats, Ints

Stop = Callable[[], bool]


def conflict_of(platform: KernelPlatform, runs: Ints, stop: Stop) -> Conflict | None:
    """Return why some of the runs (E, 7) do not fit on single servers; None: unknown.

    None of these can be left out, and they are no longer than they need be.

    Raises
    ------
    UnfinishedError
        ``stop``, called after each pattern of a server, returned true.
    """
    program = Credits(platform, runs, stop)
    kept = np.ones(len(runs), np.bool_)
    given = program.given(kept)
    if given is None:
        return None
    kept &= given.any(axis=1)
    for x in range(len(runs) - 1, -1, -1):
        if not kept[x]:
            continue
        fewer = kept.copy()
        fewer[x] = False
        found = program.given(fewer)
        if found is not None:
            given, kept = found, fewer & found.any(axis=1)
    short = shortened(runs[kept])
    return Conflict(
        runs=tuple(map(tuple, short.tolist())),
        credits=tuple((a, b) for a, b in given[kept].tolist()),
    )


def conflict_in_time(
    platform: KernelPlatform,
    runs: Ints,
    stop: Stop,
    most: int | None = None,
    *,
    least: int = 1,
) -> Conflict | None:
    """Return why runs (E, 7) do not fit in some slots in a row; None: unknown.

    These are as few slots of those in which runs begin as need be, more than ``least`` and no more
    than ``most``. Ends as `conflict_of` where ``stop`` returns true.
    """
    slots = np.unique(runs[:, FIRST])
    most = len(slots) if most is None else min(most, len(slots))
    size = min(least, most)
    while size < most:
        size = min(most, size + (size + 1) // 2)
        for first, last in zip(slots, slots[size - 1 :], strict=False):
            some = runs[(runs[:, FIRST] <= last) & (first <= runs[:, LAST])]
            some[:, FIRST] = np.maximum(some[:, FIRST], first)
            some[:, LAST] = np.minimum(some[:, LAST], last)
            found = conflict_of(platform, some, stop)
            if found is not None:
                return found
    return None


class Credits:
    """The linear program of some runs, whose patterns stay as runs leave.

    Parameters
    ----------
    platform : Platform
    runs : array of shape (E, 7)
    stop : callable
        Whether to end, called after each pattern: a search for one takes up to a second.
    """

    def __init__(self, platform: KernelPlatform, runs: Ints, stop: Stop) -> None:
        self.platform, self.runs, self.stop = platform, runs, stop
        apart, classes = runs[:, APART], len(platform.servers)
        self.earned = np.stack([apart, np.ones(len(runs), np.int64)], axis=1)
        self.exist: Flags = np.stack([apart > 0, ~((apart > 0) & platform.ring)], axis=1)
        self.program = h = solvers.highs()
        h.setOptionValue("presolve", "off")
        cost = np.concatenate([-self.earned.ravel(), platform.servers]).astype(float)
        row = np.concatenate([self.earned.ravel(), np.zeros(classes)])
        none = np.zeros(cost.size)
        solvers.load(h, cost, row[None], [-np.inf], [1.0], none, none + np.inf)

    def given(self, kept: Flags) -> Ints | None:
        """Return credits (E, 2) that show that the runs that are kept (E,) do not fit; or None."""
        h, number, classes = self.program, self.runs.shape[0], len(self.platform.servers)
        upper = np.where(self.exist & kept[:, None], np.inf, 0.0).ravel()
        columns = np.arange(upper.size, dtype=np.int32)
        h.changeColsBounds(upper.size, columns, np.zeros(upper.size), upper)
        for _ in range(200):
            h.run()
            x = np.array(h.getSolution().col_value)
            # of what the servers cannot earn: less is rounding
            if -float(h.getInfo().objective_function_value) < 1e-6:
                return None
            # credits as integers
            credit = np.rint(np.maximum(x[: 2 * number], 0.0) * 2.0**30).astype(np.int64)
            given = np.ascontiguousarray(credit.reshape(number, 2))
            held, better = 0, False
            for c in range(classes):
                best, what = self._share(c, given, kept, x)
                held = -1 if best < 0 or held < 0 else held + int(self.platform.servers[c]) * best
                better |= self._add(c, what, x)
            if 0 <= held < total_credit(self.runs, given):
                return given
            if not better:
                return None
        return None

    def _share(self, c: int, given: Ints, kept: Flags, x: Floats) -> tuple[int, Ints]:
        """Return the most credits on a server of class c, and what of the runs it holds (E, 3)."""
        out = np.zeros((len(self.runs), 3), np.int64)
        # of each search for the best share
        nodes = np.array([2**23], np.int64)
        # of the credits of a share, at most
        charged = int(x[2 * len(self.runs) + c] * 2.0**30) + 64
        some = self.runs[kept], given[kept]
        best, out[kept] = share(self.platform, c, *some, nodes, charged)
        if self.stop():
            raise UnfinishedError
        return best, out

    def _add(self, c: int, what: Ints, x: Floats) -> bool:
        """Add a pattern of class c; return whether it earns more than the class is charged."""
        pattern = np.zeros(x.size)
        pattern[: what.shape[0] * 2] = (what[:, :2] * self.exist).ravel()
        pattern[what.shape[0] * 2 + c] = -1.0
        if pattern @ x <= 1e-9:
            return False
        where = np.flatnonzero(pattern).astype(np.int32)
        self.program.addRow(-np.inf, 0.0, where.size, where, pattern[where])
        return True


def shortened(runs: Ints) -> Ints:
    """Return the runs from the first to the last of their slots that count, see `layers_of`."""
    _, slots = layers_of(runs)
    short = runs.copy()
    for x, (first, last) in enumerate(runs[:, [FIRST, LAST]].tolist()):
        mine = slots[(first <= slots) & (slots <= last)]
        short[x, FIRST], short[x, LAST] = mine[0], mine[-1]
    return short
