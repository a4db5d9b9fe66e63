"""The page of a result: its numbers are those of the table of ratios, checked again."""

import json
import re

import pytest
from pages import Page

import optsched
from optsched.pages.scales import AxisScale
from optsched.pages.words import of_optimum, of_ratios
from optsched.problem import REAL, get_family
from optsched.results.load import load_report
from optsched.results.result import save_result


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a comparison in a file, and its page."""
    folder = tmp_path_factory.mktemp("result")
    instance = optsched.get_family("bot").generate("small", seed=3)
    report = optsched.compare(instance, work_limit=2000)
    save_result(folder / "r.json", instance, report.optimum, report.runs, report.references)
    return folder / "r.json", instance, Page(optsched.report(folder / "r.json", folder / "p.html"))


def test_ratios_are_those_of_the_table(made):
    path, instance, page = made
    report = load_report(path, instance)
    table = page.tables["policies"]
    assert len(table.rows) == len(report.policies) > 1
    for row, text, exact in zip(report.ranked, table.texts(), table.exact(), strict=True):
        assert (text["policy"], text["ratio"]) == (row.name, row.ratio.ends)
        assert exact["ratio"] == [row.ratio.low, row.ratio.high]
        assert exact["value"] == [row.value]
        assert exact["total decision time, s"] == [row.seconds]
        assert exact["max decision time, ms"] == [1000 * row.slowest]
        assert (text["sandbox"], text["keeps to the model"]) == ("no", "yes" if row.obeys else "no")


def test_the_relaxation_has_a_row_a_column_and_a_line(tmp_path):
    instance = optsched.get_family("dmlrs").generate("small", seed=5)
    report = optsched.compare(instance, ["colocate", "fifo"], reference="both")
    save_result(tmp_path / "r.json", instance, report.optimum, report.runs, report.references)
    page = Page(optsched.report(tmp_path / "r.json", tmp_path / "p.html"))
    *rows, last = page.tables["policies"].texts()
    assert (last["policy"], last["value"], last["ratio to LP"]) == ("LP relaxation", "3.25", "1")
    assert [row["ratio to LP"] for row in rows] == ["1.56", "2.786"]
    assert [row["ratio"] for row in rows] == ["1.536", "2.743"]
    _, relaxed = page.tables["optimum"].texts()
    assert (relaxed["best of"], relaxed["status"]) == ("relaxation", "bound only")
    assert "1.01563" in page.words
    least = "The relaxation gives a bound only: 3.25 (certified)."
    assert of_optimum(report.references["relaxation"]) == least
    unknown = report.references["relaxation"].model_copy(update={"bound": None})
    none = "The relaxation gives a bound only, and it was not reached."
    assert of_optimum(unknown) == none


def test_the_optimum_is_that_of_the_file(made):
    path, instance, page = made
    optimum = load_report(path, instance).optimum
    (text,), (exact,) = page.tables["optimum"].texts(), page.tables["optimum"].exact()
    assert exact["value"] == [optimum.value]
    assert exact["bound"] == [optimum.bound]
    assert exact["certified bound"] == [optimum.certified_bound]
    assert (text["level"], text["status"]) == (str(optimum.bound_level), str(optimum.status))
    assert f"{optimum.value:.6g}" in page.words
    assert instance.digest() in page.words


def test_the_best_schedule_stands_beside_that_of_the_worst_policy(made):
    path, instance, page = made
    worst = max(load_report(path, instance).policies, key=lambda row: row.ratio.low)
    assert page.of("img")
    assert all(f"next to that of {worst.name}" in picture["alt"] for picture in page.of("img"))


def test_a_policy_that_is_asked_for_is_drawn(made, call, tmp_path):
    path, _, _ = made
    status, _, _ = call("report", path, "-o", tmp_path / "p.html", "-p", "fifo")
    assert status == 0
    assert all("next to that of fifo" in p["alt"] for p in Page(tmp_path / "p.html").of("img"))
    status, _, err = call("report", path, "-o", tmp_path / "q.html", "-p", "drf")
    assert status == 2
    assert "no policy 'drf' in the result, expected adaptive" in err
    assert not (tmp_path / "q.html").exists()


def test_a_schedule_from_outside_has_a_row_and_pictures(made, call, tmp_path):
    path, instance, _ = made
    known = load_report(path, instance)
    ours = {"our own": known.optimum.schedule}
    save_result(tmp_path / "o.json", instance, known.optimum, known.runs, schedules=ours)
    status, _, _ = call("report", tmp_path / "o.json", "-o", tmp_path / "o.html", "-p", "our own")
    assert status == 0
    page = Page(tmp_path / "o.html")
    assert "our own" in page.words
    assert all("next to that of our own" in p["alt"] for p in page.of("img"))


def test_an_optimum_alone_has_a_page(made, tmp_path):
    path, instance, _ = made
    save_result(tmp_path / "s.json", instance, load_report(path, instance).optimum)
    page = Page(optsched.report(tmp_path / "s.json", tmp_path / "p.html"))
    assert "policies" not in page.tables
    assert "optsched solve s.json" in page.words
    assert page.of("img")


def test_a_result_that_cannot_be_true_has_no_page(made, call, tmp_path):
    content = json.loads(made[0].read_text())
    content["runs"][0]["value"] *= 1.01
    (tmp_path / "forged.json").write_text(json.dumps(content))
    status, _, err = call("report", tmp_path / "forged.json", "-o", tmp_path / "p.html")
    assert status == 2
    assert "forged.json: run of adaptive: rejected" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "p.html").exists()


@pytest.mark.parametrize(
    ("ratios", "log", "first"),
    [([1.0, 1.1, 1.3], False, "1"), ([1.1, 1.2, 40.0], True, "1"), ([], False, "1")],
)
def test_axes_of_ratios_hold_one_and_all_ends(ratios, log, first):
    scale = AxisScale.of_ratios(ratios, [float("inf"), *ratios])
    assert scale.log == log
    assert scale.low < 1 < scale.high < float("inf")
    assert all(scale.low < r < scale.high for r in ratios)
    assert scale.marks()[0][1] == first
    assert all(0 <= place <= 1 for place, _ in scale.marks())
    assert scale.at(float("inf")) == 1.0


def test_the_summary_of_a_log_begins_with_its_schedule_and_leaves_out_exact_run_times():
    rigid = get_family("rigid")
    inst = rigid.generate("lublin", seed=1, jobs=12)
    inst = inst.model_copy(
        update={"jobs": [j.model_copy(update={"request": 2 * j.run}) for j in inst.jobs]}
    )
    real = optsched.simulate(inst, "fcfs").schedule
    policies = ["easy", "easy-exact", "sjf-exact"]
    report = optsched.compare(inst, policies, schedule={REAL: real}, work_limit=200)
    first, second, *rest = of_ratios(report, rigid)
    assert re.match(
        r"What your cluster did: it reaches a mean wait of \S+ h \(value \S+\), ratio", first
    )
    assert second.startswith(
        "Of the policies that can be deployed, easy comes nearest: it reaches "
    )
    assert any(
        line.startswith("Policies with exact run times cannot be deployed: ") for line in rest
    )
    alone = optsched.compare(inst, ["easy-exact"], work_limit=200)
    assert of_ratios(alone, rigid)[0].startswith("easy-exact comes nearest")


def test_the_page_of_a_log_lists_the_remarks_on_it(call, tmp_path):
    log, stored, page = (tmp_path / name for name in ("log.csv", "r.json", "p.html"))
    log.write_text("submit_seconds,run_seconds,tasks,request_seconds\n0,100,2,60\n10,50,2,60\n")
    said = "1 of 2 jobs ran longer than its limit"
    status, _, err = call("ratio", log, "--family", "rigid", "-p", "easy", "-o", stored)
    assert (status, said in err) == (0, True)
    assert call("report", stored, "-o", page)[0] == 0
    assert f"stated by the file, not checked: {said}" in page.read_text()
    assert "other schedulers, decided as the file states" in page.read_text()
    assert "not checked: " in (out := call("verify", stored)[1])
    assert "listed of the file" in out
    content = json.loads(stored.read_text())
    stored.write_text(json.dumps(content | {"listed": [1]}))
    status, _, err = call("report", stored, "-o", page)
    assert (status, 'r.json: "listed" is no list of texts' in err) == (2, True)
