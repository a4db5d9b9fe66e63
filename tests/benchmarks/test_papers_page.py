"""The pages of all statements: what is stored makes them, and nothing else."""

import re
from pathlib import Path

import papers
import pytest

import optsched
from optsched.files.format import read_json
from optsched.papers import PAPERS, experiments
from optsched.papers.reproduce import experiment

MADE = papers.pages(papers.RESULTS / "figures")
LONGEST = 500  # lines

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
def test_the_pages_are_those_of_the_stored_figures(path):
    assert path.read_text(encoding="utf-8") == MADE[path]
    assert len(MADE[path].splitlines()) <= LONGEST


def test_there_is_a_page_per_paper():
    assert {path.stem for path in papers.DOCS.glob("papers/*.md")} == {*PAPERS}


def test_a_figure_that_is_not_stored_says_so(tmp_path):
    made = papers.pages(tmp_path)
    assert "not run with these settings yet" in made[papers.PAGE]
    assert ".md#" not in made[papers.PAGE]  # nothing to lead to


def test_an_erratum_leads_to_its_figure_and_the_figure_back():
    page = MADE[papers.DOCS / "papers" / "oasis.md"]
    section = page.split("## oasis-fig5")[1].split("\n## ")[0]
    assert "[OASIS-6](../errata.md#oasis-6)" in section
    assert "(papers/oasis.md#oasis-fig5)" in papers.ERRATA.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [e.name for paper in PAPERS for e in experiments(paper)])
def test_stored_verdicts_are_those_of_the_rule(name):
    content = read_json(papers.RESULTS / "figures" / f"{name}.json", "reproduction")
    of = experiment(name)
    outcome = of.judge(content["rows"])
    found = [(f.claim, f.verdict) for f in outcome.findings]
    assert found == [(f["claim"], f["verdict"]) for f in content["findings"]]
    assert outcome.score == content["score"]


@pytest.mark.parametrize("name", [e.name for paper in PAPERS for e in experiments(paper)])
def test_settings_have_the_numbers_and_quotations_of_those_that_were_run(name):
    run, now = (
        re.findall(r'"[^"]*"|\d[\d.,]*', " ".join(part for setting in settings for part in setting))
        for settings in ([s.values() for s in stored(name)["settings"]], experiment(name).settings)
    )
    assert now == run


def test_no_figure_has_a_rule_of_its_own():
    folder = Path(optsched.papers.__file__).parent
    for path in {*folder.rglob("*.py")} - {folder / "verdict.py"}:
        assert "Verdict." not in path.read_text(encoding="utf-8"), path


def test_the_printed_setting_is_judged():
    judged = {
        name: [f["claim"] for f in stored(name)["findings"] if f["verdict"]]
        for name in ("oasis-fig3", "oasis-fig6")
    }
    assert all(claim.startswith("as printed") for claim in judged["oasis-fig3"][:-1])
    assert all(claim.startswith("as printed") for claim in judged["oasis-fig6"])
    assert not stored("oasis-fig5")["score"].startswith("0")
    unknown = [f["verdict"] for f in stored("bipartite-fig5")["findings"] if f["verdict"]]
    assert set(unknown) == {"not testable"}


def stored(name):
    return read_json(papers.RESULTS / "figures" / f"{name}.json", "reproduction")
