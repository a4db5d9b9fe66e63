"""The oracle: known payoffs and placements, and everything tried by brute force."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent.dmlrs import FILES, load, placements, tiny

from optsched.families.dmlrs.certificate.kernels import rank as whole_rank
from optsched.families.dmlrs.instance import (
    DmlrsSchedule,
    JobSchedule,
    batch_slots,
    ceil_tol,
)
from optsched.families.dmlrs.oracle.request import NOTHING_KEPT, Labels, Scratch, requests
from optsched.families.dmlrs.oracle.schedule import Oracle
from optsched.families.dmlrs.oracle.slot_placements import open_slot
from optsched.families.dmlrs.verify import verify
from optsched.numbers.argsort import rank
from optsched.scheduling.oracle.schedule import PricedMachines

EVERYTHING = -1e18


def machines(inst, prices):
    """Return the empty cluster at prices (T, H, R) per natural unit."""
    a = inst.arrays
    price = np.ascontiguousarray(prices.transpose(0, 2, 1) / a.scale[None, :, None])
    free = np.broadcast_to(a.capacity.T.astype(float), price.shape).copy()
    return PricedMachines(price, free, np.ones(len(inst.capacity), np.int64))


def costs(inst, i, cluster, t):
    """Return the least cost of n workers of job i in slot t, on one machine and on more."""
    q, most = requests(inst)[i], inst.jobs[i].chunks
    scratch = Scratch.empty(len(inst.capacity), most)
    tops = [most if table[-1] >= 0 else 0 for table in (q.ps_inner, q.ps_outer)]
    found = open_slot(t, q, cluster, *tops, scratch, NOTHING_KEPT)
    out = np.full((2, most + 1), np.inf)
    for side in (0, 1):
        out[side, : found[side] + 1] = scratch.parts[side, : found[side] + 1]
    return out


def entries_schedule(inst, i, entries):
    """Return the schedule of job i alone."""
    rows = entries.tolist()
    job = JobSchedule(
        workers=tuple((t, h, n) for side, t, h, n in rows if side == 0),
        ps=tuple((t, h, n) for side, t, h, n in rows if side == 1),
    )
    return DmlrsSchedule(jobs=tuple(job if k == i else None for k in range(len(inst.jobs))))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_known_payoffs_bounds_and_placements(file):
    inst, reference = load(file)
    oracle = Oracle(inst.horizon, len(inst.capacity), max(j.chunks for j in inst.jobs))
    for known in reference["oracle"]:
        prices = np.array(known["p"])
        cluster = machines(inst, prices)
        bound = float((prices * np.array(inst.capacity)[None]).sum())
        for i, request in enumerate(requests(inst)):
            best = oracle.best(request, cluster, EVERYTHING)
            assert (best is None) == (known["payoffs"][i] is None)
            if best is None:
                continue
            assert best.payoff == pytest.approx(known["payoffs"][i], rel=1e-7, abs=1e-7)
            bound += max(0.0, best.payoff)
            entries = oracle.places(request, cluster, best)
            verdict = verify(inst, entries_schedule(inst, i, entries))
            demand = (inst.jobs[i].worker_demand, inst.jobs[i].ps_demand)
            paid = sum(n * float(prices[t, h] @ demand[side]) for side, t, h, n in entries.tolist())
            assert verdict.value - paid == pytest.approx(best.payoff, rel=1e-7, abs=1e-7)
        assert bound == pytest.approx(known["bound"], rel=1e-7)
        for asked in known["theta"]:
            assert_theta(inst, cluster, asked)


def assert_theta(inst, cluster, asked):
    job = inst.jobs[asked["job"]]
    table = costs(inst, asked["job"], cluster, asked["t"])
    least = np.inf
    for side, rate in enumerate((job.inner_bandwidth, job.outer_bandwidth)):
        n = ceil_tol(Fraction(asked["v_exact"]) * batch_slots(job, rate, inst.slot_seconds))
        least = min(least, table[side, n:].min(initial=np.inf))
    expected = np.inf if asked["theta"] is None else asked["theta"]
    assert least == pytest.approx(expected, rel=1e-7, abs=1e-7)


@given(
    st.integers(0, 10_000), st.integers(0, 2**32 - 1), st.sampled_from(["some", "equal", "none"])
)
def test_placements_by_trying_all(seed, noise, kind):
    inst = tiny(seed)
    rng = np.random.default_rng(noise)
    prices = rng.integers(1, 30, (inst.horizon, len(inst.capacity), 2)) / 10
    prices = {"some": prices, "equal": np.ones_like(prices), "none": 0 * prices}[kind]
    cluster = machines(inst, prices)
    for i, job in enumerate(inst.jobs):
        best = np.full((2, job.chunks + 1), np.inf)
        best[:, 0] = 0.0
        for (w, s), _ in placements(inst, job):
            outer = int(len({h for h in (0, 1) if w[h] or s[h]}) > 1)
            cost = sum(
                float(prices[0, h] @ (w[h] * np.array(job.worker_demand)))
                + float(prices[0, h] @ (s[h] * np.array(job.ps_demand)))
                for h in (0, 1)
            )
            best[outer, sum(w)] = min(best[outer, sum(w)], cost)
        assert costs(inst, i, cluster, 0) == pytest.approx(best)


@given(st.integers(0, 10_000), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 2.0]))
def test_best_schedules_by_trying_all(seed, noise, level):
    inst = tiny(seed)
    rng = np.random.default_rng(noise)
    cluster = machines(inst, level * rng.integers(0, 30, (inst.horizon, 2, 2)) / 10)
    oracle = Oracle(inst.horizon, 2, 2)
    for i, request in enumerate(requests(inst)):
        tables = [costs(inst, i, cluster, t) for t in range(inst.horizon)]
        best = oracle.best(request, cluster, EVERYTHING)
        payoff = -np.inf if best is None else best.payoff
        assert payoff == pytest.approx(brute_payoff(request, tables), rel=1e-9, abs=1e-9)
        above = oracle.best(request, cluster, payoff - 1e-6)
        assert (above is None) == (best is None)
        assert best is None or oracle.best(request, cluster, payoff + 1e-6) is None


def brute_payoff(request, tables):
    """Return the best payoff over all choices of (kind, workers) in every slot."""
    best = -np.inf
    states = {(0, 0.0)}
    for t in range(request.arrival, len(tables)):
        after = set(states)
        for side, rate in enumerate((request.inner, request.outer)):
            for n, cost in enumerate(tables[t][side].tolist()):
                if n == 0 or not np.isfinite(cost):
                    continue
                for done, paid in states:
                    if done + n * rate >= request.work:
                        best = max(best, request.utility[t] - paid - cost)
                    else:
                        after.add((done + n * rate, round(paid + cost, 12)))
        states = after
    return best


def test_an_outer_placement_never_lands_on_one_machine():
    inst = tiny(3)
    oracle = Oracle(inst.horizon, 2, 2)
    cluster = machines(inst, np.ones((inst.horizon, 2, 2)))
    for request in requests(inst):
        for n in range(1, request.ps_outer.size):
            rows = oracle.slot(request, cluster, 0, 2 * n + 1)
            assert len(rows) != 1
            assert not len(rows) or rows[:, 1].sum() == n


@pytest.mark.parametrize("file", FILES[:6], ids=lambda f: f.stem)
def test_room_for_labels_grows_where_it_is_needed(file):
    inst, reference = load(file)
    size = (inst.horizon, len(inst.capacity), max(j.chunks for j in inst.jobs))
    for known in reference["oracle"]:
        cluster = machines(inst, np.array(known["p"]))
        for request in requests(inst):
            plenty, scarce = Oracle(*size), Oracle(*size)
            scarce.labels = Labels.empty(inst.horizon, 1)
            best, again = (o.best(request, cluster, EVERYTHING) for o in (plenty, scarce))
            assert (best is None) == (again is None)
            if best is not None and again is not None:
                assert scarce.labels.paid.size > 1
                assert (best.payoff, best.completion) == (again.payoff, again.completion)
                assert best.amount.tolist() == again.amount.tolist()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60))
def test_the_sort_is_stable(keys):
    for sort, kind in ((rank, float), (whole_rank, np.int64)):
        order = np.arange(len(keys))[::-1].copy()
        sort(np.array(keys, kind), order, len(keys))
        assert order.tolist() == np.argsort(keys, kind="stable").tolist()
