"""Running a campaign: missing cells are computed and stored, row by row."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from optsched.experiments.cell_keys import Case, Cell, canonical
from optsched.experiments.cells import CellTask
from optsched.experiments.executors import Futures
from optsched.experiments.plan import Plan, difference, stored_plan
from optsched.experiments.pool import LOOK, Event, ProcessPool, TaskCompleted
from optsched.experiments.store import CellRow, CellState, Store, StoredOptimum
from optsched.files.provenance import all_versions
from optsched.problem import InputError
from optsched.process import interrupts

SLOW = 0.02  # seconds in which a slow and busy machine does a unit of effort
TRIES = 3  # of a task whose process dies
AIM = 1.0  # seconds of work in a chunk
LONGEST = 2000  # tasks in a chunk
RECENT = 0.2  # weight of the last task in the mean time of its kind
FLUSH = 0.5  # seconds between two commits
MOST_SOLVED = 5000  # optima that are sent along, in case that an instance comes a second time


@dataclass(frozen=True)
class CampaignProgress:
    """How far a campaign is."""

    done: int  # cells that are stored
    cells: int  # of this run's part
    errors: int
    left: float | None  # seconds, estimated from finished cells; None: not known yet
    ended: bool  # by Ctrl-C, before all was done
    running: tuple[str, ...] = ()  # running tasks, after Ctrl-C

    def __str__(self) -> str:
        parts = []
        if self.running:
            more = f" and {len(self.running) - 1} more" if len(self.running) > 1 else ""
            parts.append(f"finishing {self.running[0]}{more}; a second signal ends at once")
        parts.append(f"{self.done} of {self.cells} cells")
        if self.errors:
            parts.append(f"{self.errors} failed")
        if self.done < self.cells:
            left = None if self.left is None else f"about {duration(self.left)} left"
            parts.append(left or "the first ones may have to compile")
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


def patience(plan: Plan, task: CellTask) -> float:
    """Return the seconds after which a task counts as hung."""
    spec = task.reference
    if task.contender is not None:
        return plan.limits.cell_seconds
    return plan.limits.cell_seconds + (spec.time_limit or 0.0) + SLOW * (spec.effort or 0.0)


def agree(store: Store, plan: Plan) -> None:
    """Put the plan into the store, or see that it has the same one, or a part of it.

    Raises
    ------
    InputError
        Names the key in which the plans differ.
    """
    stored = store.facts().get("plan")
    if stored is not None:
        known = stored_plan(stored, store.path)
        if known == plan:
            return
        if not known.keys() <= plan.keys():
            named = {policy.name for policy in plan.policies}
            lost = ", ".join(p.name for p in known.policies if p.name not in named)
            differs = f"the plan lacks policy {lost}" if lost and named else None
            content = plan.content()
            old_files = {n: d for n, d in content["digests"].items() if n in known.digests}
            for now in (content | {"digests": old_files}, content):
                differs = differs or difference(known.content(), now)
            raise InputError(
                f"{store.path}: holds another plan: {differs}; expected the same one, with more "
                "seeds or policies at most, or another store"
            )
    cells = sum(len(case.cells) for case in plan.cases())
    with store.batch():
        store.state(plan=canonical(plan.model_dump(mode="json")), cells=str(cells))


class Work:
    """The cells of a plan that the store does not hold; their results go into it."""

    def __init__(self, plan: Plan, store: Store, shard: tuple[int, int] | None) -> None:
        self.store = store
        self.errors = 0
        self._again: deque[list[CellTask]] = deque()  # returned tasks, to be done first
        self._tries: Counter[Hashable] = Counter()
        self._seconds: dict[Hashable, float] = {}  # of a task, by kind
        self._seen: Counter[Hashable] = Counter()  # tasks of a kind that are done
        self._left: Counter[Hashable] = Counter()  # tasks of a kind that are not done
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
        self._best: dict[tuple[bytes, str], StoredOptimum] = {}
        self._solved: dict[
            str, dict[bytes, StoredOptimum]
        ] = {}  # of other sources, by reference and digest
        sources = {canonical(case.source.content) for case, _ in self.cases}
        for key, source, reference, best in store.optima():
            self._best[key, reference] = best
            others = self._solved.setdefault(reference, {})
            if source not in sources and best.digest is not None and len(others) < MOST_SOLVED:
                others[best.digest] = best
        for case, missing in self.cases:
            self._left.update(task.kind for task in self._tasks(case, missing))
        self._rows: list[tuple[CellTask, StoredOptimum | CellRow]] = []
        self._flushed = time.monotonic()

    def _tasks(self, case: Case, missing: Sequence[Cell]) -> list[CellTask]:
        """Return the tasks of an instance: first its optimum, unless it is known."""
        best = self._best.get((case.key, canonical(case.reference.content)))
        solved = self._solved.get(canonical(case.reference.content))
        head = CellTask(case.key, case.source, case.seed, case.reference, solved=solved)
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

    def renewed(self, task: CellTask) -> CellTask:
        """Return a task with the current value and bound of its optimum."""
        if task.contender is None or task.best is not None:
            return task
        best = self._best.get((task.instance, canonical(task.reference.content)))
        return task if best is None else replace(task, best=best)

    def is_ready(self, tasks: Sequence[CellTask]) -> bool:
        """Whether the optima that cells are compared with are known, or come before them."""
        begun = {(task.instance, task.reference.key) for task in tasks if task.contender is None}
        return all(
            (task.instance, task.reference.key) in begun or self.renewed(task).best is not None
            for task in tasks
            if task.contender is not None
        )

    def give_up(self, task: CellTask, reason: str) -> None:
        """Keep an error as a row."""
        kind = StoredOptimum if task.contender is None else CellRow
        self.take(task, kind(None, CellState.ERROR, message=reason))

    def take(self, task: CellTask, found: StoredOptimum | CellRow) -> None:
        """Keep a row, to be written soon."""
        self._rows.append((task, found))
        if isinstance(found, StoredOptimum):
            self._best[task.instance, canonical(task.reference.content)] = found
        else:
            self.done += 1
            self.errors += found.status is CellState.ERROR

    def flush(self, *, now: bool = False) -> None:
        """Write the new rows, if it is time."""
        if not self._rows or not (now or time.monotonic() - self._flushed >= FLUSH):
            return
        with self.store.batch():
            for task, found in self._rows:
                self._write(task, found)
        self._rows, self._flushed = [], time.monotonic()

    def _write(self, task: CellTask, found: StoredOptimum | CellRow) -> None:
        store, reference = self.store, task.reference.content
        number = store.instance(task.instance, task.source.content, task.seed, found.digest)
        if isinstance(found, StoredOptimum):
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

    def is_done(self) -> bool:
        """Whether nothing is left to hand out."""
        return not self._again and not self.cases

    def chunk(self, size: int) -> list[CellTask]:
        """Return the next tasks: about a second of work, less towards the end; none: they wait."""
        for k, tasks in enumerate(self._again):
            if self.is_ready(tasks):
                del self._again[k]
                return [self.renewed(task) for task in tasks]
        aim = min(AIM, max(0.05, self._left_seconds() / (3 * size)))
        found: list[CellTask] = []
        planned = 0.0
        while self.cases and planned < aim and len(found) < LONGEST:
            tasks = self._tasks(*self.cases.popleft())
            found += tasks
            planned += sum(self._seconds.get(task.kind, AIM) for task in tasks)
        return found

    def handle(self, event: Event) -> None:
        """Process the new events."""
        if isinstance(event, TaskCompleted):
            self._left[event.task.kind] -= 1
            self._learn(event.task.kind, event.found.wall)
            self.take(event.task, event.found)
            return
        if len(event.suspects) == 1:
            self._suspect(event.suspects[0], event.reason, again=event.again)
        else:  # one of them did it: running each alone shows which
            self._again.extend([task] for task in event.suspects)
        if event.rest:
            self._again.append(list(event.rest))

    def _learn(self, kind: Hashable, seconds: float) -> None:
        """Take in how long a task has taken; the first of a kind may have had to compile."""
        self._seen[kind] += 1
        before = self._seconds.get(kind, 0.0)
        weight = max(RECENT, 1 / max(1, self._seen[kind] - 1))
        self._seconds[kind] = before + weight * (seconds - before)

    def _suspect(self, task: CellTask, reason: str, *, again: bool) -> None:
        self._tries[task.mark] += 1
        if again and self._tries[task.mark] < TRIES:
            self._again.append([task])
            return
        times = self._tries[task.mark]
        self._left[task.kind] -= 1
        self.give_up(task, reason if times == 1 else f"{reason} (tried {times} times)")

    def _left_seconds(self) -> float:
        known = list(self._seconds.values())
        usual = sum(known) / len(known) if known else AIM
        return sum(n * self._seconds.get(kind, usual) for kind, n in self._left.items())

    def progress(self, size: int, *, ended: bool, running: Sequence[Any] = ()) -> CampaignProgress:
        """Return how far it is."""
        left = self._left_seconds() / size if self._seconds else None
        labels = tuple(task.label for task in running) if ended else ()
        return CampaignProgress(self.done, self.cells, self.errors, left, ended, labels)


def steer(
    work: Work, pool: ProcessPool | Futures, callback: Callable[[CampaignProgress], None] | None
) -> CampaignProgress:
    """Hand out chunks and collect results, until all is done or an end is requested.

    When an end is requested, it waits for the tasks in flight. ``callback`` is called
    twice a second.
    """
    ended, due = False, 0.0
    try:
        while pool.busy() or not (ended or work.is_done()):
            while not ended and pool.has_capacity() and (tasks := work.chunk(pool.size)):
                pool.submit(tasks)
            for event in pool.poll(LOOK):
                work.handle(event)
            work.flush()
            if callback is not None and time.monotonic() >= due:
                callback(work.progress(pool.size, ended=ended, running=pool.running()))
                due = time.monotonic() + FLUSH
            if interrupts.received() is not None and not ended:
                ended = True
                pool.finish()
    finally:
        work.flush(now=True)
    return work.progress(pool.size, ended=ended)
