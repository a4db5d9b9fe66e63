"""OGASched, Table III: horizon, arrival probability and density of the graph."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from optsched.drawing import new_figure
from optsched.papers.bipartite import common
from optsched.papers.estimate import lead
from optsched.papers.experiment import Cell, Setting, Summary
from optsched.papers.verdict import Finding, Outcome, effect, shown

HORIZONS = (1000, 2000, 5000, 10_000)
PROBABILITIES = (0.3, 0.5, 0.7, 0.9)
DENSITIES = (2.0, 2.5, 3.0)
SLOTS = 2000
SETS = [("T", x) for x in HORIZONS] + [("rho", x) for x in PROBABILITIES]
SETS += [("density", x) for x in DENSITIES]
PAPER = {
    common.OURS: (2578.53, 2886.33, 2911.37, 3104.98, 1904.87, 2154.18, 3117.29, 2938.22, 2816.18,
                  2904.51, 3127.47),
    "drf": (2422.47, 2493.02, 2449.23, 2497.85, 1364.53, 2086.59, 2503.01, 2755.41, 2417.08,
            2786.94, 2795.42),
    "fairness": (2532.24, 2582.80, 2552.41, 2436.22, 1295.53, 1997.19, 2628.02, 2873.84, 2501.54,
                 2857.60, 2918.98),
    "binpacking": (2386.01, 2449.15, 2444.32, 2365.13, 1246.39, 1897.79, 2518.98, 2740.19, 2374.31,
                   2757.71, 2829.19),
    "spreading": (2382.01, 2466.71, 2436.60, 2362.88, 1250.67, 1888.06, 2519.37, 2737.93, 2382.87,
                  2766.07, 2836.37),
}  # fmt: skip


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    panels = {
        "T": ("slots", HORIZONS),
        "rho": ("arrival_probability", PROBABILITIES),
        "density": ("density", DENSITIES),
    }
    return common.sweeps(seeds, panels, slots=SLOTS)


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: every lead, and what horizon, probability and density do."""
    found: list[Finding] = []
    for k, (panel, label) in enumerate(SETS):
        point = common.point_of(summary, panel, label)
        for name in common.BASELINES:
            paper = PAPER[common.OURS][k] / PAPER[name][k] - 1
            claim = f"{panel} {label:g}: lead over {common.LABELS[name]}"
            found.append(effect(claim, common.over(point, name), paper=paper))
    trends = [
        _trend(summary, "T", HORIZONS[0], HORIZONS[-1], 1, "the reward grows with the horizon"),
        _trend(summary, "rho", 0.7, 0.9, -1, "it falls from probability 0.7 to 0.9"),
        _trend(summary, "density", DENSITIES[0], DENSITIES[-1], 1, "it grows with the density"),
    ]
    beside = common.readings(common.point_of(summary, "T", SLOTS), "T 2000")
    for name, printed in PAPER.items():
        both = f"{common.LABELS[name]}: relative difference of two printed columns, T 2000, rho 0.7"
        beside.append(shown(both, printed[6] / printed[1] - 1, unit="%"))
    why = "columns T 2000 and rho 0.7 are the same setting: the paper's own noise is 8 %"
    return Outcome((*trends, *found, *beside), (why, common.same_packing(summary["points"])))


def _trend(
    summary: Summary, panel: str, first: float, last: float, sign: int, claim: str
) -> Finding:
    one, two = (common.point_of(summary, panel, x) for x in (first, last))
    a, b = (PAPER[common.OURS][SETS.index((panel, x))] for x in (first, last))
    found = lead(common.values(two, common.OURS), common.values(one, common.OURS))
    return effect(claim, found, sign=sign, paper=b / a - 1)


def draw(summary: Summary) -> Figure:
    """Draw the table: in every cell the paper's number, and ours with its interval."""
    figure = new_figure(13, 4.6)
    axis = figure.subplots()
    axis.set_axis_off()
    names = {"T": "T = ", "rho": "rho = ", "density": "density "}
    columns = [f"{names[panel]}{label:g}" for panel, label in SETS]
    cells = [
        [_cell(PAPER[name][k], _reward(summary, k, name)) for k in range(len(SETS))]
        for name in PAPER
    ]
    labels = [common.LABELS[name] for name in PAPER]
    table = axis.table(cells, rowLabels=labels, colLabels=columns, loc="center", cellLoc="center")
    table.auto_set_font_size(value=False)
    table.set_fontsize(8)
    table.scale(1.0, 3.4)
    for (row, column), cell in table.get_celld().items():
        cell.set_edgecolor("#CCCCCC")
        if row > 0 and column >= 0 and _is_largest(summary, row, column):
            cell.set_text_props(weight="bold")
    axis.set_title("mean reward of a slot: the paper's above, ours with its 95 % interval below "
                   "(bold: our largest)", fontsize=9)  # fmt: skip
    return figure


def _reward(summary: Summary, k: int, name: str) -> Any:
    return common.point_of(summary, *SETS[k])["rewards"][name]


def _cell(paper: float, ours: Any) -> str:
    ends = ours["interval"]
    half = f" ± {(ends[1] - ends[0]) / 2:.0f}" if ends else ""
    return f"{paper:.0f}\n{ours['mean']:.0f}{half}"


def _is_largest(summary: Summary, row: int, column: int) -> bool:
    means = [_reward(summary, column, name)["mean"] for name in PAPER]
    return bool(means[row - 1] == max(means))


TITLE = "OGASched, Table III: horizon, arrival probability, density"
CLAIM = (
    "OGASched is always ahead; its mean reward grows with the horizon and with the density, and is "
    "lower at arrival probability 0.9 than at 0.7"
)
SETTINGS = (
    *common.COMMON,
    Setting("slots", "2000 where T is not swept", "Table II"),
    Setting("T, rho, density", "the eleven columns", "Table III"),
)
