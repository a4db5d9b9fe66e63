"""How much a command prints on stderr; stdout is for its result alone. Quick to import."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TextIO

quiet = False  # nothing but the result, and what went wrong
verbose = False  # all there is to state of the result
has_output = True  # stdout was open when this process began


def settle(*, quiet: bool, verbose: bool) -> None:
    """Choose how much this process prints from now on."""
    globals().update(quiet=quiet, verbose=verbose)


@contextmanager
def silenced() -> Iterator[None]:
    """Leave remarks out: what is done many times need not be reported every time."""
    before = quiet
    settle(quiet=True, verbose=verbose)
    try:
        yield
    finally:
        settle(quiet=before, verbose=verbose)


_listeners: list[list[str]] = []


@contextmanager
def unremarked() -> Iterator[None]:
    """Neither print nor collect remarks."""
    before = _listeners[:]
    _listeners.clear()
    try:
        with silenced():
            yield
    finally:
        _listeners[:] = before


@contextmanager
def collected_remarks() -> Iterator[list[str]]:
    """Collect remarks, printed or not: what is stated next to a result is not lost with stderr."""
    found: list[str] = []
    _listeners.append(found)
    try:
        yield found
    finally:
        _listeners.remove(found)


_lock = threading.Lock()
_diverted: list[Any] = []  # stdout, and a copy of its descriptor; then None per further caller
for_good = False  # this is a command's process: what was diverted once stays so until its end
_results: TextIO | None = None  # where results go from then on


def stdout() -> TextIO:
    """Return the stream to which results are written: the stdout that this process began with."""
    return _results or sys.stdout


def result(text: object) -> None:
    """Print a result, or a part of it, on stdout."""
    print(text, file=stdout())


@contextmanager
def diverted() -> Iterator[None]:
    """Send to stderr what code from outside prints inside, and programs that it starts.

    In the process of a command for good: what such code leaves behind (threads, programs, functions
    for the end) may print at any time.
    """
    with _lock:
        if for_good and not _diverted:
            _diverted.append(_divert())
            _keep_apart(*_diverted[0])
        _diverted.append(None if _diverted else _divert())
    try:
        yield
    finally:
        with _lock:
            if len(_diverted) == 1:
                _restore(*_diverted[0])
            _diverted.pop()


def _divert() -> tuple[Any, int | None]:
    before, copy = sys.stdout, None
    with suppress(OSError, ValueError, AttributeError):  # it is no stream of the system
        before.flush()
        if before.fileno() == 1:
            copy = os.dup(1)
            os.dup2(2, 1)
    sys.stdout = sys.stderr
    return before, copy


def _keep_apart(before: Any, copy: int | None) -> None:
    global _results
    _results = before
    if copy is not None:
        _results = os.fdopen(copy, "w", encoding=before.encoding, errors=before.errors)


def _restore(before: Any, copy: int | None) -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    sys.stdout = before
    if copy is not None:
        os.dup2(copy, 1)
        os.close(copy)


PATIENCE = 2.0  # seconds of silence before it is reported what is done
PERIOD = 10.0  # seconds between two such lines


@contextmanager
def long_step(doing: str) -> Iterator[None]:
    """Report what is done as soon as it takes longer than a moment, and then now and again."""
    over, began = threading.Event(), time.monotonic()

    def announce() -> None:
        wait = PATIENCE
        while not over.wait(wait):
            remark(f"{doing} ({time.monotonic() - began:.0f} s)")
            wait = PERIOD

    teller = threading.Thread(target=announce, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def text_of(value: Any, between: str = "\n") -> str:
    """Write a fact in words; ``between`` parts what is nested: it gets lines of its own.

    >>> text_of({"jobs": 3, "load": 0.123456}), text_of([{"name": "a"}, None], "; ")
    ('jobs 3, load 0.1235', 'name a; -')
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        nested = any(isinstance(v, Mapping) for v in value.values())
        texts = [f"{name} {text_of(v, between)}" for name, v in value.items()]
        return (between if nested else ", ").join(texts)
    if isinstance(value, list | tuple):
        nested = any(isinstance(v, Mapping) for v in value)
        return (between if nested else ", ").join(text_of(v, between) for v in value)
    return "-" if value in (None, "") else str(value)


def printable(text: str, shown: str = "") -> str:
    r"""Return ``text`` such that nothing in it commands a terminal, but for what is ``shown``.

    >>> printable("a\x1b[2J\n")
    'a\\x1b[2J\\n'
    """
    return "".join(c if c.isprintable() or c in shown else repr(c)[1:-1] for c in text)


def notify(text: str, shown: str = "") -> None:
    """Print one line on stderr, however quiet: something went wrong, or was cut short."""
    stdout().flush()
    print(f"optsched: {printable(text, shown)}", file=sys.stderr, flush=True)


_names: dict[str, str] = {}  # of temporary files, by path


@contextmanager
def naming(path: str, name: str) -> Iterator[None]:
    """Call a temporary file by a name in remarks."""
    _names[path] = name
    try:
        yield
    finally:
        del _names[path]


def remark(text: str) -> None:
    """Print one line on stderr, unless nothing but the result is wanted."""
    for path, name in _names.items():
        text = text.replace(path, name)
    for found in _listeners:
        found.append(printable(text))
    if not quiet:
        print(printable(text), file=sys.stderr, flush=True)
