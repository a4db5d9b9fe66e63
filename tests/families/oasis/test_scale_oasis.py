"""No unit matters: utilities, capacities with demands, and times may be in any."""

import json

import pytest
from independent.oasis import optimum, random_instance

from optsched import solve
from optsched.families.oasis import FAMILY
from optsched.families.oasis.certificate.check import check
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.build_certificate import certify_capacity
from optsched.families.oasis.optimum.initial_bounds import opening
from optsched.families.oasis.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.relaxation import compact_prices
from optsched.problem import Level, Status
from optsched.scheduling.units import InUnits, times_two_to

METHODS = {"auto": Level.CERTIFIED, "compact": Level.CLAIMED, "cpsat": Level.CLAIMED}
SEEDS = (2, 6)  # packing matters: at prices 0 the bound is far from the optimum
FACTORS = (1e-300, 1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12, 1e290)


def utilities(inst: OasisInstance, factor: float) -> OasisInstance:
    data = json.loads(inst.model_dump_json())
    for job in data["jobs"]:
        utility = job["utility"]
        for name in {"scale", "value"} & utility.keys():
            utility[name] *= factor
        if "values" in utility:
            utility["values"] = [x * factor for x in utility["values"]]
    return OasisInstance.model_validate(data)


def sizes(inst: OasisInstance, factor: float) -> OasisInstance:
    data = json.loads(inst.model_dump_json())
    for job in data["jobs"]:
        for name in ("worker_demand", "ps_demand"):
            job[name] = [round(x * factor, 9) for x in job[name]]
    for machine in [*data["worker_machines"], *data["ps_machines"]]:
        machine["capacity"] = [round(x * factor, 9) for x in machine["capacity"]]
    return OasisInstance.model_validate(data)


def times(inst: OasisInstance, factor: float) -> OasisInstance:
    """Measure seconds in another unit, and bandwidth in its own."""
    data = json.loads(inst.model_dump_json()) | {"slot_seconds": inst.slot_seconds * factor}
    for job in data["jobs"]:
        for name in ("worker_bandwidth", "ps_bandwidth"):
            job[name] /= factor
    return OasisInstance.model_validate(data)


def assert_solved(inst: OasisInstance, method: str, best: float) -> None:
    found = solve(inst, method=method, time_limit=20)
    assert found.status.closed
    assert found.bound_level is METHODS[method]
    assert found.value == pytest.approx(best, rel=1e-9)
    assert found.value <= found.bound <= found.value * (1 + 1e-6)
    assert found.certified_bound >= found.value


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("factor", FACTORS)
def test_utilities_in_any_unit(method, factor):
    for seed in SEEDS:
        inst = random_instance(seed)
        assert_solved(utilities(inst, factor), method, optimum(inst) * factor)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e4, 1e7])
def test_capacities_and_demands_in_any_unit(method, factor):
    for seed in SEEDS:
        inst = random_instance(seed)
        assert_solved(sizes(inst, factor), method, optimum(inst))


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**40])
def test_times_in_any_unit(factor):
    inst = random_instance(6)
    assert_solved(times(inst, factor), "auto", optimum(inst))


def test_one_resource_much_finer_than_the_other():
    """Prices of units differ by more than 62 bits: both keep all of their digits."""
    inst = next(i for i in map(random_instance, range(20)) if len(i.resources) == 2)
    data = json.loads(inst.model_dump_json())
    for job in data["jobs"]:
        for name in ("worker_demand", "ps_demand"):
            if job[name][0]:
                job[name][0] = round(job[name][0] * 2e5 + 1e-9, 9)
    for machine in [*data["worker_machines"], *data["ps_machines"]]:
        machine["capacity"][0] = round(machine["capacity"][0] * 2e5 + 1e-6, 9)
    fine = OasisInstance.model_validate(data)
    bounds = []
    for one in (inst, fine):
        problem = CapacityRelaxation(one)
        bounds.append(check(one, certify_capacity(problem, compact_prices(problem))))
    assert bounds[1] == pytest.approx(bounds[0], rel=1e-4)
    rough, found = (solve(one, time_limit=20) for one in (inst, fine))
    assert found.value == pytest.approx(rough.value, rel=1e-9)


def test_the_first_bound_is_what_its_certificate_proves():
    for seed in range(40):
        inst = random_instance(seed)
        bound, certificate = opening(inst)
        assert optimum(inst) <= bound
        assert check(inst, certificate()) == bound
        for factor in (1e-300, 1e290):
            other, proof = opening(utilities(inst, factor))
            assert other == pytest.approx(bound * factor, rel=1e-9)
            assert check(utilities(inst, factor), proof()) == other


def test_a_bound_and_a_schedule_are_there_without_any_time():
    inst = FAMILY.generate("small", seed=1)
    found = solve(inst, time_limit=0)
    assert found.status is Status.FEASIBLE
    assert found.value >= 0
    assert found.certified_bound >= 126.678  # the optimum


def test_a_monitor_in_other_units_translates_both_ways():
    class Reports:
        value, bound, reports = 24.0, None, []

        def incumbent(self, value, schedule):
            self.reports.append((value, schedule))

        def tighten(self, bound, make):
            self.reports.append((bound, make()))

        def left(self):
            return 5.0

    progress = Reports()
    there = InUnits(progress, "twin", 3, lambda certificate: certificate + " of the instance")
    assert (there.value, there.bound, there.instance, there.left()) == (3.0, None, "twin", 5.0)
    there.incumbent(4.0, "schedule")
    there.tighten(5.0, lambda: "certificate")
    assert progress.reports == [(32.0, "schedule"), (40.0, "certificate of the instance")]
    assert times_two_to(1.0, 5000) == float("inf")
