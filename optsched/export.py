"""The declarative program of an instance as a file that other solvers read."""

from __future__ import annotations

import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Any

from optsched.cbf import cbf_text
from optsched.files import write_whole
from optsched.problem import InputError, Instance, family_of


class Format(StrEnum):
    """Formats of programs: integer ones (LP, MPS) and convex ones (CBF)."""

    LP = "lp"
    MPS = "mps"
    CBF = "cbf"


def write_program(instance: Instance, path: Path, to: Format) -> None:
    """Write the program of ``instance`` to ``path``.

    LP and MPS have the names of variables and equations; CBF, which has no names, lists those of
    the constraints in comments.

    Raises
    ------
    InputError
        The format does not suit the program.
    """
    program = family_of(instance).program(instance)
    convex = hasattr(program, "get_problem_data")  # CVXPY; else Pyomo
    if convex != (to is Format.CBF):
        fitting = [Format.CBF] if convex else [Format.LP, Format.MPS]
        raise InputError(
            f"the program of family {instance.family} cannot be written as {to}, "
            f"expected {' or '.join(fitting)}"
        )
    write_whole(path, cbf_text(program).encode() if convex else _written_by_pyomo(program, to))


def _written_by_pyomo(program: Any, to: Format) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"program.{to}"
        program.write(str(made), io_options={"symbolic_solver_labels": True})  # ending: format
        return made.read_bytes()
