"""Branch and bound on completion slots, above the relaxation with cutting planes.

Best-bound branch and bound (Land and Doig, 1960): the leaf of the greatest bound is branched on
whether a job completes by a slot, or later or never. Strong branching chooses the first split
(Achterberg et al., 2005); later splits are ranked by the gains of past splits, as with pseudocosts
(Bénichou et al., 1971). No new cuts are added below the root, and the tree stays small: it is for
instances where a relaxation takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from optsched.engine.budget import Span
from optsched.engine.slot_tree import Completion
from optsched.families.oasis.optimum.relaxations.cutting_planes import CutLoop, Prices
from optsched.families.oasis.optimum.tree.nodes import Node
from optsched.numbers.arrays import Floats

MOST_LEAVES = 16  # each costs time to check, and space in a certificate
CHECKING = 0.4  # of the effort to solve a relaxation: checking a leaf in the end
STRONG_CANDIDATES = 3  # splits of the root that are tried
PROBING = 0.4  # of the time at most goes into that
WHOLE = 0.02  # a share of a job that is this near to 0 or 1 is not split
TAKES_PART, REACH = 0.01, 0.03  # smallest share of a job, or most that it lacks to earn something


@dataclass
class CompletionNode:
    """A node of the tree: the schedules with completions that ``node`` allows."""

    node: Node
    bound: float
    prices: Prices
    completed: Floats  # (I, T) share of each job that completes in each slot
    split: tuple[Completion, CompletionNode, CompletionNode] | None = None

    def leaves(self) -> Iterator[CompletionNode]:
        """Yield the leaves below, from left to right."""
        if self.split is None:
            yield self
        else:
            for part in self.split[1:]:
                yield from part.leaves()


class CompletionTree:
    """The tree, and which splits have lowered the bound so far.

    Parameters
    ----------
    cut_loop : CutLoop
        After a round at least.
    seconds : float
        Effort to solve a relaxation.

    Attributes
    ----------
    root : CompletionNode
    """

    def __init__(self, cut_loop: CutLoop, seconds: float = 0.0) -> None:
        assert cut_loop.guide is not None
        self.cut_loop, self.seconds = cut_loop, seconds
        guide, whole = cut_loop.guide, cut_loop.whole
        self.root = CompletionNode(whole, cut_loop.bound, guide.prices, cut_loop.completed)
        self.gain: dict[int, float] = {}  # of the last split of a job, relative to its value
        # where a job does not take part in the programs, bounds are valid, if weaker
        lacks = -cut_loop.evaluate(guide.prices, whole)[1]
        near = lacks < REACH * cut_loop.blocks.arrays.utility.max(axis=1, initial=0.0)
        part = near | (guide.share > TAKES_PART)
        self.jobs = set(np.flatnonzero(part).tolist())

    @property
    def bound(self) -> float:
        """The greatest of the leaves."""
        return max(0.0, *(leaf.bound for leaf in self.root.leaves()))

    def grow(self, span: Span, stop: Callable[[], bool]) -> Iterator[float]:
        """Split until the time is up; yield the bound after each split."""
        first = True
        while not stop():
            leaves = list(self.root.leaves())
            worst = max(leaves, key=lambda leaf: leaf.bound)
            splits = self._splits(worst)
            needed = (2 + CHECKING * (len(leaves) + 1)) * self.seconds
            if not splits or len(leaves) == MOST_LEAVES or span.left() < needed:
                return
            probes = STRONG_CANDIDATES if first else 1
            best: tuple[Completion, CompletionNode, CompletionNode] | None = None
            for what, gain in splits[:probes]:
                after = span.passed() + 2 * self.seconds
                if best is not None and after > PROBING * span.whole:
                    break
                tried = self._try(worst, what, span)
                lower = worst.bound - max(part.bound for part in tried)
                self.gain[what.job] = lower / gain
                if best is None or lower > worst.bound - max(p.bound for p in best[1:]):
                    best = (what, *tried)
                if stop():
                    break
            worst.split = best
            first = False
            yield self.bound

    def _splits(self, part: CompletionNode) -> list[tuple[Completion, float]]:
        """Return one split of each job that is in parts, and its value; the most promising first.

        The score of a split is the possible loss of a part: the share of the job that completes
        early earns more than the rest, and more than in the next slot.
        """
        utility = self.cut_loop.blocks.arrays.utility
        completed = np.clip(part.completed, 0.0, 1.0)
        early = completed.cumsum(axis=1)
        earned = (completed * utility).cumsum(axis=1)
        late = 1 - early
        inside = (early > WHOLE) & (late > WHOLE)
        usual = earned / np.where(inside, early, 1.0)
        differ = usual - (earned[:, -1:] - earned) / np.where(inside, late, 1.0)
        after = np.pad(utility[:, 1:], ((0, 0), (0, 1)))
        loss = np.minimum(late * differ, early * np.minimum(differ, usual - after))
        gain = np.where(inside, loss, 0.0)
        slot = gain.argmax(axis=1)
        most = gain.max(axis=1)
        mean = float(np.mean(list(self.gain.values()))) if self.gain else 1.0
        hope = most * np.array([self.gain.get(i, mean) for i in range(most.size)])
        order = np.lexsort((-most, -hope))
        return [(Completion(int(i), int(slot[i])), float(most[i])) for i in order if most[i] > 0]

    def _try(
        self, part: CompletionNode, what: Completion, span: Span
    ) -> tuple[CompletionNode, CompletionNode]:
        left, right = part.node.at_completion(what.job, what.slot)
        return self._part(part, left, span), self._part(part, right, span)

    def _part(self, above: CompletionNode, node: Node, span: Span) -> CompletionNode:
        """Bound a part; where its own prices make no better bound, by the prices above."""
        began = span.passed()
        cut_loop = self.cut_loop
        found = cut_loop.relax(node, span.limits(), self.jobs)
        completed = np.zeros_like(above.completed) if found is None else found.completed
        if found is not None and found.bound <= above.bound:
            bound, prices = found.bound, found.prices
        else:
            prices = cut_loop.within(above.prices, node)
            # cut-off searches for the most expensive loads may raise it slightly
            bound = min(above.bound, cut_loop.evaluate(prices, node)[0])
        self.seconds = max(self.seconds, span.passed() - began)
        return CompletionNode(node, bound, prices, completed)
