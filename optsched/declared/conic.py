"""Conic programs: declared problems with cones, certified by the duals of an interior-point method.

Clarabel (Goulart and Chen, 2024) solves them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import block_array, csr_array, vstack
from scipy.sparse.csgraph import connected_components

from optsched.declared.arrays import Arrays, arrays, nearest_feasible
from optsched.declared.certificate import Leaf, Tree, evaluate, from_below, implied
from optsched.declared.feasibility import verify
from optsched.declared.model import Declared, Solution, neat
from optsched.engine.progress import Progress
from optsched.numbers.arrays import Floats
from optsched.problem import Implementation, InputError
from optsched.solvers import Conic, solve_cones

SHRINKING = (0.0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7)  # of multipliers, so that reduced costs get signs
LOOSENING = (0.0, 1e-6)  # of bounds, so that a value at its bound has an interior
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
        for solution in _candidates(inst, whole, found.x):
            verdict = progress.family.verify(inst, solution)
            if verdict.value is not None:
                progress.accept(solution, verdict)
                return


def _candidates(inst: Declared, whole: Arrays, x: Floats) -> Iterator[Solution]:
    """Yield the point of an interior-point method rounded, as it is, and moved into the model."""
    for values in (list(map(neat, x.tolist())), x.tolist()):
        columns = zip(values, inst.columns, strict=True)
        yield Solution(values=tuple(min(max(v, c.lower), c.upper) for v, c in columns))
    moved = nearest_feasible(whole, x)
    if moved is not None:
        yield complete(inst, moved.tolist())


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

    They are found together. Then those that share no row or cone with others are programs of their
    own, where the solver was off by more than the tolerance: heads of cones keep a distance from
    it, and bounds give way, to which the values return, as an atom at its limit has no interior.
    """
    whole, cones = arrays(inst), cones_of(inst)
    missing = np.flatnonzero([c.auxiliary for c in inst.columns])
    x = np.array(values, dtype=float)
    x[missing] = 0.0
    used = [abs(whole.rows), *(csr_array(abs(m).sum(axis=0)[None, :]) for _, m, _ in cones)]
    uses = vstack(used, format="csc")[:, missing]
    parts = connected_components(block_array([[None, uses], [uses.T, None]]))[1]
    constraints, columns = parts[: uses.shape[0]], parts[uses.shape[0] :]
    names = [row.name for row in inst.rows] + [cone.name for cone in inst.cones]
    part_of = dict(zip(names, constraints.tolist(), strict=True))
    best, least = x.copy(), dict.fromkeys(columns.tolist(), math.inf)
    together = [(missing, np.flatnonzero(np.diff(uses.tocsr().indptr)))]
    for loosening, tightening in [(0.0, 0.0), *product(LOOSENING, TIGHTENING)]:
        pieces = together or [
            (missing[columns == k], np.flatnonzero(constraints == k))
            for k, off in least.items()
            if off
        ]
        together = []
        for mine, touched in pieces:
            rows = touched[touched < len(inst.rows)]
            members = []
            for i in touched[rows.size :] - len(inst.rows):
                kind, matrix, f = cones[i]
                constant, head = f + matrix @ x, inst.cones[i].head
                size = max(1.0, abs(constant[head]))
                constant -= matrix[:, mine] @ x[mine]
                constant[head] -= tightening * size
                members.append((kind, matrix[:, mine], constant))
            block = whole.rows[rows]
            known = block @ x - block[:, mine] @ x[mine]
            lower, upper = whole.lower[mine], whole.upper[mine]
            room = loosening * np.maximum(1.0, np.abs(x[mine]))
            found = solve_cones(
                whole.cost[mine],
                block[:, mine],
                (whole.low[rows] - known, whole.high[rows] - known),
                (lower - room, upper + room),
                members,
            )
            if found.x is not None:
                x[mine] = np.clip(found.x, lower, upper)
        off = dict.fromkeys(least, 0.0)
        for broken in verify(inst, Solution(values=tuple(x.tolist()))).violations:
            k = part_of.get(broken.equation, -1)
            off[k] = max(off.get(k, 0.0), broken.amount)
        for k in least:
            if off[k] < least[k]:
                least[k], mine = off[k], missing[columns == k]
                best[mine] = x[mine]
        if not any(least.values()):
            break
    return Solution(values=tuple(best.tolist()))
