"""What is to be done: handed out in chunks of about a second, tried again where it was lost."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from optsched.campaigns.crews.crew import Crew, Done, Event, Task
from optsched.process import interrupts

TRIES = 3  # of a task whose process dies
AIM = 1.0  # seconds of work in a chunk
LONGEST = 2000  # tasks in a chunk
RECENT = 0.2  # weight of the last task in what a task of its kind takes
FLUSH = 0.5  # seconds between two commits
LOOK = 0.2  # seconds between two looks at what a signal has left

T = TypeVar("T", bound=Task)


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


class Queue(ABC, Generic[T]):
    """Tasks that wait; who makes one says where they come from and where results go."""

    def __init__(self) -> None:
        self.done = self.cells = self.errors = 0
        self._again: deque[list[T]] = deque()  # what came back, to be done first
        self._tries: Counter[Hashable] = Counter()
        self._seconds: dict[Hashable, float] = {}  # of a task, by kind
        self._seen: Counter[Hashable] = Counter()  # tasks of a kind that are done
        self._left: Counter[Hashable] = Counter()  # tasks of a kind that are not done

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is nothing that was never handed out."""

    @abstractmethod
    def next(self) -> list[T]:
        """Return the next tasks that belong together, for the first time."""

    @abstractmethod
    def take(self, task: T, found: Any) -> None:
        """Keep what came of a task."""

    @abstractmethod
    def give_up(self, task: T, reason: str) -> None:
        """Keep that nothing will come of a task."""

    @abstractmethod
    def flush(self, *, now: bool = False) -> None:
        """Write what was kept, if it is time."""

    def renewed(self, task: T) -> T:
        """Return a task that was handed out before with what is known by now."""
        return task

    def is_ready(self, tasks: Sequence[T]) -> bool:  # noqa: ARG002
        """Whether tasks that came back need not wait for others that are in flight."""
        return True

    def is_done(self) -> bool:
        """Whether nothing is left to hand out."""
        return not self._again and self.is_empty()

    def chunk(self, size: int) -> list[T]:
        """Return the next tasks: about a second of work, less towards the end; none: they wait."""
        for k, tasks in enumerate(self._again):
            if self.is_ready(tasks):
                del self._again[k]
                return [self.renewed(task) for task in tasks]
        aim = min(AIM, max(0.05, self._left_seconds() / (3 * size)))
        found: list[T] = []
        planned = 0.0
        while not self.is_empty() and planned < aim and len(found) < LONGEST:
            tasks = self.next()
            found += tasks
            planned += sum(self._seconds.get(task.kind, AIM) for task in tasks)
        return found

    def hear(self, event: Event) -> None:
        """Take in what has happened."""
        if isinstance(event, Done):
            self._left[event.task.kind] -= 1
            self._learn(event.task.kind, event.found.wall)
            self.take(event.task, event.found)
            return
        if len(event.suspects) == 1:
            self._suspect(event.suspects[0], event.reason, again=event.again)
        else:  # one of them did it: alone they will tell which
            self._again.extend([task] for task in event.suspects)
        if event.rest:
            self._again.append(list(event.rest))

    def _learn(self, kind: Hashable, seconds: float) -> None:
        """Take in how long a task has taken; the first of a kind may have had to compile."""
        self._seen[kind] += 1
        before = self._seconds.get(kind, 0.0)
        weight = max(RECENT, 1 / max(1, self._seen[kind] - 1))
        self._seconds[kind] = before + weight * (seconds - before)

    def _suspect(self, task: T, reason: str, *, again: bool) -> None:
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

    def progress(self, size: int, *, ended: bool) -> Progress:
        """Return how far it is."""
        left = self._left_seconds() / size if self._seconds else None
        return Progress(self.done, self.cells, self.errors, left, ended)


def steer(
    queue: Queue[Any], crew: Crew, tell: Callable[[Progress], None] | None, *, patient: bool = True
) -> Progress:
    """Hand out chunks and take in what comes back, until all is done or an end is asked for.

    Parameters
    ----------
    queue : Queue
    crew : Crew
    tell : callable, optional
        Called twice a second.
    patient : bool
        When an end is asked for, wait for the tasks in flight.

    Raises
    ------
    KeyboardInterrupt
        An end was asked for, and what is in flight does not count.
    """
    ended, due = False, 0.0
    try:
        while crew.busy() or not (ended or queue.is_done()):
            while not ended and crew.room() and (tasks := queue.chunk(crew.size)):
                crew.submit(tasks)
            for event in crew.poll(LOOK):
                queue.hear(event)
            queue.flush()
            if tell is not None and time.monotonic() >= due:
                tell(queue.progress(crew.size, ended=ended))
                due = time.monotonic() + FLUSH
            if interrupts.asked() is not None and not ended:
                if not patient:
                    raise KeyboardInterrupt
                ended = True
                crew.finish()
    finally:
        queue.flush(now=True)
    return queue.progress(crew.size, ended=ended)
