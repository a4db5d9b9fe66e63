"""The optimum of a program in the Conic Benchmark Format."""

import clarabel
import numpy as np
from scipy.sparse import csc_array


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
