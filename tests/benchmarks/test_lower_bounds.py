"""Stored lower bounds: both checkers accept them, and the menus are the families' problems."""

import json
from fractions import Fraction

import lower_bounds
import pytest
from lower_bounds import BOUNDS, FOLDER
from second_checker import NODE, answers
from worst_cases import PAGE, replaced

import optsched
from optsched.minimax.files import check_file
from optsched.numbers.resources import exact
from optsched.problem import family_of

POLICIES = {"oasis": ["oasis"], "completion": ["a_online", "fifo"]}  # that draw nothing
each = pytest.mark.parametrize("bound", BOUNDS, ids=[bound.name for bound in BOUNDS])


@pytest.fixture(scope="module", params=BOUNDS, ids=[bound.name for bound in BOUNDS])
def played(request):
    """Return a bound, its game as it is stored, and the family's instance of every sequence."""
    bound = request.param
    game, _ = lower_bounds.stored(bound, FOLDER)
    instances = [bound.instance(inst.source.split()) for inst in game.instances]
    return bound, game, instances


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="there is no Node")
def test_both_checkers_accept(tmp_path):
    files = [FOLDER / f"{bound.name}.json" for bound in BOUNDS]
    theirs = answers(files, tmp_path)
    for path in files:
        mine = check_file(path).parts
        assert all(part.accepted for part in mine)
        assert [(p.what, p.value, p.bound) for p in mine] == [
            (p["what"], p["value"], p["bound"]) for p in theirs[str(path)] if p["accepted"]
        ]


@each
def test_what_is_stored_is_the_menu(bound):
    content = json.loads((FOLDER / f"{bound.name}.json").read_text())
    made = [inst.model_dump(mode="json") for inst in bound.menu.instances()]
    assert content["instances"] == made


def test_the_page_is_made_of_the_files():
    blocks = {"bounds": lower_bounds.overview(FOLDER)}
    blocks |= {bound.name: lower_bounds.figures(bound, FOLDER) for bound in BOUNDS}
    page = PAGE.read_text(encoding="utf-8")
    assert replaced(page, blocks) == page


@pytest.mark.slow
def test_optima_are_those_of_the_family(played):
    _, game, instances = played
    for inst, expected in zip(instances, game.proof.optima, strict=True):
        found = optsched.solve(inst)
        assert found.status.closed
        assert found.value == float(expected), inst.jobs


@pytest.mark.slow
def test_the_family_accepts_what_is_decided(played):
    """Optimal solutions have the same value, and whatever a policy does has at least it."""
    bound, game, instances = played
    for declared, inst in zip(game.instances, instances, strict=True):
        names = [column.name for column in declared.columns]
        for policy in ("re-solve", "random", game.policy):
            run = optsched.simulate(declared, policy, seed=1)
            schedule = bound.schedule(inst, dict(zip(names, run.schedule.values, strict=True)))
            verdict = family_of(inst).verify(inst, schedule, unfinished=True)
            assert verdict.value is not None, verdict
            assert verdict.obeys
            better = verdict.value - run.value
            assert better >= 0 if bound.family == "oasis" else better == 0
        best = optsched.solve(declared)
        values = dict(zip(names, best.schedule.values, strict=True))
        verdict = family_of(inst).verify(inst, bound.schedule(inst, values), unfinished=True)
        assert verdict.value == best.value


def test_no_policy_of_the_family_is_better(played):
    """On average over the adversary's draws, as in the proof."""
    bound, game, instances = played
    pairs = [(i, p) for i, p in enumerate(game.distribution) if p]
    best = sum((p * game.proof.optima[i] for i, p in pairs), Fraction(0))
    for policy in POLICIES[bound.family]:
        runs = {i: optsched.simulate(instances[i], policy) for i, _ in pairs}
        assert all(run.obeys for run in runs.values())
        mean = sum((p * exact(runs[i].value) for i, p in pairs), Fraction(0))
        assert game.tree.sign * (mean / best - game.proof.proved) >= 0
