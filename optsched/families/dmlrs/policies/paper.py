"""PD-ORS, Algorithm 1: posted prices, and for every arriving job its best schedule at them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob, Needs, Platform
from optsched.families.dmlrs.oracle.request import Request
from optsched.families.dmlrs.oracle.schedule import Best, Oracle
from optsched.families.dmlrs.policies.find_schedule import RandomizedOracle
from optsched.families.dmlrs.policies.prior import PRINTED, SAFE, ln_bounds, proved, theorem_ratio
from optsched.numbers.arrays import Ints
from optsched.numbers.streams import Streams
from optsched.policies.knowledge import prior_name
from optsched.problem import Information, InputError, Prior
from optsched.scheduling.jobs import Arrivals
from optsched.scheduling.online.ledger import Ledger
from optsched.scheduling.online.posted_prices import PostedPrices
from optsched.scheduling.oracle.schedule import PricedMachines
from optsched.scheduling.placement import Placement, by_slot
from optsched.scheduling.platform import utility_table

ADMISSION = 1e-9  # a job is admitted if its payoff is more than this share of its utility


class PdOrs:
    """The online algorithm of the thesis. Guarantee (Theorem 3): OPT / ALG <= 2 alpha.

    Parameters
    ----------
    U : {"safe", "printed"}
        Whether U makes a full machine too expensive for all jobs, or follows (3.13).
    L_scale : float
        Multiplies L. Above 1 the guarantee is lost, and contended clusters earn far more.
    gain, most_rounds : float, int
        G of the randomized rounding, and how many roundings are tried before the exact placement.
    delta : float
        Of Theorem 3, in (0, 1].

    Attributes
    ----------
    tally : rounding.Tally or None
        How often the last run rounded.
    """

    name = "pd-ors"
    information: Information = "after"
    randomized = False  # how the cheapest outer placements are found: by dynamic programming

    def __init__(
        self,
        U: str = SAFE,  # noqa: N803
        L_scale: float = 1.0,  # noqa: N803
        gain: float = 1.006,
        most_rounds: int = 2000,
        delta: float = 1.0,
    ) -> None:
        if U not in (SAFE, PRINTED):
            raise ValueError(f"U is {U!r}, expected 'safe' or 'printed'")
        if not (0 < L_scale < math.inf and 0 < delta <= 1):
            raise ValueError(
                f"L_scale {L_scale}, delta {delta}: expected a factor above 0, and 0 < delta <= 1"
            )
        if not (1 <= gain < math.inf and most_rounds >= 1):
            raise ValueError(f"gain {gain}, most_rounds {most_rounds}: expected at least 1 of both")
        self.shift_lower = math.log(L_scale)
        self.gain, self.most_rounds, self.delta = gain, most_rounds, delta
        self.oracle: Oracle
        price = {} if U == SAFE else {"price": U}
        self.prior_names = {
            "ln_U": prior_name("ln_U", **price),
            "ln_L": "ln_L",
            "most_workers": "most_workers",
        }
        if L_scale == 1 and U == SAFE:
            rounding = {"gain": gain, "delta": delta} if self.randomized else {}
            self.prior_names["theorem_3"] = prior_name("theorem_3", **rounding)

    @property
    def knows(self) -> tuple[str, ...]:
        """U and L of (3.13), (3.14) as logarithms, the most workers; Theorem 3 if it holds."""
        return tuple(self.prior_names.values())

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:
        """Open the prices at L."""
        self.platform, self.streams = public, streams
        upper, lower = prior[self.prior_names["ln_U"]], prior["ln_L"]
        if lower is not None:
            lower = min([lower + self.shift_lower, *(u for u in upper if u is not None)])
        self.ledger = Ledger(public.capacity, public.horizon)
        self.prices = PostedPrices(self.ledger, upper, lower)
        self.ones = np.ones(len(public.capacity), np.int64)
        size = (public.horizon, len(public.capacity), prior["most_workers"])
        if not self.randomized:
            self.oracle = Oracle(*size)
            self.tally = None
        else:
            self.oracle = RandomizedOracle(*size, gain=self.gain, most_rounds=self.most_rounds)
            self.tally = self.oracle.tally
        self.plans: dict[int, dict[int, Placement]] = {}  # slot -> job -> placement

    def step(self, event: Arrivals) -> dict[int, Placement]:
        """Decide on the arrivals; run the plan for this slot."""
        for i, job in event.jobs.items():
            self.admit(i, job)  # type: ignore[arg-type]
        return self.plans.pop(event.slot, {})

    def admit(self, i: int, job: DmlrsJob) -> float | None:
        """Plan job i if its best schedule pays; return its payoff, None if it is rejected."""
        request = self.request(job)
        machines = PricedMachines(self.prices.per_unit(), self.ledger.free, self.ones)
        found = self.find(i, request, machines)
        if found is None:
            return None
        best, entries = found
        if best.payoff <= ADMISSION * request.utility[best.completion]:
            return None
        self._book(i, entries, request)
        return best.payoff

    def find(self, i: int, request: Request, machines: PricedMachines) -> tuple[Best, Ints] | None:
        """Return the best schedule of a job and its entries, if one has a payoff above 0."""
        if isinstance(self.oracle, RandomizedOracle):
            return self.oracle.find(request, machines, self.streams("rounding", i))
        best = self.oracle.best(request, machines)
        return None if best is None else (best, self.oracle.places(request, machines, best))

    def _book(self, i: int, entries: Ints, request: Request) -> None:
        """Allocate the resources of a plan, raise the prices, and note its placements."""
        for side, demand in enumerate((request.worker_demand, request.ps_demand)):
            mine = entries[entries[:, 0] == side]
            self.ledger.take(mine[:, 1], mine[:, 2], mine[:, 3, None] * demand[None, :])
        if entries.size:
            self.prices.refresh_at(entries[:, 1:3])
        for t, placement in by_slot(entries).items():
            self.plans.setdefault(t, {})[i] = placement

    def request(self, job: DmlrsJob) -> Request:
        """Translate a job into the oracle's terms."""
        platform = self.platform
        (utility,) = utility_table([job], platform.horizon)
        self.ledger.units(job.worker_demand)  # a finer decimal of either changes the units of both
        beta = self.ledger.units(job.ps_demand)
        demands = self.ledger.units(job.worker_demand), beta
        return Request.of(job.arrival, Needs.of(job, platform.slot_seconds), demands, utility)


class PdOrsRandomized(PdOrs):
    """PD-ORS with Algorithm 4, as in the thesis.

    Its ratio is (6 G / delta) alpha, for G of Theorem 2 and not for the much smaller gains that
    work in practice.
    """

    name = "pd-ors-randomized"
    randomized = True


def refuse_links(platform: Platform) -> None:
    """Raise an error where the reading is per link: no online algorithm is known for it."""
    if platform.locality == "link":
        raise InputError(
            'locality is "link": policies know the reading per job only, expected "job", or `solve`'
        )


KNOWLEDGE: Mapping[str, Callable[..., Any]] = {
    "ln_U": lambda inst, price=SAFE: ln_bounds(inst, price)[0],
    "ln_L": lambda inst: ln_bounds(inst, SAFE)[1],
    "theorem_3": theorem_ratio,
    "most_workers": lambda inst: max((job.chunks for job in inst.jobs), default=1),
    "jobs": lambda inst: len(inst.jobs),
}
"""ln U and ln L of (3.13), (3.14), the ratio of Theorem 3, sizes."""


def guarantee(inst: DmlrsInstance, policy: str, prior: Prior) -> float | None:
    """Return the guarantee of a run of PD-ORS with the true U and L; None if nothing is proved.

    That is Theorem 3's ratio where demands are small enough for its proof, and else what the proof
    states of demands as large as they are. With rounding, the theorem is about most runs, and so is
    no guarantee of one.
    """
    theorem = prior.get("theorem_3") if policy == PdOrs.name else None
    return None if theorem is None else proved(inst, theorem)
