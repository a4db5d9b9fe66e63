"""Instances of any magnitude whose optimum is known: the best order of jobs on one server.

A job needs the whole server for so many slots. Where it may also run on a part of it, for as much
longer, all jobs are there from the beginning: then sharing the server is never better than taking
turns, since whole shares would end no later in the best order.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionJob,
    CompletionSchedule,
    Piece,
    WorkerType,
)
from optsched.numbers.resources import MachineClass, exact


def exclusive(
    jobs: Sequence[tuple[int, float, int]],
    *,
    workers: int = 1,
    demand: float = 1.0,
    horizon: int = 50,
    deadline: bool = False,
) -> CompletionInstance:
    """Return jobs of (arrival, weight, duration with all workers) on one server.

    A worker takes ``demand``, and ``workers`` of them all that there is.
    """
    assert workers == 1 or not any(arrival for arrival, *_ in jobs)
    return CompletionInstance(
        architecture="ring",
        slot_seconds=10.0,
        horizon=horizon,
        enforce_horizon=deadline,
        resources=("gpu",),
        servers=(MachineClass(capacity=(workers * demand,)),),
        worker_types=(WorkerType(demand=(demand,), bandwidth=10.0),),
        jobs=tuple(
            CompletionJob(
                arrival=arrival,
                weight=weight,
                epochs=duration,
                chunks=workers,
                batches_per_chunk=1,
                batch_time=(1.0,),
                update_time=(0.0,),
                gradient_mb=0.0,
            )
            for arrival, weight, duration in jobs
        ),
    )


def least(inst: CompletionInstance) -> Fraction | None:
    """Return the optimum; None if the deadline is too early."""
    found = []
    for order in permutations(range(len(inst.jobs))):
        end, total = 0, Fraction(0)
        for j in order:
            job = inst.jobs[j]
            end = max(end, job.arrival) + inst.duration(job, 0, 0, True, job.chunks)
            total += exact(job.weight) * end
        if inst.deadline is None or end <= inst.deadline:
            found.append(total)
    return min(found, default=None)


def in_order(inst: CompletionInstance, order: Sequence[int]) -> CompletionSchedule:
    """Return the schedule in which jobs run in an order, each as soon as it can."""
    pieces: dict[int, Piece] = {}
    end = 0
    for j in order:
        job = inst.jobs[j]
        piece = Piece(
            start=max(end, job.arrival),
            duration=inst.duration(job, 0, 0, True, job.chunks),
            worker_type=0,
            ps_type=None,
            workers=((0, job.chunks),),
            ps=(),
        )
        pieces[j], end = piece, piece.end
    return CompletionSchedule(jobs=tuple((pieces[j],) for j in range(len(pieces))))
