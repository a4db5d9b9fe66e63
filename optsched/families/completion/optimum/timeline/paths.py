"""The paths of the dynamic program over time, best first, and whether jobs can stay on servers.

Every slot of a path fits by itself. Here slots in which jobs start are looked at two by two, one
after the other: what runs in both has to stay where it is. A path that passes is handed out to be
placed; if it cannot be, the search goes on with the next one.

Prefixes that end in the same state after the same slot have the same continuations, so all but the
best of them wait, until a path through that state turns out not to be placeable.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import NamedTuple

from optsched.families.completion.optimum.timeline.program import Graph, Path, Timeline
from optsched.families.completion.optimum.timeline.slot_items import MOST_STAY_TRIES, SlotItems

Begun = tuple[int, int, int]  # row, start, end
Key = tuple[int, tuple[int, ...]]


class Prefix(NamedTuple):
    """The beginning of a path."""

    state: int  # -1: all jobs have started
    value: float
    runs: tuple[Begun, ...]  # in the slot of the last start
    last: tuple[Begun, ...]  # the same, one start earlier
    begun: tuple[Begun, ...]  # by the last step
    before: Prefix | None

    def all_begun(self) -> list[Begun]:
        """Return all that has started."""
        out: list[Begun] = []
        prefix: Prefix | None = self
        while prefix is not None:
            out += prefix.begun
            prefix = prefix.before
        return out


class Paths:
    """Best-first search over the paths of a run of the program that has kept its steps.

    Parameters
    ----------
    program : Timeline
    graph : Graph
    limit : float
        Paths of this value or more are of no interest.
    """

    def __init__(self, program: Timeline, graph: Graph, limit: float) -> None:
        self.program, self.graph, self.limit = program, graph, limit
        self.heap: list[tuple[float, int, Prefix]] = []
        self.count = 0
        self.waiting: dict[Key, list[Prefix]] = {}  # by where the best of them has gone on
        self._push(Prefix(0, 0.0, (), (), (), None))

    def best_first(self, stop: Callable[[], bool]) -> Iterator[Path | None]:
        """Yield the paths whose slots fit two by two, the least value first; None if stopped.

        Who asks for another one says that the path could not be placed.
        """
        while self.heap:
            if stop():
                yield None
                return
            _, _, prefix = heapq.heappop(self.heap)
            if not self._follows(prefix):
                continue
            if prefix.state < 0:
                yield self.program.path(prefix.value, prefix.all_begun())
                self._release(prefix)
                continue
            key = self._key(prefix)
            if key in self.waiting:
                self.waiting[key].append(prefix)
            else:
                self.waiting[key] = []
                self._expand(prefix)

    def _push(self, prefix: Prefix) -> None:
        least = prefix.value + float(self.graph.rest[prefix.state])
        if least < self.limit:
            self.count += 1
            heapq.heappush(self.heap, (least, -self.count, prefix))

    def _expand(self, prefix: Prefix) -> None:
        """Put all continuations by one step into the queue."""
        graph, s = self.graph, prefix.state
        t = int(self.program.pool.slot[s])
        for k in graph.order[graph.first[s] : graph.first[s + 1]].tolist():
            value, target = prefix.value + float(graph.cost[k]), int(graph.target[k])
            if value + graph.rest[target] >= self.limit:
                continue
            begun = tuple(self.program.started(k))
            runs, last = prefix.runs, prefix.last
            if begun:
                runs, last = (*(b for b in runs if b[2] > t), *begun), runs
            self._push(Prefix(target, value, runs, last, begun, prefix))

    def _key(self, prefix: Prefix) -> Key:
        """Return what the continuations depend on: the state, and what ran beside it before."""
        t = int(self.program.pool.slot[prefix.state])
        gone = sorted(int(self.program.item[c]) for c, _, end in prefix.runs if end <= t)
        return prefix.state, tuple(gone)

    def _release(self, prefix: Prefix) -> None:
        """Let go on what waits for a path that cannot be placed."""
        before = prefix.before
        while before is not None:
            for other in self.waiting.pop(self._key(before), []):
                self._push(other)
            before = before.before

    def _follows(self, prefix: Prefix) -> bool:
        """Whether the jobs that run in the last two slots fit, and stay where they are."""
        one, two = set(prefix.last), set(prefix.runs)
        if not prefix.begun or not one & two or not one - two:
            return True
        item = self.program.item
        entries = sorted((int(item[b[0]]), (b in one) + 2 * (b in two)) for b in one | two)
        return self.program.slot_items.stays(tuple(entries))


def refuted(path: Path, items: SlotItems) -> bool:
    """Whether some slots in a row cannot be placed, looked at more closely."""
    for length in (2, 3, 4):
        for k in range(len(path.lists) - length + 1):
            slots: dict[tuple[int, int], int] = {}
            for layer, who in enumerate(path.lists[k : k + length]):
                for one in who:
                    slots[one] = slots.get(one, 0) | 1 << layer
            stay = sorted((item, layers) for (item, _), layers in slots.items())
            if not items.stays(tuple(stay), MOST_STAY_TRIES):
                return True
    return False
