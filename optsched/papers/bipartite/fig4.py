"""OGASched, Fig. 4: the first step and its decay."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from optsched.drawing import COLOURS, new_figure
from optsched.families.bipartite.policies.paper import OgaSched
from optsched.optimum import solve
from optsched.papers.bipartite import common
from optsched.papers.experiment import (
    Cell,
    Outcome,
    Row,
    Rows,
    Summary,
    grouped,
    mean_with_interval,
)
from optsched.simulation import simulate

SLOTS = 2000
ETA = (0.1, 0.3, 1.0, 3.0, 10.0, 25.0, 50.0, 100.0)
DECAY = (0.99, 0.995, 0.999, 0.9999, 1.0, 1.0001)
SETS: dict[str, dict[str, Any]] = {"mixed": {}, "log": {"utilities": ["log"]}}


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return [
        common.cell(name, seed, slots=SLOTS, **changes)
        for name, changes in SETS.items()
        for seed in range(seeds)
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
    agrees, words = True, []
    for name, sweeps in summary.items():
        decay = {key: p["mean"] for key, p in sweeps["decay"].items()}
        eta = {key: p["mean"] for key, p in sweeps["eta"].items()}
        best = max(decay, key=lambda key: decay[key])
        agrees &= decay["0.9999"] > decay["1.0001"] and 0.995 <= float(best) <= 0.9999
        best_eta = max(eta, key=lambda key: eta[key])
        words.append(
            f"{name} utilities: decay 0.9999 earns {decay['0.9999']:.1%} of the best stationary "
            f"decision, 1.0001 {decay['1.0001']:.1%}, the best is {best} with {decay[best]:.1%}; "
            f"first step 25 earns {eta['25.0']:.1%}, the best is {best_eta} with "
            f"{eta[best_eta]:.1%}; the theory's step {sweeps['theory']['theory']['mean']:.1%}, "
            f"(55) {sweeps['theory']['adaptive']['mean']:.1%}"
        )
    return Outcome(agrees, "; ".join(words))


def draw(summary: Summary) -> Figure:
    """Draw a panel per sweep, a line per instance set."""
    figure = new_figure(9, 3.8)
    axes = figure.subplots(1, 2)
    for axis, sweep in zip(axes, ("eta", "decay"), strict=True):
        for k, (name, found) in enumerate(summary.items()):
            x = [float(key) for key in found[sweep]]
            mean = [p["mean"] for p in found[sweep].values()]
            axis.plot(x, mean, "o-", color=COLOURS[k], label=f"{name} utilities", markersize=4)
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set_ylabel("reward / best stationary")
        common.finish(axis)
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
