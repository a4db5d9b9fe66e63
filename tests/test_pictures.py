"""What the families draw of schedules: every word can be read, and shades mean what they state."""

import json
from pathlib import Path

import numpy as np
import pytest
from legible import faults, words
from sweeps import sweep

from optsched import simulate
from optsched.drawing import COLUMN, HINDSIGHT, PAGE, styled
from optsched.families.bipartite.pictures import PANELS
from optsched.papers.reproduce import experiment
from optsched.problem import get_family
from optsched.scheduling.jobs import LoadProfile
from optsched.scheduling.pictures import (
    CELLS,
    NEARLY,
    ROWS,
    Course,
    Panel,
    capacity_use,
    gantt,
    over_time,
)

POLICY = {"oasis": "fifo", "dmlrs": "fifo", "completion": "fifo", "bipartite": "drf", "bot": "fifo"}
LONG = "my.package_of_policies:ShortestRemainingTimeFirst"


@pytest.fixture(scope="module", params=POLICY)
def schedules(request):
    """An instance of every family, and one schedule of it."""
    instance = get_family(request.param).generate("small", seed=1)
    return request.param, instance, simulate(instance, POLICY[request.param]).schedule


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "style"),
    sweep(
        [(14, "screen"), (6, "paper"), (0, "screen"), (1, "screen"), (6, "screen"), (1, "paper")], 2
    ),
)
def test_every_word_of_every_picture_can_be_read(schedules, count, style):
    family, instance, schedule = schedules
    others = (f"{LONG} {k}" if style == "screen" else f"mine-{k}" for k in range(20))
    names = [HINDSIGHT, "$cost$", "_mine", *others][:count]
    with styled(style):
        drawn = get_family(family).pictures(instance, dict.fromkeys(names, schedule))
    assert drawn
    for name, figure in drawn.items():
        assert faults(figure) == [], name


STORED = sorted((Path(__file__).parents[1] / "benchmarks" / "results" / "figures").glob("*.json"))
HIGHEST = 9.2  # inches of a page


@pytest.mark.slow
@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_every_word_of_every_figure_of_a_paper_can_be_read(path, style):
    rows = json.loads(path.read_text("utf-8"))["rows"]
    with styled(style):
        figure = experiment(path.stem).picture(rows)
    assert faults(figure) == []
    if style == "paper":
        assert figure.get_figwidth() in (COLUMN, PAGE)
        assert figure.get_figheight() < HIGHEST


def test_a_hundred_slots_have_a_cell_each():
    use = {name: {"gpu": np.random.default_rng(k).random(100)} for k, name in enumerate("abc")}
    figure = capacity_use(use)
    cells = np.asarray(figure.axes[0].images[0].get_array())
    assert cells == pytest.approx(np.array([use[name]["gpu"] for name in "abc"]))
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == list("abc")
    wide = figure.axes[0].get_window_extent().width / 100
    assert wide >= 4  # pixels
    assert {f"{use[name]['gpu'].mean():.0%}" for name in "abc"} <= set(words(figure))
    assert faults(figure) == []


@pytest.mark.parametrize("slots", [CELLS, 1000, 1001, 4999])
def test_many_slots_share_cells_that_show_their_mean(slots):
    rng = np.random.default_rng(0)
    use = {f"policy {k}": {"gpu": rng.random(slots), "cpu": rng.random(slots)} for k in range(7)}
    figure = capacity_use(use)
    wide = -(-slots // CELLS)
    cells = figure.axes[0].images[0].get_array()
    assert cells.shape == (7, -(-slots // wide))
    assert cells[3, 0] == pytest.approx(use["policy 3"]["gpu"][:wide].mean())
    last = use["policy 3"]["gpu"][wide * (cells.shape[1] - 1) :]
    assert cells[3, -1] == pytest.approx(last.mean())
    said = " ".join(words(figure))
    assert (f"mean of {wide} slots" in said) == (wide > 1)
    assert figure.axes[0].get_window_extent().width / cells.shape[1] >= 2  # pixels
    assert faults(figure) == []


def test_a_long_tail_of_one_does_not_squeeze_the_rest():
    short, long = np.zeros(1000), np.zeros(1000)
    short[:100] = long[:100] = 0.8
    long[100:900] = 0.008
    figure = capacity_use({"short": {"gpu": short}, "long": {"gpu": long}})
    shown = figure.axes[0].get_xlim()[1]
    assert 90 <= shown <= 101
    assert (short[: int(shown)] + long[: int(shown)]).sum() >= NEARLY * (short + long).sum()
    assert "until slot 899" in " ".join(words(figure))
    long[100:900] = 0.2
    figure = capacity_use({"short": {"gpu": short}, "long": {"gpu": long}})
    assert figure.axes[0].get_xlim()[1] == 1000
    assert "not shown" not in " ".join(words(figure))


def test_capacity_that_nobody_uses_can_be_drawn():
    figure = capacity_use({"idle": {"gpu": np.zeros(5), "cpu": np.zeros(5)}})
    assert faults(figure) == []


@pytest.mark.parametrize("names", [1, 2, 3, 4, 5])
def test_every_column_of_panels_says_its_slots(names):
    figure = capacity_use({"a": {f"r{k}": np.full(7, 0.5) for k in range(names)}})
    columns = 1 if names <= 2 else 2
    assert words(figure).count("7") == columns


def chart(jobs, slots, end=None):
    """A Gantt chart of jobs that take the last slot, or until ``end``, and state something."""
    shares = np.zeros((jobs, slots))
    shares[:, -1] = 1.0
    done = [slots - 1 if end is None else end] * jobs
    panels = [Panel(f"{LONG}: {k}", shares, done, ["12.5 earned"] * jobs) for k in range(2)]
    return gantt(panels, [0] * jobs, shade="workers", number="earned")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("jobs", "labelled"), sweep([(10, True), (1000, False), (1, True), (100, True)], 2)
)
def test_labels_are_drawn_where_rows_have_room_for_them(jobs, labelled):
    figure = chart(jobs, 50)
    said = words(figure)
    assert said.count("12.5 earned") == (2 * jobs if labelled else 0)
    assert ("number: earned" in " ".join(said)) == labelled
    assert faults(figure) == []


@pytest.mark.parametrize("slots", [10, 1000, 5000])
def test_one_slot_of_many_can_be_seen(slots):
    figure = chart(4, slots)
    cells = figure.axes[0].images[1].get_array()
    assert cells.shape[1] <= CELLS
    assert (np.ma.filled(cells[:, -1], 0) == 1).all()
    assert ("the most of" in " ".join(words(figure))) == (slots > CELLS)
    assert faults(figure) == []


def test_grey_is_explained_where_it_is_used():
    assert "grey" not in " ".join(words(chart(4, 10)))
    shares = np.ones((2, 5))
    left = gantt([Panel("a", shares, [None, 4], ["", "1"])], [0, 0], shade="w", number="earned")
    assert "grey: not completed" in " ".join(words(left))


def test_what_happens_over_time_worked_by_hand():
    demand = LoadProfile(
        "gpu", arrival=[0, 0, 2], slots=[1.5, 8.0, 1.0], amount=[2, 1, 40], whole=4
    )
    arrival, worth = [0, 0, 2], [5.0, 3.0, 2.0]
    use = {"gpu": np.array([0.75, 0.5, 0.25, 0.0])}
    courses = {
        HINDSIGHT: Course(use, [0, 3, 2], worth),
        "mine": Course(use, [1, None, 3], [4.0, 0.0, 1.0]),
        "idle": Course({"gpu": np.zeros(4)}, [None] * 3, [0.0] * 3),
    }
    figure = over_time(courses, arrival, 4, "utility", "gpu", demand)
    load, waiting, earned, behind = figure.axes
    grey, best, *_ = (patch.get_data().values for patch in load.patches)
    assert grey == pytest.approx([0.75, 0.5, 2.0, 0.25])  # the third is 10.25, and reported to be
    assert "(up to 1025%)" in load.get_title()
    assert best == pytest.approx(use["gpu"])
    assert [list(line.get_ydata()) for line in waiting.lines] == [
        [0, 1, 1, 1, 0], [0, 2, 1, 2, 1], [0, 2, 2, 3, 3]
    ]  # fmt: skip
    assert [list(line.get_ydata()) for line in earned.lines] == [
        [0, 5, 5, 7, 10], [0, 0, 4, 4, 5], [0, 0, 0, 0, 0]
    ]  # fmt: skip
    assert list(behind.lines[1].get_ydata()) == [0, 5, 1, 3, 5]
    assert faults(figure) == []


@pytest.mark.slow
@pytest.mark.parametrize("family", sweep(["completion", "oasis", "dmlrs"], 2))
def test_too_many_jobs_for_rows_are_curves(family):
    instance = get_family(family).generate("small", seed=1, jobs=ROWS + 1)
    draw = get_family(family).pictures
    alone = draw(instance, {})["over-time"]
    assert len(alone.axes) == 2
    assert alone.axes[1].lines[0].get_ydata()[-1] == ROWS + 1
    schedule = simulate(instance, "fifo").schedule
    drawn = draw(instance, {HINDSIGHT: schedule, "fifo": schedule})
    assert sorted(drawn) == ["capacity", "over-time"]
    assert not drawn["over-time"].axes[3].lines[1].get_ydata().any()  # they are the same
    for figure in (alone, *drawn.values()):
        assert faults(figure) == []


@pytest.mark.parametrize("applications", [3, 10, 14])
def test_masters_of_applications_have_colours_of_their_own(applications):
    family = get_family("bot")
    instance = family.generate("paper", seed=0, applications=applications)
    figure = family.pictures(instance, {})["platform"]
    marks = [m for m in figure.axes[0].collections if m.get_label()[:1].isdigit()]
    edges = [tuple(mark.get_edgecolor()[0]) for mark in marks]
    assert len(marks) == applications
    assert len(set(edges)) == min(applications, 11)
    said = words(figure)
    assert ("4 others" in said) == (applications == 14)
    assert faults(figure) == []


def test_masters_of_one_node_are_drawn_around_one_another():
    family = get_family("bot")
    instance = family.generate("small", seed=0)
    first = instance.applications[0].master
    apps = tuple(app.model_copy(update={"master": first}) for app in instance.applications)
    figure = family.pictures(instance.model_copy(update={"applications": apps}), {})["platform"]
    marks = [m for m in figure.axes[0].collections if m.get_label()[:1].isdigit()]
    assert len({float(mark.get_sizes()[0]) for mark in marks}) == len(apps)


def test_rates_of_zero_are_marked():
    family = get_family("bot")
    instance = family.generate("small", seed=0)
    schedule = simulate(instance, "local-share").schedule
    first = schedule.model_copy(
        update={"rates": tuple(rate for rate in schedule.rates if rate[1] != 0)}
    )
    figure = family.pictures(instance, {"all": schedule, "not the first": first})["rates"]
    axis = figure.axes[0]
    drawn = {line.get_label(): line.get_xdata() for line in axis.lines}
    rates = np.zeros(len(instance.applications))
    for _, app, rate in schedule.rates:
        rates[app] += rate
    assert drawn["all"] == pytest.approx(rates)
    assert drawn["not the first"][0] == axis.get_xlim()[0] < min(rates)
    assert words(figure).count("0") == 1
    idle = schedule.model_copy(update={"rates": ()})
    assert faults(family.pictures(instance, {"idle": idle})["rates"]) == []


def test_allocations_stand_in_rows_of_five():
    family = get_family("bipartite")
    instance = family.generate("small", seed=1)
    schedule = simulate(instance, "drf").schedule
    figure = family.pictures(instance, {f"p{k}": schedule for k in range(7)})["allocations"]
    panels = [axis for axis in figure.axes if axis.images and axis.get_title()]
    assert [axis.get_title() for axis in panels] == [f"p{k}" for k in range(7)]
    figure.canvas.draw()
    lefts = {round(axis.get_window_extent().x0) for axis in panels}
    assert len(lefts) == PANELS
    assert words(figure).count(instance.resources[0]) == PANELS
