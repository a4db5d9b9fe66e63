"""Branching rule of branch and price at prices on capacity: boxes of job attributes.

A node limits start, completion, worker type, number of workers and locality of every job to
intervals; a split divides one of these intervals in two. The rule is on original variables, which
the pricing subproblem respects (Barnhart et al., 1998; Vanderbeck, 2000). The tree becomes a
certificate, see `certificate`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.engine.branch import BranchAndBoundTree, Split
from optsched.engine.colgen import Column, Pricing, Relaxation
from optsched.families.completion.certificate.bound import UNLIMITED, BoundEvaluator
from optsched.families.completion.certificate.format import (
    ATTRIBUTES,
    CompletionCertificate,
    Leaf,
    Node,
)
from optsched.families.completion.certificate.format import Split as SplitNode
from optsched.families.completion.instance import Piece
from optsched.families.completion.modes import Modes
from optsched.families.completion.optimum.relaxations.capacity import CapacityRelaxation, JobTables
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.proofs.grid import sparse, to_grid
from optsched.proofs.limits import LARGEST

START, COMPLETION, TYPE, WORKERS, TOGETHER = range(len(ATTRIBUTES))
FRACTION = 1e-6
NEGLIGIBLE = 1e-9  # prices below this share of the highest are left out of certificates
BITS = 20


class WindowBlocks(CapacityRelaxation):
    """The decomposition at a node: limits on the attributes of every job, shape (J, 5, 2)."""

    def __init__(self, jobs: JobTables, slots: int, priced: Flags | None = None) -> None:
        super().__init__(jobs, slots, 1)
        self.priced = priced  # (R,) resources that may have a price; None: all
        self.limits = self.root()
        self._known: list[Column] = []
        self._attributes = np.empty((0, len(ATTRIBUTES)), np.int64)
        self._job = np.empty(0, np.int64)

    def usage(self, start: int, end: int, load: Ints) -> tuple[Ints, Floats]:
        """Return the rows that a load uses: those of resources that may have a price."""
        return super().usage(start, end, load if self.priced is None else load * self.priced)

    def root(self) -> Ints:
        """Return no limits but the deadline."""
        limits = np.zeros((len(self.jobs.modes), len(ATTRIBUTES), 2), np.int64)
        limits[:, :, 1] = UNLIMITED
        if self.jobs.inst.deadline is not None:
            limits[:, COMPLETION, 1] = self.jobs.inst.deadline
        return limits

    def at(self, node: Ints) -> WindowBlocks:
        """Move to a node."""
        self.limits = node
        return self

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Call the oracle; with infinite duals for the best payoffs only."""
        if not np.isposinf(duals).all():
            return super().price(prices, duals)
        servers = self.servers(prices)
        found = [self.cheapest(j, servers, np.inf) for j in range(len(duals))]
        best = np.array([-np.inf if f is None else -f.value for f in found])
        return Pricing(best, [])

    def modes(self, j: int) -> tuple[Modes, tuple[Ints, Ints] | None]:
        """Return the modes within the limits, and their first and last starts."""
        modes, limits = self.jobs.modes[j], self.limits[j]
        if (limits[:, 0] == 0).all() and (limits[:, 1] == UNLIMITED).all():
            return modes, None
        columns = ((TYPE, modes.worker_type), (WORKERS, modes.workers), (TOGETHER, modes.together))
        keep: Flags = np.ones(modes.size, bool)
        for attribute, values in columns:
            inside = (values >= limits[attribute, 0]) & (values <= limits[attribute, 1])
            np.logical_and(keep, inside, out=keep)
        modes = modes.take(np.flatnonzero(keep))
        first = np.maximum(limits[START, 0], limits[COMPLETION, 0] - modes.duration)
        first = np.maximum(first, self.jobs.arrival[j])
        last = np.minimum(limits[START, 1], limits[COMPLETION, 1] - modes.duration)
        some = np.flatnonzero(first <= last)
        return modes.take(some), (first[some], last[some])

    def allowed(self, columns: Sequence[Column]) -> Flags:
        """Return which columns the node permits."""
        if columns is not self._known or len(self._job) > len(columns):
            self._known, self._job = columns, self._job[:0]  # type: ignore[assignment]
            self._attributes = self._attributes[:0]
        fresh = columns[len(self._job) :]
        if fresh:
            rows = np.array([attributes(c) for c in fresh], np.int64)
            self._attributes = np.concatenate([self._attributes, rows])
            self._job = np.concatenate([self._job, [c.block for c in fresh]])
        limits = self.limits[self._job]  # (N, 5, 2)
        above = (self._attributes >= limits[:, :, 0]).all(axis=1)
        below = (self._attributes <= limits[:, :, 1]).all(axis=1)
        return np.logical_and(above, below)

    def translate(self, columns: Sequence[Column]) -> list[Column]:
        """Return the columns: the blocks never change."""
        return list(columns)

    def splits(self, relaxation: Relaxation) -> list[Split]:
        """Return splits of attributes that the relaxation mixes, where they cost the most first."""
        active = np.flatnonzero(relaxation.x > FRACTION)
        rows = np.array([attributes(relaxation.columns[k]) for k in active], np.int64)
        job = np.array([relaxation.columns[k].block for k in active], np.int64)
        found: list[tuple[float, int, int, int]] = []
        for j in np.unique(job).tolist():
            mine = np.flatnonzero(job == j)
            x = relaxation.x[active[mine]]
            for attribute in (COMPLETION, START, TYPE, TOGETHER, WORKERS):
                values = rows[mine, attribute]
                if values.min() == values.max():
                    continue
                at, balance = _cut(values, x)
                spread = float(x @ np.abs(values - x @ values / x.sum()))
                scale = self.jobs.weight[j] if attribute in (COMPLETION, START) else 0.0
                found.append((-balance * (scale * spread + 1e-3), j, attribute, at))
        found.sort()
        return [self._split(j, attribute, at) for _, j, attribute, at in found]

    def _split(self, j: int, attribute: int, at: int) -> Split:
        left, right = self.limits.copy(), self.limits.copy()
        left[j, attribute, 1] = at
        right[j, attribute, 0] = at + 1
        return Split((j, attribute, at), left, right)


def attributes(column: Column) -> tuple[int, int, int, int, int]:
    """Return start, completion, worker type, number of workers and locality of a column."""
    what = column.choice
    if isinstance(what, Piece):
        return what.start, what.end, what.worker_type, what.number, int(what.together)
    together = what.at_host == what.workers
    return what.start, what.completion, what.worker_type, what.workers, int(together)


def _cut(values: Ints, x: Floats) -> tuple[int, float]:
    """Return where to cut the values so that both sides have much, and the lesser share."""
    order = np.argsort(values, kind="stable")
    ends = np.flatnonzero(np.diff(values[order]) > 0)  # the last of each value but the greatest
    share = np.cumsum(x[order])[ends] / x.sum()
    lesser = np.minimum(share, 1 - share)
    k = int(lesser.argmax())
    return int(values[order][ends[k]]), float(lesser[k])


def certify_tree(
    problem: WindowBlocks, tree: BranchAndBoundTree, largest: int = LARGEST
) -> CompletionCertificate:
    """Certify by the tree, every leaf with the prices that gave its bound.

    A certificate has at most ``largest`` characters: if need be the lowest prices are left out.
    """
    negligible = NEGLIGIBLE
    while True:
        made = _certificate(problem, tree, negligible)
        if negligible > 1 or len(made.model_dump_json()) <= largest:
            return made
        negligible *= 30


def _certificate(
    problem: WindowBlocks, tree: BranchAndBoundTree, negligible: float
) -> CompletionCertificate:
    inst = problem.jobs.inst
    slots = BoundEvaluator(inst).slots
    lists: list[tuple[tuple[int, ...], ...]] = []
    index: dict[bytes, int] = {}
    heaviest = max((job.weight for job in inst.jobs), default=1.0)
    bits = int(np.clip(40 - np.ceil(np.log2(max(heaviest, 1e-9))), 0, BITS))
    nodes: list[Node] = []
    for node in tree.nodes:
        if node.children is not None:
            j, attribute, at = node.split
            left, right = node.children
            name = ATTRIBUTES[attribute]
            nodes.append(SplitNode(job=j, attribute=name, at=at, left=left, right=right))
            continue
        key = node.prices.tobytes()
        if key not in index:
            index[key] = len(lists)
            prices = problem.per_slot(node.prices)[:slots]
            prices = np.where(prices > negligible * prices.max(initial=0.0), prices, 0.0)
            lists.append(sparse(to_grid(prices, bits)))
        nodes.append(Leaf(prices=index[key]))
    return CompletionCertificate(
        instance_sha256=inst.digest(), grid_bits=bits, prices=tuple(lists), nodes=tuple(nodes)
    )
