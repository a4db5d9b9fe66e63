"""The declarative program of an instance as a file that other solvers read."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from enum import StrEnum
from inspect import signature
from pathlib import Path
from typing import Any

from optsched.files.atomic_io import is_stream, write_whole
from optsched.problem import Family, InputError, Instance, family_of


class Format(StrEnum):
    """Formats of programs: integer ones (LP, MPS) and convex ones (CBF)."""

    LP = "lp"
    MPS = "mps"
    CBF = "cbf"


COMMENT = {Format.LP: "\\ ", Format.MPS: "* ", Format.CBF: "# "}
HIGHS = (
    "HiGHS: solve it with presolve = off; with it, HiGHS 1.12 to 1.15 has called worse solutions "
    "of such programs optimal"
)


def format_of(path: Path, to: Format | None = None) -> Format:
    """Return the format that the ending of a file states; without an ending, ``to`` or LP.

    Raises
    ------
    InputError
        The ending is no format and none is given, or it is another one than ``to``.

    >>> str(format_of(Path("small.mps"))), str(format_of(Path("-"), Format.CBF))
    ('mps', 'cbf')
    """
    ending = path.suffix.lower().removeprefix(".")
    known = list(map(str, Format))
    if not ending or (to is not None and ending not in (*known, "gz")):
        return to or Format.LP
    if ending not in known:
        raise InputError(f"{path}: the ending is .{ending}, expected .{', .'.join(known)}")
    if to is not None and to != ending:
        raise InputError(f"{path}: the ending is .{ending} and --to is {to}, expected one format")
    return Format(ending)


def write_program(
    instance: Instance, path: Path, to: Format, *, relaxed: bool = False, printed: bool = False
) -> tuple[str, ...]:
    """Write the program of ``instance`` to ``path``.

    An MPS file of a declared problem keeps its names and has a table of times next to it: `online`
    reads them back. Other LP and MPS files have the names of variables and equations; CBF, which
    has no names, lists those of the constraints in comments.

    Parameters
    ----------
    instance : Instance
    path : Path
    to : Format
    relaxed : bool
        Let variables be fractions: the linear relaxation. A convex program is its own.
    printed : bool
        Write the numbers of the paper where the program has tighter ones.

    Returns
    -------
    tuple of str
        What users of other solvers must know, which is also in the file: how its objective
        becomes that of the family (see ``Family.program_note``), and what solvers are known to do
        wrong; and where the times of the variables of a declared problem are, which are written
        next to an MPS file.

    Raises
    ------
    InputError
        The family has no program, or none in that form, or the format does not suit it.
    """
    family = family_of(instance)
    if family.program is None:
        raise InputError(f"family {family.name} has no program to export")
    program = program_in_form(family, instance, relaxed=relaxed, printed=printed)
    convex = hasattr(program, "get_problem_data")  # CVXPY; else Pyomo
    if convex != (to is Format.CBF):
        fitting = [Format.CBF] if convex else [Format.LP, Format.MPS]
        raise InputError(
            f"the program of family {instance.family} cannot be written as {to}, "
            f"expected {' or '.join(fitting)}"
        )
    notes = (*family.program_note(instance), *([] if convex or relaxed else [HIGHS]))
    times = ""
    if to is Format.MPS and family.mps_and_times is not None:
        own, times = family.mps_and_times(instance)
        text = own.encode()
    else:
        text = _written_by_cvxpy(program) if convex else _written_by_pyomo(program, to)
    comments = (f"{COMMENT[to]}{line}\n" for note in notes for line in note.splitlines())
    write_whole(path, "".join(comments).encode() + text)
    if times and not is_stream(path):
        write_whole(times_of(path), times)
        notes += (f"times of its variables: {times_of(path)}",)
    return notes


def times_of(path: Path) -> Path:
    """Return the file with the times of the variables.

    >>> str(times_of(Path("small.mps")))
    'small.times.csv'
    """
    return path.with_suffix(".times.csv")


def program_in_form(family: Family, instance: Instance, **form: bool) -> Any:
    """Return the program of a family, relaxed or printed.

    Raises
    ------
    InputError
        The family, which comes from outside, has no such form.
    """
    assert family.program is not None
    chosen = {name: True for name, is_chosen in form.items() if is_chosen}
    try:
        signature(family.program).bind(instance, **chosen)
    except TypeError as err:
        names = " or ".join(chosen)
        raise InputError(f"family {family.name} has no {names} form of its program") from err
    return family.program(instance, **chosen)


def _written_by_cvxpy(program: Any) -> bytes:
    from optsched.results.cbf import cbf_text  # here, since it takes a while to import

    return cbf_text(program).encode()


class _Distinct:
    """Labels of a Pyomo model; where Pyomo has one label for two parts, the second has a number."""

    def __init__(self, labeler: Callable[[Any], str]) -> None:
        self._labeler, self._taken = labeler, set[str]()

    def __call__(self, part: Any) -> str:
        label = base = self._labeler(part)
        n = 1
        while label in self._taken:
            n += 1
            label = f"{base}_{n}"
        self._taken.add(label)
        return label


def _written_by_pyomo(program: Any, to: Format) -> bytes:
    from pyomo.core.base.label import LPFileLabeler, TextLabeler  # they take a while to import

    labeler = _Distinct(LPFileLabeler() if to is Format.LP else TextLabeler())
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"program.{to}"
        program.write(str(made), io_options={"labeler": labeler})  # ending: format
        # Pyomo writes an infinite bound of an integer variable in MPS as a number
        return re.sub(rb"(?m)^ UI (\S+ \S+) 10E20$", rb" PL \1", made.read_bytes())
