"""Recorded schedule of a cluster: recorded starts become placements.

A trace states when a job began and how many tasks it had, not where they ran. So every job takes
all its workers from the slot of its recorded start on, on as few machines as possible.
Slots are coarser than time: a job that began at the end of a slot may begin in the next one. What
then does not fit is left out and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from optsched.numbers.arrays import Ints
from optsched.numbers.resources import Units
from optsched.problem import Window
from optsched.traces.as_is.window import open_as_is

Placed = list[tuple[int, int, int]]
"""[slot, machine, number of workers]"""


@dataclass
class Replay:
    """Where the workers of every job were, None for a job that is left out, and why it is."""

    jobs: list[Placed | None]
    later: int = 0  # jobs that begin a slot after the recorded one
    crowded: int = 0
    late: int = 0
    unknown: int = 0
    placed: int = field(default=0)

    def summary(self) -> list[str]:
        """Return what fits the model, and what does not, one line each."""
        number = len(self.jobs)
        lines = [f"what your cluster did: {self.placed} of {number} jobs run as recorded"]
        if self.later:
            lines[0] += f", {self.later} of them a slot later, where they fit"
        for count, why in (
            (self.unknown, "have no recorded start"),
            (self.late, "ended after the horizon"),
            (
                self.crowded,
                "need more than the machines have left in their slots (a job of a few minutes "
                "takes whole slots: shorter ones may help)",
            ),
        ):
            if count:
                lines.append(f"what your cluster did: left out, {count} of {number} jobs {why}")
        return lines


def recorded(
    source: Path,
    window: Window,
    inst: Any,
    machines: tuple[Units, Sequence[Sequence[float]]],
    work: Sequence[int],
    kind: Callable[..., Any],
    *,
    server: int | None = None,
) -> tuple[list[Any], list[str]] | None:
    """Return the recorded schedule of a trace, and the parts that do not fit; None: no record.

    Parameters
    ----------
    source, window
        What the instance ``inst`` was made of.
    machines : Units, sequence of shape (H, R)
        Units of the workers' demands, and capacities of their machines.
    work : sequence of int
        Worker-slots of each job.
    kind : callable
        Makes the schedule of a job of its ``workers`` and ``ps``.
    server : int, optional
        The machine of all parameter servers; by default they sit next to workers of their job.
    """
    start = open_as_is(inst.family, source, window).recorded if window.unscaled else None
    if start is None:
        return None
    units, capacity = machines
    tasks, demand = [j.chunks for j in inst.jobs], [j.worker_demand for j in inst.jobs]
    amounts = units.demands(demand), units.capacities(capacity)
    found = replay(start, work, tasks, *amounts, inst.horizon)
    jobs = []
    for placed in found.jobs:
        servers = {t: h if server is None else server for t, h, _ in placed or ()}
        ps = tuple((t, h, 1) for t, h in sorted(servers.items()))
        jobs.append(None if placed is None else kind(workers=tuple(placed), ps=ps))
    return jobs, found.summary()


def replay(
    start: Sequence[int | None],
    work: Sequence[int],
    tasks: Sequence[int],
    demand: Ints,
    capacity: Ints,
    horizon: int,
) -> Replay:
    """Place jobs as they were recorded, in the order of their starts.

    Parameters
    ----------
    start : sequence
        Slots; None where no start was recorded.
    work, tasks : sequence of int
        Worker-slots of a job, and its workers in a slot.
    demand : shape (I, R)
        Of one worker, in the units of ``capacity``.
    capacity : shape (H, R)
    horizon : int
        Slots.
    """
    found = Replay([None] * len(start))
    free = np.broadcast_to(capacity, (horizon, *capacity.shape)).copy()  # (T, H, R)
    known = [(begin, i) for i, begin in enumerate(start) if begin is not None]
    found.unknown = len(start) - len(known)
    for begin, i in sorted(known):
        slots = -(-work[i] // tasks[i])
        numbers = [tasks[i]] * (slots - 1) + [work[i] - (slots - 1) * tasks[i]]
        if begin + slots > horizon:
            found.late += 1
            continue
        for later in (0, 1):
            first = begin + later
            if first + slots > horizon:
                continue
            placed = _placed(free[first : first + slots], demand[i], numbers)
            if placed is not None:
                found.jobs[i] = [(first + t, h, n) for t, h, n in placed]
                found.placed += 1
                found.later += later
                break
        else:
            found.crowded += 1
    return found


def _placed(free: Ints, demand: Ints, numbers: Sequence[int]) -> Placed | None:
    """Place ``numbers`` workers in every slot of ``free``, shape (D, H, R); None: no fit."""
    needed = np.flatnonzero(demand)
    most = max(numbers)
    if len(needed):
        max_units = (free[:, :, needed] // demand[needed]).min(axis=2)  # (D, H)
    else:
        max_units = np.full(free.shape[:2], most)
    if (max_units.sum(axis=1) < numbers).any():
        return None
    always = max_units.min(axis=0)
    constant = always.sum() >= most  # on the same machines in all slots
    chosen: Placed = []
    for t, number in enumerate(numbers):
        left = number
        for h in _order(always if constant else max_units[t], most if constant else number):
            n = min(left, int(always[h] if constant else max_units[t, h]))
            chosen.append((t, int(h), n))
            left -= n
            if not left:
                break
    for t, h, n in chosen:
        free[t, h] -= n * demand
    return chosen


def _order(max_units: Ints, number: int) -> Ints:
    """Return the machines to fill: the fullest with capacity for all, or else the emptiest ones."""
    enough = np.flatnonzero(max_units >= number)
    if len(enough):
        return enough[[np.argmin(max_units[enough])]]
    return np.argsort(-max_units, kind="stable")
