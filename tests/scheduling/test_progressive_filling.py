"""Progressive filling: by hand, and by what must hold of every filling."""

import numpy as np
import pytest

from optsched.scheduling.online.pool import Pool, in_units
from optsched.scheduling.online.progressive_filling import ElasticJob, progressive_filling


def request(worker, ps=(0.0, 0.0), most=10, table=None):
    table = np.zeros(most + 1, np.int64) if table is None else np.array(table)
    return ElasticJob(in_units(worker), in_units(ps), table, most)


def test_the_example_of_the_paper():
    # 9 CPU and 18 GB; tasks of A take (1, 4), of B (3, 1). A: 4/18, B: 3/9, A: 8/18, B: 6/9,
    # A: 12/18; the 9 CPU are gone: A has 3 and B has 2.
    pool = Pool([(9.0, 18.0)])
    workers, _ = progressive_filling(pool, pool, [request((1, 4)), request((3, 1))])
    assert workers.tolist() == [[3], [2]]
    assert (pool.capacity - pool.free).tolist() == [in_units((9, 14)).tolist()]


def test_a_worker_comes_with_its_ps_or_not_at_all():
    # Workers and PS apart; the second PS machine holds nothing. Worker 1 brings a PS, worker 2
    # none, worker 3 would need a second PS, for which there is no room.
    workers, servers = Pool([(2.0, 2.0)] * 2), Pool([(1.0, 1.0), (0.0, 0.0)])
    wants = request((1, 1), (1, 1), most=3, table=[0, 1, 1, 2])
    placed, ps = progressive_filling(workers, servers, [wants])
    assert placed.tolist() == [[1, 1]]
    assert ps.tolist() == [[1, 0]]
    used = workers.capacity - workers.free
    assert used.tolist() == [in_units((1, 1)).tolist()] * 2  # worker 3 was taken back
    assert workers.next == 0


def test_workers_and_ps_on_the_same_machines_share_them():
    # One machine of 3: two workers and the PS that both need. The pointer is one as well.
    pool = Pool([(3.0, 3.0)])
    wants = request((1, 1), (1, 1), most=3, table=[0, 1, 1, 2])
    placed, ps = progressive_filling(pool, pool, [wants])
    assert (placed.tolist(), ps.tolist()) == ([[2]], [[1]])
    assert (pool.capacity - pool.free).tolist() == [in_units((3, 3)).tolist()]


def test_the_dominant_share_counts_the_ps():
    # Job 0 holds half of the PS machine, so job 1 gets two workers (2/5, 4/5) before job 0 gets its
    # second. By workers alone it would be 1/5, 2/5, 2/5: two for job 0 and one for job 1.
    workers, servers = Pool([(5.0, 5.0)]), Pool([(2.0, 2.0)])
    first = request((1, 1), (1, 1), most=2, table=[0, 1, 1])
    second = request((2, 2), most=3)
    placed, _ = progressive_filling(workers, servers, [first, second])
    assert placed.tolist() == [[1], [2]]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("shared", [False, True])
def test_nothing_overflows_and_nobody_could_get_more(seed, shared):
    draw = np.random.default_rng(seed)
    workers = Pool(draw.integers(0, 8, (3, 2)) / 10)
    servers = workers if shared else Pool(draw.integers(0, 8, (2, 2)) / 10)
    requests = []
    for _ in range(int(draw.integers(1, 5))):
        most, ratio = int(draw.integers(0, 7)), draw.uniform(0, 1)
        table = np.ceil(np.arange(most + 1) * ratio).astype(np.int64)
        requests.append(
            request(draw.integers(0, 4, 2) / 10, draw.integers(0, 4, 2) / 10, most, table)
        )
    placed, ps = progressive_filling(workers, servers, requests)
    load = workers.capacity * 1
    for q, n in zip(requests, placed, strict=True):
        load -= n[:, None] * q.worker_demand
    for q, m in zip(requests, ps, strict=True):
        if shared:
            load -= m[:, None] * q.ps_demand
    assert (load == workers.free).all()
    assert (workers.free >= 0).all()
    assert (servers.free >= 0).all()
    for q, n, m in zip(requests, placed.sum(axis=1), ps.sum(axis=1), strict=True):
        assert n <= q.most
        assert m == q.ps[n]
        if n < q.most and not shared:
            need = int(q.ps[n + 1] - q.ps[n])
            fits = workers.max_units(q.worker_demand, 1).sum() >= 1
            assert not (fits and servers.max_units(q.ps_demand, need).sum() >= need)
