"""No unit matters: data times 1e-12 .. 1e12, rewards next to nothing, and instances of nothing."""

import dataclasses
from decimal import Decimal

import numpy as np
import pytest
from independent.bipartite import separable_optimum
from pydantic import ValidationError

from optsched.core import simulate, solve
from optsched.families.bipartite import FAMILY
from optsched.families.bipartite.certificate.check import check
from optsched.families.bipartite.instance import BipartiteInstance, BipartiteSchedule
from optsched.families.bipartite.online import verify
from optsched.families.bipartite.optimum.initial_bounds import empty, opening
from optsched.families.bipartite.sources.presets import generate
from optsched.results.export import Format, write_program

LINEAR_1 = {"kind": "linear", "alpha": 1.0}

SEARCHES = [m for m in FAMILY.methods if m != "relaxation"]  # which finds no schedule


def tiny(*, kind="linear", alpha=1.0, beta=0.5, request=3.0, capacity=2.0, **other):
    """One port on one machine with one resource, two slots with a job each."""
    content = {
        "horizon": 2,
        "resources": ("cpu",),
        "overhead": (beta,),
        "ports": ({"request": (request,)},),
        "machines": (
            {"capacity": (capacity,), "ports": (0,), "utility": ({"kind": kind, "alpha": alpha},)},
        ),
        "arrivals": ((1,), (1,)),
    }
    return BipartiteInstance.model_validate(content | other)


def amounts_times(inst, factor):
    """Other units of all resources; gains and overheads of linear utilities grow with them."""
    content = inst.model_dump()
    for port in content["ports"]:
        port["request"] = tuple(x * factor for x in port["request"])
    for machine in content["machines"]:
        machine["capacity"] = tuple(x * factor for x in machine["capacity"])
    return BipartiteInstance.model_validate(content)


def rewards_times(inst, factor):
    """Another unit of the reward, where no utility is reciprocal."""
    content = inst.model_dump()
    content["overhead"] = tuple(x * factor for x in content["overhead"])
    for machine in content["machines"]:
        for utility in machine["utility"]:
            utility["alpha"] *= factor
    return BipartiteInstance.model_validate(content)


UNITS = [1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12]


@pytest.mark.parametrize("method", ["auto", "stationary"])
@pytest.mark.parametrize("factor", UNITS)
def test_units_of_amounts_do_not_matter(factor, method):
    inst = generate("small", seed=1, slots=12, utilities=("linear",))
    before, after = (
        solve(i, method=method, time_limit=600) for i in (inst, amounts_times(inst, factor))
    )
    assert after.status is before.status
    assert after.value == pytest.approx(factor * before.value, rel=1e-7)
    assert after.gap == pytest.approx(before.gap, rel=0.2)
    for policy in ("drf", "fairness"):
        earned = [simulate(i, policy).value for i in (inst, amounts_times(inst, factor))]
        assert earned[1] == pytest.approx(factor * earned[0], rel=1e-9)


@pytest.mark.parametrize("method", ["auto", "stationary"])
@pytest.mark.parametrize("factor", UNITS)
def test_units_of_the_reward_do_not_matter(factor, method):
    inst = generate("small", seed=2, slots=12, utilities=("linear", "log", "poly"))
    if factor > 1:  # an overhead is at most 1
        inst = rewards_times(inst, 1e-12)
    before, after = (
        solve(i, method=method, time_limit=600) for i in (inst, rewards_times(inst, factor))
    )
    assert after.status is before.status
    assert after.value == pytest.approx(factor * before.value, rel=1e-7)
    assert after.gap == pytest.approx(before.gap, rel=0.2)


@pytest.mark.parametrize("factor", UNITS)
def test_small_and_large_amounts_of_bent_utilities_are_solved(factor):
    inst = amounts_times(generate("small", seed=0, slots=12), factor)
    found = solve(inst, time_limit=600)
    assert found.status == "optimal"
    assert found.gap <= 1e-6


@pytest.mark.parametrize("factor", [2.0**-40, 1.0, 2.0**40])
def test_the_tolerance_has_no_unit(factor):
    inst = amounts_times(tiny(), factor)
    for share, fits in ((1 + 9e-10, True), (1 + 1.1e-9, False)):
        y = 2.0 * factor * share
        schedule = BipartiteSchedule(decisions=((y,),), used=(0, 0))
        assert verify(inst, schedule).feasible == fits
    nothing = tiny(capacity=0.0)
    assert not verify(nothing, BipartiteSchedule(decisions=((1e-300,),), used=(0, 0))).feasible


@pytest.mark.parametrize("kind", ["linear", "log", "poly", "reciprocal"])
@pytest.mark.parametrize("size", [1e-15, 1e-9, 1.0, 1e9, 1e15])
def test_optimum_by_hand_at_the_limits_of_the_data(kind, size):
    alpha = {"reciprocal": max(size, 1e-3)}.get(kind, 2.0)
    inst = tiny(kind=kind, alpha=alpha, beta=1e-16, request=size, capacity=size)
    truth = separable_optimum(inst)
    for method in ("auto", "stationary"):
        found = solve(inst, method=method, time_limit=600)
        assert Decimal(found.value) <= truth * (1 + Decimal("1.1e-9"))
        assert truth <= Decimal(found.bound)
        assert found.gap <= 1e-6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"request": 9e-16}, "too small, expected 0 or 1e-15 .. 1e"),
        ({"capacity": 5e-324}, "too small, expected 0 or 1e-15 .. 1e"),
        ({"capacity": 1.1e15}, "less than or equal to 1000000000000000"),
        ({"alpha": 9e-16}, "greater than or equal to 0.000000000000001"),
        ({"alpha": 1.1e15}, "less than or equal to 1000000000000000"),
        ({"request": float("nan")}, "finite number"),
        ({"ports": ({"request": (3,), "most_jobs": 10**12},)}, "jobs in a slot .* at most"),
        (
            {"ports": ({"request": (3,), "most_jobs": 10**7},), "machines": (
                {"capacity": (1,), "ports": (), "utility": (LINEAR_1,)},
            ), "horizon": 101, "arrivals": ((1,),) * 101},
            "expected a product of at most",
        ),
    ],
)  # fmt: skip
def test_data_beyond_the_limits_are_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        tiny(**changes)


NOTHING = {
    "no channels": tiny(
        machines=({"capacity": (2,), "ports": (), "utility": (LINEAR_1,)},),
    ),
    "no jobs": tiny(arrivals=((0,), (0,))),
    "no capacity": tiny(capacity=0.0),
    "no request": tiny(request=0.0),
    "overhead above all gains": tiny(kind="log", alpha=0.9, beta=1.0),
    "overhead above all gains of two resources": tiny(
        resources=("cpu", "gpu"),
        overhead=(0.75, 1.0),
        ports=({"request": (3, 4)},),
        machines=(
            {
                "capacity": (2, 2),
                "ports": (0,),
                "utility": (
                    {"kind": "linear", "alpha": 0.25},
                    {"kind": "reciprocal", "alpha": 1.25},
                ),
            },
        ),
    ),
}


@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("name", NOTHING)
def test_where_nobody_earns_anything_that_is_proved(name, method):
    found = solve(NOTHING[name], method=method)
    assert found.value == 0
    if method == "conic" and name.startswith("overhead"):
        assert found.bound_level == "certified"  # prices 0 prove something
    else:
        assert (found.status, found.bound, found.gap) == ("optimal", 0.0, 0.0)


@pytest.mark.parametrize("inst", [*NOTHING.values(), tiny(horizon=1, arrivals=((1,),))])
def test_degenerate_shapes_pass_through_everything(inst, tmp_path):
    write_program(inst, tmp_path / "x.cbf", Format.CBF)
    FAMILY.describe(inst)
    FAMILY.warnings(inst)
    best = solve(inst)
    for policy in FAMILY.policies:
        assert simulate(inst, policy).value <= best.bound


def test_one_slot():
    inst = tiny(horizon=1, arrivals=((1,),))
    for method in SEARCHES:
        found = solve(inst, method=method)
        assert found.status == "optimal"
        assert found.value == pytest.approx(1.0, rel=1e-6)


def test_rewards_that_cancel_are_computed_again():
    """Gains of 2, and what the overhead leaves of them is 2e-12: floats would see 4 digits."""
    inst = tiny(beta=0.999999999999)
    best = BipartiteSchedule(decisions=((2.0,),), used=(0, 0))
    assert verify(inst, best).value == pytest.approx(4e-12, rel=1e-12)
    for method in SEARCHES:
        found = solve(inst, method=method, time_limit=600)
        assert found.value <= 4e-12 * (1 + 1e-8)
        assert found.bound >= 4e-12
    even = tiny(kind="poly", alpha=1.0, beta=0.5)  # f'(0) = 0.5: everything costs
    loss = BipartiteSchedule(decisions=((1e-6,),), used=(0, 0))
    assert verify(even, loss).value <= 0


def test_opening_bounds_everything_and_nothing_is_a_schedule():
    for preset in ("small", "counts"):
        for seed in range(20):
            inst = generate(preset, seed=seed, slots=20)
            bound, made = opening(inst)
            certificate = made()
            assert FAMILY.scope(certificate) == ""
            assert solve(inst).value <= check(inst, certificate) <= bound
            nothing = empty(inst)
            assert verify(inst, nothing).value == 0
            assert FAMILY.scopes["stationary"](inst, nothing)


def test_an_instance_cannot_be_written_into():
    inst = generate("counts", seed=0)
    arrays = [getattr(inst.arrays, f.name) for f in dataclasses.fields(inst.arrays)]
    arrays += [inst.jobs, inst.counts, *inst.patterns]
    for array in arrays:
        if isinstance(array, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def shared(seed, amount=1.0, value=1.0, capacity=True):
    """Four ports on one machine with a capacity, and on one that may have none."""
    rng = np.random.default_rng(seed)
    logs = {"kind": "log", "alpha": 1.2 * value}
    machine = {"ports": range(4), "utility": (logs,)}
    return tiny(
        beta=0.3,
        ports=[{"request": (amount * x,)} for x in rng.integers(2, 9, 4) / 10],
        machines=[machine | {"capacity": (amount,)}, machine | {"capacity": (amount * capacity,)}],
        arrivals=rng.integers(0, 2, (6, 4)),
        horizon=6,
    )


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-7, 1e-3, 1e3, 1e7, 1e12])
def test_every_policy_stays_feasible_in_any_unit(unit):
    for seed in range(6):
        for inst in (shared(seed, amount=unit), shared(seed, value=unit, capacity=False)):
            for policy in FAMILY.policies:
                simulate(inst, policy)  # raises what the judge refuses


@pytest.mark.parametrize("seed", range(8))
def test_conic_leaves_nothing_where_ports_share_a_capacity_of_nothing(seed):
    found = solve(shared(seed, capacity=False), method="conic", time_limit=60)
    assert found.value is not None
