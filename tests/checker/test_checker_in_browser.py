"""The second checker in a browser, opened from the disk: it checks, draws, and asks for nothing."""

from __future__ import annotations

import json
import shutil

import pytest
from second_checker import RESULTS, solved

from optsched.pages.checker import save_checker
from optsched.results.result import recheck

pytestmark = pytest.mark.slow

playwright = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is missing")
PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
if PROGRAM is None:
    pytest.skip("there is no Chromium", allow_module_level=True)

WIDTHS = (360, 768, 1280)


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
def tab(request, files, tmp_path_factory):
    """Return a page on which the files are open; what it asks for or complains of fails."""
    address = save_checker(tmp_path_factory.mktemp("page") / "checker.html").as_uri()
    noted = []
    with playwright.sync_playwright() as made:
        browser = made.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        page = browser.new_page(color_scheme=request.param)
        page.on("request", lambda r: noted.append(r.url))
        page.on("console", lambda message: noted.append(message.text))
        page.on("pageerror", lambda error: noted.append(str(error)))
        page.goto(address)
        page.set_input_files("#files", files)
        page.locator("html[data-checked]").wait_for()
        yield page
        browser.close()
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
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth") == width
