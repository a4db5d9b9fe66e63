"""Files of games: both checkers prove the same of them, and refuse what is forged."""

import copy
import json
import math
import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from games import brute, building, draw, matching, model, paging, skiing, trading
from second_checker import NODE, answers
from sweeps import sweep

import optsched
from optsched.declared.policies import Lookahead
from optsched.minimax.files import check_file
from optsched.problem import InputError, PolicyError

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no Node")


def written(instances, path):
    game = optsched.minimax(instances)
    try:
        played = [game.standing("random", runs=2)]
    except PolicyError:  # it may decide so that later constraints cannot be kept
        played = []
    game.save(path, played)
    return json.loads(path.read_text())


@cache
def known(name):
    """Return the file of a game, which stays as it is."""
    with TemporaryDirectory() as folder:
        return written(GAMES[name], Path(folder) / "game.json")


def verdicts(contents, folder):
    """Return what each checker states of each content: (value, bound) of all parts, or None."""
    files, mine = [], []
    for k, content in enumerate(contents):
        files.append(folder / f"{k}.json")
        files[-1].write_text(json.dumps(content))
        try:
            found = check_file(files[-1]).parts
        except InputError:
            found = []
        good = bool(found) and all(part.accepted for part in found)
        mine.append([(p.what, p.value, p.bound) for p in found] if good else None)
    theirs = []
    for parts in answers(files, folder).values():
        assert parts
        assert not [p for p in parts if "failure" in p["what"]], parts
        good = all(part["accepted"] for part in parts)
        # JSON has no infinity: a policy that reaches nothing has the value "-inf"
        told = [(p["what"], p["value"] and float(p["value"]), p["bound"]) for p in parts]
        theirs.append(told if good else None)
    return mine, theirs


GAMES = {
    "skiing": skiing(4, 8),
    "building": building(2, 4),
    "matching": matching,
    "paging": paging(3, 2),
    "trading": trading((1, 2, 4), 3),
}


@pytest.mark.parametrize("name", sweep(GAMES, quick=2))
def test_both_checkers_prove_the_same(name, tmp_path):
    content = known(name)
    (mine,), (theirs,) = verdicts([content], tmp_path)
    assert mine is not None
    assert mine == theirs


@pytest.mark.slow
@pytest.mark.parametrize("first", sweep(range(0, 60, 20), quick=1))
def test_both_checkers_prove_the_same_of_random_games(first, tmp_path):
    games = [g for g in map(draw, range(first, first + 20)) if brute(g) is not None]
    contents = [written(game, tmp_path / "game.json") for game in games]
    mine, theirs = verdicts(contents, tmp_path)
    assert None not in mine
    assert mine == theirs


def forged(content, rng):
    """Return a file in which one thing is changed for the better."""
    made = copy.deepcopy(content)
    certificate, kind = (
        made["certificate"],
        rng.choice(["weights", "policy", "claim", "instance", "played"]),
    )
    if kind == "weights":
        k = rng.randrange(len(certificate["weights"]))
        certificate["weights"][k] += rng.choice([1, -1, 10**6, -certificate["weights"][k]])
        if rng.random() < 0.2:
            certificate["weights"].append(1)
    elif kind == "policy":
        policy = certificate[rng.choice(["randomized", "deterministic"])]
        node = policy[rng.randrange(len(policy))]
        if not node or rng.random() < 0.1:
            policy.append([[1, [], []]])
            return made
        choice = node[rng.randrange(len(node))]
        part = rng.choice(["flow", "values", "nexts", "drop", "copy"])
        if part == "flow":
            choice[0] += rng.choice([1, -1, 7])
        elif part == "values" and choice[1]:
            choice[1][rng.randrange(len(choice[1]))] += rng.choice([1, -1])
        elif part == "nexts" and choice[2]:
            choice[2][rng.randrange(len(choice[2]))] = rng.randrange(len(policy) + 1)
        elif part == "drop":
            node.remove(choice)
        else:
            node.append(copy.deepcopy(choice))
    elif kind == "claim":
        name = rng.choice(["proved", "reached", "deterministic"])
        n, _, d = made["claim"][name].partition("/")
        made["claim"][name] = rng.choice([f"{int(n) + 1}/{d or 1}", n, "1", "", "-1/2", "0.5"])
    elif kind == "played":
        runs = made["played"][0]["runs"]
        solutions = runs[rng.randrange(len(runs))]
        values = solutions[0]["values"]
        part = rng.choice(["value", "drop", "none", "length"])
        if part == "value":
            values[rng.randrange(len(values))] += rng.choice([0.5, 1, -1, 1e-12])
        elif part == "length":
            values.pop()
        else:
            solutions[:] = solutions[1:] if part == "drop" else []
    else:
        inst = made["instances"][rng.randrange(len(made["instances"]))]
        column = inst["columns"][rng.randrange(len(inst["columns"]))]
        change = rng.choice(["cost", "upper", "revealed", "decided", "name"])
        column[change] = "other" if change == "name" else column[change] + rng.choice([1, -1])
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seed"), sweep([(n, s) for s in range(5) for n in GAMES], quick=4)
)
def test_forged_files(name, seed, tmp_path):
    """What is accepted proves what the file states; and both checkers agree on everything."""
    content = known(name)
    rng = random.Random(seed)
    contents = [forged(content, rng) for _ in range(25)]
    (whole, *mine), theirs = verdicts([content, *contents], tmp_path)
    assert [whole, *mine] == theirs
    for made, found in zip(contents, mine, strict=True):
        if found is not None and made["instances"] == content["instances"]:
            assert found[:2] == whole[:2], made["claim"]
    assert mine.count(None) >= 12


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("family", "bot"),
        ("family", "toString"),
        ("instances", []),
        ("instances", None),
        ("certificate", None),
        ("certificate", {}),
        ("claim", {"proved": "1/0", "reached": "1", "deterministic": "1"}),
    ],
)
def test_files_that_are_no_games(place, value, tmp_path):
    content = written(skiing(2, 3), tmp_path / "game.json") | {place: value}
    assert verdicts([content], tmp_path) == ([None], [None])


@pytest.mark.parametrize(
    "name",
    ["", " ", "random", "Random *", "Best  Randomized algorithm", "optimum", "ä", "x" * 101, 1],
)
def test_names_that_no_row_can_have(name, tmp_path):
    content = copy.deepcopy(known("skiing"))
    content["played"].append(content["played"][0] | {"policy": name})
    accepted = copy.deepcopy(content)
    accepted["played"][1]["policy"] = "x" * 100
    mine, theirs = verdicts([content, accepted], tmp_path)
    assert mine == theirs
    assert [found is None for found in mine] == [True, False]


def test_a_policy_that_is_compared_twice_is_not_written(tmp_path):
    game = optsched.minimax(skiing(2, 3))
    with pytest.raises(InputError, match="'greedy' is that of another row"):
        game.save(tmp_path / "game.json", 2 * [game.standing("greedy")])
    assert not (tmp_path / "game.json").exists()


@pytest.mark.parametrize("name", ["skiing", "matching", "worse"])
def test_decisions_that_no_online_algorithm_makes_are_refused(name, tmp_path):
    """They are the best of every instance; or skis are bought where the season is one day."""
    game = optsched.minimax(GAMES.get(name, GAMES["skiing"]))
    game.save(tmp_path / "forged.json", [game.standing("greedy")])
    content = json.loads((tmp_path / "forged.json").read_text())
    if name == "worse":
        assert content["played"][0]["runs"][0][0]["values"] == [1, 0]
        content["played"][0]["runs"][0][0]["values"] = [0, 1]
    else:
        content["played"][0]["runs"] = [
            [optsched.solve(inst).schedule.model_dump(mode="json")] for inst in game.instances
        ]
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(content))
    mine, theirs = check_file(path).parts[-1], answers([path], tmp_path)[str(path)][-1]
    assert "whose events are the same until then" in mine.complaints[0]
    assert "the events until then do not" in theirs["complaints"][0]
    assert [part.accepted for part in check_file(path).parts] == [True, True, False]


@pytest.mark.parametrize(
    ("name", "window", "line"),
    [
        ("skiing", 50, r"rent\[0\] is 1 on instance 0, 0 on instance 4"),
        ("trading", 1, r"x\[0\] is 1 on instance 13 \(2\), 0 on instance 18 \(2 2\)"),
    ],
)
def test_a_policy_that_looks_ahead_is_refused(name, window, line):
    """Also one that is worse than the best online algorithm, as in trading."""
    game = optsched.minimax(GAMES[name])
    with pytest.raises(PolicyError, match=f"policy lookahead: time 0, seed 0: {line}, whose ev"):
        game.standing(Lookahead(window))


def test_both_checkers_read_the_sandbox(tmp_path):
    content = copy.deepcopy(known("skiing"))
    content["played"][0] |= {"sealed": True, "guards": ["files", "memory"]}
    mine, theirs = verdicts([content], tmp_path)
    assert mine == theirs
    assert mine[0] is not None
    unchecked = check_file(tmp_path / "0.json").parts[-1].unchecked
    assert unchecked == ("that random decided so", "its sandbox")


def test_decisions_count_that_are_not_feasible(tmp_path):
    """A small file has many decisions, of which one is feasible on each of two histories."""
    content = copy.deepcopy(known("skiing")) | {"played": []}
    bought = [{"name": f"x[{k}]", "cost": 1, "revealed": 0} for k in range(18)]
    row = (-math.inf, 0, [(k, 1) for k in range(18)])
    content["instances"] = [
        model("min", [c | {"cost": cost} for c in bought], [row], offset=1).model_dump(mode="json")
        for cost in (1, 2)
    ]
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(content))
    ((mine,), (theirs,)) = check_file(path).parts, answers([path], tmp_path)[str(path)]
    assert "the decisions in all states take more than 10000000 numbers" in mine.complaints[0]
    assert "the decisions in all states take too many numbers" in theirs["complaints"][0]


def test_a_policy_of_merged_histories_is_refused(tmp_path):
    """An instance that states at once how long it lasts has a history of its own."""
    content = written(skiing(4, 8), tmp_path / "game.json")
    for column in content["instances"][-1]["columns"]:
        column["cost"] *= 2
    assert verdicts([content], tmp_path) == ([None], [None])


def test_a_node_stands_for_one_state(tmp_path):
    """Where nodes 0 and 1 are free alike, the second arrival would match what is matched."""
    content = written(matching, tmp_path / "game.json")
    policy = content["certificate"]["randomized"]
    (one, other) = next(node for node in policy if len(node) > 1)
    other[2][1] = one[2][1]
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(content))
    ((mine,), (theirs,)) = check_file(path).parts, answers([path], tmp_path)[str(path)]
    assert "another state" in mine.complaints[0]
    assert "another state" in theirs["complaints"][0]


@pytest.mark.parametrize("field", ["decided", "revealed", "lower", "cost"])
def test_the_sign_of_zero_tells_no_instances_apart(field, tmp_path):
    """Events that differ in -0.0 alone are one history to both checkers."""
    content = written(GAMES["skiing"], tmp_path / "game.json")
    signed = copy.deepcopy(content)
    changed = [c for inst in signed["instances"][1:2] for c in inst["columns"] if c[field] == 0]
    assert changed or field == "cost"
    for column in changed:
        column[field] = -0.0
    mine, theirs = verdicts([content, signed], tmp_path)
    assert mine == theirs
    assert mine[1] == mine[0] is not None
