"""Training jobs of families 1 to 3: shared data, and arrival processes."""

from __future__ import annotations

import inspect
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, wraps
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt

from optsched.numbers import settings
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import MachineClass, exact, units_that_fit
from optsched.problem import Frozen, Information, InputError

MB_PER_GBIT = Fraction(8, 1000)  # seconds that 1 MB takes on 1 Gbit/s

Count = Annotated[int, Field(ge=1, le=10**9)]
"""How many there are of something in a job."""


class ChunkedJob(Frozen):
    """A job that passes over chunks of data, unknown before it arrives."""

    arrival: NonNegativeInt = Field(description="slot of arrival; the first slot is 0")
    epochs: Count = Field(description="passes over the data")
    chunks: Count = Field(description="data chunks, so the most workers in a slot")
    batches_per_chunk: Count = Field(description="mini-batches in a chunk")


class TrainingJob(ChunkedJob):
    """A job that trains a model with one kind of worker."""

    batch_time: NonNegativeFloat = Field(description="time of a mini-batch on one worker, slots")
    gradient_mb: NonNegativeFloat = Field(description="size of the gradients, MB")


@lru_cache(maxsize=2**16, typed=True)
def transfer_slots(gradient_mb: float, gbit_per_second: float, slot_seconds: float) -> Fraction:
    """Return the time, in slots, to send the gradients once: 0.008 e / (b slot_seconds)."""
    return MB_PER_GBIT * exact(gradient_mb) / (exact(gbit_per_second) * exact(slot_seconds))


@dataclass(frozen=True)
class Arrivals:
    """Event at the beginning of a slot: the arriving jobs, by index, in index order."""

    slot: int
    jobs: Mapping[int, ChunkedJob]


def arrivals_by_slot(
    jobs: Sequence[ChunkedJob], horizon: int, information: Information = "after"
) -> Iterator[Arrivals]:
    """Walk the horizon slot by slot, handing over every job in the slot in which it arrives.

    A policy that decides before a slot's arrivals is handed those of the slot before.
    """
    known: list[dict[int, ChunkedJob]] = [{} for _ in range(horizon + 1)]
    shift = 1 if information == "before" else 0
    for i, job in enumerate(jobs):
        known[job.arrival + shift][i] = job
    for t in range(horizon):
        yield Arrivals(t, MappingProxyType(known[t]))


def events(inst: Any, information: Information = "after") -> Iterator[Arrivals]:
    """Hand over the jobs of an instance slot by slot."""
    return arrivals_by_slot(inst.jobs, inst.horizon, information)


LIGHT = 0.5
EARNS = 0.01
"""A job can earn if the fastest run brings more than this share of the utility of no delay."""


def headline(inst: Any) -> str:
    """Return the size in a phrase."""
    return f"{len(inst.jobs)} jobs"


def spread(values: Iterable[float]) -> dict[str, float]:
    """Return the least, the median and the greatest of some numbers."""
    ordered = sorted(values)
    if not ordered:
        return {}
    return {"min": ordered[0], "median": statistics.median(ordered), "max": ordered[-1]}


def share(flags: Iterable[bool]) -> float:
    """Return the share of the flags that are set, 0 of none."""
    listed = list(flags)
    return sum(listed) / len(listed) if listed else 0.0


def classes_of(machines: Iterable[MachineClass], resources: Sequence[str]) -> list[dict[str, Any]]:
    """Return name, number and capacities of every class of machines."""
    return [
        {"name": c.name, "count": c.count, **dict(zip(resources, c.capacity, strict=True))}
        for c in machines
    ]


class Totals:
    """Total demand of jobs by resource, added up exactly: fractions only of distinct amounts."""

    def __init__(self, resources: int) -> None:
        self._slots: list[dict[float, int]] = [{} for _ in range(resources)]

    def add(self, slots: Sequence[int], demands: Sequence[Sequence[float]]) -> None:
        """Add every one of ``demands``, by resource, in this many slots; many at once are quick."""
        for r, known in enumerate(self._slots):
            for demand, n in zip(demands, slots, strict=True):
                amount = demand[r]
                known[amount] = known.get(amount, 0) + n

    def exact(self) -> list[Fraction]:
        """Return amount x slots by resource, shape (R,)."""
        return [sum((exact(a) * n for a, n in k.items()), Fraction(0)) for k in self._slots]


def load_of(
    total: Sequence[Fraction], machines: Sequence[MachineClass], inst: Any
) -> dict[str, float]:
    """Return demand x slots (by resource) over all that the machines have until the horizon.

    inf where there is demand and no capacity.
    """
    loads = {}
    for r, name in enumerate(inst.resources):
        whole = sum(c.count * exact(c.capacity[r]) for c in machines) * inst.horizon
        none = float("inf") if total[r] else 0.0
        loads[name] = float(total[r] / whole) if whole else none
    return loads


@dataclass(frozen=True)
class LoadProfile:
    """Load profile: demand of jobs for a resource, if all of them run at once.

    Attributes
    ----------
    resource : str
    arrival : sequence of int
        Slots.
    slots : sequence of float
        How long each job runs from its arrival on, 0 for those that do not count.
    amount : sequence of float
        What it requests meanwhile.
    whole : float
        What all machines have.
    """

    resource: str
    arrival: Sequence[int]
    slots: Sequence[float]
    amount: Sequence[float]
    whole: float

    def between(self, edges: Ints | Floats) -> Floats:
        """Return the load from each of the ``edges`` to the next, in slots, shape (E - 1,)."""
        arrival, slots, amount = (
            np.array(x, dtype=np.float64) for x in (self.arrival, self.slots, self.amount)
        )
        ran = np.clip(edges[:, None] - arrival, 0.0, slots)  # (E, I)
        # of each job alone: differences of totals may be below 0
        load: Floats = np.diff(ran, axis=0) @ amount / (np.diff(edges) * (self.whole or np.nan))
        return load

    def tenths(self, horizon: int) -> list[float]:
        """Return the load in every tenth of the horizon; nothing, if there is no such resource."""
        # of the horizon, whose loads are reported
        edges = np.linspace(0, horizon, min(10, horizon) + 1)
        return [float(f"{x:.3g}") for x in self.between(edges)] if self.whole else []


MOST_MACHINES = 100_000
Made = TypeVar("Made")


def sized_by_load(
    load_of: Callable[[Any], float], machines_of: Callable[[Any], int]
) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Give a generator the option ``load``: it sets the number of machines, however many the jobs.

    Parameters
    ----------
    load_of : callable
        Of an instance: the offered load of the scarcest resource.
    machines_of : callable
        Of an instance: how many there are.
    """

    def decorate(generate: Callable[..., Made]) -> Callable[..., Made]:
        @wraps(generate)
        def wrapper(*args: Any, load: float | None = None, **given: Any) -> Made:
            if load is None:
                return generate(*args, **given)
            settings.positive(load=load)
            if given.get("machines") is not None:
                raise InputError("load sets the number of machines, expected one of the two")
            jobs = given.get("jobs")

            def drawn(number: int | None, some: int | None) -> tuple[Made, float]:
                """Draw ``some`` jobs; return them, and the load if all were there."""
                made = generate(*args, **given | {"jobs": some, "machines": number})
                times = 1 if jobs is None or some is None else jobs / some
                return made, load_of(made) * times

            # sampled jobs, to estimate the number of machines
            few = None if jobs is None else min(jobs, 300)
            made, got = drawn(None, few)
            number = machines_of(made)
            for _ in range(8):  # fewer machines also mean smaller jobs, if all shall finish
                before, number = number, max(2, round(number * got / load))
                if number > MOST_MACHINES:
                    raise InputError(
                        f"load {load:g} requests {number} machines, expected at most "
                        f"{MOST_MACHINES}; raise the load"
                    )
                if abs(number - before) <= before / 100:
                    break
                got = drawn(number, few)[1]
            made, got = drawn(number, jobs)
            closer = max(2, round(number * got / load))
            if closer != number:
                made, got = min(
                    ((made, got), drawn(closer, jobs)), key=lambda x: abs(math.log(x[1] / load))
                )
            # times the load that is requested, or the reverse: as far off as one machine may be
            if not 1 / 1.4 <= got / load <= 1.4:
                raise InputError(
                    f"load {load:g} cannot be reached: with {machines_of(made)} machines it is "
                    f"{got:.3g}; expected about that, or other sizes"
                )
            return made

        signature = inspect.signature(generate)
        option = inspect.Parameter("load", inspect.Parameter.KEYWORD_ONLY, default=None)
        wrapper.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), option]
        )
        return wrapper

    return decorate


def warn_of_low_load(load: float) -> list[str]:
    """Return a warning if demand is well below capacity."""
    if load >= LIGHT:
        return []
    return [f"the offered load is {load:.2g}: capacity is ample, and policies may look alike"]


def misfit(job: Any, workers: Sequence[MachineClass], ps: Sequence[MachineClass], inst: Any) -> str:
    """Return why not even one worker of a job runs on the empty machines."""
    for what, demand, machines in (
        ("a worker", job.worker_demand, workers),
        ("a parameter server", job.ps_demand, ps),
    ):
        if not any(units_that_fit(c.capacity, demand, 1) for c in machines):
            demand_text = ", ".join(
                f"{d:g} {r}" for r, d in zip(inst.resources, demand, strict=True) if d
            )
            return f"{what} fits on no machine, it requests {demand_text}"
    return "not even one worker finds the parameter servers that it needs"


def abridged(troubles: Sequence[str], jobs: int) -> list[str]:
    """Return what is reported of jobs that can never run: the first few, and how many there are.

    >>> abridged(["job 0: too large", "job 1: too large"], 9)
    ['job 0: too large', 'job 1: too large']
    """
    # jobs whose problems are listed in full
    if len(troubles) <= 3:
        return list(troubles)
    return [
        *troubles[:3],
        f"{len(troubles)} of {jobs} jobs can never finish; only the first three are listed. For a "
        "trace, --slot-length (longer slots), --horizon (more of them) or --start (another part) "
        "may help",
    ]
