"""Provenance: versions and machine, and the parameters of a generated instance."""

from __future__ import annotations

import inspect
import os
import platform
import shutil
from collections.abc import Callable
from functools import cache, wraps
from importlib import metadata
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

PACKAGES = ("optsched", "numpy", "scipy", "numba", "pydantic", "pandas")
SOLVERS = ("highspy", "ortools", "clarabel", "cvxpy", "pyomo", "gurobipy", "cplex", "xpress")

CITE = """\
To cite optsched, use CITATION.cff of its repository; also cite the paper of the family.
"""


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages whose version can change a number."""
    return {"python": platform.python_version()} | {p: metadata.version(p) for p in PACKAGES}


def solver_versions() -> dict[str, str]:
    """Return the solvers that are there and their versions (or where the program is), by name."""
    found = {}
    for package in SOLVERS:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    for program in ("cbc", "glpsol", "scip", "cplex", "gurobi_cl"):
        path = shutil.which(program)
        if path is not None:
            found.setdefault(program, path)
    return found


@cache
def all_versions() -> dict[str, str]:
    """Return the versions of all packages that can change a number; programs are left out."""
    return versions() | {name: v for name, v in solver_versions().items() if "/" not in v}


def portable(argument: str) -> str:
    """Return an argument of a command as another machine can use it: a path by its name alone.

    >>> portable("/home/me/results"), portable("--seeds")
    ('results', '--seeds')
    """
    return Path(argument).name if Path(argument).is_absolute() else argument


def machine() -> dict[str, str | int]:
    """Return system, processor and number of cores."""
    release = platform.release().partition("-")[0]  # the rest is a build's name
    return {
        "system": f"{platform.system()} {release}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
    }


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        for line in listed.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def names_changes(*options: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have the ``source`` of a generated instance name the differences from a generator's defaults.

    Parameters
    ----------
    *options : str
        Parameters that the generator itself names there.
    """

    def decorate(generate: Callable[P, T]) -> Callable[P, T]:
        usual = {
            name: parameter.default
            for name, parameter in inspect.signature(generate).parameters.items()
            if name not in ("preset", "seed", *options)
        }

        @wraps(generate)
        def wrapper(*args: P.args, **given: P.kwargs) -> T:
            made: Any = generate(*args, **given)
            changes = [
                f"{name}={value}"
                for name, value in given.items()
                if name in usual and value is not None and value != usual[name]
            ]
            if changes:
                source = ", ".join([made.source, *changes])
                made = made.labeled(source=source)
            result: T = made
            return result

        return wrapper

    return decorate
