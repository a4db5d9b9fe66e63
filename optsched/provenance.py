"""Where numbers come from: versions and machine, stored beside every benchmark."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

PACKAGES = ("optsched", "numpy", "scipy", "numba", "pydantic", "pandas")

CITE = """\
To cite optsched, use CITATION.cff of its repository; cite the paper of a family beside it.
"""


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages whose version can change a number."""
    return {"python": platform.python_version()} | {p: metadata.version(p) for p in PACKAGES}


def portable(argument: str) -> str:
    """Return an argument of a command as another machine can use it: a path by its name alone.

    >>> portable("/home/me/results"), portable("--seeds")
    ('results', '--seeds')
    """
    return Path(argument).name if Path(argument).is_absolute() else argument


def machine() -> dict[str, str | int]:
    """Return system, processor and number of cores."""
    return {
        "system": f"{platform.system()} {platform.release()}",
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
