"""The second checker as a page of the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from optsched.pages.checker import save_checker


def _write(app: Sphinx, failed: Exception | None) -> None:
    if failed is None and app.builder.format == "html":
        save_checker(Path(app.outdir) / "checker-page.html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the page next to the others."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
