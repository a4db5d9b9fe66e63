"""How much worse policies are than the best with hindsight: the comparison on one instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import Field

from optsched.intervals import Extended, MeanRatio, Ratio, mean_ratio
from optsched.optimum import Optimum, solve
from optsched.problem import (
    Family,
    Frozen,
    InputError,
    Instance,
    Level,
    Policy,
    Schedule,
    Status,
    Verdict,
    family_of,
)
from optsched.progress import CLOSED, Progress, relative_gap
from optsched.simulation import Run, simulate

__all__ = ["Facts", "Judged", "MeanRatio", "Ratio", "RatioReport", "compare", "mean_ratio"]

TRIVIAL = ("fifo",)  # policies that need no thought; a set that even they solve tells nothing
LOAD, PARALLEL = "offered load", "jobs with more than one worker"  # facts that families describe
TELLING = 1.02  # best trivial ratio from which an instance can tell policies apart


class Judged(Frozen):
    """One row: a policy (or a schedule from outside) and its ratio."""

    name: str
    information: str = Field(description="what it knew when it decided; 'unknown' from outside")
    value: float
    completed: int = Field(description="jobs that were completed")
    ratio: Ratio
    seconds: float | None = Field(description="time for all decisions; None from outside")
    slowest: float | None = Field(description="time of the slowest decision, s")

    def __str__(self) -> str:
        promised = self.ratio.guarantee
        theory = "" if promised is None else f" (guaranteed: at most {promised:.4g})"
        return f"{self.name} earns {self.value:.6g}, ratio {self.ratio}{theory}"


class Facts(Frozen):
    """What an instance must say beside any ratio."""

    jobs: int
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
        parts = [f"{self.jobs} jobs"]
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
        default=None, description="the policy whose schedule beat the solver's, if one did"
    )
    policies: tuple[Judged, ...]
    runs: tuple[Run, ...] = Field(default=(), description="what each policy did")

    def __str__(self) -> str:
        lines = [str(self.optimum), f"instance: {self.facts}"]
        if self.improved_by is not None:
            lines.append(f"the best schedule known is that of {self.improved_by}")
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
            "policies": [
                row.model_dump(mode="json") | {"guarantee": row.ratio.guarantee}
                for row in self.policies
            ],
        }


def reference(optimum: Optimum) -> dict[str, Any]:
    """Return what ``--json`` says of the optimum."""
    names = ("value", "bound", "status", "value_level", "bound_level", "method", "seconds")
    return {n: getattr(optimum, n) for n in names} | {"gap": optimum.gap}


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
    watch: Callable[[Progress], None] | None = None,
    tell: Callable[[str], None] | None = None,
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
        From outside; judged beside the policies as "schedule". A job that it leaves unfinished
        earns nothing, as for a policy.
    method, time_limit, gap, threads, watch
        As in :func:`optsched.solve`.
    seed : int
        Of the policies and of the search.
    tell : callable, optional
        Called with a sentence after each policy.

    Returns
    -------
    RatioReport
        After Ctrl-C, what was known by then: without a bound if the policies still ran.

    Raises
    ------
    InputError
        Unknown policy, an ``optimum`` of another instance, or a ``schedule`` that breaks the model.
    RuntimeError
        A policy beats a certified bound: a defect of this package.
    """
    family = family_of(instance)
    if optimum is not None and optimum.instance_sha256 != instance.digest():
        raise InputError("the optimum belongs to another instance, expected one of this instance")
    outside = None if schedule is None else _outside(family, instance, schedule)
    wanted = list(family.policies) if policies is None else list(policies)
    names = [p if isinstance(p, str) else p.name for p in wanted]
    extra = [p for p in TRIVIAL if p in family.policies and p not in names]
    runs: list[Run] = []
    try:
        for policy in [*wanted, *extra]:
            runs.append(simulate(instance, policy, seed=seed))
            if tell is not None:
                tell(str(runs[-1]))
    except KeyboardInterrupt:
        if not runs:
            raise
        optimum = optimum or _unknown(family, instance)
    if optimum is None:
        optimum = solve(
            instance,
            method=method,
            time_limit=time_limit,
            gap=gap,
            threads=threads,
            seed=seed,
            watch=watch,
        )
    found = [(run.policy, run.value, run.schedule) for run in runs]
    if outside is not None and schedule is not None and outside.value is not None:
        found.append(("schedule", outside.value, schedule))
    optimum, improved_by = _with_policies(optimum, found)
    shown = runs[: len(wanted)]
    rows = [_judged(optimum, run) for run in shown]
    if outside is not None:
        rows.append(_judged_outside(optimum, outside))
    return RatioReport(
        facts=_facts(family, instance, optimum, runs),
        optimum=optimum,
        improved_by=improved_by,
        policies=tuple(rows),
        runs=tuple(shown),
    )


def _unknown(family: Family, instance: Instance) -> Optimum:
    """Return what is known before anybody has looked."""
    return Optimum(
        family=family.name,
        sense=family.sense,
        instance_sha256=instance.digest(),
        method="none",
        status=Status.NO_SCHEDULE,
        value=None,
        bound=None,
        value_level=None,
        bound_level=None,
        schedule=None,
        certificate=None,
        seconds=0.0,
    )


def _outside(family: Family, instance: Instance, schedule: Schedule) -> Verdict:
    verdict = family.verify(instance, schedule, unfinished=True)
    if verdict.value is None:
        raise InputError(f"the schedule breaks the model; {verdict}")
    return verdict


def _with_policies(
    optimum: Optimum, found: Sequence[tuple[str, float, Schedule]]
) -> tuple[Optimum, str | None]:
    """Take the best policy's schedule where it beats the solver's, and test the bound by it."""
    sign = 1 if optimum.sense == "max" else -1
    name, value, schedule = max(found, key=lambda f: sign * f[1], default=(None, None, None))
    improved_by = None
    if value is not None and (optimum.value is None or sign * (value - optimum.value) > 0):
        improved_by = name
        optimum = optimum.model_copy(
            update={"value": value, "schedule": schedule, "value_level": Level.CERTIFIED}
        )
    if optimum.value is None:
        return optimum, None
    bound, level = optimum.bound, optimum.bound_level
    if bound is not None and sign * (optimum.value - bound) > CLOSED * max(1.0, abs(bound)):
        if level is Level.CERTIFIED:
            raise RuntimeError(f"{name} reaches {optimum.value}, beyond the certified {bound}")
        bound = level = None  # one schedule refutes a solver's word
    gap = relative_gap(optimum.value, bound)
    status = Status.OPTIMAL if gap is not None and gap <= CLOSED else Status.FEASIBLE
    update = {"bound": bound, "bound_level": level, "status": status}
    return optimum.model_copy(update=update), improved_by


def _ratio(optimum: Optimum, earned: float, guarantee: float | None = None) -> Ratio:
    if optimum.value is None:  # nothing ran and nothing was found: the empty schedule is known
        raise InputError("there is neither an optimum nor a policy to compare with")
    return Ratio.of(optimum.sense, earned, optimum.value, optimum.bound, guarantee)


def _judged(optimum: Optimum, run: Run) -> Judged:
    return Judged(
        name=run.policy,
        information=run.information,
        value=run.value,
        completed=sum(c is not None for c in run.completion),
        ratio=_ratio(optimum, run.value, run.guarantee),
        seconds=run.seconds,
        slowest=run.slowest,
    )


def _judged_outside(optimum: Optimum, verdict: Verdict) -> Judged:
    assert verdict.value is not None  # `_outside` has seen to it
    return Judged(
        name="schedule",
        information="unknown",
        value=verdict.value,
        completed=sum(c is not None for c in verdict.completion),
        ratio=_ratio(optimum, verdict.value),
        seconds=None,
        slowest=None,
    )


def _facts(family: Family, instance: Any, optimum: Optimum, runs: Sequence[Run]) -> Facts:
    described = family.describe(instance)
    scarcest, load = max(_leaves(described.get(LOAD)), key=lambda leaf: leaf[1], default=("", None))
    trivial = [(_ratio(optimum, r.value).low, r.policy) for r in runs if r.policy in TRIVIAL]
    ratio, name = min(trivial, default=(None, None))
    return Facts(
        jobs=len(instance.jobs),
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
