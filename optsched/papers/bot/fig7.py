"""Fig. 7: convergence time by platform size, algorithm and mix of applications."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from optsched.drawing import COLOURS, finish, legend, new_figure
from optsched.families.bot.policies.convergence import convergence
from optsched.families.bot.policies.negotiation import Negotiation, Steps
from optsched.papers.bot.common import (
    ITERATIONS,
    SETTINGS,
    STEPS,
    UNIT_NAMES,
    UNITS,
    optimum,
    platform,
    platforms,
)
from optsched.papers.estimate import Estimate, apart
from optsched.papers.experiment import (
    Cell,
    Row,
    Rows,
    Setting,
    Summary,
    grouped,
    mean_with_interval,
)
from optsched.papers.verdict import Finding, Outcome, about, counted, effect

SIZES = ((20, 5), (40, 5), (100, 5), (500, 15))
NAIVE = {"rho": 1e-3, "tilde": 1e-3, "lam": 1e-13, "mu": 1e-15}  # Sec. 6.5.3
TABLE2 = {  # its best sets
    20: {"rho": 0.05, "tilde": 0.05, "lam": 1.3, "mu": 0.7},
    40: {"rho": 0.01, "tilde": 0.05, "lam": 1.3, "mu": 0.7},
    100: {"rho": 0.01, "tilde": 0.05, "lam": 0.7, "mu": 0.7},
    500: {"rho": 0.002, "tilde": 0.05, "lam": 0.7, "mu": 0.7},
}
PAPER = (373, 531)  # 95 % interval of the mean at 500 nodes
COLOURED = ("medianprops", "boxprops", "whiskerprops", "capprops")


def cells(seeds: int) -> list[Cell]:
    """Return one cell per platform, algorithm and mix."""
    return [
        c
        for algorithm in ("naive", "adaptive")
        for mix in ("homogeneous", "heterogeneous")
        for c in platforms(SIZES, seeds, algorithm=algorithm, mix=mix)
    ]


def run(cell: Cell, _limit: float) -> Row:
    """Run one algorithm with its best set."""
    inst = platform(cell, cell["mix"])
    best, _ = optimum(inst)
    sizes = NAIVE if cell["algorithm"] == "naive" else TABLE2[cell["nodes"]]
    steps = Steps.model_validate({"algorithm": cell["algorithm"], **sizes})
    series, _ = Negotiation(inst, steps).run(ITERATIONS)
    found = convergence(series, best)
    return {"converged": found.converged, "first": found.first_for_good, "margin": found.margin}


def summarize(rows: Rows) -> Summary:
    """Return the times of those that converge, by reading, algorithm, mix and size."""
    lines = []
    for key, group in grouped(rows, "units", "algorithm", "mix", "nodes").items():
        times = sorted(row["first"] for row in group if row["converged"])
        found = mean_with_interval(times) if times else None
        names = dict(zip(("units", "algorithm", "mix", "nodes"), key, strict=True))
        lines.append(names | {"times": times, "platforms": len(group), "mean": found})
    return {"lines": lines}


def judge(summary: Summary) -> Outcome:
    """Compare: who converges, how long it takes by size, and beside the naive algorithm."""
    lines = {
        (line["algorithm"], line["mix"], line["nodes"]): line
        for line in summary["lines"]
        if line["units"] == UNITS[0]
    }
    sizes = [n for n, _ in SIZES]
    ours = {n: lines["adaptive", "heterogeneous", n] for n in sizes}
    smaller, largest = ours[sizes[0]]["times"], ours[sizes[-1]]["times"]
    found = [
        about("adaptive, heterogeneous, 500 nodes: mean iteration",
              Estimate.of(largest, nothing=None) if largest else None, PAPER),
        effect(
            "adaptive, heterogeneous: iterations at 500 nodes less those at 20",
            apart(largest, smaller), unit="iterations",
        ),
    ]  # fmt: skip
    for n in sizes:
        naive = lines["naive", "heterogeneous", n]
        runs = naive["platforms"]
        claim = f"naive, heterogeneous, {n} nodes: platforms that converge"
        found.append(counted(claim, len(naive["times"]), runs, 0, runs))
    for n in sizes:
        both = [lines[algorithm, "homogeneous", n]["times"] for algorithm in ("adaptive", "naive")]
        claim = f"homogeneous, {n} nodes: iterations of the adaptive algorithm less the naive one's"
        found.append(effect(claim, apart(*both), sign=-1, unit="iterations"))
    found += [_counts(line) for line in summary["lines"] if line["algorithm"] == "adaptive"]
    return Outcome(tuple(found))


def _counts(line: dict[str, Any]) -> Finding:
    where = f"{line['units']}, adaptive, {line['mix']}, {line['nodes']} nodes: mean iteration"
    known = line["mean"] or {"mean": None, "interval": None}
    ends = known["interval"] and tuple(known["interval"])
    note = f"{len(line['times'])} of {line['platforms']} converge"
    return Finding(where, None, known["mean"], None, ends, len(line["times"]), note=note)


def draw(summary: Summary) -> Figure:
    """Draw boxes of times: a row per algorithm, a column per mix, a colour per reading."""
    figure = new_figure(8.4, 6.0)
    axes = figure.subplots(2, 2, sharex=True)
    for row, algorithm in enumerate(("naive", "adaptive")):
        for column, mix in enumerate(("homogeneous", "heterogeneous")):
            axis = axes[row, column]
            for k, units in enumerate(UNITS):
                axis.plot([], [], "s", color=COLOURS[k], label=UNIT_NAMES[units])
                for at, (nodes, _) in enumerate(SIZES):
                    mine = [
                        line["times"] for line in summary["lines"]
                        if (line["units"], line["algorithm"], line["mix"], line["nodes"])
                        == (units, algorithm, mix, nodes)
                    ]  # fmt: skip
                    if mine and mine[0]:
                        axis.boxplot(
                            mine[0], positions=[at + 0.35 * k], widths=0.3,
                            **{part: {"color": COLOURS[k]} for part in COLOURED},
                            flierprops={"markeredgecolor": COLOURS[k], "markersize": 3},
                        )  # fmt: skip
            if (algorithm, mix) == ("adaptive", "heterogeneous"):
                axis.vlines(len(SIZES) - 0.3, *PAPER, color="black", linewidth=3, label="paper")
            if not _converging(summary, algorithm, mix):
                axis.text(0.5, 0.5, "none converges", ha="center", transform=axis.transAxes)
            axis.set_xticks([i + 0.17 for i in range(len(SIZES))], [str(n) for n, _ in SIZES])
            axis.set_xlim(-0.5, len(SIZES))
            axis.set_ylim(0, ITERATIONS)
            axis.set_title(f"{algorithm}, {mix}", fontsize=9)
            finish(axis, grid="y")
        axes[row, 0].set_ylabel("iterations")
    for axis in axes[-1]:
        axis.set_xlabel("nodes")
    legend(figure, axes[1, 1])
    return figure


def _converging(summary: Summary, algorithm: str, mix: str) -> bool:
    return any(
        line["times"]
        for line in summary["lines"]
        if (line["algorithm"], line["mix"]) == (algorithm, mix)
    )


TITLE = "Bags of tasks, Fig. 7: convergence time by platform size"
CLAIM = (
    "the adaptive algorithm converges for both mixes, and takes longer on larger platforms; "
    "the naive one never converges for heterogeneous applications, and takes longer for "
    "homogeneous ones"
)
SETTINGS = (
    *SETTINGS,
    STEPS,
    Setting("step sizes, adaptive", "the best sets of Table 2", "Table 2"),
    Setting("step sizes, naive", "0.001, 0.001, 1e-13, 1e-15", "Sec. 6.5.3"),
)
