"""Branch and bound for declared problems, with dual multipliers as certificate.

HiGHS finds solutions; a tree over the integer variables (Land and Doig, 1960) proves the bound by
linear relaxations. Branching variables are chosen by strong branching and pseudocosts (Achterberg
et al., 2005). Mixed-integer rounding cuts (Nemhauser and Wolsey, 1990) tighten the root: of rows
into which variable upper bounds are put (Marchand and Wolsey, 2001), and of sums of rows of the
simplex tableau with integer weights (Andersen et al., 2005).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import count, islice
from typing import Any

import numpy as np

from optsched.declared.arrays import arrays, by_rows, free_column, inwards, polish
from optsched.declared.certificate import (
    Bounds,
    Branch,
    Cut,
    Leaf,
    Tree,
    empty,
    evaluate,
    from_below,
    implied,
    leaves,
    program_of,
    rounded,
    within,
)
from optsched.declared.model import Declared, Exact, Solution, neat
from optsched.declared.params import TreeParams
from optsched.engine.interval import CLOSED
from optsched.engine.progress import Progress
from optsched.engine.reserve import Reserve, busy
from optsched.numbers.arrays import Floats
from optsched.numbers.resources import slack
from optsched.problem import Implementation, InputError
from optsched.process import work_units
from optsched.proofs.grid import nearest
from optsched.solvers import (
    claim_of,
    cp_bound,
    cp_domain,
    cp_program,
    cp_solver,
    highs,
    load,
    lp_status,
    ray,
    rerun,
    row_duals,
    run,
    run_cp,
    solve_mip,
)
from optsched.solvers.linear import UNLIMITED

SIMPLE = 10**6  # largest denominator of the fraction that a dual is taken to mean
GRID = 2**40  # of duals that are taken as they are, relative to the largest
FRACTIONAL = 1e-6  # from an integer
BROKEN = 1e-4  # by how much, relative to its norm, a cut must be broken
SMALLEST = 1e-7  # coefficients of a cut, relative to the largest
BATCH = 64  # sums of rows that are looked at together
FLAT = 1e-6  # multipliers of rows that a cut does without
NEARLY_WHOLE = 0.005  # fractional parts of which no cut is made
QUICK = 10**4  # entries of a linear program; below, every one is solved in much less than a second
NOISE = 1e-9  # prices below, relative to the largest price or cost, are rounding
LARGEST_WHOLE = 2**53  # of CP-SAT's input


def auto(inst: Declared, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the relaxation, then the integer program, then prove the optimum by a tree.

    Raises
    ------
    InputError
        The model is unbounded.
    """
    if inst.cones:
        _conic(inst, progress)
        return
    tree = _Tree(inst, progress)
    if not tree.root() or not any(c.integer for c in inst.columns) or progress.stop():
        return
    _integer_program(inst, tree, progress, threads=threads, seed=seed)
    tree.close()


def _conic(inst: Declared, progress: Progress, *, relaxed: bool = False) -> None:
    from optsched.declared.conic import conic

    conic(inst, progress, relaxed=relaxed)


def tree_alone(
    inst: Declared,
    progress: Progress,
    *,
    threads: int,  # noqa: ARG001
    seed: int,  # noqa: ARG001
) -> None:
    """Solve by the tree alone, without HiGHS on the integer program.

    It has no primal heuristics: it finds a solution only where a relaxation is integral.
    """
    if inst.cones:
        _conic(inst, progress)
        return
    tree = _Tree(inst, progress)
    if tree.root():
        tree.close()


def relaxation(inst: Declared, progress: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Find the value of the LP relaxation, no solution."""
    if inst.cones:
        _conic(inst, progress, relaxed=True)
        return
    tree = _Tree(inst, progress, relaxed=True)
    tree.root()
    value = tree.linear.value()
    if value is not None:
        progress.claim(Implementation.HIGHS, value)


def _integer_program(
    inst: Declared, tree: _Tree, progress: Progress, *, threads: int, seed: int
) -> None:
    """Let HiGHS search for solutions; the bound that it reports is a claim."""
    sign = 1.0 if inst.sense == "min" else -1.0
    found = solve_mip(
        *tree.linear.arrays,
        threads=threads,
        seed=seed,
        on_improve=lambda x, _objective: tree.offer(x),
        stop=progress.called_off,
        presolve=True,
        **progress.limits(progress.left() / 2),
    )
    progress.solver_claim = found.claim
    if found.x is not None:
        tree.offer(found.x)
    if found.bound is not None:
        progress.claim(Implementation.HIGHS, sign * found.bound + inst.offset)
    if found.status == "infeasible":
        progress.infeasible = True


@lru_cache(maxsize=2**16)  # duals come again and again
def simple(y: float) -> Fraction:
    """Return the nearest fraction with a small denominator."""
    return Fraction(y).limit_denominator(SIMPLE)


def coarse(y: float) -> Fraction:
    """Return an odd multiple of 2^-40: the limit of a mixed cut is rounded to its grid."""
    return Fraction(2 * math.floor(y * 2**39) + 1, 2**40)


class _Linear:
    """The relaxation in HiGHS, solved again and again with other bounds."""

    def __init__(self, inst: Declared, called_off: Callable[[], bool], *, relaxed: bool) -> None:
        self.inst, self.arrays, self.called_off = inst, arrays(inst), called_off
        if not relaxed:
            bounds = inwards(self.arrays.lower, self.arrays.upper, self.arrays.integer)
            self.arrays = self.arrays._replace(lower=bounds[0], upper=bounds[1])
        self.h = highs()
        largest = float(np.abs(self.arrays.cost).max(initial=0.0))
        self.scale = 2.0 ** max(-1000, math.frexp(largest)[1] - 10) if largest else 1.0
        self._tolerate(1e-9)
        load(self.h, self.arrays.cost / self.scale, *self.arrays[1:-1])
        self._bounds: dict[int, tuple[float, float]] = {}
        self.units: list[float] = []  # of rows that were added

    def solve(self, progress: Progress | None = None) -> tuple[str, Floats | None]:
        """Solve it; without presolve where that hides why there is no solution."""
        if progress is None:
            self._run()
        else:
            run(self.h, stop=progress.called_off, effort=progress.limits()["effort"])
            if not self.arrays.integer.any():
                progress.solver_claim = progress.solver_claim or claim_of(self.h, self.scale)
        status = lp_status(self.h)
        if status in ("infeasible", "unbounded", "unknown") and self.h.getNumCol() != 0:
            self.h.setOptionValue("presolve", "off")
            self.h.clearSolver()
            self._run()
            status = lp_status(self.h)
        if status == "unknown":  # cuts of many digits can be beyond the simplex method
            self._tolerate(1e-7)
            self._run()
            self._tolerate(1e-9)
            status = lp_status(self.h)
        x = None
        if status == "optimal":
            x = np.array(self.h.getSolution().col_value, dtype=float)
        return status, x

    def probe(self, basis: Any, most: int) -> float:
        """Return the objective after a few simplex iterations from a basis: a lower bound."""
        self.h.setBasis(basis)
        self.h.setOptionValue("simplex_iteration_limit", most)
        self._run()
        self.h.setOptionValue("simplex_iteration_limit", UNLIMITED)
        return math.inf if lp_status(self.h) == "infeasible" else self.objective()

    def _run(self) -> None:
        """Solve it once; a large one ends when the search is called off."""
        work_units.spend(work_units.LINEAR_PROGRAM)
        if self.h.getNumNz() < QUICK:
            rerun(self.h)
        elif not self.called_off():
            run(self.h, stop=self.called_off)

    def _tolerate(self, tolerance: float) -> None:
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self.h.setOptionValue(name, tolerance)

    def add(self, rows: Sequence[tuple[list[tuple[int, int]], int]]) -> None:
        """Add rows, sum of entries <= limit, in units that keep them near 1.

        Entries that HiGHS would ignore are left out, at the bound of their column.
        """
        for entries, limit in rows:
            unit = 2.0 ** max(abs(a) for _, a in entries).bit_length()
            side, kept = limit / unit, []
            for j, a in entries:
                bound = float((self.arrays.lower if a > 0 else self.arrays.upper)[j])
                if abs(a) < unit * SMALLEST and math.isfinite(bound):
                    side -= a / unit * bound
                else:
                    kept.append((j, a / unit))
            columns = np.array([j for j, _ in kept], dtype=np.int32)
            values = np.array([a for _, a in kept])
            self.h.addRow(-math.inf, side, len(kept), columns, values)
            self.units.append(unit)

    def keep(self, kept: Sequence[int]) -> None:
        """Leave out all rows that were added but some, by their numbers among these."""
        rows = self.arrays.rows.shape[0]
        gone = [rows + k for k in range(len(self.units)) if k not in set(kept)]
        self.h.deleteRows(len(gone), np.array(gone, dtype=np.int32))
        self.units = [self.units[k] for k in kept]

    def tableau(
        self, directions: Sequence[Mapping[int, int]], x: Floats, most: int
    ) -> Iterator[Floats]:
        """Yield sums of rows of the tableau, of variables whose weighted sum is fractional."""
        known: Any = self.h  # its types know nothing of a basis inverse
        status, basic = known.getBasicVariables()
        if not str(status).endswith("kOk"):
            return
        place = {int(j): r for r, j in enumerate(basic) if j >= 0}
        order = []
        for k, weights in enumerate(directions):
            part = sum(a * float(x[j]) for j, a in weights.items()) % 1
            if min(part, 1 - part) > NEARLY_WHOLE:
                order.append((len(weights) == 1, abs(part - 0.5), k))
        for _, _, k in sorted(order)[:most]:
            wanted = np.zeros(len(basic))
            for j, a in directions[k].items():
                if j in place:
                    wanted[place[j]] = a
            yield np.asarray(known.getBasisTransposeSolve(wanted)[1])

    def restrict(self, changed: Mapping[int, tuple[float, float]]) -> None:
        """Set the bounds of some columns, and those of all others back."""
        for j in [j for j in self._bounds if j not in changed]:
            self.h.changeColBounds(j, self.arrays.lower[j], self.arrays.upper[j])
        for j, bounds in changed.items():
            if self._bounds.get(j) != bounds:
                self.h.changeColBounds(j, *bounds)
        self._bounds = dict(changed)

    def value(self) -> float | None:
        """Return the value of the program that was solved last, in its own sense."""
        if lp_status(self.h) != "optimal":
            return None
        x = self.h.getSolution().col_value
        sign = 1.0 if self.inst.sense == "min" else -1.0
        return sign * float(self.arrays.cost @ np.asarray(x)) + self.inst.offset

    def objective(self) -> float:
        """Return the minimized objective of the program that was solved last."""
        return float(self.h.getInfo().objective_function_value) * self.scale

    def duals(self) -> Floats:
        """Return the duals of the rows as they were added, in units of the objective."""
        return np.asarray(row_duals(self.h) * self.scale)

    def unbounded(self) -> InputError:
        """Return the message on an unbounded program."""
        direction, j = -self.arrays.cost, free_column(self.arrays)
        if j is None:
            found = ray(self.h, primal=True)
            if found is not None and found.size:
                direction, j = found, int(np.abs(found).argmax())
        which = ""
        if j is not None:
            way = "grow" if direction[j] > 0 else "fall"
            which = f": variable {self.inst.columns[j].name} can {way} without limit"
        return InputError(f"the model is unbounded{which}, expected bounds that keep it finite")


Multipliers = list[tuple[int, Fraction]]


@dataclass
class _Node:
    """A leaf of the tree, or a node that was split."""

    path: tuple[tuple[int, int, bool], ...]
    multipliers: Multipliers
    bound: Fraction | None  # of the minimization; None: nothing is proved, or nothing is feasible
    ray: bool = False
    split: tuple[int, int, int, int] | None = None  # column, at, left, right
    step: float = (
        1.0  # by how much the last branch moved its column away from the parent's solution
    )


@dataclass
class _Gains:
    """Pseudocost: gain of splitting a column on one side, per unit of its fraction."""

    total: dict[int, float] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)

    def learn(self, j: int, gain: float) -> None:
        self.total[j] = self.total.get(j, 0.0) + gain
        self.times[j] = self.times.get(j, 0) + 1

    def of(self, j: int) -> float:
        if j in self.times:
            return self.total[j] / self.times[j]
        return sum(self.total.values()) / max(1, sum(self.times.values())) or 1.0


class _Rounding:
    """Mixed-integer rounding of sums of rows in floats, to find what cuts a solution off.

    Rows count as in the linear program: those of the program divided by ``units``.
    """

    def __init__(
        self, program: Exact, units: Sequence[int], bounds: tuple[Bounds, Bounds], x: Floats
    ) -> None:
        self.x, self.integer = x, np.array(program.integer)
        self.units = np.array([float(unit) for unit in units])
        self.rows = by_rows(program.rows, len(x))
        self.rows.data /= np.repeat(self.units, np.diff(self.rows.indptr))
        self.low, self.high = (
            np.array([np.nan if side is None else float(side) for side in sides]) / self.units
            for sides in zip(*program.sides, strict=True)
        )
        self.whole = np.array([all(program.integer[j] for j, _ in row) for row in program.rows])
        low, high = (
            np.array([np.nan if bound is None else float(bound) for bound in side])
            for side in bounds
        )
        off = np.minimum(
            *(np.nan_to_num(abs(s - self.rows @ x), nan=1) for s in (self.low, self.high))
        )
        self.tight = off < FLAT
        self.near = ~np.isnan(high) & (np.isnan(low) | (2 * x > low + high))
        self.bound, self.side = np.where(self.near, high, low), np.where(self.near, -1.0, 1.0)

    def cuts(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return by how much, relative to their norms, cuts are broken, and their directions."""
        y = np.where(np.abs(sums) > FLAT, sums, 0.0)
        upper = ((y > 0) & ~np.isnan(self.high)) | np.isnan(self.low)
        sign = np.where(upper, 1.0, -1.0)
        limit = np.where(y != 0, np.where(upper, self.high, self.low), 0.0)
        total = y @ self.rows
        bound = np.where(total != 0, self.bound, 0.0)
        right = (y * limit).sum(axis=1) - (total * bound).sum(axis=1)
        rest = np.minimum(right % 1, 1 - FRACTIONAL)[:, None]  # -1e-17 % 1 is 1

        def rounded_down(a: Floats, integer: Any) -> Floats:
            down = np.floor(a)
            whole = down + np.maximum(0.0, a - down - rest) / (1 - rest)
            return np.asarray(np.where(integer, whole, np.minimum(0.0, a) / (1 - rest)))

        weights = rounded_down(sign * y / self.units, self.whole) * sign * self.units
        made = rounded_down(self.side * total, self.integer) * self.side
        edge = np.floor(right) + (made * bound).sum(axis=1) - (weights * limit).sum(axis=1)
        made -= weights @ self.rows
        norm = np.maximum(np.linalg.norm(made, axis=1), FLAT)
        sound = (rest[:, 0] > FRACTIONAL) & (rest[:, 0] < 1 - FRACTIONAL)
        return np.where(sound, (made @ self.x - edge) / norm, 0.0), made / norm[:, None]


class _Tree:
    """Branch and bound whose leaves are proved as they arise: it can end at any time."""

    def __init__(
        self,
        inst: Declared,
        progress: Progress,
        *,
        relaxed: bool = False,
    ) -> None:
        self.inst, self.progress, self.relaxed = inst, progress, relaxed
        self.params: TreeParams = progress.params.tree
        self.program = inst.exact_relaxation if relaxed else inst.exact
        self.denominator = _denominator(self.program)
        if self.denominator is not None:
            self.program = self.program.copy()
            self.program.granular(self.denominator)
        self.linear = _Linear(inst, progress.called_off, relaxed=relaxed)
        self.lower, self.upper = implied(self.program)
        self.nodes = [_Node((), [], None)]
        self.gains = _Gains(), _Gains()
        self.cuts: list[Cut] = []
        self.sign = self.program.sign
        self.reserve = Reserve(progress, self.params.most_kept)
        self._checked, self._each = 0, 0.0  # nodes of the last check, and seconds for each
        self._over = False
        self._reported = 0
        self.variable_bounds = _variable_bounds(self.program)
        self.directions = _directions(self.program, len(inst.rows))

    def root(self) -> bool:
        """Solve the relaxation; return whether anything is left to do.

        Raises
        ------
        InputError
            The model is unbounded.
        """
        node = self.nodes[0]
        self._prove(node, self._candidates([]))  # bounds of variables alone
        none = self._prove_empty(node)
        status, x = ("infeasible", None) if none else self.linear.solve(self.progress)
        if status == "infeasible":
            none = none or self._prove_empty(node)
            self.progress.infeasible = True
            if node.ray:
                self.progress.tighten(self.sign * math.inf, self.certificate())
            return False
        if status == "unbounded" or free_column(self.linear.arrays) is not None:
            self._unbounded()
            return False
        if x is None:
            self._report()
            return True
        self._prove(node, self._candidates(self.linear.duals()))
        self.offer(x)
        self._report()
        return not self.progress.closed()

    def _unbounded(self) -> None:
        """Raise, unless there is no solution at all."""
        error = self.linear.unbounded()
        whole = self.linear.arrays
        limits = self.progress.limits()
        found = solve_mip(np.zeros_like(whole.cost), *whole[1:], **limits)
        if found.x is not None or self.relaxed:
            raise error
        if found.status != "infeasible":
            return
        self.progress.infeasible = True
        for j in range(len(whole.cost)):  # from now on, only whether anything is feasible
            self.linear.h.changeColCost(j, 0.0)
        self.grow()

    def offer(self, x: Floats) -> None:
        """Pass a solver's solution to the feasibility check, in several roundings."""
        whole_numbers = x[self.linear.arrays.integer]
        if self.relaxed or np.any(np.abs(whole_numbers - np.rint(whole_numbers)) > FRACTIONAL):
            return
        raw = [
            min(max(v, c.lower), c.upper)
            for v, c in zip(x.tolist(), self.inst.columns, strict=True)
        ]
        whole = [round(v) if c.integer else v for v, c in zip(raw, self.inst.columns, strict=True)]
        tidy = [
            float(v) if c.integer else min(max(neat(v), c.lower), c.upper)
            for v, c in zip(whole, self.inst.columns, strict=True)
        ]
        for values in (tidy, whole):
            solution = Solution(values=tuple(map(float, values)))
            verdict = self.progress.family.verify(self.inst, solution)
            if verdict.value is not None:
                self.progress.accept(solution, verdict)
                return
        polished = polish(self.linear.arrays, np.array(whole, dtype=float))
        if polished is not None:
            self.progress.offer(Solution(values=tuple(polished.tolist())))

    def close(self) -> None:
        """Split leaves; where that does not close the gap soon, cut and begin again."""
        self.grow(self.params.patience)
        if len(self.nodes) >= self.params.patience and not self.progress.stop():
            self.cut()
            self.grow()

    def cut(self) -> None:
        """Add cuts to the root as long as they improve its bound."""
        self.nodes = [_Node((), [], None)]
        root, self._checked = self.nodes[0], 0
        self.program = self.program.copy()
        self.linear.restrict({})
        last: list[float] = []
        for _ in range(self.params.rounds):
            status, x = self.linear.solve(self.progress)
            if status != "optimal" or x is None:
                break
            self._prove(root, self._candidates(self.linear.duals()))
            self.offer(x)
            self._report()
            last.append(self.linear.objective())
            stuck = len(last) > 5 and last[-1] - last[-6] <= self._gap(last[-1]) * self.params.stuck
            if stuck or self.progress.stop() or not self._separate(x):
                break
        self._tidy(root)

    def _gap(self, bound: float) -> float:
        """Return how far the incumbent is from a bound of the linear program."""
        value = self.progress.value
        return 0.0 if value is None else self.sign * (value - self.inst.offset) - bound

    def _separate(self, x: Floats) -> bool:
        """Add the deepest cuts that the solution breaks; return whether there are any."""
        units = [*self.program.scale[: len(self.inst.rows)], *map(int, self.linear.units)]
        look = _Rounding(self.program, units, (self.lower, self.upper), x)
        tableau = self.linear.tableau(self.directions, x, self.params.most_sums)
        found: list[tuple[float, int, Floats, Floats, bool]] = []
        for nice, sums in ((True, self._aggregated(look)), (False, tableau)):
            while several := [*islice(sums, BATCH)]:
                depths, made = look.cuts(np.array(several))
                for k in np.flatnonzero(depths > BROKEN / 2).tolist():
                    found.append((float(depths[k]), len(found), made[k].copy(), several[k], nice))
        cuts: list[tuple[Cut, tuple[list[tuple[int, int]], int]]] = []
        directions: list[Floats] = []
        for _, _, direction, y, nice in sorted(found, key=lambda entry: (-entry[0], entry[1])):
            if len(cuts) == self.params.most_cuts:
                break
            if any(direction @ other > self.params.parallel for other in directions):
                continue
            used = np.flatnonzero(np.abs(y) > FLAT).tolist()
            taken = simple if nice or look.whole[used].all() else coarse
            multipliers = [(i, taken(float(y[i])) / units[i]) for i in used]
            columns = {j for i, _ in multipliers for j, _ in self.program.rows[i]}
            complemented = sorted(j for j in columns if look.near[j])
            exact = rounded(self.program, (self.lower, self.upper), multipliers, {*complemented})
            if exact is None or not exact[0]:
                continue
            entries, limit = exact
            norm = math.sqrt(sum(float(a) ** 2 for _, a in entries))
            if (sum(a * float(x[j]) for j, a in entries) - limit) / norm > BROKEN:
                texts = tuple((i, str(y)) for i, y in multipliers)
                cuts.append((Cut(multipliers=texts, complemented=tuple(complemented)), exact))
                directions.append(direction)
        for cut, (entries, limit) in cuts:
            self.cuts.append(cut)
            self.program.cut(entries, limit)
        self.linear.add([exact for _, exact in cuts])
        return bool(cuts)

    def _aggregated(self, look: _Rounding) -> Iterator[Floats]:
        """Yield rows with variable upper bounds put in, divided by one of their coefficients."""
        fractional = look.integer & (np.abs(look.x - np.rint(look.x)) > FRACTIONAL)
        tight = {j: (i, a) for j, i, a in self.variable_bounds if look.tight[i]}
        starts = [
            (i, sign)
            for i, sides in enumerate(self.program.sides[: len(self.inst.rows)])
            for sign, side in zip((-1.0, 1.0), sides, strict=True)
            if side is not None and look.tight[i]
        ][: self.params.most_starts]
        sums = np.zeros((len(starts), len(look.low)))
        for k, (i, sign) in enumerate(starts):
            sums[k, i] = sign
        for _ in range(self.params.steps):
            total = sums @ look.rows
            for y, sizes in zip(sums, np.abs(total[:, fractional]), strict=True):
                for size in np.unique(sizes[sizes > FLAT].round(9))[: self.params.most_sizes]:
                    yield y / size
            before = sums.copy()
            for j, (i, a) in tight.items():
                sums[:, i] -= np.where(before[:, i] == 0, total[:, j] / a, 0.0)
            grown = (sums != before).any(axis=1)
            if not grown.any():
                break
            sums = sums[grown]

    def _tidy(self, root: _Node) -> None:
        """Leave out the cuts that the root's proof needs neither itself nor for another cut."""
        first = len(self.inst.rows)
        kept, place = self._kept(self.cuts, [root.multipliers])
        self.cuts = [*kept]
        root.multipliers = [(place[i], y) for i, y in root.multipliers]
        self.program.keep([*place])
        self.linear.keep([i - first for i in place if i >= first])

    def grow(self, most: float = math.inf) -> None:
        """Split leaves, the worst first, until the gap is closed or a limit reached."""
        order = count()
        heap: list[tuple[Fraction, int, int]] = []

        def put(k: int) -> None:
            bound = self.nodes[k].bound
            least = Fraction(-(10**400)) if bound is None else bound
            heapq.heappush(heap, (least, next(order), k))

        put(0)
        while heap and len(self.nodes) < most and not self._late():
            bound, _, k = heap[0]
            if self._enough(bound):
                break
            heapq.heappop(heap)
            for child in self._split(k):
                if not self.nodes[child].ray:
                    put(child)
            if len(self.nodes) > 1.3 * self._reported + 10:
                self._report()
        self._report()

    def _late(self) -> bool:
        """Whether the search must end, so that there is time to check the tree."""
        if len(self.nodes) > self.params.first_check + self.params.next_check * self._checked:
            self._report()
            began = busy()
            self.progress.confirm()
            self._checked = len(self.nodes)
            self._each = (busy() - began) / self._checked
        if (len(self.nodes) - 1) % self.params.clock_nodes == 0:
            self.reserve.work = self._each * len(self.nodes)
            self._over |= self.reserve.share() >= 1
        return self._over or self.progress.stop()

    def _enough(self, bound: Fraction) -> bool:
        """Whether a leaf with this bound holds nothing better than the incumbent."""
        value = self.progress.value
        if value is None:
            return False
        goal = min(self.progress.gap_limit, CLOSED) / 2 * abs(value)
        return bound >= Fraction(self.sign * value - goal)

    def _split(self, k: int) -> list[int]:
        """Solve the relaxation of a leaf, and split it where that leaves it open."""
        node = self.nodes[k]
        if empty(*self._box(node)):
            self._prove_empty(node)
            return []
        self.linear.restrict(self._limits(node))
        for turn in range(1 + self.params.node_rounds):
            status, x = self.linear.solve()
            if status in ("infeasible", "unknown") and self._prove_empty(node):
                return []
            if status != "optimal" or x is None:
                break
            before = node.bound
            self._prove(node, self._candidates(self.linear.duals()))
            if not turn:
                self._learn(node, before)
            self.offer(x)
            if node.bound is not None and self._enough(node.bound):
                return []
            if turn == self.params.node_rounds or not 0 < len(self.cuts) < self.params.most_in_tree:
                break
            if not self._separate(x):
                break
        chosen = self._column(node, x)
        if chosen is None:
            return []
        j, at = chosen
        made = []
        for right in (False, True):
            step = 1.0 if x is None else float(at + 1 - x[j] if right else x[j] - at)
            path = (*node.path, (j, at, right))
            child = _Node(path, node.multipliers, node.bound, step=max(step, FRACTIONAL))
            self._prove(child, [node.multipliers])
            made.append(len(self.nodes))
            self.nodes.append(child)
        node.split = (j, at, *made)  # type: ignore[assignment]
        return made

    def _learn(self, node: _Node, before: Fraction | None) -> None:
        """Record the gain of the last split on the path to a node."""
        if not node.path or node.bound is None or before is None:
            return
        j, _, right = node.path[-1]
        self.gains[right].learn(j, max(0.0, float(node.bound - before)) / node.step)

    def _column(self, node: _Node, x: Floats | None) -> tuple[int, int] | None:
        """Return the column to branch on, and where; None: there is nothing to branch on."""
        limits = self._limits(node)
        if x is None:
            return self._any(limits, lambda low, high: (math.ceil(low) + math.floor(high)) // 2)
        scored = []
        for j, integer in enumerate(self.program.integer):
            at = math.floor(x[j]) if integer else 0
            part = float(x[j]) - at
            if integer and FRACTIONAL < part < 1 - FRACTIONAL:
                down, up = self.gains[0].of(j) * part, self.gains[1].of(j) * (1 - part)
                scored.append((max(down, 1e-9) * max(up, 1e-9), j, at))
        scored.sort(key=lambda entry: (-entry[0], entry[1]))
        enough = self.params.reliable
        unknown = [e for e in scored if min(g.times.get(e[1], 0) for g in self.gains) < enough]
        if not scored:  # nothing is fractional, but the rounded solution breaks a row
            off = np.abs(x - np.rint(x))
            return self._any(limits, lambda _, high: high - 1, np.argsort(-off).tolist())
        if not unknown or len(scored) < 2:
            return scored[0][1:]
        return self._tried(limits, x, scored, unknown[: self.params.tried])

    def _any(
        self,
        limits: dict[int, tuple[float, float]],
        where: Callable[[float, float], float],
        order: Sequence[int] | None = None,
    ) -> tuple[int, int] | None:
        """Return the first bounded integer column that is not fixed, and where to split it."""
        a = self.linear.arrays
        for j in range(len(a.lower)) if order is None else order:
            low, high = limits.get(j, (a.lower[j], a.upper[j]))
            bounded = self.program.integer[j] and math.isfinite(low) and math.isfinite(high)
            if bounded and math.ceil(low) < math.floor(high):
                return j, int(where(low, math.floor(high)))
        return None

    def _tried(
        self,
        limits: dict[int, tuple[float, float]],
        x: Floats,
        scored: list[tuple[float, int, int]],
        unknown: list[tuple[float, int, int]],
    ) -> tuple[int, int]:
        """Solve the halves of some columns, and return the best of all to branch on."""
        here = self.linear.objective()
        basis = self.linear.h.getBasis()
        found = [entry for entry in scored if entry not in unknown]
        for _, j, at in unknown:
            low, high = limits.get(j, (self.linear.arrays.lower[j], self.linear.arrays.upper[j]))
            gains = []
            halves = (low, float(at), x[j] - at), (at + 1.0, high, at + 1 - x[j])
            for side, (least, most, part) in zip(self.gains, halves, strict=True):
                self.linear.restrict(limits | {j: (least, most)})
                there = self.linear.probe(basis, self.params.trial_iterations)
                gain = max(0.0, there - here)
                gains.append(min(gain, 1e9))
                side.learn(j, side.of(j) if there == math.inf else gain / part)
            found.append((max(gains[0], 1e-9) * max(gains[1], 1e-9), j, at))
        return max(found, key=lambda entry: (entry[0], -entry[1]))[1:]

    def _limits(self, node: _Node) -> dict[int, tuple[float, float]]:
        found: dict[int, tuple[float, float]] = {}
        for j, at, right in node.path:
            low, high = found.get(
                j, (float(self.linear.arrays.lower[j]), float(self.linear.arrays.upper[j]))
            )
            found[j] = (max(low, at + 1.0), high) if right else (low, min(high, float(at)))
        return found

    def _box(self, node: _Node) -> tuple[Bounds, Bounds]:
        return within(self.lower, self.upper, node.path)

    def _candidates(self, duals: Floats | Sequence[float]) -> Iterator[Multipliers]:
        """Yield roundings of duals: the nearest simple fractions, and the floats themselves."""
        values = [(i, y) for i, y in enumerate(np.asarray(duals).tolist()) if y]
        largest = max((abs(y) for _, y in values), default=0.0)
        near = [(i, y) for i, y in values if abs(y) > 1e-12 * largest]
        units = [1] * len(self.inst.rows) + [int(unit) for unit in self.linear.units]
        yield [(i, z / units[i]) for i, y in near if (z := simple(y))]
        if near:
            unit = Fraction(GRID) / Fraction(2) ** math.frexp(largest)[1]
            yield [(i, z / unit / units[i]) for i, y in near if (z := round(y * float(unit)))]

    def _prove(self, node: _Node, candidates: Iterable[Multipliers]) -> None:
        """Keep the multipliers that prove most, or enough."""
        low, high = self._box(node)
        for multipliers in candidates:
            bound = evaluate(self.program, low, high, multipliers)
            handled = len(low) + sum(len(self.program.rows[i]) for i, _ in multipliers)
            work_units.spend(work_units.EXACT * handled)
            if bound is not None and (node.bound is None or bound > node.bound):
                node.bound, node.multipliers = bound, multipliers
                if self._enough(bound):
                    break

    def _prove_empty(self, node: _Node) -> bool:
        """Prove that a node holds nothing, by its bounds, an empty row, or a ray."""
        low, high = self._box(node)
        rows = [i for i, row in enumerate(self.program.rows) if not row] if not node.path else []
        for made in ([], *([(i, Fraction(sign))] for i in rows for sign in (1, -1))):
            if all(self._limited(*entry) for entry in made) and (
                empty(low, high) or (evaluate(self.program, low, high, made, ray=True) or 0) > 0
            ):
                node.ray, node.multipliers, node.bound = True, made, None
                return True
        direction = ray(self.linear.h)  # of either sign
        if direction is None:
            return False
        for sign in (1.0, -1.0):
            for multipliers in self._candidates(sign * direction):
                made = [(i, y) for i, y in multipliers if self._limited(i, y)]
                bound = evaluate(self.program, low, high, made, ray=True)
                if bound is not None and bound > 0:
                    node.ray, node.multipliers, node.bound = True, made, None
                    return True
        return False

    def _limited(self, i: int, y: Fraction) -> bool:
        return self.program.sides[i][0 if y > 0 else 1] is not None

    def _report(self) -> None:
        """Report the bound of the worst leaf."""
        self._reported = len(self.nodes)
        ends = [node for node in self.nodes if node.split is None and not node.ray]
        if not ends:
            self.progress.infeasible |= self.progress.value is None
            self.progress.tighten(self.sign * math.inf, self.certificate())
            return
        if any(node.bound is None for node in ends):
            return
        least = min(node.bound for node in ends if node.bound is not None)
        self.progress.tighten(from_below(self.program, least), self.certificate())

    def certificate(self) -> Callable[[], Tree]:
        """Return a writer of the current tree; cuts at the root begin another tree."""
        known = [(node.split, node.ray, node.multipliers) for node in self.nodes]
        cuts = tuple(self.cuts)

        def write() -> Tree:
            used = (pairs for split, _, pairs in known if split is None)
            kept, place = self._kept(cuts, used)
            nodes = tuple(_written(*node, place) for node in known)
            return Tree(relaxed=self.relaxed, nodes=nodes, cuts=kept, denominator=self.denominator)

        return write

    def _kept(
        self, cuts: Sequence[Cut], used: Iterable[Multipliers]
    ) -> tuple[tuple[Cut, ...], dict[int, int]]:
        """Return the cuts that proofs need, themselves or for another cut, and new row numbers."""
        first = len(self.inst.rows)
        needed = {i for pairs in used for i, _ in pairs}
        for k in reversed(range(len(cuts))):
            if first + k in needed:
                needed |= {i for i, _ in cuts[k].multipliers}
        kept = [k for k in range(len(cuts)) if first + k in needed]
        place = {i: i for i in range(first)} | {first + k: first + n for n, k in enumerate(kept)}
        return tuple(
            cuts[k].model_copy(
                update={"multipliers": tuple((place[i], y) for i, y in cuts[k].multipliers)}
            )
            for k in kept
        ), place


def _variable_bounds(program: Exact) -> list[tuple[int, int, float]]:
    """Return column, row and coefficient of rows that bound a column by others from above."""
    found = []
    for i, (row, (low, high)) in enumerate(zip(program.rows, program.sides, strict=True)):
        for sign, side in ((-1, low), (1, high)):
            positive = [(j, a) for j, a in row if sign * a > 0]
            if side is not None and len(positive) == 1 < len(row):
                j, a = positive[0]
                found.append((j, i, a / program.scale[i]))
    return found


def _directions(program: Exact, rows: int) -> list[dict[int, int]]:
    """Return weights of integer variables: one, those of equal cost, those of a mixed row."""
    integer = [j for j, whole in enumerate(program.integer) if whole]
    found: list[dict[int, int]] = [{j: 1} for j in integer]
    for cost in sorted({program.cost[j] for j in integer if program.cost[j]}):
        found.append({j: 1 for j in integer if program.cost[j] == cost})
    for row in program.rows[:rows]:
        whole = {j: a for j, a in row if program.integer[j]}
        if len(whole) < len(row):
            unit = math.gcd(*whole.values())
            found.append({j: a // unit for j, a in whole.items()})
    return [weights for weights in found if weights]


def _denominator(program: Exact) -> int | None:
    """Return of which number's inverse all costs are multiples that were rounded; None: of none."""
    costs = [Fraction(c, program.cost_scale) for c in {*program.cost} - {0}]
    near = [c.limit_denominator(SIMPLE // 1000) for c in costs]
    found = math.lcm(*(c.denominator for c in near))
    close = all(abs(a - b) < slack(b) / 1000 for a, b in zip(near, costs, strict=True))
    if found > SIMPLE or not close or near == costs:
        return None
    try:
        program.copy().granular(found)
    except ValueError:
        return None
    return found


def _written(
    split: tuple[int, int, int, int] | None, ray: bool, pairs: Multipliers, place: dict[int, int]
) -> Branch | Leaf:
    if split is not None:
        column, at, left, right = split
        return Branch(column=column, at=at, left=left, right=right)
    return Leaf(ray=ray, multipliers=tuple((place[i], str(y)) for i, y in pairs))


def cpsat(inst: Declared, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve a program of bounded integer variables by CP-SAT; others are left alone."""
    program = inst.exact
    if inst.cones or not all(program.integer) or None in program.lower or None in program.upper:
        return
    model = cp_program()
    bounds = [(int(a or 0), int(b or 0)) for a, b in zip(program.lower, program.upper, strict=True)]
    sizes = [max(map(abs, pair), default=0) for pair in bounds]
    rows = [*program.rows, list(enumerate(program.cost))]
    if any(sum(abs(a) * max(1, sizes[j]) for j, a in row) > LARGEST_WHOLE for row in rows):
        return
    if any(low > high for low, high in bounds):
        progress.infeasible = True
        return
    x = [
        model.new_int_var_from_domain(cp_domain(range(low, high + 1)), c.name)
        for (low, high), c in zip(bounds, inst.columns, strict=True)
    ]
    for row, (low, high) in zip(program.rows, program.sides, strict=True):
        total = sum(a * x[j] for j, a in row)
        beyond = 1 + sum(abs(a) * sizes[j] for j, a in row)  # no limit needs to be further away
        if low is not None:
            model.add(total >= min(max(low, -beyond), beyond))
        if high is not None:
            model.add(total <= min(max(high, -beyond), beyond))
    model.minimize(sum(c * x[j] for j, c in enumerate(program.cost) if c))
    solver = cp_solver(threads=threads, seed=seed, **progress.limits())

    def better(value: Callable[[Any], int]) -> None:
        progress.offer(Solution(values=tuple(float(value(v)) for v in x)))

    status = run_cp(solver, model, on_improve=better)
    bound = cp_bound(solver)
    if status == "infeasible":
        progress.infeasible = True
    elif bound is not None:
        least = Fraction(math.ceil(bound - 1e-6)) / program.cost_scale + program.offset
        progress.claim(Implementation.CP_SAT, from_below(program, least))


def shadow_prices(inst: Declared, tree: Tree) -> list[dict[str, Any]]:
    """Return the multipliers of the worst leaf by name of the constraint, the largest first.

    In a linear program, the change of the objective per unit of the limit.
    """
    program = program_of(inst, tree)
    worst: tuple[Fraction, Leaf] | None = None
    for _, leaf, low, high in leaves(program, tree):
        if not leaf.ray:
            pairs = [(i, Fraction(y)) for i, y in leaf.multipliers]
            bound = evaluate(program, low, high, pairs)
            if bound is not None and (worst is None or bound < worst[0]):
                worst = bound, leaf
    if worst is None:
        return []
    prices: list[dict[str, Any]] = [
        {"constraint": inst.rows[i].name, "price": program.sign * nearest(Fraction(y))}
        for i, y in worst[1].multipliers
        if i < len(inst.rows)  # others are cuts
    ]
    sizes = [abs(x) for x in (*(p["price"] for p in prices), *(c.cost for c in inst.columns))]
    largest = max(sizes, default=0.0)
    prices = [p for p in prices if abs(p["price"]) >= NOISE * largest]
    return sorted(prices, key=lambda row: -abs(row["price"]))
