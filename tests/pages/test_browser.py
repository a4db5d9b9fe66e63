"""Pages in a browser: nothing is loaded, nothing is too wide, tables sort, figures answer, A4."""

import pytest
from browsing import barriers, fits_every_width, opened
from stores import made_up

import optsched
from optsched.results.result import save_result

pytestmark = pytest.mark.slow

A4 = (595, 842)  # points


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a page of a campaign with open optima, and one of a result with pictures."""
    folder = tmp_path_factory.mktemp("browser")
    store = made_up(folder / "store", ["first", "second", "third"], 40, opened=15)
    instance = optsched.get_family("bot").generate("small", seed=3)
    report = optsched.compare(instance, ["fifo", "adaptive"], work_limit=500)
    save_result(folder / "r.json", instance, report.optimum, report.runs, report.references)
    return {
        "campaign": optsched.report(store, folder / "campaign.html"),
        "result": optsched.report(folder / "r.json", folder / "result.html"),
    }


@pytest.fixture(params=["campaign", "result"])
def page(request, browser, files):
    """Return an open page; what it requests or complains of fails the test."""
    with opened(browser) as (tab, noted):
        tab.goto(files[request.param].as_uri())
        tab.locator("html[data-ready]").wait_for()
        yield tab
    assert noted == [files[request.param].as_uri()]


def test_no_width_scrolls_sideways(page):
    fits_every_width(page)


def test_a_table_of_a_whatif_is_not_cut(browser, tmp_path):
    inst = optsched.get_family("rigid").generate("lublin", seed=1, jobs=20, machines=8)
    user = {"without": f"user={inst.jobs[0].user}", "add": "1xnode"}
    optsched.whatif(inst, policies=["easy"], work_limit=1, **user).save(tmp_path / "w.json")
    with opened(browser, viewport={"width": 1200, "height": 800}) as (tab, _):
        tab.goto(optsched.report(tmp_path / "w.json", tmp_path / "w.html").as_uri())
        cut = "(t => t.scrollWidth - t.clientWidth)(document.querySelector('.scroll'))"
        assert tab.evaluate(cut) == 0


def test_words_fit_into_their_boxes(page):
    page.set_viewport_size({"width": 360, "height": 800})
    outside = page.evaluate(
        "[...document.querySelectorAll('p, dt, dd, h1, h2, figcaption, .bar > span, .legend "
        "button')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert outside == 0


def test_tables_sort_both_ways(page):
    table = page.locator("table").first
    heads = table.locator("th")
    for k in range(heads.count()):
        for kind in ("ascending", "descending"):
            heads.nth(k).locator("button").click()
            assert heads.nth(k).get_attribute("aria-sort") == kind
            cells = table.locator(f"tbody td:nth-child({k + 1})")
            keys = [
                cells.nth(i).get_attribute("data-v") or cells.nth(i).inner_text()
                for i in range(cells.count())
            ]
            numbers = [float(key.split()[0]) if key[0] in "0123456789i" else key for key in keys]
            assert numbers == sorted(numbers, key=_key, reverse=kind == "descending")
    assert table.locator("th[aria-sort]").count() == 1


def _key(value):
    return value.casefold() if isinstance(value, str) else value


def test_bars_and_curves_answer(page):
    tip = page.locator("#tip")
    page.locator(".bar[data-tip]").first.hover()
    assert "ratio" in tip.inner_text()
    area = page.locator(".area").first
    area.scroll_into_view_if_needed()
    area.hover(position={"x": 200, "y": 100})
    before = tip.inner_text()
    assert before.startswith(("ratio at most", "seconds:"))
    area.focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    assert tip.inner_text() != before
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_a_name_hides_its_curve(page):
    figure = page.locator("figure.plot").first
    button, curve = figure.locator(".legend button").first, figure.locator("g[data-curve]").first
    assert curve.is_visible()
    button.click()
    assert (button.get_attribute("aria-pressed"), curve.is_visible()) == ("false", False)
    button.click()
    assert curve.is_visible()


def test_dark_and_light_differ_and_paper_is_white(page):
    def ground():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    page.emulate_media(color_scheme="light")
    assert ground() == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    assert ground() == "rgb(22, 26, 32)"
    page.emulate_media(color_scheme="dark", media="print")
    assert ground() == "rgb(255, 255, 255)"


def test_it_prints_on_a4(page):
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 1000})  # of A4 without its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    printed = page.pdf(prefer_css_page_size=True).decode("latin-1")
    boxes = {tuple(map(float, box.split())) for box in _boxes(printed)}
    assert {(round(w), round(h)) for *_, w, h in boxes} == {A4}


def _boxes(printed):
    return [part.partition("]")[0] for part in printed.split("/MediaBox [")[1:]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, scheme):
    page.emulate_media(color_scheme=scheme)
    assert barriers(page) == []
