"""Parameters of `auto`, which alternates dual ascent and a search for schedules.

They share the time among its parts, as in an algorithm portfolio (Gomes and Selman, 2001).
"""

from __future__ import annotations

from dataclasses import dataclass


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

    few: int = 14
    turns: int = 10
    coarse: int = 256
    fine: int = 2**16
    most_prices: int = 2**18
    shortest_step: float = 0.02
    alphas: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    steps: int = 1000
    first_rate: float = 0.1
    last_rate: float = 0.0005
    rounds: int = 2000
    hot: float = 8.0
    cold: float = 0.02
    frozen: float = 0.95
    behind: int = 240
    depth: int = 500


DEFAULT = AutoParams()
