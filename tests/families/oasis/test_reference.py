"""Every way to the optimum on the reference files, and what shadow prices mean."""

import numpy as np
import pytest
from independent.oasis import FILES, load, simple_job
from patience import LONG

from optsched.core import solve
from optsched.families.oasis.certificate.check import (
    CapacityPrices,
    OasisCertificate,
    check,
)
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.build_certificate import certify_capacity
from optsched.families.oasis.optimum.methods import METHODS
from optsched.families.oasis.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.relaxation import compact_prices
from optsched.families.oasis.optimum.shadow import shadow_prices
from optsched.families.oasis.verify import verify
from optsched.numbers.resources import MachineClass
from optsched.problem import RELAXATION, Status
from optsched.proofs.grid import to_grid

EXACT = ("auto", "branch-and-price", "compact", "cpsat")
by_file = pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)


@by_file
@pytest.mark.parametrize("method", EXACT)
def test_exact_methods_find_the_optimum(path, method):
    inst, known = load(path)
    found = solve(inst, method=method, time_limit=LONG)
    assert found.status.closed
    assert found.value == pytest.approx(known["optimum"], rel=1e-7)
    assert found.bound == pytest.approx(known["optimum"], rel=1e-6)
    assert found.bound >= known["optimum"] * (1 - 1e-9)
    assert verify(inst, found.schedule).value == found.value
    if method in ("auto", "branch-and-price"):
        assert found.value_level == found.bound_level == "certified"
        assert check(inst, found.certificate) == found.bound


@pytest.mark.slow
@by_file
def test_two_threads_find_the_optimum(path):
    inst, known = load(path)
    found = solve(inst, method="branch-and-price", time_limit=LONG, threads=2)
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(known["optimum"], rel=1e-7)


@by_file
def test_the_search_finds_good_schedules(path):
    inst, known = load(path)
    for limit in (0.2, 0.8, 3.2, 12.8, 51.2):  # how it searches depends on the time that it has
        found = solve(inst, method="search", time_limit=limit)
        if found.value >= 0.9 * known["optimum"]:
            break
    assert found.bound >= known["optimum"] * (1 - 1e-9)  # at prices 0
    assert 0.9 * known["optimum"] <= found.value <= known["optimum"] * (1 + 1e-7)


# --- instances at the edge ---


def job(arrival=0, demand=1.0, work=1, **utility):
    """Return a job of one worker, which needs no PS capacity."""
    return simple_job(
        arrival=arrival,
        epochs=work,
        worker_demand=(demand,),
        ps_demand=(0.0,),
        utility=utility or {"kind": "constant", "value": 8},
    )


A100 = (MachineClass(name="a100", capacity=(2.0,)),)


def instance(*jobs, horizon=1, machines=A100):
    return OasisInstance(
        horizon=horizon,
        resources=("gpu",),
        worker_machines=machines,
        ps_machines=(MachineClass(capacity=(1.0,)),),
        jobs=jobs,
    )


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("search", RELAXATION)])
@pytest.mark.parametrize(
    "jobs",
    [
        (),
        (job(work=5),),
        (job(demand=3.0), job(demand=3.0)),
        (job(kind="constant", value=0),),
        (job(kind="table", values=[0, 0]), job(work=2)),
    ],
    ids=["no jobs", "too long", "too large", "worthless", "both"],
)
def test_where_nothing_can_be_earned(method, jobs):
    inst = instance(*jobs)
    found = solve(inst, method=method, time_limit=LONG)
    assert found.value == 0
    assert found.bound == pytest.approx(0, abs=1e-12)
    assert found.status.closed


@pytest.mark.parametrize("method", EXACT)
def test_jobs_that_demand_nothing_all_run(method):
    inst = instance(*(job(demand=0.0) for _ in range(3)))
    assert solve(inst, method=method, time_limit=LONG).value == 24


# --- shadow prices ---


def test_shadow_prices_are_what_one_more_unit_earns():
    """Three jobs of 0.5 GPU want slot 0 of a machine with one GPU; they earn 5, 4 and 3.

    In fractions, the last one is out: one more GPU would earn its 3 and nothing more; the price
    that supports this lies between 3 / 0.5 and 4 / 0.5 per GPU.
    """
    jobs = [job(demand=0.5, kind="table", values=[v]) for v in (5, 4, 3)]
    inst = instance(*jobs, horizon=2, machines=(MachineClass(name="a100", capacity=(1.0,)),))
    problem = CapacityRelaxation(inst)
    certificate = certify_capacity(problem, compact_prices(problem))
    bound = check(inst, certificate)
    assert solve(inst, time_limit=LONG).value == 9
    assert bound == pytest.approx(9, rel=1e-4)
    (price,) = [p for p in shadow_prices(inst, certificate) if p["price"] > 1e-3]
    assert {k: price[k] for k in ("side", "slot", "machines", "resource")} == {
        "side": "worker",
        "slot": 0,
        "machines": "a100",
        "resource": "gpu",
    }
    assert 6 - 1e-2 <= price["price"] <= 8 + 1e-2
    more = instance(*jobs, horizon=2, machines=A100)
    assert solve(more, time_limit=LONG).value <= bound + price["price"]


def test_shadow_prices_name_their_machines():
    machines = (
        MachineClass(name="small", count=2, capacity=(1.0,)),
        MachineClass(capacity=(2.0,)),
    )
    inst = instance(job(demand=0.25), machines=machines)
    units = np.zeros((1, 2, 1))  # (T, classes, R), per hundredth of a GPU
    units[0, :, 0] = (0.5, 0.25)
    prices = CapacityPrices.of(to_grid(units, 10), to_grid(np.zeros((1, 1, 1)), 10))
    found = shadow_prices(inst, OasisCertificate.root(inst, prices, 10))
    assert [(p["machines"], p["price"]) for p in found] == [("small", 50.0), ("machine 2", 25.0)]


def test_prices_of_workers_become_the_price_of_one_more_machine():
    """Two jobs of 0.5 GPU earn 5 and 4 where one machine of 0.5 GPU is: a second earns the 4."""
    jobs = [job(demand=0.5, kind="table", values=[v]) for v in (5, 4)]
    inst = instance(*jobs, horizon=1, machines=(MachineClass(name="half", capacity=(0.5,)),))
    found = solve(inst, method="branch-and-price", time_limit=LONG)
    assert found.value == 5
    (price,) = [p for p in found.shadow_prices if p["side"] == "worker"]
    assert (price["machines"], price["slot"], price["resource"]) == ("half", 0, "machine")
    assert 4 - 1e-6 <= price["price"] <= 5 + 1e-6
    more = (MachineClass(name="half", count=2, capacity=(0.5,)),)
    value = solve(instance(*jobs, horizon=1, machines=more), time_limit=LONG).value
    assert value <= found.bound + price["price"]
