"""The experiments of the OGASched paper, each on its smallest cell, cut short."""

import pytest
from sweeps import sweep

from optsched.papers.bipartite import EXPERIMENTS, common


@pytest.mark.parametrize("experiment", sweep(EXPERIMENTS, 5), ids=lambda e: e.name)
def test_experiments_from_cell_to_verdict(experiment, monkeypatch):
    cells = experiment.cells(1)
    kept = {(c["panel"], c["label"]): c for c in cells}.values()
    monkeypatch.setattr(common, "instance", _small)
    for module in ("fig2", "fig5"):
        monkeypatch.setattr(f"optsched.papers.bipartite.{module}.SLOTS", 60)
    rows = [cell | experiment.run(cell, 5.0) for cell in kept]
    summary = experiment.summarize(rows)
    outcome = experiment.judge(summary)
    assert outcome.words
    assert experiment.draw(summary).axes


def _small(cell):
    from optsched.problem import get_family

    slots = 60 if cell["label"] not in (250, 500, 1000) else int(cell["label"]) // 5
    kept = {n: v for n, v in cell["changes"].items() if n in ("utilities", "contention", "scale")}
    return get_family("bipartite").generate(
        "small", seed=cell["seed"], slots=slots, ports=4, machines=6, **kept
    )


def test_a_percentage_of_a_loss_means_nothing():
    rewards = {"ogasched": {"mean": 5.0}, "drf": {"mean": -2.0}, "fairness": {"mean": 4.0}}
    assert common.gain(rewards, "drf") == "+7 to DRF (which earns -2)"
    assert common.gain(rewards, "fairness") == "+25.0 % to Fairness"
