"""Every benchmark runs on tiny settings, stores its report, and resumes after an interruption."""

import importlib
import json
import math
from argparse import Namespace
from contextlib import suppress

import bench
import oasis_fig5
import oasis_oracle
import pytest
import tables
from sweeps import sweep

pytestmark = pytest.mark.slow

SIZES = ["--jobs", "4", "--slots", "6", "--machines", "8"]
TINY = {
    "oasis_fig5": "--seeds 1",
    "oasis_scale": "--seeds 1 --presets earnable --time-limit 0.5 --alternative-limit 0.5 "
    "--verified-limit 0.5",
    "oasis_large": "--presets paper --time-limit 0.5",
    "oasis_online": "--seeds 1 --repeats 1",
    "oasis_oracle": "--seeds 1 --presets earnable --passes 1",
}


def run(name, folder, *more):
    argv = [*TINY[name].split(), *SIZES, "--results", str(folder), *more]
    importlib.import_module(name).main(argv)
    return json.loads((folder / f"{name}.json").read_text(), parse_constant=pytest.fail)


@pytest.fixture(scope="module", params=sweep(TINY, 3))
def stored(request, tmp_path_factory):
    """A benchmark's name, the folder of its results, and what it stored there."""
    folder = tmp_path_factory.mktemp("results")
    return request.param, folder, run(request.param, folder)


def test_what_is_stored(stored):
    name, _, content = stored
    assert content["complete"]
    assert content["rows"]
    assert {"python", "optsched", "highspy", "numba"} <= set(content["versions"])
    assert {"processor", "cores"} <= set(content["machine"])
    command = " ".join(["python", f"benchmarks/{name}.py", *TINY[name].split(), *SIZES])
    assert content["commands"] == [command]
    assert content["methods"]
    assert content["targets"]
    for target in content["targets"]:
        assert target["must"] is not None or target["aim"] is not None, target
        assert math.isfinite(target["measured"]), target
    width = len(content["table"]["columns"])
    assert all(len(line) == width for line in content["table"]["lines"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("stored", ["oasis_oracle"], indirect=True)
def test_the_oracle_agrees_with_the_plain_program(stored):
    rows = stored[2]["rows"]
    assert len(rows) == 2
    assert [row["different"] for row in rows] == [0, 0]
    assert any(row["accepted"] for row in rows)


def test_a_difference_to_the_plain_program_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(oasis_oracle, "_plain", lambda *_: -1.0)
    content = run("oasis_oracle", tmp_path)
    (target,) = [t for t in content["targets"] if "differ" in t["what"]]
    assert target["measured"] == 8  # 4 jobs at 2 factors
    assert target["met_must"] is False


def test_the_page_shows_every_target(stored, tmp_path):
    page = tmp_path / "benchmarks.md"
    _, folder, content = stored
    tables.main(["--results", str(folder), "-o", str(page)])
    text = page.read_text()
    assert "python benchmarks/tables.py" in text.splitlines()[0]
    assert f"## {content['title']}" in text
    assert all(f"| {target['what']} |" in text for target in content["targets"])


COUNTED = bench.Benchmark(
    "counted",
    "Counted",
    "How much is it together?",
    {"plus": "addition"},
    lambda rows: bench.Summary(
        ("sum",),
        [[sum(row["twice"] for row in rows)]],
        [bench.Target("sum", "", sum(row["twice"] for row in rows), must=7, aim=6)],
    ),
)
CELLS = [{"k": 1, "part": "a"}, {"k": 2, "part": "a"}, {"k": 1, "part": "b"}]


def count(folder, *, resume=False, cells=CELLS, fail_at=None, keep=lambda _row: False):
    measured = []

    def measure(cell):
        if len(measured) == fail_at:
            raise KeyboardInterrupt
        measured.append(cell)
        return {"twice": 2 * cell["k"]}

    options = Namespace(results=folder, resume=resume, command="python counted.py")
    with suppress(KeyboardInterrupt):
        COUNTED.run(cells, measure, options, keep)
    return measured, json.loads((folder / "counted.json").read_text())


def test_an_interrupted_benchmark_goes_on(tmp_path):
    measured, content = count(tmp_path, fail_at=1)
    assert (measured, content["complete"]) == ([CELLS[0]], False)
    assert "Not finished" in bench.markdown(content)
    measured, content = count(tmp_path)
    assert (measured, content["complete"]) == (CELLS[1:], True)
    assert [row["twice"] for row in content["rows"]] == [2, 4, 2]
    (target,) = content["targets"]
    assert (target["measured"], target["met_must"], target["met_aim"]) == (8, False, False)


def test_a_finished_benchmark_starts_anew(tmp_path):
    count(tmp_path)
    assert count(tmp_path)[0] == CELLS
    assert count(tmp_path, resume=True)[0] == []


def test_rows_of_other_code_are_measured_again(tmp_path, monkeypatch):
    count(tmp_path, fail_at=1)
    monkeypatch.setattr(bench, "code", lambda: "other")
    assert count(tmp_path, fail_at=0, resume=True)[1]["rows"][0]["k"] == 1
    assert count(tmp_path)[0] == CELLS


def test_other_parts_stay(tmp_path):
    count(tmp_path)
    measured, content = count(tmp_path, cells=CELLS[:2], keep=lambda row: row["part"] == "b")
    assert measured == CELLS[:2]
    assert len(content["rows"]) == 3


def row_of(seconds, highs_seconds, *, status="optimal", value=10.0, highs_value=10.0, packs=True):
    return {
        "status": status,
        "highs_status": "optimal",
        "seconds": seconds,
        "highs_seconds": highs_seconds,
        "value": value,
        "bound": value,
        "highs_value": highs_value,
        "highs_bound": highs_value,
        "highs_packs": packs,
        "time_limit": 120.0,
        "alternative_limit": 60.0,
    }


def test_contradictions_are_noticed():
    assert not oasis_fig5.contradicts(row_of(1.0, 1.0))
    assert oasis_fig5.contradicts(row_of(1.0, 1.0, highs_value=10.1))
    assert oasis_fig5.contradicts(row_of(1.0, 1.0, highs_value=9.9))
    assert not oasis_fig5.contradicts(row_of(1.0, 1.0, highs_value=10.1, packs=False))
