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
        Duration of the first search for schedules.
    quick : float
        Duration of the first search before branch and price, as a share of `first_search`.
    restart : float
        Duration of one run of the large neighborhood search where nothing else runs.
    search_share : float
        Share of the time for restarts of the large neighborhood search within branch and price.
    tighten_share : float
        Share of the time for cutting planes.
    first_rounds : int
        Least number of rounds of cutting planes while jobs are still added to the linear program.
    second_round : float
        Expected duration of the second round of cutting planes, relative to the first, in which
        more jobs take part.
    least_gain : float
        Relative improvement of the bound in one of two rounds of cutting planes below which the
        rounds end.
    late_gain : float
        Relative improvement of the bound in the last round below which the rounds end where time is
        short.
    ample : int
        Rounds of cutting planes that the remaining time must allow; otherwise, time is short.
    slow : float
        Expected seconds of the first linear program, divided by (job-slots times classes) to the
        power of 1.5.
    soon : float
        Share of the time that the first linear program may take; above, the subgradient method and
        a greedy schedule precede it.
    filling : float
        Share of the time for the subgradient method and greedy schedules that precede cutting
        planes.
    dives : bool
        Whether dives on the configuration LP follow the search on single jobs.
    dive_seconds : float
        Least remaining time for dives.
    dive_size : int
        Jobs times slots up to which dives run.
    single_share : float
        Share of the remaining time for large neighborhood search on single jobs before dives begin.
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
class GuidedLnsParams(LnsParams):
    """Parameters of large neighborhood search that a relaxation guides.

    Attributes
    ----------
    tries : int
        Rejected jobs that one move tries to insert; the relaxation selects those likely to fit.
    """

    tries: Number = 5


@dataclass(frozen=True)
class Params:
    """All parameters, by component."""

    auto: AutoParams = AutoParams()
    branch: BranchParams = BranchParams()
    cuts: CutParams = CutParams()
    neighborhood: GuidedLnsParams = GuidedLnsParams()
    repair: SlotRepairParams = SlotRepairParams()
    dives: DiveParams = DiveParams()
    ascent: AscentParams = AscentParams()
