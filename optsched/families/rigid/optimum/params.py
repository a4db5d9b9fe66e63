"""Parameters of `auto`, which alternates the subgradient method and a search for schedules.

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
    small : int
        Jobs up to which branch and bound runs.
    turns : int
        Iterations of the search for instances with at most `small` jobs.
    coarse : int
        Intervals with constant prices at the start of the subgradient method.
    fine : int
        Most intervals with constant prices.
    most_prices : int
        Most prices: intervals times resources and job sizes.
    sizes : bool
        Whether job sizes have prices of their own.
    shortest_step : float
        Step, relative to Polyak's step length, below which the subgradient method has stalled.
    alphas : tuple of float
        Alpha points whose orders list scheduling uses.
    steps : int
        Steps of the subgradient method before the intervals are halved.
    first_rate : float
        Initial step length, relative to the prices.
    last_rate : float
        Final step length, relative to the prices.
    rounds : int
        Most moves of the search in one iteration.
    hot : float
        Initial temperature of simulated annealing, relative to the mean cost of a job; of waiting
        times, to the mean flow time.
    cold : float
        Final temperature, relative to the same.
    frozen : float
        Share of the time after which no worse schedule is accepted.
    behind : int
        Most jobs after the old position of a moved job, and after its new one, that are scheduled
        again.
    depth : int
        Jobs of the queue that list scheduling considers, as batch systems limit the depth of
        backfilling.
    """

    small: Number = 14
    turns: Number = 10
    coarse: Count = 256
    fine: Count = 2**16
    most_prices: Count = 2**18
    sizes: bool = True
    shortest_step: Factor = 0.02
    alphas: tuple[Share, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    steps: Count = 1000
    first_rate: Factor = 0.1
    last_rate: Factor = 0.0005
    rounds: Count = 2000
    hot: Factor = 4.0
    cold: Factor = 0.05
    frozen: Share = 0.95
    behind: Number = 240
    depth: Number = 500


@dataclass(frozen=True)
class Params:
    """All parameters, by component."""

    auto: AutoParams = AutoParams()
