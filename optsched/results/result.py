"""Result files: written with their instance, so that anyone can check them alone.

result      {"instance", "optimum"} and, from `ratio`, {"references", "runs", "schedules", "listed"}
run         {"instance", "run"}
schedule    {"schedule"}, from any program
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from optsched.core import Optimum, Run, shown_gap
from optsched.engine.interval import CLOSED
from optsched.files.format import checked, instance_of, read_json, short, write_json
from optsched.numbers.json_float import Extended, Signed
from optsched.policies.loader import must_name_rows
from optsched.problem import (
    RELAXATION,
    Family,
    Frozen,
    InputError,
    Instance,
    Level,
    Schedule,
    Status,
    Verdict,
    agree,
    get_family,
)

SAME = 1e-9  # relative difference up to which two evaluations of one number agree
EXISTS = "the file claims that no schedule exists, but there is one"

Record = TypeVar("Record", bound=Frozen)


def save_result(
    path: Path,
    instance: Instance,
    optimum: Optimum,
    runs: Sequence[Run] = (),
    references: Mapping[str, Optimum] | None = None,
    schedules: Mapping[str, Schedule] | None = None,
    listed: Sequence[str] = (),
) -> None:
    """Write an optimum, and what was compared with it, next to its instance.

    That is the runs, other references, schedules from outside by name, and remarks on the log.
    """
    content = whole_content(instance, optimum, runs, references, schedules)
    content |= {"listed": [*listed]} if listed else {}
    write_json(path, "result", instance.family, content)


def whole_content(
    instance: Instance,
    optimum: Optimum,
    runs: Sequence[Run] = (),
    references: Mapping[str, Optimum] | None = None,
    schedules: Mapping[str, Schedule] | None = None,
) -> dict[str, Any]:
    """Return what a result holds."""
    content = with_instance(instance, {"optimum": optimum.model_dump(mode="json")})
    if references:
        content["references"] = {n: r.model_dump(mode="json") for n, r in references.items()}
    if runs:
        content["runs"] = [run.model_dump(mode="json") for run in runs]
    if schedules:
        content["schedules"] = {n: s.model_dump(mode="json") for n, s in schedules.items()}
    return content


def save_run(path: Path, instance: Instance, run: Run) -> None:
    """Write what a policy did, next to its instance."""
    content = with_instance(instance, {"run": run.model_dump(mode="json")})
    write_json(path, "run", instance.family, content)


def save_schedule(path: Path, instance: Instance, schedule: Schedule) -> None:
    """Write a schedule alone, in the form in which schedules from outside are read."""
    content = {
        "instance_sha256": instance.digest(),
        "schedule": schedule.model_dump(mode="json"),
    }
    write_json(path, "schedule", instance.family, content)


def with_instance(instance: Instance, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``content`` next to its instance."""
    there = {"instance_sha256": instance.digest(), "instance": instance.model_dump(mode="json")}
    return there | dict(content)


def part_of(
    kind: type[Record], content: Mapping[str, Any], name: str, path: Path, family: str | None = None
) -> Record:
    """Return a part of a file, which belongs to ``family`` if it names one."""
    if name not in content:
        raise InputError(f'{path}: lacks "{name}"')
    return _record(kind, content[name], f"{path}: {name}", family)


def _record(kind: type[Record], part: Any, place: str, family: str | None = None) -> Record:
    named = part.get("family") if isinstance(part, dict) else part
    if family is not None and (named != family or not isinstance(part, dict)):
        raise InputError(f'{place}: "family" is {short(named)}, expected {family!r}')
    return checked(kind, part, place)


class Recheck(Frozen):
    """Recheck of a file, from instance, schedule and certificate alone."""

    family: str
    what: str
    value: Signed | None = Field(description="of the schedule, by the feasibility check")
    bound: Signed | None = Field(default=None, description="bound that the certificate proves")
    gap: Extended | None = None
    value_level: Level | None = Field(default_factory=lambda known: _level(known.get("value")))
    bound_level: Level | None = Field(default_factory=lambda known: _level(known.get("bound")))
    unchecked: tuple[str, ...] = Field(default=(), description="further statements of the file")
    complaints: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether something was derived, and nothing that the file states contradicts it."""
        return not self.complaints and (self.value is not None or self.bound is not None)

    def __str__(self) -> str:
        if self.complaints:
            return "\n  ".join([f"{self.what}: rejected", *self.complaints])
        if not self.accepted:
            derived = f"{self.what}: nothing can be derived from it"
        else:
            parts = []
            if self.value is not None:
                parts.append(f"value {self.value:.9g} ({self.value_level})")
            if self.bound is not None and math.isinf(self.bound):
                parts.append(f"no schedule exists ({self.bound_level})")
            elif self.bound is not None:
                parts.append(f"bound {self.bound:.9g} ({self.bound_level})")
            if self.gap is not None:
                parts.append(f"gap {shown_gap(self.gap)}")
            derived = f"{self.what}: accepted: {', '.join(parts)}"
        unchecked = ", ".join(self.unchecked)
        return "\n  ".join([derived, *([f"not checked: {unchecked}"] if unchecked else [])])


def _level(derived: float | None) -> Level | None:
    return None if derived is None else Level.CERTIFIED


def recheck(path: Path) -> list[Recheck]:
    """Check every schedule of a result or run again, and re-evaluate the certificate of its bound.

    Returns
    -------
    list of Recheck
        One per optimum, per run and per schedule from outside in the file. It holds what was
        derived here; a number that contradicts it is a complaint, and what cannot be derived is
        named as not checked.

    Raises
    ------
    InputError
        The file cannot be read, or is no result.
    """
    return recheck_content(read_json(path, "result", "run"), path)


def recheck_content(content: dict[str, Any], path: Path) -> list[Recheck]:
    """Check what a file holds that was read; see :func:`recheck`.

    Large parts leave ``content`` as soon as they have become records: they need much memory.
    """
    instance = instance_of({k: v for k, v in content.items() if k != "instance_sha256"}, path)
    family = get_family(instance.family)
    del content["instance"]
    if content["kind"] == "run":
        found = [recheck_run(family, instance, part_of(Run, content, "run", path, family.name))]
    else:
        main = part_of(Optimum, content, "optimum", path, family.name)
        del content["optimum"]
        found = [recheck_optimum(family, instance, main, "")]
        for name, other in references_in(content, path, family).items():
            found.append(recheck_optimum(family, instance, other, name))
        runs, schedules = rows_in(content, path, family)
        found += [recheck_run(family, instance, run) for run in runs]
        for name, schedule in schedules.items():
            found.append(recheck_outside(family, instance, name, schedule))
        others = [*(run.schedule for run in runs if run.obeys), *schedules.values()]
        if main.status is Status.INFEASIBLE and any(
            family.verify(instance, other).value is not None for other in others
        ):
            found[0] = found[0].model_copy(update={"complaints": (*found[0].complaints, EXISTS)})
        if content.get("listed"):
            stated = (*found[0].unchecked, "listed of the file")
            found[0] = found[0].model_copy(update={"unchecked": stated})
    if content.get("instance_sha256") != instance.digest():
        complaint = (
            f"the instance is not the one that was solved: its SHA-256 is {instance.digest()}"
        )
        found[0] = found[0].model_copy(update={"complaints": (complaint, *found[0].complaints)})
    return found


def references_in(content: Mapping[str, Any], path: Path, family: Family) -> dict[str, Optimum]:
    """Return the further references of a result, as the file states them."""
    others = content.get("references", {})
    if not isinstance(others, dict):
        raise InputError(f'{path}: "references" is no object')
    allowed = {RELAXATION, *family.references}
    if unknown := [name for name in others if name not in allowed]:
        known = ", ".join(sorted(allowed))
        raise InputError(f"{path}: references: has {short(unknown[0])}, expected only: {known}")
    return {
        name: _record(Optimum, other, f"{path}: references.{name}", family.name)
        for name, other in others.items()
    }


def rows_in(
    content: Mapping[str, Any], path: Path, family: Family
) -> tuple[list[Run], dict[str, Schedule]]:
    """Return the runs of a result, and its schedules from outside by name, as it states them."""
    runs, schedules = content.get("runs", []), content.get("schedules", {})
    if not isinstance(runs, list):
        raise InputError(f'{path}: "runs" is no list')
    if not isinstance(schedules, dict):
        raise InputError(f'{path}: "schedules" is no object')
    made = [_record(Run, run, f"{path}: runs[{i}]", family.name) for i, run in enumerate(runs)]
    try:
        must_name_rows(family, [*(run.policy for run in made), *schedules])
    except InputError as err:
        raise InputError(f"{path}: {err}") from err
    return made, {
        name: _record(family.schedule, schedule, f"{path}: schedules.{name}")
        for name, schedule in schedules.items()
    }


def recheck_outside(family: Family, instance: Instance, name: str, schedule: Schedule) -> Recheck:
    """Check a schedule from outside by the rules of the model; no value is stated of it."""
    verdict = family.verify(instance, schedule)
    return Recheck(
        family=family.name,
        what=f"schedule {name!r}",
        value=verdict.value,
        unchecked=(f"that it is of {name!r}",),
        complaints=tuple(map(str, verdict.violations)) if verdict.value is None else (),
    )


def recheck_run(family: Family, instance: Instance, run: Run) -> Recheck:
    """Check the schedule of a run again."""
    complaints = _foreign(family, instance, run.family, run.instance_sha256)
    verdict = family.verify(instance, run.schedule, unfinished=True)
    complaints += _value_differs(verdict, run.value)
    if verdict.value is not None and verdict.obeys != run.obeys:
        complaints.append(
            f"the run {'keeps to' if verdict.obeys else 'leaves'} the model, "
            f"the file states the contrary"
        )
    if verdict.value is not None and verdict.completion != run.completion:
        complaints.append("other jobs are completed, or in other slots, than the file states")
    unchecked = [f"that the policy is {run.policy}, deciding {run.information}"]
    unchecked += ["what it knew", "its times", *["its sandbox"] * run.sealed]
    if run.guarantee is not None:
        unchecked.append(f"its guarantee {run.guarantee:.6g}")
    return Recheck(
        family=family.name,
        what=f"run of {run.policy}",
        value=verdict.value,
        unchecked=tuple(unchecked),
        complaints=tuple(complaints),
    )


def recheck_optimum(family: Family, instance: Instance, stored: Optimum, scope: str) -> Recheck:
    """Derive value, bound and gap; ``scope`` is the question that the place in the file defines."""
    complaints = _foreign(family, instance, stored.family, stored.instance_sha256)
    if scope in family.scopes and stored.scope != scope:
        complaints.append(f"it is the reference {scope!r}, but its scope is {stored.scope!r}")
    if scope == RELAXATION and (stored.value, stored.schedule) != (None, None):
        complaints.append(f"it is the reference {scope!r}, which has no schedule, but there is one")
    complaints += _out_of_scope(family, instance, stored)
    value = _value(family, instance, stored, complaints)
    bound = _proved(family, instance, stored, complaints)
    known = replace(stored.interval(instance), value=value, bound=bound)
    if known.refuted:
        complaints.append(f"value {value} is beyond the bound {bound}: one of the checks is wrong")
    gap, closed = known.gap, known.closed
    complaints += _wrong_levels(family, stored)
    complaints += _wrong_status(family, instance, stored, (value, bound, gap))
    unchecked = []
    if stored.status is Status.INFEASIBLE and not (bound is not None and math.isinf(bound)):
        unchecked.append(f"no schedule exists ({stored.bound_level})")
    if stored.bound is not None and stored.bound_level is not Level.CERTIFIED:
        if known.at(stored.bound).refuted:
            complaints.append(f"value {value} is beyond the bound {stored.bound}")
        unchecked.append(f"bound {stored.bound:.9g} ({stored.bound_level})")
    if stored.status.closed and not closed:
        unchecked.append(f"status {stored.status}")
    if stored.status is Status.BOUND_ONLY:
        unchecked.append("that the relaxation reaches the bound")
    best = f"best {stored.scope} schedule" if stored.scope else "optimum"
    return Recheck(
        family=family.name,
        what=best if closed else f"schedule and bound of the {best}",
        value=value,
        bound=bound,
        gap=gap,
        unchecked=(*unchecked, f"that it was found by {stored.method} in {stored.seconds:.1f} s"),
        complaints=tuple(complaints),
    )


def _wrong_levels(family: Family, stored: Optimum) -> list[str]:
    """Return levels that belong to nothing, and what lacks one."""
    found = []
    if stored.sense != family.sense:
        found.append(f"sense is {stored.sense}, expected {family.sense}")
    if stored.value is None and stored.value_level is not None:
        found.append(f"the stated value is {stored.value_level}, but there is none")
    if stored.bound is None and stored.bound_level and stored.status is not Status.INFEASIBLE:
        found.append(f"the stated bound is {stored.bound_level}, but there is none")
    if stored.bound is not None and stored.bound_level is None:
        found.append(f"bound {stored.bound} has no level, expected one of: {', '.join(Level)}")
    return found


def _wrong_status(
    family: Family,
    instance: Instance,
    stored: Optimum,
    derived: tuple[float | None, float | None, float | None],
) -> list[str]:
    """Return where status and gaps do not follow from value, bound and gap as derived."""
    value, bound, gap = derived
    if stored.status is Status.INFEASIBLE:
        if value is not None or family.empty is not None:
            return [EXISTS]
        if stored.bound_level is None:
            return ["the file claims that no schedule exists, without a level"]
        if stored.bound_level is Level.CERTIFIED and (bound is None or not math.isinf(bound)):
            proved = "nothing" if bound is None else f"the bound {bound}"
            return [f"the file certifies that no schedule exists, but {proved} is proved"]
    without = (Status.NO_SCHEDULE, Status.BOUND_ONLY, Status.INFEASIBLE)
    if (stored.value is None) != (stored.status in without):
        return [f"status is {stored.status}, but the value is {stored.value}"]
    if stored.status is Status.BOUND_ONLY and stored.bound is None:
        return [f"status is {stored.status}, but there is no bound"]
    refused = stored.schedule is not None and value is None
    if refused or (stored.certificate is not None and bound is None):
        return []  # there is a complaint already, and no gap
    found = []
    known = replace(stored.interval(instance), value=value)
    for name, side in (("gap", stored.bound), ("certified_gap", stored.certified_bound)):
        is_gap, stated = known.at(side).gap, getattr(stored, name)
        # gaps are differences, of which rounding may leave little
        if stated is not None and (
            is_gap is None or not (agree(stated, is_gap, SAME) or abs(stated - is_gap) <= SAME)
        ):
            found.append(f"{name} is {is_gap}, the file states {stated}")
    if gap is not None and gap <= CLOSED:
        return found
    if stored.status is Status.OPTIMAL:
        far = "unknown" if gap is None else f"{gap:.3g}"
        found.append(f"status is optimal (certified), but the gap is {far}")
    claim = known.gap
    if stored.status is Status.CLAIMED and (claim is None or claim > CLOSED):
        found.append(f"status is {stored.status}, but the claimed gap is {claim}")
    return found


def _foreign(family: Family, instance: Instance, name: str, digest: str) -> list[str]:
    found = [] if name == family.name else [f"made for family {name}, this one is {family.name}"]
    return found + ([] if digest == instance.digest() else [f"made for another instance: {digest}"])


def _out_of_scope(family: Family, instance: Instance, stored: Optimum) -> list[str]:
    """Return the parts of a result that do not belong to the question it claims to answer."""
    found = []
    if stored.scope and stored.scope not in family.scopes:
        known = ", ".join(map(repr, ["", *family.scopes]))
        return [f"the scope is {stored.scope!r}, expected one of: {known}"]
    answers = family.scopes.get(stored.scope, lambda _instance, _schedule: True)
    if stored.schedule is not None and not answers(instance, stored.schedule):
        found.append(f"the schedule is not {stored.scope}")
    if stored.certificate is not None:
        proved = family.scope(stored.certificate)
        if proved not in ("", stored.scope):
            expected = stored.scope or "all"
            found.append(f"the certificate is about {proved} schedules, expected {expected}")
    return found


def _value(
    family: Family, instance: Instance, stored: Optimum, complaints: list[str]
) -> float | None:
    """Check the schedule by the rules of the model, which are stricter than those of policies."""
    if stored.schedule is None:
        if stored.value is not None:
            complaints.append(f"value {stored.value} comes without a schedule")
        return None
    verdict = family.verify(instance, stored.schedule)
    complaints += _value_differs(verdict, stored.value)
    return verdict.value


def _value_differs(verdict: Verdict, stored: float | None) -> list[str]:
    """Return the faults of a schedule, and of the value that it claims."""
    if verdict.value is None:
        return [str(v) for v in verdict.violations] or ["the schedule has no value"]
    if stored is None or not agree(verdict.value, stored, SAME):
        return [f"value is {verdict.value}, the file states {stored}"]
    return []


def _proved(
    family: Family, instance: Instance, stored: Optimum, complaints: list[str]
) -> float | None:
    """Re-evaluate the certificate: a file may claim less than it proves, never more.

    None: nothing is proved. A certificate that proves nothing is a complaint, and so is anything
    certified without a certificate.
    """
    bound = stored.bound if stored.bound_level is Level.CERTIFIED else None
    certified = [b for b in (bound, stored.certified_bound) if b is not None]
    if stored.certificate is None:
        if certified or stored.bound_level is Level.CERTIFIED:
            complaints.append("the bound is marked as certified, but the certificate is missing")
        return None
    try:
        proved = family.proved(instance, stored.certificate)
    except ValueError as err:
        complaints.append(f"the certificate proves nothing: {err}")
        return None
    complaints += [
        f"the certificate proves the bound {proved}, the file states {better}"
        for better in dict.fromkeys(certified)
        if family.sign * (proved - better) > 0 and not agree(proved, better, SAME)
    ]
    return proved
