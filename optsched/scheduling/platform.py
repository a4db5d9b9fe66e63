"""Platforms with slots and resources, and instances of jobs on them, shared by families."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from optsched.base import Text
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import Closed, close
from optsched.problem import Frozen, Instance

MOST_FREE = 2**26  # slots times machines times resources


def check_resources(resources: Sequence[str], units: Sequence[str]) -> None:
    """Refuse names that are used twice, and units that are not one per resource."""
    if len(set(resources)) < len(resources):
        names = ", ".join(resources)
        raise ValueError(f"resources {names}: a name is used twice, expected different names")
    check_shape(resources, "units", units or resources)


def check_shape(resources: Sequence[str], what: str, entries: Sequence[object]) -> None:
    """Refuse what has not one entry per resource."""
    if len(entries) != len(resources):
        raise ValueError(
            f"{what} has {len(entries)} entries, expected one per resource: {', '.join(resources)}"
        )


def check_units(capacity: Ints, limit: int) -> None:
    """Refuse capacities, of any shape, of ``limit`` units or more: a power of two."""
    if capacity.max(initial=0) >= limit:
        raise ValueError(
            "a capacity divided by the finest decimal of a demand exceeds "
            f"2**{limit.bit_length() - 1}, expected fewer decimals or a larger unit"
        )


def check_table(what: str, slots: int, machines: int, resources: int) -> None:
    """Refuse a table of what is free on every machine in every slot that takes 0.5 GB or more."""
    if slots * machines * resources > MOST_FREE:
        raise ValueError(
            f"{slots} slots times {machines} {what} times {resources} resources, expected a "
            f"product of at most {MOST_FREE}: fewer or longer slots, or fewer machines"
        )


class SlottedPlatform(Frozen):
    """A horizon of slots, and resources: how the public data of most families begin."""

    slot_seconds: PositiveFloat = Field(default=3600.0, description="length of a slot, s")
    horizon: PositiveInt = Field(description="T: number of slots")
    resources: tuple[Text, ...] = Field(min_length=1, description="names, shape (R,)")
    units: tuple[Text, ...] = Field(
        default=(), description="unit of each resource; () if there is none"
    )

    @model_validator(mode="after")
    def _resources_have_names(self) -> Self:
        check_resources(self.resources, self.units)
        return self


class JobsInstance(Instance):
    """Jobs that arrive in slots; a job's place in the list is its identity."""

    jobs: tuple[Any, ...]
    drawn: tuple[str, ...] = Field(default=(), description="fields that were drawn, not measured")
    source: Text = Field(default="", description="where the instance comes from")
    redrawn: NonNegativeInt = Field(
        default=0, description="draws that were rejected because they can never finish"
    )

    def check_arrivals(self, horizon: int) -> None:
        """Refuse a job that arrives after the last slot."""
        for i, job in enumerate(self.jobs):
            if job.arrival >= horizon:
                raise ValueError(
                    f"job {i}: arrival {job.arrival} is outside the horizon 0..{horizon - 1}"
                )


class TrainingInstance(JobsInstance):
    """Training jobs with workers and parameter servers, which earn a utility."""

    def check_jobs(self, horizon: int, resources: Sequence[str]) -> None:
        """Refuse a job that does not fit the platform."""
        self.check_arrivals(horizon)
        number = len(resources)
        for i, job in enumerate(self.jobs):
            if len(job.worker_demand) != number or len(job.ps_demand) != number:
                for field in ("worker_demand", "ps_demand"):
                    check_shape(resources, f"job {i}: {field}", getattr(job, field))
            if job.batch_time == 0 and job.gradient_mb == 0:
                raise ValueError(
                    f"job {i}: batch_time and gradient_mb are both 0, "
                    "expected some time per mini-batch"
                )

    def shifted(self, exponent: int) -> Self:
        """Return the instance with 2**exponent times the utilities."""
        jobs = (
            job.model_copy(update={"utility": job.utility.shifted(exponent)}) for job in self.jobs
        )
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return cast(Self, type(self).model_construct(**{**fields, "jobs": tuple(jobs)}))


def utility_table(jobs: Iterable[Any], horizon: int) -> Floats:
    """Return what each job earns if it completes in each slot, 0 before its arrival; (I, T)."""
    listed = list(jobs)
    utility = np.zeros((len(listed), horizon))
    for i, job in enumerate(listed):
        utility[i, job.arrival :] = job.utility.of_first(horizon - job.arrival)
    return utility


@dataclass(frozen=True, eq=False)
class JobArrays(Closed):
    """Arrays of an instance with jobs that earn by when they complete."""

    inst: Any

    @cached_property
    def utility(self) -> Floats:
        """Utility of each job if it completes in each slot, 0 before its arrival; (I, T).

        No job completes before its earliest slot: till then, what it earns there; 0 without one.
        So nothing that is impossible sets the scale of a program.
        """
        table = utility_table(self.inst.jobs, self.inst.horizon)
        for earned, job, end in zip(table, self.inst.jobs, self.inst.earliest, strict=True):
            earned[job.arrival : end] = 0.0 if end is None else earned[end]
        close(table)
        return table
