"""Pictures: the numbers in them by hand, and that they are drawn."""

from __future__ import annotations

import matplotlib.image
import numpy as np
import pytest
from oasis_reference import FILES, load, schedule
from test_ratios import optimum

from optsched import plots
from optsched.drawing import HINDSIGHT
from optsched.families.oasis.instance import JobSchedule, OasisSchedule
from optsched.families.oasis.pictures import pictures, usage
from optsched.problem import get_family
from optsched.progress import Point
from optsched.ratios import compare


@pytest.fixture(scope="module")
def report():
    """A comparison, and a history, of a reference instance whose optimum is known."""
    instance, known = load(FILES[0])
    value = known["optimum"]
    steps = ((0.1, None, 2 * value), (0.5, value / 2, 2 * value), (0.9, value, 1.1 * value))
    best = optimum(
        instance,
        status="feasible",
        value=value,
        bound=1.1 * value,
        value_level="certified",
        bound_level="certified",
        schedule=schedule(known["optimum_schedule"]),
        seconds=1.0,
        history=tuple(Point(seconds=s, value=v, bound=b) for s, v, b in steps),
    )
    return instance, compare(instance, ["fifo", "drf"], optimum=best)


def test_use_of_capacity_worked_by_hand():
    instance = get_family("oasis").generate("small", seed=1)
    job = instance.jobs[0]
    plan = JobSchedule(workers=((4, 0, 2), (5, 1, 1)), ps=((4, 0, 1),))
    found = usage(instance, OasisSchedule(jobs=(plan,) + (None,) * (len(instance.jobs) - 1)))
    for r, resource in enumerate(instance.resources):
        total = sum(machine[r] for machine in instance.worker_capacity)
        expected = np.zeros(instance.horizon)
        expected[4] = 2 * job.worker_demand[r] / total
        expected[5] = job.worker_demand[r] / total
        assert found[f"worker machines: {resource}"] == pytest.approx(expected)
        there = sum(machine[r] for machine in instance.ps_capacity)
        if there == 0:
            assert f"PS machines: {resource}" not in found
        else:
            assert found[f"PS machines: {resource}"][4] == pytest.approx(job.ps_demand[r] / there)


def test_no_schedule_uses_more_than_there_is(report):
    instance, found = report
    for made in [found.optimum.schedule, *(run.schedule for run in found.runs)]:
        for share in usage(instance, made).values():
            assert share.shape == (instance.horizon,)
            assert 0 <= share.min() <= share.max() <= 1 + 1e-9


def test_every_picture_of_a_comparison_is_written(report, tmp_path):
    instance, found = report
    made = plots.save_report(instance, found, tmp_path)
    names = {"ratios.png", "schedules.png", "capacity.png", "convergence.png"}
    assert {path.name for path in made} == names == {path.name for path in tmp_path.iterdir()}
    for path in made:
        pixels = matplotlib.image.imread(path)
        assert min(pixels.shape[:2]) > 150
        assert pixels[..., :3].std() > 0.01  # not blank


def test_gantt_shows_each_schedule_beside_the_other(report):
    instance, found = report
    shown = {HINDSIGHT: found.optimum.schedule, "fifo": found.runs[0].schedule}
    figure = pictures(instance, shown)["schedules"]
    panels = figure.axes[:2]
    titles = [axis.get_title() for axis in panels]
    assert titles[0].startswith(f"hindsight: value {found.optimum.value:.5g}")
    assert titles[1].startswith(f"fifo: value {found.runs[0].value:.5g}")
    done = sum(c is not None for c in found.runs[0].completion)
    assert len(panels[1].texts) == done  # the utility of each completed job
    for axis in panels:
        assert axis.get_xlim() == (0, instance.horizon)


def test_gantt_of_an_instance_alone_and_of_many_jobs(tmp_path):
    instance = get_family("oasis").generate("earnable", seed=0, jobs=100, slots=60, machines=20)
    assert len(pictures(instance, {})["jobs"].axes) == 1
    made = plots.save_show(instance, {}, tmp_path)
    assert [path.name for path in made] == ["jobs.png"]
    height, width = matplotlib.image.imread(made[0]).shape[:2]
    assert height > 1000  # a row for each of 100 jobs
    assert width > 500


def test_convergence_ends_at_what_is_known(report):
    _, found = report
    axis = plots.convergence(found.optimum).axes[0]
    ends = {line.get_label().split()[0]: line.get_ydata()[-1] for line in axis.lines}
    assert ends["bound:"] == pytest.approx(found.optimum.bound)
    assert ends["value"] == pytest.approx(found.optimum.value)


def test_ratio_bars_are_as_long_as_the_ratios(report):
    _, found = report
    axis = plots.ratio_bars(found).axes[0]
    lengths = [bar.get_width() for bar in axis.patches]
    for row in found.policies:
        assert any(length == pytest.approx(row.ratio.low) for length in lengths)
        width = row.ratio.high - row.ratio.low
        assert any(length == pytest.approx(width) for length in lengths)


def test_infinite_ratio_can_be_drawn(report):
    _, found = report
    row = found.policies[0]
    endless = row.ratio.model_copy(update={"low": float("inf"), "high": float("inf")})
    changed = row.model_copy(update={"ratio": endless})
    rows = (changed, *found.policies[1:])
    axis = plots.ratio_bars(found.model_copy(update={"policies": rows})).axes[0]
    assert np.isfinite(axis.get_xlim()).all()
