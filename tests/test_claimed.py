"""No output calls optimal what no certificate proves, without the word "claimed" next to it."""

import csv
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from independent.oasis import random_instance
from pages import Page
from patience import LONG

import optsched
from optsched import compare, save_instance, solve
from optsched.cli import plots
from optsched.core.optimum import known
from optsched.experiments.campaign import campaign
from optsched.experiments.export import save_csv, save_latex
from optsched.papers.experiment import Rows
from optsched.papers.oasis import closed
from optsched.problem import Level, Status
from optsched.process import crash_state
from optsched.results.journal import Journal
from optsched.results.load import load_optimum
from optsched.results.result import save_result


@pytest.fixture(scope="module", params=["claimed", "cross-checked"])
def made(request, tmp_path_factory):
    """Return a comparison with an optimum without certificate, and the folder of its files."""
    folder = tmp_path_factory.mktemp("claimed")
    inst = random_instance(6)
    found = solve(inst, method="compact", check=request.param, time_limit=LONG)
    assert (found.status, found.bound_level) == ("claimed optimal", request.param)
    report = compare(inst, ["fifo"], optimum=found)
    save_instance(inst, folder / "i.json")
    save_result(folder / "r.json", inst, found, report.runs)
    return report, folder


def says_so(text: str) -> None:
    """Assert that whatever calls something optimal states that it is claimed."""
    lines = [line for line in text.splitlines() if re.search(r"\boptimal\b", line)]
    assert all("claimed" in line for line in lines), lines


def strings(content) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from strings(value)
    elif isinstance(content, list):
        for value in content:
            yield from strings(value)


def values_say_so(content) -> None:
    for text in strings(content):
        says_so(text)


def test_the_sentence(made):
    report, _ = made
    assert "is optimal" in str(report.optimum)
    for text in (str(report.optimum), repr(report.optimum), str(report), repr(report)):
        says_so(text)


def test_the_objects(made):
    report, _ = made
    assert report.optimum.status is Status.CLAIMED
    for content in (report.optimum.summary(), report.summary()):
        values_say_so(json.loads(json.dumps(content)))


def test_the_result_file(made):
    _, folder = made
    content = json.loads((folder / "r.json").read_text())
    assert content["optimum"]["status"] == "claimed optimal"
    values_say_so(content)
    assert load_optimum(folder / "r.json").status is Status.CLAIMED


@pytest.mark.parametrize(
    "command",
    [
        ("solve", "i.json", "-m", "compact", "--check"),
        ("ratio", "i.json", "-p", "fifo", "--optimum", "r.json"),
        ("show", "r.json"),
        ("verify", "r.json"),
    ],
    ids=lambda words: words[0],
)
def test_commands(made, command, call, monkeypatch):
    report, folder = made
    monkeypatch.chdir(folder)
    words = [*command, report.optimum.bound_level] if command[-1] == "--check" else command
    status, out, err = call(*words)
    assert status == 0
    assert "claimed" in out
    says_so(out)
    says_so(err)
    status, out, _ = call(*words, "--json")
    assert status == 0
    assert "claimed" in out
    values_say_so(json.loads(out))


def test_a_file_that_calls_optimal_what_nothing_proves_is_rejected(made, call):
    _, folder = made
    content = json.loads((folder / "r.json").read_text())
    content["optimum"]["status"] = "optimal"
    (folder / "forged.json").write_text(json.dumps(content))
    status, out, _ = call("verify", folder / "forged.json")
    assert status == 1
    assert "status is optimal (certified), but the gap is" in out


@pytest.mark.slow
def test_the_page_of_a_result(made):
    _, folder = made
    page = Page(optsched.report(folder / "r.json", folder / "p.html"))
    (row,) = page.tables["optimum"].texts()
    assert row["status"] == "claimed optimal"
    best = re.search(r"[^.]*no other is better[^.]*", page.words)
    assert best is not None
    assert "claimed" in best[0]
    says_so(page.words.replace(". ", ".\n"))


def test_pictures(made):
    report, _ = made
    for figure in (plots.convergence(report.optimum), plots.ratio_bars(report)):
        said = [
            text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))
        ]
        assert any("claimed" in text for text in said)
        for text in said:
            says_so(text.replace("\n", " "))


def test_ratios(made, call, monkeypatch):
    """A single number would look exact."""
    found, folder = made[0].optimum, made[1]
    inst = random_instance(6)
    alone = found.model_copy(update={"certified_bound": None, "certified_gap": None})
    report = compare(inst, ["drf"], optimum=alone)
    number = f"{report.policies[0].ratio.low:.4g} (claimed)"
    assert number in str(report)
    assert number in repr(report)
    save_result(folder / "alone.json", inst, alone, report.runs)
    monkeypatch.chdir(folder)
    _, out, _ = call("show", "alone.json")
    assert number in out
    assert "(claimed): no certificate proves" in out
    proved = found.model_copy(update={"certified_bound": 2 * found.bound})
    (row,) = compare(inst, ["drf"], optimum=proved).policies
    assert row.ratio.ends == f"{row.ratio.low:.4g} .. {row.ratio.high:.4g}"


def test_what_is_left_of_a_command_that_is_killed(made, monkeypatch):
    report, folder = made
    inst = random_instance(6)
    monkeypatch.setattr(crash_state, "_board", crash_state.CrashState())
    with Journal(inst, folder / "out.json", "compact", known(inst, ())) as journal:
        journal.record(report.optimum)
        (kept,) = folder.glob(".optsched-*best")
        values_say_so(json.loads(kept.read_text()))
        says_so(crash_state._board.get()["best"])


def test_a_figure_counts_what_is_proved():
    row = {"value": 1.0, "bound": 1.0, "bound_level": "claimed", "seconds": 1.0}
    assert closed(Rows(row | {"status": s} for s in Status)) == 1


@pytest.fixture(scope="module", params=["claimed", "certified"])
def store(request, tmp_path_factory):
    """Return the store of a campaign whose optima no certificate proves, and how it is checked."""
    folder = tmp_path_factory.mktemp("campaign")
    plan = {
        "instances": [{"family": "oasis", "preset": "small", "seeds": [0]}],
        "policies": [{"name": "fifo"}],
        "reference": {"method": "compact", "time_limit": LONG, "check": request.param},
    }
    with ThreadPoolExecutor(1) as executor:
        campaign(plan, folder / "store", executor=executor)
    return folder / "store", request.param


@pytest.mark.slow
def test_a_campaign_counts_as_closed_what_is_proved(store, tmp_path, call):
    """Whoever requests no more than a claim is told so next to every number."""
    path, check = store
    made = optsched.Campaign(path)
    (summary,) = made.statistics().summaries
    status = made.status()
    assert ("(claimed)" in summary.mean) == (check == Level.CLAIMED)  # else an interval
    assert (summary.open, status.claimed) == ((0, 1) if check == Level.CLAIMED else (1, 0))
    word = "1 optima only claimed" if check == Level.CLAIMED else "1 with an open optimum"
    page = Page(optsched.report(path, tmp_path / "p.html"))
    for text in (str(made), repr(made), call("campaign", "export", path)[1], page.words):
        assert word in text
        says_so(text)
    assert json.loads(call("campaign", "export", path, "--json")[1])["claimed"] == status.claimed
    save_csv(path, tmp_path / "cells.csv")
    with (tmp_path / "cells.csv").open() as f:
        (row,) = csv.DictReader(f)
    assert row["bound_level"] == "claimed"
    assert row["status"] == ("done" if check == Level.CLAIMED else "limit")
    save_latex(path, tmp_path / "means.tex")
    assert ("only claimed" in (tmp_path / "means.tex").read_text()) == (check == Level.CLAIMED)
