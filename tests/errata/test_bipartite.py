"""What Zhao et al. 2023 print, evaluated where it fails: BIPARTITE-n of docs/errata.md."""

import math

import numpy as np
import pytest

from optsched.families.bipartite.instance import (
    BipartiteInstance,
    BipartiteSchedule,
    Machine,
    Port,
)
from optsched.families.bipartite.policies.paper import (
    diameter,
    gradient_bound,
    regret_guarantee,
)
from optsched.families.bipartite.policies.projection import project
from optsched.families.bipartite.verify import verify

LINEAR = {"kind": "linear", "alpha": 1}


def instance(requests, capacity, arrivals, *, overhead=0.0, machines=1) -> BipartiteInstance:
    """One resource; every port is connected to every machine."""
    ports = tuple(range(len(requests)))
    return BipartiteInstance(
        horizon=len(arrivals),
        resources=("gpu",),
        overhead=(overhead,),
        ports=tuple(Port(request=(a,)) for a in requests),
        machines=(Machine(capacity=(capacity,), ports=ports, utility=(LINEAR,)),) * machines,
        arrivals=arrivals,
    )


def same(y, slots) -> BipartiteSchedule:
    return BipartiteSchedule(decisions=(tuple(y),), used=(0,) * slots)


def printed_projection(z, a, c):
    """Steps 7 to 30 of Algorithm 1 for one resource of one instance; z is sorted."""
    ports = range(len(z))
    y, at_request, initialized = [0.0] * len(z), set(), False
    while True:
        if not initialized:
            free, initialized = set(ports), True
        elif y[0] > a[0]:
            at_request, free = {0}, set(ports) - {0}
        else:
            return y
        below = True
        while below:
            fixed = sum(a[i] for i in at_request)
            rho = 2 / len(free) * (sum(z[i] for i in free) - c + fixed)  # (40)
            below = False
            for i in ports:
                if i in at_request:
                    y[i] = a[i]
                elif i in free:
                    y[i] = z[i] - rho / 2
                    if y[i] < 0:
                        free -= set(range(i, len(z)))
                        y[i:] = [0.0] * (len(z) - i)
                        below = True
                        break


def test_the_printed_projection_is_right_where_it_should_be():
    z, a, c = (5.0, 4.0, -1.0), (9.0, 9.0, 9.0), 6.0
    exact = project(np.array(z), np.array(a), c)
    assert printed_projection(z, a, c) == pytest.approx(exact.tolist()) == [3.5, 2.5, 0]


def test_bipartite_1_the_utilities_must_be_linear():
    def f(y):
        return math.log(y + 1)

    amounts = (1.0, 2.0)
    assert f(sum(amounts)) == pytest.approx(math.log(4))  # the left side of (12)
    assert sum(map(f, amounts)) == pytest.approx(math.log(6))  # its right side
    log = {"kind": "log", "alpha": 1}
    inst = BipartiteInstance(
        horizon=1,
        resources=("gpu",),
        overhead=(0,),
        ports=(Port(request=(2,)),),
        machines=(Machine(capacity=(2,), ports=(0,), utility=(log,)),) * 2,
        arrivals=((1,),),
    )
    assert verify(inst, same(amounts, 1)).value == pytest.approx(sum(map(f, amounts)))
    # without (12): f of the sum is concave, and its derivatives are at most f'(0) = 1
    rng = np.random.default_rng(0)
    for _ in range(50):
        one, two, share = rng.uniform(0, 5, 3), rng.uniform(0, 5, 3), rng.random()
        between = share * one + (1 - share) * two
        assert f(between.sum()) >= share * f(one.sum()) + (1 - share) * f(two.sum()) - 1e-12
        assert 1 / (between.sum() + 1) <= 1


def test_bipartite_2_the_multiplier_may_be_negative():
    z, a, c = (1.0, 1.0), (10.0, 10.0), 10.0  # feasible already: its projection is itself
    assert printed_projection(z, a, c) == [5, 5]
    assert project(np.array(z), np.array(a), c).tolist() == [1, 1]


def test_bipartite_3_at_most_one_port_is_held_at_its_request():
    z, a, c = (5.0, 4.0), (1.0, 1.0), 1.5
    assert printed_projection(z, a, c) == [1, 0.5]  # rho happens to be positive
    assert project(np.array(z), np.array(a), c).tolist() == [1, 0.5]
    z, a, c = (9.0, 8.0, 1.0), (1.0, 1.0, 9.0), 5.0
    wrong = printed_projection(z, a, c)
    assert wrong == [1, 4, 0]  # port 1 gets four times its request
    right = project(np.array(z), np.array(a), c).tolist()
    assert right == [1, 1, 1]
    inst = instance(a, c, ((1, 1, 1),))
    assert "(5) broken by 3" in str(verify(inst, same(wrong, 1)))
    assert verify(inst, same(right, 1)).feasible


def test_bipartite_4_the_first_port_is_not_the_first_above_its_request():
    z, a, c = (5.0, 4.0), (10.0, 1.0), 9.0
    wrong = printed_projection(z, a, c)
    assert wrong == [5, 4]  # z is sorted, and y_1 <= a_1: the loop is left
    assert "(5) broken by 3" in str(verify(instance(a, c, ((1, 1),)), same(wrong, 1)))
    assert project(np.array(z), np.array(a), c).tolist() == [5, 1]


@pytest.mark.parametrize(("overhead", "times"), [(0.0, 7.0), (0.3, 4.7), (0.5, 3.1)])
def test_bipartite_5_the_steps_of_algorithm_1_break_the_bound(overhead, times):
    slots, size, slope = 100, 1e6, 1 - overhead
    inst = instance((size,), size, ((1,),) * slots, overhead=overhead)
    bound = regret_guarantee(inst)
    if not overhead:
        assert bound == pytest.approx(math.sqrt(2) * size * math.sqrt(slots))  # (41)

    def regret(eta, decay):
        y = earned = 0.0
        for _ in range(slots):
            earned += slope * y
            y, eta = min(size, y + slope * eta), decay * eta
        return slope * slots * size - earned

    assert times * bound < regret(25, 0.9999) < (times + 0.1) * bound  # Table II
    theory = diameter(inst) / (gradient_bound(inst) * math.sqrt(slots))
    assert regret(theory, 1) <= bound


def test_bipartite_6_no_step_size_where_nobody_has_a_job():
    diam, arrivals, slopes, slots = 1.0, (0, 0), (1.0, 1.0), 100
    gradient = math.hypot(*(x * s for x, s in zip(arrivals, slopes, strict=True)))  # (30)
    with pytest.raises(ZeroDivisionError):
        diam / (gradient * math.sqrt(slots))  # (55)
    inst = instance((1, 1), 1, ((0, 0),) * slots)
    assert diameter(inst) / (gradient_bound(inst) * math.sqrt(slots)) > 0  # of the proof


def test_bipartite_7_every_port_has_its_own_dominant_resource():
    beta = (1.0, 1.0)
    y = ((2.0, 0.0), (0.0, 3.0))  # ports 1 and 2, resources 1 and 2
    by_7 = sum(max(b * s for b, s in zip(beta, port, strict=True)) for port in y)
    assert by_7 == 5
    for k in (0, 1):  # (28): one k* for all ports
        assert sum(beta[k] * port[k] for port in y) < by_7
    inst = BipartiteInstance(
        horizon=1,
        resources=("cpu", "gpu"),
        overhead=beta,
        ports=(Port(request=(9, 9)),) * 2,
        machines=(Machine(capacity=(9, 9), ports=(0, 1), utility=(LINEAR, LINEAR)),),
        arrivals=((1, 1),),
    )
    decision = (y[0][0], y[1][0], y[0][1], y[1][1])
    assert verify(inst, same(decision, 1)).value == pytest.approx(5 - by_7)


def test_bipartite_8_the_regret_is_to_the_best_stationary_decision():
    slots = 40
    inst = instance((1, 1), 1, ((1, 0), (0, 1)) * (slots // 2))
    offline = BipartiteSchedule(decisions=((1, 0), (0, 1)), used=(0, 1) * (slots // 2))
    assert verify(inst, offline).value == slots
    stationary = [verify(inst, same((x, 1 - x), slots)).value for x in (0, 0.25, 0.5, 1)]
    assert stationary == [slots / 2] * 4  # so half of the offline optimum is out of sight


def test_bipartite_9_an_upper_bound_is_no_theta():
    regrets = []
    for slots in (10, 1000):
        inst = instance((1,), 1, ((1,),) * slots)
        y = 1.0  # y(1), any feasible decision
        played = [y := min(1.0, y + 0.1) for _ in range(slots)]
        regrets.append(slots - sum(played))
        assert regret_guarantee(inst) > 4
    assert regrets == [0, 0]


def test_bipartite_10_fairness_as_printed_breaks_5():
    requests, capacity = (1.0, 1.0), 10.0
    shares = [capacity * a / sum(requests) for a in requests]
    inst = instance(requests, capacity, ((1, 1),))
    assert "(5) broken by 4" in str(verify(inst, same(shares, 1)))
    assert verify(inst, same(map(min, shares, requests), 1)).feasible


def test_bipartite_11_the_order_of_the_instances_changes_nothing():
    requests, capacity = (3.0, 2.0, 4.0), (4.0, 7.0, 5.0)

    def allocate(fullest_first):
        used, y = [0.0] * len(capacity), {}
        for port, a in enumerate(requests):
            share = [u / c for u, c in zip(used, capacity, strict=True)]
            for r in sorted(range(len(capacity)), key=share.__getitem__, reverse=fullest_first):
                y[port, r] = min(a, capacity[r] - used[r])  # what (5) and (6) allow
                used[r] += y[port, r]
        return y

    assert allocate(fullest_first=True) == allocate(fullest_first=False)


def test_bipartite_13_the_matrix_of_the_capacities():
    ports, instances = 3, 4
    columns = range(1, ports * instances + 1)

    def ones(i, divides):
        return {j for j in columns if divides(j - i, instances)}

    for i in range(1, instances + 1):
        wanted = {i + instances * (port - 1) for port in range(1, ports + 1)}  # (15)
        assert ones(i, lambda x, n: x > 0 and n % x == 0) != wanted  # (18): j - i divides |R|
        assert ones(i, lambda x, n: x % n == 0) == wanted
