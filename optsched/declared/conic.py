"""Conic programs: declared problems with cones, certified by the duals of an interior-point method.

Clarabel (Goulart and Chen, 2024) solves them. A linear program moves its multipliers so that their
reduced costs have the signs that a finite bound needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import block_array, csr_array, diags_array, hstack, vstack
from scipy.sparse.csgraph import connected_components

from optsched.declared.arrays import Arrays, arrays, by_rows, nearest_feasible
from optsched.declared.certificate import (
    Bounds,
    Leaf,
    Tree,
    evaluate,
    from_below,
    implied,
    in_dual_cone,
)
from optsched.declared.model import LARGEST, Declared, Exact, Solution, neat
from optsched.engine.progress import Progress
from optsched.numbers.arrays import Floats
from optsched.problem import Implementation, InputError
from optsched.solvers import Conic, solve_cones, solve_mip

MOST_FREE = 1000  # variables without bounds, for Gaussian elimination in fractions
NOISE = 1e-9  # multipliers, relative to the largest, of a cone that is taken to be slack
FAR = 1e12  # bounds in which an optimum that is not proved is tested
APART = 1e-6  # of values, relative above 1
MARGINS = (1e-12, 1e-10, 1e-8)  # of reduced costs, relative to the terms that they are sums of
LOOSENING = (0.0, 1e-6)  # of bounds, so that a value at its bound has an interior


def cones_of(inst: Declared) -> list[tuple[str, Any, Floats]]:
    """Return the cones as Clarabel takes them."""
    return [
        (
            cone.kind,
            by_rows([m.entries for m in cone.members], len(inst.columns)),
            np.array([m.constant for m in cone.members], dtype=float),
        )
        for cone in inst.cones
    ]


def conic(inst: Declared, progress: Progress, *, relaxed: bool = False) -> None:
    """Solve a convex program, and prove its bound as far as the duals allow.

    Raises
    ------
    InputError
        The model is unbounded.
    """
    whole, cones = arrays(inst), cones_of(inst)
    found = _solved(whole, cones, progress)
    if found.status == "unbounded":
        raise InputError("the model is unbounded, expected bounds that keep it finite")
    if found.x is not None:
        _refuse_far(inst, found.x, LARGEST)
    progress.infeasible = found.status == "infeasible"
    _prove(inst, whole, found, progress)
    if found.x is None or relaxed or progress.stop():
        return
    for solution in _candidates(inst, whole, cones, found.x):
        verdict = progress.family.verify(inst, solution)
        if verdict.value is not None:
            progress.accept(solution, verdict)
            return


def _refuse_far(inst: Declared, x: Floats, most: float) -> None:
    """Refuse values that no bound may have: the solver was stopped on its way to infinity."""
    own = [
        (abs(v), c.name) for v, c in zip(x.tolist(), inst.columns, strict=True) if not c.auxiliary
    ]
    size, name = max(own, default=(0.0, ""))
    if size > most:
        limit = f"{most:g}".replace("+", "")
        raise InputError(
            f"the model seems to be unbounded: variable {name} goes beyond {limit}, expected "
            "bounds that keep it finite"
        )


def _candidates(inst: Declared, whole: Arrays, cones: Any, x: Floats) -> Iterator[Solution]:
    """Yield the point of an interior-point method rounded, as it is, and moved into the model."""
    for values in (list(map(neat, x.tolist())), x.tolist()):
        columns = zip(values, inst.columns, strict=True)
        yield Solution(values=tuple(min(max(v, c.lower), c.upper) for v, c in columns))
    yield Solution(values=tuple(nearest_feasible(whole, cones, x).tolist()))


def _solved(whole: Arrays, cones: Any, progress: Progress) -> Conic:
    largest = float(np.abs(whole.cost).max(initial=0.0)) or 1.0
    found = solve_cones(
        whole.cost / largest,
        whole.rows,
        (whole.low, whole.high),
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
    bounds = implied(program)
    duals = _Duals(program, whole, cones_of(inst), found, bounds)
    best: tuple[Fraction, Leaf] | None = None
    for rows, tails in duals.candidates():
        bound = evaluate(program, *bounds, rows, cones=tails)
        if bound is not None and (best is None or bound > best[0]):
            leaf = Leaf(
                multipliers=tuple((i, str(y)) for i, y in rows),
                cones=tuple((k, tuple(map(str, tail))) for k, tail in tails),
            )
            best = bound, leaf
    if found.status == "optimal" and (
        best is not None or not _refuted(inst, whole, found.x, progress)
    ):
        sign = 1.0 if inst.sense == "min" else -1.0
        progress.claim(Implementation.CLARABEL, sign * float(whole.cost @ found.x) + inst.offset)
    if best is not None:
        leaf = best[1]
        progress.tighten(from_below(program, best[0]), lambda: Tree(nodes=(leaf,)))


def _refuted(inst: Declared, whole: Arrays, x: Floats, progress: Progress) -> bool:
    """Whether bounds, which leave fewer solutions, improve the optimum that Clarabel states.

    Raises
    ------
    InputError
        A variable goes to such a bound.
    """
    far = np.array([math.inf if c.auxiliary else FAR for c in inst.columns])
    within = whole._replace(
        lower=np.maximum(whole.lower, np.minimum(-far, whole.upper)),
        upper=np.minimum(whole.upper, np.maximum(far, whole.lower)),
    )
    found = _solved(within, cones_of(inst), progress)
    if found.x is None:
        return True
    stated = float(whole.cost @ x)
    if float(whole.cost @ found.x) >= stated - APART * max(1.0, abs(stated)):
        return False
    _refuse_far(inst, found.x, FAR / 2)
    return True


Rows = list[tuple[int, Fraction]]
Tails = list[tuple[int, list[Fraction]]]
Multiplier = int | tuple[int, int]  # of a row, or a cone and the place in its tail
Changes = dict[Multiplier, Fraction]


class _Duals:
    """Multipliers near those of Clarabel whose reduced costs have the signs that a bound needs.

    The reduced cost of a variable without an upper bound must not be negative, and so on: else the
    bound is infinite. A linear program finds small changes of the multipliers of rows, and of a
    factor for every cone, that leave each of them a margin. What must be 0, for variables without
    bounds, is then made 0 exactly, by Gaussian elimination in fractions.
    """

    def __init__(
        self,
        program: Exact,
        whole: Arrays,
        cones: Sequence[tuple[str, Any, Floats]],
        found: Conic,
        bounds: tuple[Bounds, Bounds],
    ) -> None:
        assert found.x is not None
        assert found.y is not None
        self.x = np.abs(found.x)
        self.program, self.whole, self.cones = program, whole, cones
        large = max((float(np.abs(z).max()) for z in found.z), default=0.0)
        self.z = [
            _in_cone(np.where(np.abs(z).max() < NOISE * large, 0.0, z), kind)
            for z, (kind, _, _) in zip(found.z, cones, strict=True)
        ]
        self.deep, self.tall = (np.array([b is None for b in side]) for side in bounds)
        lower, upper = (
            np.array([side[k] is not None for side in program.sides], dtype=bool) for k in (0, 1)
        )
        self.least = np.where(upper, -math.inf, 0.0)  # of the multipliers of rows
        self.most = np.where(lower, math.inf, 0.0)
        self.y = np.clip(found.y, self.least, self.most)

    def candidates(self) -> Iterator[tuple[Rows, Tails]]:
        """Yield multipliers as they are, and with margins of the reduced costs."""
        yield self._exact(self.y, np.ones(len(self.z)))
        for z, cone in zip(self.z, self.program.cones, strict=True):
            dual = in_dual_cone(cone, [_fraction(v) for v in np.delete(z, cone.head).tolist()])
            if dual is not None:
                z[cone.head] = float(dual[cone.head])
        shares = np.column_stack([m.T @ z for z, (_, m, _) in zip(self.z, self.cones, strict=True)])
        size = np.abs(self.whole.cost) + abs(self.whole.rows.T) @ np.abs(self.y)
        size += np.abs(shares).sum(axis=1)
        moved = size > 0
        most = abs(self.whole.cost) @ self.x / np.maximum(self.x, np.finfo(float).tiny)
        size = np.maximum(size, np.minimum(1e-3 * size.max(initial=1.0), most))
        reduced = self.whole.cost - self.whole.rows.T @ self.y - shares.sum(axis=1)
        near = np.maximum(np.abs(self.y), 1e-3 * np.abs(self.y).max(initial=1.0))
        m, k = len(self.y), len(self.z)
        for margin in MARGINS:
            # in multiples of the margin: changes of y up and down, and of the factors
            unit = size * margin
            matrix = hstack(
                [
                    -diags_array(1 / size) @ self.whole.rows.T @ diags_array(near),
                    diags_array(1 / size) @ self.whole.rows.T @ diags_array(near),
                    csr_array(-shares / size[:, None]),
                    csr_array(shares / size[:, None]),
                ]
            )
            low, high = (
                np.where(self.tall, moved, -math.inf),
                np.where(self.deep, -1.0 * moved, math.inf),
            )
            both = self.tall & self.deep
            low[both] = high[both] = 0.0
            rise = (self.most - self.y) / near / margin
            fall = (self.y - self.least) / near / margin
            found = solve_mip(
                np.concatenate([near, near, np.ones(2 * k)]),
                matrix,
                low - reduced / unit,
                high - reduced / unit,
                np.zeros(2 * (m + k)),
                np.concatenate([rise, fall, np.full(2 * k, math.inf)]),
                np.zeros(2 * (m + k)),
            )
            if found.x is None:
                continue
            up, down, more, less = np.split(found.x, np.cumsum([m, m, k]))
            y = np.clip(self.y + margin * near * (up - down), self.least, self.most)
            yield self._exact(y, 1.0 + margin * (more - less))

    def _exact(self, y: Floats, factors: Floats) -> tuple[Rows, Tails]:
        """Return multipliers as fractions, with reduced costs of 0 for variables without bounds."""
        rows = [_fraction(v) for v in y.tolist()]
        tails = [
            [_fraction(v) for v in (f * np.delete(z, cone.head)).tolist()]
            for f, z, cone in zip(factors.tolist(), self.z, self.program.cones, strict=True)
        ]
        for u, change in self._changes(rows, tails).items():
            if isinstance(u, int):
                rows[u] += change
            else:
                tails[u[0]][u[1]] += change
        return [(i, v) for i, v in enumerate(rows) if v], list(enumerate(tails))

    def _changes(self, rows: Sequence[Fraction], tails: Sequence[Sequence[Fraction]]) -> Changes:
        """Solve for changes of multipliers, one for each variable without bounds."""
        program, free = self.program, {*np.flatnonzero(self.tall & self.deep).tolist()}
        left = {j: Fraction(program.cost[j], program.cost_scale) for j in free}
        terms: dict[int, Changes] = {j: {} for j in free}
        if not free or len(free) > MOST_FREE:
            return {}
        moves = np.isinf(self.least) & np.isinf(self.most)
        moves |= np.abs(self.y) > 1e-6 * np.abs(self.y).max(initial=0.0)
        for i, (entries, scale) in enumerate(zip(program.rows, program.scale, strict=True)):
            for j, a in entries:
                if j in free:
                    left[j] -= rows[i] * a / scale
                    if moves[i]:
                        terms[j][i] = Fraction(a) / scale
        for k, (cone, tail) in enumerate(zip(program.cones, tails, strict=True)):
            dual = in_dual_cone(cone, tail) or [Fraction(0)] * len(cone.members)
            head = {j for j, _ in cone.members[cone.head][1]}
            steady = cone.kind == "second-order" and any(tail) and not free & head
            for r, (_, members) in enumerate(cone.members):
                for j, weight in members:
                    if j in free:
                        left[j] -= dual[r] * weight
                        if steady:
                            terms[j][k, r - 1] = weight
        chosen: list[tuple[Multiplier, Changes, Fraction]] = []  # pivot, row, right side
        for j in sorted(free, key=lambda j: len(terms[j])):
            row, right = terms[j], left[j]
            for u, other, side in chosen:
                if times := row.pop(u, None):
                    right -= times * side
                    for v, weight in other.items():
                        row[v] = row.get(v, Fraction(0)) - times * weight
            row = {v: weight for v, weight in row.items() if weight}
            if row:
                pivot, unit = max(row.items(), key=lambda entry: abs(entry[1]))
                del row[pivot]
                chosen.append((pivot, {v: a / unit for v, a in row.items()}, right / unit))
        found: Changes = {}
        for u, other, side in reversed(chosen):  # all others stay as they are
            found[u] = side - sum((a * found.get(v, 0) for v, a in other.items()), Fraction(0))
        return found


def _in_cone(z: Floats, kind: str) -> Floats:
    """Return multipliers of an exponential cone that have the right signs."""
    if kind == "exponential" and z[0] >= 0:
        return np.array([0.0, max(z[1], 0.0), z[2]])
    return z


def _fraction(x: float) -> Fraction:
    """Return a number as a fraction, to 2**-80 relative to 1."""
    return Fraction(round(Fraction(x) * 2**80), 2**80) if math.isfinite(x) else Fraction(0)


def complete(inst: Declared, values: Sequence[float]) -> Solution:
    """Return the values with the best ones of the auxiliary variables, 0 where there are none.

    Those that share no row or cone are programs of their own.
    """
    whole, cones = arrays(inst), cones_of(inst)
    missing = np.flatnonzero([c.auxiliary for c in inst.columns])
    x = np.array(values, dtype=float)
    x[missing] = 0.0
    used = [abs(whole.rows), *(csr_array(abs(m).sum(axis=0)[None, :]) for _, m, _ in cones)]
    uses = vstack(used, format="csc")[:, missing]
    parts = connected_components(block_array([[None, uses], [uses.T, None]]))[1]
    constraints, columns = parts[: uses.shape[0]], parts[uses.shape[0] :]
    for k in np.unique(columns):
        mine, touched = missing[columns == k], np.flatnonzero(constraints == k)
        rows = touched[touched < len(inst.rows)]
        members = []
        for i in touched[rows.size :] - len(inst.rows):
            kind, matrix, f = cones[i]
            members.append((kind, matrix[:, mine], f + matrix @ x))
        block = whole.rows[rows]
        known = block @ x
        low, high = whole.low[rows] - known, whole.high[rows] - known
        lower, upper = whole.lower[mine], whole.upper[mine]
        part = Arrays(whole.cost[mine], block[:, mine], low, high, lower, upper, lower > upper)
        for room in LOOSENING:
            sides = lower - room, upper + room
            found = solve_cones(part.cost, part.rows, (low, high), sides, members)
            if found.x is not None:
                break
        # a decision that breaks a constraint on atoms breaks it, and not the atoms in it
        own = np.array([not inst.rows[i].name.startswith("atom[") for i in rows], dtype=bool)
        start = _least_broken(part, members, own) if found.x is None else found.x
        x[mine] = nearest_feasible(part, members, x[mine] if start is None else start, own)
    return Solution(values=tuple(x.tolist()))


def _least_broken(
    part: Arrays, cones: Sequence[tuple[str, Any, Floats]], own: Any
) -> Floats | None:
    """Return values that break nothing but the rows ``own``, and those as little as possible."""
    n, places = part.cost.size, np.flatnonzero(own)
    k = places.size
    more = csr_array((np.ones(k), (places, np.arange(k))), shape=(own.size, k))
    found = solve_cones(
        np.concatenate([np.zeros(n), np.ones(2 * k)]),
        csr_array(hstack([part.rows, more, -more])),
        (part.low, part.high),
        (
            np.concatenate([part.lower, np.zeros(2 * k)]),
            np.concatenate([part.upper, np.full(2 * k, math.inf)]),
        ),
        [(kind, csr_array(hstack([m, csr_array((m.shape[0], 2 * k))])), f) for kind, m, f in cones],
    )
    return None if found.x is None else found.x[:n]
