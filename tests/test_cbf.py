"""CBF files: read back by the format's definition, they have the same optimum."""

from __future__ import annotations

import clarabel
import cvxpy as cp
import numpy as np
import pytest
from oasis_reference import FILES, load
from scipy.sparse import csc_array

from optsched.cbf import cbf_text
from optsched.export import Format, write_program
from optsched.problem import InputError


def read(text):
    """Read what the writer uses of the format: sections of counts and numbers."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found, k = {"powers": [], "offset": 0.0, "BCOORD": [], "ACOORD": []}, 0
    while k < len(lines):
        name, k = lines[k], k + 1
        if name in ("VER", "OBJSENSE"):
            found[name], k = lines[k], k + 1
        elif name == "OBJBCOORD":
            found["offset"], k = float(lines[k]), k + 1
        elif name == "POWCONES":
            count, k = int(lines[k].split()[0]), k + 1
            for _ in range(count):
                assert lines[k] == "2"
                found["powers"].append((float(lines[k + 1]), float(lines[k + 2])))
                k += 3
        elif name in ("VAR", "CON"):
            size, count = map(int, lines[k].split())
            found[name] = (size, [line.split() for line in lines[k + 1 : k + 1 + count]])
            k += 1 + count
        else:
            count = int(lines[k])
            found[name] = [line.split() for line in lines[k + 1 : k + 1 + count]]
            k += 1 + count
    return found


def optimum(text):
    """Solve a file with a conic solver of its own, without CVXPY."""
    found = read(text)
    n, m = found["VAR"][0], found["CON"][0]
    sign = -1.0 if found["OBJSENSE"] == "MAX" else 1.0
    cost, right = np.zeros(n), np.zeros(m)
    for j, x in found["OBJACOORD"]:
        cost[int(j)] = sign * float(x)
    for i, x in found["BCOORD"]:
        right[int(i)] = float(x)
    i, j, x = np.array(found["ACOORD"], float).T
    matrix = np.zeros((m, n))
    matrix[i.astype(int), j.astype(int)] = x
    cones, row = [], 0
    for kind, size in found["CON"][1]:
        size = int(size)
        if kind == "EXP":
            here = slice(row, row + 3)
            matrix[here], right[here] = matrix[here][::-1].copy(), right[here][::-1].copy()
            cones.append(clarabel.ExponentialConeT())
        elif kind.startswith("@"):
            a, b = found["powers"][int(kind[1:].partition(":")[0])]
            cones.append(clarabel.PowerConeT(a / (a + b)))
        else:
            made = {
                "L=": clarabel.ZeroConeT,
                "L+": clarabel.NonnegativeConeT,
                "Q": clarabel.SecondOrderConeT,
            }
            cones.append(made[kind](size))
        row += size
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        csc_array((n, n)), cost, csc_array(-matrix), right, cones, settings
    )
    return sign * solver.solve().obj_val + found["offset"]


def programs():
    x = cp.Variable(3)
    budget = (x[0] + 2 * x[1] + x[2] <= 4).set_label("eq1_budget")
    ball = cp.norm(x) <= 3
    yield cp.Problem(cp.Maximize(cp.sum(cp.log(x)) + 3), [budget, ball])
    yield cp.Problem(cp.Minimize(cp.sum(cp.inv_pos(x)) - 2), [budget, x[0] == 0.5])
    yield cp.Problem(cp.Maximize(cp.sum(cp.power(x, 0.3, approx=False))), [budget, ball, x >= 0])


@pytest.mark.parametrize("problem", list(programs()), ids=["log", "reciprocal", "power"])
def test_the_file_has_the_same_optimum(problem):
    text = cbf_text(problem)
    assert "eq1_budget: 1 rows" in text
    problem.solve(solver=cp.CLARABEL)
    assert optimum(text) == pytest.approx(problem.value, rel=1e-6)


def test_an_integer_program_is_no_conic_one(tmp_path):
    instance, _ = load(FILES[0])
    with pytest.raises(InputError, match="cannot be written as cbf, expected lp or mps"):
        write_program(instance, tmp_path / "x.cbf", Format.CBF)
    assert not list(tmp_path.iterdir())
