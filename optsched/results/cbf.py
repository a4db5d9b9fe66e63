"""Convex programs in the Conic Benchmark Format (CBF, version 3), for other conic solvers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import coo_array


def cbf_text(problem: Any) -> str:
    """Return a CVXPY problem as CBF text.

    The cones are those to which CVXPY reduces the problem: rays, second-order, exponential and
    power cones. Comments name the constraints of the model as it was written.

    Parameters
    ----------
    problem : cvxpy.Problem
        Without parameters, integers or semidefinite cones.
    """
    import cvxpy as cp

    data, _, _ = problem.get_problem_data(cp.CLARABEL, solver_opts={"use_quad_obj": False})
    dims = data["dims"]
    if dims.psd:
        raise ValueError("the problem has semidefinite cones, expected none")
    most = isinstance(problem.objective, cp.Maximize)
    sign = -1.0 if most else 1.0  # CVXPY minimizes the negative
    offset = float(data["param_prob"].apply_parameters()[1])
    cost = sign * np.asarray(data["c"], float)
    matrix, right, cones = _in_order(data["A"], np.asarray(data["b"], float), dims)
    lines = [f"# {name}" for name in _names(problem)]
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


def _names(problem: Any) -> Iterator[str]:
    yield "constraints, in the order in which they were written:"
    for constraint in problem.constraints:
        yield f"  {constraint.label or 'unnamed'}: {constraint.size} rows"


def _in_order(matrix: Any, right: Any, dims: Any) -> tuple[Any, Any, list[tuple[str, int]]]:
    """Return rows and cones; CBF has the coordinates of an exponential cone the other way round."""
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
