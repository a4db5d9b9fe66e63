"""The online algorithm A_online, with A_dual and A_maxweight (Algorithms 1 to 3).

In round i, at tau_i = 2^(i-1), the jobs that have arrived and are not scheduled yet are handed to
A_dual: it runs A_maxweight on consecutive blocks of length tau_i, at most alpha_i of them. A round
ends when all its jobs are placed, or when a block places nothing (the next would do the same). Its
blocks begin when those of the round before have ended in which a job was placed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from optsched.families.completion.instance import CompletionInstance, CompletionJob, Piece, Platform
from optsched.families.completion.modes import ArrivedJob, Cluster
from optsched.families.completion.oracle.schedule import best_schedule
from optsched.families.completion.oracle.servers import PricedServers
from optsched.families.completion.policies.max_weight import Order, max_weight
from optsched.numbers.resources import exact, floor_tol
from optsched.numbers.streams import Streams
from optsched.policies.knowledge import prior_name
from optsched.problem import Information, InputError, Prior
from optsched.scheduling.jobs import Arrivals

FITS_NOWHERE = (
    "job {}: fits on no servers in any way, and every job must run; expected larger servers or "
    "another job"
)


class AOnline:
    """The paper's algorithm. Guarantee: 4 alpha (Theorem 5), see :func:`guarantee`.

    Parameters
    ----------
    bound : float, optional
        F of (11), handed in; by default the least that is valid, from the whole instance.
    order : {"arrival", "density"}
        Order in which A_maxweight takes the jobs; "density" does not reject and is not the paper's.
    printed : bool
        Distributed placements as Algorithm 4 prints them.
    most_workers : int, optional
        No job gets more workers than this (Fig. 10).
    """

    information: Information = "after"

    def __init__(
        self,
        bound: float | None = None,
        *,
        order: Order = "arrival",
        printed: bool = False,
        most_workers: int | None = None,
    ) -> None:
        if bound is not None and not 0 < bound < math.inf:
            raise ValueError(f"a_online: F is {bound}, expected a positive number")
        if most_workers is not None and most_workers < 1:
            raise ValueError(f"a_online: most_workers is {most_workers}, expected at least 1")
        self.bound, self.order, self.printed = bound, order, printed
        self.most_workers = most_workers
        self.name = "a_online" if order == "arrival" else "a_online-density"
        given = {} if bound is None else {"F": bound}
        self.prior_names = {
            "lambda": prior_name("lambda", **given),
            "alpha": prior_name("alpha", **given),
        }
        if bound is None:
            self.prior_names["F"] = "F"
        if order != "arrival" or most_workers is not None:
            del self.prior_names["alpha"]  # another algorithm: the theorem gives no bound

    @property
    def knows(self) -> tuple[str, ...]:
        """Lambda of (11), with F; and the competitive parameter alpha where Theorem 5 holds."""
        return tuple(self.prior_names.values())

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Begin with empty servers."""
        self.cluster = Cluster(public)
        self.horizon = public.horizon
        self.lam = float(prior[self.prior_names["lambda"]])
        self.waiting: dict[int, ArrivedJob] = {}
        self.arrived: dict[int, int] = {}  # the slot of arrival
        self.tau = 1
        self.busy_until = 0  # end of the last block in which a job was placed

    def step(self, event: Arrivals) -> dict[int, list[Piece]]:
        """Note the arrivals; run the round that is due, after the last slot all that are left."""
        for j, job in event.jobs.items():
            task = self.cluster.task(cast(CompletionJob, job))
            if not task.modes.size:
                raise InputError(FITS_NOWHERE.format(j))
            self.waiting[j] = self._limited(task)
        out: dict[int, list[Piece]] = {}
        while self.tau == event.slot or (event.slot == self.horizon and self.waiting):
            self._round(self.tau, out)
            self.tau *= 2
        return out

    def _limited(self, task: ArrivedJob) -> ArrivedJob:
        """Leave out modes with too many workers, unless there are no others."""
        few = np.flatnonzero(task.modes.workers <= (self.most_workers or np.inf))
        return replace(task, modes=task.modes.take(few)) if few.size else task

    def _round(self, tau: int, out: dict[int, list[Piece]]) -> None:
        """Place the jobs of round i: A_dual (Algorithm 2)."""
        jobs = sorted(self.waiting, key=lambda j: (self.waiting[j].job.arrival, j))
        if not jobs:
            return
        begin = max(tau, self.busy_until)
        for _ in range(blocks([self.waiting[j].job.weight for j in jobs], self.lam)):
            placed = max_weight(
                self.cluster,
                self.waiting,
                jobs,
                tau,
                self.lam,
                order=self.order,
                printed=self.printed,
            )
            if not placed:
                break
            for j, piece in placed.items():
                out[j] = [piece.model_copy(update={"start": piece.start + begin})]
                del self.waiting[j]
            begin += tau
            self.busy_until = begin
            jobs = [j for j in jobs if j not in placed]
            if not jobs:
                break


def must_run(inst: CompletionInstance) -> None:
    """Refuse an instance that no policy can play.

    Raises
    ------
    InputError
        A job fits on no servers.
    """
    cluster = Cluster(inst)
    for j, job in enumerate(inst.jobs):
        if not cluster.task(job).modes.size:
            raise InputError(FITS_NOWHERE.format(j))


def price_base(platform: Platform, f: float) -> float:
    """Return lambda = 2 T H R F + 1 of (11)."""
    return 2 * platform.horizon * len(platform.capacity) * len(platform.resources) * f + 1


def blocks(weights: Iterable[float], lam: float) -> int:
    """Return alpha: the most blocks of a round whose jobs have these weights."""
    weights = list(weights)
    g = 2 * math.log2(lam)
    ratio = math.log2(math.fsum(weights)) - math.log2(min(weights))
    return floor_tol(exact(ratio / (math.log2(g) - math.log2(g - 1)))) + 1


def weight_bound(inst: CompletionInstance) -> float:
    """Return F: max(1, greatest weight over least consumption within the horizon).

    The consumption of a schedule is its use of all resources, summed over all slots; jobs
    that need nothing, or cannot end in time, are left out.
    """
    cluster = Cluster(inst)
    arrays = cluster.arrays
    capacity = arrays.capacity[[members[0] for members in arrays.classes]]
    prices = np.broadcast_to(1.0 / arrays.scale, (inst.horizon, *capacity.shape))
    servers = PricedServers.of(
        cluster.types,
        np.ascontiguousarray(prices),
        capacity,
        np.array([len(members) for members in arrays.classes], np.int64),
    )
    worst = 1.0
    for job in inst.jobs:
        found = best_schedule(
            cluster.types,
            cluster.task(job).modes,
            servers,
            arrival=job.arrival,
            weight=0.0,
            deadline=inst.horizon,
        )
        if found is not None and found.cost > 0:
            worst = max(worst, job.weight / found.cost)
    return worst


def _price_base(inst: CompletionInstance, F: float | None = None) -> float:  # noqa: N803
    return price_base(inst, weight_bound(inst) if F is None else F)


def _alpha(inst: CompletionInstance, F: float | None = None) -> int | None:  # noqa: N803
    """Return the competitive parameter; None where F is below what (11) requests."""
    least = weight_bound(inst)
    if F is not None and least > F:
        return None
    weights = [job.weight for job in inst.jobs]
    return blocks(weights, price_base(inst, least if F is None else F)) if weights else 1


KNOWLEDGE: Mapping[str, Callable[..., Any]] = {
    "F": weight_bound,
    "lambda": _price_base,
    "alpha": _alpha,
    "jobs": lambda inst: len(inst.jobs),
}
"""F and lambda of (11), alpha of Theorem 5; the last two also for an F that is handed in."""


def guarantee(inst: CompletionInstance, policy: str, prior: Prior) -> float | None:  # noqa: ARG001
    """Return 4 alpha of Theorem 5 for a run of A_online, else None."""
    if policy != "a_online":
        return None
    alpha = next((prior[name] for name in prior if name.startswith("alpha")), None)
    return None if alpha is None else 4 * float(alpha)
