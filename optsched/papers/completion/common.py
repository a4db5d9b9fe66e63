"""What the experiments of this paper share: a value swept, a line per policy, a picture."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.figure import Figure

from optsched.drawing import GRID, colours_of, new_figure
from optsched.papers.experiment import Rows, Summary, grouped, mean_with_interval

BOUND = "hindsight"  # the certified bound, which the paper lacks
FREE = -1  # instead of a worker type: every job chooses
LABELS = {
    "worker_type": "worker type",
    "most_workers": "most workers of a job",
    "total": "total weighted completion",
    "weight": "weight by the deadline",
    "seconds": "running time, s",
}


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


def means(summary: Summary, policy: str) -> list[float]:
    """Return the means of a policy's line, in the order of the swept values."""
    line = next(line for line in summary["lines"] if line["policy"] == policy)
    return [point["mean"] for point in line["points"]]


def draw(summary: Summary) -> Figure:
    """Draw a line per policy; the values that are swept stand side by side, in their order."""
    figure = new_figure(5.6, 3.6)
    axis = figure.subplots()
    colours = colours_of([line["policy"] for line in summary["lines"]])
    for line in summary["lines"]:
        ys = [point["mean"] for point in line["points"]]
        axis.plot(ys, marker="o", color=colours[line["policy"]], label=line["policy"])
    swept = [point["x"] for point in summary["lines"][0]["points"]]
    axis.set_xticks(range(len(swept)), ["free" if x == FREE else f"{x:g}" for x in swept])
    x, y = str(summary["x"]), str(summary["y"])
    axis.set_xlabel(LABELS.get(x, x))
    axis.set_ylabel(LABELS.get(y, y))
    axis.set_ylim(bottom=0)
    axis.grid(color=GRID)
    axis.legend(frameon=False, fontsize=8)
    return figure
