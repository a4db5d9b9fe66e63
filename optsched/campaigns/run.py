"""Running a campaign: what is missing is computed, row by row into the store."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from optsched.campaigns.axes import Case, canonical
from optsched.campaigns.cells import Task, all_versions
from optsched.campaigns.executors import Futures, dask
from optsched.campaigns.plan import Plan, difference, stored_plan
from optsched.campaigns.pool import Crew, Done, Event, Pool
from optsched.campaigns.store import Best, Row, State, Store
from optsched.problem import InputError
from optsched.process import interrupts
from optsched.process.filelock import writing

TRIES = 3  # of a task whose process dies
AIM = 1.0  # seconds of work in a chunk
LONGEST = 2000  # tasks in a chunk
MOST_SOLVED = 5000  # optima that are sent along, in case that an instance comes a second time
FLUSH = 0.5  # seconds between two commits
LOOK = 0.2  # seconds between two looks at what a signal has left


@dataclass(frozen=True)
class Progress:
    """How far a campaign is."""

    done: int  # cells that are stored
    cells: int  # of this run's part
    errors: int
    left: float | None  # seconds, by what was done so far; None: nobody knows yet
    ended: bool  # by Ctrl-C, before all was done

    def __str__(self) -> str:
        parts = [f"{self.done} of {self.cells} cells"]
        if self.errors:
            parts.append(f"{self.errors} errors")
        if self.done < self.cells and self.left is not None:
            parts.append(f"about {duration(self.left)} left")
        return ", ".join(parts)


def duration(seconds: float) -> str:
    """Write a time that is only roughly known.

    >>> duration(42.3), duration(300), duration(30000)
    ('42 s', '5 min', '8.3 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


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
    """Compute the cells of ``plan`` that the store does not hold.

    Parameters
    ----------
    plan : Plan
        A store that has another one takes more cells of it, and refuses anything else.
    path : Path
        The store; made where there is none.
    workers : int, optional
        Processes, by default one per core. With an executor, chunks that are handed in at a time.
    executor : Executor, optional
        Any of `concurrent.futures`, in the place of own processes.
    cluster : str, optional
        Address of a Dask scheduler, in the place of own processes.
    shard : (int, int), optional
        Compute part k of n only, from 1.
    retry_errors : bool
        Compute cells again that ended in an error.
    tell : callable, optional
        Called twice a second.

    Returns
    -------
    Progress
        After Ctrl-C, what was done; the same call goes on from there.

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
                memory=plan.limits.memory_gb,
                patience=lambda task: _patience(plan, task),
                folder=Path.cwd(),
            )
        stack.callback(crew.close)
        return _steer(work, crew, tell)


def _patience(plan: Plan, task: Task) -> float:
    asked = 0.0 if task.contender is not None else task.reference.time_limit or 0.0
    return plan.limits.cell_seconds + asked


def agree(store: Store, plan: Plan) -> None:
    """Put the plan into the store, or see that it has the same one, or a part of it.

    Raises
    ------
    InputError
        Names the key in which the plans differ.
    """
    said = store.facts().get("plan")
    if said is not None:
        known = stored_plan(json.loads(said))
        differs = difference(known.content(), plan.content())
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


class _Work:
    """What is to be done, what is known, and what goes into the store next."""

    def __init__(self, plan: Plan, store: Store, shard: tuple[int, int] | None) -> None:
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
        self.errors = 0
        self._again: deque[list[Task]] = deque()  # what came back, to be done first
        self._tries: dict[tuple[bytes, bytes | None], int] = {}
        self._seconds: dict[tuple[bytes, bytes], float] = {}  # of a task, by kind
        self._left: dict[tuple[bytes, bytes], int] = {}  # tasks of a kind that are not done
        self._best: dict[tuple[bytes, str], Best] = {}
        self._solved: dict[str, dict[bytes, Best]] = {}  # of other sources, by reference and digest
        sources = {canonical(case.source.content) for case, _ in self.cases}
        for key, source, reference, best in store.optima():
            self._best[key, reference] = best
            others = self._solved.setdefault(reference, {})
            if source not in sources and best.digest is not None and len(others) < MOST_SOLVED:
                others[best.digest] = best
        for case, missing in self.cases:
            for task in self._tasks(case, missing):
                self._left[task.kind] = self._left.get(task.kind, 0) + 1
        self._rows: list[tuple[Task, Best | Row]] = []
        self._flushed = time.monotonic()

    def is_done(self) -> bool:
        """Whether nothing is left to hand out."""
        return not self.cases and not self._again

    def _tasks(self, case: Case, missing: Sequence[object]) -> list[Task]:
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
            for cell in case.cells
            if cell in missing
        ]
        return cells if best is not None else [head, *cells]

    def chunk(self, size: int) -> list[Task]:
        """Return the next tasks: about a second of work, less towards the end."""
        if self._again:
            return [self._known(task) for task in self._again.popleft()]
        aim = min(AIM, max(0.05, self._left_seconds() / (3 * size)))
        found: list[Task] = []
        planned = 0.0
        while self.cases and planned < aim and len(found) < LONGEST:
            tasks = self._tasks(*self.cases.popleft())
            found += tasks
            planned += sum(self._seconds.get(task.kind, AIM) for task in tasks)
        return found

    def _known(self, task: Task) -> Task:
        """Return a task with what is known of its optimum by now."""
        if task.contender is None or task.best is not None:
            return task
        best = self._best.get((task.instance, canonical(task.reference.content)))
        return task if best is None else replace(task, best=best)

    def hear(self, event: Event) -> None:
        """Take in what has happened."""
        if isinstance(event, Done):
            self._take(event.task, event.found)
            return
        rest = list(event.rest)
        if len(event.suspects) > 1:  # one of them did it: alone they will tell which
            self._again.extend([task] for task in event.suspects)
        for task in event.suspects if len(event.suspects) == 1 else ():
            mark = task.instance + task.reference.key, task.cell
            self._tries[mark] = self._tries.get(mark, 0) + 1
            if event.again and self._tries[mark] < TRIES:
                self._again.append([task])
                continue
            times = "" if self._tries[mark] == 1 else f" (tried {self._tries[mark]} times)"
            kind = Best if task.contender is None else Row
            self._take(task, kind(None, State.ERROR, message=event.reason + times))
        if rest:
            self._again.append(rest)

    def _take(self, task: Task, found: Best | Row) -> None:
        self._rows.append((task, found))
        before = self._seconds.get(task.kind, found.wall)
        self._seconds[task.kind] = 0.8 * before + 0.2 * found.wall
        self._left[task.kind] -= 1
        if isinstance(found, Best):
            self._best[task.instance, canonical(task.reference.content)] = found
        else:
            self.done += 1
            self.errors += found.status is State.ERROR

    def flush(self, *, now: bool = False) -> bool:
        """Write what there is, if it is time; return whether anything was written."""
        if not self._rows or not (now or time.monotonic() - self._flushed >= FLUSH):
            return False
        with self.store.batch():
            for task, found in self._rows:
                self._write(task, found)
        self._rows, self._flushed = [], time.monotonic()
        return True

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

    def _left_seconds(self) -> float:
        known = list(self._seconds.values())
        usual = sum(known) / len(known) if known else AIM
        return sum(n * self._seconds.get(kind, usual) for kind, n in self._left.items())

    def progress(self, size: int, *, ended: bool) -> Progress:
        """Return how far it is."""
        left = self._left_seconds() / size if self._seconds else None
        return Progress(self.done, self.cells, self.errors, left, ended)


def _steer(work: _Work, crew: Crew, tell: Callable[[Progress], None] | None) -> Progress:
    """Hand out chunks and take in what comes back, until all is done or an end is asked for."""
    ended, due = False, 0.0
    try:
        while crew.busy() or not (ended or work.is_done()):
            while not ended and not work.is_done() and crew.room():
                crew.submit(work.chunk(crew.size))
            for event in crew.poll(LOOK):
                work.hear(event)
            work.flush()
            if tell is not None and time.monotonic() >= due:
                tell(work.progress(crew.size, ended=ended))
                due = time.monotonic() + FLUSH
            if interrupts.asked() is not None and not ended:
                ended = True
                crew.finish()
    finally:
        work.flush(now=True)
    return work.progress(crew.size, ended=ended)
