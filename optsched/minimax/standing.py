"""Competitive ratio of a policy on a set of instances, compared with the optimal one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from pydantic import Field

from optsched.core.simulation import seal
from optsched.declared.feasibility import settle, verify
from optsched.declared.model import Solution
from optsched.minimax.certificate import Proved, Whole
from optsched.minimax.tree import GameTree, titled
from optsched.numbers.resources import exact
from optsched.policies.loader import must_name_rows
from optsched.problem import Family, Frozen

BEST, GIVEN = "best randomized algorithm", "given randomized algorithm"
DETERMINISTIC = "best deterministic algorithm"


class Played(Frozen):
    """Decisions of a policy on every instance, in one run or several."""

    policy: str
    seed: Whole = Field(description="of the first run; later runs have the seeds after it")
    runs: tuple[tuple[Solution, ...], ...] = Field(description="of each instance, its solutions")
    sealed: bool = Field(default=False, description="it ran in a process of its own")
    guards: tuple[str, ...] = Field(default=(), description="guards of the sandbox")

    @property
    def seal(self) -> str:
        """Whether it ran in a sandbox, in words, with the guards that were missing."""
        return seal(sealed=self.sealed, guards=self.guards)


@dataclass(frozen=True)
class Standing:
    """Ratio of a policy on a set of instances: values divided by the optimum's.

    The part from ``bound`` to ``optimum`` is unavoidable online; from
    ``value`` to ``best`` is the policy's own weakness.

    Attributes
    ----------
    policy : str
    value : float
        On the instance on which it is worst; the mean of several runs.
    error : float
        Standard error of that mean; 0 for a single run.
    instance : int
        The instance on which it is worst.
    best : float
        Value of the best known randomized online algorithm on its worst instance.
    bound : float
        No randomized online algorithm is better.
    played : Played
        The decisions of all runs.
    optimum : float
        Always 1.
    """

    policy: str
    value: float
    error: float
    instance: int
    best: float
    bound: float
    played: Played
    optimum: float = 1.0

    def __str__(self) -> str:
        spread = f" (standard error {self.error:.2g})" if self.error else ""
        ends = dict.fromkeys(f"{x:.6g}" for x in sorted((self.bound, self.best)))
        return (
            f"{self.policy}: {self.value:.6g}{spread}, best online algorithm "
            f"{' to '.join(ends)}, optimum {self.optimum:g}"
        ) + (f"; {self.played.seal}" if self.played.sealed else "")

    def summary(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints: all but the decisions."""
        shown = {name: x for name, x in vars(self).items() if name != "played"}
        return shown | {"seal": self.played.seal}


def must_name_policies(family: Family, played: Iterable[Played]) -> None:
    """Refuse names of policies that the rows of one table cannot have, next to its own.

    Raises
    ------
    InputError
        One cannot name a row, or two look alike.
    """
    must_name_rows(family, [BEST, GIVEN, DETERMINISTIC, *(one.policy for one in played)])


def standing(tree: GameTree, proof: Proved, played: Played) -> Standing:
    """Check all decisions of a policy, and return its ratio.

    Raises
    ------
    ValueError
        A solution is not feasible, or instances have different numbers of runs, or none; or runs of
        one seed decide differently on two instances whose events are the same until then.
    """
    many = len(played.runs[0]) if played.runs else 0
    if len(played.runs) != len(tree.instances) or {len(r) for r in played.runs} != {many or -1}:
        raise ValueError(f"expected runs on {len(tree.instances)} instances, equally many on each")
    found = []
    for i, (solutions, optimum) in enumerate(zip(played.runs, proof.optima, strict=True)):
        values = []
        for solution in solutions:
            verdict = verify(tree.instances[i], solution)
            if verdict.value is None:
                raise ValueError(f"{titled(i, tree.instances[i])}: {verdict.violations[0]}")
            values.append(exact(verdict.value))
        mean = sum(values, Fraction(0)) / many
        error = statistics.stdev(map(float, values)) / math.sqrt(many) if many > 1 else 0.0
        if optimum:
            found.append((float(mean / optimum), error / float(optimum), i))
        elif tree.sign * mean > 0:
            found.append((tree.sign * math.inf, error, i))
    _must_not_anticipate(tree, played)
    value, error, i = max(found, key=lambda entry: tree.sign * entry[0])
    best, bound = float(proof.reached), float(proof.proved)
    return Standing(played.policy, value, error, i, best, bound, played)


def _must_not_anticipate(tree: GameTree, played: Played) -> None:
    """Refuse runs of one seed that differ while the events are the same; all are feasible.

    Raises
    ------
    ValueError
        It names two instances, the time, and the decisions.
    """
    made = [
        [
            {c.name: settle(c, x)[0] for c, x in zip(inst.columns, s.values, strict=True)}
            for s in some
        ]
        for inst, some in zip(tree.instances, played.runs, strict=True)
    ]
    for history in tree.histories:
        first, *others = history.instances
        for i, name in product(others, history.names):
            for k, (here, there) in enumerate(zip(made[first], made[i], strict=True)):
                if here[name] != there[name]:
                    assert history.event is not None  # nothing is decided before it
                    raise ValueError(
                        f"time {history.event.time:g}, seed {played.seed + k}: {name} is "
                        f"{here[name]} on {titled(first, tree.instances[first])}, {there[name]} on "
                        f"{titled(i, tree.instances[i])}, whose events are the same until then; "
                        "expected decisions that follow from events and seed alone"
                    )
