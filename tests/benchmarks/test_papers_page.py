"""The pages of all statements: what is stored makes them, and nothing else."""

import papers
import pytest

from optsched.papers import PAPERS

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
