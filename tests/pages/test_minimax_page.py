"""The page of a set of instances: its numbers are those of the game, checked again."""

import json

import pytest
from games import matching, skiing
from pages import Page

import optsched
from optsched.minimax.files import check_file
from optsched.minimax.game import Game
from optsched.problem import InputError


def written(instances, policies, path, runs=1):
    """Write a game with some policies; return it, and where they stand."""
    game = optsched.minimax(instances)
    standings = [game.standing(policy, runs=runs) for policy in policies]
    game.save(path, standings)
    return game, standings


@pytest.mark.parametrize("instances", [skiing(4, 12), matching])
def test_three_numbers(instances, tmp_path):
    game, standings = written(instances, ["greedy", "random"], tmp_path / "g.json", runs=3)
    page = Page(optsched.report(tmp_path / "g.json", tmp_path / "p.html"))
    best, deterministic, *rows = page.tables["standings"].exact()
    assert (best["value"], deterministic["value"]) == ([game.value], [game.deterministic])
    names = [row["policy"] for row in page.tables["standings"].texts()]
    assert names[2:] == ["greedy", "random"]
    for row, stands in zip(rows, standings, strict=True):
        assert row["value"] == [stands.value]
        assert row["standard error"] == [stands.error]
        assert row["best online algorithm"] == [game.value]
        assert (row["optimum"], row["runs"]) == ([1.0], [3])
    assert f"greedy reaches {standings[0].value:.6g}" in page.words
    drawn = page.tables["distribution"].exact()
    assert [row["probability"] for row in drawn] == [[float(p)] for p in game.distribution if p]
    assert all(text in page.words for _, text in game.lines())


def test_a_file_without_policies_has_a_page(tmp_path):
    written(matching, [], tmp_path / "g.json")
    page = Page(optsched.report(tmp_path / "g.json", tmp_path / "p.html"))
    assert [row["value"] for row in page.tables["standings"].texts()] == ["0.75", "0.5"]


def test_the_sandbox_is_shown(tmp_path):
    written(matching, ["greedy", "random", "re-solve"], tmp_path / "g.json")
    content = json.loads((tmp_path / "g.json").read_text())
    guards = ["files", "memory", "processes", "runs"]
    content["played"][0] |= {"sealed": True, "guards": guards}
    content["played"][1] |= {"sealed": True, "guards": guards[:2]}
    (tmp_path / "g.json").write_text(json.dumps(content))
    page = Page(optsched.report(tmp_path / "g.json", tmp_path / "p.html"))
    shown = [row["sandbox"] for row in page.tables["standings"].texts()]
    assert shown == ["-", "-", "yes", "sandbox: partial, without processes, runs", "no"]


def test_only_what_is_proved_is_called_the_best(tmp_path):
    """The best deterministic policy, and weights that prove little, are no best algorithm."""
    written(skiing(4, 12), ["greedy"], tmp_path / "g.json")
    content = json.loads((tmp_path / "g.json").read_text())
    content["certificate"]["randomized"] = content["certificate"]["deterministic"]
    content["certificate"]["weights"] = [1] + 11 * [0]
    content["claim"] |= {"reached": content["claim"]["deterministic"], "proved": "1"}
    (tmp_path / "g.json").write_text(json.dumps(content))
    page = Page(optsched.report(tmp_path / "g.json", tmp_path / "p.html"))
    assert "better than 1 times the optimum" in page.words
    assert "The given randomized one reaches 1.75, the best deterministic one 1.75" in page.words
    assert "At least the difference between 1 and 1 is the price" in page.words
    assert "the rest" not in page.words
    rows = page.tables["standings"].texts()
    assert [row["policy"] for row in rows[:2]] == [
        "given randomized algorithm",
        "best deterministic algorithm",
    ]
    assert rows[2]["given online algorithm"] == "1.75"
    found = check_file(tmp_path / "g.json")
    assert str(found.standings[0]) == "greedy: 3, best online algorithm 1 to 1.75, optimum 1"
    assert "at most 1.75, at best 1 (certified)" in str(
        Game(found.tree, found.certificate, found.proof)
    )


def forge(content, kind):
    """Change what a policy is reported to have decided, or what is claimed."""
    one = content["played"][0]
    if kind == "decision":
        values = one["runs"][0][0]["values"]
        values[:] = [0.0] * len(values)
    elif kind == "runs":
        one["runs"][0] = []
    elif kind == "instances":
        one["runs"].pop()
    elif kind == "fraction":
        one["runs"][0][0]["values"][0] = 0.5
    elif kind == "length":
        one["runs"][0][0]["values"].pop()
    else:
        content["claim"]["proved"] = "2"


@pytest.mark.parametrize("kind", ["decision", "runs", "instances", "fraction", "length", "claim"])
def test_a_file_that_cannot_be_true_has_no_page(kind, tmp_path, call):
    written(skiing(3, 5), ["greedy"], tmp_path / "g.json")
    content = json.loads((tmp_path / "g.json").read_text())
    forge(content, kind)
    (tmp_path / "forged.json").write_text(json.dumps(content))
    status, _, err = call("report", tmp_path / "forged.json", "-o", tmp_path / "p.html")
    assert status == 2
    assert "rejected" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "p.html").exists()
    assert call("verify", tmp_path / "forged.json")[0] == 1


def test_no_schedules_are_drawn(tmp_path):
    written(matching, ["greedy"], tmp_path / "g.json")
    with pytest.raises(InputError, match="--policy greedy: no schedules are drawn"):
        optsched.report(tmp_path / "g.json", tmp_path / "p.html", policies=["greedy"])
