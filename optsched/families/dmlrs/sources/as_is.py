"""A trace as it is: its own times and machines, and what its cluster did with them.

Nothing is invented: what the trace does not name, a task does not ask for. A job is its tasks, and
takes as long as it took wherever they sit; so its parameter server (PS) asks for nothing, and both
rates are the same.
"""

from __future__ import annotations

from pathlib import Path

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob, DmlrsSchedule, JobSchedule
from optsched.numbers.utility import Inverse
from optsched.problem import Window
from optsched.traces.as_is import replay
from optsched.traces.as_is.window import AsItIs


def as_is(said: AsItIs) -> DmlrsInstance:
    """Make an instance of a window in which nothing is scaled."""
    same = {"inner_bandwidth": 1.0, "outer_bandwidth": 1.0, "utility": Inverse()}
    jobs = tuple(DmlrsJob(**said.job(i) | same) for i in range(len(said.work)))
    return DmlrsInstance(**said.platform(), machines=said.machines, jobs=jobs)


def recorded(
    source: Path, window: Window, inst: DmlrsInstance
) -> tuple[DmlrsSchedule, list[str]] | None:
    """Return what the cluster of a trace did, and what of it does not fit; None: it is not told."""
    work = [-(-needs.work // needs.inner) for needs in inst.needs]  # worker-slots
    machines = inst.units_of_demands, inst.capacity
    found = replay.recorded(source, window, inst, machines, work, JobSchedule)
    return None if found is None else (DmlrsSchedule(jobs=tuple(found[0])), found[1])
