"""The benchmark of declared problems on tiny settings."""

import json

import declared
import pytest

pytestmark = pytest.mark.slow


def test_every_kind_is_measured(tmp_path):
    words = ["--results", str(tmp_path), "--seeds", "1", "--problems", "matching"]
    words += ["--families", "bipartite", "--queries", "40", "--files", "16"]
    declared.main(words)
    content = json.loads((tmp_path / "declared.json").read_text())
    assert content["complete"]
    assert {row["kind"] for row in content["rows"]} == set(declared.KINDS)
    by = {target["what"]: target for target in content["targets"]}
    assert by["forged files on which the checkers differ"]["met_must"]
    assert by["leaks in the gallery"]["met_must"]
    assert by["lines of a gallery problem"]["met_must"]
    assert by["bipartite through its own model: gap"]["met_must"]
    assert 0 < by["processor time of that"]["measured"] < 60
