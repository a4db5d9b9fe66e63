"""A checker of VIPR 1.0 files (Cheung, Gleixner and Steffy, 2017), written from the specification.

It knows nothing of the package: a file is read token by token, every derivation repeated in
fractions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, inf


class RefusedError(Exception):
    """The file proves nothing; the message states why."""


@dataclass
class Constraint:
    entries: dict[int, Fraction]
    sense: int  # 1: >=, 0: =, -1: <=
    side: Fraction
    assumptions: frozenset[int] = frozenset()

    def absurd(self) -> bool:
        if self.entries:
            return False
        return {1: self.side > 0, -1: self.side < 0, 0: self.side != 0}[self.sense]

    def dominates(self, other: Constraint) -> bool:
        if self.absurd():
            return True
        if self.entries != other.entries:
            return False
        if other.sense == 0:
            return self.sense == 0 and self.side == other.side
        return self.sense in (0, other.sense) and other.sense * (self.side - other.side) >= 0


@dataclass
class Proved:
    """What a file proves."""

    names: list[str]
    whole: set[int]
    sense: str
    costs: dict[int, Fraction]
    given: list[Constraint]
    bounds: int
    infeasible: bool = False
    lower: Fraction | float = -inf
    upper: Fraction | float = inf
    solutions: list[dict[int, Fraction]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


class Tokens:
    def __init__(self, text: str) -> None:
        lines = text.splitlines()
        while lines and lines[0].startswith("%"):
            lines.pop(0)
        self.words = " ".join(lines).split()
        self.at = 0

    def next(self) -> str:
        if self.at >= len(self.words):
            raise RefusedError("the file ends early")
        self.at += 1
        return self.words[self.at - 1]

    def expect(self, *words: str) -> None:
        for word in words:
            if (found := self.next()) != word:
                raise RefusedError(f"{found!r} stands where {word!r} belongs")

    def count(self, limit: float = inf) -> int:
        word = self.next()
        if not word.isdigit() or int(word) >= limit:
            raise RefusedError(f"{word!r} is no index or number below {limit}")
        return int(word)

    def value(self) -> Fraction:
        word = self.next()
        try:
            return Fraction(word)
        except (ValueError, ZeroDivisionError):
            raise RefusedError(f"{word!r} is no number") from None

    def vector(self, size: float) -> dict[int, Fraction]:
        pairs = [(self.count(size), self.value()) for _ in range(self.count())]
        if len(dict(pairs)) < len(pairs):
            raise RefusedError("an index stands twice")
        return {j: a for j, a in pairs if a}


def check(text: str) -> Proved:
    """Check a file, and return what it proves.

    Raises
    ------
    RefusedError
    """
    t = Tokens(text)
    t.expect("VER", "1.0", "VAR")
    names = [t.next() for _ in range(t.count())]
    n = len(names)
    t.expect("INT")
    whole = {t.count(n) for _ in range(t.count())}
    t.expect("OBJ")
    sense = t.next()
    if sense not in ("min", "max"):
        raise RefusedError(f"the sense is {sense!r}")
    costs = t.vector(n)

    def constraint() -> Constraint:
        t.next()  # its name
        letter, side = t.next(), t.value()
        if letter not in "EGL":
            raise RefusedError(f"the sense of a constraint is {letter!r}")
        if t.words[t.at] == "OBJ":
            t.next()
            return Constraint(costs, {"E": 0, "G": 1, "L": -1}[letter], side)
        return Constraint(t.vector(n), {"E": 0, "G": 1, "L": -1}[letter], side)

    t.expect("CON")
    number, bounds = t.count(), t.count()
    known = [constraint() for _ in range(number)]
    if any(len(c.entries) != 1 for c in known[:bounds]):
        raise RefusedError("a bound constraint has several variables")
    found = Proved(names, whole, sense, costs, known[:number], bounds)
    t.expect("RTP")
    kind = t.next()
    if kind == "infeas":
        found.infeasible = True
    elif kind == "range":
        ends = [t.next(), t.next()]
        found.lower = -inf if ends[0] == "-inf" else Fraction(ends[0])
        found.upper = inf if ends[1] == "inf" else Fraction(ends[1])
        if found.lower > found.upper:
            raise RefusedError("the range is empty")
    else:
        raise RefusedError(f"the relation to prove is {kind!r}")
    t.expect("SOL")
    for _ in range(t.count()):
        t.next()
        found.solutions.append(t.vector(n))
    _check_solutions(found)
    t.expect("DER")
    derived = t.count()
    for _ in range(derived):
        new = constraint()
        t.expect("{")
        reason = t.next()
        found.reasons.append(reason)
        _derive(reason, new, known, found, t)
        t.expect("}")
        last = t.next()
        if last != "-1" and not last.isdigit():
            raise RefusedError(f"{last!r} is no index")
        known.append(new)
    if t.at < len(t.words):
        raise RefusedError("the file goes on after its end")
    _check_goal(found, known[-1] if known else None)
    return found


def _value(costs: dict[int, Fraction], x: dict[int, Fraction]) -> Fraction:
    return sum((a * x.get(j, 0) for j, a in costs.items()), Fraction(0))


def _check_solutions(found: Proved) -> None:
    for x in found.solutions:
        if any(j in found.whole and v.denominator != 1 for j, v in x.items()):
            raise RefusedError("a solution has a fraction")
        for c in found.given:
            off = _value(c.entries, x) - c.side
            if off * c.sense < 0 or (c.sense == 0 and off):
                raise RefusedError("a solution breaks a constraint")
    values = [_value(found.costs, x) for x in found.solutions]
    if found.infeasible and values:
        raise RefusedError("there is a solution of what is infeasible")
    if found.sense == "min" and found.upper < inf and min(values, default=inf) > found.upper:
        raise RefusedError("no solution is as good as the range")
    if found.sense == "max" and found.lower > -inf and max(values, default=-inf) < found.lower:
        raise RefusedError("no solution is as good as the range")


def _derive(
    reason: str, new: Constraint, known: list[Constraint], found: Proved, t: Tokens
) -> None:
    if reason == "asm":
        new.assumptions = frozenset([len(known)])
        return
    if reason in ("lin", "rnd"):
        weights = t.vector(len(known))
        made = _combination(weights, known)
        if reason == "rnd":
            if not all(j in found.whole and a.denominator == 1 for j, a in made.entries.items()):
                raise RefusedError("what is rounded has fractions or continuous variables")
            if made.sense == 0:
                raise RefusedError("an equation is rounded")
            made.side = Fraction(ceil(made.side) if made.sense > 0 else floor(made.side))
        if not made.dominates(new):
            raise RefusedError(f"constraint {len(known)} is not what is derived")
        new.assumptions = made.assumptions
        return
    if reason == "uns":
        i, k, other, m = (t.count(len(known)) for _ in range(4))
        if not (known[i].dominates(new) and known[other].dominates(new)):
            raise RefusedError(f"constraint {len(known)} does not follow from both halves")
        low, high = sorted((known[k], known[m]), key=lambda c: c.sense)
        split = (
            (low.sense, high.sense) == (-1, 1)
            and low.entries == high.entries
            and low.side.denominator == 1
            and high.side == low.side + 1
            and all(j in found.whole and a.denominator == 1 for j, a in low.entries.items())
        )
        if not split:
            raise RefusedError(f"constraint {len(known)}: its halves leave something out")
        new.assumptions = (known[i].assumptions - {k}) | (known[other].assumptions - {m})
        return
    if reason == "sol":
        values = [_value(found.costs, x) for x in found.solutions]
        sign = 1 if found.sense == "min" else -1
        best = min((sign * v for v in values), default=None)
        if best is None or new.entries != found.costs or new.sense != -sign:
            raise RefusedError("there is no solution from which it follows")
        if sign * new.side < best:
            raise RefusedError("no solution is as good")
        return
    raise RefusedError(f"{reason!r} is no reason")


def _combination(weights: dict[int, Fraction], known: list[Constraint]) -> Constraint:
    signs = {known[i].sense * (1 if y > 0 else -1) for i, y in weights.items()} - {0}
    if len(signs) > 1:
        raise RefusedError("a combination has inequalities of both directions")
    entries: dict[int, Fraction] = {}
    for i, y in weights.items():
        for j, a in known[i].entries.items():
            entries[j] = entries.get(j, Fraction(0)) + y * a
    side = sum((y * known[i].side for i, y in weights.items()), Fraction(0))
    assumptions = frozenset().union(*(known[i].assumptions for i in weights))
    return Constraint(
        {j: a for j, a in entries.items() if a}, signs.pop() if signs else 0, side, assumptions
    )


def _check_goal(found: Proved, last: Constraint | None) -> None:
    if found.infeasible:
        goal = Constraint({}, 1, Fraction(1))
        if last is None or not last.absurd():
            raise RefusedError("the last constraint is no absurdity")
    elif found.sense == "min" and found.lower > -inf:
        goal = Constraint(found.costs, 1, Fraction(found.lower))
    elif found.sense == "max" and found.upper < inf:
        goal = Constraint(found.costs, -1, Fraction(found.upper))
    else:
        return
    if last is None or not last.dominates(goal):
        raise RefusedError("the last constraint is not the relation to prove")
    if last.assumptions:
        raise RefusedError("the last constraint rests on assumptions")
