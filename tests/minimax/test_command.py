"""`optsched minimax`: menus and instance files, the tree, what is written."""

import json
from pathlib import Path

import pytest
from blocks import read
from games import skiing

from optsched.files.format import save_instance

PAGE = Path(__file__).parents[2] / "docs" / "minimax.md"
(FILE,) = [b.body for b in read(PAGE.read_text("utf-8")) if b.file == "ski.py"]
LEAKY = """
import optsched
from optsched.declared.model import KINDS

@optsched.menu(items=[1, 2], horizon=2)
def leaky(values):
    columns = [
        {"name": f"x[{t}]", "cost": sum(values), "upper": 1, "integer": True, "revealed": t,
         "decided": t} for t in range(len(values))
    ]
    return KINDS["max"].model_validate({"columns": columns, "rows": []})

number = 3
"""


@pytest.fixture
def folder(folder):
    (folder / "ski.py").write_text(FILE)
    (folder / "leaky.py").write_text(LEAKY)
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_menu(call):
    words = ["-p", "greedy", "-o", "game.json", "--save-policy", "best.py"]
    status, out, _ = call("minimax", "ski.py:skiing", *words)
    assert status == 0
    assert "best randomized online algorithm: at most 1.46285714" in out
    assert "best deterministic online algorithm: at most 1.75" in out
    assert "greedy: 3, best online algorithm 1.46286" in out
    assert "time 1: day" in out
    status, out, _ = call("verify", "game.json")
    assert status == 0
    assert out.count("accepted") == 3
    assert "policy greedy: accepted: value 3 (certified)" in out
    words = ["minimax", "ski.py:skiing", "-p", "best.py:policy", "--runs", "50", "--json"]
    status, out, _ = call(*words)
    said = json.loads(out)
    assert said["deterministic"] == 1.75
    assert abs(sum(d["probability"] for d in said["distribution"]) - 1) < 1e-12
    (stands,) = said["policies"]
    assert abs(stands["value"] - stands["best"]) < 5 * stands["error"]


@pytest.mark.usefixtures("folder")
def test_instance_files(call):
    names = []
    for k, inst in enumerate(skiing(3, 6)):
        names.append(f"{k}.json")
        save_instance(inst, names[-1])
    status, out, _ = call("minimax", *names)
    assert status == 0
    assert out.startswith("0.json: 6 instances, 6 histories, 12 states")
    assert "time 0: rent[0], buy[0]" in out


@pytest.mark.usefixtures("folder")
def test_a_sandbox_is_stated(call):
    words = ["minimax", "ski.py:skiing", "-p", "greedy", "--sandbox", "-o", "game.json"]
    status, out, _ = call(*words)
    assert status == 0
    assert "greedy: 3, best online algorithm 1.46286, optimum 1; sandbox" in out
    assert json.loads(Path("game.json").read_text())["played"][0]["sealed"]
    assert "not checked: that greedy decided so, its sandbox" in call("verify", "game.json")[1]
    (stands,) = json.loads(call("minimax", *words[1:4], "--json")[1])["policies"]
    assert stands["seal"] == "no sandbox"


@pytest.mark.usefixtures("folder")
def test_a_policy_is_named_once(call, monkeypatch):
    monkeypatch.delattr("optsched.minimax.solve.solved")  # nothing is computed before
    status, out, err = call("minimax", "ski.py:skiing", "-p", "greedy", "-p", "greedy")
    assert (status, out) == (2, "")
    assert "policy 'greedy' is named twice, expected once" in err


@pytest.mark.parametrize(
    ("plan", "line"),
    [
        ("ski.py:nobody", "has no 'nobody'"),
        ("leaky.py:number", "menu 'leaky.py:number' is 3, expected an optsched.menu or a list"),
        ("leaky.py:leaky", "menu leaky reveals what is still to come: time 0"),
        ("missing.json", "missing.json: "),
    ],
)
def test_wrong_plans(folder, call, plan, line):
    status, out, err = call("minimax", plan, "-o", "game.json")
    assert (status, out) == (2, "")
    assert line in err
    assert not (folder / "game.json").exists()


def test_a_damaged_file_is_rejected(folder, call):
    assert call("minimax", "ski.py:skiing", "-o", "game.json")[0] == 0
    content = json.loads((folder / "game.json").read_text())
    content["certificate"]["weights"] = content["certificate"]["weights"][::-1]
    (folder / "game.json").write_text(json.dumps(content))
    status, out, _ = call("verify", "game.json")
    assert status == 1
    assert "rejected" in out
    assert "proved is" in out
