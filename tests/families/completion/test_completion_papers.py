"""Figures 2 to 12: every one once in small, and verdicts by hand."""

from __future__ import annotations

import json

import pytest
from sweeps import sweep

from optsched.drawing import save
from optsched.families.completion.policies import BASELINES
from optsched.families.completion.sources.presets import generate
from optsched.papers.completion import EXPERIMENTS, totals, weights
from optsched.papers.completion.common import BOUND, draw, means
from optsched.simulation import simulate

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


def small(cell):
    """Shrink a cell until it takes a moment."""
    return cell | {"jobs": cell["jobs"] // 20, "servers": cell["servers"] // 5}


def ends(cells, x):
    """Return the cells of the first and of the last value that is swept."""
    values = [cell[x] for cell in cells]
    return [cell for cell in cells if cell[x] in (values[0], values[-1])]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(totals, "SLOTS", 30)
    monkeypatch.setattr(weights, "TAU", 24)


def test_all_figures_are_here():
    assert sorted(BY_NAME) == sorted(f"completion-fig{k}" for k in range(2, 13))


@pytest.mark.parametrize("name", sweep(BY_NAME, 4))
def test_a_figure_in_small(name, tmp_path):
    experiment = BY_NAME[name]
    x = experiment.summarize([])["x"]
    rows = [c | experiment.run(small(c), 0.1) for c in ends(experiment.cells(1), x)]
    summary = json.loads(json.dumps(experiment.summarize(rows), allow_nan=False))
    y = summary["y"]
    lines = {line["policy"]: means(summary, line["policy"]) for line in summary["lines"]}
    assert set(lines) == {cell["policy"] for cell in experiment.cells(1)}
    assert all(len(line) == 2 for line in lines.values())
    assert max(max(line) for line in lines.values()) > 0
    for line in lines.values():
        for at, bound in zip(line, lines.get(BOUND, line), strict=True):
            assert at >= bound if y == "total" else y == "seconds" or at <= bound
    outcome = experiment.judge(summary)
    assert isinstance(outcome.agrees, bool)
    assert any(letter.isdigit() for letter in outcome.words)
    save(experiment.draw(summary), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_what_is_swept_reaches_the_policy():
    cell = totals.cells(("ps",), "jobs", (5,), ("a_online",), 1)[0] | {"servers": 8}
    free = totals.run(cell, 0.0)["total"]
    inst = generate("paper", seed=0, jobs=5, slots=30, machines=8)
    assert free == simulate(inst, "a_online").value
    others = [{"most_workers": 1}, {"worker_type": 4}, {"architecture": "ring"}, {"seed": 1}]
    assert free not in [totals.run(cell | change, 0.0)["total"] for change in others]
    weight = {"jobs": 5, "servers": 8, "seed": 0, "policy": "a_maxweight"}
    loose, tight = (weights.run(weight | {"F": f}, 0.0)["weight"] for f in (None, 1e9))
    assert loose >= tight


def test_one_worker_type():
    inst = generate("paper", seed=0, jobs=3, machines=8)
    one = totals.only_type(inst, 5)
    assert one.worker_types == (inst.worker_types[5],)
    assert [job.batch_time for job in one.jobs] == [(job.batch_time[5],) for job in inst.jobs]


def test_picture_keeps_the_order_of_what_is_swept():
    rows = [{"policy": "a_online", "worker_type": m, "total": 1.0 + m} for m in totals.TYPES]
    axis = draw(BY_NAME["completion-fig9"].summarize(rows)).axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == [*"01234567", "free"]
    assert axis.lines[0].get_ydata().tolist() == [1.0 + m for m in totals.TYPES]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("worker type", "total weighted completion")


def summary_of(lines):
    """Return a summary of lines of means."""
    return {
        "x": "jobs",
        "y": "total",
        "lines": [
            {"policy": policy, "points": [{"x": k, "mean": v} for k, v in enumerate(values)]}
            for policy, values in lines.items()
        ],
    }


@pytest.mark.parametrize(("mine", "agrees"), [((70, 140), True), ((71, 140), False)])
def test_verdict_on_thirty_percent(mine, agrees):
    lines = {name: (100.0 + k, 200.0 + k) for k, name in enumerate(BASELINES)}
    dense = {"a_online-density": (35.0, 70.0)}
    summary = summary_of({"a_online": mine, **dense, **lines, BOUND: (50.0, 50.0)})
    outcome = totals.wins(summary)
    assert outcome.agrees is agrees
    assert "at most 2.80 times the certified bound" in outcome.words
    assert ("0.49 to 0.50 times as large" in outcome.words) is not agrees


@pytest.mark.parametrize(
    ("judge", "lines", "agrees"),
    [
        (totals.rises("a_online", "total", "since"), {"a_online": (1.0, 2.0)}, True),
        (totals.rises("a_online", "total", "since"), {"a_online": (1.0, 1.0)}, False),
        (totals.falls, {"a_online": (2.0, 1.0)}, True),
        (totals.falls, {"a_online": (1.0, 1.0)}, False),
        (totals.quick, {"ps": (1.0, 2.0), "ring": (1.0, 119.0)}, True),
        (totals.quick, {"ps": (1.0, 2.0), "ring": (1.0, 120.0)}, False),
        (totals.quick, {"ps": (1.0, 2.0), "ring": (2.0, 1.0)}, False),
        (totals.free_choice, {"ps": (4.0, 3.0, 3.0), "ring": (2.0, 5.0, 1.0)}, True),
        (totals.free_choice, {"ps": (4.0, 3.0, 3.1), "ring": (2.0, 5.0, 1.0)}, False),
        (weights.changes(-1, "weight", "since"), {"a_maxweight": (2.0, 1.0)}, True),
        (weights.changes(-1, "weight", "since"), {"a_maxweight": (1.0, 2.0)}, False),
        (weights.changes(1, "weight", "since"), {"a_maxweight": (1.0, 2.0)}, True),
    ],
)
def test_verdicts_by_hand(judge, lines, agrees):
    outcome = judge(summary_of(lines))
    assert outcome.agrees is agrees
    assert not agrees or "since" not in outcome.words


@pytest.mark.parametrize(
    ("ours", "theirs", "agrees"),
    [
        ((3.0, 4.0), (2.0, 3.0), True),
        ((3.0, 4.0), (2.0, 4.0), False),
        ((0.0, 4.0), (0.0, 0), False),
    ],
)
def test_verdict_on_the_greedy(ours, theirs, agrees):
    lines = {"a_maxweight": ours, "density": (6.0, 6.0), "jain": theirs, BOUND: (6.0, 8.0)}
    summary = summary_of(lines)
    outcome = weights.beats_jain(summary)
    assert outcome.agrees is agrees
    assert ("times as much" in outcome.words) is not agrees
    assert len(draw(summary).axes[0].lines) == 4
