"""Compiled functions: the decorator for kernels, and the message during compilation.

A kernel is compiled by numba when it is first called, and stored next to its source (or in the
folder that NUMBA_CACHE_DIR names), so that this happens once on a machine. No clock runs meanwhile
(see :mod:`optsched.process.timing`). What is stored holds all kernels that it calls, and the
numbers that it reads, and counts only while these are the same: numba itself looks at one file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar, cast, overload

import numpy as np
from numba import njit
from numba.core import config, event
from numba.core.dispatcher import Dispatcher

from optsched.process import timing

setattr(config, "_config_fname", os.devnull)  # noqa: B010  (no file of the working folder counts:
cast(Any, config).reload_config()  # it could name a folder of kernels, which are code)

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=tuple[Any, ...])

_made: list[Dispatcher[Any]] = []  # every kernel of the modules that are loaded
_names: list[str] = []  # those that have been compiled, and not only loaded, in this process
_now: list[str] = []  # the one that is being compiled, and those that wait for it
_stamps: dict[Dispatcher[Any], str] = {}  # the sources of the module
_unstored: list[str] = []  # those for which numba has found no folder that it can write


class _Decorator(Protocol):
    def __call__(self, function: F, /) -> Dispatcher[F]: ...


@overload
def kernel(function: F, /) -> Dispatcher[F]: ...
@overload
def kernel(**options: Any) -> _Decorator: ...
def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile ``function`` at its first call, and store the compiled code.

    Parameters
    ----------
    function : callable, optional
        Without it, a decorator with these options is returned.
    **options
        Of :func:`numba.njit`; and ``counted=False``: references to arrays are not counted, which
        takes a sixth of the time of small kernels. Such a kernel makes no arrays. Where a kernel
        takes tuples of arrays, a call passes hundreds of words; ``forceinline=True`` avoids them,
        and is for kernels with one or two callers.
    """
    if function is None:
        return partial(kernel, **options)
    if not options.pop("counted", True):
        options["_nrt"] = False  # numba's own name for it
    # nothing calls it from C: saves a sixteenth; and a waiting thread receives signals meanwhile
    options = {"no_cfunc_wrapper": True, "nogil": True} | options
    try:
        made = njit(cache=True, **options)(function)
        _stamp(made)
        _forgive(made)
    except RuntimeError:  # "cannot cache": nothing can be written
        _unstored.append(function.__name__)
        made = njit(**options)(function)
    _made.append(made)
    return made


def plain(arguments: T) -> T:
    """Return a NamedTuple as a plain tuple: for a kernel that takes it apart, called very often.

    Numba needs half a microsecond less to look at it.
    """
    return cast(T, tuple(arguments))


def _stamp(made: Any) -> None:
    """Accept stored code only while all sources compiled into it are unchanged.

    The digest of its file is joined by the options of the compiler and by what the module has so
    far of numbers, arrays, named tuples and kernels, from wherever they come: whatever it calls was
    imported, or is in this file.
    """
    file = made._cache._cache_file
    options = {  # a set of texts has another order in every process
        name: sorted(value) if isinstance(value, set | frozenset) else value
        for name, value in made.targetoptions.items()
    }
    parts = [file._source_stamp, sorted(options.items())]
    for name, value in made.py_func.__globals__.items():
        if isinstance(value, Dispatcher):
            parts.append((name, _stamps.get(value)))
        elif isinstance(value, np.ndarray):
            parts.append((name, value.dtype, value.shape, value.tobytes()))
        elif isinstance(value, type):
            parts.append((name, getattr(value, "_fields", ())))
        elif isinstance(value, int | float):
            parts.append((name, value))
    _stamps[made] = file._source_stamp = hashlib.sha256(repr(parts).encode()).hexdigest()


def _forgive(made: Any) -> None:
    """Ignore code stored by an older version, also if one of its types is gone.

    numba reads the types before it looks how old the file is.
    """
    file = made._cache._cache_file
    load = file._load_index

    def forgiving() -> dict[Any, Any]:
        try:
            return dict(load())
        except (AttributeError, ImportError):
            return {}

    file._load_index = forgiving


def compiling() -> str:
    """Return the kernel being compiled, in words; "" if none is."""
    now = _now[:1]  # read by another thread
    if not now:
        return ""
    ready = sum(bool(made.overloads) for made in _made)
    most = len(_made) - ready + len(_names)
    return f"compiling, once: part {len(_names) + 1} of at most {most}"


def unstored() -> str:
    """Return why kernels are compiled in every run, in words; "" if they are stored."""
    if not _unstored:
        return ""
    return (
        "compiled kernels cannot be stored, neither next to the package nor in your cache, so they "
        "are compiled in every run: let NUMBA_CACHE_DIR name a folder that can be written"
    )


class _Clock(event.Listener):
    """Stops the clock while numba compiles, or reads compiled code."""

    def on_start(self, _event: Any) -> None:
        timing.stop()

    def on_end(self, _event: Any) -> None:
        timing.go_on()


class _Count(event.Listener):
    """Notes which kernel is being compiled."""

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"] in _made:
            _now.append(event.data["dispatcher"].__name__)

    def on_end(self, event: Any) -> None:
        if event.data["dispatcher"] in _made:
            _names.append(_now.pop())


for _kind, _listener in (("numba:compiler_lock", _Clock()), ("numba:compile", _Count())):
    event.register(_kind, _listener)  # type: ignore[no-untyped-call]
