"""Fix and optimize: schedules for completion slots that a relaxation has fixed.

Keeps one repair (`slot_repair`; Helber and Sahling, 2010) for every combination of completion
slots that the branch-and-price tree meets, and decides which one continues, and for how long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event, Lock

from optsched.engine.budget import Span
from optsched.engine.progress import Progress
from optsched.families.oasis.instance import OasisSchedule
from optsched.families.oasis.optimum.search.slot_repair import SlotRepair, SlotRepairParams
from optsched.families.oasis.optimum.tree.branching import UnitPriceBranching
from optsched.numbers.streams import Streams


class FixAndOptimize:
    """Searches for schedules with decided completions, each taken up where it was left.

    Parameters
    ----------
    problem : UnitPriceBranching
    progress : Progress
    target : callable
        Value that a schedule must exceed.
    seed : int
    parallel : bool
        Whether they run all the time in a thread of their own, while the context is open, and not
        only when `work` is called.
    params : SlotRepairParams
    """

    def __init__(
        self,
        problem: UnitPriceBranching,
        progress: Progress,
        target: Callable[[], float],
        *,
        seed: int,
        parallel: bool,
        params: SlotRepairParams,
    ) -> None:
        self.params = params
        self.problem, self.progress, self.target = problem, progress, target
        self.seed = seed
        self.known: set[tuple[tuple[int, int], ...]] = set()
        self.open: list[_Repair] = []
        self.spent = 0.0
        self.lock, self.changed, self.ended = Lock(), Event(), Event()
        self.schedules: SimpleQueue[OasisSchedule] = SimpleQueue()
        self.pool = ThreadPoolExecutor(1) if parallel else None
        self.thread: Future[None] | None = None

    def __enter__(self) -> FixAndOptimize:
        """Start the thread, if there is one."""
        if self.pool is not None:
            self.thread = self.pool.submit(self._run)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        """End the thread, and raise its exception."""
        self.ended.set()
        self.changed.set()
        if self.pool is not None and self.thread is not None:
            self.pool.shutdown()
            if kind is None:
                self.thread.result()

    def add(self, completions: Mapping[int, int]) -> None:
        """Take in completions that a relaxation has decided, if they are new."""
        key = tuple(sorted(completions.items()))
        if key not in self.known:
            self.known.add(key)
            rng = Streams(self.seed)("repair", len(self.known))
            with self.lock:
                self.open.append(_Repair(SlotRepair(self.problem, completions, rng, self.params)))
            self.changed.set()

    def work(self) -> None:
        """Work until the share of the time is used up, if no thread does."""
        while self.pool is None:
            span = self.progress.span(self._share() * self.progress.seconds() - self.spent)
            if span.whole <= 0 or self.progress.stop():
                return
            there = self._step(span)
            self.spent += span.passed()
            if not there:
                return

    def found(self) -> Iterator[OasisSchedule]:
        """Yield the results since the last call."""
        while not self.schedules.empty():
            yield self.schedules.get()

    def _run(self) -> None:
        while not self._ended():
            self.changed.clear()
            if not self._step(self.progress.span(self.params.turn)) and not self.ended.is_set():
                # seconds between two looks at the time, where there is nothing to do
                self.changed.wait(0.2)

    def _step(self, span: Span) -> bool:
        """Continue with the most valuable one; return whether there was any."""
        target = self.target()
        with self.lock:
            self.open = [r for r in self.open if self._value(r.first.due) > target]
            if not self.open:
                return False
            repair = min(self.open, key=lambda r: (r.rounds, -self._value(r.first.due)))
        schedule = repair.now.work(span, self._ended)
        if schedule is not None:
            self.schedules.put(schedule)
        if schedule is not None and repair.now is repair.first:
            with self.lock:
                self.open.remove(repair)  # nothing more to find
        elif schedule is not None:
            repair.again()
        elif repair.now.stuck:
            later = repair.now.postponed()
            if self._value(later) > target:
                repair.now = repair.now.follow(later)
            else:
                repair.again()
        return True

    def _ended(self) -> bool:
        """Whether all repairs are to end: also called in their own thread."""
        return self.ended.is_set() or self.progress.left() <= 0

    def _share(self) -> float:
        """Return the share of the time for repairs: most of it, if the tree is stuck."""
        params = self.params
        long = self.progress.tightened < (1 - params.stuck) * self.progress.seconds()
        return params.stuck_share if long else params.share

    def _value(self, completions: Mapping[int, int]) -> float:
        return float(sum(self.problem.arrays.utility[i, t] for i, t in completions.items()))


class _Repair:
    """A search, and the one that follows it with later completions where it was stuck."""

    def __init__(self, first: SlotRepair) -> None:
        self.first = self.now = first
        self.rounds = 0

    def again(self) -> None:
        """Go back to the first completions."""
        self.now, self.first.idle = self.first, 0
        self.rounds += 1
