"""Both checkers agree of declared problems, of whole results and of damaged ones."""

import json
import random
import resource

import cvxpy as cp
import numpy as np
import pytest
from damages import damaged
from independent.declared import FILES, draw, load
from second_checker import NODE, answers, differences

from optsched.core import relax, simulate, solve
from optsched.declared import model
from optsched.declared.certificate import Cut, Leaf, Tree
from optsched.declared.model import Maximization, Minimization, Solution
from optsched.declared.readers import online
from optsched.problem import InputError
from optsched.results.result import recheck, save_result

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no Node")

DAMAGES = 8


def column(name, **given):
    return {"name": name, "revealed": 0, "decided": 0} | given


def market(seed, rows=2, columns=14):
    """Return a market split: a tree alone is long, and cuts take part."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 100, (rows, columns))
    slack = [column(f"s[{i},{k}]", cost=1, upper=200) for i in range(rows) for k in range(2)]
    bits = [
        column(f"x[{j}]", cost=round(j / 300, 3), upper=1, integer=True) for j in range(columns)
    ]
    return Minimization.model_validate(
        {
            "columns": bits + slack,
            "rows": [
                {
                    "name": f"split[{i}]",
                    "lower": int(w.sum()) // 2,
                    "upper": int(w.sum()) // 2,
                    "entries": [
                        *((j, int(a)) for j, a in enumerate(w)),
                        (columns + 2 * i, 1),
                        (columns + 2 * i + 1, -1),
                    ],
                }
                for i, w in enumerate(weights)
            ],
        }
    )


def thirds(seed):
    """Return a knapsack whose values are thirds and sevenths, rounded to decimals."""
    rng = np.random.default_rng(seed)
    values = rng.integers(5, 40, 30) / rng.choice([3, 7], 30)
    weights = rng.integers(5, 40, 30).tolist()
    columns = [
        column(f"x[{j}]", cost=v, upper=1, integer=True) for j, v in enumerate(values.tolist())
    ]
    row = {"name": "room", "upper": sum(weights) / 3, "entries": list(enumerate(weights))}
    return Maximization.model_validate({"columns": columns, "rows": [row]})


def convex(seed):
    weight = np.random.default_rng(seed).uniform(1, 3, (4, 2)).round(3)
    x = cp.Variable((4, 2), name="x", nonneg=True)
    goal = cp.sum(cp.log(1 + cp.multiply(weight, x))) - 0.3 * cp.sum(cp.norm(x, axis=1))
    rows = [cp.sum(x, axis=0) <= 3, x <= 2, cp.exp(x[0, 1]) <= 4]
    return online(cp.Problem(cp.Maximize(goal), rows), {x: lambda t, _k: t})


def tracking(seed):
    """Return norms of which some are 0 at the optimum; a size is decided before all else."""
    want = np.random.default_rng(seed).uniform(0, 5, (6, 2)).round(2)
    x, size = cp.Variable((6, 2), name="x", nonneg=True), cp.Variable(name="size", nonneg=True)
    goal = 2 * size + cp.sum(cp.norm(x - want, axis=1))
    rows = [cp.sum(x, axis=1) <= size, size <= 20]
    return online(cp.Problem(cp.Minimize(goal), rows), {"size": 0, x: lambda t, _k: t + 1})


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("declared")
    made = []

    def save(inst, found, runs=()):
        made.append(folder / f"{len(made)}.json")
        save_result(made[-1], inst, found, runs)

    for path in FILES:
        inst, _ = load(path)
        save(inst, solve(inst))
        save(inst, relax(inst))
    for seed in range(60):
        inst = draw(seed)
        try:
            save(inst, solve(inst))
        except InputError:
            continue  # it is unbounded
    for inst in (market(1), market(2), thirds(1), thirds(2)):
        save(inst, solve(inst, method="tree", work_limit=1000))
    for seed in range(3):
        inst = convex(seed)
        save(inst, solve(inst), [simulate(inst, "re-solve")])
    return made


def test_long_denominators_take_no_long_time(tmp_path):
    """Of every multiplier another one; their product stays below the limit."""
    rng, path = random.Random(1), tmp_path / "r.json"
    rows = [
        {"name": f"r[{i}]", "upper": 500, "entries": [(j, rng.randrange(1, 9)) for j in range(60)]}
        for i in range(48)
    ]
    columns = [column(f"x[{j}]", cost=rng.randrange(1, 9), upper=3) for j in range(60)]
    inst = Maximization.model_validate({"columns": columns, "rows": rows})
    save_result(path, inst, relax(inst))
    content = json.loads(path.read_text())
    multipliers = [[i, f"-1/{rng.randrange(10**390, 10**391) | 1}"] for i in range(len(rows))]
    leaf = {"node": "leaf", "ray": False, "multipliers": multipliers, "cones": []}
    content["optimum"]["certificate"]["nodes"] = [leaf]
    path.write_text(json.dumps(content))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    told = answers([path], tmp_path)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 5
    assert told[str(path)][0]["bound"] is not None
    assert differences([path], told) == []


@pytest.mark.slow
def test_certificates_have_everything(results):
    trees = [json.loads(path.read_text())["optimum"]["certificate"] for path in results]
    trees = [tree for tree in trees if tree]
    assert any(len(tree["nodes"]) > 1 for tree in trees)
    assert any(tree["cuts"] for tree in trees)
    assert any(tree["denominator"] for tree in trees)
    assert any(node.get("ray") for tree in trees for node in tree["nodes"])
    assert any(node.get("cones") for tree in trees for node in tree["nodes"])


@pytest.mark.slow
def test_whole_and_damaged_results(results, tmp_path):
    files = [
        *results,
        *(f for path in results for f, _ in damaged(path, tmp_path, DAMAGES, seed=1)),
    ]
    assert all(part.accepted for path in results for part in recheck(path))
    assert differences(files, answers(files, tmp_path)) == []


def test_both_improve_bounds_by_cones(tmp_path):
    inst = tracking(1)
    save_result(tmp_path / "r.json", inst, solve(inst), [simulate(inst, "re-solve")])
    files = [tmp_path / "r.json"]
    assert all(part.accepted for part in recheck(files[0]))
    files += [file for file, _ in damaged(files[0], tmp_path, 40, seed=1)]
    assert differences(files, answers(files, tmp_path)) == []


def test_long_common_denominators_and_values_beyond_floats(tmp_path):
    """Both refuse what would take hours, and a value that is reported as infinite."""
    rows = [{"name": f"r[{i}]", "lower": 1, "entries": [(0, 1)]} for i in range(1500)]
    inst = Minimization.model_validate(
        {"columns": [column("x", cost=1e15, upper=1e15)], "rows": rows}
    )
    free = Minimization.model_validate({"columns": [column("x", cost=1e15)], "rows": []})
    odd = tuple((i, f"1/{10**195 + 2 * i + 1}") for i in range(1500))
    best, other = solve(inst, time_limit=10), solve(free, time_limit=10)
    files = []
    for tree in (
        Tree(nodes=(Leaf(multipliers=odd),)),
        Tree(cuts=(Cut(multipliers=odd),), nodes=(Leaf(multipliers=()),)),
    ):
        files.append(tmp_path / f"{len(files)}.json")
        save_result(files[-1], inst, best.model_copy(update={"certificate": tree}))
    files.append(tmp_path / "far.json")
    far = {"schedule": Solution(values=(1e300,)), "value": 1e308}
    save_result(files[-1], free, other.model_copy(update=far))
    found = answers(files, tmp_path)
    assert not any(part["accepted"] for parts in found.values() for part in parts)
    assert differences(files, found) == []


@pytest.mark.parametrize("size", [1e-12, 9e-7])
def test_rows_of_tiny_numbers_are_refused(tmp_path, monkeypatch, size):
    """Their tolerance is not tiny: all three would be 1, which breaks the row by a half."""
    columns = [column(f"x[{j}]", cost=1, upper=1, integer=True) for j in range(3)]

    def packing(number):
        row = {"name": "most", "upper": 2 * number, "entries": [(j, number) for j in range(3)]}
        return Maximization.model_validate({"columns": columns, "rows": [row]})

    assert solve(packing(1e-6)).value == 2
    with pytest.raises(ValueError, match=f"constraint most: its largest number is {size:g}"):
        packing(size / 2)
    path = tmp_path / "result.json"
    with monkeypatch.context() as patch:
        patch.setattr(model, "LEAST", 0.0)
        save_result(path, packing(size / 2), solve(packing(size / 2)))
        assert recheck(path)[0].accepted
    found = answers([path], tmp_path)
    assert "its largest number is" in str(found)
    assert differences([path], found) == []
