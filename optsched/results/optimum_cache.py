"""Optima of earlier comparisons, kept by the instance's digest: repeated comparisons wait once.

They lie in the user's cache folder (OPTSCHED_CACHE, or optsched in XDG_CACHE_HOME, or in ~/.cache),
as result files. What is taken from there is checked like any result file. An optimum that is closed
serves every comparison of its instance with the default parameters; any other serves the same
question with the same limits and parameters, by the same version. Uncertified results are not kept:
they could not be verified. Nor is the value of a relaxation: no certificate proves that it is
reached.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from optsched.core import Optimum
from optsched.engine.interval import CLOSED
from optsched.problem import RELAXATION, InputError, Instance, Level
from optsched.results.load import load_known
from optsched.results.result import save_result

MOST = 100  # files; the oldest go first
NAME = re.compile(r"[0-9a-f]{40}(-[0-9a-f]{12})?\.json")  # of a file in the cache: see `_places`


def folder() -> Path:
    """Return the folder in which optima are kept."""
    chosen = os.environ.get("OPTSCHED_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(chosen).expanduser() if chosen else Path(home).expanduser() / "optsched"


def lookup(
    instance: Instance, spec: Mapping[str, Any]
) -> tuple[Optimum, dict[str, Optimum]] | None:
    """Return the optimum and the further references that were kept, checked again, or None.

    Parameters
    ----------
    instance : Instance
    spec : mapping
        The options of the search.
    """
    for path in _places(instance, spec):
        with contextlib.suppress(InputError, OSError):
            optimum, references = load_known(path, instance)
            references.pop(RELAXATION, None)
            closed = _is_closed(optimum, references)
            if closed is not None and (closed or path == _places(instance, spec)[-1]):
                return optimum, references
    return None


def store(
    instance: Instance,
    spec: Mapping[str, Any],
    optimum: Optimum,
    references: Mapping[str, Optimum],
) -> None:
    """Keep an optimum and further references; where nothing can be written, nothing is kept."""
    references = {name: found for name, found in references.items() if name != RELAXATION}
    closed = _is_closed(optimum, references)
    if optimum.scope or closed is None:
        return
    places = _places(instance, spec)
    with contextlib.suppress(InputError, OSError):
        folder().mkdir(parents=True, exist_ok=True)
        save_result(places[0 if closed else -1], instance, optimum, (), references)
        kept = [path for path in folder().iterdir() if NAME.fullmatch(path.name)]
        for path in sorted(kept, key=lambda p: p.stat().st_mtime)[:-MOST]:
            path.unlink(missing_ok=True)


def _is_closed(optimum: Optimum, references: Mapping[str, Optimum]) -> bool | None:
    """Return whether all is closed that was searched for; None: something is not certified."""
    if any(o.bound_level is not Level.CERTIFIED for o in (optimum, *references.values())):
        return None
    return all(
        o.certified_gap is not None and o.certified_gap <= CLOSED
        for o in (optimum, *references.values())
    )


def _places(instance: Instance, spec: Mapping[str, Any]) -> list[Path]:
    """Return where an optimum may lie: the closed one first, then that of these very options."""
    digest = instance.digest()[:40]
    options = f"{metadata.version('optsched')} {sorted(spec.items())}"
    same = folder() / f"{digest}-{hashlib.sha256(options.encode()).hexdigest()[:12]}.json"
    ordinary = spec["method"] == "auto" and spec["gap"] >= CLOSED and not spec.get("params")
    return [folder() / f"{digest}.json", same] if ordinary else [same]
