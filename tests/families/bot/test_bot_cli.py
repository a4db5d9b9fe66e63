"""The command line with family `bot`, from a preset to a comparison on the sample."""

import json
import math

import pytest
from typer.testing import CliRunner

from optsched.cli.app import app
from optsched.families.bot.sources.presets import generate
from optsched.files.format import load_instance


def call(*args, status=0):
    outcome = CliRunner().invoke(app, [str(a) for a in args])
    assert outcome.exit_code == status, outcome.output
    return outcome.stdout


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.json"
    call("generate", "bot", "--preset", "small", "--seed", 3, "-o", path)
    return path


def test_generate_is_the_preset(small, tmp_path):
    assert load_instance(small) == generate("small", seed=3)
    default = tmp_path / "default.json"
    call("generate", "bot", "-o", default)
    drawn = generate("heterogeneous", seed=0)
    assert load_instance(default).applications == drawn.applications
    larger = tmp_path / "larger.json"
    said = call(
        *("generate", "bot", "--preset", "homogeneous", "--nodes", 12, "--applications", 2),
        *("--seed", 0, "-o", larger),
    )
    assert "12 nodes, 2 applications" in said
    assert load_instance(larger) == generate("homogeneous", seed=0, nodes=12, applications=2)


def test_show_names_applications_and_draws_the_platform(small, tmp_path):
    said = call("show", small, "--plot", tmp_path / "pictures")
    for word in ("proportional fairness", "application 1 (network)", "6 nodes", "tree"):
        assert word in said
    assert {p.name for p in (tmp_path / "pictures").iterdir()} == {"platform.png"}


@pytest.mark.parametrize("method", ["auto", "interior", "conic"])
def test_solve_is_certified_and_can_be_verified(small, tmp_path, method):
    target = tmp_path / "result.json"
    found = json.loads(call("solve", small, "--method", method, "--json", "-o", target))
    best = found["reference"]
    assert best["bound_level"] == "certified"
    assert 0 <= best["bound"] - best["value"] <= 1e-5
    assert "accepted" in call("verify", target)


def test_verify_rejects_a_value_that_the_rates_do_not_have(small, tmp_path):
    target = tmp_path / "result.json"
    call("solve", small, "-o", target)
    content = json.loads(target.read_text())
    content["optimum"]["schedule"]["rates"][0][2] *= 2
    target.write_text(json.dumps(content))
    assert "rejected" in call("verify", target, status=1)


@pytest.mark.slow
def test_ratio_compares_all_policies(small, tmp_path):
    pictures = tmp_path / "pictures"
    found = json.loads(call("ratio", small, "--json", "--plot", pictures))
    rows = {row["name"]: row for row in found["policies"]}
    assert set(rows) == {"adaptive", "naive", "local-share", "fifo"}
    weights = len(load_instance(small).applications)
    for row in rows.values():
        assert row["information"] == "local"
        if math.isfinite(float(row["value"])):
            ratio = math.exp((found["reference"]["value"] - row["value"]) / weights)
            assert row["ratio"]["low"] == pytest.approx(ratio, rel=1e-4)
    assert rows["adaptive"]["ratio"]["low"] < 1.2 < rows["fifo"]["ratio"]["low"]
    assert {"ratios.png", "platform.png", "rates.png", "prices.png"} <= {
        p.name for p in pictures.iterdir()
    }


def test_whoever_gives_nothing_to_somebody_is_infinitely_worse(tmp_path):
    path = tmp_path / "x.json"
    call("generate", "bot", "--preset", "small", "--seed", 1, "-o", path)
    (row,) = json.loads(call("ratio", path, "--policy", "naive", "--json"))["policies"]
    assert row["value"] == "-inf"
    assert row["ratio"]["low"] == "inf"


def test_ratio_of_the_sample():
    said = call("ratio", "sample", "--family", "bot", "--policy", "adaptive", "--policy", "fifo")
    for word in ("11 nodes, 3 applications", "adaptive", "fifo", "certified"):
        assert word in said


def test_export_to_the_conic_format(small, tmp_path):
    target = tmp_path / "program.cbf"
    call("export", small, "--to", "cbf", "-o", target)
    lines = target.read_text().splitlines()
    # one row per node and per arc, and the names of the equations they are
    for text in ("(10b) speed of each node: 6 rows", "(10c) bandwidth of each arc: 10 rows"):
        assert any(text in line for line in lines)
    assert "VER" in lines
    outcome = CliRunner().invoke(app, ["export", str(small), "--to", "lp"])
    assert outcome.exit_code != 0
