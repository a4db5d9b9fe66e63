"""Online interval scheduling, a whole family of optsched in one file.

Intervals arrive one by one, in order of their first slot. Each has a length and a weight, and
occupies one of k equal machines from its first slot to its last. It is irrevocably accepted or
rejected when it arrives. The total weight of accepted intervals is maximized.

    (1)  in every slot run at most k intervals
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator
from scipy.optimize import linprog

from optsched.numbers.streams import Streams
from optsched.policies.serialization import typed_wire
from optsched.problem import (
    Family,
    Frozen,
    Implementation,
    Information,
    InputError,
    Instance,
    Schedule,
    Verdict,
    Violation,
)


class Interval(Frozen):
    """Requests one machine in the slots arrival, ..., arrival + length - 1."""

    arrival: int = Field(ge=0)
    length: int = Field(ge=1)
    weight: int = Field(ge=1, lt=2**40, description="what it earns if it is accepted")

    @property
    def slots(self) -> range:
        """The slots in which it runs."""
        return range(self.arrival, self.arrival + self.length)


class Platform(Frozen):
    """Data known from the start."""

    horizon: int = Field(ge=1, le=100_000, description="number of slots")
    machines: int = Field(ge=1, le=1_000_000, description="k")


class Intervals(Platform, Instance):
    """An instance: the platform, and what arrives."""

    family: ClassVar[str] = "intervals"

    intervals: tuple[Interval, ...]

    @model_validator(mode="after")
    def _all_fit(self) -> Self:
        for i, (one, after) in enumerate(zip(self.intervals, self.intervals[1:], strict=False)):
            if one.arrival > after.arrival:
                raise ValueError(
                    f"interval {i + 1}: arrival {after.arrival} is before that of interval {i}, "
                    f"expected at least {one.arrival}"
                )
        for i, one in enumerate(self.intervals):
            if one.slots.stop > self.horizon:
                raise ValueError(
                    f"interval {i}: ends with slot {one.slots.stop - 1}, "
                    f"expected within 0..{self.horizon - 1}"
                )
        return self


class Choice(Schedule):
    """Which intervals are accepted."""

    accepted: tuple[bool, ...]


def verify(inst: Intervals, schedule: Choice, *, unfinished: bool = False) -> Verdict:  # noqa: ARG001
    """Check a schedule: nothing that is accepted can be left unfinished here."""
    if len(schedule.accepted) != len(inst.intervals):
        raise InputError(
            f"the schedule has {len(schedule.accepted)} entries, expected {len(inst.intervals)}"
        )
    chosen = [x for x, taken in zip(inst.intervals, schedule.accepted, strict=True) if taken]
    running = [0] * inst.horizon
    for interval in chosen:
        for t in interval.slots:
            running[t] += 1
    broken = tuple(
        Violation(equation="1", place=f"slot {t}", amount=n - inst.machines)
        for t, n in enumerate(running)
        if n > inst.machines
    )
    earned = float(sum(interval.weight for interval in chosen))
    return Verdict(violations=broken, value=None if broken else earned)


class Prices(Frozen):
    """A certificate: what a machine costs in each slot."""

    price: tuple[int, ...]


def check(inst: Intervals, prices: Prices) -> float:
    """Return the bound that prices prove, in whole numbers.

    If every slot of every machine could be rented at its price, no schedule would earn more than
    all that pays for itself, and what all machines cost.
    """
    if len(prices.price) != inst.horizon or min(prices.price) < 0:
        raise ValueError(f"expected {inst.horizon} prices that are not negative")
    bound = inst.machines * sum(prices.price)
    for interval in inst.intervals:
        bound += max(0, interval.weight - sum(prices.price[t] for t in interval.slots))
    return math.nextafter(float(bound), math.inf) if bound > 2**53 else float(bound)


def linear_program(inst: Intervals, progress: Any, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve the linear program: its matrix is an interval matrix, so its vertices are integral.

    Both are checked: the schedule by the feasibility check, the prices by the checker.
    """
    if not inst.intervals:
        progress.incumbent(0.0, Choice(accepted=()))
        progress.tighten(0.0, lambda: Prices(price=(0,) * inst.horizon))
        return
    covers = np.zeros((inst.horizon, len(inst.intervals)))
    for i, interval in enumerate(inst.intervals):
        covers[interval.slots, i] = 1
    found = linprog(
        [-interval.weight for interval in inst.intervals],
        A_ub=covers,
        b_ub=np.full(inst.horizon, inst.machines),
        bounds=(0, 1),
        method="highs-ds",
        options={"time_limit": progress.limits()["time_limit"]},
    )
    progress.spend(0.01 * found.nit)
    if found.status != 0:
        return  # the time is up
    accepted = Choice(accepted=tuple(bool(x > 0.5) for x in found.x))
    value = verify(inst, accepted).value
    if value is not None:
        progress.incumbent(value, accepted)
    prices = Prices(price=tuple(max(0, round(-y)) for y in found.ineqlin.marginals))
    progress.tighten(check(inst, prices), lambda: prices)
    progress.claim(Implementation.HIGHS, -found.fun)


class Offer(Frozen):
    """An event: interval number ``index`` arrives."""

    index: int
    interval: Interval

    @property
    def slot(self) -> int:
        """When it is decided."""
        return self.interval.arrival


def events(inst: Intervals, information: Information = "after") -> Iterator[Offer]:
    """Hand over the intervals one by one."""
    if information == "before":
        raise InputError('information is "before", expected "after" in family intervals')
    for index, interval in enumerate(inst.intervals):
        yield Offer(index=index, interval=interval)


def assemble(inst: Intervals, played: Sequence[tuple[Offer, bool]]) -> Choice:  # noqa: ARG001
    """Put the decisions together."""
    return Choice(accepted=tuple(accepted for _, accepted in played))


class Greedy:
    """Accepts whatever fits."""

    name = "greedy"
    information: Information = "after"
    knows: Sequence[str] = ()

    def start(self, public: Platform, prior: Any, streams: Streams) -> None:  # noqa: ARG002
        """Begin with empty machines."""
        self.machines, self.prior = public.machines, prior
        self.running = [0] * public.horizon

    def step(self, event: Offer) -> bool:
        """Decide on one interval; keep the accounts."""
        slots = event.interval.slots
        fits = all(self.running[t] < self.machines for t in slots)
        accepted = fits and self.pays(event.interval)
        for t in slots if accepted else ():
            self.running[t] += 1
        return accepted

    def pays(self, interval: Interval) -> bool:  # noqa: ARG002
        """Whether an interval that fits pays for its machine."""
        return True


class Posted(Greedy):
    """Rents out machines at prices that rise with what is occupied, from L to U per slot."""

    name = "posted"
    knows = ("least", "most")

    def pays(self, interval: Interval) -> bool:
        """Whether it pays the prices of its slots."""
        low, rise = self.prior["least"], self.prior["most"] / self.prior["least"]
        price: float = sum(low * rise ** (self.running[t] / self.machines) for t in interval.slots)
        return interval.weight >= price


LONGEST = 8  # of the intervals that are drawn, slots


def rates(inst: Intervals) -> list[float]:
    """Return the weight per slot of every interval."""
    return [interval.weight / interval.length for interval in inst.intervals] or [1.0]


def generate(preset: str, *, seed: int = 0, jobs: int = 60, machines: int = 3) -> Intervals:
    """Draw an instance: every seed, and every interval, has random numbers of its own."""
    horizons = {"small": 40, "crowded": 15}
    if preset not in horizons:
        raise InputError(f"unknown preset {preset!r}, expected one of: {', '.join(horizons)}")
    horizon, drawn = horizons[preset], []
    for i in range(jobs):
        random = Streams(seed)("interval", i)
        length = int(random.integers(1, LONGEST + 1))
        weight = length * int(random.integers(1, 50))
        arrival = int(random.integers(0, horizon - LONGEST + 1))
        drawn.append(Interval(arrival=arrival, length=length, weight=weight))
    drawn.sort(key=lambda interval: interval.arrival)
    return Intervals(horizon=horizon, machines=machines, intervals=tuple(drawn))


FAMILY = Family(
    name="intervals",
    title="Interval scheduling: weighted intervals on equal machines",
    sense="max",
    instance=Intervals,
    schedule=Choice,
    certificate=Prices,
    presets=("small", "crowded"),
    sizes=("jobs", "machines"),
    generate=generate,
    verify=verify,
    check=check,
    events=events,
    public=lambda inst: Platform(horizon=inst.horizon, machines=inst.machines),
    wire=typed_wire(Platform, Offer, bool),
    assemble=assemble,
    knowledge={"least": lambda inst: min(rates(inst)), "most": lambda inst: max(rates(inst))},
    policies={"greedy": Greedy, "posted": Posted},
    trivial=("greedy",),
    methods={"auto": linear_program},
    empty=lambda inst: Choice(accepted=(False,) * len(inst.intervals)),
)
