"""Parameters of `auto`, an algorithm portfolio (Gomes and Selman, 2001).

They share the time among its methods, and choose methods by size.

A share of 0 switches a part off: `benchmarks/ablation.py` measures the benefit of each part. The
parameters of the parts are next to their code.
"""

from __future__ import annotations

from dataclasses import dataclass

from optsched.engine.ascent import AscentParams
from optsched.engine.branch import BranchParams
from optsched.engine.params import Amount, Number, Seconds, SecondsEach, Share
from optsched.engine.search import LnsParams
from optsched.families.oasis.optimum.configuration_lp.search import DiveParams
from optsched.families.oasis.optimum.relaxations.cutting_planes import CutParams
from optsched.families.oasis.optimum.search.slot_repair import SlotRepairParams


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

    small: Number = 1500
    first_search: SecondsEach = 0.002
    quick: Share = 0.3
    restart: Seconds = 60.0
    search_share: Share = 0.15
    tighten_share: Share = 0.5
    first_rounds: Number = 3
    second_round: Amount = 0.5
    least_gain: Amount = 5e-4
    late_gain: Amount = 1.5e-3
    ample: Number = 32
    slow: Amount = 1.3e-6
    soon: Share = 0.25
    filling: Share = 0.1
    dives: bool = True
    dive_seconds: Seconds = 12.0
    dive_size: Number = 30_000
    single_share: Share = 0.1


@dataclass(frozen=True)
class Params:
    """All parameters, by component."""

    auto: AutoParams = AutoParams()
    branch: BranchParams = BranchParams()
    cuts: CutParams = CutParams()
    neighborhood: LnsParams = LnsParams()
    repair: SlotRepairParams = SlotRepairParams()
    dives: DiveParams = DiveParams()
    ascent: AscentParams = AscentParams()
