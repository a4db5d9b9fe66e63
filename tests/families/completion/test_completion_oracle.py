"""Modes and oracle against known answers, and against the printed algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from completion_brute import runs, tiny
from completion_reference import FILES, load

from optsched.families.completion.modes import Cluster
from optsched.families.completion.oracle import PricedServers, best_schedule, placement
from optsched.families.completion.presets import generate


def modes_of(inst, job):
    """Return {(q, m, p, n, d)} of the modes of a job, p None in a ring."""
    found = Cluster(inst).task(job).modes
    return {
        (int(q), int(m), None if inst.ring else p, int(n), int(d))
        for q, m, n, d, mask in zip(
            found.together,
            found.worker_type,
            found.workers,
            found.duration,
            found.mask,
            strict=True,
        )
        for p in range(max(1, len(inst.ps_types)))
        if mask >> p & 1
    }


def undominated(modes):
    """Return the modes that no other beats in workers and duration, of the same types and q."""
    return {
        a
        for a in modes
        if not any(b != a and b[:3] == a[:3] and b[3] <= a[3] and b[4] <= a[4] for b in modes)
    }


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_modes_are_the_known_ones(path):
    inst, known = load(path)
    for job, modes in zip(inst.jobs, known["modes"], strict=True):
        assert modes_of(inst, job) == undominated({tuple(m) for m in modes})


def priced(inst, delta):
    """Return the cluster, its single servers at prices of natural units (T, H, R), the prices."""
    cluster = Cluster(inst)
    prices = np.ascontiguousarray(np.array(delta, float) / cluster.arrays.scale)
    empty = cluster.arrays.capacity, cluster.ones
    return cluster, PricedServers.of(cluster.types, prices, *empty), prices


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_cheapest_schedules_are_the_known_ones(path):
    inst, known = load(path)
    for answer in known["oracle"]:
        cluster, servers, prices = priced(inst, answer["delta"])
        for j, job in enumerate(inst.jobs):
            for weight, key in ((0.0, "cheapest_cost"), (job.weight, "cheapest_weighted")):
                found = best_schedule(
                    cluster.types,
                    cluster.task(job).modes,
                    servers,
                    arrival=job.arrival,
                    weight=weight,
                    deadline=inst.horizon,
                )
                want = answer[key][j]
                assert (found is None) == (want is None)
                if found is None:
                    continue
                assert found.value == pytest.approx(want, rel=1e-7)
                workers, ps = placement(cluster.types, servers, found)
                used = workers[:, None] * cluster.types.worker_demand[found.worker_type]
                if not inst.ring:
                    used = used + ps[:, None] * cluster.types.ps_demand[found.ps_type]
                cost = (prices[found.start : found.completion].sum(axis=0) * used).sum()
                assert cost == pytest.approx(found.cost, abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_cheapest_among_all_placements(seed):
    inst = tiny(seed)
    rng = np.random.default_rng(seed)
    delta = rng.uniform(0, 3, (inst.horizon, len(inst.capacity), len(inst.resources)))
    cluster, servers, _ = priced(inst, delta)
    for job in inst.jobs:
        best = np.inf
        for d, placed in runs(inst, job):
            amounts = np.array([[float(x) for x in row] for row in placed])
            for t in range(job.arrival, inst.horizon - d + 1):
                cost = (delta[t : t + d].sum(axis=0) * amounts).sum()
                best = min(best, job.weight * (t + d) + cost)
        found = best_schedule(
            cluster.types,
            cluster.task(job).modes,
            servers,
            arrival=job.arrival,
            weight=job.weight,
            deadline=inst.horizon,
        )
        assert (np.inf if found is None else found.value) == pytest.approx(best)


def test_classes_are_as_good_as_single_servers():
    inst = generate("mid", seed=1)
    cluster = Cluster(inst)
    groups = cluster.arrays.classes
    capacity = cluster.arrays.capacity[[members[0] for members in groups]]
    count = np.array([len(members) for members in groups])
    rng = np.random.default_rng(0)
    prices = rng.uniform(0, 200, (inst.horizon, *capacity.shape))
    spread = np.empty((inst.horizon, *cluster.arrays.capacity.shape))
    for c, members in enumerate(groups):
        spread[:, members] = prices[:, [c]]
    alone = PricedServers.of(cluster.types, spread, cluster.arrays.capacity, cluster.ones)
    together = PricedServers.of(cluster.types, prices, capacity, count)
    for job in inst.jobs:
        task = cluster.task(job)
        values = [
            best_schedule(
                cluster.types, task.modes, s, arrival=job.arrival, weight=job.weight
            ).value
            for s in (alone, together)
        ]
        assert values[0] == pytest.approx(values[1])


def test_the_printed_algorithm_is_never_better_and_sometimes_worse():
    inst = generate("mid", seed=0)
    cluster = Cluster(inst)
    rng = np.random.default_rng(0)
    worse = 0
    for _ in range(5):
        prices = rng.uniform(0, 300, (inst.horizon, *cluster.arrays.capacity.shape))
        servers = PricedServers.of(cluster.types, prices, cluster.arrays.capacity, cluster.ones)
        for job in inst.jobs:
            modes = cluster.task(job).modes
            apart = modes.take(np.flatnonzero(modes.together == 0))
            values = []
            for printed in (False, True):
                found = best_schedule(
                    cluster.types,
                    apart,
                    servers,
                    arrival=0,
                    weight=0.0,
                    deadline=inst.horizon,
                    printed=printed,
                )
                values.append(np.inf if found is None else found.value)
            assert values[0] <= values[1] * (1 + 1e-9)
            worse += values[1] > values[0] * (1 + 1e-6)
    assert worse > 0


def test_a_cutoff_that_nothing_beats():
    inst, _ = load(FILES[0])
    cluster, servers, _ = priced(inst, np.zeros((inst.horizon, 2, 2)))
    job = inst.jobs[0]
    task = cluster.task(job)
    ask = {"arrival": job.arrival, "weight": job.weight}
    best = best_schedule(cluster.types, task.modes, servers, **ask)
    assert best is not None
    assert (
        best_schedule(cluster.types, task.modes, servers, **ask, cutoff=best.value * 0.99) is None
    )
