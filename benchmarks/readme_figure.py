"""Draw the figure of README.md: the share of the certified optimum that each online policy earns.

python benchmarks/readme_figure.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import optsched
from optsched.problem import Status

SEEDS = range(20)
NAMES = {"rrh": "RRH", "oasis": "OASiS", "dorm": "Dorm", "drf": "DRF", "fifo": "FIFO"}
TARGET = Path(__file__).parents[1] / "docs" / "images" / "shares.png"


def shares() -> dict[str, list[float]]:
    """Return value / optimum of every policy on every instance."""
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    for seed in SEEDS:
        instance = optsched.get_family("oasis").generate("small", seed=seed)
        optimum = optsched.solve(instance, time_limit=60)
        if optimum.value is None or optimum.status is not Status.OPTIMAL:
            raise RuntimeError(f"seed {seed}: the optimum is not certified")
        for name, mine in found.items():
            mine.append(optsched.simulate(instance, name, seed=seed).value / optimum.value)
    return found


def draw(found: dict[str, list[float]]) -> None:
    """Draw a dot for every instance, a bar for the mean."""
    order = sorted(found, key=lambda name: float(np.mean(found[name])))
    figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
    axes.axvline(100, color="black", linewidth=2)
    axes.set_title("certified optimum = 100 %", loc="right", fontsize="medium")
    for row, name in enumerate(order):
        mine = 100 * np.asarray(found[name])
        axes.barh(row, mine.mean(), height=0.6, color="#9ecae1")
        axes.scatter(mine, np.full(mine.size, row), s=14, color="#08519c", alpha=0.6, zorder=3)
        axes.annotate(f"{mine.mean():.0f} %", (101.5, row), va="center", annotation_clip=False)
    axes.set_yticks(range(len(order)), [NAMES[name] for name in order])
    axes.set_xlim(0, 100)
    axes.set_xlabel("utility earned, % of the certified optimum (bar: mean; dot: one instance)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(TARGET, dpi=150)


if __name__ == "__main__":
    draw(shares())
