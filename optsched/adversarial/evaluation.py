"""Fitness of an instance: a policy's run compared with the best schedule found."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from optsched.core import Optimum, Ratio, Run, measure_of, solve
from optsched.engine.interval import CLOSED
from optsched.experiments.cell_keys import Contender
from optsched.numbers.json_float import Extended
from optsched.problem import Family, Frozen, InputError, Instance, Level, PolicyError
from optsched.results.result import save_result

SHARE, EARNS, EFFORT = 0.2, 0.001, 5.0
NEARLY = 0.01  # gap at which an evaluation looks no further: only a schedule counts


class Terms(Frozen):
    """Terms of a worst-case search: with one seed, equal terms make the same search."""

    family: str
    policy: str
    preset: str
    sizes: dict[str, int] = Field(default={}, description="other than the preset's")
    parameters: dict[str, Any] = Field(default={}, description="of the policy")
    policy_sha256: str | None = Field(default=None, description="of the file of an own policy")
    sealed: bool = False
    decision_limit: float | None = Field(
        default=None, gt=0, description="seconds for each decision; in a sandbox by default 600"
    )
    share: float = Field(
        default=SHARE,
        ge=0,
        le=1,
        description="the best schedule reaches at least this share of all utility",
    )
    earns: float = Field(
        default=EARNS,
        ge=0,
        le=1,
        description="and the policy at least this share, and more than nothing",
    )
    effort: float = Field(default=EFFORT, ge=0, description="of the search for a schedule, units")

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if (self.sealed or self.policy.startswith("exec:")) and self.parameters:
            raise ValueError(f"{self.policy} runs in a sandbox, without parameters; expected none")
        return self

    @property
    def contender(self) -> Contender:
        """The policy."""
        digest, limit = self.policy_sha256, self.decision_limit
        return Contender(self.policy, self.parameters, self.sealed, digest, limit)


class Evaluation(Frozen):
    """Evaluation of one instance."""

    low: Extended = Field(description="the ratio is at least this: a schedule proves it")
    share: float = Field(description="of all utility that the best schedule reaches")
    earned: float = Field(description="of all utility that the policy reaches")
    mine: tuple[int | None, ...] = Field(default=(), description="when the policy ends each job")
    best: tuple[int | None, ...] = Field(default=(), description="when the best schedule does")
    failed: str = Field(default="", description="what went wrong in the policy")

    def admitted(self, terms: Terms) -> bool:
        """Whether it counts."""
        enough = self.share >= terms.share and self.earned >= max(terms.earns, 1e-300)
        return enough and not self.failed and math.isfinite(self.low)

    def fitness(self, terms: Terms) -> float:
        """Return how good it is for the hunt; what does not count is below 0 as far as it is off.

        A policy that earns less than it must is taken to earn just that much.
        """
        if self.failed:
            return -math.inf
        if self.admitted(terms):
            return math.log(max(self.low, 1.0))
        lacking = math.log(max(terms.share, 1e-9) / max(self.share, 1e-9))
        return -max(lacking, 0.0) - 1.0

    def promise(self, terms: Terms) -> float:
        """Return the ratio's logarithm if the policy earned just enough."""
        if self.failed or self.share < terms.share:
            return -math.inf
        return math.log(self.share / max(self.earned, terms.earns, 1e-12))


@dataclass(frozen=True)
class WorstInstance:
    """An instance with what the policy did and the best schedule that was found."""

    instance: Instance
    run: Run
    optimum: Optimum
    found: Evaluation
    excess: str = ""  # why the ratio cannot be, by a theorem

    def save(self, path: Path) -> None:
        """Write it as a result, which anyone can check."""
        save_result(path, self.instance, self.optimum, [self.run])


@dataclass
class Evaluator:
    """Evaluates instances of one hunt; ``last`` is what it has evaluated last."""

    family: Family
    terms: Terms
    last: WorstInstance | None = None

    def __call__(self, instance: Instance) -> Evaluation:
        """Run the policy, look for a better schedule, and compare."""
        self.last = None
        try:
            run = self.terms.contender.play(instance, 0, code=True)
        except PolicyError as err:
            return Evaluation(low=1.0, share=0.0, earned=0.0, failed=str(err))
        method = "search" if "search" in self.family.methods else "auto"
        # only the schedule counts, and that is checked
        limits = {"work_limit": self.terms.effort, "gap": NEARLY, "check": Level.CLAIMED}
        self.last = self.compared(instance, run, method=method, **limits)
        return self.last.found

    def compared(self, instance: Instance, run: Run, **search: Any) -> WorstInstance:
        """Return how a run compares with the best schedule that a search finds."""
        family = self.family
        known = []
        if run.obeys:
            kept, verdict = family.strictly(instance, run.schedule)
            if verdict.value is not None and math.isfinite(verdict.value):
                known.append(kept)
        best = solve(instance, start=known, **search)
        if best.value is None:
            raise InputError("no schedule was found, expected a larger work limit")
        measure = measure_of(family, instance)
        ratio = Ratio.of(family.sense, run.value, best.value, None, measure=measure)
        alone = best.value if self.family.opening is None else self.family.opening(instance)[0]
        found = Evaluation(
            low=ratio.low,
            share=_share(measure, best.value, alone),
            earned=_share(measure, run.value, alone),
            mine=run.completion,
            best=family.verify(instance, best.schedule).completion,
        )
        return WorstInstance(instance, run, best, found, beyond(run, ratio.low))


def _share(measure: Callable[[float, float], float], reached: float, alone: float) -> float:
    """Return which share of all utility is reached; of the best, where nothing else is known."""
    times = measure(reached, alone)
    return 1.0 / times if times > 0 else math.inf


class TheoremError(RuntimeError):
    """A ratio that a theorem excludes: a defect, of the theorem's conditions or of a number."""


def beyond(run: Run, low: float) -> str:
    """Return why a ratio cannot be, if theory guarantees less for this very instance."""
    promised = run.guarantee
    if promised is None or not run.obeys or low <= promised * (1 + CLOSED):
        return ""
    return (
        f"policy {run.policy} has ratio {low} on instance {run.instance_sha256}, beyond the "
        f"{promised} that theory guarantees for it: the conditions of the guarantee are wrong, "
        "or the number"
    )
