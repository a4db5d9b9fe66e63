"""Parameters of the methods that combine the parts; those of the parts are next to their code.

They share the time among the parts, as in an algorithm portfolio (Gomes and Selman, 2001).
"""

from __future__ import annotations

from dataclasses import dataclass

from optsched.engine.ascent import AscentParams
from optsched.engine.params import Amount, Count, Number, Seconds, SecondsEach, Share
from optsched.families.completion.optimum.search.neighborhood import NeighborhoodParams
from optsched.families.completion.optimum.search.orders import OrderParams


@dataclass(frozen=True)
class AutoParams:
    """Parameters of `auto`.

    Attributes
    ----------
    small : int
        Jobs times slots up to which every slot has its own price from the start, and the dynamic
        program over time runs.
    choices : int
        Ways to run and starts, over all jobs, up to which CP-SAT finds the best schedule.
    first_search : float
        Duration of the first search for schedules.
    restart : float
        Duration of one run of the large neighborhood search.
    dispatch_share : float
        Share of the time for prices of a dispatched schedule, which precede column generation above
        `small`.
    span_shares : tuple of float
        Shares of the time for column generation above `small`, on ever finer grids of time.
    """

    small: Number = 1200
    choices: Number = 2000
    first_search: SecondsEach = 0.005
    restart: Seconds = 60.0
    dispatch_share: Share = 0.08
    span_shares: tuple[Share, ...] = (0.05, 0.08, 0.15)


@dataclass(frozen=True)
class ProverParams:
    """Parameters of the proof.

    Attributes
    ----------
    stride : float
        Distance of the first value to refute from the dual bound, as a share of the gap.
    failures : int
        Consecutive failures after which the dynamic program is abandoned; 0 switches it off.
    first_states : int
        State limit of the first run.
    growth : int
        Growth factor of the state limit from a run to the next.
    width : int
        Beam width (states per slot) of the search for schedules.
    beam_share : float
        Share of the time for the beam search.
    repricing_share : float
        Largest share of the remaining time for the optimization of prices.
    repricing : pair of float
        Most seconds for the optimization of prices: a constant, and a multiple of the duration of
        the last run that is added.
    conflict_states : int
        States of a run above which overlapping jobs are checked for conflicts.
    conflict_seconds : pair of float
        Seconds for this check: a constant that is added to the duration of the run, and the
        maximum.
    conflict_slots : int
        Slots of a path in which a conflict is searched for at once.
    patience : int
        Growth factor of the time limit of CP-SAT after it was too short.
    most_kept : float
        Largest share of the time that is reserved for checking the certificate.
    """

    stride: Share = 0.125
    failures: Number = 8
    first_states: Count = 2**14
    growth: Count = 8
    width: Count = 100
    beam_share: Share = 0.2
    repricing_share: Share = 0.05
    repricing: tuple[Seconds, Amount] = (1.0, 2.0)
    conflict_states: Number = 4096
    conflict_seconds: tuple[Seconds, Seconds] = (1.0, 3.0)
    conflict_slots: Number = 4
    patience: Count = 8
    most_kept: Share = 0.25


@dataclass(frozen=True)
class Params:
    """All parameters, by component."""

    auto: AutoParams = AutoParams()
    neighborhood: NeighborhoodParams = NeighborhoodParams()
    prover: ProverParams = ProverParams()
    orders: OrderParams = OrderParams()
    ascent: AscentParams = AscentParams()
