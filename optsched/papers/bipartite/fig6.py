"""OGASched, Fig. 6: gain and overhead of a slot under different contention."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import legend, new_figure
from optsched.families.bipartite.online import events
from optsched.families.bipartite.pictures import bars, split
from optsched.families.bipartite.policies.paper import KNOWLEDGE
from optsched.numbers.streams import Streams
from optsched.papers.bipartite import common
from optsched.papers.estimate import Estimate
from optsched.papers.experiment import OPEN, Cell, Row, Rows, Setting, Summary, grouped
from optsched.papers.verdict import Outcome, effect, shown, within
from optsched.policies.plugins import get_policy
from optsched.problem import get_family

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
        made = common.policy(name)
        policy = get_policy(get_family("bipartite"), made) if isinstance(made, str) else made
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
    """Return gain and overhead by contention and scheme, instance by instance."""
    return {
        str(level): {name: [row["parts"][name] for row in group] for name in common.SCHEMES}
        for (level,), group in grouped(rows, "label").items()
    }


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: the overhead grows with the contention, but slowly."""
    levels = list(summary)
    first, last = (summary[level][common.OURS] for level in (levels[0], levels[-1]))
    times = math.log(float(levels[-1]) / float(levels[0]))
    power = Estimate.of(
        [math.log(b[1] / a[1]) / times for a, b in zip(first, last, strict=True)], nothing=0.0
    )
    where = f"from contention {levels[0]} to {levels[-1]}"
    found = [
        effect(f"the overhead grows {where}: exponent of the contention", power, unit=""),
        within("slowly, which is less than in proportion: the same exponent", power, high=1.0),
    ]
    for level in levels:
        for part, name in enumerate(("gain", "overhead")):
            each = [parts[part] for parts in summary[level][common.OURS]]
            claim = f"contention {level}: {name} of OGASched per slot"
            found.append(shown(claim, Estimate.of(each)))
    return Outcome(tuple(found))


def draw(summary: Summary) -> Figure:
    """Draw a panel per level, two bars per scheme."""
    shown_here = [name for name in common.DRAWN if name in common.SCHEMES]
    figure = new_figure(2.8 * len(summary), 4.4)
    axes = figure.subplots(1, len(summary), squeeze=False)[0]
    names = [SHORT.get(name, common.LABELS[name]) for name in shown_here]
    for axis, (level, parts) in zip(axes, summary.items(), strict=True):
        means = [np.mean(parts[name], axis=0) for name in shown_here]
        bars(axis, names, [m[0] for m in means], [m[1] for m in means])
        for row, name in enumerate(shown_here):
            for part, shift in enumerate((-0.2, 0.2)):
                each = Estimate.of([of[part] for of in parts[name]])
                if each.interval is not None:
                    axis.hlines(row + shift, *each.interval, color="black", linewidth=1)
        if axis is not axes[0]:
            axis.set_yticklabels([])
        axis.set_xlabel("reward per slot\n(mean, 95 % interval)", fontsize=8)
        axis.set_title(f"contention {float(level):g}", fontsize=9)
    legend(figure, axes[0])
    return figure


SHORT = {common.PUBLISHED: "OGASched (code)"}
TITLE = "OGASched, Fig. 6: gain and overhead by contention, T = 2000"
CLAIM = "the overhead grows slowly with the contention"
TIME_LIMIT = 0.0  # seconds per optimum
SETTINGS = (
    *common.COMMON,
    Setting("slots", "2000, every 50th looked at", "Table II; which slots count is " + OPEN),
    Setting("contention", "0.1 to 20", "Fig. 6"),
    Setting("slowly", "less than in proportion to the contention", OPEN + ": what slowly means"),
)
