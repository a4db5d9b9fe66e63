"""The declarative program of an instance as a file that other solvers read."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from enum import StrEnum
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

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
        text = cbf_text(program).encode() if convex else _written_by_pyomo(program, to)
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


def cbf_text(problem: Any) -> str:
    """Return a CVXPY problem as text in the Conic Benchmark Format, version 3.

    The cones are those to which CVXPY reduces the problem: rays, second-order, exponential and
    power cones. Comments name the constraints of the model as it was written.

    Parameters
    ----------
    problem : cvxpy.Problem
        Without parameters, integers or semidefinite cones.
    """
    import cvxpy as cp  # here and below, since it takes a while to import

    data, _, _ = problem.get_problem_data(cp.CLARABEL, solver_opts={"use_quad_obj": False})
    dims = data["dims"]
    if dims.psd:
        raise ValueError("the problem has semidefinite cones, expected none")
    most = isinstance(problem.objective, cp.Maximize)
    sign = -1.0 if most else 1.0  # CVXPY minimizes the negative
    offset = float(data["param_prob"].apply_parameters()[1])
    cost = sign * np.asarray(data["c"], float)
    matrix, right, cones = _in_order(data["A"], np.asarray(data["b"], float), dims)
    lines = ["# constraints, in the order in which they were written:"]
    lines += [f"#   {c.label or 'unnamed'}: {c.size} rows" for c in problem.constraints]
    lines += ["VER", "3", "", "OBJSENSE", "MAX" if most else "MIN", ""]
    lines += _power_cones(dims.p3d)
    lines += ["VAR", f"{len(cost)} 1", f"F {len(cost)}", ""]
    lines += ["CON", f"{len(right)} {len(cones)}", *(f"{kind} {n}" for kind, n in cones), ""]
    lines += _listed("OBJACOORD", ((str(j), x) for j, x in enumerate(cost)))
    if offset:
        lines += ["OBJBCOORD", repr(sign * offset), ""]
    entries = zip(matrix.row, matrix.col, -matrix.data, strict=True)  # s = b - A x is in the cone
    lines += _listed("ACOORD", ((f"{i} {j}", x) for i, j, x in entries))
    lines += _listed("BCOORD", ((str(i), x) for i, x in enumerate(right)))
    return "\n".join(lines) + "\n"


def _in_order(matrix: Any, right: Any, dims: Any) -> tuple[Any, Any, list[tuple[str, int]]]:
    """Return rows and cones; CBF has the coordinates of an exponential cone the other way round."""
    from scipy.sparse import coo_array

    cones = [("L=", int(dims.zero)), ("L+", int(dims.nonneg))]
    cones += [("Q", int(n)) for n in dims.soc]
    begin = sum(n for _, n in cones)
    order = np.arange(matrix.shape[0])
    exponential = order[begin : begin + 3 * dims.exp].reshape(-1, 3)
    order[begin : begin + 3 * dims.exp] = exponential[:, ::-1].ravel()
    cones += [("EXP", 3)] * int(dims.exp)
    cones += [(f"@{k}:POW", 3) for k in range(len(dims.p3d))]
    return coo_array(matrix.tocsr()[order]), right[order], [(k, n) for k, n in cones if n]


def _power_cones(alphas: Any) -> list[str]:
    if not len(alphas):
        return []
    lines = ["POWCONES", f"{len(alphas)} {2 * len(alphas)}"]
    for alpha in alphas:
        lines += ["2", repr(float(alpha)), repr(1.0 - float(alpha))]
    return [*lines, ""]


def _listed(name: str, entries: Iterator[tuple[str, float]]) -> list[str]:
    """Return a section of coordinates; zeros are left out."""
    lines = [f"{where} {float(x)!r}" for where, x in entries if x != 0]
    return [name, str(len(lines)), *lines, ""] if lines else []
