"""A search for step sizes of the distributed algorithms (Sec. 6.5, 8.2).

The paper narrows its factorial experiments by hand. Here the same measure is minimized by a
coordinate search: each step size in turn is multiplied and divided by a factor, what is better is
kept, and where nothing is better the factor is replaced by its root; from the finest factor it
begins again, until no factor changes anything. Nothing is drawn at random, so that the same
platforms give the same step sizes. Evaluate the result on other platforms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optsched.families.bot.instance import BotInstance
from optsched.families.bot.policies.convergence import CHECK, convergence
from optsched.families.bot.policies.negotiation import Negotiation, Steps
from optsched.problem import Frozen

FACTORS = ("rho", "tilde", "lam", "mu")
WIDEST, FINEST = 4.0, 1.25  # factors of the first and of the last sweeps
FAR = 1e3  # a distance from the optimum above it, or none, counts as this


class Score(NamedTuple):
    """How badly step sizes do on some platforms; smaller is better, from the left."""

    missed: int
    """Platforms on which they do not converge."""

    time: float
    """Mean iteration from which on the objective stays in the tube; one more than all if never."""

    distance: float
    """Mean distance of the last objectives from the optimum."""


class TuningResult(Frozen):
    """Result of a search."""

    steps: Steps
    score: Score
    start: Score
    """Of the step sizes with which it began."""

    tried: int
    """Sets of step sizes that were run, each on every platform."""


def score(platforms: Sequence[tuple[BotInstance, float]], steps: Steps, iterations: int) -> Score:
    """Run ``steps`` on every (instance, optimum)."""
    missed, times, distances = 0, [], []
    for inst, optimum in platforms:
        series, _ = Negotiation(inst, steps).run(iterations)
        found = convergence(series, optimum)
        missed += not found.converged
        times.append(found.first_for_good or iterations + 1)
        off = np.abs(np.nan_to_num(series[-CHECK:], nan=np.inf) - optimum)
        distances.append(float(np.minimum(off, FAR).mean()))
    return Score(missed, float(np.mean(times)), float(np.mean(distances)))


def search_steps(
    platforms: Sequence[tuple[BotInstance, float]],
    start: Steps,
    *,
    iterations: int = 1500,
    widest: float = WIDEST,
    finest: float = FINEST,
    most: int = 200,
) -> TuningResult:
    """Look for step sizes that converge on more platforms, and sooner.

    Parameters
    ----------
    platforms : sequence of (BotInstance, float)
        Instances and their optimal values.
    start : Steps
        The algorithm, its options, and the four positive step sizes to begin with.
    iterations : int
        Length of a run.
    widest, finest : float
        Factor of the first sweep, and the smallest that is tried.
    most : int
        Sets of step sizes that are run at most.

    Returns
    -------
    TuningResult
        Never worse than ``start`` on these platforms.

    Raises
    ------
    ValueError
        No platform, a step size of 0, or factors that do not shrink towards 1.
    """
    if not platforms:
        raise ValueError("no platforms, expected at least one to search on")
    if not 1 < finest <= widest:
        raise ValueError(f"factors {widest} to {finest}, expected numbers above 1, falling")
    zero = [name for name in FACTORS if getattr(start, name) == 0]
    if zero:
        raise ValueError(f"step size {zero[0]} is 0, which no factor changes, expected it above 0")
    known: dict[tuple[float, ...], Score] = {}

    def scored(steps: Steps) -> Score:
        key = tuple(getattr(steps, name) for name in FACTORS)
        if key not in known:
            known[key] = score(platforms, steps, iterations)
        return known[key]

    best, factor, since = start, widest, start
    first = scored(start)
    while len(known) < most:
        before = best
        for name in FACTORS:
            for other in _neighbours(best, name, factor):
                if len(known) < most and scored(other) < scored(best):
                    best = other
                    break  # the other direction has been left behind
        if best == before:
            factor = math.sqrt(factor)
        if factor < finest:
            if best == since:
                break
            factor, since = widest, best  # small steps may have opened a way for large ones
    return TuningResult(steps=best, score=scored(best), start=first, tried=len(known))


def _neighbours(steps: Steps, name: str, factor: float) -> list[Steps]:
    """Return ``steps`` with one size enlarged, and diminished; smoothing goes up to 1 only."""
    size = getattr(steps, name)
    values = [float(f"{x:.4g}") for x in (size * factor, size / factor)]  # few digits to write down
    return [steps.model_copy(update={name: x}) for x in values if name != "tilde" or x <= 1]
