"""A trace as it is: its own times and machines, and what its cluster did with them.

Nothing is invented: what the trace does not name, a task does not ask for. A job is its tasks, and
takes as long as it took wherever they sit; so its parameter server (PS) asks for nothing, and both
rates are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob, DmlrsSchedule, JobSchedule
from optsched.numbers.utility import Inverse
from optsched.traces.as_is.replay import replay
from optsched.traces.as_is.window import AsItIs


def as_is(said: AsItIs) -> DmlrsInstance:
    """Make an instance of a window in which nothing is scaled."""
    tasks = said.jobs["tasks"].tolist()
    return DmlrsInstance(
        slot_seconds=said.slot_seconds,
        horizon=said.slots,
        resources=said.resources,
        units=said.units,
        machines=said.machines,
        jobs=tuple(
            DmlrsJob(
                arrival=arrival,
                epochs=1,
                chunks=tasks[i],
                batches_per_chunk=1,
                batch_time=said.seconds_per_batch(i),
                gradient_mb=0.0,
                inner_bandwidth=1.0,
                outer_bandwidth=1.0,
                ps_bandwidth=float(tasks[i]),  # one PS is enough for all
                worker_demand=said.demand[i],
                ps_demand=(0.0,) * len(said.units),
                utility=Inverse(),
            )
            for i, arrival in enumerate(said.arrival)
        ),
        drawn=("utility",),
        source=said.told,
    )


def recorded(inst: DmlrsInstance, start: Sequence[int | None]) -> tuple[DmlrsSchedule, list[str]]:
    """Return the schedule that was really run, and what of it does not fit the model."""
    tasks = [job.chunks for job in inst.jobs]
    work = [-(-needs.work // needs.inner) for needs in inst.needs]  # worker-slots
    units = inst.units_of_demands
    found = replay(
        start,
        work,
        tasks,
        units.demands([job.worker_demand for job in inst.jobs]),
        units.capacities(inst.capacity),
        inst.horizon,
    )
    jobs = [
        None
        if placed is None
        else JobSchedule(
            workers=tuple(placed),
            ps=tuple((t, h, 1) for t, h in sorted({t: h for t, h, _ in placed}.items())),
        )
        for placed in found.jobs
    ]
    return DmlrsSchedule(jobs=tuple(jobs)), found.told()
