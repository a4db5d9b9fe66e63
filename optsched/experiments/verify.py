"""A store is looked at again: cells are run and optima solved anew, and compared with its rows."""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from optsched.engine.interval import CLOSED, Interval
from optsched.experiments.cell_keys import Case, canonical, known_of, without_guards
from optsched.experiments.cells import CellTask, instance_of, ratio_of
from optsched.experiments.map_cells import call_all
from optsched.experiments.plan import Plan
from optsched.experiments.pool import ProcessPool, TaskCompleted, share_of_memory
from optsched.experiments.run import patience
from optsched.experiments.store import LEVELS, CellRow, CellState, Store, StoredOptimum
from optsched.files.provenance import all_versions
from optsched.problem import agree, get_family
from optsched.results.result import SAME

PARTS = 100  # into which the instances are divided
MOST = 20  # complaints that are printed
Cell = dict[str, Any]


@dataclass
class Verified:
    """Result of a verification: rerun rows, and errors."""

    cells: int  # in the store
    planned: int
    seed: int | None = None  # that has drawn the instances; None: all were looked at
    runs: int = 0  # policies that were run again
    optima: int = 0  # that were solved again
    certificates: int = 0  # of them, checked in exact arithmetic
    unsure: int = 0  # rows of other versions, or ended by the clock, that were not reproduced
    errors: int = 0  # rows that state an error: there is nothing to compare
    wrong: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether something was computed again, and nothing is wrong."""
        return not self.wrong and self.runs + self.optima > 0

    def summary(self) -> dict[str, Any]:
        """Return the content of ``--json``."""
        return {"accepted": self.accepted} | vars(self)

    def lines(self) -> list[str]:
        """Return what a reader sees: what is wrong, and the sum."""
        found = self.wrong[:MOST]
        if len(self.wrong) > MOST:
            found.append(f"and {len(self.wrong) - MOST} more")
        done = (
            f"{self.runs} of {self.cells} cells run again, instances solved again: "
            f"{self.optima}, their certificates checked: {self.certificates}"
        )
        if self.seed is not None:
            done += f"; drawn with --seed {self.seed}"
        if self.cells < self.planned:
            done += f"; {self.planned - self.cells} cells of the plan are not there yet"
        if self.unsure:
            done += f"; {self.unsure} rows of other versions or limits of time were not reproduced"
        if self.errors:
            done += f"; {self.errors} cells state an error"
        outcome = "accepted" if self.accepted else f"rejected, {len(self.wrong)} wrong"
        return [*found, f"{outcome}: {done}"]


def verify(
    path: Path,
    plan: Plan,
    *,
    sample: int = 1,
    seed: int | None = None,
    workers: int = 1,
    callback: Callable[[str], None] = lambda _text: None,
) -> Verified:
    """Run the cells of a store again, and solve its optima again.

    Parameters
    ----------
    path : Path
    plan : Plan
        That of the store, with its names resolved.
    sample : int
        Of how many instances one is looked at; 1: all.
    seed : int, optional
        Draws them. By default a fresh one, so that an editor of the store cannot predict them.
    workers : int
        Processes.
    callback : callable
        Called now and again with how far it is.

    Raises
    ------
    InputError
        It is no store.
    KeyboardInterrupt
        An end was requested.
    """
    with Store.open(path) as store:
        there = store.cell_keys()
        instances = {
            key: (source, number, digest)
            for key, source, number, digest in store.rows(
                "SELECT i.key, text, seed, coalesce(digest, i.key) FROM instance i "
                "JOIN word ON word.id = source"
            )
        }
        optima = {
            (digest, reference)
            for digest, reference in store.rows(
                "SELECT digest, text FROM optimum JOIN word ON word.id = reference"
            )
        }
    keys, strays, cases = set(), {*instances}, 0
    for case in plan.cases():
        keys |= {cell.key for cell in case.cells}
        cases += 1
        source, number, digest = instances.get(case.key, (None, None, None))
        if (source, number) == (canonical(case.source.content), case.seed):
            strays.discard(case.key)
            optima.discard((digest, canonical(case.reference.content)))
    drawn: Sequence[int] = range(cases)
    if sample > 1:
        seed = secrets.randbits(32) if seed is None else seed
        drawn = sorted(random.Random(seed).sample(drawn, -(-cases // sample)))
    found = Verified(len(there), len(keys), seed if sample > 1 else None)
    if there - keys:
        found.wrong.append(f"{len(there - keys)} cells are not of the plan")
    if strays:
        found.wrong.append(f"{len(strays)} instances are not of the plan")
    if optima:
        found.wrong.append(f"{len(optima)} optima belong to no instance and reference of the plan")
    size = -(-len(drawn) // PARTS)
    parts = {
        k: {"drawn": list(drawn[first : first + size])}
        for k, first in enumerate(range(0, len(drawn), size))
    }

    def keep(_k: int, answer: Mapping[str, Any]) -> None:
        for name in ("runs", "optima", "certificates", "unsure", "errors"):
            setattr(found, name, getattr(found, name) + answer[name])
        found.wrong += answer["wrong"]
        callback(f"{found.runs} of {found.cells // sample} cells, {len(found.wrong)} wrong")

    def failed(k: int, reason: str) -> None:
        found.wrong.append(f"{len(parts[k]['drawn'])} instances are not checked: {reason}")

    more = str(path), plan.model_dump(mode="json")
    call_all(look, parts, *more, keep=keep, workers=workers, failed=failed)
    return found


def look(part: Mapping[str, Any], path: str, plan: Any) -> dict[str, Any]:
    """Verify some instances; a function of its own for other processes."""
    found, made = Verified(0, 0), Plan.model_validate(plan)
    drawn = set(part["drawn"])
    pool = ProcessPool(
        1,
        memory=made.limits.memory_gb or share_of_memory(1),
        patience=lambda task: patience(made, task),
    )
    with closing(pool), Store.open(Path(path)) as store:
        for k, case in enumerate(made.cases()):
            if k not in drawn:
                continue
            rows = {row["key"]: row for row in store.view([cell.key for cell in case.cells])}
            stored = store.optimum(case.key, canonical(case.reference.content))
            if rows or stored[0] is not None:
                _look(case, stored, rows, found, pool)
    return vars(found)


def _look(
    case: Case,
    best: tuple[StoredOptimum | None, str],
    rows: Mapping[bytes, Cell],
    found: Verified,
    pool: ProcessPool,
) -> None:
    """Verify the cells of an instance, and its optimum, which has versions of its own."""
    place = f"{case.source.label}, {case.source.drawn_by(case.seed)}"
    task = CellTask(case.key, case.source, case.seed, case.reference)
    stored, versions = best
    digests = [row["instance_sha256"] for row in rows.values()]
    digests += [] if stored is None else [(stored.digest or b"").hex()]
    failed = stored is not None and stored.status is CellState.ERROR
    fresh = _apart(pool, task) if failed else task.compute()
    assert isinstance(fresh, StoredOptimum)  # that of a task without a policy
    if fresh.digest is None and not failed:
        found.wrong.append(f"{place}: cannot be made again: {fresh.message}")
        return
    if fresh.digest is not None and fresh.digest.hex() != digests[0]:
        found.wrong.append(f"{place}: is another instance than the store states")
        return
    if stored is None:
        found.wrong.append(f"{place}: its optimum is missing")
    else:
        _look_at_optimum(f"{place}: optimum", task, stored, fresh, versions, found)
    for cell in case.cells:
        row = rows.get(cell.key)
        if row is None:
            continue
        name = f"{place}: {cell.contender.label}"
        outcome = {
            **{"source": canonical(case.source.content), "instance_seed": case.seed},
            **{"policy": canonical(cell.contender.content), "replication": cell.replication},
            **{"seed": cell.seed, "reference": canonical(case.reference.content)},
        }
        if not outcome.items() <= row.items():
            found.wrong.append(f"{name}: the row states that it is of something else")
            continue
        again = CellTask(
            *(case.key, case.source, case.seed, case.reference, cell.key, cell.contender),
            *(cell.seed, cell.replication, stored),
        )
        _look_at_cell(name, again, row, fresh, found, pool)


def _look_at_optimum(
    name: str,
    task: CellTask,
    stored: StoredOptimum,
    fresh: StoredOptimum,
    versions: str,
    found: Verified,
) -> None:
    """Compare an optimum with the one that was computed again."""
    ours = _is_ours(versions)
    if stored.status is CellState.ERROR:
        found.errors += 1
        wrong = _is_no_error((stored.value, stored.bound, stored.certified), fresh, ours=ours)
    else:
        found.optima += 1
        found.certificates += fresh.certified is not None
        wrong = _contradiction(task, stored, fresh)
        if wrong is None and ours and task.reference.time_limit is None:
            wrong = _other(stored, fresh)
        elif wrong is None and _is_less(task, stored, fresh):
            found.unsure += 1
    if wrong is not None:
        found.wrong.append(f"{name}: {wrong}")


def _look_at_cell(
    name: str, task: CellTask, row: Cell, fresh: StoredOptimum, found: Verified, pool: ProcessPool
) -> None:
    """Run the policy of a cell again, and compare."""
    if row["cell_status"] == CellState.LIMIT:
        found.wrong.append(f"{name}: the row states that it is open, which only an optimum can be")
        return
    failed, ours = row["cell_status"] == CellState.ERROR, _is_ours(row["versions"])
    again = _apart(pool, task) if failed else task.compute()
    assert isinstance(again, CellRow)  # that of a task with a policy
    if failed:
        found.errors += 1
        wrong = _is_no_error([row[name] for name in OF_CELL], again, ours=ours)
    else:
        found.runs += 1
        wrong = _differs(row, again)
        if wrong is not None and not ours and again.status is not CellState.ERROR:
            wrong = _cannot_be(task, row, again, fresh)
            found.unsure += wrong is None
    if wrong is not None:
        found.wrong.append(f"{name}: {wrong}")


def _apart(pool: ProcessPool, task: CellTask) -> Any:
    """Recompute a failed cell in a separate process, within the plan's limits."""
    event = pool.compute(task)
    if isinstance(event, TaskCompleted):
        return event.found
    kind = StoredOptimum if task.contender is None else CellRow
    return kind(None, CellState.ERROR, message=event.reason)


def _is_no_error(
    numbers: Iterable[float | None], again: StoredOptimum | CellRow, *, ours: bool
) -> str | None:
    """Return the faults of an error row; only other versions may have failed."""
    if any(number is not None for number in numbers):
        return "the row reports an error, and numbers all the same"
    if ours and again.status is not CellState.ERROR:
        return (
            "the row reports an error, but there is none here; optsched campaign resume "
            "--retry-errors computes it again"
        )
    return None


def _is_ours(versions: str | None) -> bool:
    """Return whether a row was computed with the versions that run here."""
    return versions == canonical(all_versions())


def _contradiction(task: CellTask, stored: StoredOptimum, fresh: StoredOptimum) -> str | None:
    """Return contradictions in the stored rows, for any version."""
    interval = Interval(get_family(task.source.family), instance_of(task)[0], stored.value)
    if interval.at(fresh.certified).refuted:
        return f"value {stored.value} is beyond the certified bound {fresh.certified}"
    for bound in (stored.bound, stored.certified):
        if replace(interval, value=fresh.value, bound=bound).refuted:
            return f"bound {bound} is refuted by a schedule that reaches {fresh.value}"
        if interval.at(bound).refuted:
            return f"bound {bound} is refuted by its own value {stored.value}"
    if (
        stored.status is CellState.DONE and interval.family.distance is None
    ):  # else: several numbers
        gaps = [interval.at(bound).gap for bound in (stored.bound, stored.certified)]
        least = min((gap for gap in gaps if gap is not None), default=0.0)
        if least > max(CLOSED, task.reference.gap):
            return f"it counts as closed, but its gap is {least:.2g}"
    return None


def _cannot_be(task: CellTask, row: Cell, again: CellRow, fresh: StoredOptimum) -> str | None:
    """Return contradictions in a cell, for any version."""
    family, instance = get_family(task.source.family), instance_of(task)[0]
    if lost := sorted({*known_of(again.message)} - {*known_of(row["cell_message"])}):
        return f"the row does not state that the policy knows {', '.join(lost)}"
    if row["known"] is None and again.known is not None:
        return "the row states that the policy leaves the model, which it does not"
    for name in ("value", "known") if again.known is not None else ("known",):
        if Interval(family, instance, row[name], fresh.certified).refuted:
            return f"{name} {row[name]} is beyond the certified bound {fresh.certified}"
    try:
        ends = ratio_of(task, instance, row["value"], row["known"], task.best)
    except (ArithmeticError, RuntimeError, ValueError) as err:
        return str(err)
    for name, end in zip(("low", "high"), ends, strict=True):
        if not _same(row[name], end):
            return f"{name} is {row[name]}, by its value and the optimum it is {end}"
    return None


OF_CELL = ("value", "known", "low", "high")
NUMBERS = ("value", "bound", "certified")


def _other(stored: StoredOptimum, fresh: StoredOptimum) -> str | None:
    """Return the differences of two optima that must be equal."""
    for name in (*NUMBERS, "status", "level", "schedule", "certificate", "message"):
        old, new = getattr(stored, name), getattr(fresh, name)
        if not (_same(old, new) if name in NUMBERS else old == new):
            if isinstance(old, bytes) or isinstance(new, bytes):
                return f"it has another {name}"
            return f"{name} is {new}, the store states {old}"
    return None


def _is_less(task: CellTask, stored: StoredOptimum, fresh: StoredOptimum) -> bool:
    """Return whether less was found than is stored: a worse value, bound, status or level."""
    sign = get_family(task.source.family).sign
    for name, way in zip(NUMBERS, (1, -1, -1), strict=True):
        old, new = getattr(stored, name), getattr(fresh, name)
        if old is None or _same(old, new):
            continue
        if new is None or way * sign * (old - new) > 0:
            return True
    ranks = [-1 if best.level is None else LEVELS.index(best.level) for best in (stored, fresh)]
    return stored.status < fresh.status or ranks[0] > ranks[1]


def _differs(row: Cell, again: CellRow) -> str | None:
    """Return the differences of a cell and its recomputation."""
    if again.status is CellState.ERROR:
        return f"cannot be run again: {again.message}"
    for name in OF_CELL:
        if not _same(row[name], getattr(again, name)):
            return f"{name} is {getattr(again, name)}, the store states {row[name]}"
    if without_guards(row["cell_message"]) != without_guards(again.message):  # of another kernel
        return f"message is {again.message!r}, the store states {row['cell_message']!r:.100}"
    same = row["schedule"] == (again.schedule or b"").hex()
    return None if same else "it has another schedule"


def _same(a: float | None, b: float | None) -> bool:
    if a is None or b is None or math.isnan(a) or math.isnan(b):
        return a is b
    return agree(a, b, SAME)
