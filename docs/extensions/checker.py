"""The second checker as a page of the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from optsched.pages.checker import page

PLACE = "the pages on certificates in the documentation"
LINK = f'<a href="certificates/index.html">{PLACE}</a>'


def _write(app: Sphinx, failed: Exception | None) -> None:
    if failed is None and app.builder.format == "html":
        alone = page()
        assert alone.count(PLACE) == 1
        (Path(app.outdir) / "checker-page.html").write_text(alone.replace(PLACE, LINK), "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the page next to the others."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
