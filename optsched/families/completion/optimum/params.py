"""Parameters of the methods that combine the parts; those of the parts are next to their code.

They share the time among the parts, as in an algorithm portfolio (Gomes and Selman, 2001).
"""

from __future__ import annotations

from dataclasses import dataclass

from optsched.engine.ascent import AscentParams
from optsched.engine.interior_master import InteriorMasterParams
from optsched.engine.params import Amount, Count, Number, Seconds, SecondsEach, Share
from optsched.families.completion.optimum.search.neighborhood import NeighborhoodParams
from optsched.families.completion.optimum.search.orders import OrderParams


@dataclass(frozen=True)
class AutoParams:
    """Parameters of `auto`.

    Attributes
    ----------
    small : int
        Jobs times slots up to which one grid of single slots is solved at once.
    first_search : float
        Seconds of a first search for schedules, per job and slot.
    restart : float
        Seconds of one run of the large neighborhood search.
    """

    small: Number = 1200
    first_search: SecondsEach = 0.005
    restart: Seconds = 60.0


@dataclass(frozen=True)
class ProverParams:
    """Parameters of the proof.

    Attributes
    ----------
    stride : float
        Share of the gap by which the first value to refute is above the bound.
    failures : int
        Failures in a row after which the proof is given up.
    few_states, more : int
        States of the first proof, at most; factor of those of the last one, for the next.
    width : int
        States of a slot that are followed in search of schedules.
    dives : float
        Share of the time for that search.
    repricing_share : float
        Share of the time that is left, for new prices at most.
    repricing : pair of float
        Seconds for new prices, and factor of the time of the last run that is added, at most.
    contested : int
        States of a run above which concurrent runs are examined.
    contest : pair of float
        Seconds for that in addition to the time of the run, and at most.
    few_slots : int
        Slots in which a conflict of a path is looked for at once.
    patience : int
        Factor of the time of CP-SAT where it did not suffice.
    most_kept : float
        Share of the time that is kept for checking the certificate, at most.
    """

    stride: Share = 0.125
    failures: Count = 8
    few_states: Count = 2**14
    more: Count = 8
    width: Count = 100
    dives: Share = 0.2
    repricing_share: Share = 0.05
    repricing: tuple[Seconds, Amount] = (1.0, 2.0)
    contested: Number = 4096
    contest: tuple[Seconds, Seconds] = (1.0, 3.0)
    few_slots: Number = 4
    patience: Count = 8
    most_kept: Share = 0.25


@dataclass(frozen=True)
class Params:
    """All parameters, by component."""

    auto: AutoParams = AutoParams()
    master: InteriorMasterParams = InteriorMasterParams()
    neighborhood: NeighborhoodParams = NeighborhoodParams()
    prover: ProverParams = ProverParams()
    orders: OrderParams = OrderParams()
    ascent: AscentParams = AscentParams()
