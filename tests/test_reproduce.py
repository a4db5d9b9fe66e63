"""Experiments: stored, taken up again, the same on any number of processes; verdicts by hand."""

from __future__ import annotations

import dataclasses
import json

import pytest
from matplotlib.figure import Figure
from squares import RAN, run

from optsched.families.oasis.instance import OasisInstance
from optsched.papers import PAPERS, experiments
from optsched.papers.experiment import Experiment, Outcome, mean_with_interval
from optsched.papers.oasis import fig3, fig4, fig5, fig6
from optsched.papers.oasis.common import FLOORED, SCHEMES
from optsched.problem import InputError
from optsched.reproduce import reproduce


def judge(summary):
    return Outcome(summary["sum"] == 14, f"the sum is {summary['sum']}")


SQUARES = Experiment(
    name="squares",
    title="Squares",
    claim="they add up to 14",
    seeds=4,
    time_limit=1.0,
    cells=lambda seeds: [{"k": k} for k in range(seeds)],
    run=run,
    summarize=lambda rows: {"sum": sum(row["square"] for row in rows)},
    judge=judge,
    draw=lambda _summary: Figure(),
)


def numbers(path):
    content = json.loads(path.read_text())
    return {k: content[k] for k in ("rows", "summary", "agrees", "verdict")}


def test_everything_is_stored(tmp_path):
    found = reproduce(SQUARES, tmp_path, workers=1, command="optsched reproduce squares")
    content = json.loads(found.results.read_text())
    assert content["kind"] == "reproduction"
    assert content["command"] == "optsched reproduce squares"
    assert {"python", "numpy", "optsched"} <= set(content["versions"])
    assert {"processor", "cores"} <= set(content["machine"])
    assert [row["square"] for row in content["rows"]] == [0, 1, 4, 9]
    assert content["rows"][0]["ratio"] == "inf"
    assert (content["agrees"], content["verdict"]) == (True, "the sum is 14")
    assert found.picture.exists()
    assert "agrees with the paper" in str(found)
    assert "the sum is 14" in str(found)


def test_disagreement_is_said(tmp_path):
    assert "does not agree" in str(reproduce(SQUARES, tmp_path, seeds=3, workers=1))


def test_what_is_stored_is_not_computed_again(tmp_path):
    RAN.clear()
    reproduce(SQUARES, tmp_path, seeds=2, workers=1)
    told = []
    reproduce(SQUARES, tmp_path, seeds=4, workers=1, tell=told.append)
    assert RAN == [0, 1, 2, 3]
    assert told == ["3 of 4 cells", "4 of 4 cells"]
    reproduce(SQUARES, tmp_path, seeds=4, workers=1, time_limit=9.0)
    assert RAN == [0, 1, 2, 3, 0, 1, 2, 3]  # another time limit, other numbers


def test_number_of_processes_changes_nothing(tmp_path):
    for workers in (1, 2):
        (tmp_path / str(workers)).mkdir()
        reproduce(SQUARES, tmp_path / str(workers), workers=workers)
    one, two = (numbers(tmp_path / str(w) / "squares.json") for w in (1, 2))
    assert one == two


def test_ctrl_c_keeps_what_is_done(tmp_path):
    def interrupted(cell, time_limit):
        if cell["k"] == 2:
            raise KeyboardInterrupt
        return run(cell, time_limit)

    broken = dataclasses.replace(SQUARES, run=interrupted)
    found = reproduce(broken, tmp_path, workers=1)
    assert found.outcome is None
    assert "2 of 4 cells done" in str(found)
    RAN.clear()
    assert reproduce(SQUARES, tmp_path, workers=1).outcome.agrees
    assert RAN == [2, 3]


def test_broken_results_file(tmp_path):
    (tmp_path / "squares.json").write_text('{"format": 1, "kind": "result"}')
    with pytest.raises(InputError, match="expected 'reproduction'"):
        reproduce(SQUARES, tmp_path, workers=1)


def test_names_begin_with_the_family():
    for paper in PAPERS:
        assert all(e.name.startswith(f"{paper}-") for e in experiments(paper))
        assert {e.family for e in experiments(paper)} == {paper}


def test_cells_have_names_of_their_own():
    for experiment in (e for paper in PAPERS for e in experiments(paper)):
        cells = [json.dumps(cell, sort_keys=True) for cell in experiment.cells(2)]
        assert len({*cells}) == len(cells) > 1


def test_fig4_has_a_hundred_jobs_of_each_kind():
    instance = fig4.workload("paper", 0)
    assert isinstance(instance, OasisInstance)
    assert sum(map(fig4.is_critical, instance.jobs)) == 100
    assert len(instance.jobs) == len(instance.work) == 200


def small(module, monkeypatch):
    """Shrink the instances of a figure until a cell takes a moment."""
    monkeypatch.setattr(module, "SLOTS", 20)
    monkeypatch.setattr(module, "MACHINES", 20)


@pytest.mark.parametrize("scheme", ["oasis", FLOORED, "fifo"])
def test_fig3_cell(monkeypatch, scheme):
    small(fig3, monkeypatch)
    cell = {"preset": "earnable", "jobs": 5, "seed": 0, "scheme": scheme}
    row = fig3.run(cell, 0.0)
    assert row["value"] >= 0
    assert 0 <= row["completed"] <= 5


def test_fig5_cell():
    row = fig5.run({"machines": 40, "priority": 10, "seed": 0}, 0.5)
    assert set(row["ratios"]) == {"oasis", FLOORED}
    low = float(row["ratios"]["oasis"]["low"])
    assert low >= 1
    assert row["value"] is not None


def test_fig6_cell_with_the_true_estimate_is_oasis(monkeypatch):
    small(fig6, monkeypatch)
    small(fig3, monkeypatch)
    cell = {"preset": "earnable", "jobs": 5, "scheme": "oasis", "seed": 0}
    true = fig6.run(cell | {"percent": 100}, 0.0)
    assert true["value"] == fig3.run(cell, 0.0)["value"]


def lines3(oasis):
    rows = []
    for preset in ("paper", "earnable"):
        for n in (100, 200):
            for scheme in SCHEMES:
                value = oasis[n] if scheme == "oasis" else 10.0
                for seed in range(2):
                    row = {"preset": preset, "jobs": n, "seed": seed, "scheme": scheme}
                    rows.append(row | {"value": value + seed, "completed": 1})
    return fig3.summarize(rows)


@pytest.mark.parametrize(
    ("oasis", "agrees"),
    [({100: 11.0, 200: 20.0}, True), ({100: 20.0, 200: 11.0}, False), ({100: 9, 200: 20.0}, False)],
)
def test_fig3_verdict(oasis, agrees):
    summary = lines3(oasis)
    assert summary["paper"]["oasis"][0]["mean"] == oasis[100] + 0.5
    outcome = fig3.judge(summary)
    assert outcome.agrees is agrees
    assert "at 200 jobs" in outcome.words
    assert len(fig3.draw(summary).axes) == 2


@pytest.mark.parametrize(("spread", "agrees"), [(0.5, True), (9.0, False)])
def test_fig4_verdict(spread, agrees):
    rows = []
    for scheme in SCHEMES:
        width = spread if scheme == "oasis" else 2.0
        late = {kind: [-width, width, 0.1] for kind in fig4.KINDS}
        if scheme != "oasis":
            late = {kind: [x + 5 for x in xs] for kind, xs in late.items()}
        rows.append({"preset": "paper", "seed": 0, "scheme": scheme, "value": 1.0, "late": late})
    summary = fig4.summarize(rows)
    assert fig4.judge(summary).agrees is agrees
    assert len(fig4.draw(summary).axes) == 1


def test_fig4_without_a_completed_job():
    late = {kind: [] for kind in fig4.KINDS}
    rows = [{"preset": "paper", "scheme": s, "seed": 0, "late": late} for s in SCHEMES]
    summary = fig4.summarize(rows)
    assert not fig4.judge(summary).agrees
    fig4.draw(summary)


@pytest.mark.parametrize(
    ("low", "high", "agrees"), [(1.2, 1.3, True), (1.2, 1.9, False), (1.01, 1.05, False)]
)
def test_fig5_verdict(low, high, agrees):
    ratio = {"low": low, "high": high, "exact": False, "bounded": "high", "guarantee": None}
    rows = [
        {"machines": m, "priority": top, "seed": seed, "status": "feasible", "seconds": 1.0}
        | {"ratios": {"oasis": ratio, FLOORED: ratio}}
        for m in (20, 40)
        for top in (10, 50)
        for seed in range(2)
    ]
    summary = fig5.summarize(rows)
    outcome = fig5.judge(summary)
    assert outcome.agrees is agrees
    assert "0 of 8 optima proved" in outcome.words
    fig5.draw(summary)


@pytest.mark.parametrize(("low", "agrees"), [(20.0, True), (5.0, False), (10.0, False)])
def test_fig6_verdict(low, agrees):
    rows = [
        cell | {"value": low if cell["percent"] < 100 else 10.0, "completed": 1}
        for cell in fig6.cells(1)
    ]
    summary = fig6.summarize(rows)
    assert fig6.judge(summary).agrees is agrees
    assert len(fig6.draw(summary).axes) == 4


def test_mean_with_interval_by_hand():
    # three numbers go by Student's table
    found = mean_with_interval([1.0, 2.0, 3.0])
    assert (found["mean"], found["count"]) == (2.0, 3)
    assert found["interval"] == pytest.approx([2 - 4.302652730 / 3**0.5, 2 + 4.302652730 / 3**0.5])
    assert mean_with_interval([4.0])["interval"] is None
