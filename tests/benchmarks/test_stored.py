"""Every benchmark: its stored table and figures follow from its rows; some run on tiny settings."""

import importlib
import json

import pytest
from bench import RESULTS, Benchmark, plain

pytestmark = pytest.mark.slow
NO_BENCHMARK = {"oasis_baseline_grid"}  # a picture of rows of another one
STORED = sorted(path.stem for path in RESULTS.glob("*.json") if path.stem not in NO_BENCHMARK)
RUNS = {
    "certify": "--kinds integer linear --models set+cover --queries 40",
    "declared": "--seeds 1 --problems matching --families bipartite --queries 40 --files 16",
    "frontier": "--families bot --limits 60 --seeds 1 --largest 4",
    "campaign_kills": "--repetitions 40 --only coverage",
}


@pytest.mark.parametrize("name", STORED)
def test_what_is_stored_follows_from_the_rows(name):
    (made,) = (x for x in vars(importlib.import_module(name)).values() if isinstance(x, Benchmark))
    content = json.loads((RESULTS / f"{name}.json").read_text())
    said = made.summarize(content["rows"])
    assert plain([list(line) for line in said.lines]) == content["table"]["lines"]
    assert {*said.figures} == {*content["figures"]}
    assert [t.what for t in said.targets] == [t["what"] for t in content["targets"]]
    for target, stored in zip(said.targets, content["targets"], strict=True):
        there = stored["measured"]
        expected = None if there is None else pytest.approx(there, rel=1e-9)
        assert target.measured == expected, target.what


@pytest.mark.parametrize("name", RUNS)
def test_a_tiny_run_is_complete_and_meets_what_must_be(name, tmp_path):
    words = [word.replace("+", " ") for word in RUNS[name].split()]
    importlib.import_module(name).main([*words, "--results", str(tmp_path)])
    content = json.loads((tmp_path / f"{name}.json").read_text())
    assert content["complete"]
    assert content["rows"]
    assert content["table"]["lines"]
