"""Online process: submissions and completions; a decision names the jobs that start now.

When a job ends depends on when it was started, so the events answer to decisions: ``events`` is a
generator that is sent each of them. In a packed platform tasks go to the first nodes with space.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Sequence
from typing import TypeAlias

import numpy as np
from pydantic import Field

from optsched.families.rigid.instance import (
    Platform,
    RigidInstance,
    RigidSchedule,
    Submission,
)
from optsched.families.rigid.profile import holds
from optsched.numbers.arrays import Ints
from optsched.policies.serialization import typed_wire
from optsched.problem import Frozen, Information, InputError

Decision: TypeAlias = tuple[int, ...]
"""Jobs that start now, by number, in this order."""


class Event(Frozen):
    """Events of one second: jobs end, then others are submitted."""

    slot: int = Field(description="the second")
    ended: tuple[int, ...] = Field(description="jobs that end now")
    arrived: tuple[tuple[int, Submission], ...] = Field(
        description="jobs that are submitted now, in list order"
    )


WIRE = typed_wire(Platform, Event, tuple[int, ...])


class Nodes:
    """Free capacity of every node (or of the pool), and allocation of each running job."""

    def __init__(self, platform: Platform) -> None:
        self.platform, self.free = platform, platform.bins.copy()
        self.held: dict[int, tuple[Ints, Ints]] = {}  # job -> tasks on each node, need of one

    def start(self, i: int, job: Submission) -> bool:
        """Give a job the first nodes with space; return whether there was enough."""
        tasks, demand = self.platform.demand(job)
        need, tasks_on = np.array(demand, np.int64), np.zeros(len(self.free), np.int64)
        if i in self.held or holds(self.free, tasks, need, tasks_on) < tasks:
            return False
        self.free -= tasks_on[:, None] * need
        self.held[i] = tasks_on, need
        return True

    def end(self, i: int) -> None:
        """Release the resources of a job."""
        tasks_on, need = self.held.pop(i)
        self.free += tasks_on[:, None] * need


def events(
    inst: RigidInstance, information: Information = "after"
) -> Generator[Event, Sequence[int] | None, None]:
    """Walk from one submission or completion to the next; the policy answers each of them.

    A decision that cannot be carried out changes nothing here, and `assemble` refuses it.
    """
    if information != "after":
        raise InputError(f'information is "{information}", expected "after" in family rigid')
    order = sorted(range(len(inst.jobs)), key=lambda i: inst.jobs[i].arrival)
    running: list[tuple[int, int]] = []
    nodes, come, started = Nodes(inst), 0, set[int]()
    while come < len(order) or running:
        now = inst.jobs[order[come]].arrival if come < len(order) else running[0][0]
        if running:
            now = min(now, running[0][0])
        ended = []
        while running and running[0][0] == now:
            ended.append(heapq.heappop(running)[1])
            nodes.end(ended[-1])
        first = come
        while come < len(order) and inst.jobs[order[come]].arrival == now:
            come += 1
        arrived = tuple((i, inst.jobs[i].submission()) for i in order[first:come])
        decision = yield Event.model_construct(slot=now, ended=tuple(ended), arrived=arrived)
        for i in decision or ():
            known = 0 <= i < len(inst.jobs) and i not in started and inst.jobs[i].arrival <= now
            if known and nodes.start(i, inst.jobs[i]):
                started.add(i)
                heapq.heappush(running, (now + inst.jobs[i].run, i))


def assemble(inst: RigidInstance, played: Sequence[tuple[Event, Sequence[int]]]) -> RigidSchedule:
    """Collect the starts of all decisions.

    Raises
    ------
    ValueError
        A decision names a job that does not exist, is not submitted yet, has started before, or
        does not fit.
    """
    start: list[int | None] = [None] * len(inst.jobs)
    placed: list[tuple[tuple[int, int], ...]] = [()] * len(inst.jobs)
    nodes = Nodes(inst)
    for event, decision in played:
        for i in event.ended:
            nodes.end(i)
        for i in decision:
            if not 0 <= i < len(inst.jobs):
                raise ValueError(f"job {i} does not exist, expected 0..{len(inst.jobs) - 1}")
            if inst.jobs[i].arrival > event.slot:
                raise ValueError(
                    f"second {event.slot}: job {i} is started, but submitted in second "
                    f"{inst.jobs[i].arrival}"
                )
            if start[i] is not None:
                raise ValueError(
                    f"second {event.slot}: job {i} was already started in second {start[i]}"
                )
            if not nodes.start(i, inst.jobs[i]):
                raise ValueError(
                    f"second {event.slot}: job {i} does not fit next to the running jobs"
                )
            start[i] = event.slot
            tasks_on = nodes.held[i][0]
            placed[i] = tuple((int(h), int(tasks_on[h])) for h in np.flatnonzero(tasks_on))
    return RigidSchedule(start=tuple(start), nodes=tuple(placed) if inst.packed else ())
