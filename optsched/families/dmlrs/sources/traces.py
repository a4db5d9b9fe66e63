"""Sources of instances: generators (`presets`), and traces with constants of models.

A trace names arrival, running time and number of workers of a job; a table of measured models adds
the time of a mini-batch, the gradients and both rates. Other attributes are drawn, and the
instance states it in ``drawn``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from optsched.families.dmlrs.facts import describe, offered_load, warnings
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob, DmlrsSchedule, JobSchedule
from optsched.families.dmlrs.sources.presets import Settings, generate
from optsched.numbers import settings
from optsched.numbers.resources import ceil_ratio, exact
from optsched.numbers.streams import Streams
from optsched.numbers.utility import Inverse
from optsched.problem import InputError, Window
from optsched.scheduling.jobs import transfer_slots
from optsched.scheduling.shapes import Shapes, drawn_demands
from optsched.traces import Tables, read_tables, reading
from optsched.traces.as_is import replay
from optsched.traces.as_is.window import AsItIs, open_as_is
from optsched.traces.profiles import COLUMNS, read_profiles
from optsched.traces.tables import DEFAULTS
from optsched.traces.windows import (
    HOUR,
    MOST_WORK,
    arrival_slots,
    classes_of,
    drawing_unit,
    scaled,
    take_window,
)

__all__ = ["describe", "from_trace", "generate", "offered_load", "open_trace", "warnings"]

RANGES = Settings()
RESOURCES = ("gpu", "cpu", "memory")
UNITS = ("GPU", "core", "GB")

PROFILES = pd.DataFrame(
    [
        ("small convolutional", 0.2, 25.0, 300, 2.0, 0.5),
        ("large convolutional", 0.5, 500.0, 100, 4.0, 1.5),
        ("recurrent", 0.1, 50.0, 700, 1.5, 1.0),
    ],
    columns=list(COLUMNS),
)
"""Models of a trace that comes without a list of models; made up, of the usual sizes."""


def open_trace(source: Path, window: Window) -> DmlrsInstance:
    """Make an instance of a window of the job list ``source``; see :func:`from_trace`.

    Raises
    ------
    InputError
        A file or an option is wrong, or the load cannot be reached.
    """
    if window.unscaled:
        return _as_is(open_as_is("dmlrs", source, window))
    chosen = window.settle("dmlrs", **{"machines": None, "profiles": None} | DEFAULTS)
    tables = read_tables(source, chosen.pop("machines"), chosen.pop("shapes"))
    models = []
    for path in chosen.pop("profiles") or ():
        with reading(path):
            models.append(read_profiles(path))
    return tables.open_scaled(
        chosen | {"profiles": _together(models) if models else None},
        from_trace,
        offered_load,
        lambda inst: len(inst.capacity),
        requested=window.load is not None,
    )


def _as_is(recorded: AsItIs) -> DmlrsInstance:
    """Make an instance of a window in which nothing is scaled, with its own times and machines.

    Nothing is invented: a task requests only resources that the trace names. A job is its tasks,
    and takes as long as it took wherever they sit; so both rates are the same.
    """
    utility = Inverse(scale=HOUR / recorded.slot_seconds)
    same = {"inner_bandwidth": 1.0, "outer_bandwidth": 1.0, "utility": utility}
    jobs = tuple(DmlrsJob(**recorded.job(i) | same) for i in range(len(recorded.work)))
    return DmlrsInstance(**recorded.platform(), machines=recorded.machines, jobs=jobs)


def recorded(
    source: Path, window: Window, inst: DmlrsInstance
) -> tuple[DmlrsSchedule, list[str]] | None:
    """Return the recorded schedule of a trace, and the parts that do not fit; None: no record."""
    work = [-(-needs.work // needs.inner) for needs in inst.needs]  # worker-slots
    machines = inst.units_of_demands, inst.capacity
    found = replay.recorded(source, window, inst, machines, work, JobSchedule)
    return None if found is None else (DmlrsSchedule(jobs=tuple(found[0])), found[1])


def _together(models: list[pd.DataFrame]) -> pd.DataFrame:
    table = pd.concat(models, ignore_index=True)
    table.attrs["skipped"] = tuple(name for m in models for name in m.attrs["skipped"])
    return table


def from_trace(
    tables: Tables,
    *,
    profiles: pd.DataFrame | None = None,
    jobs: int = 100,
    slots: int = 100,
    slot_seconds: float = 3600.0,
    start: float | str = 0.0,
    load: float = 2.0,
    seed: int = 0,
    min_tasks: int = 1,
) -> DmlrsInstance:
    """Make an instance of a window of a trace.

    The window holds consecutive jobs; the time between them is scaled so that they arrive from the
    first slot to the last. A job trains a model that is drawn from ``profiles``; it has at most
    ``tasks`` workers, as many chunks, and about the work of the trace: as many whole epochs (or
    part of one, if it is shorter) as run_seconds x tasks worker-seconds allow at the inner rate.

    All machines host both workers and parameter servers (PS). The list is shrunk (or grown), in its
    proportions, to the number of machines that comes nearest to the offered load.

    Parameters
    ----------
    tables : Tables
        Jobs, machines and shapes as `optsched.traces` returns them. Without machines: a default
        list; shapes: demands (gpu, cpu, memory_gb) to draw from where the trace has none.
    profiles : DataFrame, optional
        Models as `optsched.traces.profiles` returns them. Without: three made-up ones.
    jobs, slots : int
        Sizes of the window and of the horizon.
    slot_seconds : float
        Length of a slot, s.
    start : float or str
        Where the window begins, see `optsched.traces.windows.take_window`.
    load : float
        Offered load of the scarcest resource, see `offered_load`.
    seed : int
        Fixes all that is drawn; not negative.
    min_tasks : int
        Only jobs of at least this many tasks are taken.

    Raises
    ------
    InputError
        An option is wrong, or fewer than ``jobs`` jobs are left from ``start`` on.
    """
    settings.whole(jobs=jobs, slots=slots, min_tasks=min_tasks)
    settings.positive(load=load, slot_seconds=slot_seconds)
    settings.whole(0, seed=seed)
    window = take_window(tables.jobs, jobs, start, min_tasks)
    classes = classes_of(tables.listed, ("gpu", "cpu", "memory_gb"))
    models = PROFILES if profiles is None else profiles
    skipped = ", ".join(models.attrs.get("skipped", ()))
    streams = Streams(seed)
    shapes = Shapes(streams, tables.shapes)
    drawn = _jobs(
        streams,
        window,
        models,
        slot_seconds,
        {
            "arrival": arrival_slots(window, slots),
            "worker_demand": shapes.workers(window, classes),
            "ps_demand": shapes.servers(jobs, classes),
        },
        Inverse(scale=drawing_unit(slots, slot_seconds) / slot_seconds),
    )
    whole = DmlrsInstance(
        slot_seconds=slot_seconds,
        horizon=slots,
        resources=RESOURCES,
        units=UNITS,
        machines=classes,
        jobs=tuple(drawn),
        drawn=_drawn(window, profiles),
        source=(
            f"{tables.jobs.attrs.get('format', 'table')}: {jobs} jobs from "
            f"{window['name'].iloc[0]} on, at least {min_tasks} tasks each, load {load:g}, "
            f"seed {seed}{f'; models left out: {skipped}' if skipped else ''}"
        ),
    )
    machines = scaled(classes, whole.total_demand, slots, load, nearest=True)
    return whole.on(machines)


@dataclass(frozen=True)
class _Model:
    """Attributes that jobs of one model share; times are in slots."""

    batch_time: float
    gradient_mb: float
    batches: int
    inner_bandwidth: float
    outer_bandwidth: float
    batch: Fraction  # a mini-batch and its gradients, at the inner rate

    @classmethod
    def of(cls, row: Mapping[Any, Any], slot_seconds: float) -> _Model:
        """Round the constants of a row of the profiles."""
        inner, gradient = round(float(row["inner_gbps"]), 6), round(float(row["gradient_mb"]), 6)
        batch_time = round(float(row["batch_seconds"]) / slot_seconds, 12)
        return cls(
            batch_time,
            gradient,
            int(row["batches"]),
            inner,
            round(float(row["outer_gbps"]), 6),
            exact(batch_time) + 2 * transfer_slots(gradient, inner, slot_seconds),
        )


def _jobs(
    streams: Streams,
    window: pd.DataFrame,
    profiles: pd.DataFrame,
    slot_seconds: float,
    columns: Mapping[str, Sequence[Any]],
    utility: Inverse,
) -> list[DmlrsJob]:
    """Make the jobs of a window; ``columns`` are their other fields."""
    models = [_Model.of(row, slot_seconds) for row in profiles.to_dict("records")]
    each, slot = range(len(window)), exact(slot_seconds)
    which = streams.wholes("model", each, 0, len(models) - 1)
    inner = np.array([model.inner_bandwidth for model in models])[which]
    low, high = (np.maximum(x, inner) for x in RANGES.ps_bandwidth)
    ps_rates = streams.uniforms("ps_bandwidth", each, low, high).tolist()
    runs = window["run_seconds"].to_numpy(dtype=np.float64).tolist()
    found = []
    for i, (m, run, tasks, ps_rate, *rest) in enumerate(
        zip(
            which.tolist(), runs, window["tasks"].tolist(), ps_rates, *columns.values(), strict=True
        )
    ):
        model, time = models[m], exact(run)
        # worker-slots, in whole numbers, since fractions are slow
        work, unit = time.numerator * tasks * slot.denominator, time.denominator * slot.numerator
        if work > MOST_WORK * unit:
            raise InputError(
                f"job {window['name'].iloc[i]}: needs {work / unit:g} worker-slots, expected at "
                f"most {MOST_WORK}; choose longer slots"
            )
        batch = model.batch
        batches = max(1, ceil_ratio(work * batch.denominator, unit * batch.numerator))
        epoch = min(model.batches, batches)  # a short job trains part of one
        per_chunk = max(1, round(epoch / tasks))
        job = DmlrsJob(
            epochs=max(1, round(batches / (per_chunk * tasks))),
            chunks=tasks,
            batches_per_chunk=per_chunk,
            batch_time=model.batch_time,
            gradient_mb=model.gradient_mb,
            inner_bandwidth=model.inner_bandwidth,
            outer_bandwidth=model.outer_bandwidth,
            ps_bandwidth=max(model.inner_bandwidth, round(ps_rate, 2)),
            utility=utility,
            **dict(zip(columns, rest, strict=True)),
        )
        found.append(job)
    return found


def _drawn(window: pd.DataFrame, profiles: pd.DataFrame | None) -> tuple[str, ...]:
    """Name the attributes that neither the trace nor the models have."""
    made_up = () if profiles is not None else ("constants of the models",)
    return (
        *made_up,
        *("model of each job", "ps_bandwidth"),
        *drawn_demands(window),
        *("ps_demand", "utility"),
    )
