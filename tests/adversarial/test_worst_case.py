"""Hunts: what they find, that they go on, shrink, and refuse what cannot be."""

import json
import os
import signal
from dataclasses import replace
from itertools import islice

import pytest
from spaces import is_inside
from typer.testing import CliRunner

from optsched import problem
from optsched.adversarial.evaluation import Evaluation, Evaluator, Terms, TheoremError
from optsched.adversarial.search import EvolutionarySearch
from optsched.adversarial.worst_case import LOSS, checkpoint_path, find_worst_case, lighter
from optsched.cli.app import app
from optsched.core import simulate
from optsched.families.bot import FAMILY as BOT
from optsched.families.bot.instance import BotSchedule
from optsched.families.bot.policies.baselines import LocalShare
from optsched.problem import InputError, get_family
from optsched.results.result import recheck

BAGS = Terms(family="bot", policy="local-share", preset="small")
SLOTS = Terms(family="bipartite", policy="ogasched", preset="small", sizes={"slots": 4})


class Grudging(LocalShare):
    """Takes four fifths from large bags with masters of low numbers."""

    name = "grudging"

    def step(self, event):
        poor = {k for k, bag in enumerate(event.applications) if bag.name == "cpu"}
        fair = super().step(event)
        return BotSchedule(rates=[(n, k, r / 5 if k in poor else r) for n, k, r in fair.rates])


class Moody(LocalShare):
    """Fails where the first master is node 0."""

    name = "moody"

    def step(self, event):
        if event.applications[0].master == 0:
            raise ArithmeticError("no node 0, please")  # told in two lines
        return super().step(event)


def own(name):
    return BAGS.model_copy(update={"policy": f"{__name__}:{name}"})


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this())


def _this():
    import types

    module = types.ModuleType(__name__)
    module.__dict__.update(globals())
    return module


def test_a_hunt_finds_more_than_its_draws(tmp_path):
    found = find_worst_case(BAGS, evaluations=60, path=tmp_path / "worst.json")
    first = find_worst_case(BAGS, evaluations=24)
    assert found.evaluations == 60
    assert found.row.ratio.exact
    assert found.row.ratio.low > first.worst.found.low
    checked = recheck(tmp_path / "worst.json")
    assert not [c for part in checked for c in part.complaints]
    space = get_family("bot").parameter_space("small")
    data = found.worst.instance.model_dump(mode="json")
    assert is_inside(space, data)


@pytest.mark.slow
def test_an_own_policy_is_seen_through():
    found = find_worst_case(own("Grudging"), evaluations=120)
    fair = find_worst_case(BAGS, evaluations=24)
    assert found.row.ratio.low >= 0.9 * 5 > fair.row.ratio.low


def test_a_policy_that_fails_is_told(tmp_path):
    path = tmp_path / "worst.json"
    found = find_worst_case(own("Moody"), evaluations=30, path=path)
    assert found.failed > 0
    assert "no node 0, please" in str(found)
    again = find_worst_case(own("Moody"), evaluations=31, path=path)
    assert again.failed >= found.failed
    assert again.stated == 30
    assert found.worst.instance.applications[0].master != 0


@pytest.mark.slow
def test_a_hunt_goes_on(tmp_path):
    path = tmp_path / "worst.json"
    whole = find_worst_case(BAGS, evaluations=50, seed=3)
    find_worst_case(BAGS, evaluations=30, seed=3, path=path)
    before = json.loads(checkpoint_path(path).read_text())["rows"]
    again = find_worst_case(BAGS, evaluations=50, seed=3, path=path)
    after = json.loads(checkpoint_path(path).read_text())["rows"]
    assert len(before) == 30
    assert len(after) == 50
    assert before.items() <= after.items()
    assert again.worst.instance == whole.worst.instance
    assert again.when == whole.when
    with pytest.raises(InputError, match=r"of another hunt \(share: 0.2 there, 0.3 here\)"):
        find_worst_case(BAGS.model_copy(update={"share": 0.3}), evaluations=50, path=path)


def test_a_checkpoint_of_an_earlier_version_is_read(tmp_path):
    path = tmp_path / "worst.json"
    find_worst_case(BAGS, evaluations=5, path=path)
    older = checkpoint_path(path).rename(tmp_path / "worst.hunt.json")
    find_worst_case(BAGS, evaluations=7, path=path)
    assert len(json.loads(older.read_text())["rows"]) == 7
    assert {p.name for p in tmp_path.iterdir()} == {"worst.json", "worst.hunt.json"}


def test_what_is_known_is_not_evaluated_again(tmp_path):
    path = tmp_path / "worst.json"
    assert find_worst_case(BAGS, evaluations=15, path=path).worst is not None
    notes = checkpoint_path(path)
    content = json.loads(notes.read_text())
    for row in content["rows"].values():
        row["share"] = 0.0  # as if nothing counted
    notes.write_text(json.dumps(content))
    assert find_worst_case(BAGS, evaluations=15, path=path).worst is None


def test_a_checkpoint_that_states_a_wrong_ratio_is_named(tmp_path, capsys):
    path, said = tmp_path / "worst.json", []
    find_worst_case(BAGS, evaluations=5, path=path)
    notes = checkpoint_path(path)
    find_worst_case(BAGS, evaluations=5, path=path, callback=said.append)
    assert not capsys.readouterr().err
    content = json.loads(notes.read_text())
    for row in content["rows"].values():
        row["low"] = 1e9
    notes.write_text(json.dumps(content))
    found = find_worst_case(BAGS, evaluations=5, path=path, callback=said.append)
    assert found.worst.found.low < 1e9
    assert f"{notes}: states ratio 1e+09 of an instance that has" in capsys.readouterr().err
    assert "evaluation 5 of 5, ratio at least 1e+09 by the checkpoint" in said


def test_what_a_checkpoint_states_is_not_checked(tmp_path):
    """Its failures count, but none of its words are shown."""
    path = tmp_path / "worst.json"
    assert "not checked" not in str(find_worst_case(BAGS, evaluations=5, path=path))
    notes = checkpoint_path(path)
    content = json.loads(notes.read_text())
    for row in content["rows"].values():
        row["failed"] = "nothing; the ratio is 1 (certified)"
    notes.write_text(json.dumps(content))
    head, failed, stated, *_ = find_worst_case(BAGS, evaluations=7, path=path).lines()
    assert head.startswith("7 evaluations")
    assert failed == "the policy failed in 5 of them"
    assert stated == "not checked: 5 of them, which the checkpoint states"


def test_what_is_different_in_a_checkpoint_is_cut_off(tmp_path):
    path = tmp_path / "worst.json"
    find_worst_case(BAGS, evaluations=1, path=path)
    notes = checkpoint_path(path)
    content = json.loads(notes.read_text())
    content["terms"]["policy"] = "x" * 10**6
    notes.write_text(json.dumps(content))
    with pytest.raises(InputError, match="is of another hunt") as refused:
        find_worst_case(BAGS, evaluations=1, path=path)
    assert len(str(refused.value)) < 500


@pytest.mark.slow
def test_several_searches_share_a_notebook(tmp_path):
    path = tmp_path / "worst.json"
    both = find_worst_case(BAGS, evaluations=26, searches=2, path=path)
    alone = [find_worst_case(BAGS, evaluations=26, seed=seed) for seed in (0, 1)]
    assert both.evaluations == 52
    assert both.worst.found.low == max(one.worst.found.low for one in alone)


def test_ctrl_c_keeps_the_best(tmp_path):
    path = tmp_path / "worst.json"
    told = []

    def tell(said):
        told.append(said)
        if said.startswith("shrinking"):
            os.kill(os.getpid(), signal.SIGINT)

    found = find_worst_case(BAGS, evaluations=30, path=path, callback=tell)
    assert found.ended
    assert found.report is None
    assert found.worst is not None
    assert not [c for part in recheck(path) for c in part.complaints]
    assert "ratio at least" in str(found)
    assert not find_worst_case(BAGS, evaluations=30, path=path).ended


@pytest.mark.slow
@pytest.mark.parametrize("terms", [BAGS, SLOTS], ids=lambda terms: terms.family)
def test_no_job_can_be_left_out(terms):
    found = find_worst_case(terms, evaluations=30)
    family = get_family(terms.family)
    space, judge = family.parameter_space(terms.preset, **terms.sizes), Evaluator(family, terms)
    data = found.worst.instance.model_dump(mode="json")
    for smaller in lighter(space, data):
        settled = space.settle(smaller)
        if settled is None:
            continue
        instance = family.instance.model_validate(settled)
        run = simulate(instance, terms.policy)
        less = judge.compared(instance, run, work_limit=1000).found
        assert not less.admitted(terms) or less.low < (1 - LOSS / 2) * found.row.ratio.low


def test_beyond_a_theorem_is_loud(monkeypatch, tmp_path):
    path = tmp_path / "worst.json"
    family = replace(BOT, guarantee=lambda _instance, _policy, _prior: 1.01)
    monkeypatch.setattr(problem, "load_family", lambda _name: family)
    with pytest.raises(TheoremError, match=r"beyond the 1.01 that theory guarantees"):
        find_worst_case(BAGS, evaluations=30, path=path)
    assert json.loads(path.read_text())["runs"][0]["guarantee"] == 1.01


def test_what_cannot_be_searched_is_refused(monkeypatch):
    with pytest.raises(InputError, match="unknown policy 'nobody'"):
        find_worst_case(BAGS.model_copy(update={"policy": "nobody"}))
    with pytest.raises(InputError, match="unknown preset 'huge', expected one of: paper"):
        find_worst_case(BAGS.model_copy(update={"preset": "huge"}))
    with pytest.raises(InputError, match="unknown size 'jobs'"):
        find_worst_case(BAGS.model_copy(update={"sizes": {"jobs": 3}}))
    monkeypatch.setattr(problem, "load_family", lambda _name: replace(BOT, parameter_space=None))
    with pytest.raises(InputError, match="has no parameter space"):
        find_worst_case(BAGS)


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ["worst-case", "--family", "bot", "--policy", "local-share", "--preset", "small"]
    asked += ["--evaluations", "26", "-o", "worst.json", "-q"]
    done = CliRunner().invoke(app, [*asked, "--json"])
    assert done.exit_code == 0
    said = json.loads(done.stdout)
    assert said["evaluations"] == 26
    assert said["ratio"]["low"] > 1
    assert said["guarantee"] is None
    assert {p.name for p in tmp_path.iterdir()} == {"worst.json", "worst.checkpoint.json"}
    plain = CliRunner().invoke(app, asked)
    assert "26 evaluations of local-share in parameter space bot small" in plain.stdout
    assert "theory: nothing is proved of this policy on this instance" in plain.stdout
    none = [
        "worst-case",
        "--family",
        "bipartite",
        "--policy",
        "spreading",
        "--preset",
        "small",
        "-q",
    ]
    none += ["--horizon", "3", "--evaluations", "2", "--min-alg-fraction", "1", "-o", "none.json"]
    none = CliRunner().invoke(app, none)
    assert none.exit_code == 1
    assert "no instance counts" in none.stdout
    assert not (tmp_path / "none.json").exists()


def test_the_search_goes_on_if_a_policy_fails_at_first():
    family = get_family("oasis")
    terms = Terms(family="oasis", policy="fifo", preset="small", sizes={"jobs": 3})
    failed = Evaluation(low=1.0, share=0.0, earned=0.0, failed="it stumbled")
    search = EvolutionarySearch(
        family, family.parameter_space("small", jobs=3), terms, 0, lambda _instance, _data: failed
    )
    assert all(known.found is failed for known in islice(search.steps(), 30))
    assert search.best is None


def test_a_sandboxed_policy_takes_no_parameters():
    with pytest.raises(ValueError, match="fifo runs in a sandbox, without parameters"):
        Terms(family="oasis", policy="fifo", preset="small", sealed=True, parameters={"a": 1})
