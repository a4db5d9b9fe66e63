"""OGASched, Fig. 6: gain and overhead of a slot under different contention."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import legend, new_figure
from optsched.families.bipartite.online import POLICIES, events
from optsched.families.bipartite.pictures import bars, split
from optsched.families.bipartite.policies.paper import KNOWLEDGE
from optsched.numbers.streams import Streams
from optsched.papers.bipartite import common
from optsched.papers.experiment import Cell, Outcome, Row, Rows, Summary, grouped

SLOTS = 2000
CONTENTION = (0.1, 1.0, 5.0, 10.0, 20.0)
EVERY = 50  # slots between two that are looked at


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return common.sweeps(seeds, {"": ("contention", CONTENTION)}, slots=SLOTS)


def run(cell: Cell, _time_limit: float) -> Row:
    """Run all schemes; return mean gain and overhead."""
    inst = common.instance(cell)
    parts = {}
    for name in common.SCHEMES:
        policy = POLICIES[name]()
        known = {name: KNOWLEDGE[name](inst) for name in policy.knows}
        policy.start(inst.platform(), known, Streams(0))
        seen = []
        for event in events(inst, policy.information):
            decision = policy.step(event)
            if event.slot % EVERY == EVERY - 1:
                seen.append(split(inst, decision, inst.jobs[event.slot]))
        parts[name] = np.mean(seen, axis=0).tolist()
    return {"parts": parts}


def summarize(rows: Rows) -> Summary:
    """Return mean gain and overhead by contention and scheme."""
    return {
        str(level): {
            name: np.mean([row["parts"][name] for row in group], axis=0).tolist()
            for name in common.SCHEMES
        }
        for (level,), group in grouped(rows, "label").items()
    }


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: the overhead grows slowly with the contention."""
    overhead = [parts[common.OURS][1] for parts in summary.values()]
    gains = [parts[common.OURS][0] for parts in summary.values()]
    levels = list(summary)
    grows = all(b >= a for a, b in pairwise(overhead))
    words = [
        f"contention {level}: OGASched gains {g:.4g} and pays {o:.4g}"
        for level, g, o in zip(levels, gains, overhead, strict=True)
    ]
    words.append(
        "of the baselines, the one with the largest share of overhead pays "
        + ", ".join(
            f"{max(p[b][1] / max(p[b][0], 1e-12) for b in common.BASELINES):.0%} of its gain at "
            f"{level}"
            for level, p in summary.items()
        )
    )
    return Outcome(grows, "; ".join(words))


def draw(summary: Summary) -> Figure:
    """Draw a panel per level, two bars per scheme."""
    figure = new_figure(4.6 * len(summary), 4)
    axes = figure.subplots(1, len(summary), squeeze=False)[0]
    for axis, (level, parts) in zip(axes, summary.items(), strict=True):
        names = [common.LABELS[name] for name in parts]
        bars(axis, names, [p[0] for p in parts.values()], [p[1] for p in parts.values()])
        axis.set_title(f"contention {level}", fontsize=9)
    legend(figure, axes[0])
    return figure


TITLE = "OGASched, Fig. 6: gain and overhead by contention, T = 2000"
CLAIM = "the overhead grows slowly with the contention"
SEEDS = 3
TIME_LIMIT = 0.0  # seconds per optimum
