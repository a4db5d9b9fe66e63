"""Capacity cuts for whole slots, proved by a branch and price over one slot.

Such a cut bounds the weighted workers of a slot. It is valid for the integer hull of one slot and
is proved by a small branch-and-price tree (Barnhart et al., 1998) over numbers of workers; since
machines are the same in every slot, one proof gives a row of the master program in each slot.
Prices per worker know what single machines hold, but not that the numbers of a job's workers and
PS in a slot are integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from optsched.engine.branch import BranchAndPrice, Split, TreeNode
from optsched.engine.colgen import Column, Pricing, Relaxation
from optsched.engine.slot_tree import INTEGRAL
from optsched.families.oasis.certificate.limits import LARGEST_LIMIT_PRICE
from optsched.families.oasis.certificate.slot_limits import (
    HostedSplit,
    NumberSplit,
    SlotLeaf,
    SlotLimit,
    SlotNode,
    proved,
)
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.process import effort
from optsched.proofs.grid import sparse, to_grid
from optsched.scheduling.oracle.patterns import STEPS, Knapsacks, best_patterns, pattern_steps

if TYPE_CHECKING:
    from optsched.families.oasis.optimum.prices.workers import UnitBlocks

NODES = 300  # of a proof, at most
PATTERN_NODES = 200_000  # of the search for a best pattern
GRID_BITS = 20  # of a proof's prices
ROUNDING = 0.02  # of a weight: what a proof may lose where its prices are rounded


@dataclass(frozen=True)
class SlotBound:
    """A limit on slots with its proof, and its weights by job, shape (I,)."""

    weights: Ints
    limit: SlotLimit


@dataclass(frozen=True)
class Numbers:
    """A node of a proof: numbers of workers, and of what single machines host, shape (J,) each."""

    low: Ints
    high: Ints
    machines: Mapping[tuple[int, int], tuple[Ints, Ints]]  # (side, machine) -> fewest and most


@dataclass(frozen=True)
class Number:
    """Job has at most ``at`` workers, or more."""

    job: int
    at: int


@dataclass(frozen=True)
class Hosted:
    """Job has at most ``at`` workers (PS) on a machine, or more."""

    job: int
    side: int
    machine: int
    at: int


class _Host(NamedTuple):
    """A block: a class of machines, or one of them."""

    side: int
    group: int
    machine: int | None

    @property
    def place(self) -> tuple[int, int]:
        """The key of the node's limits; no class has one."""
        return self.side, -1 if self.machine is None else self.machine


class OneSlot:
    """The workers of a slot as a problem for `branch.BranchAndPrice`.

    Parameters
    ----------
    problem : UnitBlocks
    weights : mapping
        Job -> weight of one of its workers, at least 1.
    """

    def __init__(self, problem: UnitBlocks, weights: Mapping[int, int]) -> None:
        self.jobs = np.array(sorted(weights), np.int64)
        self.weights = np.array([weights[i] for i in self.jobs.tolist()], np.int64)
        self.most = problem.most[self.jobs]
        self.needed = [problem.needed[i] for i in self.jobs.tolist()]
        self.demand = [d[self.jobs] for d in problem.demand]
        self.capacity = problem.capacity
        self.classes = problem.classes
        self.size = len(self.jobs)
        self.rhs = np.zeros(2 * self.size)
        self.apart: set[int] = set()  # sides whose machines stand alone
        self.penalty = 1.0 + 100.0 * float(self.weights @ self.most)
        self.hosts = self._hosts()
        self.at(self.root())

    def _hosts(self) -> list[_Host]:
        return [
            _Host(side, group, machine)
            for side, classes in enumerate(self.classes)
            for group, members in enumerate(classes)
            for machine in (members if side in self.apart else [None])
        ]

    def root(self) -> Numbers:
        """Return the node without restrictions."""
        return Numbers(np.zeros_like(self.most), self.most.copy(), {})

    def at(self, node: Numbers) -> Self:
        """Move to ``node``; blocks change if it restricts a machine that does not stand alone."""
        self.node = node
        sides = {side for side, _ in node.machines}
        if sides - self.apart:
            self.apart |= sides
            self.hosts = self._hosts()
        held = [
            node.machines.get((h.side, -1 if h.machine is None else h.machine)) for h in self.hosts
        ]
        self.upper = (
            node.high,
            np.array([m[n] for m, n in zip(self.needed, node.high, strict=True)], np.int64),
        )
        # what each host may host, shape (B, J)
        self.fewest = np.array([np.zeros_like(self.most) if x is None else x[0] for x in held])
        self.greatest = np.array(
            [
                self.upper[h.side] if x is None else np.minimum(x[1], self.upper[h.side])
                for h, x in zip(self.hosts, held, strict=True)
            ]
        )
        count = [len(self.classes[h.side][h.group]) if h.machine is None else 1 for h in self.hosts]
        self.copies = np.array([1.0] * self.size + count)
        self.equality = np.concatenate([node.low > 0, (self.fewest > 0).any(axis=1)])
        return self

    def translate(self, columns: Sequence[Column]) -> list[Column]:
        """Return known columns in the blocks as they are now."""
        blocks: dict[tuple[int, int], list[int]] = {}
        for b, host in enumerate(self.hosts):
            blocks.setdefault((host.side, host.group), []).append(b)
        out = []
        for c in columns:
            if c.block < self.size:
                out.append(c)
            else:
                host, hosted = c.choice
                out += [self._column(b, hosted) for b in blocks[host.side, host.group]]
        return out

    def allowed(self, columns: Sequence[Column]) -> Flags:
        """Return which columns the node permits."""
        return np.array([self._allowed(c) for c in columns], np.bool_)

    def _allowed(self, column: Column) -> bool:
        b = column.block
        if b < self.size:
            return bool(self.node.low[b] <= column.choice <= self.node.high[b])
        hosted, b = column.choice[1], b - self.size
        return bool((self.fewest[b] <= hosted).all() and (hosted <= self.greatest[b]).all())

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Ask for the best number of every job, and the best pattern of every host."""
        best, columns = np.zeros(self.copies.size), list[Column]()
        worker, ps = prices[: self.size], prices[self.size :]
        for j in range(self.size):
            number = np.arange(self.node.low[j], self.node.high[j] + 1)
            if not number.size:
                best[j] = -np.inf
                continue
            payoff = (self.weights[j] - worker[j]) * number - ps[j] * self.needed[j][number]
            best[j] = payoff.max()
            if best[j] > duals[j]:
                n = int(number[payoff.argmax()])
                usage = np.array([n, self.needed[j][n]], float)
                rows = np.array([j, self.size + j])[usage > 0]
                columns.append(Column(j, float(self.weights[j] * n), rows, usage[usage > 0], n))
        for side, price in enumerate((worker, ps)):
            self._patterns(side, price, duals, best, columns)
        return Pricing(best, columns)

    def _patterns(
        self, side: int, price: Floats, duals: Floats, best: Floats, columns: list[Column]
    ) -> None:
        mine = np.array([b for b, host in enumerate(self.hosts) if host.side == side])
        value = np.repeat(price[None, :], mine.size, axis=0)
        capacity = self.capacity[side][[self.hosts[b].group for b in mine]]
        out, top = np.zeros((mine.size, self.size), np.int64), np.zeros(mine.size)
        limits = self.fewest[mine], np.maximum(self.fewest[mine], self.greatest[mine])
        best_patterns(
            Knapsacks(value, self.demand[side], capacity, *limits), top, out, PATTERN_NODES, STEPS
        )
        effort.steps(pattern_steps(limits[1]))
        top[(self.fewest[mine] > self.greatest[mine]).any(axis=1)] = -np.inf
        for k, b in enumerate(mine.tolist()):
            best[self.size + b] = top[k]
            if np.isfinite(top[k]) and top[k] > duals[self.size + b] and out[k].any():
                columns.append(self._column(b, out[k]))

    def _column(self, b: int, hosted: Ints) -> Column:
        """Return the column of host b with ``hosted`` workers (PS) of each job."""
        host, j = self.hosts[b], np.flatnonzero(hosted)
        rows = host.side * self.size + j
        return Column(self.size + b, 0.0, rows, -hosted[j].astype(float), (host, hosted))

    def splits(self, relaxation: Relaxation) -> list[Split]:
        """Return splits of numbers, broken means first, else of what a machine hosts."""
        mean, share, low, high = np.zeros((4, self.size))
        low[:] = np.inf
        used = [
            (c, x) for c, x in zip(relaxation.columns, relaxation.x, strict=False) if x > INTEGRAL
        ]
        for c, x in used:
            if c.block < self.size:
                mean[c.block] += x * c.choice
                share[c.block] += x
                low[c.block] = min(low[c.block], c.choice)
                high[c.block] = max(high[c.block], c.choice)
        low[share < 1 - INTEGRAL] = 0.0  # none in part
        spread = high - low
        score = np.where(spread > 0, np.abs(mean - np.rint(mean)) + 1e-3 * spread, 0.0)
        out = []
        for j in np.argsort(-score, kind="stable").tolist():
            if score[j] > 0:
                at = int(np.clip(np.floor(mean[j] + INTEGRAL), low[j], high[j] - 1))
                below, above = self.node.high.copy(), self.node.low.copy()
                below[j], above[j] = at, at + 1
                halves = replace(self.node, high=below), replace(self.node, low=above)
                out.append(Split(Number(int(self.jobs[j]), at), *halves))
        return out or self._split_machine(used)

    def _split_machine(self, used: Sequence[tuple[Column, float]]) -> list[Split]:
        """Split what one machine hosts of a job, where patterns disagree the most."""
        spread: dict[int, tuple[Ints, Ints]] = {}
        for c, x in used:
            if c.block >= self.size and abs(x - round(x)) > INTEGRAL:
                hosted, b = c.choice[1], c.block - self.size
                # in part, nothing may be hosted, too
                least, most = spread.get(b, (self.fewest[b], hosted))
                spread[b] = np.minimum(least, hosted), np.maximum(most, hosted)
        if not spread:
            return []
        widest = max(spread, key=lambda b: (int((spread[b][1] - spread[b][0]).max()), -b))
        low, high = spread[widest]
        j = int((high - low).argmax())
        host = self.hosts[widest]
        machine = self.classes[host.side][host.group][0] if host.machine is None else host.machine
        place, at = (host.side, machine), int(low[j] + high[j]) // 2
        free = np.zeros_like(self.most), self.most.copy()
        least, most = self.node.machines.get(place, free)
        below, above = most.copy(), least.copy()
        below[j], above[j] = at, at + 1
        halves = (
            replace(self.node, machines={**self.node.machines, place: limits})
            for limits in ((least, below), (above, most))
        )
        return [Split(Hosted(int(self.jobs[j]), host.side, machine, at), *halves)]


def prove(
    problem: UnitBlocks, weights: Mapping[int, int], goal: int, stop: Callable[[], bool]
) -> SlotBound:
    """Bound the weighted workers of a slot: by ``goal``, or by the least that a short tree proves.

    Parameters
    ----------
    problem : UnitBlocks
    weights : mapping
        Job -> weight of one of its workers, at least 1; of one job at least.
    goal : int
        No smaller bound is looked for.
    stop : callable
        Whether the time is up.
    """
    one = OneSlot(problem, weights)
    enough = goal + 1 - ROUNDING
    tree = BranchAndPrice(
        one,
        target=lambda: enough,
        stop=lambda: stop() or len(tree.tree.nodes) > NODES,
        proved=lambda _: None,
        relaxed=lambda _: None,
    )
    tree.run()
    every = np.zeros(problem.jobs, np.int64)
    every[one.jobs] = one.weights
    limit = SlotLimit(
        weights=tuple(sorted(weights.items())),
        most=0,
        grid_bits=GRID_BITS,
        nodes=tuple(_node(node, one.jobs.tolist()) for node in tree.tree.nodes),
    )
    most = proved(0, limit, every, problem.judge)
    return SlotBound(every, limit.model_copy(update={"most": most}))


def _node(node: TreeNode, jobs: list[int]) -> SlotNode:
    if node.children is not None:
        left, right = node.children
        kind = HostedSplit if isinstance(node.split, Hosted) else NumberSplit
        return kind(**vars(node.split), left=left, right=right)
    grid = np.minimum(to_grid(node.prices.reshape(2, -1), GRID_BITS), LARGEST_LIMIT_PRICE - 1)
    return SlotLeaf(prices=tuple((s, jobs[j], price) for s, j, price in sparse(grid)))
