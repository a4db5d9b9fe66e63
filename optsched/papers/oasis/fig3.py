"""OASiS, Fig. 3: total utility of all schemes against the number of jobs."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from optsched.core import simulate
from optsched.drawing import COLOURS, finish, legend
from optsched.papers.estimate import Estimate, lead
from optsched.papers.experiment import (
    OPEN,
    Cell,
    Row,
    Rows,
    Setting,
    Summary,
    fresh,
    grid,
    grouped,
    line,
    mean_with_interval,
)
from optsched.papers.oasis.common import (
    COMMON,
    ESTIMATED,
    LABELS,
    LITERAL,
    MACHINES,
    OTHERS,
    PRESETS,
    SCHEMES,
    instance,
    policy,
)
from optsched.papers.verdict import Finding, Outcome, effect, shown

SLOTS = 300
JOBS = (50, 100, 150, 200, 250)  # the paper prints no numbers on this axis
DORM = (50,)  # jobs up to which Dorm runs: its integer programs take minutes


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance and scheme."""
    every = grid(preset=PRESETS, jobs=JOBS, seed=fresh(seeds), scheme=SCHEMES)
    return [cell for cell in every if cell["scheme"] != "dorm" or cell["jobs"] in DORM]


def run(cell: Cell, _time_limit: float) -> Row:
    """Run one scheme on one instance."""
    sizes = {"jobs": cell["jobs"], "slots": SLOTS, "machines": MACHINES}
    inst = instance(cell["preset"], cell["seed"], **sizes)
    found = simulate(
        inst, policy(cell["scheme"], cell["preset"], cell["seed"], sizes), seed=cell["seed"]
    )
    return {
        "value": found.value,
        "completed": sum(c is not None for c in found.completion),
        "guarantee": found.guarantee,
        "seconds": found.seconds,
    }


def summarize(rows: Rows) -> Summary:
    """Return the mean utility by preset, scheme and number of jobs."""
    return {
        preset: {
            scheme: [
                {"jobs": n, **mean_with_interval([row["value"] for row in group])}
                for (n,), group in grouped(part, "jobs").items()
            ]
            for (scheme,), part in grouped(of_preset, "scheme").items()
        }
        for (preset,), of_preset in grouped(rows, "preset").items()
    }


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: OASiS is the best, by more the more jobs there are."""
    first, *others = summary
    counts = [p["jobs"] for p in summary[first][ESTIMATED]]
    found = [_ahead(summary[first], ESTIMATED, n, first) for n in counts]
    few, many = (_margins(summary[first], n) for n in (counts[0], counts[-1]))
    grows = Estimate.of([b - a for a, b in zip(few, many, strict=True)])
    claim = f"its lead in utility at {counts[-1]} jobs less that at {counts[0]}"
    found.append(effect(claim, grows, unit="utility"))
    beside = [(first, LITERAL), *((p, s) for p in others for s in (ESTIMATED, LITERAL))]
    for preset, scheme in beside:
        for n in counts:
            f = _ahead(summary[preset], scheme, n, preset)
            found.append(shown(f.claim, _lead(summary[preset], scheme, n), unit="%", note=f.note))
    return Outcome(tuple(found), (WHY,))


WHY = (
    "with the true U and L, over all jobs, L is made of utilities of e^-1000 and less: prices stay "
    "near zero until a machine is full, and jobs are admitted first come, first served"
)


def _at(lines: Any, scheme: str, jobs: int) -> Any:
    return next((p for p in lines.get(scheme, ()) if p["jobs"] == jobs), None)


def _rival(lines: Any, jobs: int) -> tuple[str, Any]:
    """Return the other scheme with the largest mean, of those that ran."""
    ran = {s: _at(lines, s, jobs) for s in OTHERS}
    known = {s: p for s, p in ran.items() if p is not None}
    best = max(known, key=lambda s: float(known[s]["mean"]))
    return best, known[best]


def _lead(lines: Any, scheme: str, jobs: int) -> Estimate | None:
    return lead(_at(lines, scheme, jobs)["values"], _rival(lines, jobs)[1]["values"])


def _margins(lines: Any, jobs: int) -> list[float]:
    pairs = zip(
        _at(lines, ESTIMATED, jobs)["values"], _rival(lines, jobs)[1]["values"], strict=True
    )
    return [a - b for a, b in pairs]


def _ahead(lines: Any, scheme: str, jobs: int, preset: str) -> Finding:
    rival, theirs = _rival(lines, jobs)
    claim = f"{PRESETS[preset]}, {jobs} jobs: {LABELS[scheme]} ahead of {LABELS[rival]}"
    ours = _at(lines, scheme, jobs)
    note = f"medians {ours['median']:.4g}, {theirs['median']:.4g}"
    return effect(claim, _lead(lines, scheme, jobs), note=note)


def draw(summary: Summary) -> Figure:
    """Draw a panel per preset, a line per scheme."""
    figure = Figure(figsize=(4.4 * len(summary), 4.4), layout="constrained")
    axes = figure.subplots(1, len(summary), squeeze=False)[0]
    for axis, (preset, lines) in zip(axes, summary.items(), strict=True):
        for k, (scheme, points) in enumerate(lines.items()):
            style = "s--" if scheme == LITERAL else "o-"
            jobs = [p["jobs"] for p in points]
            line(axis, jobs, points, COLOURS[k], LABELS[scheme], style)
        axis.set_title(PRESETS[preset], fontsize=9)
        axis.set_ylim(bottom=0)
        finish(axis, f"number of jobs in {SLOTS} slots")
    axes[0].set_ylabel("total utility (mean, 95 % interval)")
    legend(figure, axes[0])
    return figure


TITLE = "OASiS, Fig. 3: total utility against the number of jobs, T = 300"
CLAIM = "OASiS earns the most, above all when many jobs compete"
SETTINGS = (
    *COMMON,
    Setting("slots, machines", "300, 50 + 50", 'Sec. V-A: "where T=300", "H=50", "K=50"'),
    Setting("jobs", "50 to 250", f"{OPEN}: the axis is not readable in the text"),
    Setting("Dorm", "with 50 jobs only", "its integer programs take minutes to a run with more"),
)
