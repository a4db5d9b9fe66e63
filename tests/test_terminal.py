"""The main command in a terminal of 80 columns and through a pipe: no name or number is cut."""

from __future__ import annotations

import json
import re

import pytest
from terminal import piped, shown

from optsched.problem import families, get_family

pytest.importorskip("pty")
WORDS = re.compile(r"[^\s│┃]+")


@pytest.fixture(scope="module", params=families())
def compared(request, tmp_path_factory):
    """A result with runs, and what `ratio` said in a terminal when it made it."""
    folder = tmp_path_factory.mktemp(request.param)
    small, result = folder / "small.json", folder / "result.json"
    assert piped("generate", request.param, "--preset", "small", "-o", small).status == 0
    status, text = shown("ratio", small, "--time-limit", 2, "-o", result, "-v")
    assert status == 0, text
    return small, result, text


def test_a_terminal_of_80_columns_shows_names_and_values_whole(compared):
    small, result, text = compared
    family = json.loads(small.read_text())["family"]
    runs = json.loads(result.read_text())["runs"]
    assert [run["policy"] for run in runs] == list(get_family(family).policies)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text
    tables = [set(WORDS.findall(line)) for line in text.splitlines() if line.startswith("│")]
    for run in runs:
        rows = [row for row in tables if run["policy"] in row]
        assert any(f"{float(run['value']):.6g}" in row for row in rows), run["policy"]


def test_a_pipe_has_one_table_on_stdout_and_rows_on_stderr(compared):
    small, result, _ = compared
    # the optimum is not solved again: so all that takes time is told of policies
    found = piped("ratio", small, "--optimum", result)
    assert found.status == 0
    assert found.out.count("┏") == 1
    names = list(get_family(json.loads(small.read_text())["family"]).policies)
    heads = [line.split()[0] for line in found.err.splitlines()]
    assert sorted(h for h in heads if h in names) == sorted(names)
    for run in json.loads(result.read_text())["runs"]:
        assert f"{float(run['value']):.6g}" in found.out
        assert f"{float(run['value']):.6g}" in found.err
