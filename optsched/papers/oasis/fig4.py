"""OASiS, Fig. 4: how well jobs meet their target completion time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.drawing import COLOURS
from optsched.papers.experiment import Cell, Outcome, Row, Rows, Summary, grid, grouped
from optsched.papers.oasis.common import FLOORED, MACHINES, PRESETS, SCHEMES, label, listed, policy
from optsched.problem import get_family
from optsched.simulation import simulate

SLOTS = 100
EACH = 100  # jobs of each kind
CRITICAL = 4.0  # decay from which a job is time-critical
KINDS = ("time-sensitive", "time-critical")


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance and scheme."""
    return grid(preset=PRESETS, seed=range(seeds), scheme=SCHEMES)


def workload(preset: str, seed: int) -> Any:
    """Return an instance with exactly 100 jobs of each kind: the first of each among more."""
    drawn: Any = get_family("oasis").generate(
        preset, seed=seed, jobs=3 * EACH, slots=SLOTS, machines=MACHINES, mix=(0.0, 0.5, 0.5)
    )
    kept = sorted(
        i
        for critical in (False, True)
        for i in [k for k, job in enumerate(drawn.jobs) if is_critical(job) == critical][:EACH]
    )
    fields = {name: getattr(drawn, name) for name in type(drawn).model_fields}
    return type(drawn)(**(fields | {"jobs": tuple(drawn.jobs[i] for i in kept)}))


def is_critical(job: Any) -> bool:
    """Whether a job is time-critical."""
    return bool(job.utility.decay >= CRITICAL)


def run(cell: Cell, _time_limit: float) -> Row:
    """Run one scheme; return completion - target of the completed jobs of each kind."""
    instance = workload(cell["preset"], cell["seed"])
    found = simulate(instance, policy(cell["scheme"]), seed=cell["seed"])
    late: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for job, end in zip(instance.jobs, found.completion, strict=True):
        if end is not None:
            late[KINDS[is_critical(job)]].append(end - job.arrival - job.utility.target)
    return {"value": found.value, "late": late, "seconds": found.seconds}


def summarize(rows: Rows) -> Summary:
    """Return the timeliness of completed jobs by preset, scheme and kind."""
    return {
        preset: {
            scheme: {
                kind: _timeliness([x for row in group for x in row["late"][kind]], len(group))
                for kind in KINDS
            }
            for (scheme,), group in grouped(of_preset, "scheme").items()
        }
        for (preset,), of_preset in grouped(rows, "preset").items()
    }


def _timeliness(late: Sequence[float], instances: int) -> dict[str, Any]:
    found: dict[str, Any] = {"completed": len(late), "of": EACH * instances}
    if not late:
        return found | {"mean": None, "deviation": None, "quantiles": None}
    return found | {
        "mean": float(np.mean(late)),
        "deviation": float(np.std(late)),
        "quantiles": [float(q) for q in np.quantile(late, (0.05, 0.25, 0.5, 0.75, 0.95))],
    }


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: OASiS is closest to the target, with the smallest variance."""
    words, agrees = [], {}
    for preset, schemes in summary.items():
        best = [_best(schemes, kind) for kind in KINDS]
        agrees[preset] = all(closest == steadiest == "oasis" for closest, steadiest, _ in best)
        words += [f"{PRESETS[preset]}, {text}" for _, _, text in best]
    words.append("only completed jobs count, and the schemes complete different ones")
    return Outcome(agrees[next(iter(summary))], "; ".join(words))


def _best(schemes: dict[str, Any], kind: str) -> tuple[str | None, str | None, str]:
    """Return who is closest to the target, who has the smallest deviation, and a sentence."""
    seen = {s: v[kind] for s, v in schemes.items() if s != FLOORED and v[kind]["completed"]}
    if not seen:
        return None, None, f"{kind} jobs: no scheme completes any"
    closest = min(seen, key=lambda s: abs(seen[s]["mean"]))
    steadiest = min(seen, key=lambda s: seen[s]["deviation"])
    text = (
        f"{kind} jobs: closest to the target is {label(closest)}, smallest deviation has "
        f"{label(steadiest)} ({listed([_one(s, v) for s, v in seen.items()])})"
    )
    return closest, steadiest, text


def _one(scheme: str, seen: dict[str, Any]) -> str:
    return (
        f"{label(scheme)} {seen['mean']:+.1f} ± {seen['deviation']:.1f} slots, "
        f"{seen['completed']} of {seen['of']}"
    )


def draw(summary: Summary) -> Figure:
    """Draw a panel per preset, in it a box per scheme and kind: quartiles, whiskers at 5, 95 %."""
    figure = Figure(figsize=(7.2, 3.9 * len(summary)), layout="constrained")
    axes = figure.subplots(len(summary), squeeze=False)[:, 0]
    for axis, (preset, schemes) in zip(axes, summary.items(), strict=True):
        for side, kind in enumerate(KINDS):
            _boxes(axis, side, kind, schemes)
        axis.axhline(0, color="black", linewidth=0.8)
        names = [
            f"{label(s)}\n" + ", ".join(f"{v[k]['completed']}" for k in KINDS)
            for s, v in schemes.items()
        ]
        axis.set_xticks(range(len(schemes)), names, fontsize=8)
        axis.set_ylabel("completion - target, slots")
        axis.set_title(PRESETS[preset], fontsize=9)
    axes[0].legend(frameon=False)
    axes[-1].set_xlabel("scheme, and how many jobs of each kind it completed")
    return figure


def _boxes(axis: Axes, side: int, kind: str, schemes: dict[str, Any]) -> None:
    boxes, places = [], []
    for x, found in enumerate(schemes.values()):
        quantiles = found[kind]["quantiles"]
        if quantiles is not None:
            names = ("whislo", "q1", "med", "q3", "whishi")
            boxes.append(dict(zip(names, quantiles, strict=True)) | {"fliers": []})
            places.append(x + (-0.18, 0.18)[side])
    drawn = axis.bxp(boxes, positions=places, widths=0.3, patch_artist=True, manage_ticks=False)
    for box in drawn["boxes"]:
        box.set_facecolor(COLOURS[side])
    axis.plot([], [], "s", color=COLOURS[side], label=kind)


TITLE = "OASiS, Fig. 4: completion timeliness, T = 100"
CLAIM = (
    "with OASiS, completion minus target is closest to zero for both kinds of jobs, with the "
    "smallest variance"
)
