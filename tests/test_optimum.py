"""The front door: both sides, their levels, and what is left when it ends early."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from oasis_brute import optimum, random_instance
from oasis_reference import FILES, load, schedule

from optsched import InputError, Optimum, Run, simulate, solve
from optsched.families.oasis import FAMILY
from optsched.families.oasis.certificate import OasisCertificate
from optsched.families.oasis.instance import OasisSchedule
from optsched.optimum import _checked_bound
from optsched.problem import Level, Status
from optsched.progress import Progress

CLOSING = ("auto", "branch-and-price", "compact", "cpsat")  # stop by closing the gap


def reference(k=1):
    inst, known = load(FILES[k])
    return inst, known, schedule(known["optimum_schedule"])


def progress(inst, **limits):
    return Progress(FAMILY, inst, **{"time_limit": 60.0, "gap": 1e-6} | limits)


def nothing(inst):
    return OasisSchedule(jobs=(None,) * len(inst.jobs))


def flat(inst):
    """Return a certificate whose prices are all 0."""
    return OasisCertificate.root(inst, None, 20)


# --- progress ---


def test_an_incumbent_counts_only_if_the_judge_accepts_it():
    inst, known, _ = reference()
    broken = schedule(known["mutants"]["rejected"][0]["schedule"])
    here = progress(inst)
    with pytest.raises(
        RuntimeError, match=r"a method brought a schedule that breaks the model: rej"
    ):
        here.incumbent(1e9, broken)
    assert here.value is None
    assert here.history == []


def test_the_judge_decides_what_an_incumbent_is_worth():
    inst, known, best = reference()
    here = progress(inst)
    here.incumbent(1e9, nothing(inst))
    assert here.value == 0
    here.incumbent(known["optimum"], best)
    assert here.value == pytest.approx(known["optimum"])
    here.incumbent(known["optimum"] - 1, nothing(inst))  # worse: not even looked at
    assert here.schedule == best
    assert [p.value for p in here.history] == [0, here.value]


def test_the_best_bound_is_kept():
    inst, known, best = reference()
    here = progress(inst)
    for bound in (500.0, 300.0, 400.0):
        here.proved(bound, lambda: flat(inst))
    assert here.bound == 300
    assert [p.bound for p in here.history] == [500, 300]
    assert here.gap() is None
    assert not here.stop()
    here.incumbent(known["optimum"], best)
    assert here.gap() == pytest.approx((300 - known["optimum"]) / known["optimum"])
    here.proved(known["optimum"], lambda: flat(inst))
    assert here.closed()
    assert here.stop()


def test_the_time_limit_stops():
    assert progress(random_instance(0), time_limit=0.0).stop()
    assert not progress(random_instance(0), time_limit=60.0).stop()


def test_whoever_watches_sees_every_change():
    inst, known, best = reference()
    seen = []
    here = progress(inst, watch=lambda p: seen.append((p.value, p.bound)))
    here.incumbent(known["optimum"], best)
    here.proved(900.0, lambda: flat(inst))
    here.claim("somebody", 800.0)
    assert seen == [(here.value, None), (here.value, 900), (here.value, 900)]


def test_the_gap_is_relative_to_the_value():
    family = FAMILY
    assert family.gap(4.0, 5.0) == 0.25
    assert family.gap(0.0, 0.0) == 0
    assert family.gap(None, 5.0) is None
    assert family.gap(4.0, None) is None
    assert replace(family, absolute_gap=True).gap(4.0, 5.0) == 1.0


# --- levels ---


def levels(inst, level, *, claims, proved):
    here = progress(inst)
    for solver, bound in claims:
        here.claim(solver, bound)
    if proved is not None:
        here.proved(proved, lambda: flat(inst))
    bound, reached, _ = _checked_bound(here, level)
    return bound, reached


def test_a_bound_is_as_good_as_what_supports_it():
    inst, _, _ = reference()
    one = [("highs", 90.0), ("highs", 80.0)]  # a solver cannot confirm itself
    two = [*one, ("cp-sat", 80.0 + 1e-6)]
    assert levels(inst, Level.CLAIMED, claims=one, proved=None) == (80, "claimed")
    assert levels(inst, Level.CERTIFIED, claims=one, proved=None) == (80, "claimed")
    assert levels(inst, Level.CROSS_CHECKED, claims=two, proved=None) == (
        80 + 1e-6,
        "cross-checked",
    )
    assert levels(inst, Level.CLAIMED, claims=two, proved=None)[1] == "claimed"
    assert levels(inst, Level.CROSS_CHECKED, claims=one, proved=85.0) == (80, "claimed")
    assert levels(inst, Level.CERTIFIED, claims=[], proved=None) == (None, None)
    # certified: what the certificate says when it is evaluated again, whatever was said of it
    bound, level = levels(inst, Level.CERTIFIED, claims=two, proved=85.0)
    assert (bound, level) == (FAMILY.check(inst, flat(inst)), "certified")


@pytest.mark.parametrize(
    ("method", "check", "level"),
    [
        ("auto", "certified", "certified"),
        ("auto", Level.CLAIMED, "claimed"),
        ("compact", "claimed", "claimed"),
        ("compact", "certified", "claimed"),  # a solver has no certificate
        ("cpsat", "certified", "claimed"),
    ],
)
def test_levels_of_an_answer(method, check, level):
    inst, known, _ = reference()
    found = solve(inst, method=method, check=check, time_limit=60)
    assert found.bound_level == level
    assert found.value_level == "certified"
    assert found.bound == pytest.approx(known["optimum"])


# --- answers ---


def test_an_optimal_answer():
    inst, known, _ = reference()
    found = solve(inst, time_limit=60)
    assert found.status is Status.OPTIMAL
    assert (found.family, found.sense, found.method) == ("oasis", "max", "auto")
    assert found.instance_sha256 == inst.digest()
    assert found.value == pytest.approx(known["optimum"])
    assert found.gap <= 1e-6
    assert FAMILY.check(inst, found.certificate) == found.bound
    assert str(found).startswith("oasis: 89.0558 is optimal (certified), after ")


@pytest.mark.parametrize("method", FAMILY.methods)
def test_no_time_leaves_a_valid_answer(method):
    inst, known, _ = reference()
    found = solve(inst, method=method, time_limit=0)
    assert found.bound is None or found.bound >= known["optimum"] * (1 - 1e-9)
    if found.value is None:
        assert found.status is Status.NO_SCHEDULE
        assert found.value_level is None
        assert "no schedule found" in str(found)
    else:
        assert FAMILY.verify(inst, found.schedule).value == found.value


class Impatient:
    """Presses Ctrl-C when it is asked to look for the nth time."""

    def __init__(self, most):
        self.most, self.asked = most, count()

    def __call__(self, _):
        if next(self.asked) == self.most:
            raise KeyboardInterrupt


@pytest.mark.parametrize("method", ["auto", "branch-and-price", "colgen"])
@pytest.mark.parametrize("most", [0, 1, 2, 3, 5, 8])
def test_ctrl_c_leaves_the_best_so_far(method, most):
    inst, known, _ = reference(5)
    watch = Impatient(most)
    found = solve(inst, method=method, time_limit=60, watch=watch)
    assert found.value is not None
    assert found.value == max(p.value for p in found.history if p.value is not None)
    assert FAMILY.verify(inst, found.schedule).value == found.value
    assert found.value <= known["optimum"] * (1 + 1e-9)
    if found.bound is not None:
        assert found.bound >= known["optimum"] * (1 - 1e-12)
        assert found.bound_level == "certified"
        assert FAMILY.check(inst, found.certificate) == found.bound


def test_ctrl_c_stops_a_search_that_never_ends():
    inst, _, _ = reference()
    found = solve(inst, method="search", time_limit=3600, watch=Impatient(1))
    assert found.status is Status.FEASIBLE
    assert (found.bound, found.bound_level, found.gap) == (None, None, None)
    assert "found, no bound" in str(found)


@pytest.mark.parametrize("method", FAMILY.methods)
def test_history_gets_better_only(method):
    inst, _, _ = reference(5)
    found = solve(inst, method=method, time_limit=60 if method != "search" else 0.3)
    assert found.history
    values = [p.value for p in found.history if p.value is not None]
    bounds = [p.bound for p in found.history if p.bound is not None]
    assert values == sorted(values)
    assert bounds == sorted(bounds, reverse=True)
    assert values[-1] == found.value
    seconds = [p.seconds for p in found.history]
    assert seconds == sorted(seconds)
    assert seconds[-1] <= found.seconds


@pytest.mark.parametrize("method", CLOSING)
def test_the_same_seed_finds_the_same(method):
    inst = random_instance(4)
    first, second = (solve(inst, method=method, seed=3, time_limit=60) for _ in range(2))
    assert first.value == second.value == pytest.approx(optimum(inst))
    assert first.bound == pytest.approx(second.bound, rel=1e-6)
    assert first.status is second.status is Status.OPTIMAL


def test_a_wide_gap_is_enough_if_it_is_asked_for():
    inst, known, _ = reference(5)
    found = solve(inst, gap=0.5, time_limit=60)
    assert found.gap <= 0.5
    assert found.value <= known["optimum"] * (1 + 1e-9)
    assert found.bound >= known["optimum"] * (1 - 1e-9)


def test_json_there_and_back():
    inst, _, _ = reference()
    found = solve(inst, time_limit=60)
    again = Optimum.model_validate_json(found.model_dump_json())
    assert again == found
    assert isinstance(again.schedule, OasisSchedule)
    assert FAMILY.check(inst, again.certificate) == found.bound
    empty = solve(inst, method="cpsat", time_limit=0)
    assert Optimum.model_validate_json(empty.model_dump_json()) == empty
    for policy in FAMILY.policies:
        run = simulate(inst, policy)
        assert Run.model_validate_json(run.model_dump_json()) == run, policy


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "unknown method 'magic', expected one of: auto, compact, cpsat"),
        (
            {"check": "sworn"},
            "unknown level 'sworn', expected one of: claimed, cross-checked, cert",
        ),
        ({"time_limit": -1}, "time_limit -1, gap 1e-06, threads 1: expected limits >= 0"),
        ({"gap": float("nan")}, "gap nan, threads 1: expected limits >= 0"),
        ({"threads": 0}, "threads 0: expected limits >= 0 and at least one thread"),
    ],
)
def test_wrong_questions_are_named(options, message):
    with pytest.raises(InputError, match=message):
        solve(random_instance(0), **options)


def test_cross_check_runs_a_second_solver():
    inst, reference = load(FILES[0])
    found = solve(inst, method="compact", check="cross-checked", time_limit=30)
    assert found.bound_level is Level.CROSS_CHECKED
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(reference["optimum"])
    assert solve(inst, method="compact", time_limit=30).bound_level is Level.CLAIMED
