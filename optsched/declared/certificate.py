"""Certificates: a branch-and-bound tree with dual multipliers or Farkas rays, checked exactly.

A tree of leaves as in Cheung et al. (2017); any multipliers bound a leaf by weak duality (Neumaier
and Shcherbina, 2004), and a ray proves that it is infeasible (Farkas, 1902).

Seen as a minimization, any multipliers y give

    c'x >= sum_i y_i s_i + sum_j min over the bounds of (c_j - (y A)_j) x_j

where s_i is the lower limit of row i for y_i > 0 and the upper one for y_i < 0. A ray is the same
with c = 0: where the right-hand side is positive, nothing is feasible, as where the bounds leave a
variable no value. Limits are those that the feasibility check accepts (`Exact`). Infinite bounds
of variables are replaced by those that two passes over the rows and cones imply.

A cone adds -z'f, and -F'z to the reduced costs, for any z in the dual cone. A leaf gives z but for
one number, which the checker makes as large as the dual cone needs: a second-order cone gives z_2,
z_3, ..., and z_1 is their norm; an exponential cone gives u <= 0 and v, and the third number is
-u exp(v / u - 1).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import Field

from optsched.declared.model import Declared, Exact, ExactCone, Scalar
from optsched.problem import Frozen
from optsched.proofs.enclosure import FAR, exp_above, root_above
from optsched.proofs.grid import float_above
from optsched.proofs.limits import check_size
from optsched.proofs.tree import check_tree

Multipliers: TypeAlias = tuple[tuple[int, str], ...]
Bounds: TypeAlias = "list[Scalar | None]"
LONGEST = 400  # characters of a multiplier
WIDEST, WIDEST_OF_CUT = 2**16, 2**12  # bits of a common denominator of multipliers
CUT_GRID = 2**30  # of the coefficients of a cut whose denominators are larger
FRACTION = re.compile(r"-?[0-9]+(/[0-9]*[1-9][0-9]*)?")


class Branch(Frozen):
    """An inner node: in its left half the column is at most ``at``, in the right half more."""

    node: Literal["branch"] = "branch"
    column: int
    at: int
    left: int
    right: int


class Leaf(Frozen):
    """A leaf: a bound by dual multipliers, or a ray that proves that nothing is feasible."""

    node: Literal["leaf"] = "leaf"
    ray: bool = False
    multipliers: Multipliers = Field(description="row, exact fraction such as '-7/3'")
    cones: tuple[tuple[int, tuple[str, ...]], ...] = Field(
        default=(), description="cone, its multipliers without the one that follows"
    )


class Cut(Frozen):
    """A row that all integer solutions keep, by mixed-integer rounding of a sum of rows.

    It is numbered after the rows of the model and the cuts before it.
    """

    multipliers: Multipliers = Field(description="row, exact fraction: of the row in integers")
    complemented: tuple[int, ...] = Field(
        default=(), description="columns that are measured from their upper bounds"
    )


class Tree(Frozen):
    """A certificate. Node 0 is the root."""

    relaxed: bool = Field(default=False, description="it is about the LP relaxation")
    cuts: tuple[Cut, ...] = ()
    denominator: int | None = Field(
        default=None, ge=1, le=10**9, description="costs are multiples of its inverse, but rounded"
    )
    nodes: tuple[Annotated[Branch | Leaf, Field(discriminator="node")], ...] = Field(min_length=1)


def check(inst: Declared, tree: Tree) -> float:
    """Return the bound that a certificate proves, infinite if nothing is feasible.

    Raises
    ------
    ValueError
        It is no tree, branches on a continuous variable, or a leaf proves nothing.
    """
    check_size(tree)
    program = program_of(inst, tree)

    def sound(k: int, node: Branch | Leaf) -> None:
        if isinstance(node, Branch) and not (
            0 <= node.column < len(program.cost) and program.integer[node.column]
        ):
            raise ValueError(f"node {k}: column {node.column} is no integer variable")

    check_tree(tree.nodes, sound)
    least: Fraction | None = None
    for k, leaf, lower, upper in leaves(program, tree):
        place = f"node {k}"
        multipliers = [_entry(place, entry, len(program.rows)) for entry in leaf.multipliers]
        if len(dict(multipliers)) < len(multipliers):
            raise ValueError(f"node {k}: a row is listed twice")
        cones = [_tail(k, entry, program) for entry in leaf.cones]
        if len(dict(cones)) < len(cones):
            raise ValueError(f"node {k}: a cone is listed twice")
        bound = evaluate(program, lower, upper, multipliers, ray=leaf.ray, cones=cones)
        if bound is None:
            raise ValueError(
                f"node {k}: a multiplier or a reduced cost meets an infinite limit, or a common "
                f"denominator has more than {WIDEST} bits"
            )
        if leaf.ray:
            if bound <= 0 and not empty(lower, upper):
                raise ValueError(f"node {k}: the ray proves nothing")
        elif least is None or bound < least:
            least = bound
    if least is None:
        return program.sign * math.inf
    return from_below(program, least)


def program_of(inst: Declared, tree: Tree) -> Exact:
    """Return the program that a certificate is about, with its cuts as rows.

    Raises
    ------
    ValueError
        A cut cannot be derived, or the objective has no granularity.
    """
    program = inst.exact_relaxation if tree.relaxed else inst.exact
    if not tree.cuts and tree.denominator is None:
        return program
    lower, upper = implied(program)
    program = program.copy()
    if tree.denominator is not None:
        program.granular(tree.denominator)
    for number, cut in enumerate(tree.cuts):
        place = f"cut {number}"
        multipliers = [_entry(place, entry, len(program.rows)) for entry in cut.multipliers]
        made = rounded(program, (lower, upper), multipliers, {*cut.complemented})
        if made is None:
            raise ValueError(
                f"{place}: an infinite limit takes part, nothing is rounded, or a common "
                f"denominator has more than {WIDEST_OF_CUT} bits"
            )
        program.cut(*made)
    return program


def rounded(
    program: Exact,
    bounds: tuple[Bounds, Bounds],
    multipliers: Sequence[tuple[int, Fraction]],
    complemented: Container[int],
) -> tuple[list[tuple[int, int]], int] | None:
    """Return the cut that mixed-integer rounding of a sum of rows gives: entries and upper limit.

    A row a x <= b is the equation a x + s = b. The sum of these, with columns measured from a
    bound, is an equation of nonnegative variables: sum a_j x_j = b. With f the fractional part of
    b, and f_j that of a_j, it implies

        sum over integer j of (floor(a_j) + max(0, f_j - f) / (1 - f)) x_j
            + sum over the others of min(0, a_j) / (1 - f) x_j <= floor(b)

    Nemhauser and Wolsey: A recursive procedure to generate all cuts for 0-1 mixed integer programs.
    Mathematical Programming 46, 1990. Coefficients are then rounded down to a grid.
    """
    unit = _common([y for _, y in multipliers], WIDEST_OF_CUT)
    if unit is None:
        return None
    summed = exact_sum(program, bounds, multipliers, complemented, unit)
    if summed is None or not summed.rest:
        return None
    return _on_grid(*summed.cut(program, bounds), bounds, program.integer)


class Sum(NamedTuple):
    """A sum of rows as an equation of nonnegative variables, some of which are slacks.

    Numbers are integers, multiples of 1 / unit.

    Attributes
    ----------
    total : dict
        Of every column its coefficient in the rows, and -1 if it is measured from its upper bound.
    right : int
    slacks : list of tuple
        Row, 1 for its upper limit or -1, that limit, coefficient, whether it is integer.
    unit : int
    """

    total: dict[int, tuple[int, int]]
    right: int
    slacks: list[tuple[int, int, int, int, bool]]
    unit: int

    @property
    def rest(self) -> int:
        """The fractional part of the right side."""
        return self.right % self.unit

    def rounded(self, a: int, integer: bool) -> int:
        """Return the coefficient in the cut, in multiples of 1 / (unit - rest)."""
        if not integer:
            return min(0, a)
        rest = self.rest
        return a // self.unit * (self.unit - rest) + max(0, a % self.unit - rest)

    def cut(
        self, program: Exact, bounds: tuple[Bounds, Bounds]
    ) -> tuple[dict[int, int], Scalar, int]:
        """Return coefficients of the cut and its upper limit, both times the last number."""
        times = self.unit - self.rest
        limit: Scalar = self.right // self.unit * times
        made = {j: self.rounded(s * a, program.integer[j]) * s for j, (a, s) in self.total.items()}
        for j, a in made.items():
            limit += a * (bounds[self.total[j][1] < 0][j] or 0)
        for i, sign, side, weight, whole in self.slacks:
            factor = sign * self.rounded(weight, whole)
            limit -= factor * side
            for j, c in program.rows[i]:
                made[j] -= factor * c
        return made, limit, times


def exact_sum(
    program: Exact,
    bounds: tuple[Bounds, Bounds],
    multipliers: Sequence[tuple[int, Fraction]],
    complemented: Container[int],
    unit: int,
) -> Sum | None:
    """Return a sum of rows in integers; ``unit`` is a common denominator of the multipliers.

    None: an infinite limit or bound takes part.
    """
    columns = {j for i, _ in multipliers for j, _ in program.rows[i]}
    starts: dict[int, Any] = {j: bounds[j in complemented][j] for j in columns}
    if None in starts.values():
        return None
    unit *= math.lcm(*{start.denominator for start in starts.values()})
    total: dict[int, int] = {}
    right: Any = 0
    slacks = []
    for i, multiplier in multipliers:
        y = multiplier.numerator * (unit // multiplier.denominator)
        low, high = program.sides[i]
        sign = 1 if (y > 0 and high is not None) or low is None else -1
        side = high if sign > 0 else low
        if side is None:
            return None
        right += y * side
        for j, c in program.rows[i]:
            total[j] = total.get(j, 0) + y * c
        whole = all(program.integer[j] for j, _ in program.rows[i])
        slacks.append((i, sign, side, sign * y, whole))
    right -= sum(a * starts[j] for j, a in total.items())
    places = {j: (a, -1 if j in complemented else 1) for j, a in total.items()}
    return Sum(places, int(right), slacks, unit)


def grid_of(made: Iterable[int], times: int) -> int:
    """Return the factor of the coefficients of a cut before they are rounded down."""
    return min(CUT_GRID, times // math.gcd(times, *made))


def _on_grid(
    made: dict[int, int],
    limit: Scalar,
    times: int,
    bounds: tuple[Bounds, Bounds],
    integer: Sequence[bool],
) -> tuple[list[tuple[int, int]], int] | None:
    """Return a row in integers that a row with coefficients made / times implies."""
    scale = grid_of(made.values(), times)
    entries = []
    limit *= scale
    for j, a in sorted(made.items()):
        scaled, left = divmod(a * scale, times)
        if left:
            bound = bounds[0][j]
            if bound is None:
                return None
            limit -= left * bound
        if scaled:
            entries.append((j, scaled))
    unit = math.gcd(*(a for _, a in entries)) or 1
    side = Fraction(limit) / times
    if all(integer[j] for j, _ in entries):
        return [(j, a // unit) for j, a in entries], math.floor(side / unit)
    return entries, math.ceil(side)


def empty(lower: Bounds, upper: Bounds) -> bool:
    """Whether the bounds leave a variable no value."""
    pairs = zip(lower, upper, strict=True)
    return any(low is not None and high is not None and low > high for low, high in pairs)


def from_below(program: Exact, bound: Fraction) -> float:
    """Return the bound of a minimization as a float of the problem's own sense, safely rounded."""
    return -program.sign * float_above(-bound)


def leaves(program: Exact, tree: Tree) -> Iterator[tuple[int, Leaf, Bounds, Bounds]]:
    """Yield the leaves of a checked tree with the bounds of the variables in them."""
    lower, upper = implied(program)
    stack: list[tuple[int, tuple[tuple[int, int, bool], ...]]] = [(0, ())]
    while stack:
        k, path = stack.pop()
        node = tree.nodes[k]
        if isinstance(node, Branch):
            stack.append((node.right, (*path, (node.column, node.at, True))))
            stack.append((node.left, (*path, (node.column, node.at, False))))
            continue
        yield k, node, *within(lower, upper, path)


def within(
    lower: Bounds, upper: Bounds, path: Iterable[tuple[int, int, bool]]
) -> tuple[Bounds, Bounds]:
    """Return the bounds behind branches: column, where it is split, and whether to the right."""
    low, high = [*lower], [*upper]
    for j, at, right in path:
        if right:
            low[j] = at + 1 if (now := low[j]) is None else max(now, at + 1)
        else:
            high[j] = at if (now := high[j]) is None else min(now, at)
    return low, high


def _entry(place: str, entry: tuple[int, str], rows: int) -> tuple[int, Fraction]:
    i, text = entry
    if not 0 <= i < rows:
        raise ValueError(f"{place}: there is no row {i}, expected 0..{rows - 1}")
    return i, _fraction(f"{place}, row {i}", text)


def _tail(k: int, entry: tuple[int, Sequence[str]], program: Exact) -> tuple[int, list[Fraction]]:
    i, texts = entry
    if not 0 <= i < len(program.cones):
        raise ValueError(f"node {k}: there is no cone {i}, expected 0..{len(program.cones) - 1}")
    if len(texts) != len(program.cones[i].members) - 1:
        raise ValueError(
            f"node {k}, cone {i}: has {len(texts)} multipliers, expected "
            f"{len(program.cones[i].members) - 1}"
        )
    return i, [_fraction(f"node {k}, cone {i}", text) for text in texts]


def _fraction(place: str, text: str) -> Fraction:
    match = FRACTION.fullmatch(text)
    if match is None or len(text) > LONGEST:
        raise ValueError(f"{place}: {text[:40]!r} is no fraction such as '-7/3'")
    return Fraction(text)


def evaluate(
    program: Exact,
    lower: Bounds,
    upper: Bounds,
    multipliers: Sequence[tuple[int, Fraction]],
    *,
    ray: bool = False,
    cones: Sequence[tuple[int, Sequence[Fraction]]] = (),
) -> Fraction | None:
    """Return the lower bound that multipliers prove on the minimized objective, with its offset.

    None: an infinite limit takes part, multipliers of a cone are in no dual cone, or a common
    denominator has more than `WIDEST` bits, so that they prove nothing. Empty bounds of a variable
    need no special care: they make a valid sum larger.
    """
    weights = [(i, y / program.scale[i]) for i, y in multipliers if y]
    unit = _common([w for _, w in weights], WIDEST)
    if unit is None or _common([z for _, tail in cones for z in tail], WIDEST) is None:
        return None
    cost_scale = 1 if ray else program.cost_scale
    scale = math.lcm(unit, cost_scale)
    reduced: list[Scalar] = [0] * len(program.cost)
    if not ray:
        reduced = [c * (scale // cost_scale) for c in program.cost]
    total: Fraction | int = 0
    for k, tail in cones:
        cone = program.cones[k]
        dual = in_dual_cone(cone, tail)
        if dual is None:
            return None
        total -= 2 * scale * cone.slack * dual[cone.head]
        for z, (constant, entries) in zip(dual, cone.members, strict=True):
            total -= scale * z * constant
            for j, coefficient in entries:
                reduced[j] -= scale * z * coefficient
    for i, w in weights:
        factor = w.numerator * (scale // w.denominator)
        side = program.sides[i][0 if factor > 0 else 1]
        if side is None:
            return None
        total += factor * side
        for j, a in program.rows[i]:
            reduced[j] -= factor * a
    for r, low, high in zip(reduced, lower, upper, strict=True):
        if r:
            bound = low if r > 0 else high
            if bound is None:
                return None
            total += r * bound
    found = Fraction(total) / scale
    if ray:
        return found
    if program.step is not None:
        whole = math.ceil((found - program.rounding) / program.step)
        found = max(found, whole * program.step - program.rounding)
    return found + program.offset


def _common(fractions: Iterable[Fraction], most: int) -> int | None:
    """Return the least common denominator; None: it has more than ``most`` bits."""
    found = 1
    for x in fractions:
        found = math.lcm(found, x.denominator)
        if found.bit_length() > most:
            return None
    return found


def in_dual_cone(cone: ExactCone, tail: Sequence[Fraction]) -> list[Fraction] | None:
    """Return the point of the dual cone with these numbers next to its head; None: there is none.

    The head is as small as it may be, but for outward rounding.
    """
    if cone.kind == "second-order":
        return [root_above(sum((z * z for z in tail), Fraction(0))), *tail]
    u, v = tail
    if u > 0 or (u == 0 and v < 0) or (u and v / u - 1 > FAR):
        return None
    return [u, v, -u * exp_above(v / u - 1) if u else Fraction(0)]


def implied(
    program: Exact, callback: Callable[[int, int, int], None] | None = None
) -> tuple[Bounds, Bounds]:
    """Return the bounds of the variables, infinite ones derived in two passes over rows and cones.

    Where there are no cones, one pass is made. ``callback`` is called with the row, its side (0:
    lower) and the column of every bound that a row implies.
    """
    lower, upper = [*program.lower], [*program.upper]
    free = {j for j, pair in enumerate(zip(lower, upper, strict=True)) if None in pair}
    for _ in range(2 if program.cones else 1):
        for i, (entries, sides) in enumerate(zip(program.rows, program.sides, strict=True)):
            if not any(j in free for j, _ in entries):
                continue
            for which, sign in ((1, 1), (0, -1)):
                if (side := sides[which]) is not None:
                    scaled = [(j, sign * a) for j, a in entries]
                    for j in _imply(scaled, sign * side, lower, upper, program.integer):
                        if callback is not None:
                            callback(i, which, j)
        for cone in program.cones:
            for terms, limit in cone.limits():
                written = program.lower, program.upper
                for _ in _imply(terms, limit, lower, upper, program.integer, written):
                    pass
    return lower, upper


def _imply(
    entries: Sequence[tuple[int, Scalar]],
    side: Scalar,
    lower: Bounds,
    upper: Bounds,
    integer: Sequence[bool],
    written: tuple[Bounds, Bounds] | None = None,
) -> Iterator[int]:
    """Derive infinite bounds from a row sum a x <= side; yield their columns.

    Where the ``written`` bounds are given, those that were infinite there may also be improved.
    """
    least = [(j, a, lower[j] if a > 0 else upper[j]) for j, a in entries]
    unlimited = [j for j, _, bound in least if bound is None]
    if len(unlimited) > 1:
        return
    known = sum(a * bound for _, a, bound in least if bound is not None)
    for j, a, bound in least:
        if unlimited and j != unlimited[0]:
            continue
        target = upper if a > 0 else lower
        now = target[j]
        if now is not None and (written is None or written[a > 0][j] is not None):
            continue
        others = known if bound is None else known - a * bound
        limit: Scalar = Fraction(side - others) / a
        if integer[j]:
            limit = math.floor(limit) if a > 0 else math.ceil(limit)
        if now is None or (limit < now if a > 0 else limit > now):
            target[j] = limit
            yield j
