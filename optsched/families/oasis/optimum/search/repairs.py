"""Control of fix-and-optimize repairs for completion slots fixed by a relaxation.

Keeps one repair (`slot_repair`; Helber and Sahling, 2010) for every combination of completion
slots that the branch-and-price tree meets, and decides which one continues, and for how long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import TypeVar

from optsched.engine.budget import Span
from optsched.engine.interval import CLOSED
from optsched.engine.progress import Progress
from optsched.families.oasis.instance import OasisSchedule
from optsched.families.oasis.optimum.prices.slot_limits import SlotBound
from optsched.families.oasis.optimum.search.by_class import ByClass
from optsched.families.oasis.optimum.search.slot_repair import SlotRepair
from optsched.families.oasis.optimum.search.whole_slots import ROUGH, WELL, WholeSlots
from optsched.families.oasis.optimum.tree.branching import UnitTree
from optsched.numbers.streams import Streams

_T = TypeVar("_T")

SHARE = 0.4  # of the time at most
STALLED = 0.3, 0.8  # part of the time without a better bound, and the same share from then on
WAIT = 0.2  # seconds between two looks at the time, where there is nothing to do
LOOK = 2.0  # seconds at a time, until it is known whether whole slots can do the work
LIMITS = 5.0  # the same, until limits on slots are proved
BY_CLASS_AFTER = 0.8, 2.0  # seconds until the program by class, in a thread of its own and not
BY_CLASS_SECONDS = 5.0  # for it, at most
TURN = 1.0  # seconds of one search in a thread of its own, until the best of them is looked for


class Repairs:
    """Searches for schedules with decided completions, each taken up where it was left.

    Parameters
    ----------
    problem : UnitTree
    progress : Progress
    target : callable
        What a schedule must earn more than.
    seed : int
    beside : bool
        Whether they run all the time in a thread of their own, while the context is open, and not
        only when they are asked to `work`.
    """

    def __init__(
        self,
        problem: UnitTree,
        progress: Progress,
        target: Callable[[], float],
        *,
        seed: int,
        beside: bool,
    ) -> None:
        self.problem, self.progress, self.target = problem, progress, target
        self.seed = seed
        self.known: set[tuple[tuple[int, int], ...]] = set()
        self.open: list[_Repair] = []
        self.spent = 0.0
        self.asked = False  # when jobs complete if machines of a class share their room
        self.lock, self.news, self.ended = Lock(), Event(), Event()
        self.schedules: SimpleQueue[OasisSchedule] = SimpleQueue()
        self.limits: SimpleQueue[list[SlotBound]] = SimpleQueue()
        self.pool = ThreadPoolExecutor(1) if beside else None
        self.thread: Future[None] | None = None

    def __enter__(self) -> Repairs:
        """Start the thread, if there is one."""
        if self.pool is not None:
            self.thread = self.pool.submit(self._run)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        """End the thread, and raise what it raised."""
        self.ended.set()
        self.news.set()
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
                self.open.append(_Repair(SlotRepair(self.problem, completions, rng)))
            self.news.set()

    def work(self) -> Iterator[OasisSchedule]:
        """Work until the share of the time is used up, if no thread does; yield schedules."""
        while self.pool is None:
            span = self.progress.span(self._share() * self.progress.seconds() - self.spent)
            if span.whole <= 0 or self.progress.stop():
                return
            there, schedule = self._step(span)
            self.spent += span.passed()
            if not there:
                return
            if schedule is not None:
                yield schedule

    def found(self) -> Iterator[OasisSchedule]:
        """Yield what the thread has found since."""
        yield from _taken(self.schedules)

    def proved(self) -> Iterator[list[SlotBound]]:
        """Yield the limits on slots that were proved since."""
        yield from _taken(self.limits)

    def _run(self) -> None:
        while not self._ended():
            self.news.clear()
            there, schedule = self._step(self.progress.span(TURN))
            if schedule is not None:
                self.schedules.put(schedule)
            if not there and not self.ended.is_set():
                self.news.wait(WAIT)

    def _step(self, span: Span) -> tuple[bool, OasisSchedule | None]:
        """Go on with what earns the most; return whether there was any, and a schedule."""
        if not self.asked and self.progress.seconds() > BY_CLASS_AFTER[self.pool is None]:
            self.asked = True
            return True, self._by_class()
        target = self.target()
        with self.lock:
            self.open = [r for r in self.open if self._worth(r.first.due) > target]
            if not self.open:
                return False, None
            repair = min(self.open, key=lambda r: (r.rounds, -self._worth(r.first.due)))
        repair.turns += 1
        if not repair.looked and repair.turns % 2:
            limits = repair.look(self.progress, self._ended)
            if limits:
                self.limits.put(limits)
                with self.lock:
                    self.open.remove(repair)  # there is no such schedule
            return True, None
        schedule = repair.now.work(span, self._ended)
        if schedule is not None and repair.now is repair.first:
            with self.lock:
                self.open.remove(repair)  # nothing more to find
        elif schedule is not None:
            repair.again()
        elif repair.now.stuck:
            later = repair.now.postponed()
            if self._worth(later) > target:
                repair.now = repair.now.follow(later)
            else:
                repair.again()
        return True, schedule

    def _by_class(self) -> OasisSchedule | None:
        """Take in the completions that are best by class; return a schedule, if one is at hand."""
        program = ByClass(self.problem.inst)
        limits = self.progress.limits(BY_CLASS_SECONDS)
        x = program.best(gap=CLOSED, stop=self.ended.is_set, **limits).x
        if x is None:
            return None
        completions = program.completions(x)
        if self._worth(completions) <= self.target():
            return None
        self.add(completions)
        return program.schedule(x, self.ended.is_set)

    def _ended(self) -> bool:
        """Whether all repairs are to end: also asked in their own thread, where nobody looks."""
        return self.ended.is_set() or self.progress.left() <= 0

    def _share(self) -> float:
        """Return what part of the time repairs may take: most of it, where the tree is stuck."""
        long = self.progress.tightened < (1 - STALLED[0]) * self.progress.seconds()
        return STALLED[1] if long else SHARE

    def _worth(self, completions: Mapping[int, int]) -> float:
        return float(sum(self.problem.arrays.utility[i, t] for i, t in completions.items()))


def _taken(queue: SimpleQueue[_T]) -> Iterator[_T]:
    while True:
        try:
            yield queue.get_nowait()
        except Empty:
            return


class _Repair:
    """A search, and the one that follows it with later completions where it was stuck."""

    def __init__(self, first: SlotRepair) -> None:
        self.first = self.now = first
        self.rounds = 0
        self.turns = 0
        self.looked = False  # whether whole slots can do the work
        self.whole: WholeSlots | None = None

    def again(self) -> None:
        """Go back to the first completions."""
        self.now, self.first.idle = self.first, 0
        self.rounds += 1

    def look(self, progress: Progress, ended: Callable[[], bool]) -> list[SlotBound]:
        """Find limits on slots by which the work cannot be done, or put into them what they can."""
        if self.whole is None:
            self.whole = WholeSlots(self.first, ended)
        if not self.whole.relax(progress.span(LOOK)):
            return []
        if self.whole.found.value < 1:
            limits = self.whole.limits(progress.span(LIMITS))
            if limits:
                return limits
            if self.whole.effort is ROUGH:
                self.whole.effort = WELL
                return []
        self.looked = True
        self.whole.begin(progress.span())
        self.whole = None
        return []
