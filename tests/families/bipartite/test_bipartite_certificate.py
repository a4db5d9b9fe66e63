"""Certificates: the enclosure against exact arithmetic, the checker against wrong certificates."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from independent.bipartite import best_amount, utility

from optsched.core import simulate, solve
from optsched.families.bipartite.certificate.check import (
    BipartiteCertificate,
    check,
    shares_on_grid,
)
from optsched.families.bipartite.certificate.enclosure import (
    down,
    log1p_above,
    log_above,
    surplus_above,
    up,
)
from optsched.families.bipartite.instance_utilities import KINDS
from optsched.families.bipartite.online import verify
from optsched.families.bipartite.optimum.decision import Solver
from optsched.families.bipartite.optimum.initial_bounds import opening
from optsched.families.bipartite.sources.presets import generate
from optsched.numbers.resources import EPS, exact


@given(st.floats(1e-15, 1e15))
def test_logarithm_of_one_more_is_enclosed(y):
    truth = (1 + Decimal(y)).ln()
    found = log1p_above(y)
    assert Decimal(found) >= truth
    assert Decimal(found) <= truth * (1 + Decimal("2e-14"))


@given(st.floats(1.0, 1e15))
def test_logarithm_is_enclosed(x):
    truth = Decimal(x).ln()
    found = log_above(x)
    assert Decimal(found) >= truth
    assert float(Decimal(found) - truth) <= 2e-14 * max(1.0, math.log(x))


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_outward_rounding(x, y):
    total = x + y
    assert Fraction(down(total)) <= Fraction(x) + Fraction(y) <= Fraction(up(total))
    product = x * y
    if math.isfinite(product):
        assert Fraction(down(product)) <= Fraction(x) * Fraction(y) <= Fraction(up(product))


def sizes(low, high):
    """Numbers whose logarithms are evenly spread."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


@settings(max_examples=500)
@given(
    st.sampled_from(range(len(KINDS))),
    sizes(1e-15, 1e15),
    st.integers(1, 2**53),
    st.one_of(st.just(0.0), sizes(1e-15, 1e15)),
    st.one_of(st.just(0.0), sizes(1e-60, 1e60)),
)
def test_surplus_is_enclosed(kind, alpha, n, u, price):
    y = best_amount(kind, alpha, n, u, price)
    truth = n * utility(kind, alpha, y) - Decimal(price) * y
    found = Decimal(surplus_above(kind, alpha, float(n), u, price))
    assert found >= truth
    if truth == 0:
        assert found <= Decimal("1e-15") * Decimal(n) * Decimal(max(alpha, alpha**-2.0)) * Decimal(
            u
        )
    # the best amount is one of rounded numbers, and both slopes there err
    scale = n * utility(kind, alpha, y) + Decimal(price) * y
    assert found <= truth + Decimal("1e-14") * (scale + Decimal(price) * Decimal(u))


def test_bound_is_that_of_exact_arithmetic():
    inst = generate("counts", seed=4)
    found = solve(inst, method="stationary")
    a, c = inst.arrays, found.certificate
    share = np.array(c.prices[0].share).reshape(a.copies, a.resources)
    total = Decimal(0)
    for row, capacity in enumerate(a.capacity.tolist()):
        r, k = divmod(row, a.resources)
        nu = Decimal(c.prices[0].nu[row]) / Decimal(2) ** c.nu_bits
        f, held = inst.machines[r].utility[k], _decimal(exact(capacity) * (1 + EPS))
        total += nu * held
        for i in range(a.start[row], a.start[row + 1]):
            n = int(inst.counts[a.port[i]])
            theta = n * Decimal(int(share[a.port[i], k])) / 2**c.share_bits
            price = _decimal(exact(inst.overhead[k])) * theta + nu
            u = min(held, _decimal(exact(float(a.upper[i])) * (1 + EPS)))
            kind, alpha = KINDS.index(f.kind), _decimal(exact(f.alpha))
            y = best_amount(kind, alpha, n, u, price) if n else Decimal(0)
            total += max(Decimal(0), n * utility(kind, alpha, y) - price * y)
    assert Decimal(found.bound) >= total
    assert float((Decimal(found.bound) - total) / total) <= 1e-11


def _decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


@pytest.mark.parametrize("gain", ["machine", "sum"])
@pytest.mark.parametrize("scope", ["slots", "stationary"])
def test_any_prices_bound_what_anybody_earns(scope, gain):
    for seed in range(6):
        inst = generate("counts", seed=seed, slots=12, gain=gain)
        best = solve(inst, method="auto" if scope == "slots" else scope).value
        rng, a = np.random.default_rng(seed), inst.arrays
        times = 1 if scope == "slots" else inst.horizon
        assigned = [0] * len(inst.patterns[0]) if scope == "slots" else ()
        for _ in range(20):
            share = rng.dirichlet(np.ones(a.resources), a.copies)
            nu = rng.uniform(0, 2, len(a.capacity)) * (rng.random(len(a.capacity)) < 0.7)
            made = BipartiteCertificate.of(inst, scope, [(share, nu * times)], assigned)
            assert check(inst, made) >= best
        value, certificate = opening(inst)
        assert best <= check(inst, certificate()) <= value * (1 + 1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_no_policy_and_no_decision_beats_the_bounds(seed):
    inst = generate("small", seed=seed)
    optimum, stationary = solve(inst), solve(inst, method="stationary")
    assert stationary.value <= stationary.bound
    assert stationary.value <= optimum.value * (1 + 1e-6)  # the gap that counts as closed
    for name in ("ogasched", "ogasched-theory", "drf", "fairness", "binpacking"):
        assert simulate(inst, name).value <= optimum.bound


def test_json_round_trip():
    inst = generate("small", seed=0)
    for method in ("auto", "stationary"):
        found = solve(inst, method=method)
        again = type(found).model_validate_json(found.model_dump_json())
        assert again == found
        assert check(inst, again.certificate) == found.bound


def test_shares_add_up():
    share = np.random.default_rng(0).dirichlet(np.ones(5), 100)
    grid = shares_on_grid(share, 30)
    assert (grid >= 0).all()
    assert (grid.sum(axis=1) == 2**30).all()
    np.testing.assert_allclose(grid / 2**30, share, atol=1e-8)


@pytest.fixture(scope="module")
def small():
    inst = generate("small", seed=0)
    return inst, solve(inst).certificate


def changed(certificate, k=0, **update):
    sets = list(certificate.prices)
    sets[k] = sets[k].model_copy(update=update)
    return certificate.model_copy(update={"prices": tuple(sets)})


def test_damaged_certificates_are_refused(small):
    inst, good = small
    share, nu = good.prices[0].share, good.prices[0].nu
    for wrong, message in [
        (changed(good, share=(share[0] + 1, *share[1:])), "shares of copy 0 add up to"),
        (changed(good, share=(2**31, *share[1:])), "a price is too large"),
        (changed(good, nu=(2**200, *nu[1:])), "a price is too large"),
        (changed(good, nu=nu[1:]), "has 12 shares and 14 nu, expected 12 and 15"),
        (good.model_copy(update={"assigned": good.assigned[1:]}), "assigned to"),
        (good.model_copy(update={"assigned": (99, *good.assigned[1:])}), "price set 99 does not"),
        (good.model_copy(update={"scope": "stationary"}), "a stationary certificate has"),
        (good.model_copy(update={"instance_sha256": "0" * 64}), "belongs to instance 0000"),
    ]:
        with pytest.raises(ValueError, match=message):
            check(inst, wrong)


def test_worse_prices_prove_less(small):
    inst, good = small
    bound = check(inst, good)
    doubled = changed(good, nu=tuple(2 * x for x in good.prices[0].nu))
    assert check(inst, doubled) > bound


def test_prices_of_a_foreign_pattern_are_allowed():
    inst = generate("small", seed=0)
    whole = Solver(inst).solve(inst.patterns[0][0], 1e-6)
    assigned = [0] * len(inst.patterns[0])
    made = BipartiteCertificate.of(inst, "slots", [(whole.share, whole.nu)], assigned)
    assert check(inst, made) >= solve(inst).value


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.integers(0, 10_000),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 12),
    st.floats(0, 1),
    st.floats(0.1, 20),
    st.integers(1, 3),
    st.sets(st.sampled_from(KINDS), min_size=1),
)
def test_bound_optimum_online(seed, ports, machines, slots, often, contention, most, kinds):
    inst = generate(
        "small",
        seed=seed,
        ports=ports,
        machines=machines,
        slots=slots,
        density=ports / 2,
        arrival_probability=often,
        contention=contention,
        most_jobs=most,
        utilities=tuple(sorted(kinds)),
    )
    optimum, stationary = solve(inst), solve(inst, method="stationary")
    small = 1e-6 * max(1.0, optimum.bound)
    assert optimum.bound - small <= optimum.value <= optimum.bound
    assert stationary.value <= optimum.value + small
    assert stationary.value <= stationary.bound
    for name in ("ogasched", "ogasched-theory", "drf", "fairness", "binpacking", "spreading"):
        run = simulate(inst, name)
        assert run.value <= optimum.bound
        assert verify(inst, type(run.schedule).model_validate(run.schedule.model_dump())).feasible
    assert type(inst).model_validate_json(inst.model_dump_json()) == inst
