"""The second checker in a browser, opened from the disk: it checks, draws, and requests nothing."""

import json

import pytest
from browsing import fits_every_width, opened
from second_checker import RESULTS, solved

from optsched.pages.checker import save_checker
from optsched.results.result import recheck

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return one result per family, and one whose schedule is damaged."""
    folder = tmp_path_factory.mktemp("checked")
    made = [solved(family, folder)[0] for family in RESULTS]
    content = json.loads(made[0].read_text())
    entries = next(job for job in content["optimum"]["schedule"]["jobs"] if job)
    entries["workers"][0][2] += 1000
    (folder / "damaged.json").write_text(json.dumps(content))
    return [*made, folder / "damaged.json"]


@pytest.fixture(scope="module", params=["light", "dark"])
def tab(request, browser, files, tmp_path_factory):
    """Return a page on which the files are open; what it requests or complains of fails."""
    address = save_checker(tmp_path_factory.mktemp("page") / "checker.html").as_uri()
    with opened(browser, color_scheme=request.param) as (page, noted):
        page.goto(address)
        page.set_input_files("#files", files)
        page.locator("html[data-checked]").wait_for()
        yield page
    assert noted[0] == address
    assert all(url.startswith("blob:null/") for url in noted[1:])  # its own worker


def test_every_result_is_accepted_and_the_damaged_one_is_not(tab, files):
    said = tab.locator(".verdict").all_inner_texts()
    assert [text.endswith("accepted") for text in said] == [True] * (len(files) - 1) + [False]


def test_the_numbers_are_those_of_the_other_checker(tab, files):
    places = tab.locator("dt:text-is('certified bound') + dd").all_inner_texts()
    bounds = [recheck(path)[0].bound for path in files[:-1]]
    assert list(map(float, places[:-1])) == pytest.approx(bounds, rel=1e-9)


def test_schedules_are_drawn(tab, files):
    assert tab.locator("figure").count() >= len(files)
    assert all(tab.locator("figure").nth(k).locator(".track i").count() for k in range(len(files)))


def test_no_width_scrolls_sideways(tab):
    fits_every_width(tab)
