"""The experiments of the OGASched paper, each on its smallest cell, cut short."""

import pytest
from sweeps import sweep

from optsched.core import simulate
from optsched.papers.bipartite import EXPERIMENTS, common
from optsched.papers.verdict import Verdict


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


def point(**rewards):
    known = {n: {"mean": sum(v) / len(v), "values": v} for n, v in rewards.items()}
    return {"rewards": known, "tells": True}


def test_a_percentage_of_a_loss_means_nothing():
    same = {name: [-4.0, -3.0, -2.0] for name in common.BASELINES}
    losing = point(ogasched=[5.0, 6.0, 7.0], **same)
    found = common.ahead(losing, "here")
    assert (found.unit, found.ours, found.verdict) == ("reward of a slot", 9.0, Verdict.HOLDS)
    assert common.over(losing, "drf") is None
    earning = point(ogasched=[5.0, 6.0, 7.5], **{n: [4.0, 5.0, 6.0] for n in common.BASELINES})
    found = common.ahead(earning, "here", paper=0.1)
    assert (found.unit, found.verdict) == ("%", Verdict.DIRECTION)
    assert found.ours == pytest.approx(18.5 / 15 - 1)


def test_with_all_machines_the_order_of_machines_changes_nothing():
    inst = _small({"label": 0, "seed": 3, "changes": {}})
    whole, half = (
        [simulate(inst, common.policy(name + end)).value for name in ("binpacking", "spreading")]
        for end in ("", "-half")
    )
    assert whole[0] == whole[1]
    assert half[0] != half[1]


def test_the_published_order_steps_on_the_jobs_that_it_serves():
    inst = _small({"label": 0, "seed": 3, "changes": {}})
    after, before = (simulate(inst, common.policy(n)) for n in (common.PUBLISHED, common.OURS))
    assert (after.information, before.information) == ("after", "before")
    assert after.schedule.rewards[0] != 0 == before.schedule.rewards[0]
