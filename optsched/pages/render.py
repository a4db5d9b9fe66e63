"""Pages as HTML: one file, with style and script inside; nothing else may run or be loaded."""

from __future__ import annotations

import base64
import hashlib
from importlib import metadata
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from optsched.drawing import CURVES, OTHERS
from optsched.files.envelope import UNPRINTABLE
from optsched.pages.blocks import Page

# Of curves on a dark ground, in the place of `CURVES`; found by the same search.
DARK = (
    "#4060C0", "#E04000", "#C02080", "#40C060", "#A000FF", "#FFA000", "#A0A0E0", "#806040",
    "#C0A0A0", "#A0FF80",
)  # fmt: skip


def render(page: Page) -> str:
    """Return the text of a page.

    Whatever comes from a store or a file is text: it is escaped, and what could turn or hide what
    stands beside it is shown as a mark. If that failed, the page's own policy lets no script run
    but the one whose digest it names.
    """
    folder = files("optsched.pages") / "templates"
    script = Markup((folder / "page.js").read_text("utf-8"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(
        loader=PackageLoader("optsched.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    return environment.get_template("page.html").render(
        page=page,
        style=Markup((folder / "page.css").read_text("utf-8")),
        script=script,
        digest=digest,
        light=(*CURVES, OTHERS),
        dark=(*DARK, "#777777"),
        version=metadata.version("optsched"),
    )


def _shown(value: Any) -> Any:
    """Mark what could turn or hide a text; what is HTML already is left alone."""
    if isinstance(value, str) and not isinstance(value, Markup):
        lines = value.split("\n")  # of plans
        return "\n".join(UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", line) for line in lines)
    return value
