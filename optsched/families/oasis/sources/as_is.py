"""A trace as it is: its own times and machines, and what its cluster did with them.

Nothing is invented but the utility: what the trace does not name, a task does not ask for. A job is
its tasks; so its parameter server (PS) asks for nothing, and sits beside the machines of the list.
"""

from __future__ import annotations

from pathlib import Path

from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisJob, OasisSchedule
from optsched.families.oasis.sources.presets import Settings, draw_utility
from optsched.numbers.resources import MachineClass
from optsched.numbers.streams import Ahead
from optsched.problem import Window
from optsched.traces.as_is import replay
from optsched.traces.as_is.window import AsItIs


def as_is(said: AsItIs) -> OasisInstance:
    """Make an instance of a window in which nothing is scaled."""
    streams, target = Ahead(said.seed), Settings().target
    jobs = []
    for i, work in enumerate(said.work):
        known = said.job(i)
        later = -(-work // known["chunks"]) - 1
        utility = draw_utility(streams("utility", i), target, later=later)
        jobs.append(OasisJob(**known, worker_bandwidth=1.0, utility=utility))
    nothing = (0.0,) * len(said.units)
    return OasisInstance(
        **said.platform(),
        worker_machines=said.machines,
        ps_machines=(MachineClass(name="parameter servers", capacity=nothing),),
        jobs=tuple(jobs),
    )


def recorded(
    source: Path, window: Window, inst: OasisInstance
) -> tuple[OasisSchedule, list[str]] | None:
    """Return what the cluster of a trace did, and what of it does not fit; None: it is not told."""
    machines = inst.units_of_sides[0], inst.worker_capacity
    found = replay.recorded(source, window, inst, machines, inst.work, JobSchedule, server=0)
    return None if found is None else (OasisSchedule(jobs=tuple(found[0])), found[1])
