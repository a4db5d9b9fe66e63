"""The regret of OGASched with the step of the theory, against the square root of the horizon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import COLOURS, new_figure
from optsched.families.bipartite.policies.paper import regret_guarantee
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

HORIZONS = (250, 500, 1000, 2000, 4000, 8000, 16_000)
SETS: dict[str, dict[str, Any]] = {"mixed": {}, "log": {"utilities": ["log"]}}
SQUARE_ROOT = 0.5
NOTICEABLE = 0.05


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return [
        common.cell(t, seed, panel=name, slots=t, **changes)
        for name, changes in SETS.items()
        for t in HORIZONS
        for seed in range(seeds)
    ]


def run(cell: Cell, time_limit: float) -> Row:
    """Return the regret to the best stationary decision, certified, and the bound (41)."""
    inst = common.instance(cell)
    best = solve(inst, method="stationary", time_limit=time_limit)
    assert best.bound is not None
    steps = {name: simulate(inst, name).value for name in (common.THEORY, common.OURS)}
    return {
        "regret": {name: best.bound - value for name, value in steps.items()},
        "guarantee": regret_guarantee(inst),
    }


def summarize(rows: Rows) -> Summary:
    """Return mean regrets by horizon, and the exponents fitted to them."""
    found: dict[str, Any] = {}
    for (name,), group in grouped(rows, "panel").items():
        points = [
            {
                "slots": t,
                "guarantee": float(np.mean([row["guarantee"] for row in part])),
                "kept": sum(row["regret"][common.THEORY] <= row["guarantee"] for row in part),
                "instances": len(part),
                **{
                    step: mean_with_interval([row["regret"][step] for row in part])
                    for step in (common.THEORY, common.OURS)
                },
            }
            for (t,), part in grouped(group, "label").items()
        ]
        exponents = {
            step: _exponent([p["slots"] for p in points], [p[step]["mean"] for p in points])
            for step in (common.THEORY, common.OURS)
        }
        found[str(name)] = {"points": points, "exponents": exponents}
    return found


def _exponent(slots: Sequence[int], regrets: Sequence[float]) -> float | None:
    """Return e of regret = c T^e, by least squares of the logarithms; None where one is <= 0."""
    if min(regrets) <= 0:
        return None
    return float(np.polyfit(np.log(slots), np.log(regrets), 1)[0])


def judge(summary: Summary) -> Outcome:
    """Compare with the theory: at most the bound, and no faster than the square root."""
    agrees, words = True, []
    for name, found in summary.items():
        kept = all(p["kept"] == p["instances"] for p in found["points"])
        e = found["exponents"][common.THEORY]
        agrees &= kept and e is not None and e <= SQUARE_ROOT + NOTICEABLE
        last = found["points"][-1]
        loose = last["guarantee"] / last[common.THEORY]["mean"]
        grown = "is not positive everywhere" if e is None else f"grows like T^{e:.2f}"
        other = found["exponents"][common.OURS]
        beside = "" if other is None else f", with the paper's step like T^{other:.2f}"
        words.append(
            f"{name} utilities: the regret {grown}{beside}, the bound is "
            f"{'never' if kept else 'sometimes'} exceeded, and {loose:.3g} times the regret at "
            f"T = {last['slots']}"
        )
    return Outcome(agrees, "; ".join(words))


def draw(summary: Summary) -> Figure:
    """Draw a panel per instance set: regrets, bound, and a line of slope 1/2."""
    figure = new_figure(4.6 * len(summary), 4)
    axes = figure.subplots(1, len(summary), squeeze=False)[0]
    for axis, (name, found) in zip(axes, summary.items(), strict=True):
        slots = np.array([p["slots"] for p in found["points"]])
        for k, step in enumerate((common.THEORY, common.OURS)):
            mean = np.array([p[step]["mean"] for p in found["points"]])
            e = found["exponents"][step]
            label = common.LABELS[step] + ("" if e is None else f": T^{e:.2f}")
            axis.plot(slots, mean, "o-", color=COLOURS[k], label=label, markersize=4)
            if k == 0:
                axis.plot(slots, mean[0] * np.sqrt(slots / slots[0]), "k:", label="T^0.5")
        bound = [p["guarantee"] for p in found["points"]]
        axis.plot(slots, bound, "--", color=COLOURS[6], label="bound (41), theory's step only")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("slots T")
        axis.set_title(f"{name} utilities", fontsize=9)
        common.finish(axis)
        axis.legend(frameon=False, fontsize=7)
    axes[0].set_ylabel("regret to the best stationary decision")
    return figure


TITLE = "OGASched, Theorem 1: regret against the square root of T, step of the theory"
CLAIM = "the regret is at most H_G sqrt(T), and so grows no faster than the square root of T"
