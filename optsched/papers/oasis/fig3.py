"""OASiS, Fig. 3: total utility of all schemes against the number of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from optsched.drawing import COLOURS
from optsched.papers.experiment import (
    Cell,
    Outcome,
    Row,
    Rows,
    Summary,
    grid,
    grouped,
    line,
    mean_with_interval,
)
from optsched.papers.oasis.common import FLOORED, MACHINES, PRESETS, SCHEMES, label, listed, policy
from optsched.problem import get_family
from optsched.simulation import simulate

SLOTS = 300
JOBS = (50, 100, 150, 200, 250)  # the paper prints no numbers on this axis


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance and scheme."""
    return grid(preset=PRESETS, jobs=JOBS, seed=range(seeds), scheme=SCHEMES)


def run(cell: Cell, _time_limit: float) -> Row:
    """Run one scheme on one instance."""
    instance = get_family("oasis").generate(
        cell["preset"], seed=cell["seed"], jobs=cell["jobs"], slots=SLOTS, machines=MACHINES
    )
    found = simulate(instance, policy(cell["scheme"]), seed=cell["seed"])
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
    words, agrees = [], []
    for preset, lines in summary.items():
        counts = [point["jobs"] for point in lines["oasis"]]
        leads = {name: _leads(lines, name) for name in ("oasis", FLOORED)}
        ahead = all(lead > 0 for lead, _ in leads["oasis"])
        agrees.append(ahead and leads["oasis"][-1][0] > leads["oasis"][0][0])
        words.append(f"{PRESETS[preset]}: " + ", ".join(_lead(n, leads[n], counts) for n in leads))
        if ahead and not agrees[-1]:
            words.append("the lead does not grow with the number of jobs")
    if not agrees[0]:
        words.append(WHY)
    return Outcome(agrees[0], "; ".join(words))


WHY = (
    "with the printed time-critical sigmoids the smallest utility, L of (25)(26), all but "
    "vanishes, so the prices of OASiS stay near zero until a machine is full, and it admits first "
    "come, first served"
)


def _leads(lines: dict[str, Any], name: str) -> list[tuple[float, str]]:
    """Return at each point the relative lead over the best other scheme, and who that is."""
    others = [scheme for scheme in lines if scheme not in ("oasis", FLOORED)]
    found = []
    for k, point in enumerate(lines[name]):
        best, rival = max((lines[s][k]["mean"], s) for s in others)
        found.append((point["mean"] / best - 1 if best > 0 else float("inf"), rival))
    return found


def _lead(name: str, leads: Sequence[tuple[float, str]], counts: Sequence[int]) -> str:
    parts = [
        f"{lead:+.0%} at {n} jobs ({label(rival)})"
        for n, (lead, rival) in zip(counts, leads, strict=True)
    ]
    return f"{label(name)} beside the best other scheme {listed(parts)}"


def draw(summary: Summary) -> Figure:
    """Draw a panel per preset, a line per scheme."""
    figure = Figure(figsize=(5.2 * len(summary), 4.2), layout="constrained")
    axes = figure.subplots(1, len(summary), squeeze=False)[0]
    for axis, (preset, lines) in zip(axes, summary.items(), strict=True):
        for k, (scheme, points) in enumerate(lines.items()):
            line(axis, [p["jobs"] for p in points], points, COLOURS[k], label(scheme))
        axis.set_title(PRESETS[preset], fontsize=9)
        axis.set_xlabel(f"number of jobs in {SLOTS} slots")
        axis.set_ylim(bottom=0)
        axis.grid(color="#EEEEEE")
    axes[0].set_ylabel("total utility (mean, 95 % interval)")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


TITLE = "OASiS, Fig. 3: total utility against the number of jobs, T = 300"
CLAIM = "OASiS earns the most, above all when many jobs compete"
