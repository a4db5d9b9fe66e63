"""The second checker: one page of plain JavaScript that needs neither optsched nor a network.

It shares no code with the checkers of this package. `oasis` and completion's program
over time were written from the documentation before these were read, the rest with them at hand
where it lacked details (`dmlrs`: from a page whose author had read them). What is done here is to
put the files one after the other.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import metadata
from importlib.resources import files
from pathlib import Path

from optsched.files.atomic_io import writable, write_whole
from optsched.problem import InputError

SHARED = ("numbers", "text", "fields", "training", "tree", "knapsack", "result")
FAMILIES = {
    "oasis": ("data", "judge", "payoffs", "loads", "relaxed", "bound"),
    "dmlrs": ("data", "judge", "costs", "payoffs", "packings", "program", "relaxed", "bound"),
    "bot": ("data", "judge", "bound"),
    "bipartite": ("data", "judge", "bound"),
    "declared": ("data", "judge", "bound"),
    "completion": (
        "data",
        "judge",
        "placements",
        "choices",
        "conflicts",
        "program",
        "relaxed",
        "bound",
    ),
    "rigid": ("data", "judge", "bound"),
}
GAMES = ("data", "states", "proof")  # of `optsched.minimax`
PAGE = ("page", "node")


def _read(folder: str, name: str) -> str:
    return files(__name__).joinpath(folder, name).read_text(encoding="utf-8")


def script() -> str:
    """Return the program, which runs in a browser and in Node."""
    parts = [_read("shared", f"{name}.js") for name in SHARED]
    for family, names in FAMILIES.items():
        parts += [_read(f"families/{family}", f"{name}.js") for name in names]
    parts += [_read("minimax", f"{name}.js") for name in GAMES]
    parts += [_read("page", f"{name}.js") for name in PAGE]
    return "\n".join(['"use strict";', *parts])


def page() -> str:
    """Return the program as a page; its own style and script are all that it lets in."""
    inside = {"style": _read("page", "checker.css"), "script": script()}
    hashes = {f"{name}_hash": _hash(text) for name, text in inside.items()}
    html = _read("page", "checker.html")
    for name, text in {**hashes, "version": metadata.version("optsched"), **inside}.items():
        html = html.replace(f"{{{name}}}", text)
    return html


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def save_checker(target: Path | str) -> Path:
    """Write the checker: ``.html`` to be opened in a browser, ``.js`` to be run by Node.

    Raises
    ------
    InputError
        The name ends otherwise, or cannot be written.
    """
    path = Path(target)
    made = {".html": page, ".js": script}.get(path.suffix.lower())
    if made is None:
        raise InputError(f"{path}: ends in {path.suffix!r}, expected .html or .js")
    write_whole(writable(path), made())
    return path
