"""Workers of several types on single servers: the table of the kernel, and trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np

from optsched.families.completion.modes import Types
from optsched.families.completion.optimum.timeline.layers import packs
from optsched.families.completion.optimum.timeline.slot_kernels import (
    NO,
    UNKNOWN,
    YES,
    Items,
    Servers,
    _fill,
    spread,
)


def possible(free, left, demand):
    """Whether so many workers of each type fit, by trying all numbers on each server in turn."""
    reached = {(0,) * len(left)}
    for room in free:
        here = [
            n
            for n in product(*(range(k + 1) for k in left))
            if (np.array(n) @ demand <= room).all()
        ]
        reached = {
            tuple(min(a + b, k) for a, b, k in zip(x, n, left, strict=True))
            for x in reached
            for n in here
        }
    return tuple(left) in reached


def test_workers_are_spread_where_that_is_possible():
    rng = np.random.default_rng(3)
    seen = {YES: 0, NO: 0}
    tables = {YES: 0, NO: 0}
    for _ in range(1500):
        kinds, servers = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        demand = rng.integers(0, 4, (kinds, 2))
        demand[demand.sum(axis=1) == 0] = 1
        free, left = rng.integers(0, 8, (servers, 2)), rng.integers(0, 4, kinds)
        found = spread(free, left, demand)
        assert found in (YES, NO)
        assert (found == YES) == possible(free, left.tolist(), demand)
        seen[found] += 1
        if _fill(free, left, demand) == UNKNOWN:
            tables[found] += 1
    assert min(seen.values()) > 300
    assert min(tables.values()) > 10  # answers of the table, not of the quick look


def test_too_large_a_table_leaves_it_open():
    free = np.array([[30, 31], [31, 30]])
    demand = np.array([[1, 2], [2, 1], [2, 3], [3, 2], [3, 3]])
    left = np.array([9, 9, 9, 9, 1])
    assert spread(free, left, demand) in (NO, UNKNOWN)
    assert spread(np.array([[100, 100], [31, 30]]), np.array([20, 20, 20, 20, 1]), demand) != YES


def compositions(n, parts):
    """Yield how n workers may be put on so many servers."""
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in compositions(n - first, parts - 1):
            yield first, *rest


def loads(servers, items, i):
    """Yield what an item may take of each server, (H, R); all apart on one server is allowed."""
    hosts = len(servers.capacity)
    m, n, most = items.worker_type[i], items.apart[i], items.together[i]
    worker, ps, needed, ring = servers.types
    kinds = range(1 if ring else len(ps))

    def load(workers, h, p, number):
        out = np.outer(workers, worker[m])
        if not ring:
            out[h] += number * ps[p]
        return out

    for p, h in product(kinds, range(hosts)):
        if most and (items.together_ps[i] >> p) & 1:
            number = 0 if ring else needed[m, p, 0]
            yield load([most if k == h else 0 for k in range(hosts)], h, p, number)
        if n and (items.apart_ps[i] >> p) & 1:
            for workers in compositions(n, hosts):
                elsewhere = max(1, n - workers[h])
                yield load(workers, h, p, 0 if ring else needed[m, p, elsewhere])


def side_by_side(servers, items, which):
    """Whether items fit, by trying all placements of each in turn."""
    reached = {servers.capacity.tobytes(): servers.capacity}
    for i in which:
        after = {}
        for free in reached.values():
            for load in loads(servers, items, i):
                rest = free - load
                if (rest >= 0).all():
                    after[rest.tobytes()] = rest
        reached = after
    return bool(reached)


def drawn(rng, ring):
    """Draw servers and items of a few workers."""
    kinds = 2
    worker, ps = rng.integers(0, 3, (kinds, 2)), rng.integers(0, 3, (kinds, 2))
    worker[worker.sum(axis=1) == 0] = 1
    needed = np.maximum(1, np.cumsum(rng.integers(0, 2, (kinds, kinds, 5)), axis=2))
    capacity = rng.integers(1, 8, (int(rng.integers(1, 4)), 2))
    capacity.flags.writeable = False  # as that of instances
    none = np.empty(0, np.int64)
    types = Types(worker, ps, needed, ring)
    servers = Servers(capacity, capacity.sum(axis=0), types, none, none)
    count = int(rng.integers(1, 4))
    apart, together = rng.integers(0, 4, (2, count))
    apart[apart == 1] = 0
    together[apart + together == 0] = 1
    masks = [np.ones((2, count), np.int64), rng.integers(1, 4, (2, count))][0 if ring else 1]
    use = np.zeros((count, 2), np.int64)  # of what the servers hold together; not looked at here
    type_of = rng.integers(0, kinds, count)
    return servers, Items(type_of, apart, masks[0], together, masks[1], use)


def test_items_fit_side_by_side_where_some_placement_does():
    rng = np.random.default_rng(5)
    seen = {YES: 0, NO: 0}
    for round_ in range(600):
        servers, items = drawn(rng, round_ % 2 == 1)
        which = np.arange(items.apart.size, dtype=np.int32)
        found = packs(servers, items, which, np.ones(which.size, np.int64), 1, 10**6)
        assert (found == YES) == side_by_side(servers, items, which), round_
        seen[found] += 1
    assert min(seen.values()) > 150
