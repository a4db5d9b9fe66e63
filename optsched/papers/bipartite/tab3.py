"""OGASched, Table III: horizon, arrival probability and density of the graph."""

from __future__ import annotations

from matplotlib.figure import Figure

from optsched.papers.bipartite import common
from optsched.papers.experiment import Cell, Outcome, Summary

HORIZONS = (1000, 2000, 5000, 10_000)
PROBABILITIES = (0.3, 0.5, 0.7, 0.9)
DENSITIES = (2.0, 2.5, 3.0)
SLOTS = 2000


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    panels = {
        "T": ("slots", HORIZONS),
        "rho": ("arrival_probability", PROBABILITIES),
        "density": ("density", DENSITIES),
    }
    return common.sweeps(seeds, panels, slots=SLOTS)


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: the lead, and what horizon, probability and density do."""
    horizon, rho, density = (
        common.means(summary, panel, common.OURS) for panel in ("T", "rho", "density")
    )
    claims = [
        (horizon == sorted(horizon), "OGASched's mean reward grows with the horizon"),
        (rho[-1] < rho[-2], "it is lower at arrival probability 0.9 than at 0.7"),
        (density == sorted(density), "it grows with the density"),
    ]
    return common.with_claims(common.judge(summary), claims)


def draw(summary: Summary) -> Figure:
    """Draw the three sweeps."""
    names = {"T": "slots T", "rho": "arrival probability", "density": "ports per machine"}
    return common.draw(summary, names, log=("T",))


TITLE = "OGASched, Table III: horizon, arrival probability, density"
CLAIM = (
    "OGASched is always ahead; its mean reward grows with the horizon and with the density, and is "
    "lower at arrival probability 0.9 than at 0.7"
)
SEEDS = 3
