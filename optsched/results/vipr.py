"""Certificates in the format VIPR 1.0, of the exact model: without the tolerance of the check.

Cheung, Gleixner and Steffy: Verifying integer programming results. IPCO 2017. Branches become
assumptions (asm) and unsplittings (uns), leaves linear combinations (lin) of rows and bounds that
are rounded (rnd) where the objective is granular. A cut by mixed-integer rounding holds in both
halves of a split: with the notation of `certificate.rounded`, of the sum over integer variables of
ceil(a_j) x_j for f_j > f, else floor(a_j) x_j, at floor(b).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from optsched.core.optimum import Optimum
from optsched.declared.certificate import Cut, Leaf, Tree, exact_sum, grid_of, implied, program_of
from optsched.declared.feasibility import settle
from optsched.declared.model import Declared, Scalar, Solution
from optsched.files.atomic_io import write_whole
from optsched.numbers.resources import exact
from optsched.problem import InputError

Entries: TypeAlias = Mapping[int, Scalar]


@dataclass(frozen=True)
class _Line:
    """A constraint of the file; its sense is L or G."""

    index: int
    entries: Entries
    sense: str
    side: Scalar

    @property
    def absurd(self) -> bool:
        return not self.entries and (self.side > 0 if self.sense == "G" else self.side < 0)


Parts: TypeAlias = Sequence[tuple[Scalar, _Line]]


def write_vipr(inst: Declared, optimum: Optimum, path: Path) -> None:
    """Write the certificate of an optimum.

    Raises
    ------
    InputError
        There is no certificate, or the model has cones.
    """
    if inst.cones:
        raise InputError(f"cone {inst.cones[0].name}: VIPR has no cones, expected a linear model")
    if not isinstance(optimum.certificate, Tree):
        raise InputError("nothing is certified, so that there is no proof to write as VIPR")
    lines = _Proof(inst, optimum.certificate).lines(optimum.schedule)
    write_whole(path, "\n".join([*lines, ""]))


class _Proof:
    """A certificate, line by line. Objectives are minimized until the last line."""

    def __init__(self, inst: Declared, tree: Tree) -> None:
        self.inst, self.tree, self.program = inst, tree, program_of(inst, tree)
        self.base = inst.exact_relaxation if tree.relaxed else inst.exact
        self.constraints: list[str] = []
        self.derived: list[str] = []
        self.count = 0
        self.lower: list[_Line | None] = [None] * len(inst.columns)
        self.upper: list[_Line | None] = [None] * len(inst.columns)
        self.sides: dict[tuple[int, int], tuple[_Line, int]] = {}
        """Of a row and its side, 0 or 1: the line, and how often it is in the row."""
        self._bounds()
        self._rows()
        for lines in (self.lower, self.upper):
            for j, line in enumerate(lines):
                if line and self.program.integer[j] and line.side.denominator != 1:
                    lines[j] = self.lin([(1, line)], line.sense, rounds=True)
        self.implied = implied(self.base, self._imply)
        for k, cut in enumerate(tree.cuts):
            self._cut(len(inst.rows) + k, cut)

    def lines(self, schedule: object) -> list[str]:
        """Return the file."""
        unit = self.program.step or Fraction(1)
        meant = [Fraction(c, self.program.cost_scale) for c in self.program.cost]
        if self.tree.denominator is not None:
            grid = self.tree.denominator
            meant = [Fraction(math.floor(c * grid + Fraction(1, 2)), grid) for c in meant]
        self.goal = {j: c / unit for j, c in enumerate(meant) if c}
        last = self._tree()
        sign, inst = self.program.sign, self.inst
        if last.absurd:
            proves = "infeas"
        else:
            parts = [(sign * unit, last)]
            for j, (c, near) in enumerate(zip(self.program.cost, meant, strict=True)):
                if off := Fraction(c, self.program.cost_scale) - near:
                    parts.append((sign * off, self._bound(j, off)))
            last = self.lin(parts, "G" if sign > 0 else "L", name="OBJ")
            proves = f"range {last.side} inf" if sign > 0 else f"range -inf {last.side}"
        found = self._solution(schedule)
        if found is not None and not last.absurd:
            earned = (exact(c.cost) * found.get(j, 0) for j, c in enumerate(inst.columns))
            value = sum(earned, Fraction(0))
            ends = (last.side, value) if sign > 0 else (value, last.side)
            proves = f"range {ends[0]} {ends[1]}"
        names = [c.name for c in inst.columns]
        if any(len(name.split()) != 1 for name in names):
            names = [f"x{j}" for j in range(len(names))]
        whole = [j for j, integer in enumerate(self.program.integer) if integer]
        costs = {j: exact(c.cost) for j, c in enumerate(inst.columns) if c.cost}
        kept = "" if found is not None else ", and no solution keeps it exactly"
        return [
            f"% the exact model, without tolerances{kept if schedule is not None else ''}",
            f"% the objective has an additional constant of {exact(inst.offset)}",
            "VER 1.0",
            f"VAR {len(names)}",
            *names,
            f"INT {len(whole)}",
            " ".join(map(str, whole)),
            f"OBJ {inst.sense}",
            _written(costs),
            f"CON {len(self.constraints)} {self.bounds}",
            *self.constraints,
            f"RTP {proves}",
            f"SOL {0 if found is None else 1}",
            *([] if found is None else [f"best {_written(found)}"]),
            f"DER {len(self.derived)}",
            *self.derived,
        ]

    def _solution(self, schedule: object) -> dict[int, Scalar] | None:
        """Return the solution, if it keeps the model exactly."""
        if not isinstance(schedule, Solution):
            return None
        pairs = zip(self.inst.columns, schedule.values, strict=True)
        values = [settle(column, value)[0] for column, value in pairs]
        for row in self.inst.rows:
            activity = sum((exact(a) * values[j] for j, a in row.entries), Fraction(0))
            low = None if math.isinf(row.lower) else exact(row.lower)
            high = None if math.isinf(row.upper) else exact(row.upper)
            if (low is not None and activity < low) or (high is not None and activity > high):
                return None
        return {j: x for j, x in enumerate(values) if x}

    def _add(self, into: list[str], line: _Line, reason: str = "", name: str = "") -> _Line:
        body = name or _written(line.entries)
        into.append(f"C{line.index} {line.sense} {line.side} {body}{reason}")
        self.count += 1
        return line

    def _given(self, entries: Entries, sense: str, side: Scalar) -> _Line:
        return self._add(self.constraints, _Line(self.count, entries, sense, side))

    def lin(self, parts: Parts, sense: str, *, rounds: bool = False, name: str = "") -> _Line:
        """Derive a sum of constraints, rounded if requested."""
        entries: dict[int, Scalar] = {}
        side: Scalar = 0
        for y, line in parts:
            side += y * line.side
            for j, a in line.entries.items():
                entries[j] = entries.get(j, 0) + y * a
        if rounds:
            side = math.ceil(side) if sense == "G" else math.floor(side)
        line = _Line(self.count, {j: a for j, a in sorted(entries.items()) if a}, sense, side)
        terms = " ".join(f"{line.index} {y}" for y, line in parts)
        reason = f" {{ {'rnd' if rounds else 'lin'} {len(parts)} {terms} }} -1"
        return self._add(self.derived, line, reason, name)

    def _assume(self, entries: Entries, sense: str, side: Scalar) -> _Line:
        return self._add(self.derived, _Line(self.count, entries, sense, side), " { asm } -1")

    def _unsplit(
        self, entries: Entries, sense: str, side: Scalar, halves: Iterable[tuple[_Line, _Line]]
    ) -> _Line:
        terms = " ".join(f"{proved.index} {assumed.index}" for proved, assumed in halves)
        line = _Line(self.count, entries, sense, side)
        return self._add(self.derived, line, f" {{ uns {terms} }} -1")

    def _bounds(self) -> None:
        for j, c in enumerate(self.inst.columns):
            if math.isfinite(c.lower):
                self.lower[j] = self._given({j: 1}, "G", exact(c.lower))
            if math.isfinite(c.upper):
                self.upper[j] = self._given({j: 1}, "L", exact(c.upper))
        self.bounds = self.count

    def _rows(self) -> None:
        for i, row in enumerate(self.inst.rows):
            entries = {j: exact(a) for j, a in row.entries if a}
            for side, limit in enumerate((row.lower, row.upper)):
                if math.isfinite(limit):
                    line = self._given(entries, "GL"[side], exact(limit))
                    self.sides[i, side] = line, self.program.scale[i]

    def _row(self, i: int, side: int) -> tuple[_Line, int]:
        """Return a side of a row; of integer columns it is rounded when it is first needed."""
        line, times = self.sides[i, side]
        entries = self.program.rows[i]
        unit = math.gcd(*(a for _, a in entries))
        if unit and all(self.program.integer[j] for j, _ in entries):
            factor = Fraction(times, unit)
            if (line.side * factor).denominator != 1:
                rounded = self.lin([(factor, line)], line.sense, rounds=True)
                self.sides[i, side] = rounded, unit
        return self.sides[i, side]

    def _imply(self, i: int, side: int, j: int) -> None:
        """Derive a bound of column j, which `certificate.implied` finds, from a side of row i."""
        line, times = self._row(i, side)
        a = dict(self.program.rows[i])[j]
        sense = "G" if (line.sense == "G") == (a > 0) else "L"
        parts: list[tuple[Scalar, _Line]] = [(Fraction(times, a), line)]
        for k, b in self.program.rows[i]:
            if k != j:
                off = -Fraction(b) / a
                other = (self.lower if (off > 0) == (sense == "G") else self.upper)[k]
                assert other is not None
                parts.append((off, other))
        target = self.upper if sense == "L" else self.lower
        target[j] = self.lin(parts, sense, rounds=self.program.integer[j])

    def _bound(
        self, j: int, weight: Scalar, path: Mapping[tuple[int, bool], _Line] | None = None
    ) -> _Line:
        """Return the bound by which a term is least."""
        low = weight > 0
        found = (self.lower if low else self.upper)[j]
        other = (path or {}).get((j, low))
        if found is None or (other is not None and (other.side > found.side) == low):
            found = other
        if found is None:
            raise InputError(f"variable {self.inst.columns[j].name}: a bound is not derived")
        return found

    def _rest(
        self, goal: Entries, parts: Parts, path: Mapping[tuple[int, bool], _Line], sign: int
    ) -> list[tuple[Scalar, _Line]]:
        """Return the multiples of bounds that complete a sum: from below, or above for -1."""
        rest = dict(goal)
        for y, line in parts:
            for j, a in line.entries.items():
                rest[j] = rest.get(j, 0) - y * a
        return [(r, self._bound(j, sign * r, path)) for j, r in sorted(rest.items()) if r]

    def _tree(self) -> _Line:
        """Derive the bound of the root."""
        done: dict[int, _Line] = {}
        assumed: dict[int, list[_Line]] = {}
        stack: list[tuple[int, dict[tuple[int, bool], _Line]]] = [(0, {})]
        while stack:
            k, path = stack.pop()
            node = self.tree.nodes[k]
            if isinstance(node, Leaf):
                done[k] = self._leaf(node, path)
                continue
            made, j = assumed.setdefault(k, []), node.column
            children = (node.left, node.right)
            if len(made) < 2:
                low = bool(made)
                line = self._assume({j: 1}, "LG"[low], node.at + low)
                made.append(line)
                now = path.get((j, low))
                tighter = now is None or (now.side < line.side) == low
                stack += [(k, path), (children[low], path | ({(j, low): line} if tighter else {}))]
                continue
            proved = [done.pop(child) for child in children]
            open_ones = [line for line in proved if not line.absurd] or proved
            side = min(line.side for line in open_ones)
            halves = zip(proved, made, strict=True)
            done[k] = self._unsplit(open_ones[0].entries, "G", side, halves)
        return done[0]

    def _leaf(self, leaf: Leaf, path: Mapping[tuple[int, bool], _Line]) -> _Line:
        step = self.program.step if not leaf.ray else None
        parts: list[tuple[Scalar, _Line]] = []
        for i, text in leaf.multipliers:
            if y := Fraction(text) / self.program.scale[i] / (step or 1):
                line, times = self._row(i, 0 if y > 0 else 1)
                parts.append((y * times, line))
        goal = {} if leaf.ray else self.goal
        parts += self._rest(goal, parts, path, 1)
        side = sum((y * line.side for y, line in parts), Fraction(0))
        if leaf.ray and side <= 0:
            parts = self._clash(path)
        return self.lin(parts, "G", rounds=step is not None)

    def _clash(self, path: Mapping[tuple[int, bool], _Line]) -> list[tuple[Scalar, _Line]]:
        """Return the bounds of a column that leave it no value."""
        for j in range(len(self.inst.columns)):
            sides = [
                (self.lower if low else self.upper)[j] or path.get((j, low))
                for low in (True, False)
            ]
            if None not in sides:
                low, high = self._bound(j, 1, path), self._bound(j, -1, path)
                if low.side > high.side:
                    return [(1, low), (-1, high)]
        raise InputError("a ray proves nothing")

    def _cut(self, number: int, cut: Cut) -> None:
        """Derive a cut by a split of which it holds in both halves."""
        program = self.program
        integer, bounds = program.integer, self.implied
        multipliers = [(i, Fraction(y)) for i, y in cut.multipliers]
        common = math.lcm(*(y.denominator for _, y in multipliers))
        found = exact_sum(program, bounds, multipliers, {*cut.complemented}, common)
        assert found is not None
        made, _, divisor = found.cut(program, bounds)

        def split(a: int, whole: bool) -> int:
            return (a // found.unit + (a % found.unit > found.rest)) if whole else 0

        halves: dict[int, int] = {}
        at = found.right // found.unit
        for j, (a, sign) in found.total.items():
            halves[j] = sign * split(sign * a, integer[j])
            at += halves[j] * int((bounds[sign < 0][j] or 0) if integer[j] else 0)
        for i, sign, side, weight, whole in found.slacks:
            part = sign * split(weight, whole)
            at -= part * side
            for j, c in program.rows[i]:
                halves[j] -= part * c
        scale = grid_of(made.values(), divisor)
        entries = {j: n for j, a in sorted(made.items()) if (n := a * scale // divisor)}
        halves = {j: a for j, a in sorted(halves.items()) if a}
        proved: list[tuple[_Line, _Line]] = []
        for high in (False, True):
            assumed = self._assume(halves, "LG"[high], at + high)
            times = -found.rest if high else divisor
            parts: list[tuple[Scalar, _Line]] = [(Fraction(scale * times, divisor), assumed)]
            for i, sign, _side, weight, whole in found.slacks:
                here = times * split(weight, whole) + (weight if high else 0)
                if n := here - found.rounded(weight, whole):
                    line, often = self._row(i, 1 if sign > 0 else 0)
                    parts.append((Fraction(sign * scale * n * often, divisor), line))
            parts += self._rest(entries, parts, {}, -1)
            proved.append((self.lin(parts, "L"), assumed))
        limit = max(line.side for line, _ in proved)
        made_line = self._unsplit(entries, "L", limit, proved)
        unit = math.gcd(*entries.values())
        if unit and all(integer[j] for j in entries):
            made_line = self.lin([(Fraction(1, unit), made_line)], "L", rounds=True)
        assert [*made_line.entries.items()] == program.rows[number]
        self.sides[number, 1] = made_line, 1


def _written(entries: Entries) -> str:
    return " ".join([str(len(entries)), *(f"{j} {a}" for j, a in entries.items())])
