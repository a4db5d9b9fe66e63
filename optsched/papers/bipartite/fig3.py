"""OGASched, Fig. 3: rewards by number of machines, number of ports, and contention."""

from __future__ import annotations

from matplotlib.figure import Figure

from optsched.papers.bipartite import common
from optsched.papers.experiment import Cell, Outcome, Summary

MACHINES = (32, 64, 128, 256, 512)
PORTS = (5, 10, 15, 20)
CONTENTION = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
SLOTS = 2000


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    panels = {
        "machines": ("machines", MACHINES),
        "ports": ("ports", PORTS),
        "contention": ("contention", CONTENTION),
    }
    return common.sweeps(seeds, panels, slots=SLOTS)


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: the lead, where it is largest, and what contention does."""
    ours = common.means(summary, "machines", common.OURS)
    fair = common.means(summary, "machines", "fairness")
    lead = [a / b for a, b in zip(ours, fair, strict=True)]
    peak = lead.index(max(lead))
    rewards = common.means(summary, "contention", common.OURS)
    rising = CONTENTION.index(1.0)
    claims = [
        (
            0 < peak < len(lead) - 1,
            "the lead over Fairness grows and then shrinks with the number of machines "
            f"({', '.join(f'{x:.2f}' for x in lead)})",
        ),
        (
            rewards[: rising + 1] == sorted(rewards[: rising + 1]),
            "rewards grow up to contention 1",
        ),
        (rewards[-1] < max(rewards), "and fall where contention is high"),
    ]
    return common.with_claims(common.judge(summary), claims)


def draw(summary: Summary) -> Figure:
    """Draw the three sweeps."""
    names = {"machines": "machines", "ports": "ports (job types)", "contention": "contention"}
    return common.draw(summary, names, log=("machines", "contention"))


TITLE = "OGASched, Fig. 3: rewards by machines, ports and contention, T = 2000"
CLAIM = (
    "OGASched is ahead everywhere; its lead over the baselines first grows and then shrinks with "
    "the number of machines; more contention than 1 lowers rewards and the lead"
)
SEEDS = 3
