"""The built site: its links lead somewhere, and in a browser it needs nothing but itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from patience import LONG

pytest.importorskip("furo", reason="the extra `docs` is missing")
DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(str(page.relative_to(DOCS).with_suffix(".html")) for page in DOCS.rglob("*.md"))
KINDS = (
    "search.html",
    "howto/own-instances.html",
    "explanation/prices.html",
    "reference/output.html",
)
LARGE = ("oasis.html", "papers.html", "reference/python.html")  # contrast: a second per 1000 words
WIDTHS = (360, 768, 1280)
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="session")  # families' pages are shown among the tests of the family
def site(tmp_path_factory):
    if "SITE" in os.environ:  # it has just been built
        return Path(os.environ["SITE"]).resolve()
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", str(DOCS), str(folder)]
    subprocess.run(words, check=True, timeout=LONG)
    return folder


class Links(HTMLParser):
    """The links of a page, and the places on it that can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places, self.sources = [], set(), []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag in ("img", "script", "link"):
            self.sources.append(given.get("src") or given.get("href"))


@pytest.mark.exhaustive
def test_every_link_within_the_site_leads_to_a_place(site):
    read = {path: Links(path) for path in site.rglob("*.html")}
    assert len(read) > len(PAGES)
    lost = []
    for path, page in read.items():
        for link in [*page.links, *filter(None, page.sources)]:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = read.get(target)
            if not target.exists() or (
                parts.fragment and there and unquote(parts.fragment) not in there.places
            ):
                lost.append(f"{path.relative_to(site)}: {link}")
    assert not [link for link in lost if not link.endswith(("#", "#top"))]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="no extra `browser`")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as made:
        opened = made.chromium.launch(
            executable_path=program, args=["--no-sandbox"], timeout=1000 * LONG
        )
        yield opened
        opened.close()


@pytest.fixture
def tab(browser):
    """Return a tab; what it asks others for or complains of fails the test."""
    noted = []
    made = browser.new_page()
    made.set_default_timeout(1000 * LONG)
    made.on("request", lambda r: noted.append(r.url) if not _own(r.url) else None)
    made.on("requestfailed", lambda r: noted.append(r.url))
    made.on("console", lambda message: noted.append(message.text))
    made.on("pageerror", lambda error: noted.append(str(error)))
    yield made
    made.close()
    assert noted == []


def _own(url):
    return url.startswith(("file:", "data:"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*PAGES, "search.html", "genindex.html"])
def test_a_page_opens_from_a_disk_and_no_width_scrolls_sideways(site, tab, name):
    tab.goto((site / name).as_uri())
    assert tab.locator("h1").count() >= 1
    broken = "[...document.images].filter((i) => i.complete && !i.naturalWidth).length"
    assert tab.evaluate(broken) == 0
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("scheme", "name"),
    [*(("light", name) for name in (*KINDS, *LARGE)), *(("dark", name) for name in KINDS[:2])],
)
def test_axe_finds_nothing_serious(site, tab, scheme, name):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab.emulate_media(color_scheme=scheme)
    tab.goto((site / name).as_uri())
    rules = {"color-contrast": {"enabled": name not in LARGE}}
    flaws = axe.run(tab, options={"preload": False, "rules": rules}).response["violations"]
    assert [f for f in flaws if f["impact"] in SERIOUS] == []


@pytest.mark.exhaustive
def test_a_search_needs_no_server(site, tab):
    tab.goto((site / "index.html").as_uri())
    tab.locator("input[name=q]").first.fill("hindsight")
    tab.keyboard.press("Enter")
    found = tab.locator("ul.search li a[href*=own-policy]").first
    found.wait_for()  # they come one by one
    assert (site / "tutorials/own-policy.html").as_uri() in found.evaluate("a => a.href")


@pytest.mark.exhaustive
def test_a_formula_is_drawn(site, tab):
    tab.goto((site / "oasis.html").as_uri())
    box = tab.locator("math[display=block]").first.bounding_box()
    assert box["width"] > 100
    assert box["height"] > 20
