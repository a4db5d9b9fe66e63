"""Result files: written with their instance, so that anybody can check them alone.

result      {"instance", "optimum"} and, from `ratio`, {"references", "runs"}
run         {"instance", "run"}
schedule    {"schedule"}, made by anybody
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from optsched.files import first_error, instance_of, read_json, write_json
from optsched.optimum import Optimum, shown_gap
from optsched.problem import (
    Family,
    Frozen,
    InputError,
    Instance,
    Level,
    Schedule,
    Status,
    family_of,
    get_family,
)
from optsched.progress import CLOSED
from optsched.simulation import Run

SAME = 1e-9  # relative difference up to which two evaluations of one number agree

Record = TypeVar("Record", bound=Frozen)


def save_result(
    path: Path,
    instance: Instance,
    optimum: Optimum,
    runs: Sequence[Run] = (),
    references: Mapping[str, Optimum] | None = None,
) -> None:
    """Write an optimum, and the runs and other references compared with it, beside its instance."""
    content: dict[str, Any] = {"optimum": optimum.model_dump(mode="json")}
    if references:
        content["references"] = {n: r.model_dump(mode="json") for n, r in references.items()}
    if runs:
        content["runs"] = [run.model_dump(mode="json") for run in runs]
    _save(path, "result", instance, content)


def save_run(path: Path, instance: Instance, run: Run) -> None:
    """Write what a policy did, beside its instance."""
    _save(path, "run", instance, {"run": run.model_dump(mode="json")})


def save_schedule(path: Path, instance: Instance, schedule: Schedule) -> None:
    """Write a schedule alone, in the form in which schedules from outside are read."""
    content = {
        "instance_sha256": instance.digest(),
        "schedule": schedule.model_dump(mode="json"),
    }
    write_json(path, "schedule", instance.family, content)


def _save(path: Path, kind: str, instance: Instance, content: Mapping[str, Any]) -> None:
    write_json(
        path,
        kind,
        instance.family,
        {
            "instance_sha256": instance.digest(),
            "instance": instance.model_dump(mode="json"),
            **content,
        },
    )


def load_optimum(path: Path) -> Optimum:
    """Read the optimum of a result file."""
    return _part(Optimum, read_json(path, "result"), "optimum", path)


def load_run(path: Path) -> Run:
    """Read the run of a run file."""
    return _part(Run, read_json(path, "run"), "run", path)


def load_schedule(path: Path, instance: Instance) -> Schedule:
    """Read a schedule for ``instance``: from a schedule file, a run or a result.

    Raises
    ------
    InputError
        The file is malformed, or belongs to another instance or family.
    """
    content = read_json(path, "schedule", "run", "result")
    if content.get("family") != instance.family:
        raise InputError(
            f'{path}: "family" is {content.get("family")!r}, expected {instance.family!r}'
        )
    digest = content.get("instance_sha256")
    if digest is not None and digest != instance.digest():
        raise InputError(f"{path}: belongs to another instance, expected {instance.digest()}")
    inside = {"run": "run", "result": "optimum"}.get(content["kind"])
    holder = content if inside is None else content.get(inside)
    if not isinstance(holder, dict) or holder.get("schedule") is None:
        raise InputError(f"{path}: lacks a schedule")
    return _part(family_of(instance).schedule, holder, "schedule", path)


def _part(kind: type[Record], content: Mapping[str, Any], name: str, path: Path) -> Record:
    if name not in content:
        raise InputError(f'{path}: lacks "{name}"')
    try:
        return kind.model_validate(content[name])
    except ValidationError as err:
        raise InputError(f"{path}: {name}: {first_error(err)}") from err


class Recheck(Frozen):
    """What a second look at a file has found."""

    family: str
    what: str
    value: float | None
    bound: float | None
    value_level: Level | None
    bound_level: Level | None
    complaints: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether everything that the file says holds."""
        return not self.complaints

    def __str__(self) -> str:
        if not self.accepted:
            return "\n  ".join([f"{self.what}: rejected", *self.complaints])
        value = "no schedule" if self.value is None else f"value {self.value:.9g}"
        if self.value_level is not None:
            value += f" ({self.value_level})"
        if self.bound is None:
            return f"{self.what}: accepted: {value}"
        gap = shown_gap(self.family, get_family(self.family).gap(self.value, self.bound))
        bound = f"bound {self.bound:.9g} ({self.bound_level}), gap {gap}"
        return f"{self.what}: accepted: {value}, {bound}"


def recheck(path: Path) -> list[Recheck]:
    """Judge every schedule of a result or run again, and re-evaluate the certificate of its bound.

    Returns
    -------
    list of Recheck
        One per optimum and per run in the file. A number that is not what the file says is a
        complaint.

    Raises
    ------
    InputError
        The file cannot be read, or is no result.
    """
    content = read_json(path, "result", "run")
    instance = instance_of({k: v for k, v in content.items() if k != "instance_sha256"}, path)
    family = get_family(instance.family)
    if content["kind"] == "run":
        found = [_recheck_run(family, instance, _part(Run, content, "run", path))]
    else:
        found = [_recheck_optimum(family, instance, _part(Optimum, content, "optimum", path))]
        others = content.get("references", {})
        if not isinstance(others, dict):
            raise InputError(f'{path}: "references" is no object')
        for name in others:
            where = f"references.{name}"
            other = _part(Optimum, {where: others[name]}, where, path)
            found.append(_recheck_optimum(family, instance, other))
        raw = content.get("runs", [])
        if not isinstance(raw, list):
            raise InputError(f'{path}: "runs" is no list')
        for i in range(len(raw)):
            run = _part(Run, {f"runs[{i}]": raw[i]}, f"runs[{i}]", path)
            found.append(_recheck_run(family, instance, run))
    if content.get("instance_sha256") != instance.digest():
        complaint = (
            f"the instance is not the one that was solved: its SHA-256 is {instance.digest()}"
        )
        found[0] = found[0].model_copy(update={"complaints": (complaint, *found[0].complaints)})
    return found


def _recheck_run(family: Family, instance: Instance, run: Run) -> Recheck:
    complaints = _foreign(instance, run.instance_sha256)
    complaints += _judge(family, instance, run.schedule, run.value, unfinished=True)
    return Recheck(
        family=family.name,
        what=f"run of {run.policy}",
        value=run.value,
        bound=None,
        value_level=Level.CERTIFIED,
        bound_level=None,
        complaints=tuple(complaints),
    )


def _recheck_optimum(family: Family, instance: Instance, optimum: Optimum) -> Recheck:
    complaints = _foreign(instance, optimum.instance_sha256)
    value, bound = optimum.value, optimum.bound
    if optimum.schedule is not None and value is not None:
        # A policy may have found the best schedule; what it leaves unfinished earns nothing.
        complaints += _judge(family, instance, optimum.schedule, value, unfinished=True)
    elif value is not None:
        complaints.append(f"value {value} comes without a schedule")
    level = optimum.bound_level
    if level is Level.CERTIFIED:
        complaints += _evaluate(family, instance, optimum)
    if (
        value is not None
        and bound is not None
        and family.sign * (value - bound) > CLOSED * max(1, abs(bound))
    ):
        complaints.append(f"value {value} is beyond the bound {bound}")
    gap = family.gap(value, bound)
    if optimum.status is Status.OPTIMAL and (gap is None or gap > CLOSED):
        complaints.append(f"status is optimal, but the gap is {'unknown' if gap is None else gap}")
    return Recheck(
        family=family.name,
        what=f"optimum by {optimum.method}",
        value=value,
        bound=bound,
        value_level=None if value is None else Level.CERTIFIED,
        bound_level=level,
        complaints=tuple(complaints),
    )


def _foreign(instance: Instance, digest: str) -> list[str]:
    return [] if digest == instance.digest() else [f"made for another instance: {digest}"]


def _judge(
    family: Family, instance: Instance, schedule: Schedule, value: float, *, unfinished: bool
) -> list[str]:
    verdict = family.verify(instance, schedule, unfinished=unfinished)
    if verdict.value is None:
        return [str(v) for v in verdict.violations]
    if abs(verdict.value - value) > SAME * max(1.0, abs(value)):
        return [f"value is {verdict.value}, the file says {value}"]
    return []


def _evaluate(family: Family, instance: Instance, optimum: Optimum) -> list[str]:
    """Re-evaluate the certificate: a file may claim less than it proves, never more."""
    if optimum.certificate is None or optimum.bound is None:
        return ["the bound is said to be certified, but the certificate is missing"]
    try:
        proved = family.check(instance, optimum.certificate)
    except ValueError as err:
        return [f"the certificate proves nothing: {err}"]
    if family.sign * (proved - optimum.bound) > SAME * max(1.0, abs(proved)):
        return [f"the certificate proves the bound {proved}, the file says {optimum.bound}"]
    return []
