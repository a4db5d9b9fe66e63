"""A certificate that fails does not lose the search: the next best bound counts, with a report."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from independent.oasis import random_instance
from patience import LONG
from typer.testing import CliRunner

from optsched import problem, save_instance
from optsched.cli.app import app
from optsched.core import solve
from optsched.engine.progress import Progress
from optsched.experiments.campaign import campaign
from optsched.families.oasis import FAMILY
from optsched.families.oasis.optimum.priced_search import Portfolio
from optsched.problem import Level
from optsched.results.result import recheck, save_result


def overflows():
    raise OverflowError("too large for a float")


def of_another_instance(inst):
    return FAMILY.opening(inst)[1]().model_copy(update={"instance_sha256": "0" * 64})


def rough(inst, progress, *, threads, seed):
    """Search for a blink, and bound by prices on capacity."""
    search = Portfolio(inst, progress, threads, seed)
    search.improve(search.short)
    search.compact_bound()


@pytest.fixture
def inst():
    return random_instance(6)


@pytest.fixture
def install(monkeypatch):
    """Give the family further methods."""

    def put(**methods):
        family = replace(FAMILY, methods=dict(FAMILY.methods) | methods)
        monkeypatch.setattr(problem, "load_family", lambda _name: family)

    return put


def weak(inst):
    return FAMILY.opening(inst)[1]()


MAKERS = {
    "OverflowError: too large": lambda _inst: overflows,
    "belongs to instance 000": lambda inst: partial(of_another_instance, inst),
    "another bound is better": lambda inst: partial(weak, inst),
}


@pytest.fixture(params=MAKERS)
def broken(request, inst, install):
    """Give the family two methods that also report a bound whose certificate fails."""
    maker = MAKERS[request.param](inst)

    def method(inst, progress, **options):
        rough(inst, progress, **options)
        progress.tighten(progress.value, maker)

    def confirmed(inst, progress, **options):
        method(inst, progress, **options)
        progress.confirm()
        assert progress.bound > progress.value

    install(broken=method, confirmed=confirmed)
    return request.param


@pytest.fixture
def sound(inst, install):
    install(rough=rough)
    found = solve(inst, method="rough", time_limit=LONG)
    assert found.bound > found.value * 1.001  # what is broken may claim more
    return found


@pytest.mark.parametrize("method", ["broken", "confirmed"])
def test_the_next_best_bound_takes_its_place(inst, sound, broken, method):
    found = solve(inst, method=method, time_limit=LONG)
    assert (found.value, found.bound) == (sound.value, sound.bound)
    assert (found.bound_level, found.status) == (Level.CERTIFIED, sound.status)
    (defect,) = found.defects
    assert broken in defect
    assert f"certificate of the bound {found.value:.9g} failed" in defect
    assert f"defect, please report: {defect}" in str(found)
    assert all(p.bound is None or p.bound >= found.bound for p in found.history)


def test_a_bound_that_was_checked_is_kept_where_a_later_claim_proves_less(inst, sound):
    certificates = [sound.certificate, weak(inst)]
    progress = Progress(FAMILY, inst, gap=0.0)

    def report(bound):
        progress.tighten(bound, lambda: certificates[0])

    report(sound.bound)
    progress.confirm()
    del certificates[0]
    report(sound.value)
    assert progress.proof(check=True) == (sound.certificate, sound.certified_bound)


def test_files_and_commands_say_so(inst, broken, tmp_path):
    found = solve(inst, method="broken", time_limit=LONG)
    save_result(tmp_path / "r.json", inst, found)
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["optimum"]["defects"] == list(found.defects)
    assert all(part.accepted for part in recheck(tmp_path / "r.json"))
    save_instance(inst, tmp_path / "i.json")
    call = ["solve", str(tmp_path / "i.json"), "--method", "broken"]
    assert broken in CliRunner().invoke(app, call).output
    said = json.loads(CliRunner().invoke(app, [*call, "--json"]).stdout)
    assert broken in said["reference"]["defects"][0]


def test_a_search_without_defects_says_nothing(sound):
    assert sound.defects == ()
    assert "defect" not in str(sound)


def test_campaigns_say_so(inst, broken, tmp_path):
    save_instance(inst, tmp_path / "i.json")
    plan = {
        "instances": [{"family": "oasis", "files": str(tmp_path / "*.json")}],
        "policies": [{"name": "fifo"}],
        "reference": {"method": "broken", "time_limit": LONG},
    }
    made = campaign(plan, tmp_path / "store.sqlite", executor=ThreadPoolExecutor(1))
    (said,) = made.status().messages
    assert said.startswith("defect, please report: the certificate")
    assert broken in said
