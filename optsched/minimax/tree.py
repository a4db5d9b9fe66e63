"""Game tree: histories of revealed data, and the states that past decisions leave at them.

Instances whose events agree up to a time share a history until then: no online algorithm can tell
them apart. At a history, past decisions matter only by the partial sums of rows that can still be
violated. So a state is the vector of these sums; a sum that can no longer violate any row is free,
and counts as one value. Rows of different instances with equal coefficients share a sum.

States of a history that offer the same costs and lead to the same states are then merged, from the
last histories to the first: this finds states that are symmetric. Everything is in integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from optsched.declared.events import Disclosure, Event, disclosures, event_of
from optsched.declared.model import Declared
from optsched.numbers.resources import exact
from optsched.problem import InputError
from optsched.process import interrupts

MOST = 10_000_000  # numbers that decisions take in all states; they take up to 1 GB
State: TypeAlias = "tuple[int | None, ...]"
Entries: TypeAlias = tuple[tuple[str, int], ...]
Interval: TypeAlias = tuple[float, float]


@dataclass
class History:
    """History: revealed data up to an event; the first one is before all events.

    Attributes
    ----------
    instances, ended : list of int
        Those that begin so, and those of them that have no further event.
    children : list of int
        Histories that follow, in the order of their first instance.
    names : tuple of str
        Variables to be decided.
    actions, costs : list
        Values of these variables, and their cost, as a minimization in integers.
    states : list of int
        In the order in which they were found.
    """

    parent: int
    event: Event | None
    instances: list[int]
    ended: list[int] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    names: tuple[str, ...] = ()
    actions: list[tuple[int, ...]] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=list)


@dataclass
class GamePart:
    """A partial sum of a history that follows: its origin, and its range."""

    source: int  # its place in the state before; -1: it begins now
    entries: list[tuple[int, int]]  # place among the variables decided now, coefficient
    allowed: Interval  # or else a row is violated
    free: Interval  # in here, no row can be violated any more


class Sums:
    """Partial sums of rows, each with its predecessor and last addition."""

    def __init__(self) -> None:
        self._ids: dict[tuple[int, Entries, int, int], int] = {}
        self.origin: list[tuple[int, Entries]] = [(0, ())]
        self.range = [(0, 0)]

    def extended(self, before: int, entries: Entries, least: int, most: int) -> int:
        """Return the sum with further entries, which add from ``least`` to ``most``."""
        key = before, entries, least, most  # bounds of a column may differ between instances
        if key not in self._ids:
            self._ids[key] = len(self.origin)
            self.origin.append((before, entries))
            low, high = self.range[before]
            self.range.append((low + least, high + most))
        return self._ids[key]


@dataclass(slots=True)
class _Row:
    """A row: its limits, the sum of decided columns, and the range of undecided ones."""

    low: float
    high: float
    sum: int
    least: int
    most: int


class RowBounds:
    """The rows of an instance as its columns are decided."""

    def __init__(self, inst: Declared, scale: int, sums: Sums) -> None:
        if inst.cones:
            raise InputError("there are conic constraints, expected linear ones only")
        program = inst.exact
        self.sums, self.place = sums, {c.name: j for j, c in enumerate(inst.columns)}
        self.bounds = [_range(inst, j) for j in range(len(inst.columns))]
        self.users: list[list[tuple[int, int, int, int]]] = [[] for _ in inst.columns]
        self.undecided = set(self.place)
        self.rows: dict[int, _Row] = {}
        for i, (entries, sides) in enumerate(zip(program.rows, program.sides, strict=True)):
            unit = scale // program.scale[i]
            low, high = sides
            lower = -math.inf if low is None else low * unit
            upper = math.inf if high is None else high * unit
            if not entries and not lower <= 0 <= upper:
                raise InputError(f"constraint {inst.rows[i].name} cannot be satisfied")
            row = self.rows[i] = _Row(lower, upper, 0, 0, 0)
            for j, coefficient in entries:
                a = coefficient * unit
                least, most = a * self.bounds[j][a < 0], a * self.bounds[j][a > 0]
                row.least += least
                row.most += most
                self.users[j].append((i, a, least, most))

    def decide(self, names: Sequence[str]) -> None:
        """Move undecided columns into the sums."""
        found: dict[int, tuple[Entries, int, int]] = {}
        self.undecided.difference_update(names)
        for name in names:
            for i, a, least, most in self.users[self.place[name]]:
                if i in self.rows:
                    entries, low, high = found.get(i, ((), 0, 0))
                    found[i] = (*entries, (name, a)), low + least, high + most
        for i, (entries, low, high) in found.items():
            row = self.rows[i]
            row.sum = self.sums.extended(row.sum, entries, low, high)
            row.least -= low
            row.most -= high

    def matter(self) -> Iterator[tuple[int, int, Interval, Interval]]:
        """Yield the rows that some values of their sum violate; the others are forgotten.

        With a row its sum, the values that violate no row yet, and those that never will.
        """
        for i, row in [*self.rows.items()]:
            least, most = self.sums.range[row.sum]
            low, high = row.low - row.least, row.high - row.most
            if low <= least and most <= high:
                del self.rows[i]
            else:
                yield i, row.sum, (row.low - row.most, row.high - row.least), (low, high)


def _range(inst: Declared, j: int) -> tuple[int, int]:
    column = inst.columns[j]
    if not column.integer:
        raise InputError(f"variable {column.name} is continuous, expected an integer one")
    low, high = inst.exact.lower[j], inst.exact.upper[j]
    if low is None or high is None:
        raise InputError(f"variable {column.name} has no finite bounds, expected some")
    if low > high:
        raise InputError(f"variable {column.name} has no integer within its bounds")
    return int(low), int(high)


def titled(number: int, inst: Declared) -> str:
    """Return how messages name an instance."""
    return f"instance {number}" + (f" ({inst.source})" if inst.source else "")


class GameTree:
    """All histories and states of some instances of one sense.

    Attributes
    ----------
    sign, scale : int
        Factor that turns objectives into costs, which are integers and minimized.
    offsets : list of int
        Of the objectives, as costs.
    moves : list
        State -> (action, states that follow, one for each child of the history).
    optima : list of int or None
        Of the instances, as costs; None: infeasible.
    optimal, last : list
        Of every instance the state and the action that end an optimal solution, and its last
        history.
    before : list of tuple
        State -> least cost to reach it, the state before, the action.
    kind : list
        State -> the class of states that it is merged into, None where no decision is feasible.
    options : list
        Class -> (cost, classes that follow). Classes that follow have smaller numbers.
    home : list of int
        Class -> its history.

    Raises
    ------
    InputError
        A variable is continuous or unbounded, or decisions take more than `MOST` numbers.
    """

    def __init__(self, instances: Sequence[Declared]) -> None:
        self.instances, self._sums = instances, Sums()
        numbers = [exact(c.cost) for inst in instances for c in inst.columns]
        numbers += [exact(inst.offset) for inst in instances]
        self.scale = math.lcm(*{x.denominator for x in numbers}, 1)
        self.sign = 1 if instances[0].sense == "min" else -1
        self.offsets = [self._cost(inst.offset) for inst in instances]
        self.histories = [History(-1, None, [*range(len(instances))])]
        self.moves: list[list[tuple[int, tuple[int, ...]]]] = [[]]
        self.before = [(0, -1, 0)]
        self.optima: list[int | None] = [None] * len(instances)
        self.optimal = [(0, 0)] * len(instances)
        self.last = [0] * len(instances)
        self._count = 0
        self._grow()
        self.kind: list[int | None] = [None] * len(self.moves)
        self.options: list[list[tuple[int, tuple[int, ...]]]] = []
        self.home: list[int] = []
        for h in range(len(self.histories) - 1, -1, -1):
            self._merge(h)

    def _cost(self, cost: float) -> int:
        return (self.sign * self.scale * exact(cost)).numerator

    def _grow(self) -> None:
        """Go through the histories, from the first to the last."""
        scales = {s for inst in self.instances for s in inst.exact.scale}
        scale, rows = math.lcm(*scales, 1), []
        for number, inst in enumerate(self.instances):
            try:
                rows.append(RowBounds(inst, scale, self._sums))
            except InputError as err:
                raise InputError(f"{titled(number, inst)}: {err}") from err
        streams = [disclosures(inst) for inst in self.instances]
        found: list[tuple[dict[State, int], list[int]]] = [({(): 0}, [])]
        for h, history in enumerate(self.histories):  # which grow in the loop
            interrupts.raise_if_interrupted()
            follow: dict[Disclosure, list[int]] = {}
            for i in history.instances:
                rows[i].decide(history.names)
                known = next(streams[i], None)
                if known is None and rows[i].undecided:
                    name = f"{titled(i, self.instances[i])}: variable {min(rows[i].undecided)}"
                    raise InputError(f"{name} is decided by no policy")
                if known is None:
                    history.ended.append(i)
                    self.last[i] = h
                else:
                    follow.setdefault(known, []).append(i)
            states, places = found[h]
            index = {total: k for k, total in enumerate(places)}
            place = {name: k for k, name in enumerate(history.names)}
            ways = [self._parts(rows, index, place, history.ended)] if history.ended else []
            for known, members in follow.items():
                history.children.append(len(self.histories))
                event = event_of(known)
                self.histories.append(History(h, event, members, names=event.decide))
                ways.append(self._parts(rows, index, place, members))
                found.append(({}, [total for total, _ in ways[-1][0]]))
            following = [found[c][0] for c in history.children]
            self._step(history, states, ways, following)
            found[h] = {}, []

    def _decide(self, history: History, each: int) -> None:
        """Set the decisions of a history, and add ``each`` to the count for every one."""
        inst = self.instances[history.instances[0]]
        place = {c.name: j for j, c in enumerate(inst.columns)}
        columns = [place[name] for name in history.names]
        ranges = [range(low, high + 1) for low, high in (_range(inst, j) for j in columns)]
        self._count += each * math.prod(map(len, ranges))
        if self._count > MOST:
            when = "" if history.event is None else f"time {history.event.time:g}: "
            raise InputError(
                f"{when}the decisions in all states take more than {MOST} numbers, expected fewer "
                "or shorter instances"
            )
        costs = [self._cost(inst.columns[j].cost) for j in columns]
        history.actions = [*product(*ranges)]
        history.costs = [
            sum(c * x for c, x in zip(costs, values, strict=True)) for values in history.actions
        ]

    def _parts(
        self,
        rows: Sequence[RowBounds],
        index: dict[int, int],
        place: dict[str, int],
        members: Sequence[int],
    ) -> tuple[list[tuple[int, GamePart]], list[GamePart]]:
        """Return the sums that a state keeps for some instances, and those that are only checked.

        The latter are sums without entries, and those that no undecided column changes.
        """
        found: dict[int, GamePart] = {}
        users: dict[int, list[tuple[int, int]]] = {}
        for i in members:
            for r, total, allowed, free in rows[i].matter():
                users.setdefault(total, []).append((i, r))
                part = found.get(total)
                if part is None:
                    before, entries = self._sums.origin[total]
                    if total in index:
                        before, entries = total, ()
                    assert before == 0 or before in index
                    added = [(place[name], a) for name, a in entries]
                    found[total] = GamePart(index.get(before, -1), added, allowed, free)
                else:
                    part.allowed = _both(part.allowed, allowed)
                    part.free = _both(part.free, free)
        kept = []
        for total, part in found.items():
            if total and part.allowed != part.free:
                kept.append((total, part))
            elif total:
                for i, r in users[total]:
                    del rows[i].rows[r]
        kept.sort(key=lambda pair: pair[1].source >= 0)  # those that begin now come first
        chosen = {total for total, _ in kept}
        return kept, [part for total, part in found.items() if total not in chosen]

    def _step(
        self,
        history: History,
        states: dict[State, int],
        ways: Sequence[tuple[list[tuple[int, GamePart]], list[GamePart]]],
        following: Sequence[dict[State, int]],
    ) -> None:
        """Find the states that follow those of a history.

        A decision that violates a row of some instances only is none in the game, but may belong
        to the optimum of others.
        """
        if not states:
            return
        parts = sum(len(kept) + len(checked) for kept, checked in ways)
        self._decide(history, len(states) * (1 + len(history.names) + parts))
        plans = [[_plan(way, values) for way in ways] for values in history.actions]
        able = [(a, p) for a, p in enumerate(plans) if any(way is not None for way in p)]
        first = len(ways) - len(following)  # a way of instances that end leads to no state
        history.states = [*states.values()]
        ends: tuple[int, int, int] | None = None
        for state, number in states.items():
            for a, plan in able:
                reached = [None if way is None else _reached(state, *way) for way in plan]
                cost = self.before[number][0] + history.costs[a]
                if first and reached[0] is not None and (ends is None or cost < ends[0]):
                    ends = cost, number, a
                nexts = []
                for there, after in zip(following, reached[first:], strict=True):
                    if after is None:
                        continue
                    place = there.get(after)
                    if place is None:
                        place = there[after] = len(self.moves)
                        self.moves.append([])
                        self.before.append((cost, number, a))
                    elif cost < self.before[place][0]:
                        self.before[place] = cost, number, a
                    nexts.append(place)
                if None not in reached:
                    self.moves[number].append((a, tuple(nexts)))
        if ends is not None:
            for i in history.ended:
                self.optima[i] = ends[0] + self.offsets[i]
                self.optimal[i] = ends[1:]

    def _merge(self, h: int) -> None:
        """Merge the states of a history with the same options; more expensive ones are left out."""
        known: dict[frozenset[tuple[tuple[int, ...], int]], int] = {}
        for state in self.histories[h].states:
            cheapest = {after: cost for after, (cost, _) in self.offers(h, state).items()}
            if cheapest:
                same = frozenset(cheapest.items())
                if same not in known:
                    known[same] = len(self.options)
                    self.options.append([(cost, after) for after, cost in cheapest.items()])
                    self.home.append(h)
                self.kind[state] = known[same]

    def offers(self, h: int, state: int) -> dict[tuple[int, ...], tuple[int, int]]:
        """Return classes that can follow a state -> least cost, and the move that has it."""
        costs, kind = self.histories[h].costs, self.kind
        found: dict[tuple[int, ...], tuple[int, int]] = {}
        for k, (a, nexts) in enumerate(self.moves[state]):
            after = tuple(c for c in (kind[n] for n in nexts) if c is not None)
            if len(after) == len(nexts) and (after not in found or costs[a] < found[after][0]):
                found[after] = costs[a], k
        return found

    @property
    def root(self) -> int | None:
        """The class of the first state; None: no online algorithm keeps all constraints."""
        return self.kind[0]

    def weights(self, weights: Sequence[int]) -> list[int]:
        """Return the weight of every history, of weights of the instances."""
        return [sum(weights[i] for i in h.instances) for h in self.histories]

    def least_cost(self, weights: Sequence[int]) -> int:
        """Return the least expected cost, times the sum of the weights: backward induction."""
        assert self.root is not None
        there, found = self.weights(weights), [0] * len(self.options)
        for c, options in enumerate(self.options):
            w = there[self.home[c]]
            found[c] = min([w * cost + sum([found[n] for n in after]) for cost, after in options])
        return found[self.root] + sum(map(int.__mul__, weights, self.offsets))

    def slack(self, caps: Sequence[int]) -> tuple[float, list[int]]:
        """Return how much less than its cap every instance can cost, and the options for that.

        What is found of a class is the most that may have been paid before. One option is chosen
        in every class.
        """
        assert self.root is not None
        limits = [cap - offset for cap, offset in zip(caps, self.offsets, strict=True)]
        limit = [min((limits[i] for i in h.ended), default=math.inf) for h in self.histories]
        found: list[float] = []
        chosen = []
        for c, options in enumerate(self.options):
            cap = limit[self.home[c]]
            left = [min([cap, *(found[n] for n in after)]) - cost for cost, after in options]
            found.append(max(left))
            chosen.append(left.index(found[-1]))
        return found[self.root], chosen


def _both(one: Interval, other: Interval) -> Interval:
    return max(one[0], other[0]), min(one[1], other[1])


Step: TypeAlias = tuple[int, int, float, float, float, float]


def _plan(
    way: tuple[list[tuple[int, GamePart]], list[GamePart]], values: tuple[int, ...]
) -> tuple[list[int | None], list[Step], list[Step]] | None:
    """Return how a decision changes states; None if it violates a row in all of them."""
    kept, checked = way
    fresh: list[int | None] = []
    steps: list[Step] = []
    checks: list[Step] = []
    for into, part in [*((checks, p) for p in checked), *((steps, p) for _, p in kept)]:
        added = sum([a * values[k] for k, a in part.entries])
        if part.source >= 0:
            into.append((part.source, added, *part.allowed, *part.free))
        elif not part.allowed[0] <= added <= part.allowed[1]:
            return None
        elif into is steps:
            fresh.append(None if part.free[0] <= added <= part.free[1] else added)
    return fresh, steps, checks


def _reached(
    state: State, fresh: list[int | None], kept: list[Step], checked: list[Step]
) -> State | None:
    """Return the state that follows, None if a row is violated."""
    for source, added, low, high, _, _ in checked:
        x = state[source]
        if x is not None and not low <= x + added <= high:
            return None
    found = fresh.copy()
    for source, added, low, high, least, most in kept:
        x = state[source]
        if x is not None:
            x += added
            if x < low or x > high:
                return None
            if least <= x <= most:
                x = None
        found.append(x)
    return tuple(found)
