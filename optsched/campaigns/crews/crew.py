"""What those who compute tasks have in common; this process is the plainest of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from optsched.process import interrupts


class Found(Protocol):
    """What comes of a task."""

    @property
    def wall(self) -> float:
        """Seconds that it took."""


class Task(Protocol):
    """A piece of work that can be sent to another process."""

    @property
    def kind(self) -> Hashable:
        """What takes about as long."""

    @property
    def mark(self) -> Hashable:
        """Which task it is."""

    def compute(self) -> Found:
        """Do it; MemoryError says that this process is of no further use."""


@dataclass(frozen=True)
class Done:
    """A task and what came of it."""

    task: Any
    found: Any


@dataclass(frozen=True)
class Lost:
    """A process is gone, or a chunk came to nothing."""

    suspects: Sequence[Any]  # one of these tasks did it
    rest: Sequence[Any]  # not begun
    reason: str
    again: bool = True  # whether trying again may help


Event = Done | Lost


class Crew(Protocol):
    """Whoever computes chunks of tasks."""

    size: int

    def room(self) -> bool:
        """Whether one more chunk would be begun soon."""

    def submit(self, tasks: Sequence[Any]) -> None:
        """Take a chunk."""

    def poll(self, seconds: float) -> list[Event]:
        """Return what has happened; wait for something at most so long."""

    def busy(self) -> bool:
        """Whether there is something that will still be told."""

    def finish(self) -> None:
        """Begin no further task; those in hand are still told."""

    def close(self) -> None:
        """End everything at once."""


class Here:
    """The process itself: a task at a time, and what goes wrong in one is raised."""

    size = 1

    def __init__(self) -> None:
        self._tasks: list[Task] = []

    def room(self) -> bool:
        """Whether nothing is in hand."""
        return not self._tasks

    def submit(self, tasks: Sequence[Task]) -> None:
        """Take a chunk."""
        self._tasks += tasks

    def poll(self, _seconds: float) -> list[Event]:
        """Compute the next task.

        Raises
        ------
        KeyboardInterrupt
            An end was asked for meanwhile: what was cut short is no result.
        """
        task = self._tasks.pop(0)
        found = task.compute()
        interrupts.raise_if_asked()
        return [Done(task, found)]

    def busy(self) -> bool:
        """Whether something is in hand."""
        return bool(self._tasks)

    def finish(self) -> None:
        """Forget what has not begun."""
        self._tasks.clear()

    def close(self) -> None:
        """Nothing is open."""
