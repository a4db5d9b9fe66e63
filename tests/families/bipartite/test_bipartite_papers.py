"""The experiments of the OGASched paper, each on its smallest cell, cut short."""

import pytest
from sweeps import sweep

from optsched.core import simulate
from optsched.papers import bipartite
from optsched.papers.bipartite import EXPERIMENTS
from optsched.papers.experiment import Rows
from optsched.papers.verdict import Support


@pytest.mark.parametrize("experiment", sweep(EXPERIMENTS, 5), ids=lambda e: e.name)
def test_experiments_from_cell_to_verdict(experiment, monkeypatch):
    cells = experiment.cells(1)
    kept = {(c["panel"], c["label"]): c for c in cells}.values()
    monkeypatch.setattr(bipartite, "instance", _small)
    rows = [
        cell | {"changes": {"slots": _small(cell).horizon}} | experiment.run(cell, 5.0)
        for cell in kept
    ]
    assert experiment.judge(rows).findings
    assert experiment.picture(rows).axes


def _small(cell):
    from optsched.problem import get_family

    slots = 60 if cell["label"] not in (250, 500, 1000) else int(cell["label"]) // 5
    kept = {n: v for n, v in cell["changes"].items() if n in ("utilities", "contention", "scale")}
    return get_family("bipartite").generate(
        "small", seed=cell["seed"], slots=slots, ports=4, machines=6, **kept
    )


def rows(**rewards):
    known = (dict(zip(rewards, each, strict=True)) for each in zip(*rewards.values(), strict=True))
    return Rows({"rewards": each} for each in known)


def test_a_percentage_of_a_loss_means_nothing():
    same = {name: [-4.0, -3.0, -2.0] for name in bipartite.BASELINES}
    losing = rows(ogasched=[5.0, 6.0, 7.0], **same)
    found = bipartite.ahead(losing, "here")
    assert (found.unit, found.ours, found.verdict) == ("reward of a slot", 9.0, Support.HOLDS)
    assert bipartite.over(losing, "drf") is None
    earning = rows(ogasched=[5.0, 6.0, 7.5], **{n: [4.0, 5.0, 6.0] for n in bipartite.BASELINES})
    found = bipartite.ahead(earning, "here", paper=0.1)
    assert (found.unit, found.verdict) == ("%", Support.DIRECTION)
    assert found.ours == pytest.approx(18.5 / 15 - 1)


def test_with_all_machines_the_order_of_machines_changes_nothing():
    inst = _small({"label": 0, "seed": 3, "changes": {}})
    whole, half = (
        [simulate(inst, bipartite.policy(name + end)).value for name in ("binpacking", "spreading")]
        for end in ("", "-half")
    )
    assert whole[0] == whole[1]
    assert half[0] != half[1]


def test_the_published_order_steps_on_the_jobs_that_it_serves():
    inst = _small({"label": 0, "seed": 3, "changes": {}})
    after, before = (
        simulate(inst, bipartite.policy(n)) for n in (bipartite.PUBLISHED, bipartite.OURS)
    )
    assert (after.information, before.information) == ("after", "before")
    assert after.schedule.rewards[0] != 0 == before.schedule.rewards[0]
