"""How much worse policies are than the best with hindsight: the comparison on one instance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Unpack

from optsched.core.optimum import Optimum, Search, known, refuted, solve, within
from optsched.core.reports import Failed, RatioReport, Scale, facts_of
from optsched.core.simulation import Original, Run, simulate
from optsched.engine.known import judged
from optsched.engine.progress import CLOSED, improves
from optsched.policies.limit import checked_limit
from optsched.policies.plugins import known_or_refused
from optsched.problem import (
    RELAXATION,
    Family,
    InputError,
    Instance,
    Level,
    Policy,
    PolicyError,
    Schedule,
    Status,
    Verdict,
    family_of,
)
from optsched.process import interrupts


class Against(StrEnum):
    """What policies are compared with."""

    OPTIMUM = "optimum"
    RELAXATION = "relaxation"
    BOTH = "both"


def _against(reference: str) -> Against:
    try:
        return Against(reference)
    except ValueError as err:
        known = ", ".join(Against)
        raise InputError(f"unknown reference {reference!r}, expected one of: {known}") from err


def turns(
    family: Family, policies: Sequence[str | Policy] | None = None
) -> list[tuple[int, str | Policy]]:
    """Return policies in the order in which they run: nobody waits for one that is slow.

    First those that need no thought (`Family.trivial`), last those that are slow (`Family.slow`),
    else as they are listed. Trivial ones run even if nobody asked for them.

    Returns
    -------
    list of tuple of int and str or Policy
        A policy and its place in the table; places behind the table are not shown.

    Raises
    ------
    InputError
        Unknown policy.
    """
    asked = list(family.policies) if policies is None else list(policies)
    for policy in asked:
        known_or_refused(family, policy)
    names = {name_of(policy) for policy in asked}
    asked += [p for p in family.trivial if p in family.policies and p not in names]

    def rank(policy: str | Policy) -> int:
        return (name_of(policy) in family.slow) - (name_of(policy) in family.trivial)

    return sorted(enumerate(asked), key=lambda turn: rank(turn[1]))


def name_of(policy: str | Policy) -> str:
    """Return a policy's name; of one that is to be loaded, the name by which that is asked for."""
    return policy if isinstance(policy, str) else policy.name


@interrupts.remembered()
def compare(
    instance: Instance,
    policies: Sequence[str | Policy] | None = None,
    *,
    optimum: Optimum | None = None,
    references: Mapping[str, Optimum] | None = None,
    schedule: Schedule | Mapping[str, Schedule] | None = None,
    reference: Against | str = Against.OPTIMUM,
    seed: int = 0,
    sealed: bool = False,
    decision_limit: float | None = None,
    tell: Callable[[Run | Failed | Optimum], None] | None = None,
    **search: Unpack[Search],
) -> RatioReport:
    """Run policies online and compare them with the best with hindsight.

    Parameters
    ----------
    instance : Instance
    policies : sequence of str or Policy, optional
        By default all policies of the family.
    optimum : Optimum, optional
        Of this instance; by default :func:`optsched.solve` looks for it.
    references : mapping, optional
        What is known of the family's further references, by name; the others are looked for.
    schedule : Schedule or mapping, optional
        From outside; judged beside the policies as "schedule", or under the names of the mapping,
        by the rules of the model. A job that it leaves unfinished earns nothing, where the model
        allows that.
    reference : {"optimum", "relaxation", "both"}
        What policies are compared with: "both" adds the value of the relaxation (see
        :func:`optsched.relax`) and the integrality gap; "relaxation" does not look for an optimum,
        and the best policy stands in for it.
    seed : int
        Of the policies and of the search.
    sealed : bool
        Run every policy in a process of its own, as in :func:`optsched.simulate`.
    decision_limit : float, optional
        Seconds for each decision, as in :func:`optsched.simulate`.
    tell : callable, optional
        Called with what is known for good: every run or failure, and the optimum. Policies run in
        the order of :func:`optsched.core.turns`.
    **search
        ``method``, ``time_limit``, ``effort``, ``gap``, ``threads``, ``start`` and ``watch``, as
        in :func:`optsched.solve`.

    Returns
    -------
    RatioReport
        After Ctrl-C, what was known by then. A policy from outside that fails has no row; the
        report says why.

    Raises
    ------
    InputError
        Unknown policy, an ``optimum`` of another instance, a ``schedule`` or a ``start`` that
        breaks the model.
    PolicyError
        All policies that were asked for fail, or one changes the instance.
    RuntimeError
        A policy beats a certified bound, or a ratio exceeds what theory guarantees: a defect of
        this package.
    """
    unknown = [name for name in search if name not in Search.__annotations__]
    if unknown:  # before the policies run
        raise TypeError(f"compare() got an unexpected keyword argument {unknown[0]!r}")
    family = family_of(instance)
    against = _against(reference)
    references = dict(references or {})
    for best in (optimum, *references.values()):
        if best is not None and best.instance_sha256 != instance.digest():
            raise InputError(
                "the optimum belongs to another instance, expected one of this instance"
            )
    start = known(instance, search.pop("start", ()))
    if optimum is not None and (start.schedules or start.bounds):
        raise InputError("the optimum is known, expected nothing to start a search from")
    checked_limit(decision_limit, sealed=sealed)
    original = Original(instance)
    given = {"schedule": schedule} if isinstance(schedule, Schedule) else schedule or {}
    outside = [_outside(family, instance, name, made) for name, made in given.items()]
    asked = len(family.policies if policies is None else policies)
    order = turns(family, policies)
    done: dict[int, Run] = {}  # by their places in the table, or behind it
    failed: dict[int, Failed] = {}
    taken = {*given}  # names of rows
    stopped = False
    try:
        for place, policy in order:
            try:
                how: dict[str, Any] = {"sealed": sealed, "decision_limit": decision_limit}
                run = simulate(instance, policy, seed=seed, **how)
                if run.policy in taken:
                    raise PolicyError(
                        f"policy {name_of(policy)}: another row of the comparison has the name "
                        f"{run.policy!r}, expected a name of its own"
                    )
                taken.add(run.policy)
                done[place] = run
            except PolicyError as err:
                original.must_be_unchanged(name_of(policy))
                failed[place] = Failed(name=name_of(policy), why=str(err))
                if all(k in failed for k in range(asked)) and not outside:
                    raise
            if tell is not None:
                tell(done.get(place) or failed[place])
    except KeyboardInterrupt:
        if not done:
            raise
        stopped = True
    original.must_be_unchanged(", ".join(name_of(policy) for _, policy in order))
    instance = original.copy()  # no policy has ever seen this one
    method = search.pop("method", "auto")
    if stopped:
        search["time_limit"] = 0.0
    look = partial(solve, instance, seed=seed, **search)
    runs = [done[place] for place in sorted(done)]
    others = _known(family, instance, runs) + [kept for kept, _ in outside]
    wanted = against is not Against.OPTIMUM and not stopped
    if wanted and RELAXATION not in references:
        references[RELAXATION] = look(method=RELAXATION)
    if optimum is None and against is Against.RELAXATION and wanted:
        optimum = references[RELAXATION]
    optimum = optimum or look(method=method, start=[start, *(k.schedule for k in others)])
    if tell is not None:
        tell(optimum)
    if not stopped and against is not Against.RELAXATION:
        missing = {name: by for name, by in family.references.items() if name not in references}
        references |= {name: look(method=by, start=start) for name, by in missing.items()}
    optimum, improved_by = _with_known(family, instance, optimum, others)
    scale = Scale(family, instance, optimum, references)
    shown = [done[place] for place in range(asked) if place in done]
    rows = [scale.judged(run) for run in shown]
    rows += [scale.judged_outside(kept.name, verdict) for kept, verdict in outside]
    return RatioReport(
        facts=facts_of(scale, runs),
        optimum=optimum,
        improved_by=improved_by,
        references=references,
        integrality_gap=scale.integrality_gap(),
        policies=tuple(rows),
        failed=tuple(failed[place] for place in sorted(failed)),
        runs=tuple(shown),
        outside={kept.name: kept.schedule for kept, _ in outside},
    )


def rate(
    instance: Instance,
    runs: Sequence[Run],
    optimum: Optimum,
    references: Mapping[str, Optimum],
    schedules: Mapping[str, Schedule] | None = None,
) -> RatioReport:
    """Compare runs that are over with an optimum that is known; all must have been checked.

    Parameters
    ----------
    instance : Instance
    runs : sequence of Run
    optimum : Optimum
    references : mapping
        What else the policies are compared with.
    schedules : mapping, optional
        From outside, by name.

    Raises
    ------
    InputError
        One of the schedules breaks the model.
    """
    family = family_of(instance)
    outside = [_outside(family, instance, *named) for named in (schedules or {}).items()]
    others = _known(family, instance, runs) + [kept for kept, _ in outside]
    optimum, improved_by = _with_known(family, instance, optimum, others)
    scale = Scale(family, instance, optimum, references)
    return RatioReport(
        facts=facts_of(scale, runs),
        optimum=optimum,
        improved_by=improved_by,
        references=dict(references),
        integrality_gap=scale.integrality_gap(),
        policies=(
            *map(scale.judged, runs),
            *(scale.judged_outside(kept.name, verdict) for kept, verdict in outside),
        ),
        runs=tuple(runs),
        outside={kept.name: kept.schedule for kept, _ in outside},
    )


@dataclass(frozen=True)
class _Known:
    """A schedule that the strict judge accepts, whose it is, and its value."""

    name: str
    schedule: Schedule
    value: float


def _outside(
    family: Family, instance: Instance, name: str, schedule: Schedule
) -> tuple[_Known, Verdict]:
    """Judge a schedule from outside by the rules of the model, without what it leaves unfinished.

    Raises
    ------
    InputError
        It breaks the model.
    """
    kept, verdict = judged(family, instance, schedule, "the schedule")
    assert verdict.value is not None  # it would have been refused
    return _Known(name, kept, verdict.value), verdict


def _known(family: Family, instance: Instance, runs: Sequence[Run]) -> list[_Known]:
    """Return what policies have found, as far as it is a schedule of the model."""
    found = []
    for run in runs:
        if run.obeys:
            kept, verdict = family.strictly(instance, run.schedule)
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
    update |= {
        "bound": bound,
        "bound_level": level,
        "gap": gap,
        "certified_bound": certified,
        "certified_gap": apart(certified),
        "status": Status.of(gap, CLOSED, level),
    }
    return optimum.model_copy(update=update), best.name
