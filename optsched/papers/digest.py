"""Which code made a row: a digest of the source that can change its numbers.

That is what the experiment's `run` reaches in its paper's folder, function by function, so that a
change of a verdict or of a picture leaves rows as they are; its family, and those it borrows from;
and all common rooms where numbers are made.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import optsched

ROOT = Path(optsched.__file__).parent
ROOMS = (
    *("core", "engine", "numbers", "policies", "proofs", "scheduling", "solvers", "problem.py"),
)
PICTURES = ("pictures", "pictures.py")  # of a family: they change no number
BORROWED = re.compile(r"optsched\.families\.(\w+)")
LENGTH = 12  # hexadecimal digits that are stored
PLAIN = (bool, int, float, str, type(None))


def code_digest(run: Callable[..., Any], family: str) -> str:
    """Return the digest of the code that makes a row of an experiment."""
    seen: dict[str, str] = {}
    _reach(run, seen)
    said = [_rooms(family), *(f"{name}\n{text}" for name, text in sorted(seen.items()))]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:LENGTH]


@cache
def _rooms(family: str) -> str:
    """Return a digest of all source files that count, whatever the experiment."""
    families, found = [family], hashlib.sha256()
    for room in ROOMS:
        for path in _sources(ROOT / room):
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
        if not {*path.relative_to(place).parts} & {*PICTURES}:
            yield path


def _reach(thing: Any, seen: dict[str, str]) -> None:
    """Note the source of a function or class of an experiment, and of all that it names."""
    while isinstance(thing, partial):
        thing = thing.func
    name = f"{thing.__module__}.{thing.__qualname__}"
    if name in seen:
        return
    seen[name] = inspect.getsource(thing)
    members = vars(thing).values() if inspect.isclass(thing) else [thing]
    space = vars(inspect.getmodule(thing))
    for function in filter(inspect.isfunction, members):
        for used in _names(function.__code__):
            if used in space:
                _note(f"{thing.__module__}.{used}", space[used], function, seen)


def _note(name: str, value: Any, user: Any, seen: dict[str, str]) -> None:
    if isinstance(value, ModuleType):
        if _of_papers(value.__name__, user):
            for used in _names(user.__code__):
                if used in vars(value):
                    _note(f"{value.__name__}.{used}", vars(value)[used], user, seen)
    elif inspect.isfunction(value) or inspect.isclass(value):
        if _of_papers(value.__module__, user):
            _reach(value, seen)
    elif _is_plain(value) and not isinstance(value, list):  # a list may change while it runs
        seen[name] = repr(value)


def _of_papers(module: str, user: Any) -> bool:
    return module.startswith("optsched.papers") or module == user.__module__


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(x) for pair in value.items() for x in pair)
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return isinstance(value, (*PLAIN, range))


def _names(code: CodeType) -> list[str]:
    """Return the names that a piece of code uses, and those inside it."""
    inner = [n for c in code.co_consts if isinstance(c, CodeType) for n in _names(c)]
    return [*code.co_names, *inner]
