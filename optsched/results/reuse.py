"""What a result file holds, for use again: its optimum beside other policies, its table of ratios.

Nothing is taken at its word: schedules are judged and certificates evaluated again; what a file
says of a solver's agreement with another counts as claimed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optsched.engine.known import Known
from optsched.engine.progress import CLOSED
from optsched.files.envelope import read_json
from optsched.optimum import Optimum, Start, known
from optsched.problem import Family, InputError, Instance, Level, Status, family_of
from optsched.ratios import rate
from optsched.reports import RatioReport
from optsched.results.result import (
    Recheck,
    must_be_of,
    part_of,
    recheck_optimum,
    recheck_outside,
    recheck_run,
    references_in,
    runs_in,
    schedule_in,
    schedules_in,
)


def load_known(path: Path, instance: Instance) -> tuple[Optimum, dict[str, Optimum]]:
    """Read the optimum of a result file, and its further references, for ``instance``.

    Returns
    -------
    Optimum, dict of Optimum
        Checked again.

    Raises
    ------
    InputError
        The file is malformed, belongs to another instance, or says what cannot be true.
    """
    return _known(read_json(path, "result"), path, instance)


def load_start(path: Path, instance: Instance) -> Known:
    """Read what is known of ``instance`` from a schedule, a run or a result, for a search.

    Returns
    -------
    Known
        Judged: the schedule, and from a result all its schedules of optima and their certificates.

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

    What theory guarantees depends on what a policy was told, which cannot be checked: it is left
    out.

    Raises
    ------
    InputError
        As :func:`load_known`, also for the runs.
    """
    content = read_json(path, "result")
    family = family_of(instance)
    runs = runs_in(content, path, family)
    schedules = schedules_in(content, path, family)
    if not runs:
        return None
    optimum, references = _known(content, path, instance)
    for run in runs:
        _must_hold(recheck_run(family, instance, run), path)
    for name, schedule in schedules.items():
        _must_hold(recheck_outside(family, instance, name, schedule), path)
    return rate(
        instance,
        [run.model_copy(update={"guarantee": None}) for run in runs],
        optimum,
        references,
        schedules,
    )


def _known(
    content: Mapping[str, Any], path: Path, instance: Instance
) -> tuple[Optimum, dict[str, Optimum]]:
    family = family_of(instance)
    must_be_of(instance, content, path)
    said = part_of(Optimum, content, "optimum", path, family.name)
    if said.scope:
        raise InputError(f"{path}: holds the best {said.scope} schedule, expected the best of all")
    others = references_in(content, path, family)
    return (
        _sound(family, instance, said, "", path),
        {name: _sound(family, instance, other, name, path) for name, other in others.items()},
    )


def _sound(family: Family, instance: Instance, said: Optimum, scope: str, path: Path) -> Optimum:
    """Return an optimum with nothing in it but what holds, or what is marked as a claim."""
    found = recheck_optimum(family, instance, said, scope)
    _must_hold(found, path)
    level = said.bound_level
    if level is Level.CROSS_CHECKED:
        level = Level.CLAIMED  # nobody has solved it twice here

    def apart(bound: float | None) -> float | None:
        return family.gap(instance, said.value, bound, said.schedule, said.certificate)

    gap, status = apart(said.bound), said.status
    if said.value is not None:
        status = Status.of(gap, CLOSED, level)
    certificate = said.certificate
    return said.model_copy(
        update={
            "bound_level": level,
            "gap": gap,
            "certified_gap": apart(said.certified_bound),
            "status": status,
            "shadow_prices": ()
            if certificate is None or found.bound is None
            else tuple(family.shadow_prices(instance, certificate)),
        }
    )


def _must_hold(found: Recheck, path: Path) -> None:
    if found.complaints:
        why = found.complaints[0]
        raise InputError(f"{path}: {found.what}: rejected: {why}")
