"""The linear algebra below numpy and scipy, in one thread where results are to repeat.

Long sums are split among its threads, and what they add up to depends on how many there are: on the
cores of the machine, and on settings of the process. The libraries have no common way to say so;
this knows OpenBLAS as numpy and scipy bring it along, and leaves all others to threadpoolctl, where
that is installed.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path

NAMES = "scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}"

_lock = threading.Lock()
_depth = 0
_go_on: list[Callable[[], object]] = []  # what brings the threads back


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread; when the last caller is done, all is as before."""
    global _depth
    with _lock:
        if _depth == 0:
            _go_on.extend(_limit())
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                while _go_on:
                    _go_on.pop()()


def _limit() -> Iterator[Callable[[], object]]:
    """Set all libraries to one thread; yield what takes that back."""
    known = libraries()
    for library, name in known:
        change = getattr(library, name.format("set_num_threads"))
        yield partial(change, getattr(library, name.format("get_num_threads"))())
        change(1)
    if not known:
        with suppress(ImportError):
            yield import_module("threadpoolctl").threadpool_limits(1).restore_original_limits


@cache
def libraries() -> tuple[tuple[ctypes.CDLL, str], ...]:
    """Return the libraries, and how their functions are called."""
    found = []
    for package in ("numpy", "scipy"):
        home = Path(str(import_module(package).__file__)).parent
        for folder in (home.with_name(f"{package}.libs"), home / ".dylibs"):
            for path in sorted(folder.glob("*openblas*")):
                library = ctypes.CDLL(str(path))
                found += [
                    (library, name)
                    for name in NAMES
                    if hasattr(library, name.format("set_num_threads"))
                ][:1]
    return tuple(found)
