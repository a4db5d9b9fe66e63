"""Branching rule of branch and price at prices per worker and slot.

The rule is on original variables (Barnhart et al., 1998; Vanderbeck, 2000), in this order:
completion slots, numbers of workers, and, where the numbers of a slot do not pack, the number of
one job on a single machine. A relaxation without any such split is a schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.sparse import block_diag, eye_array, hstack, vstack

from optsched import solvers
from optsched.engine.branch import Split
from optsched.engine.budget import Budget, Limits
from optsched.engine.colgen import Relaxation
from optsched.engine.slot_tree import INTEGRAL, SlotBranching, Used
from optsched.families.oasis.instance import Entry, JobSchedule, OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.relaxations.capacity import SIDES
from optsched.families.oasis.optimum.relaxations.unit_price import UnitPriceDecomposition
from optsched.families.oasis.optimum.tree.nodes import MachineBranch
from optsched.numbers.arrays import Ints
from optsched.scheduling.board import placed_jobs

PACKING_SECONDS = 5.0  # for one slot; a failure only means that a machine is split


class UnitPriceBranching(SlotBranching, UnitPriceDecomposition):
    """The decomposition as a problem for `branch.BranchAndPrice`.

    ``limits`` returns a solver's limits for this many seconds.
    """

    def __init__(
        self, inst: OasisInstance, limits: Callable[[float], Limits] | None = None
    ) -> None:
        super().__init__(inst)
        self.limits = limits or Budget().limits

    def completions(self, relaxation: Relaxation) -> dict[int, int] | None:
        """Return the completion slots of the jobs if all are whole, else None."""
        used = self.used(relaxation)
        if self._split_completions(used):
            return None
        return {i: int(self.deadline[i, completion]) for i, completion, _, _ in used}

    def schedule(self, relaxation: Relaxation) -> OasisSchedule | None:
        """Return the schedule that a relaxation is, if its numbers are whole and pack."""
        used = self.used(relaxation)
        if self._split_completions(used) or self._split_workers(used):
            return None
        placed: list[tuple[list[Entry], list[Entry]]] = [([], []) for _ in range(self.jobs)]
        for side in SIDES:
            for t in range(self.slots):
                number = self.numbers(used, side, t)
                if not number.any():
                    continue
                hosted = pack(self, side, t, number)
                if hosted is None:
                    return None
                for h, i in zip(*np.nonzero(hosted), strict=True):
                    placed[i][side].append((t, int(h), int(hosted[h, i])))
        runs = {i for i, _, _, _ in used}
        return OasisSchedule(jobs=placed_jobs(placed, runs, JobSchedule))

    def splits(self, relaxation: Relaxation) -> list[Split]:
        """Return splits of completion slots, else of worker numbers, else of a machine's number."""
        used = self.used(relaxation)
        found = self._split_completions(used) or self._split_workers(used)
        return found or self._split_machine(relaxation, used)

    def _split_machine(self, relaxation: Relaxation, used: Used) -> list[Split]:
        """Split the number on a single machine, where the numbers of a slot do not pack."""
        for side, t in self._unpacked(used):
            place, i, at = self._fractional(relaxation, side, t)
            node = self.node
            free = (np.zeros(self.jobs, np.int64), self.most.copy())
            lower, upper = node.machines.get(place, free)
            below, above = upper.copy(), lower.copy()
            below[i], above[i] = at, at + 1
            what = MachineBranch(i, t, side, place[2], at)
            return [
                Split(
                    what,
                    replace(node, machines={**node.machines, place: (lower, below)}),
                    replace(node, machines={**node.machines, place: (above, upper)}),
                )
            ]
        return []

    def _unpacked(self, used: Used) -> Iterator[tuple[int, int]]:
        """Yield the sides and slots whose numbers do not fit on the machines."""
        for side in SIDES:
            for t in range(self.slots):
                number = self.numbers(used, side, t)
                if number.any() and pack(self, side, t, number) is None:
                    yield side, t

    def numbers(self, used: Used, side: int, t: int) -> Ints:
        """Return the workers (or PS) of every job in a slot, from the schedules that are used."""
        number = np.zeros(self.jobs, np.int64)
        for i, _, amount, _ in used:
            number[i] = amount[t] if side == 0 else self.needed[i][amount[t]]
        return number

    def _fractional(
        self, relaxation: Relaxation, side: int, t: int
    ) -> tuple[tuple[int, int, int], int, int]:
        """Choose a machine, a job and the number to split at, where patterns disagree the most."""
        spread: dict[int, tuple[Ints, Ints]] = {}
        for c, x in zip(relaxation.columns, relaxation.x, strict=False):
            if c.block < self.jobs or x <= INTEGRAL:
                continue
            host, pattern = c.choice
            if (host.side, host.slot) == (side, t):
                b = c.block - self.jobs
                low, high = spread.get(b, (pattern, pattern))
                spread[b] = (np.minimum(low, pattern), np.maximum(high, pattern))
        widest = max(spread, key=lambda b: (int((spread[b][1] - spread[b][0]).max()), -b))
        low, high = spread[widest]
        i = int((high - low).argmax())
        host = self.hosts[widest]
        machine = self.classes[side][host.group][0] if host.machine is None else host.machine
        held = self.node.machines.get((side, t, machine))
        least, most = (int(low[i]), int(high[i]))
        if least == most:  # patterns agree here: halve the open ones
            least = int(held[0][i]) if held else 0
            most = int(held[1][i]) if held else int(self.most[i])
        return (side, t, machine), i, (least + most) // 2 if most > least else least


def pack(problem: UnitPriceBranching, side: int, t: int, number: Ints) -> Ints | None:
    """Place ``number`` workers (or PS) of every job on the single machines of a slot, if they fit.

    Returns numbers by machine and job, shape (H, I); respects the node's limits on machines.
    """
    jobs = np.flatnonzero(number)
    machines = sorted(h for members in problem.classes[side] for h in members)
    group = {h: c for c, members in enumerate(problem.classes[side]) for h in members}
    demand = problem.demand[side][jobs]  # (J, R)
    h, j, r = len(machines), jobs.size, demand.shape[1]
    upper = np.zeros((h, j))
    lower = np.zeros((h, j))
    capacity = np.array([problem.capacity[side][group[m]] for m in machines])
    for k, m in enumerate(machines):
        upper[k] = number[jobs]
        if (side, t, m) in problem.node.machines:
            least, most = problem.node.machines[side, t, m]
            lower[k], upper[k] = least[jobs], np.minimum(upper[k], most[jobs])
    scale = np.maximum(capacity.max(axis=0), 1.0)
    fits = block_diag([(demand / scale).T] * h)  # rows (machine, resource)
    total = hstack([eye_array(j)] * h)
    result = solvers.solve_mip(
        np.tile(np.arange(h)[:, None], (1, j)).ravel() / (h * max(1, number.sum())),
        vstack([fits, total]).tocsc(),
        np.concatenate([np.full(h * r, -np.inf), number[jobs].astype(float)]),
        np.concatenate([(capacity / scale).ravel(), number[jobs].astype(float)]),
        lower.ravel(),
        upper.ravel(),
        np.ones(h * j, bool),
        gap=1.0,
        **problem.limits(PACKING_SECONDS),
    )
    if result.x is None:
        return None
    out = np.zeros((max(machines) + 1, problem.jobs), np.int64)
    out[np.ix_(np.array(machines), jobs)] = result.x.reshape(h, j).astype(np.int64)
    return out
