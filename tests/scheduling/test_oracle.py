"""The oracle: against known payoffs, against trying every schedule, and its ties by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent.oasis import FILES, load
from knowing import prior_of

from optsched.families.oasis.policies.paper import Oasis
from optsched.numbers.streams import Streams
from optsched.scheduling.board import over_slots
from optsched.scheduling.oracle.schedule import Oracle, PricedMachines, Request

GRANULARITY = {"exact": "payoffs", "chunk": "payoffs_chunk"}


def by_machine(capacity):
    return np.ones(len(capacity), np.int64)


@pytest.mark.parametrize("granularity", GRANULARITY)
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_payoffs_of_the_reference(path, granularity):
    inst, reference = load(path)
    a, policy = inst.arrays, Oasis(granularity=granularity)
    policy.start(inst.platform(), prior_of(inst, policy), Streams(0))
    for job in inst.jobs:  # the units are those of all jobs
        policy.request(job)
    for prices in reference["oracle"]:
        sides = [
            PricedMachines(
                # (T, H, R) per natural unit -> (T, R, H) per unit of demand
                np.ascontiguousarray((np.array(prices[key]) / scale).transpose(0, 2, 1)),
                over_slots(capacity.astype(float), inst.horizon),
                by_machine(capacity),
            )
            for key, scale, capacity in (
                ("p", a.worker_scale, a.worker_capacity),
                ("q", a.ps_scale, a.ps_capacity),
            )
        ]
        for i, job in enumerate(inst.jobs):
            best = policy.scheduler.oracle.best(policy.request(job), *sides, cutoff=-np.inf)
            known = prices[GRANULARITY[granularity]][i]
            assert (best is None) == (known is None), i
            if best is not None:
                assert best.payoff == pytest.approx(known, rel=1e-9, abs=1e-9), i


# --- by enumeration ---


def drawn(seed, horizon=3):
    """Draw a request and both sides, with machines that are partly used."""
    draw = np.random.default_rng(seed)
    resources, most = int(draw.integers(1, 3)), int(draw.integers(1, 5))

    def side(machines):
        shape = (horizon, resources, machines)
        return PricedMachines(
            draw.integers(0, 5, shape) / 8,
            draw.integers(0, 7, shape).astype(float),
            draw.integers(1, 3, machines),
        )

    def demand():
        return draw.integers(0, 4, resources).astype(float)

    arrival = int(draw.integers(0, horizon))
    utility = np.sort(draw.integers(0, 25, horizon))[::-1] / 2
    utility[:arrival] = 0
    request = Request(
        arrival=arrival,
        work=int(draw.integers(1, 7)),
        units=np.arange(most + 1),
        worker_demand=demand(),
        ps_demand=demand(),
        ps_needed=np.ceil(np.arange(most + 1) * draw.choice([0.3, 0.5, 1.0])).astype(np.int64),
        utility=utility,
    )
    return request, side(int(draw.integers(1, 4))), side(int(draw.integers(1, 3)))


def cheapest_on(side, t, demand, most):
    """Return the cost of 0, 1, ... ``most`` workers (or PS), as many as fit."""
    places = []
    for h in range(side.count.size):
        unit = float(side.price[t, :, h] @ demand)
        fits = [side.free[t, r, h] // d for r, d in enumerate(demand) if d]
        places += [unit] * int(min([most, *fits])) * int(side.count[h])
    return np.cumsum([0, *sorted(places)[:most]])


def every_schedule(request, workers, ps):
    """Yield (payoff, completion, amounts) of every schedule of exactly the work."""
    horizon, most = request.utility.size, request.units.size - 1
    costs = []
    for t in range(horizon):
        w = cheapest_on(workers, t, request.worker_demand, most)
        s = cheapest_on(ps, t, request.ps_demand, most)
        needed = request.ps_needed[: len(w)]
        costs.append([w[n] + s[m] for n, m in enumerate(needed) if m < len(s)])
    ranges = [range(len(c)) if t >= request.arrival else range(1) for t, c in enumerate(costs)]
    for amounts in product(*ranges):
        if sum(amounts) == request.work:
            end = max(t for t, n in enumerate(amounts) if n)
            cost = sum(c[n] for c, n in zip(costs, amounts, strict=True))
            yield request.utility[end] - cost, end, amounts


def oracle_for(request, workers, ps):
    size = max(workers.count.size, ps.count.size)
    return Oracle(request.utility.size, size, request.units.size - 1, request.work)


@given(st.integers(0, 2**32 - 1))
def test_the_oracle_tries_every_schedule(seed):
    """Prices are multiples of 1/8, so that equal payoffs are equal and ties can be checked."""
    request, workers, ps = drawn(seed)
    ways = list(every_schedule(request, workers, ps))
    oracle = oracle_for(request, workers, ps)
    for cutoff in (-np.inf, 0.0, 3.0):
        best = oracle.best(request, workers, ps, cutoff)
        top = max((p for p, _, _ in ways), default=-np.inf)
        if top <= cutoff:
            assert best is None
            continue
        completion, amounts = min(
            ((e, n) for p, e, n in ways if p == top), key=lambda way: (way[0], way[1][::-1])
        )
        assert best.payoff == top
        assert best.completion == completion
        assert best.cost == request.utility[completion] - top
        assert tuple(best.amount) == amounts


@given(st.integers(0, 2**32 - 1))
def test_a_class_is_its_machines(seed):
    request, workers, ps = drawn(seed)
    single = [
        PricedMachines(
            np.ascontiguousarray(np.repeat(side.price, side.count, axis=2)),
            np.ascontiguousarray(np.repeat(side.free, side.count, axis=2)),
            np.ones(side.count.sum(), np.int64),
        )
        for side in (workers, ps)
    ]
    by_class = oracle_for(request, workers, ps).best(request, workers, ps)
    one_by_one = oracle_for(request, *single).best(request, *single)
    if by_class is None:
        assert one_by_one is None
        return
    assert one_by_one.payoff == pytest.approx(by_class.payoff)
    assert one_by_one.amount.tolist() == by_class.amount.tolist()


# --- by hand ---


def one_machine(*prices, room=9.0):
    """Return a side of one machine with one resource, priced by slot."""
    price = np.array(prices, float)[:, None, None]
    return PricedMachines(price, np.full(price.shape, room), np.ones(1, np.int64))


def simple(utility, work=2, most=2, arrival=0):
    return Request(
        arrival=arrival,
        work=work,
        units=np.arange(most + 1),
        worker_demand=np.ones(1),
        ps_demand=np.zeros(1),
        ps_needed=np.arange(most + 1),
        utility=np.array(utility, float),
    )


def test_it_waits_only_if_that_pays():
    free = one_machine(0, 0, 0)
    dear_now = one_machine(4, 1, 0)
    oracle = Oracle(3, 1, 2, 2)
    # slot 0 costs 8 of 10; one in each of 0 and 1 costs 5 of 9; slot 1 costs 2 of 9; slot 2 0 of 6
    best = oracle.best(simple([10, 9, 6]), dear_now, free)
    assert (best.payoff, best.completion, best.amount.tolist()) == (7, 1, [0, 2, 0])
    assert oracle.best(simple([10, 9, 6]), dear_now, free, cutoff=7) is None
    assert oracle.best(simple([10, 9, 6], arrival=2), dear_now, free).completion == 2


def test_equal_payoffs_end_early_and_work_early():
    free, oracle = one_machine(1, 1, 1), Oracle(3, 1, 2, 3)
    best = oracle.best(simple([5, 5, 5], work=3), free, free)
    assert (best.completion, best.amount.tolist()) == (1, [2, 1, 0])
    # a payoff that is greater by less than 1e-9 does not make it wait
    nearly = one_machine(1, 1, 1 - 1e-10)
    assert oracle.best(simple([5, 5, 5], work=3), nearly, free).completion == 1
    clearly = one_machine(1, 1, 1 - 1e-8)
    assert oracle.best(simple([5, 5, 5], work=3), clearly, free).completion == 2
    # ... nor where it costs less and earns less
    best = oracle.best(simple([6, 5, 0], work=1), one_machine(3, 2 - 1e-10, 9), free)
    assert best.completion == 0


def test_costs_that_differ_by_rounding_end_early():
    # the payoff of slot 1 is greater by more than 1e-9, but its cost by no more than rounding
    prices = one_machine(1000, 1000 - 1e-8)
    best = Oracle(2, 1, 1, 1).best(simple([1000.001] * 2, work=1, most=1), prices, prices)
    assert (best.completion, best.amount.tolist()) == (0, [1, 0])
    assert best.payoff == pytest.approx(0.001 + 1e-8)  # bounds need the greatest payoff itself
    assert best.cost == 1000


def test_units_may_need_several_workers():
    # 1, 2 units of work need 2, 3 workers; three workers fit in a slot
    request = simple([9, 9], work=3, most=3)._replace(units=np.array([0, 2, 3]))
    side = one_machine(1, 1, room=3.0)
    best = Oracle(2, 1, 3, 3).best(request, side, one_machine(0, 0))
    assert (best.payoff, best.amount.tolist()) == (9 - 3 - 2, [2, 1])


def test_the_ps_may_be_what_is_scarce():
    request, workers = simple([9, 9], work=2), one_machine(0, 0)
    request = request._replace(ps_demand=np.ones(1))
    assert Oracle(2, 1, 2, 2).best(request, workers, one_machine(0, 0, room=1.0)).completion == 1
    assert Oracle(2, 1, 2, 2).best(request, workers, one_machine(0, 0, room=0.0)) is None
