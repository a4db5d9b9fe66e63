"""How much worse policies are than the best with hindsight: the comparison on one instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Unpack

from optsched.base import renamed_arguments
from optsched.core.optimum import Optimum, SolveOptions, known, solve
from optsched.core.reports import CheckedSchedule, Failed, RatioReport, RatioScale, found_by
from optsched.core.simulation import Original, Run, simulate
from optsched.engine.warm_start import Known, check_schedule
from optsched.policies.loader import folded, must_name_rows, name_of, turns
from optsched.problem import (
    RELAXATION,
    InputError,
    Instance,
    Policy,
    PolicyError,
    Schedule,
    Status,
    family_of,
)
from optsched.process import interrupts
from optsched.process.limit import checked_limit
from optsched.sandbox.process import is_program


class Against(StrEnum):
    """Reference of a comparison."""

    OPTIMUM = "optimum"
    RELAXATION = "relaxation"
    BOTH = "both"


def _against(reference: str) -> Against:
    try:
        return Against(reference)
    except ValueError as err:
        known = ", ".join(Against)
        raise InputError(f"unknown reference {reference!r}, expected one of: {known}") from err


@renamed_arguments(effort="work_limit", tell="callback", sealed="sandbox")
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
    sandbox: bool = False,
    decision_limit: float | None = None,
    callback: Callable[[Run | Failed | Optimum], None] | None = None,
    **search: Unpack[SolveOptions],
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
        The intervals of the family's further references, by name; the others are looked for.
    schedule : Schedule or mapping, optional
        From outside; checked next to the policies as "schedule", or under the names of the mapping,
        by the rules of the model. A job that it leaves unfinished earns nothing, where the model
        allows that.
    reference : {"optimum", "relaxation", "both"}
        Reference of the ratios: "both" adds the value of the relaxation (see
        :func:`optsched.relax`) and the integrality gap; "relaxation" does not look for an optimum,
        and the best policy replaces it.
    seed : int
        Of the policies and of the search.
    sandbox : bool
        Run every policy in a process of its own, as in :func:`optsched.simulate`.
    decision_limit : float, optional
        Seconds for each decision, as in :func:`optsched.simulate`.
    callback : callable, optional
        Called with every final result: every run or failure, and the optimum. Policies run in
        the order of :func:`optsched.core.turns`.
    **search
        ``method``, ``time_limit``, ``work_limit``, ``gap``, ``threads``, ``params``, ``start``,
        ``watch``, ``display``: see :func:`optsched.solve`.

    Returns
    -------
    RatioReport
        After Ctrl-C, the results so far. A policy that fails has no row; the report states
        why. If all fail since the instance is infeasible, the optimum is that.

    Raises
    ------
    InputError
        Unknown policy, or one that cannot be in a table; an ``optimum`` or a reference of another
        instance or of other schedules, a ``schedule`` or a ``start`` that breaks the model.
    PolicyError or InputError
        All policies that were requested fail on a feasible instance, or one changes the instance.
    RuntimeError
        A policy beats a certified bound, or a ratio exceeds the theoretical guarantee: a defect of
        this package.
    """
    unknown = [name for name in search if name not in SolveOptions.__annotations__]
    if unknown:  # before the policies run
        raise TypeError(f"compare() got an unexpected keyword argument {unknown[0]!r}")
    family = family_of(instance)
    against = _against(reference)
    references = dict(references or {})
    for name, best in (("", optimum), *references.items()):
        if best is not None:
            _must_answer(best, name, instance)
    start = known(instance, search.pop("start", ()))
    if optimum is not None and (start.schedules or start.bounds):
        raise InputError("the optimum is known, expected nothing to start a search from")
    checked_limit(decision_limit, sandbox=sandbox)
    given = {"schedule": schedule} if isinstance(schedule, Schedule) else schedule or {}
    must_name_rows(family, given)
    outside = [
        CheckedSchedule(name, *check_schedule(family, instance, made, "the schedule"))
        for name, made in given.items()
    ]
    requested = len(family.compared if policies is None else policies)
    order = turns(family, policies, load=not sandbox)
    original = Original(instance)
    unseen = original.copy()  # by any policy
    done: dict[int, Run] = {}  # by their places in the table, or behind it
    failed: dict[int, Failed] = {}
    taken = {folded(name) for name in given}  # names of rows
    stopped = False
    try:
        for place, policy in order:
            try:
                how: dict[str, Any] = {"sandbox": sandbox, "decision_limit": decision_limit}
                run = simulate(instance, policy, seed=seed, **how)
                if folded(run.policy) in taken:
                    raise PolicyError(
                        f"policy {name_of(policy)}: another row of the comparison has the name "
                        f"{run.policy!r}, expected a name of its own"
                    )
                taken.add(folded(run.policy))
                done[place] = run
            except InputError as err:
                made_apart = is_program(policy) or (sandbox and ":" in name_of(policy))
                if made_apart and not isinstance(err, PolicyError):
                    raise  # there is no such policy, or it cannot be in a table
                # a policy of the family refuses what is too large for it
                original.must_be_unchanged(name_of(policy))
                failed[place] = Failed(name=name_of(policy), why=str(err))
                if all(k in failed for k in range(requested)) and not outside:
                    if not done:
                        optimum = optimum or _infeasible(err, original, seed, search)
                    if optimum is None or optimum.status is not Status.INFEASIBLE:
                        raise
            if callback is not None:
                callback(done.get(place) or failed[place])
    except KeyboardInterrupt:
        if not done:
            raise
        stopped = True
    original.must_be_unchanged(", ".join(name_of(policy) for _, policy in order))
    instance, method = unseen, search.pop("method", "auto")
    if stopped:
        search["time_limit"] = 0.0
    look = partial(solve, instance, seed=seed, **search)
    runs = [done[place] for place in sorted(done)]
    others = [*found_by(family, instance, runs), *outside]
    wanted = against is not Against.OPTIMUM and not stopped
    if wanted and RELAXATION not in references:
        references[RELAXATION] = look(method=RELAXATION)
    if optimum is None and against is Against.RELAXATION and wanted:
        optimum = references[RELAXATION]
    feasible = [(k.value, k.schedule) for k in others if k.verdict.obeys]
    feasible.sort(key=lambda found: -family.sign * found[0])
    checked = Known(start.instance_sha256, tuple(feasible))
    optimum = optimum or look(method=method, start=[start, checked])
    if callback is not None:
        callback(optimum)
    if not stopped and against is not Against.RELAXATION:
        missing = {name: by for name, by in family.references.items() if name not in references}
        references |= {name: look(method=by, start=start) for name, by in missing.items()}
    shown = [done[place] for place in range(requested) if place in done]
    failures = [failed[place] for place in sorted(failed)]
    scale = RatioScale.of(family, instance, optimum, references, others)
    return scale.report(shown, outside, failures, behind=runs)


def _must_answer(best: Optimum, name: str, instance: Instance) -> None:
    """Refuse an optimum that is not the reference ``name`` of an instance; "": the optimum.

    Raises
    ------
    InputError
        It is of another instance, or of other schedules.
    """
    family = family_of(instance)
    if (best.instance_sha256, best.sense) != (instance.digest(), family.sense):
        raise InputError("the optimum belongs to another instance, expected one of this instance")
    scope = name if name in family.scopes else ""
    if best.scope != scope:
        found, expected = (
            f"the best {s} schedule" if s else "the best of all" for s in (best.scope, scope)
        )
        raise InputError(f"{name or 'the optimum'} is {found}, expected {expected}")
    if name == RELAXATION and best.value is not None:
        raise InputError(f"{name} is a schedule, expected the value of the relaxation")


def _infeasible(
    err: InputError, original: Original, seed: int, search: SolveOptions
) -> Optimum | None:
    """Return the optimum where a policy may have failed since no schedule exists at all.

    It may not if its own code has failed, or where doing nothing is a schedule.
    """
    instance = original.copy()
    if err.__cause__ is not None or family_of(instance).empty is not None:
        return None
    return solve(instance, seed=seed, **search)


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
        Further references of the comparison.
    schedules : mapping, optional
        From outside, by name.

    Raises
    ------
    InputError
        One of the schedules breaks the model.
    """
    family = family_of(instance)
    outside = [
        CheckedSchedule(name, *check_schedule(family, instance, made, "the schedule"))
        for name, made in (schedules or {}).items()
    ]
    others = [*found_by(family, instance, runs), *outside]
    return RatioScale.of(family, instance, optimum, references, others).report(runs, outside)
