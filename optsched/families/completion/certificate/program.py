"""Certificates by bounded dynamic programming over time, where prices alone do not close the gap.

A dynamic program that drops states by their dual bound (Morin and Marsten, 1976), on a relaxation
with aggregated servers that conflicts refine, as in logic-based Benders decomposition (Hooker and
Ottosson, 2003).

In some best schedule every job starts when it arrives or when another one ends: schedules are
semi-active (Sprecher et al., 1995), in a mode that no other one dominates (see `choices`). So the
program goes from slot to slot in which that happens. A state is a slot, the jobs that have
started, and the items that run on. Whatever follows a state costs, at any prices, at least

    weight * completion of what has started + rent of what runs on
    + sum over the others of their cheapest schedule from now on - prices * capacity from now on.

States for which some price list gives more than the value allows are dropped, and so are those
whose items exceed the cluster or hold a conflict. The remaining states form paths to the end: each
of them has to hold a conflict as well.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt

from optsched.families.completion.certificate import conflicts as servers
from optsched.families.completion.certificate.bound import BoundEvaluator, value_step
from optsched.families.completion.certificate.choices import menu_of
from optsched.families.completion.certificate.states import NOTHING
from optsched.families.completion.certificate.timeline import (
    MOST_NODES,
    MOST_STATES,
    MOST_STEPS,
    MOST_WORK,
    Timeline,
    TimelineGrid,
    UnfinishedError,
)
from optsched.families.completion.instance import LATEST, MOST_PS_TYPES, MOST_WORKERS
from optsched.numbers.arrays import Ints
from optsched.numbers.overflow import TooLargeError
from optsched.problem import Frozen
from optsched.proofs.grid import LARGEST_PRICE

MOST_JOBS = 40
MOST_LISTS = 13
MOST_BITS = 1024  # of the grid, finer or coarser than the step between values
MOST_CONFLICTS = 10_000
MOST_SHARES = 2**30  # options that are looked at in the search for all best shares
LARGEST_VALUE = 2**2048

Slot = Annotated[int, Field(ge=0, le=LATEST)]
Price = Annotated[int, Field(ge=0, lt=LARGEST_PRICE)]
PriceList = tuple[tuple[Slot, NonNegativeInt, NonNegativeInt, Price], ...]
Workers = Annotated[int, Field(ge=0, le=MOST_WORKERS)]
Bits = Annotated[int, Field(ge=0, lt=2**MOST_PS_TYPES)]
Credit = Annotated[int, Field(ge=0, lt=2**40)]
Run = tuple[NonNegativeInt, Workers, Bits, Workers, Bits, Slot, Slot]


class Conflict(Frozen):
    """Runs that do not fit together on the servers."""

    runs: tuple[Run, ...] = Field(
        min_length=1,
        max_length=servers.MOST_RUNS,
        description="[worker type, workers apart, bits of PS types, workers together, bits of PS "
        "types, first slot, last slot]",
    )
    credits: tuple[tuple[Credit, Credit], ...] = Field(
        description="of every run: credit of a worker, credit of the host"
    )


class TimelineProof(Frozen):
    """Why no schedule costs less than a value, by a program over time."""

    value: Annotated[int, Field(ge=1, lt=LARGEST_VALUE)] = Field(
        description="no schedule costs less, in units of the weights' greatest common divisor"
    )
    grid_bits: int = Field(
        ge=-MOST_BITS,
        le=MOST_BITS,
        description="prices are integers, in units of that divisor times 2**-grid_bits",
    )
    prices: tuple[PriceList, ...] = Field(
        min_length=1,
        max_length=MOST_LISTS,
        description="lists of [slot, class of servers, resource, price of one demand unit]",
    )
    conflicts: tuple[Conflict, ...] = Field(max_length=MOST_CONFLICTS)


def proved(evaluation: BoundEvaluator, program: TimelineProof) -> Fraction:
    """Return what a program proves: its value.

    Raises
    ------
    ValueError
        It does not prove it, or its content is invalid; the message states where.
    """
    inst = evaluation.inst
    if not 1 <= len(inst.jobs) <= MOST_JOBS:
        raise TooLargeError(
            f"program: the instance has {len(inst.jobs)} jobs, expected 1..{MOST_JOBS}"
        )
    step = value_step(inst)
    nodes = np.array([MOST_SHARES], np.int64)
    runs = [
        _conflict(evaluation, f"conflict {k}", one, nodes)
        for k, one in enumerate(program.conflicts)
    ]
    menu = menu_of(evaluation, (program.value - 1) * step)
    if menu is None:  # not even alone are all jobs done for less
        return program.value * step
    units = TimelineGrid(evaluation, menu, program.grid_bits)
    slots = max((t for one in program.prices for t, *_ in one), default=0) + 1
    units.check(slots, len(program.prices))
    lists = [
        units.priced(one, slots, f"program, price list {k}") for k, one in enumerate(program.prices)
    ]
    timeline = Timeline(units, lists, runs)
    limit = min(math.floor((program.value - 1) * step / units.unit), NOTHING - 1)
    if not timeline.run(limit, lambda: False):
        raise TooLargeError(
            f"program: more than {MOST_STATES} states, {MOST_STEPS} steps or {MOST_WORK} starts, "
            "expected better prices"
        )
    try:
        path = timeline.next_path(timeline.graph(), limit, lambda: False)
    except UnfinishedError as err:
        raise TooLargeError(
            f"program: more than {MOST_NODES} nodes, expected more conflicts"
        ) from err
    if path is not None:
        raise ValueError(
            "program: jobs may start in slots "
            f"{', '.join(map(str, path.start.tolist()))}, expected prices or conflicts that state "
            f"why that costs {program.value} steps of the weights or cannot be"
        )
    return program.value * step


def _conflict(evaluation: BoundEvaluator, place: str, conflict: Conflict, nodes: Ints) -> Ints:
    """Return the runs (E, 7) of a conflict, which has been verified.

    Raises
    ------
    ValueError
        It holds what does not exist, takes too long, or shows nothing.
    """
    for run in conflict.runs:
        _check_run(evaluation, f"{place}, run {list(run)}", run)
    platform, runs = evaluation.platform, np.array(conflict.runs, np.int64)
    given = np.array(conflict.credits, np.int64).reshape(-1, 2)
    if len(given) != len(runs):
        raise ValueError(f"{place}: credits of {len(given)} runs, expected {len(runs)}")
    if platform.ring and (given[runs[:, servers.APART] > 0, 1] > 0).any():
        raise ValueError(
            f"{place}: in a ring, expected no credit for the host of what may be apart"
        )
    how = servers.refuted(platform, runs, given, nodes)
    if how is None:
        raise TooLargeError(f"{place}: takes too long, expected fewer or smaller runs")
    if not how:
        raise ValueError(
            f"{place}: the servers can earn all credits, expected runs that do not fit"
        )
    return runs


def _check_run(evaluation: BoundEvaluator, place: str, run: Run) -> None:
    """Refuse a run of what does not exist."""
    platform, most = evaluation.platform, evaluation.number.most
    kinds = 1 if platform.ring else len(platform.z)
    m, apart, apart_ps, together, together_ps, first, last = run
    for wrong, words in (
        (m >= len(platform.e), f"expected worker types 0..{len(platform.e) - 1}"),
        (max(apart, together) > most, f"expected at most {most} workers"),
        (max(apart_ps, together_ps) >> kinds, f"expected bits of {kinds} types of PS"),
        (not apart_ps and not together_ps, "expected a type of PS (in a ring: bit 0)"),
        ((apart > 0) != (apart_ps > 0), "expected workers and types of PS apart, or none"),
        ((together > 0) != (together_ps > 0), "expected workers and types of PS, or none"),
        (first > last, "expected a last slot that is not before the first"),
        (platform.ring and apart == 1, "expected at least two workers apart in a ring"),
    ):
        if wrong:
            raise ValueError(f"{place}: {words}")
