"""How often intervals hold a truth that is known, and policies that are equal are told apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bench import Row

from optsched.campaigns.ratings import Sample
from optsched.campaigns.statistics import pairs
from optsched.intervals import mean_interval

SHARES = (0.0, 0.3, 0.6)  # of instances whose optimum is open
TRUTH = 1.3  # mean of the ratios that are drawn: 1 + Exp(0.3)


def coverage(cell: Row, _folder: Path) -> Row:
    """Draw ratios whose mean is known, and see how often intervals hold it."""
    n, share = cell["n"], cell["open"]
    rng = np.random.default_rng(int(100 * share) + n)
    held = plain = 0
    for k in range(cell["repetitions"]):
        truth = 1 + rng.exponential(TRUTH - 1, n)
        is_open = rng.random(n) < share
        low = np.where(is_open, np.maximum(1, truth * (1 - 0.2 * rng.random(n))), truth)
        high = np.where(is_open, truth * (1 + 0.2 * rng.random(n)), truth)
        first, last = mean_interval(low, high, least=1.0, seed=k) or (0.0, 0.0)
        held += first <= TRUTH <= last
        drawn = rng.integers(n, size=(999, n))
        ends = (
            np.quantile(low[drawn].mean(axis=1), 0.025),
            np.quantile(high[drawn].mean(axis=1), 0.975),
        )
        plain += ends[0] <= TRUTH <= ends[1]
    return {
        "held": held / cell["repetitions"],
        "percentiles": plain / cell["repetitions"],
        "wrong": [],
    }


def differ(cell: Row, _folder: Path) -> Row:
    """Compare policies that are equally good, and see how often they are told apart."""
    rng, n, told = np.random.default_rng(cell["n"]), cell["n"], 0
    names = tuple((k, str(k)) for k in range(n))
    for _ in range(cell["repetitions"]):
        common = 1 + rng.exponential(0.5, n)  # some instances are hard for everybody
        inside = []
        for policy in map(str, range(cell["policies"])):
            ratios = common * np.exp(0.1 * rng.standard_normal(n))
            inside.append(Sample("group", policy, names, ratios, ratios, 0, 0, 0))
        told += any(pair.differ for pair in pairs(inside))
    return {"told": told / cell["repetitions"], "wrong": []}
