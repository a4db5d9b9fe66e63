"""The main command in a terminal of 80 columns and through a pipe: no name or number is cut."""

import json
import re

import pytest
from sweeps import sweep
from terminal import shown

from optsched.files.format import save_instance
from optsched.problem import families, get_family

pytestmark = pytest.mark.slow

pytest.importorskip("pty")
WORDS = re.compile(r"[^\s│┃]+")


@pytest.fixture(scope="module", params=sweep(families(), 2))
def compared(request, tmp_path_factory):
    """A result with runs, and what `ratio` reported in a terminal when it made it."""
    folder = tmp_path_factory.mktemp(request.param)
    small, result = folder / "small.json", folder / "result.json"
    save_instance(get_family(request.param).generate("small", seed=0), small)
    status, text = shown("ratio", small, "--time-limit", 0.5, "-o", result, "-v")
    assert status == 0, text
    return small, result, text


def test_a_terminal_of_80_columns_shows_names_and_values_whole(compared):
    small, result, text = compared
    family = json.loads(small.read_text())["family"]
    runs = json.loads(result.read_text())["runs"]
    assert [run["policy"] for run in runs] == get_family(family).compared
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text
    tables = [set(WORDS.findall(line)) for line in text.splitlines() if line.startswith("│")]
    for run in runs:
        rows = [row for row in tables if run["policy"] in row]
        assert any(f"{float(run['value']):.6g}" in row for row in rows), run["policy"]


def test_a_pipe_has_one_table_on_stdout_and_rows_on_stderr(compared, call, monkeypatch):
    small, result, _ = compared
    monkeypatch.delenv("COLUMNS", raising=False)
    # the optimum is not solved again: so all that takes time is told of policies
    status, out, err = call("ratio", small, "--optimum", result)
    assert status == 0
    assert out.count("┏") == 1
    names = get_family(json.loads(small.read_text())["family"]).compared
    heads = [line.split()[0] for line in err.splitlines()]
    assert sorted(h for h in heads if h in names) == sorted(names)
    for run in json.loads(result.read_text())["runs"]:
        assert f"{float(run['value']):.6g}" in out
        assert f"{float(run['value']):.6g}" in err
    monkeypatch.setenv("COLUMNS", "70")
    lines = call("show", result)[1].splitlines()
    assert all(len(line) <= 70 for line in lines if line[:1] in {*"┏┃┡│└"})
    assert any(len(line) > 70 for line in lines)  # sentences are never wrapped
