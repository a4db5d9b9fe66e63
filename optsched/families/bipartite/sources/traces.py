"""Sources of instances: generators (`presets`) and real lists of jobs and machines.

Jobs that may run on the same models of GPU, request the same class of GPUs (none, a share of one,
one, several) and, where the list states it, train the same model or are of the same user, are one
type of jobs. The most frequent types are the ports; a port is connected
to every machine with its resources: a model that it may use, or no GPU at all if it needs none.
A port requests the mean of its pods' demands, times a contention level (Table II) that brings
the scarcest resource to the offered load. Resources that the lists do not name are left out.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from optsched.families.bipartite.facts import describe, headline, offered_load, warnings
from optsched.families.bipartite.instance import BipartiteInstance, Machine, Port
from optsched.families.bipartite.sources.presets import PRESETS, draw_utilities, generate
from optsched.numbers import settings
from optsched.numbers.streams import Streams
from optsched.problem import InputError, Window
from optsched.process import messages
from optsched.traces import read_machines, reading, seconds
from optsched.traces.pods import read_arrivals
from optsched.traces.windows import NO_LIST, arrival_slots, report_scaling, take_window

__all__ = ["PRESETS", "describe", "from_trace", "generate", "headline", "open_trace", "warnings"]

RESOURCES = {"gpu": "GPU", "cpu": "core", "memory_gb": "GB"}
CLASSES = {0: "no GPU", 1: "part of a GPU", 2: "one GPU", 3: "several GPUs"}
MOST_PODS = 4000
ALPHA, BETA = (1.0, 1.5), (0.3, 0.5)
"""Ranges of the utilities' parameter and of the overheads."""

NODES = pd.DataFrame(
    [
        ("G2", 8, 96, 384, 5),
        ("T4", 2, 104, 512, 4),
        ("P100", 2, 16, 120, 1),
        ("V100M16", 8, 64, 128, 1),
        ("", 0, 96, 512, 3),
    ],
    columns=["model", "gpu", "cpu", "memory_gb", "count"],
)
"""Machines where no list is given, in the proportions of a large GPU cluster."""


def open_trace(source: Path, window: Window) -> BipartiteInstance:
    """Make an instance of a window of the list ``source``; see :func:`from_trace`.

    Raises
    ------
    InputError
        A file or an option is wrong.
    """
    chosen = window.settle(
        "bipartite",
        **{"machines": None, "jobs": None, "slots": 500, "slot": "10min", "start": None},
        **{"load": 3.0, "draw_seed": 0},
    )
    with reading(source):
        pods = read_arrivals(source)
    path, nodes = chosen.pop("machines"), None
    if path is not None:
        with reading(path):
            nodes = read_machines(path)
    slot = seconds(chosen.pop("slot"))
    return from_trace(pods, nodes, slot_seconds=slot, seed=chosen.pop("draw_seed"), **chosen)


def from_trace(  # noqa: PLR0913 - one option each
    pods: pd.DataFrame,
    nodes: pd.DataFrame | None = None,
    *,
    jobs: int | None = None,
    slots: int = 500,
    slot_seconds: float = 60.0,
    start: float | str | None = None,
    load: float = 3.0,
    seed: int = 0,
    ports: int = 10,
    machines: int = 128,
    most_jobs: int = 1,
) -> BipartiteInstance:
    """Make an instance of a window of a list of pods.

    The window holds consecutive pods; the time between them is scaled so that they arrive from the
    first slot to the last.

    Parameters
    ----------
    pods : DataFrame
        Columns as `optsched.traces.pods.read_arrivals` returns them.
    nodes : DataFrame, optional
        Columns as `optsched.traces.read_machines` returns them; by default `NODES`.
    jobs : int, optional
        Pods of the window; by default 4000, or all if the list has fewer.
    slots : int
        The horizon.
    slot_seconds : float
        Length of a slot, s.
    start : float or str, optional
        Where the window begins, as in `optsched.traces.windows.take_window`; by default so that it
        ends with the list.
    load : float
        Offered load of the scarcest resource, see `facts.offered_load`: sets the contention level.
    seed : int
        Fixes utilities and overheads.
    ports : int
        Types of jobs: the most frequent ones. Pods of other types are left out.
    machines : int
        Number of machines, in the proportions of the list.
    most_jobs : int
        Jobs of a type that count in one slot (1: as in the paper); more are left out.

    Raises
    ------
    InputError
        An option is wrong, or fewer than ``jobs`` pods are left from ``start`` on.
    """
    jobs = min(MOST_PODS, len(pods)) if jobs is None else jobs
    start = f"#{max(0, len(pods) - jobs)}" if start is None else start
    settings.whole(jobs=jobs, slots=slots, ports=ports, machines=machines, most_jobs=most_jobs)
    settings.positive(load=load, slot=slot_seconds)
    window = take_window(pods, jobs, start, 1).reset_index(drop=True)
    some, several = window["gpus"] > 0, window["gpus"] > 1
    kind = some.astype(int) + (some & (window["gpu"] >= 1)) + several  # see `CLASSES`
    window = window.assign(slot=arrival_slots(window, slots), kind=kind)
    listed = NODES if nodes is None else nodes
    named = [n for n in RESOURCES if not (window[n].isna().all() or listed[n].isna().any())]
    left = [n for n in RESOURCES if n not in named and not window[n].isna().all()]
    if left:
        messages.remark(f"{', '.join(left)}: left out, since the list of machines lacks it")
    window[named] = window[named].fillna(0.0)
    groups: dict[Any, pd.DataFrame] = dict(
        iter(window.groupby(["models", "type", "kind"], sort=False))
    )
    types = sorted(groups, key=lambda key: -len(groups[key]))[:ports]  # equal: as they appear
    chosen = [groups[key] for key in types]
    streams = Streams(seed)
    serves = [(models, kind) for models, _, kind in types]
    hosts = _machines(listed, machines, serves, named, streams)
    counts = np.array([np.bincount(group["slot"], minlength=slots) for group in chosen]).T
    arrivals = np.minimum(counts, most_jobs)
    instance = BipartiteInstance(
        slot_seconds=slot_seconds,
        horizon=slots,
        resources=tuple(named),
        units=tuple(RESOURCES[name] for name in named),
        overhead=tuple(
            round(float(streams("overhead", k).uniform(*BETA)), 4) for k in range(len(named))
        ),
        ports=tuple(
            Port(
                name=f"{CLASSES[k]} on {m.replace('|', ', ') or 'any model'}"
                + f" ({kind})" * bool(kind),
                request=tuple(float(group[name].mean()) for name in named),
                most_jobs=max(1, int(arrivals[:, i].max())),
            )
            for i, ((m, kind, k), group) in enumerate(zip(types, chosen, strict=True))
        ),
        machines=hosts,
        arrivals=tuple(map(tuple, arrivals.tolist())),
        drawn=("utility", "overhead"),
        source=(
            f"{pods.attrs.get('format', 'table')}: {jobs} jobs from {window['name'].iloc[0]} on, "
            f"{int(arrivals.sum())} of them in {len(chosen)} types, load {load:g}, "
            f"seed {seed}"
        ),
    )
    number = (
        f"{machines} {NO_LIST if nodes is None else 'in the proportions of the list'}; requests "
        f"are multiplied so that demand over capacity is {load:g}"
    )
    report_scaling(window, slots, slot_seconds, number, unscaled=False)
    return _contended(instance, load)


def _machines(
    nodes: pd.DataFrame,
    number: int,
    types: list[tuple[str, int]],
    named: list[str],
    streams: Streams,
) -> tuple[Machine, ...]:
    """Return machines in the proportions of the list, each with the ports that it can serve."""
    counts = nodes["count"].to_numpy()
    ends = np.cumsum(counts)
    # the middle of each of ``number`` equal parts of the list
    taken = np.searchsorted(ends, (np.arange(number) + 0.5) / number * ends[-1], side="right")
    found = []
    for r, row in enumerate(nodes.iloc[taken].to_dict("records")):
        model, gpu = str(row["model"]), float(row["gpu"])
        found.append(
            Machine(
                name=f"{gpu:g} x {model or 'GPU'}" if gpu else "no GPU",
                capacity=tuple(float(row[name]) for name in named),
                ports=tuple(
                    i for i, (models, kind) in enumerate(types) if _serves(gpu, model, models, kind)
                ),
                utility=draw_utilities(
                    streams("utility", r), len(named), ALPHA, PRESETS["paper"].utilities
                ),
            )
        )
    return tuple(found)


def _serves(gpu: float, model: str, models: str, kind: int) -> bool:
    """Whether a machine has the resources of a type of jobs."""
    if kind == 0:
        return True
    return gpu >= (2 if kind == 3 else 1) and (not models or model in models.split("|"))


def _contended(inst: BipartiteInstance, load: float) -> BipartiteInstance:
    """Multiply all requests so that the scarcest resource has the offered load."""
    now = max(x for x in offered_load(inst).values() if math.isfinite(x))
    if now == 0:
        raise InputError("no job of the window requests anything, expected some demand")
    level = load / now
    ports = tuple(
        port.model_copy(update={"request": tuple(round(a * level, 4) for a in port.request)})
        for port in inst.ports
    )
    source = f"{inst.source}, contention {level:.4g}"
    return inst.model_copy(update={"ports": ports, "source": source})
