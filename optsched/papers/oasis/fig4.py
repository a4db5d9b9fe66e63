"""OASiS, Fig. 4: how well jobs meet their target completion time."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.core import simulate
from optsched.drawing import COLOURS
from optsched.papers.estimate import Estimate, differences, fewer
from optsched.papers.experiment import Cell, Row, Rows, Setting, Summary, fresh, grid, grouped
from optsched.papers.oasis.common import (
    COMMON,
    ESTIMATED,
    LABELS,
    LATE,
    LITERAL,
    MACHINES,
    OTHERS,
    PRESETS,
    SCHEMES,
    boxes,
    instance,
    known_mean,
    policy,
    quantiles,
)
from optsched.papers.verdict import Finding, Outcome, effect, shown

SLOTS = 100
EACH = 100  # jobs of each kind
CRITICAL = 4.0  # decay from which a job is time-critical
KINDS = ("time-sensitive", "time-critical")
MEASURES = {"off": "distance of the mean from the target", "spread": "standard deviation"}
FEW_PAIRS = {
    "off": "where both complete such a job",
    "spread": "where both complete two such jobs",
}


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance and scheme."""
    every = grid(preset=PRESETS, seed=fresh(seeds), scheme=SCHEMES)
    return [cell for cell in every if cell["scheme"] != "dorm"]


def workload(preset: str, seed: int) -> Any:
    """Return an instance with exactly 100 jobs of each kind: the first of each among more."""
    drawn = instance(preset, seed, **_sizes())
    kept = sorted(
        i
        for critical in (False, True)
        for i in [k for k, job in enumerate(drawn.jobs) if is_critical(job) == critical][:EACH]
    )
    fields = {name: getattr(drawn, name) for name in type(drawn).model_fields}
    return type(drawn)(**(fields | {"jobs": tuple(drawn.jobs[i] for i in kept)}))


def _sizes() -> dict[str, Any]:
    return {"jobs": 3 * EACH, "slots": SLOTS, "machines": MACHINES, "mix": (0.0, 0.5, 0.5)}


def is_critical(job: Any) -> bool:
    """Whether a job is time-critical."""
    return bool(job.utility.decay >= CRITICAL)


def run(cell: Cell, _time_limit: float) -> Row:
    """Run one scheme; return completion - target of the completed jobs of each kind."""
    inst = workload(cell["preset"], cell["seed"])
    found = simulate(
        inst, policy(cell["scheme"], cell["preset"], cell["seed"], _sizes()), seed=cell["seed"]
    )
    late: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for job, end in zip(inst.jobs, found.completion, strict=True):
        if end is not None:
            late[KINDS[is_critical(job)]].append(end - job.arrival - job.utility.target)
    return {"value": found.value, "late": late, "seconds": found.seconds}


def summarize(rows: Rows) -> Summary:
    """Return the timeliness of completed jobs by preset, scheme and kind."""
    return {
        preset: {
            scheme: {kind: _timeliness([row["late"][kind] for row in group]) for kind in KINDS}
            for (scheme,), group in grouped(part, "scheme").items()
        }
        for (preset,), part in grouped(rows, "preset").items()
    }


def _timeliness(late: list[list[float]]) -> dict[str, Any]:
    """Return what all jobs say together, and by instance; None where none has completed."""
    together = [x for each in late for x in each]
    found: dict[str, Any] = {
        "completed": len(together),
        "off": [abs(float(np.mean(each))) if each else None for each in late],
        "spread": [float(np.std(each)) if len(each) > 1 else None for each in late],
        "quantiles": quantiles(together),
    }
    if together:
        found |= {
            "mean": float(np.mean(together)),
            "median": float(np.median(together)),
            "deviation": float(np.std(together)),
        }
    return found


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: OASiS is closest to the target, with the smallest variance."""
    first = next(iter(summary))
    found = [_best(summary[first], kind, measure) for kind in KINDS for measure in MEASURES]
    for preset, schemes in summary.items():
        for scheme, by_kind in schemes.items():
            for kind in KINDS:
                found.append(_one(f"{PRESETS[preset]}, {LABELS[scheme]}, {kind}", by_kind[kind]))
    notes = ("only completed jobs count, and the schemes complete different ones",)
    return Outcome(tuple(found), notes)


def _best(schemes: Any, kind: str, measure: str) -> Finding:
    """Judge OASiS beside the other scheme with the smallest mean over instances."""
    claim = f"{kind} jobs, {MEASURES[measure]}: OASiS less the best other"
    others = [s for s in OTHERS if s in schemes]
    rival = min(others, key=lambda s: known_mean(schemes[s][kind][measure]))
    both = [schemes[s][kind][measure] for s in (ESTIMATED, rival)]
    more = differences(*both)
    found = Estimate.of(more) if more else None
    note = fewer(more, both[0], FEW_PAIRS[measure])
    return effect(f"{claim}, {LABELS[rival]}", found, sign=-1, unit="slots", note=note)


def _one(claim: str, seen: Any) -> Finding:
    note = f"{seen['completed']} jobs complete"
    if not seen["completed"]:
        return shown(claim, None, note=note)
    note = f"median {seen['median']:+.1f}, deviation {seen['deviation']:.1f} slots; {note}"
    return shown(f"{claim}: mean of completion less target", seen["mean"], unit="slots", note=note)


def draw(summary: Summary) -> Figure:
    """Draw a panel per preset, in it a box per scheme and kind: quartiles, whiskers at 5, 95 %."""
    figure = Figure(figsize=(7.6, 3.4 * len(summary)), layout="constrained")
    axes = figure.subplots(len(summary), squeeze=False)[:, 0]
    for axis, (preset, schemes) in zip(axes, summary.items(), strict=True):
        for side, kind in enumerate(KINDS):
            _boxes(axis, side, kind, schemes)
        axis.axhline(0, color="black", linewidth=0.8)
        names = [
            f"{SHORT.get(s, LABELS[s])}\n" + ", ".join(f"{v[k]['completed']}" for k in KINDS)
            for s, v in schemes.items()
        ]
        axis.set_xticks(range(len(schemes)), names, fontsize=8)
        axis.set_ylabel(LATE)
        axis.set_title(PRESETS[preset], fontsize=9)
    axes[0].legend(frameon=False)
    axes[-1].set_xlabel("scheme, and how many jobs of each kind it completed")
    return figure


SHORT = {LITERAL: "OASiS,\ntrue U, L"}


def _boxes(axis: Axes, side: int, kind: str, schemes: dict[str, Any]) -> None:
    found = {
        x + (-0.18, 0.18)[side]: by_kind[kind]["quantiles"]
        for x, by_kind in enumerate(schemes.values())
    }
    boxes(axis, found, COLOURS[side], widths=0.3)
    axis.plot([], [], "s", color=COLOURS[side], label=kind)


TITLE = "OASiS, Fig. 4: completion timeliness, T = 100"
CLAIM = (
    "with OASiS, completion minus target is closest to zero for both kinds of jobs, with the "
    "smallest variance"
)
SETTINGS = (
    *COMMON,
    Setting("slots, jobs", "100; 100 time-sensitive and 100 time-critical",
            'Sec. V-A: "when 100 time-sensitive and 100 time-critical jobs are run in T=100"'),
    Setting("Dorm", "left out", "in the paper; a run takes five minutes of integer programs"),
)  # fmt: skip
