"""Parameters of `auto`, an algorithm portfolio (Gomes and Selman, 2001).

They share the time among its methods, and choose methods by size.

A share of 0 switches a part off: `benchmarks/ablation.py` measures the benefit of each part.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AutoParams:
    """Parameters of `auto`.

    Attributes
    ----------
    small : int
        Job-slots (slots in which a job can earn, over all jobs) up to which branch and price runs.
    first_search : float
        Seconds of the first search for schedules, per job and slot.
    quick : float
        The same before branch and price, as a share.
    restart : float
        Seconds of one run of the large neighborhood search, where nothing else runs.
    search_share : float
        Of the time, for new starts of the large neighborhood search in branch and price.
    repair_share, stuck_share : float
        Of the time, for fix-and-optimize in branch and price, while the bound falls, and else.
    stuck : float
        Share of the time without a better bound, from which on it counts as stuck.
    tighten_share : float
        Of the time, for cutting planes.
    first_rounds : int
        Rounds of cutting planes at least, while jobs come in.
    second_round : float
        Seconds of the second round, over those of the first: fewer jobs take part.
    least_gain : float
        Share of the bound, by which one of two rounds must lower it.
    late_gain : float
        The same for the last round, where time is short.
    ample : int
        Rounds for which there is time where it is not short.
    slow : float
        Seconds that the first linear program takes, over (job-slots times classes) to 1.5.
    soon : float
        Of the time: where that takes more, a subgradient method and a greedy schedule come first.
    filling : float
        Of the time, for these.
    dives : bool
        Whether the search goes on among sets of jobs, by dives on the configuration LP.
    dive_seconds : float
        Fewest seconds that are left for this.
    dive_size : int
        Jobs times slots up to which it is done.
    single_share : float
        Of the time for both, that the search on single jobs has before.
    """

    small: int = 1500
    first_search: float = 0.002
    quick: float = 0.3
    restart: float = 60.0
    search_share: float = 0.15
    repair_share: float = 0.4
    stuck_share: float = 0.8
    stuck: float = 0.3
    tighten_share: float = 0.5
    first_rounds: int = 3
    second_round: float = 0.5
    least_gain: float = 5e-4
    late_gain: float = 1.5e-3
    ample: int = 32
    slow: float = 1.3e-6
    soon: float = 0.25
    filling: float = 0.1
    dives: bool = True
    dive_seconds: float = 12.0
    dive_size: int = 30_000
    single_share: float = 0.1


DEFAULT = AutoParams()
