"""Branching rule of branch and price at prices per packing.

The rule is on original variables (Barnhart et al., 1998; Vanderbeck, 2000), in this order:
completion slots, whether a job sits on one machine in a slot or on more, numbers of workers. Where
integer numbers do not pack on single machines, the numbers of that slot are split further, until
the forced numbers alone prove that they do not pack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from optsched.engine.branch import Split
from optsched.engine.budget import Budget, Limits
from optsched.engine.colgen import Relaxation
from optsched.engine.slot_tree import INTEGRAL, MOST_SPLITS, SlotBranching, Used
from optsched.families.dmlrs.instance import DmlrsSchedule, Entry, JobSchedule
from optsched.families.dmlrs.optimum.relaxations.at_nodes import (
    ANY,
    INNER_ONLY,
    OUTER_ONLY,
    LocalityRestriction,
)
from optsched.families.dmlrs.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.dmlrs.optimum.relaxations.unit_price import SlotBlocks
from optsched.families.dmlrs.optimum.tree.placing import Placed, PlacementRequest, pack
from optsched.numbers.arrays import Ints
from optsched.scheduling.board import placed_jobs

PACKING_SECONDS = 5.0  # for one slot; a failure only means that something else is split


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
        """Return the workers of a schedule by slot: its kinds, see `Request`."""
        return amount // 2

    def schedule(self, relaxation: Relaxation) -> DmlrsSchedule | None:
        """Return the schedule that a relaxation is, if its numbers are whole and pack."""
        used = self.used(relaxation)
        if self._split_completions(used) or self._split_modes(used) or self._split_workers(used):
            return None
        placed: list[tuple[list[Entry], list[Entry]]] = [([], []) for _ in range(self.jobs)]
        for t in range(self.slots):
            found = self.pack(self.placement_requests(used, t))
            if found is None:
                return None
            for i, spots in found.items():
                placed[i][0].extend((t, h, w) for h, w, _ in spots if w)
                placed[i][1].extend((t, h, s) for h, _, s in spots if s)
        runs = {i for i, _, _, _ in used}
        return DmlrsSchedule(jobs=placed_jobs(placed, runs, JobSchedule))

    def placement_requests(self, used: Used, t: int) -> tuple[PlacementRequest, ...]:
        """Return the use of the jobs in slot ``t``, where all schedules of a job agree."""
        kinds = {i: int(amount[t]) for i, _, amount, _ in used}
        return tuple(
            PlacementRequest(i, kind // 2, kind % 2 == 1)
            for i, kind in sorted(kinds.items())
            if kind
        )

    def splits(self, relaxation: Relaxation) -> list[Split]:
        """Return splits of completion slots, else of modes, else of numbers of workers."""
        used = self.used(relaxation)
        return (
            self._split_completions(used)
            or self._split_modes(used)
            or self._split_workers(used)
            or self._split_unpacked(used)
        )

    def _split_modes(self, used: Used) -> list[Split]:
        """Return splits of (job, slot) where both kinds of placement are used."""
        inner, outer = np.zeros((2, self.jobs, self.slots))
        for i, _, kind, x in used:
            inner[i] += x * ((kind > 0) & (kind % 2 == 0))
            outer[i] += x * (kind % 2 == 1)
        score = np.minimum(inner, outer)
        out = []
        for where in np.argsort(-score, axis=None, kind="stable")[:MOST_SPLITS].tolist():
            i, t = divmod(where, self.slots)
            if score[i, t] > INTEGRAL:
                out.append(self._mode(i, t))
        return out

    def _mode(self, i: int, t: int) -> Split:
        one, more = self.node.mode.copy(), self.node.mode.copy()
        one[i, t], more[i, t] = INNER_ONLY, OUTER_ONLY
        return Split(
            LocalityRestriction(i, t), replace(self.node, mode=one), replace(self.node, mode=more)
        )

    def _split_unpacked(self, used: Used) -> list[Split]:
        """Force the numbers of a slot that do not pack, one job after the other, or less of them.

        A wish whose mode is open is settled first, for what fits one way may not fit the other.
        """
        for t in range(self.slots):
            requests = self.placement_requests(used, t)
            if self.pack(requests) is not None:
                continue
            for i, number, _ in sorted(requests, key=lambda w: -w.workers):
                if self.node.mode[i, t] == ANY:
                    return [self._mode(i, t)]
                if self.node.lower[i, t] < number:
                    return [self._workers(i, t, number - 1)]
        return []
