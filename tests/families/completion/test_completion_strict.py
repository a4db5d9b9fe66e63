"""Strict judging, and numbers that do not depend on units: `solve` on small instances."""

import json
from functools import cache
from itertools import pairwise

import pytest
from independent.completion import exclusive, least, optimum, tiny

from optsched.core import simulate, solve
from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.certificate.check import check
from optsched.families.completion.instance import CompletionInstance, CompletionSchedule, Piece
from optsched.families.completion.optimum.horizon import greedy
from optsched.families.completion.optimum.initial_bounds import one_by_one, opening
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.families.completion.optimum.relaxations.priced_search import Portfolio
from optsched.families.completion.optimum.scaling import power_of, scaled, unscaled
from optsched.families.completion.optimum.search.neighborhood import cost, plans_of, schedule_of
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.verify import verify
from optsched.policies.loader import get_policy
from optsched.problem import Level, Status
from optsched.results.result import recheck, save_result


def piece(start, duration):
    return Piece(
        start=start, duration=duration, worker_type=0, ps_type=None, workers=((0, 1),), ps=()
    )


def test_the_strict_judge_refuses_to_interrupt_a_job():
    inst = exclusive([(0, 1.0, 10), (1, 10.0, 2)])
    split = CompletionSchedule(jobs=((piece(0, 1), piece(3, 9)), (piece(1, 2),)))
    assert least(inst) == 43
    as_run = verify(inst, split, unfinished=True)
    assert (as_run.value, as_run.obeys) == (42, False)
    strict = verify(inst, split)
    assert strict.value is None
    assert str(strict.violations[0]).startswith("(2a) broken by 1 at job 0, runs in 2 pieces")


def test_the_strict_judge_refuses_to_end_after_an_enforced_horizon():
    inst = exclusive([(0, 1.0, 10), (1, 10.0, 2)], horizon=11, deadline=True)
    late = CompletionSchedule(jobs=((piece(3, 10),), (piece(1, 2),)))
    assert verify(inst, late, unfinished=True).value == 43
    assert verify(inst, late).value is None
    free = exclusive([(0, 1.0, 10), (1, 10.0, 2)], horizon=11)
    assert verify(free, late).value == 43


@pytest.mark.parametrize("architecture", ["ps", "ring"])
@pytest.mark.parametrize("policy", ["a_online", "a_online-density", "fifo", "drf"])
def test_what_policies_do_that_keep_to_the_model_passes_the_strict_judge(architecture, policy):
    """So nothing need be trimmed from their schedules before a search starts from them."""
    for seed in range(2):
        inst = generate("mid", seed=seed, jobs=6, architecture=architecture)
        run = simulate(inst, get_policy(FAMILY, policy))
        assert run.obeys
        assert verify(inst, run.schedule).value == pytest.approx(run.value)
    assert FAMILY.trim is None


@pytest.mark.parametrize("method", ["auto", "colgen"])
def test_no_schedule_is_proved_not_said(method, tmp_path):
    inst = exclusive([(0, 1.0, 10), (1, 10.0, 2)], horizon=11, deadline=True)
    found = solve(inst, method=method, time_limit=20)
    assert (found.status, found.bound_level) == (Status.INFEASIBLE, Level.CERTIFIED)
    path = tmp_path / "result.json"
    save_result(path, inst, found)
    (said,) = recheck(path)
    assert said.accepted
    assert "no schedule exists (certified)" in str(said)
    content = json.loads(path.read_text())
    content["optimum"]["certificate"] = None
    path.write_text(json.dumps(content))
    assert not recheck(path)[0].accepted


def test_every_tiny_instance_without_a_schedule_is_proved_to_have_none():
    proved = 0
    for seed in range(80):
        inst = tiny(seed)
        if optimum(inst) is None:
            found = solve(inst, time_limit=20)
            assert found.status is Status.INFEASIBLE, seed
            assert found.bound_level is Level.CERTIFIED, seed
            proved += 1
    assert proved >= 5


def with_unit(inst, unit, of="weight"):
    """Return the instance in another unit of what is lost, or of what is sent."""
    raw = inst.model_dump(mode="json")
    if of == "weight":
        for job in raw["jobs"]:
            job["weight"] = float(f"{job['weight'] * unit:.12g}")
    if of in ("gradient", "slot"):
        for job in raw["jobs"]:
            job["gradient_mb"] *= unit
    if of == "gradient":
        for kind in (*raw["worker_types"], *raw["ps_types"]):
            kind["bandwidth"] *= unit
    if of == "slot":
        raw["slot_seconds"] *= unit
    if of == "capacity":
        for kind in (*raw["worker_types"], *raw["ps_types"]):
            kind["demand"] = [x * unit for x in kind["demand"]]
        for server in raw["servers"]:
            server["capacity"] = [x * unit for x in server["capacity"]]
    return CompletionInstance.model_validate(raw)


@cache
def first_found(seed):
    return solve(tiny(seed), time_limit=20)


@pytest.mark.parametrize("of", ["weight", "gradient", "slot"])
@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e-3, 1e3, 1e9, 1e12])
def test_no_unit_changes_what_is_found(of, unit):
    for seed in (4, 5):
        inst = tiny(seed)
        best = optimum(inst)
        assert best is not None
        first = first_found(seed)
        other = solve(with_unit(inst, unit, of), time_limit=20)
        factor = unit if of == "weight" else 1.0
        assert (other.status, other.bound_level) == (first.status, first.bound_level)
        assert first.value == best
        assert other.value == pytest.approx(best * factor, rel=1e-12)
        assert other.certified_bound == pytest.approx(first.certified_bound * factor, rel=1e-9)
        assert first.gap == 0
        assert other.gap == pytest.approx(0, abs=1e-12)
        assert other.schedule == first.schedule


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3, 1e6])
def test_no_unit_of_capacity_changes_what_is_found(unit):
    """Amounts have nine decimals and stay below 1e9."""
    inst = tiny(4)
    other = solve(with_unit(inst, unit, "capacity"), time_limit=20)
    assert (other.status, other.value) == (Status.OPTIMAL, optimum(inst))


@pytest.mark.parametrize("method", ["compact", "cpsat"])
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_no_unit_changes_what_a_method_claims(method, unit):
    inst = with_unit(tiny(5), unit)
    found = solve(inst, method=method, time_limit=20)
    assert found.value == pytest.approx(optimum(tiny(5)) * unit, rel=1e-12)
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("weight", "power"),
    [(1.0, 3), (9999.0, 0), (1000.0, 0), (999.9, 1), (10_000.0, -1), (3e-9, 12), (1e100, -97)],
)
def test_the_greatest_weight_gets_four_digits(weight, power):
    inst = exclusive([(0, weight, 1), (0, weight / 7, 1)])
    assert power_of(inst) == power
    assert 1000 <= scaled(inst, power).jobs[0].weight < 10_000


def test_certificates_go_back_to_the_unit_of_the_file():
    inst = generate("mid", seed=1, jobs=5)
    other = with_unit(inst, 1e-12)
    power = power_of(other)
    big = scaled(other, power)
    found = solve(big, method="colgen", time_limit=5)
    back = unscaled(other, found.certificate, power)
    assert check(other, back) == pytest.approx(
        check(big, found.certificate) * 10.0**-power, rel=1e-7
    )


@pytest.mark.parametrize("preset", ["small", "mid", "paper"])
@pytest.mark.parametrize("architecture", ["ps", "ring"])
def test_what_is_known_in_a_blink_is_true(preset, architecture):
    inst = generate(preset, seed=3, architecture=architecture, jobs=6)
    bound, certificate = opening(inst)
    assert 0 < bound <= check(inst, certificate())
    quick = one_by_one(inst)
    verdict = verify(inst, quick)
    assert verdict.value is not None
    assert verdict.value >= bound
    pieces = sorted((p for (p,) in quick.jobs), key=lambda p: p.start)
    assert all(a.end <= b.start for a, b in pairwise(pieces))


def test_what_is_known_in_a_blink_of_tiny_instances_is_true():
    schedules = 0
    for seed in range(100):
        inst, best = tiny(seed), optimum(tiny(seed))
        bound, certificate = opening(inst)
        assert check(inst, certificate()) >= bound
        assert best is None or bound <= best
        quick = one_by_one(inst)
        if quick is not None:
            schedules += 1
            assert verify(inst, quick).value is not None, seed
            assert best is not None
    assert schedules > 20


@pytest.mark.parametrize("method", ["auto", "compact", "cpsat", "colgen", "search"])
def test_without_time_there_are_a_schedule_and_a_bound(method):
    inst = generate("mid", seed=1)
    found = solve(inst, method=method, time_limit=0)
    assert found.value == verify(inst, one_by_one(inst)).value
    assert 0 < found.certified_bound < found.value


@pytest.mark.slow
def test_the_search_starts_from_a_schedule_that_is_known():
    inst = generate("mid", seed=2)
    best = solve(inst, method="search", time_limit=1)
    monitor = Progress(FAMILY, inst, time_limit=10, gap=0.0)
    monitor.incumbent(best.value, best.schedule)
    search = Portfolio(inst, monitor, 1, 0)
    assert search.begin()
    assert cost(search.jobs, search.plans) == best.value
    jobs = JobTables(inst)
    assert best.value < cost(jobs, greedy(jobs, None).plans)
    assert schedule_of(search.plans) == best.schedule


@pytest.mark.parametrize("policy", ["fifo", "a_online-density", "drf"])
def test_schedules_of_policies_are_read_back_as_they_are(policy):
    for seed in range(3):
        for architecture in ("ps", "ring"):
            inst = generate("mid", seed=seed, jobs=6, architecture=architecture)
            run = simulate(inst, get_policy(FAMILY, policy))
            plans = plans_of(JobTables(inst), run.schedule)
            assert schedule_of(plans) == run.schedule


def test_what_prices_of_classes_do_not_see_is_certified():
    """One server of each class would close this by prices; equal ones are the harder to see."""
    inst = CompletionInstance.model_validate(
        exclusive([(0, 5.0, 2), (0, 5.0, 2), (0, 5.0, 2)]).model_dump(mode="json")
        | {
            "servers": [{"count": 2, "capacity": [3.0]}],
            "worker_types": [{"demand": [2.0], "bandwidth": 10.0}],
        }
    )
    found = solve(inst, time_limit=20)
    assert (found.value, found.status) == (40, Status.OPTIMAL)
    assert found.certified_bound == 40
    assert found.certificate.program is not None


@pytest.mark.parametrize("method", ["auto", "compact", "cpsat", "search"])
def test_what_does_not_fit_into_memory_is_left_at_what_is_known_in_a_blink(method):
    inst = exclusive([(0, 1.0, 2**35), (5, 2.0, 10)], horizon=2**40)
    found = solve(inst, method=method, time_limit=10)
    long = inst.duration(inst.jobs[0], 0, 0, True, 1)
    assert found.value == long + 2 * (long + 10)
    assert found.certified_bound == long + 2 * 15
