"""Neighbourhood search of family `oasis`: jobs go in and out of single machines at dual prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from optsched.colgen import Floats
from optsched.families.oasis.capacity_blocks import NEGLIGIBLE, over_slots, requests
from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisSchedule
from optsched.progress import Progress
from optsched.scheduling.board import Board, Plan
from optsched.search import construct, improve
from optsched.streams import Streams

FACTORS = (  # multiples of the dual prices, and the share of leftovers that is charged
    (0.0, 0.0),
    (0.1, 0.0),
    (0.3, 0.0),
    (0.6, 0.0),
    (1.0, 0.0),
    (0.1, 1.0),
    (0.3, 1.0),
    (0.6, 1.0),
    (0.3, 0.5),
    (1.0, 1.0),
)
REPORT_SECONDS = 2.0  # judging a schedule takes a while: not every step is reported at once
NEAR = 1e-3  # a job is in the way where it can still earn this share of its best


class Neighbourhood:
    """A board for an instance at given prices, and the search on it.

    Parameters
    ----------
    inst : OasisInstance
    prices : pair of arrays of shape (T, R, H) and (T, R, K)
        Per unit of demand, on single machines.
    """

    def __init__(self, inst: OasisInstance, prices: tuple[Floats, Floats]) -> None:
        self.inst = inst
        arrays = inst.arrays
        free = (
            over_slots(arrays.worker_capacity.astype(float), inst.horizon),
            over_slots(arrays.ps_capacity.astype(float), inst.horizon),
        )
        self.board = Board(requests(inst), free, prices, FACTORS)
        best = arrays.utility.max(axis=1, initial=0.0)
        self.worth = np.where(best > NEGLIGIBLE * best.max(initial=0.0), best, 0.0)
        useful = arrays.utility > NEAR * best[:, None]
        last = inst.horizon - 1 - useful[:, ::-1].argmax(axis=1)
        self.windows = [(job.arrival, int(t)) for job, t in zip(inst.jobs, last, strict=True)]

    def start(self) -> None:
        """Insert the jobs at the full prices, the most valuable first."""
        construct(self.board, np.argsort(-self.worth, kind="stable").tolist(), len(FACTORS) - 1)

    def load(self, plans: Mapping[int, Plan]) -> None:
        """Replace the state by ``plans``."""
        for i in list(self.board.plans):
            self.board.remove(i)
        for i, plan in plans.items():
            self.board.restore(i, plan)

    def search(
        self, monitor: Progress, *, seed: int, start: int, done: Callable[[], float]
    ) -> dict[int, Plan]:
        """Search from the present state; report every better schedule; return the best plans."""
        best = dict(self.board.plans)
        value = self.board.value
        monitor.incumbent(value, self.schedule(best))
        reported = monitor.seconds()

        def found() -> None:
            nonlocal best, value, reported
            best, value = dict(self.board.plans), self.board.value
            if monitor.seconds() > reported + REPORT_SECONDS:
                monitor.incumbent(value, self.schedule(best))
                reported = monitor.seconds()

        improve(
            self.board,
            self.worth.tolist(),
            self.windows,
            len(FACTORS),
            Streams(seed)("neighbourhood", start),
            done=done,
            found=found,
        )
        monitor.incumbent(value, self.schedule(best))
        return best

    def schedule(self, plans: Mapping[int, Plan]) -> OasisSchedule:
        """Turn plans into a schedule."""
        jobs: list[JobSchedule | None] = [None] * len(self.inst.jobs)
        for i, plan in plans.items():
            rows = plan.entries.tolist()
            jobs[i] = JobSchedule(
                workers=tuple((t, h, n) for side, t, h, n in rows if side == 0),
                ps=tuple((t, h, n) for side, t, h, n in rows if side == 1),
            )
        return OasisSchedule(jobs=tuple(jobs))


def flat_prices(inst: OasisInstance) -> tuple[Floats, Floats]:
    """Return prices that say nothing but "use little": before any dual prices are known."""
    out = []
    for capacity in (inst.arrays.worker_capacity, inst.arrays.ps_capacity):
        whole = np.maximum(capacity.sum(axis=0), 1).astype(float)  # (R,)
        price = 1.0 / (whole * capacity.shape[1] * inst.horizon)
        out.append(
            np.ascontiguousarray(
                np.broadcast_to(price[None, :, None], (inst.horizon, *capacity.T.shape))
            )
        )
    return out[0], out[1]
