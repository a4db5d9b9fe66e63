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
from optsched.families.dmlrs.certificate.forced import INNER_ONLY, OUTER_ONLY, Conflict
from optsched.families.dmlrs.instance import DmlrsSchedule
from optsched.families.dmlrs.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.dmlrs.optimum.relaxations.unit_price import SlotBlocks
from optsched.families.dmlrs.optimum.tree.placing import Placed, pack, schedule_of
from optsched.numbers.arrays import Flags, Ints

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
        self.packed: dict[Conflict, Placed | None] = {}

    def pack(self, requests: Conflict) -> Placed | None:
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
        slots = (self.pack(self.placement_requests(used, t)) for t in range(self.slots))
        return schedule_of(self.jobs, slots)

    def placement_requests(self, used: Used, t: int) -> Conflict:
        """Return the use of the jobs in slot ``t``, where every job has one schedule."""
        kinds = {i: int(amount[t]) for i, _, amount, _ in used}
        modes = INNER_ONLY, OUTER_ONLY
        return tuple((i, modes[kind % 2], kind // 2) for i, kind in sorted(kinds.items()) if kind)

    def splits(self, relaxation: Relaxation) -> list[Split]:
        """Return splits of completion slots, else of numbers of workers."""
        used = self.used(relaxation)
        return self._split_completions(used) or self._split_workers(used)
