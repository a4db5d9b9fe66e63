"""How often intervals hold a truth that is known, and policies that are equal are told apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from bench import Row

from optsched.core.intervals import mean_interval, median_interval, share_above, warning
from optsched.experiments.ratios_by_policy import RatioSample
from optsched.experiments.statistics import pairs
from optsched.numbers.arrays import Floats

SHARES = (0.0, 0.3, 0.6)  # of instances whose optimum is open
TRUTH = 1.3  # mean of the ratios that are drawn: 1 + Exp(0.3)
Draw = Callable[[np.random.Generator, int], Floats]

SKEWED: dict[str, tuple[Draw, float, float, float]] = {
    "1 + lognormal(1.5)": (
        *(lambda rng, n: 1 + rng.lognormal(0, 1.5, n), 1 + math.exp(1.125), 2.0, 0.5),
    ),
    "1 + Pareto(2)": (lambda rng, n: 1 + rng.pareto(2, n), 2.0, math.sqrt(2), 0.25),
    "20 in one of twenty, else 1": (
        *(lambda rng, n: np.where(rng.random(n) < 0.05, 20.0, 1.0), 1.95, 1.0, 0.05),
    ),
    "20 in one of twenty, else 1 to 1.1": (
        lambda rng, n: np.where(rng.random(n) < 0.05, 20.0, 1 + 0.1 * rng.random(n)),
        *(1 + 0.05 * 19 + 0.95 * 0.05, 1 + 0.1 * 0.5 / 0.95, 0.05),
    ),
    "3 in one of five, else 1": (
        *(lambda rng, n: np.where(rng.random(n) < 0.2, 3.0, 1.0), 1.4, 1.0, 0.2),
    ),
}
"""Ratios that are drawn, their mean and median, and the share of them above 2."""


def skewed(cell: Row, _folder: Path) -> Row:
    """Draw ratios of which few are large; see which intervals hold, and which are marked."""
    n, repetitions = cell["n"], cell["repetitions"]
    draw, mean, median, far = SKEWED[cell["ratios"]]
    rng = np.random.default_rng(n)
    held = given = unmarked = middle = share = 0
    for k in range(repetitions):
        x = draw(rng, n)
        found = mean_interval(x, x, least=1.0, seed=k)
        if found is not None:
            given += 1
            held += found[0] <= mean <= found[1]
            unmarked += not warning(x, x) and not found[0] <= mean <= found[1]
        first, last = median_interval(x, x) or (1.0, math.inf)
        middle += first <= median <= last
        first, last = share_above(x, x, 2.0)
        share += first <= far <= last
    return {
        "given": given / repetitions,
        "held": held / max(1, given),
        "unmarked": unmarked / repetitions,
        "median": middle / repetitions,
        "share": share / repetitions,
        "wrong": [],
    }


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
    rng, n, distinguished = np.random.default_rng(cell["n"]), cell["n"], 0
    names = tuple((k, str(k)) for k in range(n))
    for _ in range(cell["repetitions"]):
        common = 1 + rng.exponential(0.5, n)  # some instances are hard for everybody
        inside = []
        for policy in map(str, range(cell["policies"])):
            ratios = common * np.exp(0.1 * rng.standard_normal(n))
            inside.append(RatioSample("group", policy, names, ratios, ratios, 0, 0, 0))
        distinguished += any(pair.differ for pair in pairs(inside))
    return {"told": distinguished / cell["repetitions"], "wrong": []}
