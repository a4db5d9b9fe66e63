"""The built site: its links lead somewhere, and in a browser it needs nothing but itself."""

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browsing import barriers, fits_every_width, opened
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


@pytest.fixture
def tab(browser):
    """Return a tab; what it requires others for or complains of fails the test."""
    with opened(browser) as (made, noted):
        made.set_default_timeout(1000 * LONG)
        yield made
    assert [what for what in noted if not what.startswith("file:")] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*PAGES, "search.html", "genindex.html"])
def test_a_page_opens_from_a_disk_and_no_width_scrolls_sideways(site, tab, name):
    tab.goto((site / name).as_uri())
    assert tab.locator("h1").count() >= 1
    broken = "[...document.images].filter((i) => i.complete && !i.naturalWidth).length"
    assert tab.evaluate(broken) == 0
    fits_every_width(tab)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("scheme", "name"),
    [*(("light", name) for name in (*KINDS, *LARGE)), *(("dark", name) for name in KINDS[:2])],
)
def test_axe_finds_nothing_serious(site, tab, scheme, name):
    tab.emulate_media(color_scheme=scheme)
    tab.goto((site / name).as_uri())
    rules = {"color-contrast": {"enabled": name not in LARGE}}
    assert barriers(tab, preload=False, rules=rules) == []


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
