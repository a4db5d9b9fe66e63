"""The search: a small population of bad instances, which moves make worse.

The best few of all that was evaluated have children; a move that has made better children is
chosen more often. Where nothing gets better for long, it restarts near the best. It is a
function of its seed: evaluations that are known from before need not be made again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from pydantic import ValidationError

from optsched.adversarial.evaluation import Evaluation, Terms
from optsched.adversarial.moves import AIMED, PLAIN, STRUCTURAL, Evaluated, Move, MoveContext
from optsched.numbers.parameter_space import Data, ParameterSpace, copied
from optsched.problem import Family, InputError, Instance

FIRST = 20  # instances that are drawn before the first child
ELITE = 6  # that have children
BEST = 0.5  # of the children, those of the best one
STARVING = 4  # that would be good if the policy earned a little
PATIENCE = 120  # evaluations without a better instance, until it begins anew
TRIES = 60  # of a child that is none, or is known
MORE = 0.45  # chance of one more move
WON, LOST = 4.0, 0.1  # weight of a move that has made a better child, or another one
NEW, NEW_AIMED = 0.5, 1.2  # and of a move that was not tried yet
LEARN = 0.15  # weight of the last child in the score of a move

Evaluate = Callable[[Instance, Data], Evaluation]


@dataclass
class EvolutionarySearch:
    """One search; `steps` yields after every evaluation."""

    family: Family
    space: ParameterSpace
    terms: Terms
    seed: int
    evaluate: Evaluate
    first: int = FIRST
    best: Evaluated | None = None
    count: int = 0
    _seen: set[str] = field(default_factory=set)
    _elite: list[Evaluated] = field(default_factory=list)
    _starving: list[Evaluated] = field(default_factory=list)
    _moves: tuple[Move, ...] = (*PLAIN, *STRUCTURAL, *AIMED)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng([self.seed, 0x40B7])
        self._weights = np.array([NEW_AIMED if move in AIMED else NEW for move in self._moves])

    def steps(self) -> Iterator[Evaluated]:
        """Yield every instance that is evaluated, without end."""
        while True:
            self._elite, self._starving = [], []
            for _ in range(self.first):
                yield self._take(*self._drawn())
            still = 0
            while self._elite and still < PATIENCE:  # none: the policy failed in all of them
                before = self._elite[0].fitness
                yield self._child()
                still = 0 if self._elite[0].fitness > before + 1e-3 else still + 1

    def _drawn(self) -> tuple[Data, Instance]:
        """Draw an instance, often with fewer jobs."""
        hand = MoveContext(self.space, self._rng)
        for _ in range(TRIES):
            data = hand.drawn()
            entries = data[self.space.jobs.name]
            size = int(self._rng.integers(self.space.jobs.least, len(entries) + 1))
            if hand.chance(0.5) and not self.space.jobs.numbers:
                del entries[size:]
            found = self._fresh(data)
            if found is not None:
                return found
        raise InputError("the parameter space contains no feasible instance, expected a larger one")

    def _fresh(self, data: Data | None) -> tuple[Data, Instance] | None:
        """Return data as an instance that was not seen before, None if there is none."""
        try:
            settled = None if data is None else self.space.settle(data)
            if settled is None:
                return None
            instance = self.space.instance(self.family.instance, settled)
        except (ValidationError, ValueError):
            return None
        digest = instance.digest()
        if digest in self._seen:
            return None
        self._seen.add(digest)
        return settled, instance

    def _child(self) -> Evaluated:
        for _ in range(TRIES):
            parent = self._parent()
            hand = MoveContext(self.space, self._rng, self._elite)
            used = self._chosen(hand)
            data: Data | None = copied(parent.data)
            found = parent.found
            for move in used:
                data = None if data is None else self._moves[move](hand, data, found)
                found = Evaluation(low=1, share=0, earned=0)  # it is known about the parent alone
            fresh = self._fresh(data)
            if fresh is not None:
                return self._take(*fresh, parent, used)
        return self._take(*self._drawn())

    def _chosen(self, hand: MoveContext) -> list[int]:
        """Return the moves of a child; those that look at what came of its parent come first."""
        chances = self._weights / self._weights.sum()
        chosen = [int(self._rng.choice(len(self._moves), p=chances))]
        while hand.chance(MORE):
            chosen.append(int(self._rng.choice(len(self._moves), p=chances)))
        return sorted(chosen, key=lambda move: self._moves[move] not in AIMED)

    def _parent(self) -> Evaluated:
        """Return an instance that is to have a child: the better, the more often."""
        if self._starving and self._rng.random() < 0.15:
            return self._starving[int(self._rng.integers(len(self._starving)))]
        if self._rng.random() < BEST:
            return self._elite[0]
        return self._elite[int(self._rng.integers(len(self._elite)))]

    def _take(
        self,
        data: Data,
        instance: Instance,
        parent: Evaluated | None = None,
        used: Sequence[int] = (),
    ) -> Evaluated:
        found = self.evaluate(instance, data)
        known = Evaluated(data, found, found.fitness(self.terms))
        self.count += 1
        if parent is not None:
            won = known.fitness > parent.fitness + 1e-3
            for move in used:
                self._weights[move] += LEARN * ((WON if won else LOST) - self._weights[move])
        if not math.isinf(known.fitness):
            self._elite.insert(0, known)
            # of equals the last one first: plateaus are crossed
            self._elite.sort(key=lambda k: -k.fitness)
            del self._elite[ELITE:]
        if not found.admitted(self.terms):
            promise = found.promise(self.terms)
            if promise > max([0.0, *(k.fitness for k in self._elite[:1])]):
                self._starving.append(known)
                self._starving.sort(key=lambda k: -k.found.promise(self.terms))
                del self._starving[STARVING:]
        if found.admitted(self.terms) and (self.best is None or known.fitness > self.best.fitness):
            self.best = known
        return known
