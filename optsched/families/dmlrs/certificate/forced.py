"""Backtracking search: whether forced numbers of workers fit on the machines of one slot.

A depth-first search through all placements (Golomb and Baumert, 1965), up to the order of equal
machines, with failed states remembered; integers only. Machines are empty: whatever else runs only
takes more capacity. It is enough to place exactly the numbers that are forced, each with the
fewest parameter servers (PS): taking workers or PS away from a placement leaves one of the same
kind.
"""

from __future__ import annotations

from collections.abc import Iterator

from optsched.families.dmlrs.instance import IMPOSSIBLE, DmlrsInstance

INNER_ONLY, OUTER_ONLY = 1, 2
MOST_STEPS = 20_000  # placements that are tried

Residual = tuple[int, ...]  # residual capacity of one machine, by resource
Conflict = tuple[tuple[int, int, int], ...]
"""(job, mode, workers): this many workers, in that mode, find no place at once."""


class _TooLongError(Exception):
    """The search was given up."""


def refuted(inst: DmlrsInstance, conflict: Conflict) -> bool | None:
    """Return whether there is no placement of a conflict; None if that takes too long."""
    a = inst.arrays
    residuals: tuple[Residual, ...] = tuple(sorted(tuple(row) for row in a.capacity.tolist()))
    # those with the least freedom first
    order = sorted(conflict, key=lambda x: -x[2] * int(a.worker_demand[x[0]].max(initial=0)))
    try:
        return not _Search(inst).fits(residuals, tuple(order))
    except _TooLongError:
        return None


class _Search:
    def __init__(self, inst: DmlrsInstance) -> None:
        self.inst = inst
        self.steps = 0
        self.dead: set[tuple[tuple[Residual, ...], int]] = set()

    def fits(self, residuals: tuple[Residual, ...], forced: Conflict) -> bool:
        """Whether all jobs find a place."""
        if not forced:
            return True
        if (residuals, len(forced)) in self.dead:
            return False
        for left in self.placements(residuals, forced[0]):
            if self.fits(left, forced[1:]):
                return True
        self.dead.add((residuals, len(forced)))
        return False

    def placements(
        self, residuals: tuple[Residual, ...], item: tuple[int, int, int]
    ) -> Iterator[tuple[Residual, ...]]:
        """Yield the residual machines, sorted, after every placement of one job."""
        job, mode, n = item
        needs = self.inst.needs[job]
        alpha = tuple(self.inst.arrays.worker_demand[job].tolist())
        beta = tuple(self.inst.arrays.ps_demand[job].tolist())
        m = needs.ps_inner[n]
        if mode == INNER_ONLY and m != IMPOSSIBLE:
            for after in put(residuals, load_of(alpha, n, beta, m)):
                self.count()
                yield after
        m = needs.ps_outer[n]
        if mode == OUTER_ONLY and m != IMPOSSIBLE:
            for after in self.spread(residuals, 0, n, m, alpha, beta, (n, m), None):
                yield tuple(sorted(after))

    def spread(
        self,
        residuals: tuple[Residual, ...],
        h: int,
        n: int,
        m: int,
        alpha: Residual,
        beta: Residual,
        whole: tuple[int, int],
        equal: tuple[int, int] | None,
    ) -> Iterator[tuple[Residual, ...]]:
        """Yield the residual capacity after n workers and m PS on machines h, h + 1, ...

        ``whole`` are all of the job's: no machine holds them alone. ``equal``: what the machine
        before holds, if it is equal to this one, which then holds no more.
        """
        self.count()
        if n == 0 and m == 0:
            yield residuals
            return
        if h == len(residuals):
            return
        for w in range(n, -1, -1):
            for s in range(m, -1, -1):
                if (w, s) == whole or (equal is not None and (w, s) > equal):
                    continue
                left = less(residuals[h], load_of(alpha, w, beta, s))
                if left is None:
                    continue
                same = h + 1 < len(residuals) and residuals[h + 1] == residuals[h]
                for rest in self.spread(
                    residuals, h + 1, n - w, m - s, alpha, beta, whole, (w, s) if same else None
                ):
                    yield (*rest[:h], left, *rest[h + 1 :])

    def count(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _TooLongError


def load_of(alpha: Residual, n: int, beta: Residual, m: int) -> Residual:
    """Return the load of n workers and m PS."""
    return tuple(n * a + m * b for a, b in zip(alpha, beta, strict=True))


def less(residual: Residual, load: Residual) -> Residual | None:
    """Return the residual capacity next to a load; None if it does not fit."""
    left = tuple(c - x for c, x in zip(residual, load, strict=True))
    return left if min(left) >= 0 else None


def put(residuals: tuple[Residual, ...], load: Residual) -> list[tuple[Residual, ...]]:
    """Return the residual machines, sorted, wherever a load is put."""
    found = []
    for h, residual in enumerate(residuals):
        left = less(residual, load)
        if left is not None and (h == 0 or residuals[h - 1] != residual):
            found.append(tuple(sorted((*residuals[:h], left, *residuals[h + 1 :]))))
    return found
