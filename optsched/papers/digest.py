"""Which code made a row: a digest of the source that can change its numbers.

That is the module of the experiment's `run`, its family, those it borrows from, and all common
packages where numbers are made.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import optsched

ROOT = Path(optsched.__file__).parent
FOLDERS = ("core", "engine", "numbers", "policies", "proofs", "scheduling", "solvers", "problem.py")
PICTURES = {"pictures", "pictures.py"}  # of a family: they change no number
BORROWED = re.compile(r"optsched\.families\.(\w+)")
LENGTH = 12  # hexadecimal digits that are stored


def code_digest(run: Callable[..., Any], family: str) -> str:
    """Return the digest of the code that makes a row of an experiment."""
    own = inspect.getsource(inspect.getmodule(run) or run)
    return hashlib.sha256(f"{_digest_of_folders(family)}\n{own}".encode()).hexdigest()[:LENGTH]


@cache
def _digest_of_folders(family: str) -> str:
    """Return a digest of all source files that count, whatever the experiment."""
    families, found = [family], hashlib.sha256()
    for path in (path for folder in FOLDERS for path in _sources(ROOT / folder)):
        found.update(path.read_bytes())
    for name in families:  # grows
        for path in _sources(ROOT / "families" / name):
            text = path.read_text(encoding="utf-8")
            found.update(text.encode())
            families += [f for f in BORROWED.findall(text) if f not in families]
    return found.hexdigest()


def _sources(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    for path in sorted(place.rglob("*.py")):
        if not {*path.relative_to(place).parts} & PICTURES:
            yield path
