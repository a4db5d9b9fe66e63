"""Modes and oracle against known answers, and against the printed algorithm."""

from itertools import product

import numpy as np
import pytest
from independent.completion import FILES, load, runs, tiny, unit

from optsched.families.completion.modes import Cluster
from optsched.families.completion.oracle.schedule import best_schedule, placement
from optsched.families.completion.oracle.servers import PricedServers
from optsched.families.completion.sources.presets import generate


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
            amounts = np.reshape(placed, delta.shape[1:]) / unit(inst)
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


@pytest.mark.slow
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


@pytest.mark.parametrize("seed", range(1, 30, 2))
def test_apart_in_a_ring_means_on_several_servers(seed):
    inst = tiny(seed)
    rng = np.random.default_rng(seed)
    delta = rng.uniform(0, 3, (inst.horizon, len(inst.capacity), len(inst.resources)))
    delta[:, 1] *= 20  # whoever may, has all workers on server 0
    cluster, servers, prices = priced(inst, delta)
    for job in inst.jobs:
        modes = cluster.task(job).modes
        apart = modes.take(np.flatnonzero(modes.together == 0))
        ask = {"arrival": job.arrival, "weight": job.weight, "deadline": inst.horizon}
        found = best_schedule(cluster.types, apart, servers, **ask)
        if found is not None:
            workers, _ = placement(cluster.types, servers, found)
            assert np.count_nonzero(workers) > 1
            used = workers[:, None] * cluster.types.worker_demand[found.worker_type]
            cost = (prices[found.start : found.completion].sum(axis=0) * used).sum()
            assert cost == pytest.approx(found.cost)


def test_equal_costs_fewest_ps_then_low_servers():
    """Servers of equal prices: every distributed mode, against all placements with one PS host."""
    looked = several = 0
    for seed in range(20):
        inst = generate("small", seed=seed, machines=4)
        cluster = Cluster(inst)
        a, types = cluster.arrays, cluster.types
        flat = np.full((inst.horizon, *a.capacity.shape), 1e-3)
        servers = PricedServers.of(types, flat, a.capacity, cluster.ones)
        for job in inst.jobs:
            modes = cluster.task(job).modes
            for k in np.flatnonzero(modes.together == 0):
                one = modes.take(np.array([k]))
                m, n, d = int(one.worker_type[0]), int(one.workers[0]), int(one.duration[0])
                found = best_schedule(
                    types, one, servers, arrival=0, weight=1.0, deadline=max(d, inst.horizon)
                )
                fitting = list(placements(a.capacity, types, m, n))
                assert (found is None) == (not fitting)
                if found is None:
                    continue
                workers, ps = placement(types, servers, found)
                assert (tuple(workers), tuple(ps)) == min(fitting, key=preference)
                looked += 1
                several += len(fitting) > 1
    assert looked > 20
    assert several > 10


def preference(placed):
    """Fewest PS, then workers on low servers, then PS on low servers."""
    workers, ps = placed
    return sum(ps), [-n for n in workers], [-s for s in ps]


def placements(capacity, types, m, n):
    """Yield workers and PS per server of all placements on several servers with one PS host."""
    servers = range(len(capacity))
    for workers in product(range(n + 1), repeat=len(capacity)):
        if sum(workers) != n:
            continue
        for host in servers:
            if workers[host] == n:
                continue
            s = int(types.ps_needed[m, 0, n - workers[host]])
            ps = tuple(s if h == host else 0 for h in servers)
            if all(
                (workers[h] * types.worker_demand[m] + ps[h] * types.ps_demand[0]
                 <= capacity[h]).all()
                for h in servers
            ):  # fmt: skip
                yield workers, ps


def test_a_job_with_more_chunks_than_foreseen():
    platform = generate("small", seed=0).platform()
    cluster = Cluster(platform)
    most = cluster.types.ps_needed.shape[2] - 1
    job = generate("small", seed=0).jobs[0].model_copy(update={"chunks": most + 5})
    cluster.task(job)
    table = cluster.types.ps_needed
    assert table.shape[2] > job.chunks
    for k in (0, 1, most, most + 5):
        assert table[1, 0, k] == platform.ps_needed(1, 0, k)
