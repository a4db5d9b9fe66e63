"""Conic programs: declared problems with cones, certified by the duals of an interior-point method.

Clarabel (Goulart and Chen, 2024) solves them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from optsched.declared.arrays import Arrays, arrays
from optsched.declared.certificate import Leaf, Tree, evaluate, from_below, implied
from optsched.declared.feasibility import verify
from optsched.declared.model import Declared, Solution, neat
from optsched.engine.progress import Progress
from optsched.numbers.arrays import Floats
from optsched.problem import Implementation, InputError
from optsched.solvers import Conic, solve_cones

SHRINKING = (0.0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7)  # of multipliers, so that reduced costs get signs
TIGHTENING = (0.0, 1e-9, 1e-8)  # of limits, so that a solution that is off by less is feasible


def cones_of(inst: Declared) -> list[tuple[str, Any, Floats]]:
    """Return the cones as Clarabel takes them."""
    found: list[tuple[str, Any, Floats]] = []
    for cone in inst.cones:
        starts = np.cumsum([0, *(len(m.entries) for m in cone.members)])
        entries = [entry for m in cone.members for entry in m.entries]
        data = np.array([a for _, a in entries], dtype=float)
        places = np.array([j for j, _ in entries], dtype=np.int64)
        matrix = csr_array((data, places, starts), shape=(len(cone.members), len(inst.columns)))
        found.append((cone.kind, matrix, np.array([m.constant for m in cone.members], dtype=float)))
    return found


def conic(inst: Declared, progress: Progress, *, relaxed: bool = False) -> None:
    """Solve a convex program, and prove its bound as far as the duals allow.

    Raises
    ------
    InputError
        The model is unbounded.
    """
    whole, cones = arrays(inst), cones_of(inst)
    for tightening in TIGHTENING:
        found = _solved(whole, cones, tightening, progress)
        if tightening == 0.0:
            if found.status == "unbounded":
                raise InputError("the model is unbounded, expected bounds that keep it finite")
            progress.infeasible = found.status == "infeasible"
            _prove(inst, whole, found, progress)
        if found.x is None or relaxed or progress.stop():
            return
        for values in (list(map(neat, found.x.tolist())), found.x.tolist()):
            columns = zip(values, inst.columns, strict=True)
            solution = Solution(values=tuple(min(max(v, c.lower), c.upper) for v, c in columns))
            verdict = progress.family.verify(inst, solution)
            if verdict.value is not None:
                progress.accept(solution, verdict)
                return


def _solved(whole: Arrays, cones: Any, tightening: float, progress: Progress) -> Conic:
    limits = []
    for side, sign in ((whole.low, 1), (whole.high, -1)):
        finite = np.isfinite(side) & (whole.low != whole.high)
        size = np.where(finite, np.maximum(1.0, np.abs(side)), 0.0)
        limits.append(side + sign * tightening * size)
    largest = float(np.abs(whole.cost).max(initial=0.0)) or 1.0
    found = solve_cones(
        whole.cost / largest,
        whole.rows,
        (limits[0], limits[1]),
        (whole.lower, whole.upper),
        cones,
        time_limit=progress.left(),
        stop=progress.called_off,
    )
    if found.y is None:
        return found
    return found._replace(y=found.y * largest, z=[z * largest for z in found.z])


def _prove(inst: Declared, whole: Arrays, found: Conic, progress: Progress) -> None:
    """Make a certificate of the duals; Clarabel's own bound is a claim."""
    if found.x is None or found.y is None:
        return
    program = inst.exact
    lower, upper = implied(program)
    best: tuple[Fraction, Leaf] | None = None
    for share in SHRINKING:
        rows = [
            (i, _fraction(y * (1.0 - share)))
            for i, y in enumerate(found.y.tolist())
            if y and program.sides[i][0 if y > 0 else 1] is not None
        ]
        tails = []
        for k, (z, cone) in enumerate(zip(found.z, program.cones, strict=True)):
            tail = [_fraction(v * (1.0 - share)) for v in np.delete(z, cone.head).tolist()]
            if cone.kind == "exponential" and tail[0] >= 0:
                tail = [Fraction(0), max(tail[1], Fraction(0))]
            tails.append((k, tail))
        bound = evaluate(program, lower, upper, rows, cones=tails)
        if bound is not None and (best is None or bound > best[0]):
            leaf = Leaf(
                multipliers=tuple((i, str(y)) for i, y in rows),
                cones=tuple((k, tuple(map(str, tail))) for k, tail in tails),
            )
            best = bound, leaf
    sign = 1.0 if inst.sense == "min" else -1.0
    progress.claim(Implementation.CLARABEL, sign * float(whole.cost @ found.x) + inst.offset)
    if best is not None:
        leaf = best[1]
        progress.proved(from_below(program, best[0]), lambda: Tree(nodes=(leaf,)))


def _fraction(x: float) -> Fraction:
    """Return a number as a fraction, to 2**-80 relative to 1."""
    return Fraction(round(Fraction(x) * 2**80), 2**80) if math.isfinite(x) else Fraction(0)


def complete(inst: Declared, values: Sequence[float]) -> Solution:
    """Return the values with the best ones of the auxiliary variables, 0 where there are none.

    Where the solver is off by more than the tolerance, heads of cones keep a distance from it.
    """
    whole, cones = arrays(inst), cones_of(inst)
    missing = np.array([c.auxiliary for c in inst.columns])
    known = np.where(missing, 0.0, values)
    used = whole.rows @ known
    rows = whole.rows[:, missing]
    mine = np.diff(rows.indptr) > 0
    lower, upper = whole.lower[missing], whole.upper[missing]
    heads = [cone.head for cone in inst.cones]
    size = np.zeros(len(cones))
    made = Solution(values=tuple(known.tolist()))
    for tightening in TIGHTENING:
        for (_, _, f), head, unit in zip(cones, heads, size, strict=True):
            f[head] -= tightening * unit
        found = solve_cones(
            whole.cost[missing],
            rows[mine],
            ((whole.low - used)[mine], (whole.high - used)[mine]),
            (lower, upper),
            [(kind, matrix[:, missing], f + matrix @ known) for kind, matrix, f in cones],
        )
        if found.x is None:
            break
        x = known.copy()
        x[missing] = np.clip(found.x, lower, upper)
        made = Solution(values=tuple(x.tolist()))
        if not verify(inst, made).violations:
            break
        for k, ((_, matrix, f), head) in enumerate(zip(cones, heads, strict=True)):
            if matrix[:, missing].nnz:  # what is decided cannot be tightened
                size[k] = max(1.0, abs((f + matrix @ x)[head]))
    return made
