"""What the experiments of the OGASched paper share: one instance, all policies, both references.

OGASched decides before it sees the jobs of a slot, the baselines after (and, as in the published
code, OGASched after it has stepped on them). So beside the rewards stand what the best single
decision earns (stationary) and what the best decision of every slot earns (the optimum), both
certified. A set whose best baseline reaches 99 % of the optimum cannot tell policies apart, and is
flagged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.core import Run, simulate, solve
from optsched.drawing import COLOURS, finish, legend, new_figure
from optsched.families.bipartite.instance import Slot
from optsched.families.bipartite.policies.packing import BinPacking, Spreading
from optsched.families.bipartite.policies.paper import OgaSched
from optsched.numbers.arrays import Floats
from optsched.papers.estimate import Estimate, differences, lead
from optsched.papers.experiment import (
    OPEN,
    Cell,
    Row,
    Rows,
    Setting,
    Summary,
    fresh,
    grouped,
    line,
    mean_with_interval,
)
from optsched.papers.verdict import Finding, effect, shown, untestable
from optsched.problem import Information, Instance, Policy, get_family

OURS = "ogasched"  # with the paper's step, eta 25 and decay 0.9999
THEORY = "ogasched-theory"
PUBLISHED = "ogasched-published"
BASELINES = ("drf", "fairness", "binpacking", "spreading")
PRINTED = "fairness-printed"
HALVES = ("binpacking-half", "spreading-half")
SCHEMES = (OURS, PUBLISHED, THEORY, *BASELINES, PRINTED, *HALVES)
ORDER = ("fairness", "drf", "spreading", "binpacking")  # of the baselines, in the paper
LABELS = {
    OURS: "OGASched",
    PUBLISHED: "OGASched, order of the published code",
    THEORY: "OGASched, step of the theory",
    "drf": "DRF",
    "fairness": "Fairness",
    PRINTED: "Fairness, as printed",
    "binpacking": "BinPacking",
    "spreading": "Spreading",
    "binpacking-half": "BinPacking, half of the machines",
    "spreading-half": "Spreading, half of the machines",
    "stationary": "best stationary",
    "optimum": "best of every slot",
}
DRAWN = (OURS, "fairness", "drf", "spreading", "binpacking", PUBLISHED, "stationary", "optimum")


class Published(OgaSched):
    """The order of the published code: a step on the jobs of a slot, then these are served."""

    information: Information = "after"

    def __init__(self) -> None:
        super().__init__()
        self.name = PUBLISHED

    def step(self, event: Slot) -> Floats:
        """Learn from the jobs of this slot; return the decision for it."""
        self._learn(event.jobs)
        return self._live.spread(self._y)


MADE: Mapping[str, Callable[[], Policy]] = {
    PUBLISHED: Published,
    "binpacking-half": lambda: BinPacking(share=0.5),
    "spreading-half": lambda: Spreading(share=0.5),
}


def policy(scheme: str) -> Policy | str:
    """Return the policy of a scheme, or its name if the family knows it by that."""
    return MADE[scheme]() if scheme in MADE else scheme


TIME_LIMIT = 60.0  # seconds per optimum
NEAR = 0.99  # share of the optimum from which an instance set tells nothing
COLOUR = {
    name: COLOURS[k]
    for k, name in enumerate(
        (OURS, "drf", "fairness", "binpacking", "spreading", THEORY, PRINTED, "optimum")
    )
} | {"stationary": "#999933", PUBLISHED: "#332288"}
COMMON = (
    Setting("capacities, requests", "drawn: 64-96 cores, 100 of memory, 0-8 of each accelerator; "
            "1-8 cores, 1-12 of memory, up to half of the accelerators per machine",
            f"{OPEN}: taken from traces that are not named in detail"),
    Setting("alpha, beta, step, decay", "[1, 1.5], [0.3, 0.5], 25, 0.9999", "Table II"),
    Setting("ports, machines, probability, contention", "10, 128, 0.7, 10", "Table II"),
    Setting("utilities", "one of four kinds per machine and resource",
            'Sec. 4: "We support 4 types of utilities"; how they are mixed is ' + OPEN),
    Setting("OGASched", "decides before it sees a slot's jobs; beside: the published order",
            "(31): y(t+1) = Proj(y(t) + eta_t grad q(x(t), y(t))); code: steps on x(t), serves it"),
    Setting("Fairness", "among ports with a job", 'Sec. 4: "to each port l that yield a job"'),
    Setting("BinPacking, Spreading", "a job may use all its machines; beside: half of them",
            'Sec. 4: "scores the computing instances based on the utilization"; how many a job '
            "uses is " + OPEN),
)  # fmt: skip


def cell(label: Any, seed: int, *, preset: str = "paper", panel: str = "", **changes: Any) -> Cell:
    """Return the cell of one instance: ``changes`` are settings of the generator."""
    return {"panel": panel, "label": label, "preset": preset, "changes": changes, "seed": seed}


def sweeps(
    seeds: int, panels: Mapping[str, tuple[str, Sequence[Any]]], **changes: Any
) -> list[Cell]:
    """Return the cells of panels that each sweep one setting of the generator."""
    return [
        cell(value, seed, panel=panel, **(changes | {setting: value}))
        for panel, (setting, values) in panels.items()
        for value in values
        for seed in fresh(seeds)
    ]


def instance(of: Cell) -> Any:
    """Return the instance of a cell."""
    made: Instance = get_family("bipartite").generate(
        of["preset"], seed=of["seed"], **of["changes"]
    )
    return made


def run(of: Cell, time_limit: float) -> Row:
    """Run all schemes on the instance of a cell, and find both references; rewards per slot."""
    inst = instance(of)
    runs = {name: simulate(inst, policy(name)) for name in SCHEMES}
    return compared(inst, runs, time_limit)


def compared(inst: Any, runs: Mapping[str, Run], time_limit: float) -> Row:
    """Return the mean reward of a slot of every run, and of the references, with their bounds."""
    rewards = {name: found.value / inst.horizon for name, found in runs.items()}
    row: Row = {
        "rewards": rewards,
        "seconds": {name: found.seconds for name, found in runs.items()},
    }
    for name, method in (("stationary", "stationary"), ("optimum", "auto")):
        found = solve(inst, method=method, time_limit=time_limit)
        if found.value is not None and found.bound is not None:
            rewards[name] = found.value / inst.horizon
            row[f"{name}_bound"] = found.bound / inst.horizon
            row[f"{name}_level"] = str(found.bound_level)
    return row


def summarize(rows: Rows) -> Summary:
    """Return, by panel and label, means with intervals, and shares of the optimum."""
    points = []
    for (panel, label), group in grouped(rows, "panel", "label").items():
        names = list(group[0]["rewards"])
        rewards = {n: mean_with_interval([row["rewards"][n] for row in group]) for n in names}
        best = max((rewards[b]["mean"] for b in BASELINES), default=0.0)
        share = best / rewards["optimum"]["mean"] if "optimum" in rewards else None
        points.append(
            {
                "panel": panel,
                "label": label,
                "instances": len(group),
                "rewards": rewards,
                "best_baseline_share": share,
                "tells": share is None or share <= NEAR,
            }
        )
    return {"points": points}


def point_of(summary: Summary, panel: str, label: Any) -> Any:
    """Return what is known of one setting."""
    return next(p for p in summary["points"] if (p["panel"], p["label"]) == (panel, label))


def values(point: Any, name: str) -> list[float]:
    """Return the rewards of a scheme, instance by instance."""
    found: list[float] = point["rewards"][name]["values"]
    return found


def over(point: Any, baseline: str, *, ours: str = OURS) -> Estimate | None:
    """Return the lead of OGASched over a baseline, relatively."""
    return lead(values(point, ours), values(point, baseline))


def best_baseline(point: Any) -> str:
    """Return the baseline with the largest mean."""
    return max(BASELINES, key=lambda name: float(point["rewards"][name]["mean"]))


def ahead(point: Any, where: str, *, paper: float | None = None, testable: bool = True) -> Finding:
    """Judge whether OGASched is ahead of the best baseline: the other ones are behind that."""
    rival = best_baseline(point)
    found, unit = over(point, rival), "%"
    if found is None:  # a share of a loss means nothing
        unit = "reward of a slot"
        found = Estimate.of(differences(values(point, OURS), values(point, rival)))
    note = "" if point["tells"] else TELLS_NOTHING
    if not testable:
        why = "; ".join(filter(None, [NO_UNITS, note]))
        return untestable(f"{where}: OGASched ahead of {LABELS[rival]}", found, why, unit=unit)
    return effect(f"{where}: OGASched ahead of {LABELS[rival]}", found, paper=paper, unit=unit,
                  note=note)  # fmt: skip


NO_UNITS = "the units of the contention are not printed, and nothing is scarce here"
TELLS_NOTHING = f"cannot tell policies apart: a baseline has {NEAR:.0%} of the optimum"


def readings(point: Any, where: str) -> list[Finding]:
    """Return what other readings give: the published order, and half of the machines."""
    fair = f"{where}, published order: lead over Fairness"
    found = [shown(fair, over(point, "fairness", ours=PUBLISHED), unit="%")]
    for name in HALVES:
        found.append(shown(f"{where}: lead over {LABELS[name]}", over(point, name), unit="%"))
    return found


def same_packing(points: Sequence[Any]) -> str:
    """Say whether BinPacking and Spreading can be told apart."""
    both = all(values(p, "binpacking") == values(p, "spreading") for p in points)
    return (
        "BinPacking and Spreading are one policy where a job may use all its machines: the order "
        "of machines then changes nothing"
        if both
        else "BinPacking and Spreading differ"
    )


def difference(one: Any, other: Any, name: str) -> Estimate:
    """Return by how much the reward in one setting is above that in another, paired by seed."""
    return Estimate.of(differences(values(one, name), values(other, name)))


def leads(point: Any) -> list[float]:
    """Return the relative lead over Fairness, instance by instance."""
    pairs = zip(values(point, OURS), values(point, "fairness"), strict=True)
    return [a / b - 1 for a, b in pairs]


def draw(summary: Summary, xlabels: Mapping[str, str], *, log: Sequence[str] = ()) -> Figure:
    """Draw a panel per sweep: a line per scheme and reference, with intervals."""
    panels = list(dict.fromkeys(p["panel"] for p in summary["points"]))
    figure = new_figure(4.4 * len(panels), 4.2)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, panel in zip(axes, panels, strict=True):
        points = [p for p in summary["points"] if p["panel"] == panel]
        for name in filter(points[0]["rewards"].__contains__, DRAWN):
            lines(axis, name, [p["label"] for p in points], [p["rewards"][name] for p in points])
        finish(axis, xlabels[panel])
        if panel in log:
            axis.set_xscale("log")
            ticks = [p["label"] for p in points]
            axis.set_xticks(ticks, [f"{x:g}" for x in ticks], fontsize=7)
            axis.minorticks_off()
    axes[0].set_ylabel("mean reward of a slot (95 % interval)")
    legend(figure, axes[0])
    return figure


def lines(axis: Axes, name: str, x: Sequence[Any], points: Sequence[Any]) -> None:
    """Draw one scheme; references are dashed."""
    style = {"stationary": "o--", "optimum": "o--", "binpacking": "o:"}.get(name, "o-")
    look = {"markersize": 3, "linewidth": 1.2}
    line(axis, x, points, COLOUR[name], LABELS[name], style, alpha=0.12, **look)


def curve(rewards: Sequence[float], points: int = 60) -> list[list[float]]:
    """Return slots, spread evenly on a log scale, and the average reward until each."""
    total = np.cumsum(np.array(rewards))
    slots = np.unique(np.geomspace(1, len(total), points).round().astype(int))
    return [slots.tolist(), (total[slots - 1] / slots).tolist()]


def curves_of(runs: Mapping[str, Run]) -> dict[str, Any]:
    """Return the average rewards of every run, at the slots of `curve`."""
    rewards: dict[str, Any] = {name: found.schedule for name, found in runs.items()}
    return {name: curve(schedule.rewards)[1] for name, schedule in rewards.items()}


def mean_curves(rows: Rows) -> dict[str, Any]:
    """Return the mean curve of every scheme."""
    return {
        name: np.mean([row["curves"][name] for row in rows], axis=0).tolist()
        for name in rows[0]["curves"]
    }


def draw_curves(axes: Sequence[Axes], slots: Sequence[int], curves: Mapping[str, Any]) -> None:
    """Draw average rewards, cumulative ones, and if there is room how far ahead OGASched is."""
    x = np.array(slots)
    for name, average in ((n, curves[n]) for n in DRAWN if n in curves):
        dashes = "--" if name == "binpacking" else "-"  # it may lie on Spreading
        style: dict[str, Any] = {"color": COLOUR[name], "label": LABELS[name], "linewidth": 1.2}
        style["linestyle"] = dashes
        axes[0].plot(x, average, **style)
        axes[1].plot(x, x * np.array(average), **style)
        if len(axes) > 2 and name in BASELINES and min(average) > 0:
            axes[2].plot(x, np.array(curves[OURS]) / average, **style)
    titles = ("average reward until t", "cumulative reward", f"{LABELS[OURS]} / baseline")
    for axis, label in zip(axes, titles, strict=False):
        finish(axis, "slot t", label)
    axes[0].set_xscale("log")
    axes[1].ticklabel_format(axis="y", useMathText=True)
