"""Declared problems: reference files; small random ones and their optima by enumeration."""

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog

from independent import reference
from optsched.declared.model import KINDS, Declared
from optsched.numbers.resources import exact

FILES = reference.files("declared")
ALL = reference.DATA.parents[2] / "shared" / "reference" / "declared"
MORE = sorted(ALL.glob("*.json"))
NEAR = 1e-6  # what is this close to a limit is computed


def load(path: Path) -> tuple[Declared, dict[str, Any]]:
    """Return the instance of a reference file, and its known answers."""
    content = json.loads(path.read_text())
    return instance(content["program"]), content


def instance(program: dict[str, Any]) -> Declared:
    """Return the instance that a program in the form of the reference files means."""

    def limit(value: float | None, infinite: str) -> float | str:
        return infinite if value is None else value

    columns = [
        {
            "name": c["name"],
            "cost": c["cost"],
            "lower": limit(c["low"], "-inf"),
            "upper": limit(c["high"], "inf"),
            "integer": c["whole"],
            "revealed": c["seen"],
            "decided": c["fixed"],
        }
        for c in program["columns"]
    ]
    rows = [
        {
            "name": r["name"],
            "lower": limit(r["low"], "-inf"),
            "upper": limit(r["high"], "inf"),
            "entries": r["entries"],
        }
        for r in program["rows"]
    ]
    return KINDS[program["sense"]].model_validate(
        {"offset": program["offset"], "columns": columns, "rows": rows}
    )


def draw(seed: int) -> Declared:
    """Draw a small model of any kind: LP, MILP, equalities, free variables, empty, degenerate."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(0, 7)), int(rng.integers(0, 6))
    kind = rng.choice(["integer", "mixed", "linear"])
    columns: list[dict[str, Any]] = []
    for j in range(n):
        integer = kind == "integer" or (kind == "mixed" and rng.random() < 0.6)
        lower, upper = float(rng.integers(-2, 2)), float(rng.integers(2, 4))
        if rng.random() < 0.15:
            lower = -math.inf
        if rng.random() < 0.15:
            upper = math.inf
        columns.append(
            {
                "name": f"x[{j}]",
                "cost": float(rng.choice([0, 1, -2, 3, 0.35, -1.27, 2.5])),
                "lower": lower,
                "upper": upper,
                "integer": integer,
                "revealed": j,
                "decided": j,
            }
        )
    rows: list[dict[str, Any]] = []
    for i in range(m):
        entries = [
            (j, float(rng.choice([1, -1, 2, 3, -3, 0.5, 1.3, 0.1])))
            for j in range(n)
            if rng.random() < 0.6
        ]
        side = float(rng.choice([-3, -1, 0, 1, 2, 4, 2.6, 7]))
        form = rng.choice(["<=", ">=", "=", "range"], p=[0.5, 0.25, 0.1, 0.15])
        rows.append(
            {
                "name": f"c[{i}]",
                "lower": {"<=": -math.inf, "range": side - 3}.get(form, side),
                "upper": {">=": math.inf}.get(form, side),
                "entries": entries,
            }
        )
    sense = "max" if rng.random() < 0.5 else "min"
    offset = float(rng.choice([0, 3.5, -1]))
    return KINDS[sense].model_validate({"offset": offset, "columns": columns, "rows": rows})


def enumerated(inst: Declared, reach: int = 6) -> float | None:
    """Return the optimum, minimized: all integer values, and an LP for the rest; None: infeasible.

    Infinite when it is unbounded within reach, where integers go up to ``reach`` beyond the others.
    """
    sign = 1 if inst.sense == "min" else -1
    whole = [j for j, c in enumerate(inst.columns) if c.integer]
    rest = [j for j in range(len(inst.columns)) if j not in whole]
    ranges = []
    for j in whole:
        c = inst.columns[j]
        low = -reach if math.isinf(c.lower) else math.ceil(c.lower)
        high = reach if math.isinf(c.upper) else math.floor(c.upper)
        ranges.append(range(low, high + 1))
    every = [*product(*ranges)]
    choices = np.array(every, float).reshape(len(every), len(whole))
    fits = np.ones(len(choices), bool)
    for row in inst.rows:
        low, high = _reached(inst, dict(row.entries), choices, whole, rest)
        fits &= (low <= row.upper + NEAR) & (high >= row.lower - NEAR)
    costs = {j: sign * c.cost for j, c in enumerate(inst.columns)}
    least = _reached(inst, costs, choices, whole, rest)[0] + sign * inst.offset
    best = None
    for k in np.argsort(least, kind="stable"):
        if best is not None and least[k] > best + NEAR:
            break  # those that follow cost more, whatever the other columns are
        if fits[k]:
            value = _completed(inst, dict(zip(whole, every[k], strict=True)), rest, sign)
            if value is not None and (best is None or value < best):
                best = value
    return best


def _reached(
    inst: Declared, factors: dict[int, float], choices: Any, whole: list[int], rest: list[int]
) -> tuple[Any, Any]:
    """Return between which numbers a sum is, for each choice of the integer columns."""
    known = choices @ np.array([factors.get(j, 0.0) for j in whole])
    ends = [
        sorted((factors[j] * inst.columns[j].lower, factors[j] * inst.columns[j].upper))
        for j in rest
        if factors.get(j)
    ]
    low, high = (sum(end[side] for end in ends) for side in (0, 1))
    return known + low, known + high


def _completed(inst: Declared, fixed: dict[int, int], rest: list[int], sign: int) -> float | None:
    place = {j: k for k, j in enumerate(rest)}
    a_ub, b_ub = [], []
    for row in inst.rows:
        known = sum((exact(a) * fixed[j] for j, a in row.entries if j in fixed), Fraction(0))
        line = np.zeros(len(rest))
        for j, a in row.entries:
            if j in place:
                line[place[j]] = a
        for limit, way in ((row.upper, 1), (row.lower, -1)):
            if math.isfinite(limit):
                left = way * (exact(limit) - known)
                if not line.any():
                    if left < 0:
                        return None
                else:
                    a_ub.append(way * line)
                    b_ub.append(float(left))
    cost = exact(inst.offset) + sum(
        (exact(inst.columns[j].cost) * x for j, x in fixed.items()), Fraction(0)
    )
    if not rest:
        return float(sign * cost)
    found = linprog(
        [sign * inst.columns[j].cost for j in rest],
        A_ub=np.array(a_ub) if a_ub else None,
        b_ub=b_ub or None,
        bounds=[(inst.columns[j].lower, inst.columns[j].upper) for j in rest],
        method="highs-ds",
        options={"presolve": False},
    )
    if found.status == 2:
        return None
    if found.status in (3, 4):
        return -math.inf
    return float(sign * cost) + float(found.fun)
