"""A declared problem as data: a linear program whose columns are revealed and decided over time.

    sense  c'x + c0      lower <= A x <= upper      lower <= x <= upper      x_j integer for some j
                         F_k x + f_k in a second-order or an exponential cone, for some k

All numbers mean the decimals that are written. `Exact` holds them as integers, for the feasibility
check and for the checker of certificates.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from optsched.base import Text
from optsched.numbers.json_float import Signed
from optsched.numbers.resources import exact, slack
from optsched.problem import Frozen, Instance, Schedule, Sense

LARGEST, SMALLEST = 1e15, 1e-15
LEAST = 1e-6  # of the largest number of a row, or the tolerance of 1e-9 lets too much pass
MOST_NAMED = 3  # variables of an atom in a message
INDEX = re.compile(r"(?P<component>.+)\[(?P<index>[^\[\]]*)\]")
WHOLE, DECIMAL = re.compile(r"-?(0|[1-9]\d*)"), re.compile(r"-?\d+\.\d+(e[+-]?\d+)?")


def _moderate(x: float) -> float:
    if x == 0 or SMALLEST <= abs(x) <= LARGEST:
        return x
    raise ValueError(f"{x:g} is out of range, expected 0 or a size from 1e-15 to 1e15")


def _limit(x: float) -> float:
    if math.isnan(x):
        raise ValueError("nan is no limit, expected a number")
    return x if math.isinf(x) else _moderate(x)


Number = Annotated[float, Field(allow_inf_nan=True), AfterValidator(_moderate)]
Limit = Annotated[Signed, AfterValidator(_limit)]
Scalar: TypeAlias = "int | Fraction"
ConeKind: TypeAlias = Literal["second-order", "exponential"]


def index_of(name: str) -> tuple[int | float | str, ...]:
    """Return the index in the name of a variable or a row.

    >>> index_of("x[3,north]"), index_of("y"), index_of("block[0].x[2024_01]")
    ((3, 'north'), (), ('2024_01',))
    """
    match = INDEX.fullmatch(name)
    return () if match is None else tuple(map(_plain, match["index"].split(",")))


def _plain(text: str) -> int | float | str:
    if WHOLE.fullmatch(text):
        return int(text)
    return float(text) if DECIMAL.fullmatch(text) else text.strip("'\"")


def component_of(name: str) -> str:
    """Return the name of a variable or a row without its index.

    >>> component_of("x[3,north]"), component_of("block[0].y")
    ('x', 'block[0].y')
    """
    match = INDEX.fullmatch(name)
    return name if match is None else match["component"]


def label(row: str | Sequence[object]) -> str:
    """Return the name that is meant by a name, or by a component and its index.

    >>> label("once"), label(("budget", 3)), label(("flow", ("a", 2.0)))
    ('once', 'budget[3]', 'flow[a,2]')
    """
    if isinstance(row, str):
        return row
    component, *parts = row
    given = [i for part in parts for i in (part if isinstance(part, tuple) else (part,))]
    index = [int(i) if isinstance(i, float) and i.is_integer() else i for i in given]
    return f"{component}[{','.join(map(str, index))}]" if index else str(component)


class ProgramVariable(Frozen):
    """A variable."""

    name: Text = Field(min_length=1)
    cost: Number = 0.0
    lower: Limit = 0.0
    upper: Limit = math.inf
    integer: bool = False
    revealed: Number = Field(description="time at which it becomes known")
    decided: Number = Field(description="time at which its value becomes irrevocable")
    auxiliary: bool = Field(
        default=False, description="it follows from the others, and no policy decides it"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.decided < self.revealed:
            raise ValueError(
                f"variable {self.name}: decided at {self.decided:g}, before it is revealed at "
                f"{self.revealed:g}"
            )
        if self.lower > self.upper or self.lower == math.inf or self.upper == -math.inf:
            raise ValueError(
                f"variable {self.name}: lower bound {self.lower:g} and upper bound "
                f"{self.upper:g} leave no value"
            )
        return self


class Row(Frozen):
    """A constraint: lower <= sum of coefficient * variable <= upper."""

    name: Text = Field(min_length=1)
    lower: Limit = -math.inf
    upper: Limit = math.inf
    entries: tuple[tuple[int, Number], ...] = Field(description="column, coefficient")

    @model_validator(mode="after")
    def _has_sides(self) -> Self:
        if self.lower == math.inf or self.upper == -math.inf:
            side, limit = ("lower", "inf") if self.lower == math.inf else ("upper", "-inf")
            raise ValueError(
                f"constraint {self.name}: its {side} limit is {limit}, expected a number"
            )
        numbers = [abs(x) for x in (self.lower, self.upper, *(a for _, a in self.entries))]
        size = max((x for x in numbers if x < math.inf), default=0.0)
        if 0 < size < LEAST:
            raise ValueError(
                f"constraint {self.name}: its largest number is {size:g}, expected at least "
                f"{LEAST:g}: multiply all of its numbers, as it is checked to 1e-9"
            )
        return self


class Member(Frozen):
    """One number of a cone: constant + sum of coefficient * variable."""

    constant: Number = 0.0
    entries: tuple[tuple[int, Number], ...] = Field(default=(), description="column, coefficient")


class Cone(Frozen):
    """A conic constraint, of the members in their order.

    Second-order: the first is at least the norm of the others. Exponential: x, y, z with
    y exp(x / y) <= z and y > 0, or x <= 0 = y <= z.
    """

    name: Text = Field(min_length=1)
    kind: ConeKind
    members: tuple[Member, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_three(self) -> Self:
        if self.kind == "exponential" and len(self.members) != 3:
            raise ValueError(
                f"cone {self.name}: has {len(self.members)} members, expected 3: it is exponential"
            )
        return self

    @property
    def head(self) -> int:
        """The member that may be as large as one likes."""
        return 0 if self.kind == "second-order" else 2


class Solution(Schedule):
    """The values of the variables, in the order of the columns."""

    values: tuple[float, ...]


class Declared(Instance):
    """A linear program with times."""

    sense: ClassVar[Sense]

    problem: Text = Field(default="", description="problem of which it is an instance")
    source: Text = Field(default="", description="where it comes from")
    offset: Number = 0.0
    columns: tuple[ProgramVariable, ...]
    rows: tuple[Row, ...]
    cones: tuple[Cone, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for kind, names in (
            ("variable", Counter(c.name for c in self.columns)),
            ("constraint", Counter([r.name for r in self.rows] + [c.name for c in self.cones])),
        ):
            twice = next((name for name, n in names.items() if n > 1), None)
            if twice is not None:
                raise ValueError(f"{kind} {twice}: the name is used twice, expected once")
        named = [(r.name, r.entries) for r in self.rows]
        for name, entries in [
            *named,
            *((c.name, m.entries) for c in self.cones for m in c.members),
        ]:
            seen = {j for j, _ in entries}
            if len(seen) < len(entries):
                raise ValueError(f"constraint {name}: a column is listed twice")
            if seen and not (min(seen) >= 0 and max(seen) < len(self.columns)):
                raise ValueError(
                    f"constraint {name}: there is no column {max(seen)}, "
                    f"expected 0..{len(self.columns) - 1}"
                )
        if self.cones and any(c.integer for c in self.columns):
            whole = next(c.name for c in self.columns if c.integer)
            raise ValueError(
                f"variable {whole}: is integer next to cone {self.cones[0].name}, expected "
                "continuous variables where there are cones"
            )
        return self

    def values(self, solution: Solution) -> dict[str, float]:
        """Return the values of a solution by the names of variables."""
        return dict(zip((c.name for c in self.columns), solution.values, strict=True))

    @cached_property
    def exact(self) -> Exact:
        """The numbers as integers."""
        return Exact(self)

    @cached_property
    def exact_relaxation(self) -> Exact:
        """The numbers of the LP relaxation as integers."""
        return Exact(self, relaxed=True)

    @cached_property
    def times(self) -> tuple[float, ...]:
        """When each row is revealed; infinite: it can never bind."""
        return tuple(_time(row, self.columns) for row in self.rows)

    def time_of(self, cone: Cone) -> float:
        """Return when a cone is revealed: with the last of its variables."""
        used = [self.columns[j].revealed for m in cone.members for j, _ in m.entries]
        return max(used, default=min((c.revealed for c in self.columns), default=0.0))


class Maximization(Declared):
    """A declared problem to be maximized."""

    family: ClassVar[str] = "declared-max"
    sense: ClassVar[Sense] = "max"


class Minimization(Declared):
    """A declared problem to be minimized."""

    family: ClassVar[str] = "declared-min"
    sense: ClassVar[Sense] = "min"


KINDS: dict[Sense, type[Declared]] = {"max": Maximization, "min": Minimization}


def _time(row: Row, columns: Sequence[ProgramVariable]) -> float:
    """Return when the earlier side of a row is revealed.

    A side can bind once no unrevealed column could restore feasibility: one whose least
    contribution is negative, seen from `<=`. If all that is known by then lowers the activity, as a
    capacity does that is decided before its users, 0 keeps the side, and all that is still to come
    may be 0, then it cannot bind before the first column that raises the activity.
    """
    entries = [(columns[j], a) for j, a in row.entries if a]
    found = []
    for limit, sign in ((row.upper, 1), (row.lower, -1)):
        if not math.isfinite(limit):
            continue
        contributions = [
            (c.revealed, *((c.lower, c.upper) if sign * a > 0 else (-c.upper, -c.lower)))
            for c, a in entries
        ]
        since = max((t for t, least, _ in contributions if least < 0), default=None)
        if since is None:
            since = min((t for t, *_ in contributions), default=math.inf)
        elif sign * limit >= 0 and all(least <= 0 for t, least, _ in contributions if t > since):
            first = min((t for t, _, most in contributions if most > 0), default=since)
            since = max(since, first)
        found.append(since)
    return min(found, default=math.inf)


class Exact:
    """The program that the feasibility check accepts, or its relaxation, minimized, in integers.

    Row i is multiplied by ``scale[i]``, the objective by ``cost_scale``. A limit includes the
    tolerance of 1e-9 (relative above 1); where all columns of a row are integer, it is rounded to
    attainable sums of the coefficients. Bounds of integer columns are rounded inwards.

    Attributes
    ----------
    lower, upper : list
        Bounds of columns; None: infinite.
    sides : list of tuple
        Limits of rows, scaled; None: infinite.
    step, rounding : Fraction
        The objective without its offset is a multiple of the step, or within the rounding of one;
        None: of nothing.
    """

    def __init__(self, inst: Declared, *, relaxed: bool = False) -> None:
        self.sign = 1 if inst.sense == "min" else -1
        self.offset = self.sign * exact(inst.offset)
        costs = [exact(c.cost) for c in inst.columns]
        self.cost_scale = math.lcm(*{c.denominator for c in costs})
        self.cost = [self.sign * c.numerator * (self.cost_scale // c.denominator) for c in costs]
        self.integer = [c.integer and not relaxed for c in inst.columns]
        self.lower, self.upper = bounds_of(inst.columns, self.integer)
        self.scale: list[int] = []
        self.rows: list[list[tuple[int, int]]] = []
        self.sides: list[tuple[int | None, int | None]] = []
        for row in inst.rows:
            self._add(row)
        self.cones = [ExactCone(cone) for cone in inst.cones]
        whole = all(self.integer[j] for j, c in enumerate(self.cost) if c)
        unit = math.gcd(*self.cost)
        self.step = Fraction(unit, self.cost_scale) if whole and unit else None
        self.rounding = Fraction(0)

    def _add(self, row: Row) -> None:
        entries = [(j, exact(a)) for j, a in row.entries if a]
        low, high = _loosened(row.lower, -1), _loosened(row.upper, 1)
        sides = [x for x in (low, high) if x is not None]
        pure = all(self.integer[j] for j, _ in entries)
        scale = math.lcm(*{a.denominator for _, a in entries}, 1)
        if not pure:
            scale = math.lcm(scale, *{x.denominator for x in sides})
        scaled = [(j, a.numerator * (scale // a.denominator)) for j, a in entries]
        unit = math.gcd(*(a for _, a in scaled)) if pure else 1
        unit = unit or 1
        self.scale.append(scale)
        self.rows.append(scaled)
        self.sides.append(
            (
                None
                if low is None
                else -(-low.numerator * scale // (low.denominator * unit)) * unit,
                None
                if high is None
                else high.numerator * scale // (high.denominator * unit) * unit,
            )
        )

    def granular(self, denominator: int) -> None:
        """Take costs to be multiples of 1 / denominator that were rounded to decimals.

        Raises
        ------
        ValueError
            A variable with a cost is not integer, or has no bounds by which rounding is limited.
        """
        near = []
        total = Fraction(0)
        for c, low, high, whole in zip(
            self.cost, self.lower, self.upper, self.integer, strict=True
        ):
            if not c:
                continue
            cost = Fraction(c, self.cost_scale)
            meant = math.floor(cost * denominator + Fraction(1, 2))
            near.append(meant)
            off = abs(cost - Fraction(meant, denominator))
            if not whole or (off and (low is None or high is None)):
                raise ValueError("the objective has no granularity")
            total += off * max(abs(Fraction(low or 0)), abs(Fraction(high or 0)))
        self.step, self.rounding = Fraction(math.gcd(*near) or 1, denominator), total

    def copy(self) -> Exact:
        """Return one to which rows can be added."""
        made = copy(self)
        made.rows, made.sides, made.scale = [*self.rows], [*self.sides], [*self.scale]
        return made

    def cut(self, entries: list[tuple[int, int]], limit: int) -> None:
        """Add a row, sum of entries <= limit."""
        self.rows.append(entries)
        self.sides.append((None, limit))
        self.scale.append(1)

    def keep(self, kept: Sequence[int]) -> None:
        """Leave out all rows but some."""
        self.rows, self.sides = [self.rows[i] for i in kept], [self.sides[i] for i in kept]
        self.scale = [self.scale[i] for i in kept]

    def objective(self, values: Sequence[Scalar]) -> Fraction:
        """Return the objective in the problem's own sense."""
        total = sum(c * x for c, x in zip(self.cost, values, strict=True) if c and x)
        return self.sign * (Fraction(total) / self.cost_scale + self.offset)


class ExactCone:
    """A cone in fractions; a head may be short of it by the tolerance ``slack``.

    Attributes
    ----------
    members : list of tuple
        Constant, and entries.
    """

    def __init__(self, cone: Cone) -> None:
        self.kind, self.head = cone.kind, cone.head
        self.members = [
            (exact(m.constant), [(j, exact(a)) for j, a in m.entries if a]) for m in cone.members
        ]
        self.slack = slack(self.members[self.head][0])

    def limits(self) -> Iterator[tuple[list[tuple[int, Fraction]], Fraction]]:
        """Yield linear constraints, sum of entries <= limit, that hold in the cone."""
        if self.kind == "second-order":
            signs = [{0: -1, k: s} for k in range(1, len(self.members)) for s in (1, -1)]
            signs.append({0: -1})
        else:  # y exp(x / y) is at least x + y
            signs = [{0: 1, 1: 1, 2: -1}, {1: -1}, {2: -1}]
        for sign in signs:
            total: dict[int, Fraction] = {}
            limit = 2 * self.slack
            for k, s in sign.items():
                constant, entries = self.members[k]
                limit -= s * constant
                for j, a in entries:
                    total[j] = total.get(j, Fraction(0)) + s * a
            yield [(j, a) for j, a in total.items() if a], limit


@lru_cache(maxsize=2**12, typed=True)
def _loosened(limit: float, sign: int) -> Fraction | None:
    """Return the limit of a row with its tolerance; None: infinite."""
    return None if math.isinf(limit) else exact(limit) + sign * slack(exact(limit))


def bounds_of(
    columns: Iterable[ProgramVariable], integer: Iterable[bool]
) -> tuple[list[Scalar | None], list[Scalar | None]]:
    """Return the exact bounds; those of integer columns are rounded inwards, None: infinite."""
    lower: list[Scalar | None] = []
    upper: list[Scalar | None] = []
    for c, whole in zip(columns, integer, strict=True):
        low = None if math.isinf(c.lower) else exact(c.lower)
        high = None if math.isinf(c.upper) else exact(c.upper)
        if whole:
            lower.append(None if low is None else math.ceil(low))
            upper.append(None if high is None else math.floor(high))
        else:
            lower.append(None if low is None else plain(low))
            upper.append(None if high is None else plain(high))
    return lower, upper


def plain(x: Fraction) -> Scalar:
    """Return an int where that is the same: sums of ints are faster."""
    return x.numerator if x.denominator == 1 else x


def neat(x: float) -> float:
    """Return the nearest simple number within 1e-9 (relative above 1), which a solver meant.

    >>> neat(0.9999999999), neat(0.33333333331), neat(0.123456789123)
    (1.0, 0.3333333333333333, 0.123456789123)
    """
    if not math.isfinite(x) or x.is_integer():
        return x
    simple = Fraction(x).limit_denominator(10_000)
    return float(simple) if abs(simple - Fraction(x)) <= slack(Fraction(x)) else x


@dataclass
class Draft:
    """Result of a reader."""

    sense: Sense
    offset: float = 0.0
    columns: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    keys: list[tuple[tuple[Any, ...], str, tuple[Any, ...]]] = field(default_factory=list)
    """Of every column: itself and its component, the component's name, its index."""
    cones: list[dict[str, Any]] = field(default_factory=list)
    fixed: dict[str, float | None] = field(default_factory=dict)
    """Names of variables that are numbers, with their values, and of their components."""
    follows: dict[int, list[int]] = field(default_factory=dict)
    """Of every auxiliary column: those from which it follows."""
    atoms: dict[str, str] = field(default_factory=dict)
    """Names of rows and cones that are parts of atoms, with the place of the atom."""

    def named(self, j: int) -> str:
        """Return the name of a column; of an auxiliary one, the variables of its atom."""
        if j not in self.follows:
            return str(self.columns[j]["name"])
        names = [self.columns[k]["name"] for k in self.follows[j]]
        rest = f" and {len(names) - MOST_NAMED} others" if len(names) > MOST_NAMED else ""
        return f"an atom of {', '.join(names[:MOST_NAMED]) or 'constants'}{rest}"

    def name_atoms(self, inst: Declared) -> None:
        """Name what belongs to atoms by the time of an instance at which it becomes known.

        Names are counted within that time: so they do not depend on what is still to come.
        """
        counts: Counter[tuple[str, float]] = Counter()

        def rename(part: dict[str, Any], component: str, time: float) -> None:
            part["name"] = label((component, time, counts[component, time]))
            counts[component, time] += 1

        for column, known in zip(self.columns, inst.columns, strict=True):
            if column.get("auxiliary"):
                rename(column, "auxiliary", known.revealed)
        for row, time in zip(self.rows, inst.times, strict=True):
            if row["name"] in self.atoms:
                rename(row, "atom", time)
        for cone, formed in zip(self.cones, inst.cones, strict=True):
            if cone["name"] in self.atoms:
                rename(cone, "atom", inst.time_of(formed))
