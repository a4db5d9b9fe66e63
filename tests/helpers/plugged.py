"""The family of docs/examples as if it were installed."""

import importlib
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path

from optsched import problem

HOME = Path(__file__).parents[2] / "docs" / "examples"


def installed(folder):
    """Write pip's metadata of the package into ``folder``; return what is to be on the path."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf-8"))["project"]
    said = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    said.mkdir()
    (said / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {what}" for name, what in entries.items())]
    (said / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder, HOME


@contextmanager
def plugged(folder):
    """Let the family be found here by its entry point."""
    paths = [str(path) for path in installed(folder)]
    sys.path[:0] = paths
    importlib.invalidate_caches()
    problem.family_names.cache_clear()
    try:
        yield
    finally:
        for path in paths:
            sys.path.remove(path)
        problem.family_names.cache_clear()
