"""Experiments: stored, taken up again, the same on any number of processes; verdicts by hand."""

import inspect
import json
import tomllib
from dataclasses import replace
from importlib.resources import files

import pytest
from matplotlib.figure import Figure
from squares import RAN, run
from verdicts import worst

from optsched.families.oasis.instance import OasisInstance
from optsched.files.format import write_json
from optsched.papers import PAPERS, experiments, oasis
from optsched.papers.bot import mean_share
from optsched.papers.estimate import MeanEstimate, apart, lead
from optsched.papers.experiment import FEWEST, Experiment, Setting
from optsched.papers.oasis import ESTIMATED, LITERAL, OTHERS, PRESETS, SCHEMES, past
from optsched.papers.reproduce import code_digest, reproduce
from optsched.papers.reproduce import experiment as named
from optsched.papers.verdict import (
    NOISE,
    SAME,
    WIDE,
    Outcome,
    Support,
    about,
    counted,
    effect,
    shown,
    stated,
    untestable,
    within,
)
from optsched.problem import InputError


def findings(rows):
    total = sum(rows.values("square"))
    yield stated("the sum is 14", total == 14, ours=total)
    yield f"{len(rows)} numbers"


SQUARES = Experiment(
    name="squares",
    title="Squares",
    claim="they add up to 14",
    settings=(Setting("numbers", "0 to 3", "Sec. 1"),),
    seeds=4,
    time_limit=1.0,
    cells=lambda seeds: [{"k": k} for k in range(seeds)],
    run=run,
    findings=findings,
    draw=lambda _rows: Figure(),
)


def numbers(path):
    content = json.loads(path.read_text())
    return {k: content[k] for k in ("rows", "score", "findings")}


def test_everything_is_stored(tmp_path):
    found = reproduce(SQUARES, tmp_path, workers=1, command="optsched reproduce squares")
    content = json.loads(found.results.read_text())
    assert content["kind"] == "reproduction"
    assert content["command"] == "optsched reproduce squares"
    assert {"python", "numpy", "optsched"} <= set(content["versions"])
    assert {"processor", "cores"} <= set(content["machine"])
    assert [row["square"] for row in content["rows"]] == [0, 1, 4, 9]
    assert content["rows"][0]["ratio"] == "inf"
    assert content["score"] == "1 of 1 statement holds"
    assert content["findings"][0]["ours"] == 14
    assert content["notes"] == ["4 numbers"]
    assert content["settings"] == [{"what": "numbers", "value": "0 to 3", "source": "Sec. 1"}]
    assert {row["code"] for row in content["rows"]} == {content["code"]}
    assert found.picture.exists()
    assert "the sum is 14: here 14: holds" in str(found)


def test_disagreement_is_said(tmp_path):
    found = reproduce(SQUARES, tmp_path, seeds=3, workers=1)
    assert found.summary()["score"] == "0 of 1 statement holds (does not hold 1)"
    assert "does not hold" in str(found)


def test_what_is_stored_is_not_computed_again(tmp_path):
    RAN.clear()
    reproduce(SQUARES, tmp_path, seeds=2, workers=1)
    told = []
    reproduce(SQUARES, tmp_path, seeds=4, workers=1, callback=told.append)
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


def test_rows_of_other_code_are_not_taken_up(tmp_path):
    RAN.clear()
    path = reproduce(SQUARES, tmp_path, seeds=2, workers=1).results
    content = json.loads(path.read_text())
    content["rows"][1]["code"] = "0123456789ab"
    path.write_text(json.dumps(content))
    kept = reproduce(SQUARES, tmp_path, seeds=2, workers=1, keep_rows=True)
    assert (RAN, kept.foreign) == ([0, 1], 1)
    assert "1 of 2 rows were made by other code" in str(kept)
    assert kept.summary()["rows_of_other_code"] == 1
    assert json.loads(path.read_text())["rows"][1]["code"] == "0123456789ab"
    again = reproduce(SQUARES, tmp_path, seeds=2, workers=1)
    assert (RAN, again.foreign) == ([0, 1, 1], 0)


def edited(folder, value, place=("rows", 1, "square")):
    """Store the squares, and edit one value; None: take it out."""
    path = reproduce(SQUARES, folder, workers=1).results
    content = json.loads(path.read_text())
    *way, last = place
    inside = content
    for name in way:
        inside = inside[name]
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    path.write_text(json.dumps(content))


def test_rows_that_are_not_run_again_are_counted(tmp_path):
    first = reproduce(SQUARES, tmp_path, seeds=3, workers=1)
    assert (first.kept, "not run again" in str(first)) == (0, False)
    again = reproduce(SQUARES, tmp_path, workers=1)
    assert f"from {again.results}, not run again: 3 of 4 cells\n" in str(again)
    assert again.summary()["not_run_again"] == 3


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("x", "no verdict follows from its rows .TypeError"),
        ([], "no verdict follows from its rows .TypeError"),
        ({"a": 1}, "no verdict follows from its rows .TypeError"),
        (None, "no verdict follows from its rows .KeyError: 'square'"),
    ],
)
def test_malformed_rows_are_refused_in_one_line(value, complaint, tmp_path):
    edited(tmp_path, value)
    with pytest.raises(InputError, match=complaint) as caught:
        reproduce(SQUARES, tmp_path, workers=1)
    assert "\n" not in str(caught.value)


def test_what_fails_on_rows_of_this_run_is_a_defect(tmp_path):
    def failing(rows):
        return rows.values("cube")

    with pytest.raises(KeyError):
        reproduce(replace(SQUARES, findings=failing), tmp_path, workers=1)


def test_the_digest_follows_the_module_of_a_run_and_its_family(monkeypatch):
    before = code_digest(run, "bot")
    assert before == code_digest(run, "bot") != code_digest(oasis.run, "bot")
    assert before != code_digest(run, "oasis")  # another family
    source = inspect.getsource
    monkeypatch.setattr(inspect, "getsource", lambda thing: source(thing) + "# changed")
    assert before != code_digest(run, "bot")


def test_ctrl_c_keeps_what_is_done(tmp_path):
    def interrupted(text):
        if text.startswith("2 "):
            raise KeyboardInterrupt

    found = reproduce(SQUARES, tmp_path, workers=1, callback=interrupted)
    assert found.outcome is None
    assert "2 of 4 cells done" in str(found)
    RAN.clear()
    assert worst(reproduce(SQUARES, tmp_path, workers=1).outcome) is Support.HOLDS
    assert RAN == [2, 3]


def test_a_picture_says_what_the_verdict_rests_on(tmp_path):
    from matplotlib.image import imread

    found = reproduce(SQUARES, tmp_path, workers=1)
    height, width, _ = imread(found.picture).shape
    figure = Figure()
    assert width == round(figure.get_figwidth() * figure.dpi)
    assert height > round(figure.get_figheight() * figure.dpi)


def test_every_experiment_names_its_settings_and_has_ten_instances():
    for paper in PAPERS:
        content = tomllib.loads((files("optsched.papers") / f"{paper}.toml").read_text("utf-8"))
        assert content.keys() - {"shared"} == {e.name[len(paper) + 1 :] for e in experiments(paper)}
    for experiment in (e for paper in PAPERS for e in experiments(paper)):
        assert experiment.settings
        assert all(all(setting) for setting in experiment.settings)
        assert experiment.seeds >= FEWEST or experiment.few


def test_an_effect_must_stand_out_from_noise():
    clear, noisy = MeanEstimate.of([1.0, 1.2, 1.1]), MeanEstimate.of([1.0, -0.9, 0.2])
    assert effect("more", clear).verdict is Support.HOLDS
    assert effect("less", clear, sign=-1).verdict is Support.FAILS
    found = effect("more", noisy)
    assert (found.verdict, found.note) == (Support.UNKNOWN, NOISE)
    assert found.judged == "cannot tell (n = 3)"
    same = effect("more", MeanEstimate.of([0.0, 0.0, 0.0]))
    assert (same.verdict, same.note) == (Support.UNKNOWN, SAME)
    assert effect("more", MeanEstimate.of([1.0])).judged == "cannot tell (n = 1)"
    assert effect("more", None).judged == "cannot tell (n = 0)"


@pytest.mark.parametrize(
    ("paper", "at_least", "verdict"),
    [
        (1.0, False, Support.HOLDS),
        (0.3, False, Support.DIRECTION),
        (3.0, False, Support.DIRECTION),
        ((0.1, 0.2), False, Support.DIRECTION),
        ((0.1, 0.6), False, Support.HOLDS),
        (1.0, True, Support.HOLDS),
        (1.3, True, Support.DIRECTION),
        (0.3, True, Support.HOLDS),
    ],
)
def test_a_size_is_within_a_factor_of_two(paper, at_least, verdict):
    found = MeanEstimate.of([1.0, 1.2, 1.1])
    assert effect("more", found, paper=paper, at_least=at_least).verdict is verdict
    less = MeanEstimate.of([-1.0, -1.2, -1.1])
    other = tuple(-x for x in paper) if isinstance(paper, tuple) else -paper
    assert effect("less", less, sign=-1, paper=other, at_least=at_least).verdict is verdict


@pytest.mark.parametrize("paper", [None, 1.0, 2.0])
@pytest.mark.parametrize("at_least", [False, True])
def test_an_interval_wider_than_a_factor_of_four_never_holds(paper, at_least):
    wide = MeanEstimate(2.1, (0.9, 3.7), 10)
    for found in (wide, MeanEstimate(2.1, (-1.0, 30.0), 10, difference=(1.0, 9.0))):
        said = effect("more", found, paper=paper, at_least=at_least)
        assert (said.verdict, said.note.split(";")[0]) == (Support.DIRECTION, WIDE)
    exact = MeanEstimate(2.1, (1.0, 3.7), 10)
    assert effect("more", exact, paper=paper, at_least=at_least).verdict is Support.HOLDS
    assert about("so much", wide, 2.0).verdict is Support.DIRECTION
    assert within("at most", wide, high=4.0).verdict is Support.DIRECTION


def test_limits_ranges_and_counts():
    found = MeanEstimate.of([1.0, 1.2, 1.1], nothing=None)
    assert within("at most", found, high=1.5).verdict is Support.HOLDS
    assert within("at most", found, high=1.2).verdict is Support.UNKNOWN  # it is in our interval
    assert within("at most", found, high=0.5).verdict is Support.FAILS
    assert within("at most", None, high=0.5).verdict is Support.UNKNOWN
    assert within("between", found, low=0.5, high=1.5).paper == (0.5, 1.5)
    vacuous = within("at most", MeanEstimate.of([1.0, 1.0], nothing=1.0), high=1.0025)
    assert (vacuous.verdict, vacuous.note) == (Support.UNKNOWN, SAME)
    for sample, paper, verdict in (
        ([26.0, 27.0, 26.5], 50, Support.HOLDS),
        ([4.0, 5.0, 4.4], 50, Support.FAILS),
        ([4.0], 50, Support.UNKNOWN),
        ([400.0, 450.0, 600.0], (373, 531), Support.HOLDS),
        ([900.0, 901.0, 902.0], (373, 531), Support.HOLDS),  # within a factor of two
        ([1900.0, 1901.0, 1902.0], (373, 531), Support.FAILS),
    ):
        assert about("mean", MeanEstimate.of(sample, nothing=None), paper).verdict is verdict, (
            sample
        )
    assert about("50", None, 50).verdict is Support.UNKNOWN
    assert about("50", MeanEstimate.median([45.0, 50.0, 40.0, 44.0, 46.0, 49.0]), 50).ours == 45.5
    assert counted("28", 30, 30, 28, 30).verdict is Support.HOLDS
    assert counted("20", 30, 30, 20, 30).verdict is Support.DIRECTION
    assert counted("20", 0, 30, 20, 30).verdict is Support.FAILS
    assert counted("0", 0, 480, 0, 480).verdict is Support.HOLDS
    assert counted("1", 1, 2, 1, 2).verdict is Support.DIRECTION  # two runs tell little


def test_what_cannot_be_tested_is_shown_and_not_counted():
    found = untestable("more", MeanEstimate.of([1.0, 1.2, 1.1]), "units are not printed", unit="%")
    assert (found.judged, found.note) == ("not testable", "units are not printed")
    outcome = Outcome((found, stated("b", holds=True), effect("more", None)))
    assert outcome.score == "1 of 2 statements hold (cannot tell 1; not testable 1)"


def test_shares_by_hand():
    assert MeanEstimate.share(15, 30).interval == pytest.approx((0.3130, 0.6870), abs=1e-4)
    assert MeanEstimate.share(30, 30).interval == pytest.approx((0.8843, 1), abs=1e-4)
    assert mean_share([1.0, 0.0, 1.0]) == MeanEstimate.share(2, 3).interval
    low, high = mean_share([0.1, 0.2, 0.3, 0.1, 0.2, 0.9])  # of platforms with several runs each
    assert 0 <= low < 0.3 < high <= 1


def test_leads_by_hand():
    found = lead([3.0, 5.0], [2.0, 2.0])
    assert found.mean == 1.0
    assert found.interval == pytest.approx((1 - 12.7062 / 2, 1 + 12.7062 / 2), rel=1e-4)
    assert lead([3.0], [0.0]) is None
    assert lead([3.0, 4.0], [3.0, 4.0]).same
    far = apart([10.0, 12.0], [1.0, 3.0])
    assert far.mean == 9.0
    assert far.interval == pytest.approx((9 - 12.7062 * 2**0.5, 9 + 12.7062 * 2**0.5), rel=1e-4)
    assert apart([], [1.0]) is None


def test_an_interval_ends_where_nothing_can_be():
    ours, theirs = [0.0, 5.0, 60.0], [0.1, 9.0, 0.5]
    found = lead(ours, theirs)
    assert found.interval[0] < -1
    said = effect("one leads", found)
    assert said.interval == found.interval  # the verdict rests on it
    assert said.found.partition("[")[2].startswith("-100†, +")
    assert "too wide to tell" in said.found
    assert said.summary()["least"] == -1
    assert shown("one leads", found, unit="%").found == said.found
    assert lead([-1.0, *ours[1:]], theirs).least is None  # what can be a loss ends nowhere
    assert "†" not in effect("one leads", lead([3.0, 5.0, 4.0], [2.0, 3.5, 2.7])).found


def test_differences_that_tell_are_said_where_the_interval_says_otherwise():
    found = MeanEstimate(0.4, (-0.1, 1.0), 10, difference=(1.0, 5.0))
    assert effect("one leads", found).note.endswith("the paired differences, 1 to 5, decide")
    assert effect("one leads", replace(found, interval=(0.3, 1.0))).note == ""


def test_a_figure_says_how_many_of_its_statements_hold():
    good = stated("a", holds=True)
    middle = counted("b", 30, 30, 20, 30)
    assert Outcome((good, shown("c", 1.0))).score == "1 of 1 statement holds"
    assert Outcome((good, middle)).score == "2 of 2 statements hold (1 in direction)"
    bad = Outcome((good, middle, stated("d", holds=False)))
    assert bad.score == "2 of 3 statements hold (1 in direction; does not hold 1)"


def test_other_instances_of_the_same_settings(tmp_path):
    seeded = replace(
        SQUARES, cells=lambda seeds: [{"k": k % 2, "seed": 100 + k} for k in range(seeds)]
    )
    found = reproduce(seeded, tmp_path, first_seed=1000, workers=1)
    assert found.results.name == "squares-from-1000.json"
    assert found.picture.name == "squares-from-1000.png"
    content = json.loads(found.results.read_text())
    assert content["first_seed"] == 1000
    assert [row["seed"] for row in content["rows"]] == [1000, 1001, 1002, 1003]


def test_seeds_that_are_judged_are_not_those_that_u_and_l_are_learnt_from():
    for seed in (0, 100, 1000, 1005, 5000):
        if seed > 9:
            assert seed not in past(seed)


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
    instance = oasis.workload("paper", 0)
    assert isinstance(instance, OasisInstance)
    assert sum(map(oasis.is_critical, instance.jobs)) == 100
    assert len(instance.jobs) == len(instance.work) == 200


@pytest.fixture(autouse=True)
def one_past_instance(monkeypatch):
    """Learn from one earlier instance."""
    monkeypatch.setattr(oasis, "PAST", range(1000, 1001))


@pytest.fixture
def small(monkeypatch):
    """Shrink the instances of a figure until a cell takes a moment."""
    monkeypatch.setattr(oasis, "SLOTS", 20)
    monkeypatch.setattr(oasis, "MACHINES", 20)


CELL = {"preset": "earnable", "jobs": 5, "seed": 0}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("scheme", [ESTIMATED, LITERAL, "fifo"])
def test_fig3_cell(scheme):
    row = oasis.run(CELL | {"scheme": scheme}, 0.0)
    assert row["value"] >= 0
    assert 0 <= row["completed"] <= 5
    assert row["guarantee"] is None or scheme == LITERAL


def test_fig5_cell():
    row = oasis.run5({"machines": 40, "priority": 10, "seed": 0}, 0.5)
    assert set(row["ratios"]) == {*oasis.COMPARED}
    assert float(row["ratios"][LITERAL]["low"]) >= 1
    assert row["value"] is not None


@pytest.mark.usefixtures("small")
def test_fig6_cell_with_the_true_estimate_is_oasis():
    cell = CELL | {"scheme": LITERAL}
    assert oasis.run(cell | {"percent": 100}, 0.0)["value"] == oasis.run(cell, 0.0)["value"]


def rows3(earned):
    """Return rows in which OASiS earns ``earned`` by the number of jobs, all others 10."""
    return [
        {"preset": preset, "jobs": n, "seed": seed, "scheme": scheme, "completed": 1,
         "value": (earned[n] if scheme == ESTIMATED else 10.0) + seed / 10}
        for preset in PRESETS
        for n in earned
        for scheme in (ESTIMATED, LITERAL, *OTHERS)
        for seed in range(3)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("earned", "verdict"),
    [
        ({100: 11.0, 200: 20.0}, Support.HOLDS),
        ({100: 20.0, 200: 11.0}, Support.FAILS),
        ({100: 9.0, 200: 20.0}, Support.FAILS),
    ],
)
def test_fig3_verdict(earned, verdict):
    outcome = named("oasis-fig3").judge(rows3(earned))
    assert worst(outcome) is verdict
    assert "200 jobs" in outcome.words
    assert len(named("oasis-fig3").picture(rows3(earned)).axes) == len(PRESETS)


@pytest.mark.parametrize(("spread", "agrees"), [(0.5, True), (9.0, False)])
def test_fig4_verdict(spread, agrees):
    rows = []
    for scheme in SCHEMES:
        width = spread if scheme == ESTIMATED else 2.0
        for seed in range(3):
            late = {kind: [-width, width, 0.1 + seed / 50] for kind in oasis.KINDS}
            if scheme != ESTIMATED:
                late = {kind: [x + 5 for x in xs] for kind, xs in late.items()}
            rows.append({"preset": "paper", "seed": seed, "scheme": scheme, "late": late})
    assert (worst(named("oasis-fig4").judge(rows)) is Support.HOLDS) is agrees
    assert len(named("oasis-fig4").picture(rows).axes) == 1


def test_fig4_without_a_completed_job():
    late = {kind: [] for kind in oasis.KINDS}
    rows = [{"preset": "paper", "scheme": s, "seed": 0, "late": late} for s in SCHEMES]
    assert worst(named("oasis-fig4").judge(rows)) is Support.UNKNOWN
    named("oasis-fig4").picture(rows)


@pytest.mark.parametrize(
    ("low", "high", "agrees"), [(1.2, 1.3, True), (1.2, 1.9, False), (1.01, 1.05, False)]
)
def test_fig5_verdict(low, high, agrees):
    ratio = {"exact": False, "bounded": "high", "guarantee": None}
    rows = [
        {"machines": m, "priority": top, "seed": seed, "status": "feasible", "seconds": 1.0}
        | {
            "ratios": dict.fromkeys(
                oasis.COMPARED, ratio | {"low": low + seed / 1000, "high": high + seed / 1000}
            )
        }
        for m in (20, 40)
        for top in (10, 50)
        for seed in range(2)
    ]
    outcome = named("oasis-fig5").judge(rows)
    assert (outcome.findings[0].verdict is Support.HOLDS) is agrees
    assert "0 of 8 optima proved" in outcome.words
    named("oasis-fig5").picture(rows)


@pytest.mark.parametrize(("low", "agrees"), [(20.0, True), (5.0, False), (10.0, False)])
def test_fig6_verdict(low, agrees):
    rows = [
        cell | {"value": (low if cell["percent"] < 100 else 10.0) + cell["seed"] / 1000}
        for cell in named("oasis-fig6").cells(3)
    ]
    assert (worst(named("oasis-fig6").judge(rows)) is Support.HOLDS) is agrees
    assert len(named("oasis-fig6").picture(rows).axes) == 2 * len(PRESETS)


def test_means_by_hand():
    # three numbers go by Student's table
    found = MeanEstimate.of([1.0, 2.0, 3.0])
    assert (found.mean, found.count) == (2.0, 3)
    assert found.interval == pytest.approx([2 - 4.302652730 / 3**0.5, 2 + 4.302652730 / 3**0.5])
    assert MeanEstimate.of([4.0]).interval is None


@pytest.mark.parametrize("rows", [5, "abc", [1], None, {"a": 1}])
def test_rows_that_are_none_are_refused(rows, tmp_path, call):
    chosen = named("oasis-fig3")
    content = {"time_limit": chosen.time_limit, "rows": rows}
    write_json(tmp_path / "oasis-fig3.json", "reproduction", "oasis", content)
    status, _, err = call("reproduce", "oasis-fig3", "-o", tmp_path, "-q")
    assert status == 2
    assert "expected a list of objects" in err
