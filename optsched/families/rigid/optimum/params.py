"""Parameters of `auto`, which alternates dual ascent and a search for schedules.

They share the time among its parts, as in an algorithm portfolio (Gomes and Selman, 2001).
"""

from __future__ import annotations

from dataclasses import dataclass

from optsched.engine.params import Count, Factor, Number, Share


@dataclass(frozen=True)
class AutoParams:
    """Parameters of `auto`.

    Attributes
    ----------
    few : int
        Jobs that a tree may close.
    turns : int
        Of the search for a few jobs.
    coarse, fine : int
        Intervals of prices at first, and at most.
    most_prices : int
        Of all resources and sizes.
    shortest_step : float
        Of Polyak's length: below it the ascent has stalled.
    alphas : tuple of float
        Alpha points of the list schedules.
    steps : int
        Adaptive ones, before intervals are halved.
    first_rate, last_rate : float
        Of adaptive steps, relative to prices.
    rounds : int
        Of the search in a turn, at most.
    hot, cold : float
        How much worse a schedule may be, in mean costs of a job, first and last.
    frozen : float
        Share of the time after which no worse schedule is accepted.
    behind : int
        Jobs behind the old place of a job that moves, and as many behind its new one, that move as
        well, at most.
    depth : int
        Jobs of the queue that list scheduling tries, as batch systems limit backfilling.
    """

    few: Number = 14
    turns: Number = 10
    coarse: Count = 256
    fine: Count = 2**16
    most_prices: Count = 2**18
    shortest_step: Factor = 0.02
    alphas: tuple[Share, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    steps: Count = 1000
    first_rate: Factor = 0.1
    last_rate: Factor = 0.0005
    rounds: Count = 2000
    hot: Factor = 8.0
    cold: Factor = 0.02
    frozen: Share = 0.95
    behind: Number = 240
    depth: Number = 500


@dataclass(frozen=True)
class Params:
    """All parameters, by component."""

    auto: AutoParams = AutoParams()
