"""The declarative program of an instance as a file that other solvers read."""

from __future__ import annotations

import tempfile
from enum import StrEnum
from pathlib import Path

from optsched.files import write_whole
from optsched.problem import Instance, family_of


class Format(StrEnum):
    """Formats of integer programs."""

    LP = "lp"
    MPS = "mps"


def write_program(instance: Instance, path: Path, to: Format) -> None:
    """Write the program of ``instance`` to ``path``, with names of variables and equations."""
    program = family_of(instance).program(instance)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"program.{to}"
        program.write(str(made), io_options={"symbolic_solver_labels": True})  # ending: format
        write_whole(path, made.read_bytes())
