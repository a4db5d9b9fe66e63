"""The regret of OGASched with the step of the theory, against the square root of the horizon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from optsched.core import simulate, solve
from optsched.drawing import COLOURS, finish, new_figure
from optsched.families.bipartite.policies.paper import regret_guarantee
from optsched.papers.bipartite import common
from optsched.papers.estimate import Estimate
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
from optsched.papers.verdict import Finding, Outcome, counted, shown, within

HORIZONS = (250, 500, 1000, 2000, 4000, 8000, 16_000)
SETS: dict[str, dict[str, Any]] = {"mixed": {}, "log": {"utilities": ["log"]}}
SQUARE_ROOT = 0.5
SIZES = {"ports": (5, 10, 20, 40), "machines": (32, 64, 128, 256)}  # at the middle horizon
MIDDLE = 1000
SHARE = 0.3  # of the ports that a machine has, as in the preset: 3 of 10


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    found = [
        common.cell(t, seed, panel=name, slots=t, **changes)
        for name, changes in SETS.items()
        for t in HORIZONS
        for seed in fresh(seeds)
    ]
    machines = common.sweeps(seeds, {"machines": ("machines", SIZES["machines"])}, slots=MIDDLE)
    ports = [  # every machine has the same share of them, so that more ports are more channels
        common.cell(n, seed, panel="ports", slots=MIDDLE, ports=n, density=SHARE * n)
        for n in SIZES["ports"]
        for seed in fresh(seeds)
    ]
    return found + ports + machines


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
        slots = [p["slots"] for p in points]
        exponents = {
            step: [
                _exponent(slots, each)
                for each in zip(*(p[step]["values"] for p in points), strict=True)
            ]
            for step in (common.THEORY, common.OURS)
        }
        exponents["guarantee"] = [_exponent(slots, [p["guarantee"] for p in points])]
        found[str(name)] = {"points": points, "exponents": exponents}
    return found


def _exponent(slots: Sequence[int], regrets: Sequence[float]) -> float | None:
    """Return e of regret = c T^e, by least squares of the logarithms; None where one is <= 0."""
    if min(regrets) <= 0:
        return None
    return float(np.polyfit(np.log(slots), np.log(regrets), 1)[0])


def judge(summary: Summary) -> Outcome:
    """Compare with the theory: at most the bound, and no faster than the square root."""
    found: list[Finding] = []
    for name, of in summary.items():
        if name in SIZES:
            found += _in_size(name, of)
            continue
        kept, runs = (sum(p[part] for p in of["points"]) for part in ("kept", "instances"))
        claim = f"{name} utilities: runs within the bound (41)"
        found.append(counted(claim, kept, runs, runs, runs))
        found.append(_grows(f"{name} utilities: exponent of T", of["exponents"][common.THEORY]))
        last = of["points"][-1]
        loose = last["guarantee"] / last[common.THEORY]["mean"]
        claim = f"{name} utilities: the bound is so many times the regret at T = {last['slots']}"
        found.append(shown(claim, loose))
        other = [e for e in of["exponents"][common.OURS] if e is not None]
        if other:
            claim = f"{name} utilities, step of Table II: exponent of T"
            found.append(shown(claim, Estimate.of(other)))
    return Outcome(tuple(found))


def _in_size(name: str, of: Any) -> list[Finding]:
    """Judge growth with the number of ports or machines: within the bound, and no faster."""
    kept, runs = (sum(p[part] for p in of["points"]) for part in ("kept", "instances"))
    found = [counted(f"{name}: runs within the bound (41)", kept, runs, runs, runs)]
    (limit,) = of["exponents"]["guarantee"]
    claim, exponents = f"{name}: exponent of their number", of["exponents"][common.THEORY]
    if name == "ports":  # "the regret grows sublinearly with the number of job types"
        found.append(_grows(claim, exponents))
    else:
        found.append(shown(claim, Estimate.of([e for e in exponents if e is not None])))
    if limit is not None:
        found.append(shown(f"{name}: exponent of their number in the bound", limit))
    return found


def _grows(claim: str, exponents: Sequence[float | None]) -> Finding:
    """Judge whether an exponent is at most one half; None where a regret is not positive."""
    known = [e for e in exponents if e is not None]
    found = Estimate.of(known, nothing=None) if len(known) == len(exponents) else None
    return within(claim, found, high=SQUARE_ROOT)


def draw(summary: Summary) -> Figure:
    """Draw a panel per instance set: regrets, bound, and a line of slope 1/2."""
    figure = new_figure(4.6 * 2, 4 * -(-len(summary) // 2))
    axes = list(np.ravel(figure.subplots(-(-len(summary) // 2), 2, squeeze=False)))
    for unused in axes[len(summary) :]:
        unused.set_axis_off()
    for axis, (name, found) in zip(axes, summary.items(), strict=False):
        slots = np.array([p["slots"] for p in found["points"]])
        for k, step in enumerate((common.THEORY, common.OURS)):
            points = [p[step] for p in found["points"]]
            known = [e for e in found["exponents"][step] if e is not None]
            power = f": {SIGN.get(name, 'T')}^{np.mean(known):.2f}" if known else ""
            label = common.LABELS[step] + power
            line(axis, slots.tolist(), points, COLOURS[k], label)
            mean = points[0]["mean"]
            if k == 0 and name not in SIZES:
                axis.plot(slots, mean * np.sqrt(slots / slots[0]), "k:", label="T^0.5")
        bound = [p["guarantee"] for p in found["points"]]
        axis.plot(slots, bound, "--", color=COLOURS[6], label="bound (41), theory's step only")
        axis.set_xscale("log")
        axis.set_yscale("log")
        if name in SIZES:
            axis.set_xticks(slots, [f"{x:g}" for x in slots])
            axis.minorticks_off()
        finish(axis, name if name in SIZES else "slots T")
        axis.set_title(f"T = {MIDDLE}" if name in SIZES else f"{name} utilities", fontsize=9)
        axis.set_ylim(top=100 * max(bound))  # room for the legend
        axis.legend(frameon=False, fontsize=7, loc="upper left")
    for axis in axes[::2]:
        axis.set_ylabel("regret to the best stationary decision")
    return figure


SIGN = {"ports": "L", "machines": "R"}  # as the paper writes them
TITLE = "OGASched, Theorem 1: regret against T, ports and machines, step of the theory"
CLAIM = (
    "the regret is at most H_G sqrt(T), and so grows no faster than the square root of T, and "
    "sublinearly with the number of ports, as the square root in H_G"
)
SETTINGS = (
    *common.COMMON,
    Setting("step", "the constant one of the proof", "Theorem 1"),
    Setting("slots", "250 to 16000, by doubling", OPEN),
    Setting(
        "ports, machines",
        "5 to 40, 32 to 256, by doubling, with 1000 slots; a machine has 30 % of the ports",
        OPEN,
    ),
)
