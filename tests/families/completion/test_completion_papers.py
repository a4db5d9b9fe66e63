"""Figures 2 to 12: every one once in small, and verdicts by hand."""

import json

import pytest
from sweeps import sweep
from verdicts import worst

from optsched.core import simulate
from optsched.drawing import save
from optsched.families.completion.policies.baselines import Fifo
from optsched.families.completion.sources.presets import generate
from optsched.papers.completion import EXPERIMENTS, figures
from optsched.papers.completion.figures import AMPLE, BOUND
from optsched.papers.experiment import Rows
from optsched.papers.verdict import NOISE, SAME, Support

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


def small(cell):
    """Shrink a cell until it takes a moment."""
    return cell | {"jobs": cell["jobs"] // 20, "servers": cell["servers"] // 25}


def ends(cells, x):
    """Return the cells of the first and of the last value that is swept."""
    values = [cell[x] for cell in cells]
    return [cell for cell in cells if cell[x] in (values[0], values[-1])]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(figures, "SLOTS", 30)
    monkeypatch.setattr(figures, "TAU", 24)


def test_all_figures_are_here():
    assert sorted(BY_NAME) == sorted(f"completion-fig{k}" for k in range(2, 13))


@pytest.mark.slow
@pytest.mark.parametrize("name", sweep(BY_NAME, 4))
def test_a_figure_in_small(name, tmp_path):
    experiment = BY_NAME[name]
    x, y = (experiment.draw.keywords[axis] for axis in "xy")
    rows = [c | experiment.run(small(c), 0.1) for c in ends(experiment.cells(1), x)]
    rows = Rows(json.loads(json.dumps(rows, allow_nan=False)))
    lines = {policy: part.values(y) for policy, part in rows.by("policy").items()}
    assert set(lines) == {cell["policy"] for cell in experiment.cells(1)}
    assert all(len(line) == 2 or AMPLE in name for name, line in lines.items())
    assert max(max(line) for line in lines.values()) > 0
    for policy, line in lines.items():
        if policy.startswith(("tiresias", "antman")):  # these preempt, beyond any bound
            continue
        below = f"{BOUND}, {AMPLE}" if AMPLE in policy else BOUND
        for at, bound in zip(line, lines.get(below, line), strict=True):
            assert at >= bound if y == "total" else y == "seconds" or at <= bound
    outcome = experiment.judge(rows)
    assert worst(outcome) in Support
    assert any(
        letter.isdigit() for letter in "; ".join([*map(str, outcome.findings), *outcome.notes])
    )
    save(experiment.picture(rows), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_what_is_swept_reaches_the_policy():
    cell = figures.cells_total(1, x="jobs", values=(5,))[0] | {"servers": 8}
    free = figures.run_total(cell, 0.0)["total"]
    assert free == simulate(figures.instance(cell, 30), "a_online").value
    others = [{"most_workers": 1}, {"worker_type": 4}, {"architecture": "ring"}, {"seed": 1}]
    assert free not in [figures.run_total(cell | change, 0.0)["total"] for change in others]
    weight = {"jobs": 5, "servers": 8, "seed": 0, "runs": "a_maxweight"}
    loose, tight = (figures.run_weight(weight | {"F": f}, 0.0)["weight"] for f in (None, 1e9))
    assert loose >= tight


@pytest.mark.parametrize("servers", [50, 100, 300])
def test_servers_share_one_capacity(servers):
    cell = {"jobs": 100, "seed": 100, "servers": servers}
    inst = figures.instance(cell, 30)
    assert sum(c.count for c in inst.servers) == servers
    demand = figures.ideal_gpus(generate("paper", seed=100, jobs=100, slots=30, machines=150))
    gpus = sum(c.count * c.capacity[0] for c in inst.servers)
    # whole GPUs on whole servers: half a GPU per server may be off
    largest = max(c.capacity[0] for c in inst.servers)
    assert abs(gpus - figures.SHARE * demand) <= servers / 2 + largest
    other = figures.instance(cell | {"servers": 150}, 30)
    assert inst.jobs == other.jobs


def test_a_fixed_number_of_workers_is_drawn_for_every_job():
    inst = generate("paper", seed=0, jobs=12, machines=30)
    made = simulate(inst, Fifo(30, fewest=1), seed=0)
    used = {sum(n for *_, n in pieces[0].workers) for pieces in made.schedule.jobs}
    assert len(used) > 3
    assert max(used) <= 30
    assert made.value == simulate(inst, Fifo(30, fewest=1), seed=0).value
    assert made.value != simulate(inst, Fifo(30), seed=0).value
    with pytest.raises(ValueError, match="fewest is 31"):
        Fifo(30, fewest=31)


def test_one_worker_type():
    inst = generate("paper", seed=0, jobs=3, machines=8)
    one = figures.only_type(inst, 5)
    assert one.worker_types == (inst.worker_types[5],)
    assert [job.batch_time for job in one.jobs] == [(job.batch_time[5],) for job in inst.jobs]


def test_picture_keeps_the_order_of_what_is_swept():
    rows = [{"policy": "a_online", "worker_type": m, "total": 1.0 + m} for m in figures.TYPES]
    axis = BY_NAME["completion-fig9"].picture(rows).axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == [*"01234567", "free"]
    assert axis.lines[0].get_ydata().tolist() == [1.0 + m for m in figures.TYPES]
    assert axis.get_xlabel() == "worker type of all jobs"


def rows_of(lines, noise=1.0):
    """Return rows of lines of means, of three instances that differ by a hundredth.

    What is swept, and what is measured, have all the names that a figure may give them.
    """
    return [
        {"policy": policy, "seed": seed}
        | dict.fromkeys(("jobs", "F", "most_workers", "worker_type", "servers"), k)
        | dict.fromkeys(("total", "weight", "seconds"), v * (1 + noise * e))
        for policy, values in lines.items()
        for k, v in enumerate(values)
        for seed, e in enumerate((-0.01, 0, 0.01))
    ]


@pytest.mark.parametrize(
    ("mine", "verdict"),
    [((70, 140), Support.HOLDS), ((90, 180), Support.DIRECTION), ((120, 240), Support.FAILS)],
)
def test_verdict_on_thirty_percent(mine, verdict):
    rows = rows_of(dict.fromkeys(figures.ALL, (100.0, 200.0)) | {"a_online": mine})
    outcome = BY_NAME["completion-fig2"].judge(rows)
    assert worst(outcome) is verdict
    preempting = [f for f in outcome.findings if "preempts" in f.claim]
    assert [f.verdict for f in preempting] == [None, None]
    assert "leave the model" in "; ".join([*map(str, outcome.findings), *outcome.notes])


UP, DOWN, FLAT = (1.0, 2.0), (2.0, 1.0), (1.0, 1.0)


@pytest.mark.parametrize(
    ("number", "lines", "verdict"),
    [
        (4, {"a_online": UP, BOUND: FLAT}, Support.HOLDS),
        (4, {"a_online": DOWN, BOUND: FLAT}, Support.FAILS),
        (10, {"a_online": DOWN}, Support.HOLDS),
        (10, {"a_online": UP}, Support.FAILS),
        (7, {"ps": UP, "ring": (1.0, 110.0)}, Support.HOLDS),
        (7, {"ps": UP, "ring": (1.0, 130.0)}, Support.FAILS),
        (7, {"ps": UP, "ring": DOWN}, Support.FAILS),
        (9, {"ps": (4.0, 3.0, 2.0), "ring": (2.0, 5.0, 1.0)}, Support.HOLDS),
        (9, {"ps": (4.0, 3.0, 3.1), "ring": (2.0, 5.0, 1.0)}, Support.FAILS),
        (11, {"a_maxweight": DOWN}, Support.HOLDS),
        (11, {"a_maxweight": UP}, Support.FAILS),
        (8, {"a_maxweight": UP, "jain": FLAT, "density": UP, BOUND: UP}, Support.HOLDS),
        (8, {"a_maxweight": FLAT, "jain": UP, "density": UP, BOUND: UP}, Support.FAILS),
    ],
)
def test_verdicts_by_hand(number, lines, verdict):
    assert worst(BY_NAME[f"completion-fig{number}"].judge(rows_of(lines))) is verdict


def test_an_effect_of_one_instance_among_four_equal_ones_is_none():
    """As Fig. 4 once agreed: four of five instances gave the same total at every F."""
    rows = rows_of({"a_online": FLAT, BOUND: FLAT})
    judge = BY_NAME["completion-fig4"].judge
    assert judge(rows).findings[0].note == SAME
    changed = [
        row | {"total": (0.99, 1.0, 1.013)[row["seed"]]} if row["F"] == 1 else row
        for row in rows
        if row["policy"] == "a_online"
    ]
    outcome = judge([*changed, *(row for row in rows if row["policy"] == BOUND)])
    assert worst(outcome) is Support.UNKNOWN
    assert outcome.findings[0].note == NOISE


def test_more_servers_less_weight_more_jobs_more():
    def verdict(few, many):
        known = {"a_maxweight, 100 jobs": few, "a_maxweight, 200 jobs": many}
        lines = known | dict.fromkeys(("jain, 100 jobs", "jain, 200 jobs"), UP)
        return worst(BY_NAME["completion-fig12"].judge(rows_of(lines)))

    assert verdict((2, 1), (4, 3)) is Support.HOLDS
    assert verdict((2, 1), (3, 4)) is Support.FAILS
    assert verdict((4, 3), (2, 1)) is Support.FAILS
