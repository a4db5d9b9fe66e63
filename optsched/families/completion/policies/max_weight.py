"""A_maxweight: the most weight that ends by a deadline, by posted prices (Algorithm 3).

Problem (7), (16): jobs that are all present, empty servers, a deadline tau; maximize the weight of
the jobs that are completed by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from optsched.families.completion.instance import Piece
from optsched.families.completion.modes import ArrivedJob, Cluster, Modes, Types
from optsched.families.completion.oracle.schedule import (
    CheapestSchedule,
    best_schedule,
    load_of,
    piece_of,
    placement,
)
from optsched.families.completion.oracle.servers import PricedServers, ServerState
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

ADMISSION = 1e-9
Order = Literal["arrival", "density"]


def max_weight(
    cluster: Cluster,
    tasks: Mapping[int, ArrivedJob],
    jobs: Sequence[int],
    tau: int,
    lam: float,
    *,
    order: Order = "arrival",
    printed: bool = False,
) -> dict[int, Piece]:
    """Schedule jobs in slots 0..tau-1 of empty servers (Algorithm 3).

    Parameters
    ----------
    cluster : Cluster
    tasks : mapping
        The jobs by index.
    jobs : sequence of int
        The jobs that may be scheduled, in the order in which they are considered.
    tau : int
        Every job must have ended by the beginning of this slot.
    lam : float
        lambda of the price function (11).
    order : {"arrival", "density"}
        "density" takes the jobs by falling weight per share of the cluster and slot, and keeps
        every job that fits, whatever it costs: a variant that is not the paper's.
    printed : bool
        Distributed placements as Algorithm 4 prints them.
    """
    block = Block(cluster, tau, lam)
    out = {}
    if order == "density":
        jobs = sorted(jobs, key=lambda j: (-tasks[j].density, j))
    for j in jobs:
        piece = block.offer(tasks[j], reject=order == "arrival", printed=printed)
        if piece is not None:
            out[j] = piece
    return out


def jain(
    cluster: Cluster, tasks: Mapping[int, ArrivedJob], jobs: Sequence[int], tau: int
) -> dict[int, Piece]:
    """Schedule jobs greedily: Jain, Menache, Naor, Yaniv (Transactions on Parallel Computing 2015).

    The jobs are taken by falling weight per worker-slot of their shortest mode, and each is put
    where it ends first, if that is by the deadline; no job pays a price.
    """
    block = Block(cluster, tau, 2.0)

    def density(j: int) -> float:
        modes = tasks[j].modes
        return tasks[j].job.weight / float(modes.workers[0] * modes.duration[0])

    out = {}
    for j in sorted(jobs, key=lambda j: (-density(j), j)):
        modes = tasks[j].modes
        ideal = modes.take(np.flatnonzero(modes.worker_type == modes.worker_type[0]))
        piece = block.first(ideal)
        if piece is not None:
            out[j] = piece
    return out


class Block:
    """A window of empty servers whose prices rise with their use: (11)."""

    def __init__(self, cluster: Cluster, slots: int, lam: float) -> None:
        self.cluster, self.slots = cluster, slots
        types, capacity = cluster.types, cluster.arrays.capacity
        h, r = capacity.shape
        used = np.zeros((slots, h, r), np.int64)
        self.use = Use(used, cluster.natural, cluster.arrays.scale, float(np.log(lam)))
        self.servers = PricedServers(
            np.zeros((len(types.worker_demand), slots + 1, h)),
            np.zeros((len(types.ps_demand), slots + 1, h)),
            np.zeros((len(types.worker_demand), slots + 1)),
            *ServerState.of(types, capacity, cluster.ones, slots),
            cluster.ones,
        )

    def offer(self, task: ArrivedJob, *, reject: bool, printed: bool) -> Piece | None:
        """Schedule a job at the lowest cost, unless it is rejected or nothing fits."""
        types, servers = self.cluster.types, self.servers
        modes = task.modes.at_most(self.slots)
        found = best_schedule(
            types, modes, servers, arrival=0, weight=0.0, deadline=self.slots, printed=printed
        )
        weight = task.job.weight
        if found is None or (reject and weight - found.cost <= ADMISSION * weight):
            return None
        return self._book(found)

    def first(self, modes: Modes) -> Piece | None:
        """Schedule a job where it ends first, if anything fits."""
        worker, ps, least = (np.zeros_like(cost[:, :1]) for cost in self.servers[:3])
        found = best_schedule(
            self.cluster.types,
            modes.at_most(self.slots),
            self.servers._replace(worker_cost=worker, ps_cost=ps, least=least),
            arrival=0,
            weight=1.0,
            deadline=self.slots,
        )
        return None if found is None else self._book(found)

    def _book(self, found: CheapestSchedule) -> Piece:
        """Allocate the resources of a schedule, and raise the prices."""
        types, servers = self.cluster.types, self.servers
        workers, ps = placement(types, servers, found)
        load = load_of(types, found, workers, ps)
        hosts = np.flatnonzero(workers + ps)
        ServerState(*servers[3:7]).occupy(types, found.start, found.completion, hosts, load)
        raise_prices(types, servers, self.use, found.start, found.completion, hosts, load)
        return piece_of(found, workers, ps, types.ring)


class Use(NamedTuple):
    """Use of the servers, and the parameters of the price function."""

    used: Ints  # (S, H, R)
    capacity: Floats  # (H, R) without the tolerance
    scale: Floats  # (R,) units in a natural unit
    log_lam: float


@kernel
def raise_prices(
    types: Types, servers: PricedServers, use: Use, start: int, end: int, hosts: Ints, load: Ints
) -> None:
    """Note the units that a job takes, ``load`` (H, R), and bring prices of its hosts up to date.

    ``hosts`` are the servers, by (number,), on which it takes something.
    """
    used, capacity, scale, log_lam = use
    slots, _, resources = used.shape
    price = np.empty((slots, resources))
    for h in hosts:
        for t in range(start, end):
            for r in range(resources):
                used[t, h, r] += load[h, r]
        for t in range(start, slots):
            for r in range(resources):
                price[t, r] = 0.0
                if used[t, h, r] > 0 and capacity[h, r] > 0:
                    filled = used[t, h, r] / capacity[h, r]
                    price[t, r] = np.expm1(log_lam * filled) / scale[r]
        for demand, cost in (
            (types.worker_demand, servers.worker_cost),
            (types.ps_demand, servers.ps_cost),
        ):
            for k in range(demand.shape[0]):
                for t in range(start, slots):
                    unit = 0.0
                    for r in range(resources):
                        unit += price[t, r] * demand[k, r]
                    cost[k, t + 1, h] = cost[k, t, h] + unit
