"""Computing one cell, or the optimum of one instance: a pure function of its input.

So the optimum starts from nothing that a policy has found: one more policy in the plan must not
change it. Schedules of policies enter when the ratios are read (see `statistics`).
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import ValidationError

from optsched.core import Ratio, measure_of
from optsched.engine.interval import CLOSED, Interval
from optsched.engine.warm_start import check_schedule
from optsched.experiments.cell_keys import (
    AHEAD,
    CALLED,
    KEY,
    KNOWS,
    PARTIAL,
    Contender,
    Reference,
    Source,
)
from optsched.experiments.store import CellRow, CellState, StoredOptimum
from optsched.files.format import first_error
from optsched.problem import (
    REAL,
    RELAXATION,
    Frozen,
    InputError,
    Instance,
    Level,
    PolicyError,
    Status,
    get_family,
)
from optsched.process import blas, interrupts
from optsched.process.errors import explain

LONGEST = 600  # characters of a message


@dataclass(frozen=True, slots=True)
class CellTask:
    """Task of a worker: an optimum, or a cell."""

    instance: bytes  # key
    source: Source
    seed: int
    reference: Reference
    cell: bytes | None = None  # key; None: the optimum
    contender: Contender | None = None
    policy_seed: int = 0
    replication: int = 0
    best: StoredOptimum | None = None  # the stored optimum, if there is one
    solved: Mapping[bytes, StoredOptimum] | None = (
        None  # optima by digest: the instance may be among them
    )

    @property
    def kind(self) -> tuple[bytes, bytes]:
        """Group of tasks of similar duration: those of one source and policy."""
        return self.source.key, b"" if self.contender is None else self.contender.key

    @property
    def label(self) -> str:
        """The task in a phrase."""
        what = "optimum" if self.contender is None else self.contender.label
        return f"{self.source.label}, {self.source.drawn_by(self.seed)}: {what}"

    @property
    def mark(self) -> tuple[bytes, bytes, bytes | None]:
        """Which task it is."""
        return self.instance, self.reference.key, self.cell

    def compute(self) -> StoredOptimum | CellRow:
        """Return its result; an error is a result as well.

        Raises
        ------
        MemoryError
            The limit is reached: this process is of no further use.
        KeyboardInterrupt
            An interrupted cell has no result.
        """
        with blas.one_thread():  # sums must not depend on the number of cores
            return _compute(self)


class _Memory(threading.local):
    """Cache of a worker: its current instance, and the optimum."""

    instance: tuple[bytes, Instance] | None = None
    best: tuple[tuple[bytes, bytes], StoredOptimum] | None = None


_memory = _Memory()


def _compute(task: CellTask) -> StoredOptimum | CellRow:
    began, digest = time.perf_counter(), None
    kind = StoredOptimum if task.contender is None else CellRow
    try:
        instance, digest = instance_of(task)
        if task.contender is not None:
            found: StoredOptimum | CellRow = _row(task, instance)
        else:
            found = (task.solved or {}).get(digest) or _best(task, instance)
        interrupts.raise_if_interrupted()
    except (Exception, SystemExit) as err:
        _memory.instance = None
        if _out_of_memory(err):
            raise MemoryError from err
        return kind(
            digest, CellState.ERROR, message=message_of(err), wall=time.perf_counter() - began
        )
    made = replace(found, digest=digest, wall=time.perf_counter() - began)
    if isinstance(made, StoredOptimum):
        _memory.best = (task.instance, task.reference.key), made
    return made


def _out_of_memory(err: BaseException | None) -> bool:
    """Whether memory was missing, in whatever words it was reported since."""
    while err is not None and not isinstance(err, MemoryError):
        err = err.__cause__
    return err is not None


def message_of(err: BaseException) -> str:
    """Return what went wrong in one line."""
    if isinstance(err, ValidationError):
        message = first_error(err)
    else:
        message = str(err) if isinstance(err, InputError) else explain(err)
    return " ".join(message.split())[:LONGEST]


def instance_of(task: CellTask) -> tuple[Instance, bytes]:
    """Return the instance of a task and its digest."""
    if _memory.instance is None or _memory.instance[0] != task.instance:
        _memory.instance = task.instance, task.source.make(task.seed, code=True)
    made = _memory.instance[1]
    return made, bytes.fromhex(made.digest())


def _best(task: CellTask, instance: Instance) -> StoredOptimum:
    """Look for the optimum."""
    spec, found = task.reference, task.reference.solve(instance)
    # a claim is enough only if no more is requested
    sworn = spec.check != Level.CERTIFIED
    gap = found.gap if sworn else found.certified_gap
    settled = (
        found.status in (Status.OPTIMAL, Status.INFEASIBLE, Status.BOUND_ONLY)
        or (sworn and found.status.closed)
        or (gap is not None and gap <= spec.gap)
    )
    return StoredOptimum(
        digest=None,
        status=CellState.DONE if settled else CellState.LIMIT,
        value=found.value,
        bound=found.bound,
        level=found.bound_level,
        certified=found.proved,
        effort=found.effort,
        seconds=found.seconds,
        schedule=fingerprint(found.schedule),
        certificate=fingerprint(found.certificate),
        message="; ".join(f"defect, please report: {what}" for what in found.defects)[:LONGEST]
        or None,
    )


def _row(task: CellTask, instance: Instance) -> CellRow:
    """Run a policy and compare it with the value and bound of the optimum.

    Raises
    ------
    RuntimeError
        It beats a certified bound, or the theoretical guarantee: a defect of this package.
    """
    assert task.contender is not None
    family = get_family(task.source.family)
    if task.contender.name == REAL:
        return _recorded(task, instance)
    best = _known_best(task)
    try:
        run = task.contender.play(instance, task.policy_seed, code=True)
    except PolicyError as err:
        if best is not None and best.nothing_exists:
            raise InputError(f"the instance is infeasible ({best.level})") from err
        raise
    known = family.strictly(instance, run.schedule)[1].value if run.obeys else None
    low, high = ratio_of(task, instance, run.value, known, best)
    knows = [*([AHEAD] if run.foresight else []), *run.own]
    said = [KNOWS + ", ".join(knows)] if knows else []
    if run.seal.startswith(PARTIAL):
        said.append(run.seal)
    if task.contender.name not in (run.policy, *family.policies):
        said.append(CALLED + run.policy)
    promised = None if task.contender.parameters else run.guarantee
    if promised is not None and run.obeys and low is not None and low > promised * (1 + CLOSED):
        raise RuntimeError(
            f"policy {run.policy} has ratio {low}, beyond the {promised} that theory guarantees"
        )
    return CellRow(
        digest=None,
        status=CellState.DONE,
        value=run.value,
        known=known,
        low=low,
        high=high,
        seconds=run.seconds,
        schedule=fingerprint(run.schedule),
        message="; ".join(said) or None,
    )


def _recorded(task: CellTask, instance: Instance) -> CellRow:
    """Evaluate the recorded schedule by the rules of the model."""
    schedule = task.source.recorded(task.seed, instance)
    if schedule is None:
        raise InputError("the trace does not state what was run")
    schedule, verdict = check_schedule(get_family(task.source.family), instance, schedule, REAL)
    value = verdict.value
    low, high = ratio_of(task, instance, value, value, _known_best(task))
    found = CellRow(None, CellState.DONE, value, value, low, high)
    return replace(found, schedule=fingerprint(schedule))


def _known_best(task: CellTask) -> StoredOptimum | None:
    """Return the optimum of the instance, if it is known."""
    if task.best is None and _memory.best is not None:
        key, found = _memory.best
        return found if key == (task.instance, task.reference.key) else None
    return task.best


def ratio_of(
    task: CellTask,
    instance: Instance,
    value: float | None,
    known: float | None,
    best: StoredOptimum | None,
) -> tuple[float | None, float | None]:
    """Return the ends of the ratio of a cell; None where they are not known.

    Parameters
    ----------
    task : Task
        That of the cell.
    instance : Instance
    value, known : float, optional
        Value of the policy, and of its schedule in the model.
    best : Best, optional
        The stored optimum.

    Raises
    ------
    RuntimeError
        The policy beats a certified bound.
    """
    assert task.contender is not None
    if best is None or value is None:
        return None, None
    family, bound = get_family(task.source.family), best.proved
    if Interval(family, instance, known, bound).refuted:
        if best.certified is not None:
            name = task.contender.label
            raise RuntimeError(f"policy {name} reaches {known}, beyond the certified {bound}")
        bound = None
    measure = measure_of(family, instance)
    if task.reference.method == RELAXATION:  # which has no schedule
        if best.proved is None or best.status is not CellState.DONE:
            return None, None
        return (measure(value, best.proved),) * 2
    if best.value is None:
        return None, None
    ratio = Ratio.of(family.sense, value, best.value, bound, None, measure)
    return ratio.low, ratio.high


def fingerprint(data: Frozen | None) -> bytes | None:
    """Return the beginning of the SHA-256 of a schedule or a certificate."""
    if data is None:
        return None
    return hashlib.sha256(data.model_dump_json().encode()).digest()[:KEY]
