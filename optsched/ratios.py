"""How much worse policies are than the best with hindsight: the comparison on one instance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import Field

from optsched import interrupts
from optsched.intervals import MeanRatio, Ratio, mean_ratio
from optsched.optimum import Optimum, refuted, solve, within
from optsched.problem import (
    Extended,
    Family,
    Frozen,
    InputError,
    Instance,
    Level,
    Policy,
    Schedule,
    Signed,
    Status,
    Verdict,
    family_of,
)
from optsched.progress import CLOSED, Progress, improves
from optsched.simulation import Original, Run, simulate

__all__ = ["Facts", "Judged", "MeanRatio", "Ratio", "RatioReport", "compare", "mean_ratio"]

LOAD, PARALLEL = "offered load", "jobs with more than one worker"  # facts that families describe
TELLING = 1.02  # best trivial ratio from which an instance can tell policies apart


class Regret(Frozen):
    """How much more a reference reaches than a policy did; negative where the policy did better."""

    low: Signed = Field(description="at least this: the reference's schedule proves it")
    high: Signed | None = Field(description="at most this: the reference's bound proves it")

    def __str__(self) -> str:
        if self.high is None:
            return f"at least {self.low:.5g}"
        low, high = f"{self.low:.5g}", f"{self.high:.5g}"
        return low if low == high else f"{low} to {high}"


class Judged(Frozen):
    """One row: a policy (or a schedule from outside) and its ratio."""

    name: str
    information: str = Field(description="what it knew when it decided; 'unknown' from outside")
    own: tuple[str, ...] = Field(default=(), description="statistics from outside that it knew")
    seal: str = Field(
        default="unknown", description="whether it was kept from everything else: 'sealed', ..."
    )
    value: Signed
    obeys: bool = Field(description="it keeps to the model; else its ratio may be below 1")
    completed: int | None = Field(description="jobs that were completed; None: none do")
    ratio: Ratio
    regret: dict[str, Regret] = Field(default={}, description="by reference beside the optimum")
    seconds: float | None = Field(description="time for all decisions; None from outside")
    slowest: float | None = Field(description="time of the slowest decision, s")

    def __str__(self) -> str:
        promised = self.ratio.guarantee
        theory = "" if promised is None else f" (guaranteed: at most {promised:.4g})"
        left = "" if self.obeys else "; it leaves the model"
        knows = f"; knows {', '.join(self.own)}" if self.own else ""
        said = f"ratio {self.ratio}{theory}{left}{knows}; {self.seal}"
        return f"{self.name} reaches {self.value:.6g}, {said}"


class Facts(Frozen):
    """What an instance must say beside any ratio."""

    size: str = Field(description="as the family puts it: '100 jobs'")
    jobs: int | None = Field(description="jobs that may complete; None: a family without")
    offered_load: Extended | None = Field(
        description="asked for / what there is, of the scarcest resource; None: unknown"
    )
    scarcest: str = Field(default="", description="the scarcest resource")
    parallel_share: float | None = Field(description="share of jobs with more than one worker")
    trivial_policy: str | None
    trivial_ratio: Extended | None = Field(description="low end of the best trivial policy's ratio")

    @property
    def telling(self) -> bool:
        """Whether the instance can tell policies apart."""
        return self.trivial_ratio is None or self.trivial_ratio >= TELLING

    def __str__(self) -> str:
        parts = [self.size]
        if self.parallel_share is not None:
            parts.append(f"{self.parallel_share:.0%} with more than one worker")
        if self.offered_load is not None:
            of = f" of {self.scarcest}" if self.scarcest else ""
            parts.append(f"offered load {self.offered_load:.3g}{of}")
        if self.trivial_ratio is not None:
            parts.append(
                f"best trivial policy {self.trivial_policy} with ratio {self.trivial_ratio:.4g}"
            )
        return ", ".join(parts)


class RatioReport(Frozen):
    """Policies beside the best with hindsight, on one instance."""

    facts: Facts
    optimum: Optimum
    improved_by: str | None = Field(
        default=None, description="the policy whose schedule no search has beaten, if there is one"
    )
    references: dict[str, Optimum] = Field(
        default={}, description="what else the policies are compared with"
    )
    policies: tuple[Judged, ...]
    runs: tuple[Run, ...] = Field(default=(), description="what each policy did")

    def __str__(self) -> str:
        lines = [str(self.optimum), f"instance: {self.facts}"]
        if self.improved_by is not None:
            lines.append(f"the best schedule known is that of {self.improved_by}")
        lines += [f"{name} reference: {found}" for name, found in self.references.items()]
        lines += [f"  {row}" for row in self.policies]
        if not self.facts.telling:
            lines.append(f"cannot tell policies apart: {self.facts.trivial_policy} is within 2 %")
        return "\n".join(lines)

    def summary(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "family": self.optimum.family,
            "instance_sha256": self.optimum.instance_sha256,
            "facts": self.facts.model_dump(mode="json") | {"telling": self.facts.telling},
            "reference": reference(self.optimum) | {"improved_by": self.improved_by},
            "references": {name: reference(found) for name, found in self.references.items()},
            "policies": [
                row.model_dump(mode="json") | {"guarantee": row.ratio.guarantee}
                for row in self.policies
            ],
        }


def reference(optimum: Optimum) -> dict[str, Any]:
    """Return what ``--json`` says of the optimum."""
    return {
        n: getattr(optimum, n)
        for n in (
            "value",
            "bound",
            "gap",
            "status",
            "value_level",
            "bound_level",
            "certified_bound",
            "certified_gap",
            "scope",
            "method",
            "seconds",
        )
    }


@interrupts.remembered()
def compare(
    instance: Instance,
    policies: Sequence[str | Policy] | None = None,
    *,
    optimum: Optimum | None = None,
    schedule: Schedule | None = None,
    method: str = "auto",
    time_limit: float = 60.0,
    gap: float = CLOSED,
    seed: int = 0,
    threads: int = 1,
    sealed: bool = False,
    watch: Callable[[Progress], None] | None = None,
    tell: Callable[[Run | Optimum], None] | None = None,
) -> RatioReport:
    """Run policies online and compare them with the best with hindsight.

    Parameters
    ----------
    instance : Instance
    policies : sequence of str or Policy, optional
        By default all policies of the family.
    optimum : Optimum, optional
        Of this instance; by default :func:`optsched.solve` looks for it.
    schedule : Schedule, optional
        From outside; judged beside the policies as "schedule", by the rules of the model. A job
        that it leaves unfinished earns nothing, where the model allows that.
    method, time_limit, gap, threads, watch
        As in :func:`optsched.solve`.
    seed : int
        Of the policies and of the search.
    sealed : bool
        Run every policy in a process of its own, as in :func:`optsched.simulate`.
    tell : callable, optional
        Called with what is known for good: every run, the optimum, every further reference.

    Returns
    -------
    RatioReport
        After Ctrl-C, what was known by then.

    Raises
    ------
    InputError
        Unknown policy, an ``optimum`` of another instance, or a ``schedule`` that breaks the model.
    RuntimeError
        A policy beats a certified bound, or a ratio exceeds what theory guarantees: a defect of
        this package.
    """
    family = family_of(instance)
    if optimum is not None and optimum.instance_sha256 != instance.digest():
        raise InputError("the optimum belongs to another instance, expected one of this instance")
    original = Original(instance)
    outside = None if schedule is None else _outside(family, instance, schedule)
    wanted = list(family.policies) if policies is None else list(policies)
    names = [p if isinstance(p, str) else p.name for p in wanted]
    extra = [p for p in family.trivial if p in family.policies and p not in names]
    runs: list[Run] = []
    others = family.references
    try:
        for policy in [*wanted, *extra]:
            runs.append(simulate(instance, policy, seed=seed, sealed=sealed))
            if tell is not None:
                tell(runs[-1])
    except KeyboardInterrupt:
        if not runs:
            raise
        others, time_limit = {}, 0.0
    original.must_be_unchanged(", ".join(names))
    instance = original.copy()  # no policy has ever seen this one
    limits: dict[str, Any] = {"time_limit": time_limit, "gap": gap, "threads": threads}
    look = partial(solve, instance, **limits, seed=seed, watch=watch)
    known = _known(family, instance, runs)
    if outside is not None:
        kept, verdict = outside
        assert verdict.value is not None  # `_outside` has seen to it
        known.append(_Known("schedule", kept, verdict.value))
    optimum = optimum or look(method=method, start=[k.schedule for k in known])
    if tell is not None:
        tell(optimum)
    references = {name: look(method=by) for name, by in others.items()}
    optimum, improved_by = _with_known(family, instance, optimum, known)
    scale = _Scale(family, instance, optimum, references)
    shown = runs[: len(wanted)]
    rows = [scale.judged(run) for run in shown]
    if outside is not None:
        rows.append(scale.judged_outside(outside[1]))
    return RatioReport(
        facts=_facts(scale, runs),
        optimum=optimum,
        improved_by=improved_by,
        references=references,
        policies=tuple(rows),
        runs=tuple(shown),
    )


def _outside(family: Family, instance: Instance, schedule: Schedule) -> tuple[Schedule, Verdict]:
    """Judge a schedule from outside by the rules of the model, without what it leaves unfinished.

    Raises
    ------
    InputError
        It breaks the model.
    """
    kept, verdict = schedule, family.verify(instance, schedule, unfinished=family.trim is not None)
    if verdict.value is not None and family.trim is not None:
        kept = family.trim(instance, schedule)
        verdict = family.verify(instance, kept)
    if verdict.value is None:
        raise InputError(f"the schedule breaks the model; {verdict}")
    return kept, verdict


@dataclass(frozen=True)
class _Known:
    """A schedule that the strict judge accepts, whose it is, and its value."""

    name: str
    schedule: Schedule
    value: float


def _known(family: Family, instance: Instance, runs: Sequence[Run]) -> list[_Known]:
    """Return what policies have found, as far as it is a schedule of the model."""
    found = []
    for run in runs:
        if run.obeys:
            kept = run.schedule if family.trim is None else family.trim(instance, run.schedule)
            verdict = family.verify(instance, kept)
            if verdict.value is not None and math.isfinite(verdict.value):
                found.append(_Known(run.policy, kept, verdict.value))
    return found


def _with_known(
    family: Family, instance: Instance, optimum: Optimum, known: Sequence[_Known]
) -> tuple[Optimum, str | None]:
    """Take the best of the known schedules where it beats the solver's, and test the bound by it.

    Returns
    -------
    Optimum, str or None
        None, or whose schedule is the best.

    Raises
    ------
    RuntimeError
        It beats a certified bound: a defect of this package.
    """
    best = max(known, key=lambda k: family.sign * k.value, default=None)
    if best is None:
        return optimum, None
    improved = optimum.value is None or improves(
        family,
        instance,
        (best.value, best.schedule),
        (optimum.value, optimum.schedule),
        (optimum.bound, optimum.certificate),
    )
    if not improved:
        return optimum, best.name if best.schedule is optimum.schedule else None
    update: dict[str, Any] = {
        "value": best.value,
        "schedule": best.schedule,
        "value_level": Level.CERTIFIED,
    }
    bound, level, certified = optimum.bound, optimum.bound_level, optimum.proved
    if certified is not None:
        certified = within(family, instance, best.value, certified, best.name)
    if bound is not None and refuted(family, instance, best.value, bound):
        # one schedule refutes a solver's word
        bound, level = certified, None if certified is None else Level.CERTIFIED

    def apart(side: float | None) -> float | None:
        return family.gap(instance, best.value, side, best.schedule, optimum.certificate)

    gap = apart(bound)
    closed = gap is not None and gap <= CLOSED
    update |= {
        "bound": bound,
        "bound_level": level,
        "gap": gap,
        "certified_bound": certified,
        "certified_gap": apart(certified),
        "status": Status.OPTIMAL if closed else Status.FEASIBLE,
    }
    return optimum.model_copy(update=update), best.name


@dataclass(frozen=True)
class _Scale:
    """What policies are measured by on one instance."""

    family: Family
    instance: Any
    optimum: Optimum
    references: Mapping[str, Optimum]

    def ratio(self, earned: float, guarantee: float | None = None) -> Ratio:
        """Return an interval: its low end rests on a schedule, its high end on a certificate."""
        best, measure = self.optimum, self.family.measure
        if best.value is None:  # nothing ran and nothing was found: the empty schedule is known
            raise InputError("there is neither an optimum nor a policy to compare with")
        return Ratio.of(
            best.sense,
            earned,
            best.value,
            best.bound if best.proved is None else best.proved,
            guarantee,
            None if measure is None else partial(measure, self.instance),
        )

    def regret(self, earned: float) -> dict[str, Regret]:
        """Return the distance to each further reference, and then to the optimum too."""
        known = {"optimum": self.optimum, **self.references} if self.references else {}
        found = {}
        for name, best in known.items():
            if best.value is not None:
                low = self.family.sign * (best.value - earned)
                bound = best.bound if best.proved is None else best.proved
                high = None if bound is None else self.family.sign * (bound - earned)
                found[name] = Regret(low=low, high=None if high is None else max(low, high))
        return found

    def judged(self, run: Run) -> Judged:
        ratio = self.ratio(run.value, run.guarantee)
        if run.guarantee is not None and run.obeys and ratio.low > run.guarantee * (1 + CLOSED):
            raise RuntimeError(
                f"policy {run.policy} has ratio {ratio.low}, beyond the {run.guarantee} that "
                "theory guarantees: the conditions of the guarantee are wrong, or the number"
            )
        return Judged(
            name=run.policy,
            information=run.information,
            own=run.own,
            seal=run.seal,
            value=run.value,
            obeys=run.obeys,
            completed=_completed(run.completion),
            ratio=ratio,
            regret=self.regret(run.value),
            seconds=run.seconds,
            slowest=run.slowest,
        )

    def judged_outside(self, verdict: Verdict) -> Judged:
        assert verdict.value is not None  # `_outside` has seen to it
        return Judged(
            name="schedule",
            information="unknown",
            value=verdict.value,
            obeys=verdict.obeys,
            completed=_completed(verdict.completion),
            ratio=self.ratio(verdict.value),
            regret=self.regret(verdict.value),
            seconds=None,
            slowest=None,
        )


def _completed(completion: Sequence[int | None]) -> int | None:
    return sum(c is not None for c in completion) if completion else None


def _facts(scale: _Scale, runs: Sequence[Run]) -> Facts:
    described = scale.family.describe(scale.instance)
    scarcest, load = max(_leaves(described.get(LOAD)), key=lambda leaf: leaf[1], default=("", None))
    simple = [r for r in runs if r.policy in scale.family.trivial]
    trivial = [(scale.ratio(r.value).low, r.policy) for r in simple]
    ratio, name = min(trivial, default=(None, None))
    jobs = {len(run.completion) for run in runs if run.completion}
    return Facts(
        size=scale.family.headline(scale.instance),
        jobs=max(jobs, default=None),
        offered_load=load,
        scarcest=scarcest,
        parallel_share=described.get(PARALLEL),
        trivial_policy=name,
        trivial_ratio=ratio,
    )


def _leaves(nested: Any, name: str = "") -> list[tuple[str, float]]:
    """Return the numbers of a nested mapping: {"ps": {"cpu": 2}} has ("ps cpu", 2)."""
    if nested is None:
        return []
    if isinstance(nested, Mapping):
        return [leaf for k, v in nested.items() for leaf in _leaves(v, f"{name} {k}".strip())]
    return [(name, float(nested))]
