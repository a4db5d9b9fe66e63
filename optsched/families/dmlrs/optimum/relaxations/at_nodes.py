"""Nodes of branch and price: restrictions on schedules.

A node restricts the pricing subproblems and forbids columns of the restricted master program
(Barnhart et al., 1998).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from optsched.engine.colgen import Column
from optsched.engine.slot_tree import SlotNode
from optsched.families.dmlrs.certificate.forced import Forced, unpackable
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.optimum.relaxations.capacity import CapacityRelaxation, oracle_steps
from optsched.families.dmlrs.oracle.request import CompletionWindow, Request
from optsched.families.dmlrs.oracle.schedule import Best, Oracle
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.process import work_units
from optsched.scheduling.oracle.schedule import PricedMachines

ANY, INNER_ONLY, OUTER_ONLY = 0, 1, 2


@dataclass(frozen=True)
class Node(SlotNode):
    """Restrictions on the schedules, and on co-located workers."""

    mode: Ints  # (I, T) ANY, or which placements are allowed where there are workers


@dataclass(frozen=True)
class LocalityRestriction:
    """Branching decision: the job runs in ``slot`` on one machine, or on two or more."""

    job: int
    slot: int


class NodeBlocks(ABC):
    """Blocks of jobs, with their schedules as columns, and blocks of machines, with patterns.

    Parameters
    ----------
    capacity : CapacityRelaxation
        The same instance by prices on capacity, whose data are shared.
    """

    copies: Floats

    def __init__(self, capacity: CapacityRelaxation) -> None:
        self.inst: DmlrsInstance = capacity.inst
        self.jobs, self.slots = capacity.jobs, capacity.slots
        self.requests, self.classes = capacity.requests, capacity.classes
        self.count, self.group = capacity.count, capacity.group.tolist()
        self.capacity = capacity.capacity  # (C, R)
        # far more than the value of all jobs, so that small infeasibilities cut a node off as well
        best = self.inst.arrays.utility.max(axis=1, initial=0.0)
        # times the value of all jobs: the price of not running a job that must
        self.penalty = 1.0 + 100.0 * float(best.sum())
        most = max((job.chunks for job in self.inst.jobs), default=1)
        self.oracle = Oracle(self.slots, len(self.classes), most)
        self.refuted: dict[tuple[Forced, ...], bool] = {}

    def root(self) -> Node:
        """Return the node without restrictions."""
        first = [
            job.arrival if end is None else end
            for job, end in zip(self.inst.jobs, self.inst.earliest, strict=True)
        ]
        most = np.array([q.most for q in self.requests], np.int64)
        none = np.zeros((self.jobs, self.slots), np.int64)
        ends, upper = np.full(self.jobs, self.slots), np.repeat(most[:, None], self.slots, axis=1)
        return Node(np.array(first, np.int64), ends, none, upper, none.copy())

    def at(self, node: Node) -> Self:
        """Move to ``node``."""
        self.node = node
        self.equality = np.zeros(self.copies.size, bool)
        self.equality[: self.jobs] = (node.last < self.slots) | node.lower.any(axis=1)
        self.impossible = self.unpackable_slot() is not None
        self.lower, self.upper = self._limits()
        return self

    @abstractmethod
    def _limits(self) -> tuple[Ints, Ints]:
        """Return the least and greatest packings of every slot."""

    def unpackable_slot(self) -> int | None:
        """Return a slot in which the forced workers cannot be placed."""
        for t in np.flatnonzero(self.node.lower.any(axis=0)).tolist():
            jobs = np.flatnonzero(self.node.lower[:, t]).tolist()
            key = tuple(
                Forced(i, int(self.node.lower[i, t]), int(self.node.mode[i, t])) for i in jobs
            )
            if key not in self.refuted:
                self.refuted[key] = unpackable(self.inst, key) is True
            if self.refuted[key]:
                return t
        return None

    def translate(self, columns: Sequence[Column]) -> list[Column]:
        """Return the columns; the blocks never change."""
        return list(columns)

    def allowed(self, columns: Sequence[Column]) -> Flags:
        """Return which columns the node permits; see `branch.BranchProblem`."""
        out = np.ones(len(columns), bool)
        node = self.node
        mine = [k for k, c in enumerate(columns) if c.block < self.jobs]
        if mine:
            job = np.array([columns[k].block for k in mine])
            completion = np.array([columns[k].choice[0] for k in mine])
            kind = np.array([columns[k].choice[1] for k in mine])
            number, outer, mode = kind // 2, kind % 2 == 1, node.mode[job]
            wrong = (number > 0) & np.where(outer, mode == INNER_ONLY, mode == OUTER_ONLY)
            out[mine] = (
                (node.first[job] <= completion)
                & (completion <= node.last[job])
                & (node.lower[job] <= number).all(axis=1)
                & (number <= node.upper[job]).all(axis=1)
                & ~wrong.any(axis=1)
            )
        hosts = [k for k, c in enumerate(columns) if c.block >= self.jobs]
        if hosts:
            block = np.array([columns[k].block for k in hosts]) - self.jobs
            pattern = np.array([columns[k].choice for k in hosts])
            out[hosts] = ((self.lower[block] <= pattern) & (pattern <= self.upper[block])).all(
                axis=1
            )
        return out

    def best_schedule(
        self,
        i: int,
        request: Request,
        machines: PricedMachines,
        dual: float,
        *together: Any,
    ) -> tuple[float, Best | None]:
        """Return the best payoff of a job at this node, and its schedule if that beats ``dual``.

        ``together`` are the last fields of a `CompletionWindow`.
        """
        node = self.node
        stay_out = not self.equality[i]
        first, last = int(node.first[i]), int(min(node.last[i], self.slots - 1))
        best = None
        if self.inst.earliest[i] is not None and first <= last:
            limits = np.stack((node.lower[i], node.upper[i], node.mode[i]))
            best = self.oracle.within(
                request, machines, CompletionWindow(first, last, limits, *together)
            )
            work_units.steps(oracle_steps(request, machines.free.shape))
        if best is None:
            return (0.0 if stay_out else -np.inf), None
        payoff = max(best.payoff, 0.0) if stay_out else best.payoff
        return payoff, best if best.payoff > dual else None
