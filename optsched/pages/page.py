"""The front door: a store or a result becomes one HTML file.

It holds style and script; nothing else may run or be loaded.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from optsched.base import UNPRINTABLE, renamed_arguments
from optsched.drawing import CURVES, OTHERS
from optsched.files.atomic_io import open_file, writable, write_whole
from optsched.files.format import read_json
from optsched.pages.advice import page_of_advice
from optsched.pages.blocks import Page
from optsched.pages.campaign import page_of_store
from optsched.pages.foresight import page_of_foresight
from optsched.pages.minimax import page_of_game
from optsched.pages.result import page_of_result
from optsched.pages.whatif import page_of_whatif
from optsched.problem import InputError
from optsched.process import interrupts

SQLITE = b"SQLite format 3\0"  # how the file of a store begins
PAGES = {  # by kind of file; those of a store and of a result also draw schedules
    "minimax": page_of_game,
    "foresight": page_of_foresight,
    "advice": page_of_advice,
    "whatif": page_of_whatif,
}


@renamed_arguments(tell="callback")
@interrupts.remembered()
def report(
    source: Path | str,
    target: Path | str,
    *,
    policies: Sequence[str] = (),
    callback: Callable[[str], None] | None = None,
) -> Path:
    """Write what a campaign, a result, a game or a curve states as one HTML page.

    Parameters
    ----------
    source : Path or str
        The store of a campaign, a result of `solve` or `ratio`, or what `minimax`, `foresight`,
        `advice` or `whatif` has written.
    target : Path or str
        The page. It is written whole or not at all; the same source gives the same bytes.
    policies : sequence of str, optional
        Whose worst instances are drawn, by their names in the tables. Of a campaign, by default the
        best and the worst policy, if their schedules are found again in some seconds.
    callback : callable, optional
        Called with the finished part.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InputError
        The source is none of them, states what cannot be true, or the page cannot be written.
    KeyboardInterrupt
        After Ctrl-C; nothing is written.
    """
    callback = callback or (lambda _: None)
    path, page = Path(source), writable(Path(target))
    with open_file(path) as f:
        is_store = f.read(len(SQLITE)) == SQLITE
    kind = "store" if is_store else read_json(path, "result", *PAGES)["kind"]
    if kind in PAGES:
        if policies:
            refused = f"--policy {policies[0]}"
            raise InputError(f"{refused}: no schedules are drawn, expected no --policy")
        made = PAGES[kind](path, callback)
    else:
        made = (page_of_store if is_store else page_of_result)(path, policies, callback)
    interrupts.raise_if_interrupted()
    write_whole(page, render(made))
    return page


# Of curves on a dark ground, instead of `CURVES`; found by the same search.
DARK = (
    "#4060C0", "#E04000", "#C02080", "#40C060", "#A000FF", "#FFA000", "#A0A0E0", "#806040",
    "#C0A0A0", "#A0FF80",
)  # fmt: skip


def render(page: Page) -> str:
    """Return the text of a page.

    Whatever comes from a store or a file is text: it is escaped, and what could turn or hide what
    is next to it is shown as a mark. If that failed, the page's own policy lets no script run
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
