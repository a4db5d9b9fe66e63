"""A trace as it is: its own times and machines, and what its cluster did with them.

Nothing is invented but the utility: what the trace does not name, a task does not ask for. A job is
its tasks; so its parameter server (PS) asks for nothing, and sits beside the machines of the list.
"""

from __future__ import annotations

from collections.abc import Sequence

from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisJob, OasisSchedule
from optsched.families.oasis.sources.presets import Settings, draw_utility
from optsched.numbers.resources import MachineClass
from optsched.numbers.streams import Ahead
from optsched.traces.as_is.replay import replay
from optsched.traces.as_is.window import AsItIs


def as_is(said: AsItIs) -> OasisInstance:
    """Make an instance of a window in which nothing is scaled."""
    streams, ranges = Ahead(said.seed), Settings()
    tasks = said.jobs["tasks"].tolist()
    return OasisInstance(
        slot_seconds=said.slot_seconds,
        horizon=said.slots,
        resources=said.resources,
        units=said.units,
        worker_machines=said.machines,
        ps_machines=(MachineClass(name="parameter servers", capacity=(0.0,) * len(said.units)),),
        jobs=tuple(
            OasisJob(
                arrival=arrival,
                epochs=1,
                chunks=tasks[i],
                batches_per_chunk=1,
                batch_time=said.seconds_per_batch(i),
                gradient_mb=0.0,
                worker_bandwidth=1.0,
                ps_bandwidth=float(tasks[i]),  # one PS is enough for all
                worker_demand=said.demand[i],
                ps_demand=(0.0,) * len(said.units),
                utility=draw_utility(
                    streams("utility", i), ranges.target, later=-(-said.work[i] // tasks[i]) - 1
                ),
            )
            for i, arrival in enumerate(said.arrival)
        ),
        drawn=("utility",),
        source=said.told,
    )


def recorded(inst: OasisInstance, start: Sequence[int | None]) -> tuple[OasisSchedule, list[str]]:
    """Return the schedule that was really run, and what of it does not fit the model."""
    tasks = [job.chunks for job in inst.jobs]
    units = inst.units_of_sides[0]
    found = replay(
        start,
        inst.work,
        tasks,
        units.demands([job.worker_demand for job in inst.jobs]),
        units.capacities(inst.worker_capacity),
        inst.horizon,
    )
    jobs = [
        None
        if placed is None
        else JobSchedule(
            workers=tuple(placed),
            ps=tuple((t, 0, 1) for t in sorted({t for t, _, _ in placed})),
        )
        for placed in found.jobs
    ]
    return OasisSchedule(jobs=tuple(jobs)), found.told()
