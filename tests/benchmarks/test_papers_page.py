"""The page of all statements: what is stored makes it, and nothing else."""

from pathlib import Path

import papers
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(papers.__file__).parent.parent


def test_the_page_is_that_of_the_stored_figures():
    made = papers.page(papers.RESULTS / "figures")
    assert (ROOT / "docs" / "papers.md").read_text(encoding="utf-8") == made


def test_a_figure_that_is_not_stored_says_so(tmp_path):
    made = papers.page(tmp_path)
    assert "not run with these settings yet" in made
    assert "](#" not in made.partition("## ")[0]  # nothing to lead to
