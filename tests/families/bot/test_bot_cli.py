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
