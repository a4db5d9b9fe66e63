"""What the experiments of this paper share: instances, a value swept, a line per policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from optsched.drawing import colours_of, finish, legend, new_figure
from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.modes import Cluster
from optsched.families.completion.sources.presets import generate
from optsched.numbers.resources import MachineClass
from optsched.papers.estimate import Estimate, lead
from optsched.papers.experiment import (
    OPEN,
    Cell,
    Experiment,
    Row,
    Rows,
    Setting,
    Summary,
    grouped,
    line,
    mean_with_interval,
    whisker,
)
from optsched.papers.verdict import Outcome

BOUND = "hindsight"  # the certified bound, which the paper lacks
FREE = -1  # instead of a worker type: every job chooses
SERVERS = 150  # of whose classes the capacity is made
SHARE = 0.2  # of the ideal demand for GPUs
AXES = {
    "jobs": "jobs",
    "servers": "servers, among which the same capacity is divided",
    "F": "F, bound on weight / resources",
    "worker_type": "worker type of all jobs",
    "most_workers": "most workers of a job",
    "total": "weighted completion time, weight x slots",
    "weight": "weight that ends by the deadline",
    "seconds": "running time, s",
}
LABELS = {
    "a_online": "A_online",
    "a_online-density": "A_online by density (ours)",
    "fifo": "FIFO, 1 to 30 workers",
    "drf": "DRF",
    "antman": "AntMan (preempts)",
    "tiresias": "Tiresias (preempts)",
    BOUND: "certified bound",
    "a_maxweight": "A_maxweight",
    "density": "A_maxweight by density (ours)",
    "jain": "Jain et al.",
    "ps": "parameter servers",
    "ring": "ring all-reduce",
}
SETTINGS: tuple[Setting, ...] = (
    Setting("jobs, types, weights, sizes", "preset paper", "Sec. 7, Settings"),
    Setting(
        "servers", "of six EC2 classes P2, P3, G3",
        'Sec. 7: "according to Amazon EC2 GPU instances P3, P2 and G3"',
    ),
    Setting(
        "capacity",
        "all servers scaled by one factor, so that GPUs, the scarcest, are 0.2 of what all jobs "
        "ask ideally; vCPUs are then about 0.4",
        'Sec. 7: "approximately [0.2,0.5] fraction of the respective overall job resource demand, '
        'which is computed by adding the ideal resource demand of all jobs"',
    ),
    Setting(
        "network of a server", "that of its class, also where the rest is scaled or divided",
        OPEN + ": a parameter server of 5 to 20 Gbps fits on no part of a network",
    ),
    Setting("arrivals", "uniform in the first half of the horizon", OPEN),
)  # fmt: skip


def instance(cell: Cell, slots: int) -> CompletionInstance:
    """Return the instance of a cell: its jobs, and its servers with the capacity held.

    The classes of servers are drawn for 150; more or fewer have the same total, up to rounding.
    """
    made = generate(
        "paper",
        seed=cell["seed"],
        jobs=cell["jobs"],
        slots=slots,
        machines=SERVERS,
        architecture=cell.get("architecture", "ps"),
    )
    count = cell["servers"]
    capacity = math.fsum(c.count * c.capacity[0] for c in made.servers)
    factor = cell.get("share", SHARE) * ideal_gpus(made) / capacity * SERVERS / count
    counts = in_proportion(count, [c.count for c in made.servers])
    servers = tuple(
        MachineClass(name=c.name, count=n, capacity=_scaled(c.capacity, factor))
        for c, n in zip(made.servers, counts, strict=True)
        if n > 0
    )
    content = {name: getattr(made, name) for name in type(made).model_fields}
    return CompletionInstance(**(content | {"servers": servers}))


def in_proportion(number: int, weights: Sequence[int]) -> list[int]:
    """Divide a whole number in proportion to weights, the largest remainders first.

    >>> in_proportion(5, [1, 1, 1])
    [2, 2, 1]
    """
    total = sum(weights)
    parts, rest = zip(*(divmod(number * w, total) for w in weights), strict=True)
    order = sorted(range(len(weights)), key=lambda k: (-rest[k], k))
    more = set(order[: number - sum(parts)])
    return [part + (k in more) for k, part in enumerate(parts)]


def _scaled(capacity: Sequence[float], factor: float) -> tuple[float, ...]:
    """Return whole numbers, at least 1; a server keeps its network, which is the last resource."""
    *whole, bandwidth = capacity
    return (*(max(1, math.floor(factor * x + 0.5)) for x in whole), bandwidth)


def ideal_gpus(inst: CompletionInstance) -> int:
    """Return how many GPUs all jobs have together in their shortest modes."""
    cluster, total = Cluster(inst), 0
    for job in inst.jobs:
        modes = cluster.task(job).modes
        demand = inst.worker_types[int(modes.worker_type[0])].demand
        total += int(demand[0]) * int(modes.workers[0])
    return total


def experiment(
    number: int,
    title: str,
    claim: str,
    sweep: tuple[str, *tuple[Any, ...]],
    judge: Callable[[Summary], Outcome],
    *settings: Setting,
    cells: Callable[..., Sequence[Cell]],
    run: Callable[[Cell, float], Row],
    y: str,
    usual: tuple[Setting, ...],
    time_limit: float = 0.0,
) -> Experiment:
    """Return a figure of ``y`` against what is swept, which is the first argument of ``cells``."""
    return Experiment(
        name=f"completion-fig{number}",
        title=title,
        claim=claim,
        settings=(*usual, *settings),
        time_limit=time_limit,
        cells=partial(cells, *sweep),
        run=run,
        summarize=summarize_by(sweep[0], y),
        judge=judge,
        draw=draw,
    )


def summarize_by(x: str, y: str) -> Callable[[Rows], Summary]:
    """Return a summary: the mean of ``y`` by policy and ``x``."""

    def summarize(rows: Rows) -> Summary:
        lines = []
        for (policy,), part in grouped(rows, "policy").items():
            points = [
                {"x": at, **mean_with_interval([row[y] for row in group])}
                for (at,), group in grouped(part, x).items()
            ]
            lines.append({"policy": policy, "points": points})
        return {"x": x, "y": y, "lines": lines}

    return summarize


def points(summary: Summary, policy: str) -> list[Any]:
    """Return the points of a policy's line, in the order of the swept values."""
    found: list[Any] = next(e for e in summary["lines"] if e["policy"] == policy)["points"]
    return found


def pooled(summary: Summary, policy: str) -> list[float]:
    """Return the sum over all swept values, instance by instance."""
    each = zip(*(p["values"] for p in points(summary, policy)), strict=True)
    return [math.fsum(values) for values in each]


def last_over_first(summary: Summary, policy: str) -> Estimate | None:
    """Return by how much the last point of a line is above its first, relatively."""
    line_ = points(summary, policy)
    return lead(line_[-1]["values"], line_[0]["values"])


def each_over(summary: Summary, ours: str, theirs: str) -> str:
    """Return the relative differences of two lines point by point, in words."""
    pairs = zip(points(summary, ours), points(summary, theirs), strict=True)
    parts = [
        f"{a['x']:g}: {100 * (a['mean'] / b['mean'] - 1):+.0f} %" if b["mean"] else f"{a['x']:g}: -"
        for a, b in pairs
    ]
    return ", ".join(parts)


def named(policy: str, y: str = "total") -> str:
    """Return the name of a policy, or of the bound on ``y``, in words."""
    name, comma, rest = policy.partition(", ")
    labels = LABELS | ({BOUND: "bound by prices"} if y == "weight" else {})  # no certificate
    return labels.get(name, name) + comma + labels.get(rest, rest)


def draw(summary: Summary, paper: Mapping[str, Sequence[float]] | None = None) -> Figure:
    """Draw a line per policy; the values that are swept stand side by side, in their order.

    ``paper`` has what the paper says of each of them, by what the legend calls it.
    """
    figure = new_figure(6.0, 4.2)
    axis = figure.subplots()
    lines = [e for e in summary["lines"] if len(e["points"]) > 1]
    colours = colours_of([line["policy"] for line in lines])
    for k, of in enumerate(lines):
        colour, label = colours[of["policy"]], named(of["policy"], summary["y"])
        places = range(len(of["points"]))
        if summary["x"] == "worker_type":  # nothing is between two of them
            apart = [x + 0.2 * k for x in places]
            axis.plot(apart, [p["mean"] for p in of["points"]], "o", color=colour, label=label)
            for x, point in zip(apart, of["points"], strict=True):
                whisker(axis, x, point)
            continue
        style = "o--" if of["policy"].startswith(BOUND) else "o-"
        line(axis, places, of["points"], colour, label, style)
    for name, ends in (paper or {}).items():
        axis.plot(range(len(ends)), ends, "k_:", label=name, markersize=14, linewidth=0.8)
    swept = [point["x"] for point in summary["lines"][0]["points"]]
    axis.set_xticks(range(len(swept)), ["free" if x == FREE else f"{x:g}" for x in swept])
    finish(axis, AXES[str(summary["x"])])
    axis.set_ylabel(f"{AXES[str(summary['y'])]}\n(mean, 95 % interval)", fontsize=8)
    axis.set_ylim(bottom=0)
    axis.ticklabel_format(axis="y", useMathText=True)
    legend(figure, axis)
    return figure
