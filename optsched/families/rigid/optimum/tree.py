"""Branch and bound over start times for a few jobs (Land and Doig, 1960), with certificates.

A node restricts each job's start to a window. Its bound is the Lagrangian one, improved by
the subgradient method from its parent's prices until the bound reaches the target or stalls; then
the job whose start swings the most in the relaxation is split. Prices may change where windows
begin and end, so that a node whose jobs collide for a second has no bound. Every leaf keeps its
prices.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.rigid.certificate.bound import Prices
from optsched.families.rigid.certificate.check import Leaf, Node, RigidCertificate, Split
from optsched.families.rigid.optimum.prices import ascend
from optsched.families.rigid.optimum.problem import RigidProblem, grid_bits, written
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units

STEPS = 400  # of the subgradient method at a node
MOST_NODES = 50_000
INTERVALS = 32  # of prices at the root, besides those between events
CHECKED = 2e-4  # seconds of a node when its certificate is made and checked


@dataclass
class _Open:
    low: Ints
    high: Ints
    times: Ints
    price: Floats
    bound: float = -math.inf
    split: tuple[int, int] | None = None
    children: tuple[int, int] = (0, 0)
    spread: Floats = field(default_factory=lambda: np.empty(0))
    mean: Floats = field(default_factory=lambda: np.empty(0))


class StartTree:
    """The tree of an instance, for a target that all leaves should reach.

    Parameters
    ----------
    problem : Problem
    progress : Progress
    target : float
        On the summed objective. For the makespan above 0, with a ``deadline``.
    start : shape (n,)
        A schedule, whose events are breakpoints.
    deadline : int, optional
    """

    def __init__(
        self, problem: RigidProblem, progress: Progress, target: float, start: Ints,
        deadline: int | None = None,
    ) -> None:  # fmt: skip
        self.problem, self.progress, self.target = problem, progress, target
        self.deadline = deadline
        # bounds of a deadline scale with the prices
        self.aim = target if deadline is None else 1.0
        arrival, run = problem.jobs.arrival, problem.jobs.run
        high, end = problem.jobs.high, int((start + run).max())
        self.latest = 2 * end  # later starts are no use to branch on
        if deadline is not None:
            high, end, self.latest = deadline - run, deadline, deadline
        events = np.concatenate([arrival, arrival + run, start, start + run, [self.latest]])
        times = np.union1d(problem.grid(end, INTERVALS), events[events <= self.latest])
        price = np.zeros((len(problem.capacity), len(times)))
        root = _Open(problem.jobs.low.copy(), high.copy(), times, price)
        for i in range(problem.n):
            self._refine(root, i)
        self.nodes = [root]
        self.starts: Ints | None = None  # the only ones of a leaf, below the target

    def grow(self) -> bool:
        """Branch until every leaf reaches the target; False if stopped before."""
        self._bound(self.nodes[0])
        heap = [(self.nodes[0].bound, 0)]
        while heap:
            bound, k = heapq.heappop(heap)
            if bound >= self.target:
                return True
            late = self.progress.left() < CHECKED * len(self.nodes)
            if late or self.progress.stop() or len(self.nodes) > MOST_NODES:
                return False
            node = self.nodes[k]
            split = self._split(node)
            if split is None:
                self.starts = node.low
                return False
            i, at = split
            node.split, node.children = split, (len(self.nodes), len(self.nodes) + 1)
            for side in (0, 1):
                child = _Open(node.low.copy(), node.high.copy(), node.times, node.price.copy())
                if side:
                    child.low[i] = at + 1
                else:
                    child.high[i] = at
                self._refine(child, i)
                self._bound(child)
                child.bound = max(child.bound, node.bound)
                heapq.heappush(heap, (child.bound, len(self.nodes)))
                self.nodes.append(child)
        return True

    def _refine(self, node: _Open, i: int) -> None:
        """Let prices change where the first and the last window of a job begin and end."""
        run = self.problem.jobs.run[i]
        points = np.array([node.low[i], node.low[i] + run, node.high[i], node.high[i] + run])
        first, last = node.times[0], node.times[-1]
        times = np.union1d(node.times, points[(points > first) & (points < last)])
        node.price = node.price[:, np.searchsorted(node.times, times, side="right") - 1]
        node.times = times

    def _bound(self, node: _Open) -> None:
        """Improve the prices of a node."""
        if (node.low > node.high).any():
            node.bound = math.inf
            return
        problem = self.problem
        jobs = problem.windows(node.low, node.high)
        state = np.array([-math.inf, 1.0, 0.0])
        node.mean, node.spread = node.low.astype(float), np.zeros(problem.n)
        for _ in range(4):
            node.bound, _ = ascend(
                jobs, node.times, node.price, problem.room, self.aim, STEPS // 4, state,
                node.mean, node.spread,
            )  # fmt: skip
            work_units.steps(STEPS // 4 * problem.n * 20)
            if node.bound >= self.target:
                return

    def _split(self, node: _Open) -> tuple[int, int] | None:
        """Return the job whose start swings the most, and where to split it."""
        high = np.minimum(node.high, self.latest)
        swing = np.where(high > node.low, node.spread + 1e-9, -1.0)
        i = int(np.argmax(swing))
        if swing[i] < 0:
            return None
        at = min(max(math.floor(node.mean[i]), int(node.low[i])), int(high[i]) - 1)
        return i, at

    def certificate(self) -> RigidCertificate:
        """Return the tree as it is, with the prices of its leaves."""
        leaves = [node for node in self.nodes if node.split is None]
        bits = max(grid_bits(self.problem, leaf.times, leaf.price) for leaf in leaves)
        nodes: list[Node] = []
        lists: list[Prices] = []
        for node in self.nodes:
            if node.split is not None:
                (i, at), (left, right) = node.split, node.children
                nodes.append(Split(job=i, at=at, left=left, right=right))
            else:
                nodes.append(Leaf(prices=len(lists)))
                lists.append(written(node.times, node.price, bits))
        return RigidCertificate(
            instance_sha256=self.problem.inst.digest(),
            grid_bits=bits,
            prices=tuple(lists),
            nodes=tuple(nodes),
            deadline=self.deadline,
        )
