"""Reading of result files for reuse: the optimum, the table of ratios.

Nothing is trusted: schedules are checked and certificates evaluated again; what a file
states of a solver's agreement with another counts as claimed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from optsched.core import Optimum, RatioReport, Run, Start
from optsched.core.optimum import known
from optsched.core.ratios import rate
from optsched.engine.interval import CLOSED
from optsched.engine.progress import HistoryPoint
from optsched.engine.warm_start import Known
from optsched.files.format import instance_of, read_json, short
from optsched.problem import Family, InputError, Instance, Level, Schedule, Status, family_of
from optsched.results.result import (
    Recheck,
    part_of,
    recheck_optimum,
    recheck_outside,
    recheck_run,
    references_in,
    rows_in,
)


def load_optimum(path: Path) -> Optimum:
    """Read the optimum of a result file, of whatever scope; status and levels are derived again.

    Raises
    ------
    InputError
        The file is malformed, or states what is not true.
    """
    content, instance, family = _file(path, "result")
    stored = part_of(Optimum, content, "optimum", path, family.name)
    return _sound(family, instance, stored, "", path)


def load_run(path: Path) -> Run:
    """Read the run of a run file; its schedule is checked again.

    Raises
    ------
    InputError
        The file is malformed, or states what is not true.
    """
    content, instance, family = _file(path, "run")
    run = part_of(Run, content, "run", path, family.name)
    _must_hold(recheck_run(family, instance, run), path)
    return run.model_copy(update={"guarantee": None})  # as in `load_report`


def _file(path: Path, kind: str) -> tuple[dict[str, Any], Instance, Family]:
    content = read_json(path, kind)
    instance = instance_of(content, path)
    return content, instance, family_of(instance)


def load_schedule(path: Path, instance: Instance) -> Schedule:
    """Read a schedule for ``instance``: from a schedule file, a run or a result.

    Raises
    ------
    InputError
        The file is malformed, or belongs to another instance or family.
    """
    return schedule_in(read_json(path, "schedule", "run", "result"), instance, path)


def schedule_in(content: Mapping[str, Any], instance: Instance, path: Path) -> Schedule:
    """Return the schedule of a file that was read."""
    must_be_of(instance, content, path)
    inside = {"run": "run", "result": "optimum"}.get(content["kind"])
    holder = content if inside is None else content.get(inside)
    if not isinstance(holder, dict) or holder.get("schedule") is None:
        raise InputError(f"{path}: lacks a schedule")
    return part_of(family_of(instance).schedule, holder, "schedule", path)


def must_be_of(instance: Instance, content: Mapping[str, Any], path: Path) -> None:
    """Refuse a file that belongs to another instance, as far as it names one.

    Raises
    ------
    InputError
        It names another family or digest.
    """
    if content.get("family") != instance.family:
        raise InputError(
            f'{path}: "family" is {short(content.get("family"))}, expected {instance.family!r}'
        )
    digest = content.get("instance_sha256")
    if digest is not None and digest != instance.digest():
        raise InputError(f"{path}: belongs to another instance, expected {instance.digest()}")


def load_known(path: Path, instance: Instance) -> tuple[Optimum, dict[str, Optimum]]:
    """Read the optimum of a result file, and its further references, for ``instance``.

    Returns
    -------
    Optimum, dict of Optimum
        Checked again.

    Raises
    ------
    InputError
        The file is malformed, belongs to another instance, or states what cannot be true.
    """
    return _known(read_json(path, "result"), path, instance)


def load_start(path: Path, instance: Instance) -> Known:
    """Read schedules and bounds of ``instance`` for a search from a schedule, a run or a result.

    Returns
    -------
    Known
        Checked: the schedule, and from a result all its schedules of optima and their certificates.

    Raises
    ------
    InputError
        The file is malformed, belongs to another instance, or holds what breaks the model.
    """
    content = read_json(path, "schedule", "run", "result")
    parts: list[Start]
    if content["kind"] == "result":
        must_be_of(instance, content, path)
        family = family_of(instance)
        optimum = part_of(Optimum, content, "optimum", path, family.name)
        parts = [optimum, *references_in(content, path, family).values()]
    else:
        parts = [schedule_in(content, instance, path)]
    try:
        return known(instance, parts)
    except InputError as err:
        raise InputError(f"{path}: {err}") from err


def load_report(path: Path, instance: Instance) -> RatioReport | None:
    """Return the comparison in a result file, computed again; None if there are no runs in it.

    The theoretical guarantee depends on a policy's input, which cannot be checked: it is left
    out.

    Raises
    ------
    InputError
        As :func:`load_known`, also for the runs.
    """
    return report_in(read_json(path, "result"), instance, path)


def report_in(content: Mapping[str, Any], instance: Instance, path: Path) -> RatioReport | None:
    """Return the comparison in a file that was read; see :func:`load_report`."""
    family = family_of(instance)
    runs, schedules = rows_in(content, path, family)
    if not runs:
        return None
    optimum, references = _known(content, path, instance)
    for run in runs:
        _must_hold(recheck_run(family, instance, run), path)
    for name, schedule in schedules.items():
        _must_hold(recheck_outside(family, instance, name, schedule), path)
    unproved = [run.model_copy(update={"guarantee": None}) for run in runs]
    rated = rate(instance, unproved, optimum, references, schedules)
    listed = content.get("listed", [])
    if not isinstance(listed, list) or any(type(line) is not str for line in listed):
        raise InputError(f'{path}: "listed" is no list of texts')
    return rated.model_copy(update={"listed": tuple(listed)})


def _known(
    content: Mapping[str, Any], path: Path, instance: Instance
) -> tuple[Optimum, dict[str, Optimum]]:
    family = family_of(instance)
    must_be_of(instance, content, path)
    stored = part_of(Optimum, content, "optimum", path, family.name)
    if stored.scope:
        raise InputError(
            f"{path}: holds the best {stored.scope} schedule, expected the best of all"
        )
    others = references_in(content, path, family)
    return (
        _sound(family, instance, stored, "", path),
        {name: _sound(family, instance, other, name, path) for name, other in others.items()},
    )


def _sound(family: Family, instance: Instance, stored: Optimum, scope: str, path: Path) -> Optimum:
    """Return an optimum whose status and levels are derived from its certificate, else claimed."""
    found = recheck_optimum(family, instance, stored, scope)
    _must_hold(found, path)
    level = stored.bound_level
    if level is Level.CROSS_CHECKED:
        level = Level.CLAIMED  # it is not solved twice here
    known = stored.interval(instance)
    gap = known.gap
    if stored.value is not None:
        status = Status.of(gap, CLOSED, level)
    elif found.bound is not None and math.isinf(found.bound):
        status, level = Status.INFEASIBLE, Level.CERTIFIED
    else:
        status = stored.status  # no schedule, or the claim that there is none
        if status is Status.BOUND_ONLY:
            level = Level.CLAIMED  # no certificate proves that the relaxation reaches the bound
    certificate = stored.certificate
    return stored.model_copy(
        update={
            "value_level": found.value_level,
            "bound_level": level,
            "gap": gap,
            "certified_gap": known.at(stored.certified_bound).gap,
            "status": status,
            "defects": (),  # of another search; a file may state anything
            "history": tuple(_holding(family.sign, stored)),
            "shadow_prices": ()
            if certificate is None or found.bound is None
            else tuple(family.shadow_prices(instance, certificate)),
        }
    )


def _holding(sign: int, stored: Optimum) -> Iterator[HistoryPoint]:
    """Yield the history as far as it holds: nothing beyond value and bound as they were checked.

    When they were reached is as the file states.
    """

    def clipped(recorded: float | None, last: float | None, side: int) -> float | None:
        if recorded is None or last is None or not math.isfinite(recorded):
            return None
        return side * min(side * recorded, side * last)

    for p in stored.history:
        if 0 <= p.seconds <= stored.seconds < math.inf:
            value = clipped(p.value, stored.value, sign)
            yield HistoryPoint(
                seconds=p.seconds, value=value, bound=clipped(p.bound, stored.bound, -sign)
            )


def _must_hold(found: Recheck, path: Path) -> None:
    """Refuse what was rejected, with the first complaint."""
    if found.complaints:
        raise InputError(f"{path}: {found.what}: rejected: {found.complaints[0]}")
