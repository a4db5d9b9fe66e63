"""Loads the reference files of family `bot` (tests/data/bot) into instances and schedules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from optsched.families.bot.fairness import utilities
from optsched.families.bot.instance import Application, BotInstance, BotSchedule, Link

FOLDER = Path(__file__).parents[1] / "data" / "bot"
FILES = sorted(FOLDER.glob("*.json"))


def load(path: Path, alpha: float | str = 1.0) -> tuple[BotInstance, dict[str, Any]]:
    """Return the instance of a reference file with utility ``alpha``, and its known answers."""
    content = json.loads(path.read_text())
    raw = content["instance"]
    inst = BotInstance(
        speed=tuple(raw["speed"]),
        links=tuple(
            Link(a=u, b=v, forward=forward, backward=backward)
            for u, v, forward, backward in raw["links"]
        ),
        applications=tuple(
            Application(
                master=a["master"],
                flop=a["flop"],
                bytes=a["bytes"],
                allowed=None if a.get("allowed") is None else tuple(a["allowed"]),
            )
            for a in raw["apps"]
        ),
        alpha=alpha,
    )
    return inst, content["reference"]


def schedule(rho: list[list[float]]) -> BotSchedule:
    """Return a schedule of rates [k][n]; solvers leave rates of -1e-17, which are dropped."""
    return BotSchedule.of(np.maximum(np.array(rho), 0.0))


def utility(alpha: float | str, weights: Any, rates: Any) -> float:
    """Return the utility of one vector of rates."""
    return float(utilities(alpha, weights, [rates])[0])
