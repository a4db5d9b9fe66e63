"""Running a campaign: what is missing is computed, row by row into the store."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from optsched.campaigns.axes import Case, Cell, canonical
from optsched.campaigns.cells import Task
from optsched.campaigns.crews.crew import Crew
from optsched.campaigns.crews.executors import Futures, dask
from optsched.campaigns.crews.pool import Pool, share_of_memory
from optsched.campaigns.crews.queue import FLUSH, Progress, Queue, steer
from optsched.campaigns.plan import Plan, difference, stored_plan
from optsched.campaigns.store import Best, Row, State, Store
from optsched.files.disk import writing
from optsched.files.provenance import all_versions
from optsched.problem import InputError
from optsched.process import interrupts

SLOW = 0.02  # seconds in which a slow and busy machine does a unit of effort
MOST_SOLVED = 5000  # optima that are sent along, in case that an instance comes a second time


def part_of(key: bytes, parts: int) -> int:
    """Return which of ``parts`` an instance belongs to, from 1: a pure function of its key."""
    return int.from_bytes(key[:8], "big") % parts + 1


@interrupts.remembered()
def run(
    plan: Plan,
    path: Path,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    cluster: str | None = None,
    shard: tuple[int, int] | None = None,
    retry_errors: bool = False,
    tell: Callable[[Progress], None] | None = None,
) -> Progress:
    """Compute the cells of ``plan`` that the store ``path`` does not hold; see `campaign`.

    Raises
    ------
    InputError
        Another plan, a store that cannot be written, or workers that cannot work.
    """
    if shard is not None and not 1 <= shard[0] <= shard[1]:
        raise InputError(f"shard {shard[0]}/{shard[1]}, expected k/n with k from 1 to n")
    with ExitStack() as stack:
        stack.enter_context(writing(path))
        store = stack.enter_context(Store.create(path))
        agree(store, plan)
        if retry_errors:
            store.forget_errors()
        size = workers or os.cpu_count() or 1
        work = _Work(plan, store, shard)
        crew: Crew
        if work.is_done():
            return work.progress(size, ended=False)
        if cluster is not None:
            crew = stack.enter_context(dask(cluster))
        elif executor is not None:
            crew = Futures(executor, 2 * size)
        else:
            crew = Pool(
                min(size, max(1, len(work.cases))),
                memory=plan.limits.memory_gb or share_of_memory(size),
                patience=lambda task: _patience(plan, task),
            )
        stack.callback(crew.close)
        return steer(work, crew, tell)


def _patience(plan: Plan, task: Task) -> float:
    """Return the seconds after which a task counts as hung."""
    asked = task.reference
    if task.contender is not None:
        return plan.limits.cell_seconds
    return plan.limits.cell_seconds + (asked.time_limit or 0.0) + SLOW * (asked.effort or 0.0)


def _without_new_files(plan: Plan, known: Plan) -> dict[str, Any]:
    """Return what the plan says, without digests of files that the known one does not name."""
    content = plan.content()
    named = {n: d for n, d in content["digests"].items() if n in known.digests}
    return content | {"digests": named}


def agree(store: Store, plan: Plan) -> None:
    """Put the plan into the store, or see that it has the same one, or a part of it.

    Raises
    ------
    InputError
        Names the key in which the plans differ.
    """
    said = store.facts().get("plan")
    if said is not None:
        known = stored_plan(said, store.path)
        differs = difference(known.content(), _without_new_files(plan, known))
        if differs is not None and not known.keys() <= plan.keys():
            raise InputError(
                f"{store.path}: holds another plan: {differs}; expected the same one, with more "
                "seeds or policies at most, or another store"
            )
        if known == plan:
            return
    cells = sum(len(case.cells) for case in plan.cases())
    with store.batch():
        store.state(plan=canonical(plan.model_dump(mode="json")), cells=str(cells))


class _Work(Queue[Task]):
    """The cells of a plan that the store does not hold; what comes of them goes into it."""

    def __init__(self, plan: Plan, store: Store, shard: tuple[int, int] | None) -> None:
        super().__init__()
        self.store = store
        there = store.cell_keys()
        ours = [
            case
            for case in plan.cases()
            if shard is None or part_of(case.key, shard[1]) == shard[0]
        ]
        self.cells = sum(len(case.cells) for case in ours)
        self.cases = deque(
            (case, missing)
            for case in ours
            if (missing := [cell for cell in case.cells if cell.key not in there])
        )
        self.done = self.cells - sum(len(missing) for _, missing in self.cases)
        self._best: dict[tuple[bytes, str], Best] = {}
        self._solved: dict[str, dict[bytes, Best]] = {}  # of other sources, by reference and digest
        sources = {canonical(case.source.content) for case, _ in self.cases}
        for key, source, reference, best in store.optima():
            self._best[key, reference] = best
            others = self._solved.setdefault(reference, {})
            if source not in sources and best.digest is not None and len(others) < MOST_SOLVED:
                others[best.digest] = best
        for case, missing in self.cases:
            self._left.update(task.kind for task in self._tasks(case, missing))
        self._rows: list[tuple[Task, Best | Row]] = []
        self._flushed = time.monotonic()

    def is_empty(self) -> bool:
        """Whether all cases were handed out."""
        return not self.cases

    def next(self) -> list[Task]:
        """Return the tasks of the next case."""
        return self._tasks(*self.cases.popleft())

    def _tasks(self, case: Case, missing: Sequence[Cell]) -> list[Task]:
        """Return what is to be done for an instance: first its optimum, unless that is known."""
        best = self._best.get((case.key, canonical(case.reference.content)))
        solved = self._solved.get(canonical(case.reference.content))
        head = Task(case.key, case.source, case.seed, case.reference, solved=solved)
        cells = [
            replace(
                head,
                cell=cell.key,
                contender=cell.contender,
                policy_seed=cell.seed,
                replication=cell.replication,
                best=best,
                solved=None,
            )
            for cell in missing
        ]
        return cells if best is not None else [head, *cells]

    def renewed(self, task: Task) -> Task:
        """Return a task with what is known of its optimum by now."""
        if task.contender is None or task.best is not None:
            return task
        best = self._best.get((task.instance, canonical(task.reference.content)))
        return task if best is None else replace(task, best=best)

    def is_ready(self, tasks: Sequence[Task]) -> bool:
        """Whether the optima that cells are compared with are known, or come before them."""
        begun = {(task.instance, task.reference.key) for task in tasks if task.contender is None}
        return all(
            (task.instance, task.reference.key) in begun or self.renewed(task).best is not None
            for task in tasks
            if task.contender is not None
        )

    def give_up(self, task: Task, reason: str) -> None:
        """Keep an error as a row."""
        kind = Best if task.contender is None else Row
        self.take(task, kind(None, State.ERROR, message=reason))

    def take(self, task: Task, found: Best | Row) -> None:
        """Keep a row, to be written soon."""
        self._rows.append((task, found))
        if isinstance(found, Best):
            self._best[task.instance, canonical(task.reference.content)] = found
        else:
            self.done += 1
            self.errors += found.status is State.ERROR

    def flush(self, *, now: bool = False) -> None:
        """Write what there is, if it is time."""
        if not self._rows or not (now or time.monotonic() - self._flushed >= FLUSH):
            return
        with self.store.batch():
            for task, found in self._rows:
                self._write(task, found)
        self._rows, self._flushed = [], time.monotonic()

    def _write(self, task: Task, found: Best | Row) -> None:
        store, reference = self.store, task.reference.content
        number = store.instance(task.instance, task.source.content, task.seed, found.digest)
        if isinstance(found, Best):
            store.add_best(task.instance, found, reference=reference, versions=all_versions())
            return
        assert task.cell is not None  # it is a cell
        assert task.contender is not None
        store.add_row(
            task.cell,
            found,
            instance=number,
            reference=reference,
            policy=task.contender.content,
            replication=task.replication,
            seed=task.policy_seed,
            versions=all_versions(),
        )
