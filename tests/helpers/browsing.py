"""Pages in a browser: what they request and complain of, how wide they are, what axe finds."""

from contextlib import contextmanager

import pytest

WIDTHS = (360, 768, 1280)
SERIOUS = ("serious", "critical")


@contextmanager
def opened(browser, **options):
    """Open a tab; yield it, and all that it requests or complains of."""
    noted = []
    tab = browser.new_page(**options)
    tab.on("request", lambda r: noted.append(r.url) if not r.url.startswith("data:") else None)
    tab.on("requestfailed", lambda r: noted.append(r.url))
    tab.on("console", lambda message: noted.append(message.text))
    tab.on("pageerror", lambda error: noted.append(str(error)))
    yield tab, noted
    tab.close()


def fits_every_width(tab):
    """Assert that no width makes the page scroll sideways."""
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth") == width


def barriers(tab, **options):
    """Return what keeps readers out, according to axe."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(tab, options=options or None).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html']}" for v in found if v["impact"] in SERIOUS]
