"""OGASched, Fig. 4: the first step and its decay."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from optsched.core import simulate, solve
from optsched.drawing import COLOURS, finish, new_figure
from optsched.families.bipartite.policies.paper import OgaSched
from optsched.papers.bipartite import common
from optsched.papers.estimate import Estimate, differences
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
from optsched.papers.verdict import Finding, Outcome, effect, shown

SLOTS = 2000
ETA = (0.1, 0.3, 1.0, 3.0, 10.0, 25.0, 50.0, 100.0)
DECAY = (0.99, 0.995, 0.999, 0.9999, 1.0, 1.0001)
BEST = ("0.995", "0.999", "0.9999")  # decays of the printed range
SETS: dict[str, dict[str, Any]] = {  # the verdict is about the first
    "mixed": {},
    "log": {"utilities": ["log"]},
    "mixed, scale 10": {"scale": 10.0},
}
NAMES = {
    "mixed": "mixed utilities",
    "log": "logarithms",
    "mixed, scale 10": "mixed utilities, all times 10",
}


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return [
        common.cell(name, seed, slots=SLOTS, **changes)
        for name, changes in SETS.items()
        for seed in fresh(seeds)
    ]


def run(cell: Cell, time_limit: float) -> Row:
    """Run every first step with the paper's decay, and every decay with the paper's first step."""
    inst = common.instance(cell)
    best = solve(inst, method="stationary", time_limit=time_limit)
    assert best.bound is not None

    def share(**options: Any) -> float:
        assert best.value is not None
        return simulate(inst, OgaSched(**options)).value / best.value

    return {
        "eta": {str(eta): share(eta=eta) for eta in ETA},
        "decay": {str(decay): share(decay=decay) for decay in DECAY},
        "theory": {"theory": share(step="theory"), "adaptive": share(step="adaptive")},
        "stationary": best.value,
        "stationary_bound": best.bound,
    }


def summarize(rows: Rows) -> Summary:
    """Return means of the share of the best stationary reward, by set and setting."""
    return {
        str(name): {
            sweep: {
                key: mean_with_interval([row[sweep][key] for row in group])
                for key in group[0][sweep]
            }
            for sweep in ("eta", "decay", "theory")
        }
        for (name,), group in grouped(rows, "label").items()
    }


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: decay in 0.995 .. 0.9999 is best, 1.0001 is worse than 0.9999."""
    first, *others = summary
    found = [effect(claim, estimate) for claim, estimate in _claims(summary[first])]
    for name in others:
        for claim, estimate in _claims(summary[name]):
            found.append(shown(f"{name}: {claim}", estimate, unit="%"))
    for name in summary:
        found += [_least(name, sweep, summary[name][sweep]) for sweep in ("eta", "decay")]
        for rule, point in summary[name]["theory"].items():
            claim = f"{name}: reward with the step {rule}, of the best stationary decision"
            found.append(shown(claim, Estimate.of(point["values"]), unit="%"))
    return Outcome(tuple(found))


def _claims(sweeps: Any) -> list[tuple[str, Estimate]]:
    """Return the two statements on decays, in shares of the best stationary reward."""
    decay = sweeps["decay"]
    other = [key for key in decay if key not in BEST]
    inside, outside = (max(keys, key=lambda key: decay[key]["mean"]) for keys in (BEST, other))

    def less(one: str, two: str) -> Estimate:
        return Estimate.of(differences(decay[one]["values"], decay[two]["values"]))

    return [
        ("decay 0.9999 earns more than 1.0001", less("0.9999", "1.0001")),
        (f"the best decay from 0.995 to 0.9999 ({inside}) earns more than any other ({outside})",
         less(inside, outside)),
    ]  # fmt: skip


def _least(name: str, sweep: str, found: Any) -> Finding:
    worst = min(found, key=lambda key: float(found[key]["mean"]))
    claim = f"{name}: reward with the worst {sweep} ({worst}), of the best stationary decision"
    return shown(claim, Estimate.of(found[worst]["values"]), unit="%")


def draw(summary: Summary) -> Figure:
    """Draw a panel per sweep, a line per instance set."""
    figure = new_figure(9, 3.8)
    axes = figure.subplots(1, 2)
    for axis, sweep in zip(axes, ("eta", "decay"), strict=True):
        for k, (name, found) in enumerate(summary.items()):
            x, points = [float(key) for key in found[sweep]], list(found[sweep].values())
            line(axis, x, points, COLOURS[k], NAMES[name])
        axis.axhline(1, color="black", linewidth=0.8)
        finish(axis, y="reward / best stationary (95 % interval)")
    axes[0].set_xscale("log")
    axes[0].set_xlabel("first step (decay 0.9999)")
    axes[1].set_xlabel("decay (first step 25)")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


TITLE = "OGASched, Fig. 4: first step and decay, T = 2000"
CLAIM = (
    "a wrong first step or decay can make the reward fall; decays from 0.995 to 0.9999 are best, "
    "and 0.9999 is better than 1.0001"
)
SETTINGS = (
    *common.COMMON,
    Setting("slots", "2000", "Table II"),
    Setting("first steps, decays", "0.1 to 100; 0.99 to 1.0001", "Fig. 4 (values read off)"),
    Setting("sets", "judged: mixed utilities; beside: logarithms alone, and capacities and "
            "requests times 10", OPEN + ": rewards depend on the unit"),
)  # fmt: skip
