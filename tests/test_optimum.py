"""The front door: both sides, their levels, and what is left when it ends early."""

import math
import re
import threading
from dataclasses import replace
from itertools import count

import pytest
from independent.oasis import FILES, load, optimum, random_instance, schedule
from patience import LONG, until

from optsched import InputError, Optimum, Run, compare, simulate, solve
from optsched.core.optimum import settle
from optsched.engine.interval import Interval
from optsched.engine.progress import Progress
from optsched.families.oasis import FAMILY
from optsched.families.oasis.certificate.check import OasisCertificate
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.problem import RELAXATION, Implementation, Level, Status

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


def test_nothing_is_judged_twice(monkeypatch):
    inst, known, best = reference()
    here, proof, judged, checked = progress(inst), flat(inst), [], []

    def verify(inst, schedule):
        judged.append(schedule)
        return FAMILY.verify(inst, schedule)

    def check(inst, certificate):
        checked.append(certificate)
        return FAMILY.check(inst, certificate)

    monkeypatch.setattr(here, "family", replace(FAMILY, verify=verify, check=check))
    here.offer(best)
    assert here.value == pytest.approx(known["optimum"])
    bound = here.check(proof)
    here.tighten(bound, lambda: proof)
    assert settle(here, Level.CERTIFIED, "auto").certified_bound == bound
    assert (len(judged), len(checked)) == (1, 1)
    here.check(flat(inst))  # equal, but another one
    assert len(checked) == 2


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
        here.tighten(bound, lambda: flat(inst))
    assert here.bound == 300
    assert [p.bound for p in here.history] == [500, 300]
    assert here.gap() is None
    assert not here.stop()
    here.incumbent(known["optimum"], best)
    assert here.gap() == pytest.approx((300 - known["optimum"]) / known["optimum"])
    here.tighten(known["optimum"], lambda: flat(inst))
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
    here.tighten(900.0, lambda: flat(inst))
    here.claim(Implementation.OTHER, 800.0)
    assert seen == [(here.value, None), (here.value, 900), (here.value, 900)]


def test_the_gap_is_relative_to_the_value():
    inst = random_instance(0)

    def gap(value, bound, family=FAMILY):
        return Interval(family, inst, value, bound).gap

    assert gap(4.0, 5.0) == gap(4e-300, 5e-300) == 0.25
    assert gap(0.0, 0.0) == 0
    assert gap(0.0, 1e-300) == math.inf
    assert gap(None, 5.0) is None
    assert gap(4.0, None) is None
    own = replace(FAMILY, distance=lambda _i, _s, value, _c, bound: bound - value)
    assert gap(4.0, 5.0, own) == 1.0


def test_a_schedule_refutes_a_bound_or_takes_its_place():
    inst = random_instance(0)
    beaten = Interval(FAMILY, inst, 5.0, 4.0)
    assert beaten.refuted
    with pytest.raises(RuntimeError, match=r"fifo reaches 5.0, beyond the certified 4.0"):
        beaten.certified("fifo")
    rounded = Interval(FAMILY, inst, 5.0, 5.0 - 1e-9)
    assert not rounded.refuted
    assert rounded.certified() == 5.0
    assert beaten.at(6.0).certified() == 6.0
    assert not beaten.at(None).refuted
    assert rounded.is_improved_by(5.1, None)
    assert not rounded.is_improved_by(5.0, None)


# --- levels ---


HIGHS, CP_SAT = Implementation.HIGHS, Implementation.CP_SAT


def settled(inst, level, *, claims=(), proved=None, schedule=None):
    here = progress(inst)
    for solver, bound in claims:
        here.claim(solver, bound)
    if proved is not None:
        here.tighten(proved, lambda: flat(inst))
    if schedule is not None:
        here.incumbent(math.inf, schedule)
    return settle(here, Level(level), "auto")


def levels(inst, level, **known):
    found = settled(inst, level, **known)
    return found.bound, found.bound_level


def test_a_bound_is_as_good_as_what_supports_it():
    inst, _, _ = reference()
    one = [(HIGHS, 90.0), (HIGHS, 80.0)]  # a solver cannot confirm itself
    two = [*one, (CP_SAT, 80.0 + 1e-6)]
    assert levels(inst, Level.CLAIMED, claims=one) == (80, "claimed")
    assert levels(inst, Level.CERTIFIED, claims=one) == (80, "claimed")
    assert levels(inst, Level.CROSS_CHECKED, claims=two) == (80 + 1e-6, "cross-checked")
    assert levels(inst, Level.CLAIMED, claims=two)[1] == "claimed"
    assert levels(inst, Level.CROSS_CHECKED, claims=one, proved=85.0) == (80, "claimed")
    assert levels(inst, Level.CERTIFIED) == (None, None)
    # certified: what the certificate states when it is evaluated again, whatever was reported of it
    proved = FAMILY.check(inst, flat(inst))
    assert levels(inst, Level.CERTIFIED, proved=85.0) == (proved, "certified")


def test_agreement_is_relative():
    inst, _, _ = reference()
    apart = [(HIGHS, 2e-8), (CP_SAT, 8e-8)]
    assert levels(inst, Level.CERTIFIED, claims=apart) == (2e-8, "claimed")
    near = [(HIGHS, 2e-8), (CP_SAT, 2e-8 * (1 + 5e-7))]
    assert levels(inst, Level.CERTIFIED, claims=near)[1] == "cross-checked"


def test_a_claim_beyond_the_certified_bound_is_shown_beside_it():
    inst, known, best = reference()
    value, proved = known["optimum"], FAMILY.check(inst, flat(inst))
    assert proved > value * 1.001
    found = settled(inst, Level.CERTIFIED, claims=[(HIGHS, value)], proved=proved, schedule=best)
    assert (found.status, found.bound_level) == (Status.CLAIMED, Level.CLAIMED)
    assert found.bound == pytest.approx(value)
    assert found.certified_bound == proved
    assert found.certified_gap == pytest.approx(proved / value - 1)
    assert f"is optimal (claimed); the certified bound is {proved:.6g}, gap" in str(found)


def test_a_claim_that_a_schedule_refutes_does_not_count():
    inst, known, best = reference()
    value = known["optimum"]
    low, near = value * (1 - 1e-5), value * (1 - 1e-8)
    assert levels(inst, Level.CERTIFIED, claims=[(HIGHS, low)], schedule=best) == (None, None)
    found = settled(inst, Level.CERTIFIED, claims=[(HIGHS, near)], schedule=best)
    assert found.bound == found.value  # never beyond the value
    assert found.status is Status.CLAIMED


def test_a_schedule_beyond_a_certified_bound_is_an_error(monkeypatch):
    inst, _, best = reference()
    here = progress(inst)
    wrong = replace(FAMILY, check=lambda _inst, _certificate: 1.0)
    monkeypatch.setattr(here, "family", wrong)
    here.incumbent(math.inf, best)
    here.tighten(1.0, lambda: flat(inst))
    with pytest.raises(RuntimeError, match=r"beyond the certified 1\.0"):
        settle(here, Level.CERTIFIED, "auto")


def test_a_solve_starts_from_known_schedules():
    inst, known, best = reference()
    found = solve(inst, method="search", time_limit=0, start=[nothing(inst), best])
    assert found.value == pytest.approx(known["optimum"])
    assert found.schedule == best
    broken = schedule(known["mutants"]["rejected"][0]["schedule"])
    with pytest.raises(InputError, match=r"a schedule to start from breaks the model; rejected"):
        solve(inst, start=[broken])


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
    found = solve(inst, method=method, check=check, time_limit=LONG)
    assert found.bound_level == level
    assert found.value_level == "certified"
    assert found.bound == pytest.approx(known["optimum"])


# --- answers ---


def test_an_optimal_answer():
    inst, known, _ = reference()
    found = solve(inst, time_limit=LONG)
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
        assert ("a bound only" if method == RELAXATION else "(one may exist)") in str(found)
    else:
        assert FAMILY.verify(inst, found.schedule).value == found.value


class Impatient:
    """Presses Ctrl-C when it is requested to look for the nth time."""

    def __init__(self, most):
        self.most, self.asked = most, count()

    def __call__(self, _):
        if next(self.asked) == self.most:
            raise KeyboardInterrupt


@pytest.mark.parametrize("method", ["auto", "branch-and-price"])
@pytest.mark.parametrize("most", [0, 1, 2, 3, 5, 8])
def test_ctrl_c_leaves_the_best_so_far(method, most):
    inst, known, _ = reference(5)
    watch = Impatient(most)
    found = solve(inst, method=method, time_limit=LONG, watch=watch)
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
    found = solve(inst, method="search", time_limit=LONG, watch=Impatient(1))
    assert found.status is Status.FEASIBLE
    assert found.bound_level is Level.CERTIFIED  # the one that is at hand from the start
    assert found.bound > found.value
    nothing_known = found.model_copy(update={"bound": None, "gap": None})
    assert "found, no bound" in str(nothing_known)


@pytest.mark.parametrize("method", [m for m in FAMILY.methods if m != RELAXATION])
def test_history_gets_better_only(method):
    inst, _, _ = reference(5)
    some = until(lambda p: (p.value or 0) > 0) if method == "search" else None  # it never ends
    found = solve(inst, method=method, time_limit=LONG, watch=some)
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
    first, second = (solve(inst, method=method, seed=3, time_limit=LONG) for _ in range(2))
    assert first.value == second.value == pytest.approx(optimum(inst))
    assert first.bound == pytest.approx(second.bound, rel=1e-6)
    assert first.status is second.status
    assert first.status.closed


def test_a_wide_gap_is_enough_if_it_is_asked_for():
    inst, known, _ = reference(5)
    found = solve(inst, gap=0.5, time_limit=LONG)
    assert found.gap <= 0.5
    assert found.value <= known["optimum"] * (1 + 1e-9)
    assert found.bound >= known["optimum"] * (1 - 1e-9)


def test_json_there_and_back():
    inst, _, _ = reference()
    found = solve(inst, time_limit=LONG)
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
    inst, reference = load(FILES[1])
    found = solve(inst, method="compact", check="cross-checked", time_limit=LONG)
    assert found.bound_level is Level.CROSS_CHECKED
    assert found.status is Status.CLAIMED
    assert found.value == pytest.approx(reference["optimum"])
    assert solve(inst, method="compact", time_limit=LONG).bound_level is Level.CLAIMED


@pytest.mark.parametrize("method", ["auto", "compact"])
def test_cross_check_evaluates_the_certificate_that_there_is(method):
    """Without a job that can run, all is known at once, and no second solver has to run."""
    content = random_instance(0).model_dump()
    content["jobs"] = [job | {"epochs": 1000} for job in content["jobs"]]
    found = solve(OasisInstance.model_validate(content), method=method, check="cross-checked")
    assert (found.value, found.bound) == (0, 0)
    assert (found.status, found.bound_level) == (Status.OPTIMAL, Level.CERTIFIED)


def test_display_ends_with_what_was_found(capsys):
    inst, _, _ = reference()
    assert "optimal" in str(found := solve(inst, display=True))
    said = capsys.readouterr()
    assert said.err.splitlines()[-1] == str(found)
    assert not said.out
    compare(inst, ["fifo"], display=True, work_limit=0)
    assert capsys.readouterr().err.startswith("oasis: ")
    solve(inst)
    assert not capsys.readouterr().err


def test_display_shows_both_sides_next_to_a_further_observer(monkeypatch):
    shown, seen, lines = [], threading.Event(), []

    def note(_, line):
        lines.append(line)
        if "gap" in line:
            seen.set()

    def wait(progress):
        shown.append(progress.bound)
        seen.wait(LONG)

    monkeypatch.setattr("optsched.core.display.PATIENCE", 0.0)
    monkeypatch.setattr("optsched.core.display.PERIOD", 0.01)
    monkeypatch.setattr("optsched.core.display.Ticker.print", note)
    solve(reference()[0], display=True, watch=wait)
    assert shown
    assert seen.is_set()
    assert any(re.match(r"solving oasis: incumbent .*, bound .*, gap ", line) for line in lines)
