"""What a family may declare next to the usual: references, a measure, a recorder, absolute gaps."""

import math
from dataclasses import fields, replace
from pathlib import Path

import pytest
from independent.oasis import FILES, load
from typer.testing import CliRunner

from optsched import problem
from optsched.cli.app import app
from optsched.cli.console import out, show_ratios
from optsched.core import compare, open_input, simulate, solve
from optsched.families.oasis import FAMILY
from optsched.problem import Family, InputError, Window
from optsched.results.result import recheck, save_result


@pytest.fixture
def install(monkeypatch):
    """Put a changed family instead of `oasis`."""

    def put(**changes):
        family = replace(FAMILY, **changes)
        monkeypatch.setattr(problem, "load_family", lambda _name: family)
        return family

    return put


@pytest.fixture
def small():
    return load(FILES[0])[0]


def test_a_family_may_use_the_old_name_of_its_parameter_space():
    given = {f.name: getattr(FAMILY, f.name) for f in fields(FAMILY)}
    space = given.pop("parameter_space")
    with pytest.warns(
        DeprecationWarning, match=r"Family\(box=\) is deprecated, use parameter_spac"
    ):
        family = Family(**given, box=space)
    assert family.parameter_space is space


class Preempting:
    """Judges every run by rules of its own, which allow twice the value."""

    def __init__(self, instance, policy):
        self.instance, self.policy, self.played = instance, policy, []

    def take(self, event, decision):
        self.played.append((event, decision))

    def finish(self):
        schedule = FAMILY.assemble(self.instance, self.played)
        verdict = FAMILY.verify(self.instance, schedule, unfinished=True)
        changes = {"value": 100 + 2 * verdict.value, "obeys": False}
        return schedule, verdict.model_copy(update=changes)


def test_regret_to_further_references(install, small, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    install(references={"compact program": "compact"})
    report = compare(small, ["fifo"], time_limit=120)
    best = report.references["compact program"]
    row = report.policies[0]
    assert best.value == pytest.approx(report.optimum.value)
    assert row.regret["compact program"].low == pytest.approx(best.value - row.value)
    assert row.regret["optimum"].high == pytest.approx(report.optimum.bound - row.value)
    assert list(report.summary()["references"]) == ["compact program"]
    show_ratios(out(), report)
    assert "regret to compact program" in capsys.readouterr().out
    path = tmp_path / "result.json"
    save_result(path, small, report.optimum, report.runs, report.references)
    assert len(recheck(path)) == 3  # the optimum, the reference, the run


def test_measure_takes_the_place_of_the_quotient(install, small):
    install(measure=lambda _instance, earned, best: math.exp(best - earned))
    report = compare(small, ["fifo"], time_limit=120)
    row = report.policies[0]
    assert row.ratio.low == pytest.approx(math.exp(report.optimum.value - row.value))


def test_policy_that_leaves_the_model_is_marked_and_beats_no_bound(install, small, capsys):
    install(recorder=Preempting)
    run = simulate(small, "fifo")
    assert not run.obeys
    report = compare(small, ["fifo"], time_limit=120)
    row = report.policies[0]
    assert row.value > report.optimum.bound
    assert row.ratio.low < 1
    assert report.improved_by is None
    show_ratios(out(), report)
    assert "fifo *" in capsys.readouterr().out


def test_a_family_says_how_far_the_two_sides_are_apart(install, small):
    install(distance=lambda _instance, _schedule, value, _certificate, bound: bound - value + 0.5)
    found = solve(small, method="search", work_limit=50)
    assert found.gap == found.certified_gap == found.bound - found.value + 0.5
    assert found.status == "feasible"


def test_options_that_mean_nothing_are_refused():
    with pytest.raises(
        InputError, match=r"option --load is not supported by family mine, expected.*--slot-length"
    ):
        Window(load=2.0).settle("mine", slot="1h")
    found = CliRunner().invoke(app, ["show", str(FILES[0]), "--load", "2"])
    assert "expected no options of a trace" in str(found.exception)
    found = CliRunner().invoke(app, ["generate", "oasis", "--nodes", "3", "-o", "x.json"])
    assert isinstance(found.exception, InputError)
    assert "option --nodes is not supported by family oasis" in str(found.exception)


def test_a_family_without_a_sample_says_so(install):
    install(samples={})
    with pytest.raises(InputError, match="sample: family oasis has none, expected a file"):
        open_input(Path("sample"), "oasis", Window())
