"""The front door: a store or a result becomes one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from optsched.files.disk import open_file, writable, write_whole
from optsched.pages.campaign import page_of_store
from optsched.pages.render import render
from optsched.pages.result import page_of_result
from optsched.process import interrupts

SQLITE = b"SQLite format 3\0"  # how the file of a store begins


@interrupts.remembered()
def report(
    source: Path | str,
    target: Path | str,
    *,
    policies: Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write what a campaign or a result says as one HTML page that needs nothing else.

    Parameters
    ----------
    source : Path or str
        The store of a campaign, or a result of `solve` or `ratio`.
    target : Path or str
        The page. It is written whole or not at all; the same source gives the same bytes.
    policies : sequence of str, optional
        Whose worst instances are drawn, by their names in the tables. Of a campaign, by default the
        best and the worst policy, if their schedules are found again in some seconds.
    tell : callable, optional
        Told what is done.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InputError
        The source is neither, says what cannot be true, or the page cannot be written.
    KeyboardInterrupt
        After Ctrl-C; nothing is written.
    """
    path, page = Path(source), writable(Path(target))
    with open_file(path) as f:
        is_store = f.read(len(SQLITE)) == SQLITE
    made = (page_of_store if is_store else page_of_result)(path, policies, tell)
    interrupts.raise_if_asked()
    write_whole(page, render(made))
    return page
