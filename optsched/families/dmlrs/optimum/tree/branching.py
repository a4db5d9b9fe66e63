"""Branching rule of branch and price at prices per packing.

The rule is on original variables (Barnhart et al., 1998; Vanderbeck, 2000): completion slots, then
numbers of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from optsched.engine.branch import Split
from optsched.engine.budget import Budget, Limits
from optsched.engine.colgen import Column, Relaxation
from optsched.engine.slot_tree import SlotBranching, Used
from optsched.families.dmlrs.instance import DmlrsSchedule, Entry, JobSchedule
from optsched.families.dmlrs.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.dmlrs.optimum.relaxations.unit_price import SlotBlocks
from optsched.families.dmlrs.optimum.tree.placing import Placed, PlacementRequest, pack
from optsched.numbers.arrays import Flags, Ints
from optsched.scheduling.board import placed_jobs

PACKING_SECONDS = 5.0  # for one slot; a failure only means that no schedule is found


class SlotTree(SlotBranching, SlotBlocks):
    """Prices per worker and slot as a problem for `branch.BranchAndPrice`.

    ``limits`` returns a solver's limits for this many seconds.
    """

    def __init__(
        self, capacity: CapacityRelaxation, limits: Callable[[float], Limits] | None = None
    ) -> None:
        super().__init__(capacity)
        self.limits = limits or Budget().limits
        self.packed: dict[tuple[PlacementRequest, ...], Placed | None] = {}

    def pack(self, requests: tuple[PlacementRequest, ...]) -> Placed | None:
        """Place wishes on single machines; None if no way was found."""
        if requests not in self.packed:
            self.packed[requests] = pack(self.inst, requests, self.limits(PACKING_SECONDS))
        return self.packed[requests]

    def number_of(self, amount: Ints) -> Ints:
        """Return the workers of schedules by slot: their kinds, see `Request`."""
        return amount // 2

    def allowed(self, columns: Sequence[Column]) -> Flags:
        """Return which columns the node permits; see `branch.BranchProblem`."""
        out = super().allowed(columns)
        packings = [k for k, column in enumerate(columns) if column.block >= self.jobs]
        if packings:
            slot = np.array([columns[k].block for k in packings]) - self.jobs
            number = np.array([columns[k].choice for k in packings])
            out[packings] = (number <= self.upper[slot]).all(axis=1)
        return out

    def schedule(self, relaxation: Relaxation) -> DmlrsSchedule | None:
        """Return the schedule that a relaxation is, if every job has one, and they pack."""
        used = self.used(relaxation)
        runs = {i for i, _, _, _ in used}
        ways = {(i, amount.tobytes()) for i, _, amount, _ in used}
        if self._split_completions(used) or len(ways) > len(runs):
            return None
        placed: list[tuple[list[Entry], list[Entry]]] = [([], []) for _ in range(self.jobs)]
        for t in range(self.slots):
            found = self.pack(self.placement_requests(used, t))
            if found is None:
                return None
            for i, spots in found.items():
                placed[i][0].extend((t, h, w) for h, w, _ in spots if w)
                placed[i][1].extend((t, h, s) for h, _, s in spots if s)
        return DmlrsSchedule(jobs=placed_jobs(placed, runs, JobSchedule))

    def placement_requests(self, used: Used, t: int) -> tuple[PlacementRequest, ...]:
        """Return the use of the jobs in slot ``t``, where every job has one schedule."""
        kinds = {i: int(amount[t]) for i, _, amount, _ in used}
        return tuple(
            PlacementRequest(i, kind // 2, kind % 2 == 1)
            for i, kind in sorted(kinds.items())
            if kind
        )

    def splits(self, relaxation: Relaxation) -> list[Split]:
        """Return splits of completion slots, else of numbers of workers."""
        used = self.used(relaxation)
        return self._split_completions(used) or self._split_workers(used)
