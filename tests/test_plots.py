"""Pictures: the numbers in them by hand, and that they are drawn."""

import math
import re

import matplotlib.image
import numpy as np
import pytest
from forging import written as optimum
from independent.oasis import FILES, load, schedule
from legible import faults, words
from sweeps import sweep

from optsched.cli import plots
from optsched.core import Ratio, compare
from optsched.drawing import COLUMN, HINDSIGHT, PAGE, rendered, save, styled
from optsched.engine.progress import HistoryPoint
from optsched.experiments.ratios_by_policy import RatioSample
from optsched.experiments.statistics import summary
from optsched.families.oasis.instance import JobSchedule, OasisSchedule
from optsched.families.oasis.pictures import pictures, usage
from optsched.problem import get_family


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
        history=tuple(HistoryPoint(seconds=s, value=v, bound=b) for s, v, b in steps),
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


@pytest.mark.slow
def test_on_paper_pictures_fit_a_journal_and_hold_their_fonts(report, tmp_path):
    instance, found = report
    with styled("paper"):
        made = plots.save_report(instance, found, tmp_path)
        assert faults(plots.ratio_bars(found)) == faults(plots.convergence(found.optimum)) == []
    for path in made:
        assert path.suffix == ".pdf"
        content = path.read_bytes()
        width = float(re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ", content)[1]) / 72
        assert width == pytest.approx(COLUMN) or width == pytest.approx(PAGE)
        assert b"/Type3" not in content
        assert b"/FontFile2" in content
        outlines = path.with_suffix(".svg").read_text("utf-8")
        assert "<text" not in outlines
    assert {path.suffix for path in tmp_path.iterdir()} == {".pdf", ".svg"}


@pytest.mark.parametrize("far", [1.5, 40.0, math.inf])
def test_pooled_results_by_hand(far):
    names = tuple((seed, "") for seed in range(6))
    low = np.array([1.0, 1.0, 1.1, 1.2, 1.3, 1.5])
    wide = np.array([1.0, 1.2, 1.2, 1.4, 1.4, far])
    found = [
        RatioSample("oasis small", "fifo", names, low, low, 0, 0, 0, family="oasis"),
        RatioSample("oasis small", "mine", names, low, wide, 4, 0, 0, family="oasis"),
    ]
    with styled("paper"):
        bars = plots.mean_bars([summary(sample) for sample in found], "oasis")
        curves = plots.distributions(found)
        assert faults(bars) == faults(curves) == []
    assert [t.get_text() for t in bars.axes[0].get_yticklabels()] == ["mine", "fifo"]
    assert "1.183*" in words(bars)
    said = " ".join(bars.get_supxlabel().split())
    assert said.startswith("mean ratio, optimum / policy (")
    assert said.endswith(
        "; line: 95 % interval (*: perhaps not reliable); hatched: range where optima are open"
    )
    assert curves.axes[0].get_xlabel().endswith("; band: optima open")
    exact, most, least = curves.axes[0].lines
    at = dict(zip(exact.get_xdata(), exact.get_ydata(), strict=True))
    assert [at[x] for x in (1.0, 1.1, 1.5)] == pytest.approx([2 / 6, 3 / 6, 1])
    at = dict(zip(least.get_xdata(), least.get_ydata(), strict=True))
    assert [at[x] for x in (1.0, 1.2, 1.4)] == pytest.approx([1 / 6, 3 / 6, 5 / 6])
    assert max(most.get_ydata()) == 1
    assert max(least.get_ydata()) == pytest.approx(1 if math.isfinite(far) else 5 / 6)


@pytest.mark.parametrize("width", sweep([0.02, 0.0, 7.0], quick=1))
@pytest.mark.parametrize("name", ["mine", "my_aged & 50% #1", "aged-area(age=2.0, size=1.5, x=3)"])
@pytest.mark.parametrize("more", [1, 8])
def test_rows_of_means_keep_their_space_on_paper(width, name, more, tmp_path):
    names = tuple((seed, "") for seed in range(20))
    low = np.linspace(1.01, 1.4, 20)
    rows = [*(f"easy{k}" for k in range(more)), name]
    samples = [RatioSample("rigid x", p, names, low, low + width, 20, 0, 0) for p in rows]
    with styled("paper"):
        figure = plots.mean_bars([summary(sample) for sample in samples], "rigid")
        assert faults(figure) == []
        (axis,) = figure.axes
        panel = axis.get_window_extent()
        assert panel.width > 0.4 * figure.bbox.width
        assert panel.height / figure.dpi >= 0.19 * len(rows)
        assert not any(mark.get_rotation() for mark in axis.get_xticklabels())
        assert figure.get_supxlabel().count("\n") <= 3
        drawn = save(figure, tmp_path / "x.png").with_suffix(".svg").read_bytes()
        assert rendered(figure, format="svg", metadata={"Date": None}) == drawn  # as in the PDF


def test_another_style_is_refused(call, tmp_path):
    status, _, err = call("ratio", "sample", "--plot", tmp_path, "--style", "poster")
    assert status == 2
    assert "'poster' is not one of 'screen'" in " ".join(err.split())


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


def test_convergence_does_not_let_the_first_steps_squeeze_the_last(report):
    _, found = report
    far = (HistoryPoint(seconds=0.0, value=0.0, bound=1e9), *found.optimum.history)
    axis = plots.convergence(found.optimum.model_copy(update={"history": far})).axes[0]
    low, high = axis.get_ylim()
    value, bound = found.optimum.value, found.optimum.bound
    assert high - low < 6 * (value + bound) / 2
    assert low < value < bound < high


def test_convergence_draws_what_is_known_in_the_end_only(report):
    _, found = report
    history = (HistoryPoint(seconds=0.1, value=1.0, bound=None),)
    optimum = found.optimum.model_copy(update={"history": history})
    assert faults(plots.convergence(optimum)) == []
    assert faults(plots.convergence(optimum.model_copy(update={"value": None}))) == []


def with_ratios(found, *ends):
    """Return a report of policies with these ends of their ratios."""
    rows = [
        found.policies[0].model_copy(
            update={
                "name": f"policy {k}",
                "ratio": Ratio(
                    low=low, high=high, exact=low == high, bounded=None if low == high else "high"
                ),
            }
        )
        for k, (low, high) in enumerate(ends)
    ]
    return found.model_copy(update={"policies": tuple(rows)})


def bars_of(axis):
    """Return (row, left end, right end) of every bar, without empty ones."""
    boxes = [bar.get_bbox() for bar in axis.patches]
    return {
        (round(b.y0 + b.height / 2), round(min(b.x0, b.x1), 9), round(max(b.x0, b.x1), 9))
        for b in boxes
        if b.x0 != b.x1
    }


def test_bars_reach_from_one_to_the_ends_of_the_ratios(report):
    _, found = report
    axis = plots.ratio_bars(with_ratios(found, (1.0, 1.0), (1.5, 1.5), (1.2, 1.4), (0.5, 0.5)))
    bars = bars_of(axis.axes[0])
    assert bars == {(2, 1.0, 1.5), (1, 1.0, 1.2), (1, 1.2, 1.4), (0, 0.5, 1.0)}
    assert [w for w in words(axis) if w in ("1", "1.5", "1.2\N{EN DASH}1.4", "0.5")] == [
        "0.5", "1.2\N{EN DASH}1.4", "1.5", "1",
    ]  # fmt: skip


INFINITE = float("inf")


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((1.5, None), "at least 1.5"),
        ((1.5, INFINITE), "1.5\N{EN DASH}infinite"),
        ((INFINITE, INFINITE), "infinite"),
        ((INFINITE, None), "infinite"),
    ],
)
def test_an_end_that_is_infinite_or_unknown_leaves_the_picture(report, ends, text):
    _, found = report
    figure = plots.ratio_bars(with_ratios(found, ends, (1.2, 1.3)))
    axis = figure.axes[0]
    edge = axis.get_xlim()[1]
    arrows = [line for line in axis.lines if line.get_marker() == ">"]
    assert [(arrow.get_xdata()[0], arrow.get_ydata()[0]) for arrow in arrows] == [(edge, 1)]
    assert not arrows[0].get_clip_on()
    assert any(row == 1 and right == pytest.approx(edge) for row, _, right in bars_of(axis))
    assert text in words(figure)
    assert faults(figure) == []


@pytest.mark.parametrize(
    ("lows", "logarithmic"),
    [
        ([1.0], False),
        ([1.0, 1.0, 1.0], False),
        ([1.1, 1.2, 4.7], False),  # below four times the median
        ([1.1, 1.2, 4.9], True),
        ([1.1, 4.3], False),
        ([1.1, 4.5], True),  # of two, the median is the lower
        ([9.0, 9.5, 9.9, 30.0], False),
        ([1.1, 1.2, INFINITE], False),
        ([1.1, 1.2, 50.0, INFINITE, INFINITE], True),
        ([1.1, 50.0, INFINITE, INFINITE, INFINITE], True),
        ([INFINITE, INFINITE], False),
        ([0.1, 0.2, 1.5], False),
        ([0.0, 1.0, 1.1, 1e300], False),
    ],
)
def test_axis_is_logarithmic_where_one_squeezes_the_rest(report, lows, logarithmic):
    _, found = report
    figure = plots.ratio_bars(with_ratios(found, *((low, low) for low in lows)))
    axis = figure.axes[0]
    assert axis.get_xscale() == ("log" if logarithmic else "linear")
    assert ("log scale" in figure.get_supxlabel()) == logarithmic
    left, right = axis.get_xlim()
    assert left < 1 < right
    assert all(left < low < right for low in lows if 0 < low < 1e12)
    assert faults(figure) == []


def test_a_wide_interval_squeezes_too(report):
    _, found = report
    wide = plots.ratio_bars(with_ratios(found, (1.1, 1.2), (1.2, 300.0), (1.3, 1.4)))
    assert wide.axes[0].get_xscale() == "log"
    assert faults(wide) == []


@pytest.mark.parametrize("right", [3.9, 8.0, 42.0, 500.0, 3e4, 1e9])
def test_marks_of_a_logarithmic_axis_can_be_read(report, right):
    _, found = report
    figure = plots.ratio_bars(with_ratios(found, (0.9, 0.9), (1.01, 1.02), (right, right)))
    low, high = figure.axes[0].get_xlim()
    marks = [m for m in figure.axes[0].get_xticks() if low <= m <= high]
    assert 3 <= len(marks) <= 9
    assert faults(figure) == []


@pytest.mark.slow
def test_long_names_and_many_policies(report):
    instance, found = report
    names = [f"my.package_of_policies:ShortestRemainingTime{k}First" for k in range(14)]
    names += ["_mine", "cost$a$b", "two\nlines", "hindsight"]
    row, run = found.policies[0], found.runs[0]
    many = found.model_copy(
        update={
            "policies": tuple(row.model_copy(update={"name": n}) for n in names),
            "runs": tuple(run.model_copy(update={"policy": n}) for n in names),
        }
    )
    figures = pictures(instance, plots.schedules_of(many)) | {"ratios": plots.ratio_bars(many)}
    for name, figure in figures.items():
        assert faults(figure) == [], name
    for name in ("ratios", "capacity"):
        said = words(figures[name])
        assert {"_mine", r"cost\$a\$b", "two lines"} <= set(said)
        assert len({w for w in said if w.startswith("my.package")}) == 14
    assert {"hindsight", "policy hindsight"} <= set(words(figures["capacity"]))
