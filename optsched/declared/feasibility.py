"""Feasibility check: exact arithmetic on the model as written, with the package's tolerance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from optsched.declared.model import Declared, ProgramVariable, Scalar, Solution, plain
from optsched.numbers.resources import exact, slack
from optsched.problem import InputError, Verdict, Violation
from optsched.proofs.enclosure import exp_below, root_above
from optsched.proofs.grid import nearest


def verify(inst: Declared, solution: Solution, *, unfinished: bool = False) -> Verdict:  # noqa: ARG001
    """Check bounds, integrality and rows, and compute the exact objective.

    A value within the tolerance of an integer, or of a bound, counts as that.

    Raises
    ------
    InputError
        The number of values is not that of the variables.
    """
    if len(solution.values) != len(inst.columns):
        raise InputError(
            f"the solution has {len(solution.values)} values, expected {len(inst.columns)}"
        )
    values: list[Scalar] = []
    broken: list[Violation] = []
    for column, value in zip(inst.columns, solution.values, strict=True):
        meant, complaint = settle(column, value)
        values.append(meant)
        if complaint is not None:
            broken.append(complaint)
    broken += _rows(inst, values)
    broken += _cones(inst, values)
    reached = nearest(inst.exact.objective(values))
    if math.isinf(reached):
        place = "value beyond the largest float, expected smaller values of the variables"
        broken.append(Violation(equation="objective", place=place, amount=math.inf))
    return Verdict(violations=tuple(broken), value=None if broken else reached)


def settle(column: ProgramVariable, value: float) -> tuple[Scalar, Violation | None]:
    """Return the exact value that is meant, and what is wrong with it."""
    if not math.isfinite(value):
        return 0, Violation(
            equation=column.name, place=f"value {value}, expected a number", amount=1.0
        )
    if column.lower <= value <= column.upper and (value.is_integer() or not column.integer):
        return plain(exact(value)), None  # decimals are in the order of their floats
    x = exact(value)
    if column.integer:
        whole = round(x)
        if abs(x - whole) > slack(x):
            place = f"value {value:.12g}, expected an integer"
            return x, Violation(equation=column.name, place=place, amount=nearest(abs(x - whole)))
        x = Fraction(whole)
    for limit, sign, side in ((column.lower, -1, "lower"), (column.upper, 1, "upper")):
        if math.isinf(limit):
            continue
        bound = exact(limit)
        beyond = sign * (x - bound)
        if beyond > slack(bound):
            place = f"value {value:.12g}, {side} bound {limit:.12g}"
            return x, Violation(equation=column.name, place=place, amount=nearest(beyond))
        if beyond > 0:
            if column.integer:  # nothing between them is an integer
                place = f"value {value:.12g}, {side} bound {limit:.12g}"
                return x, Violation(equation=column.name, place=place, amount=nearest(beyond))
            x = bound
    return plain(x), None


def _rows(inst: Declared, values: list[Scalar]) -> Iterator[Violation]:
    program = inst.exact
    for row, scale, entries, sides in zip(
        inst.rows, program.scale, program.rows, program.sides, strict=True
    ):
        activity = sum(a * values[j] for j, a in entries if values[j])
        for limit, sign, written, side in (
            (sides[0], -1, row.lower, "lower"),
            (sides[1], 1, row.upper, "upper"),
        ):
            if limit is not None and sign * (activity - limit) > 0:
                found = Fraction(activity) / scale
                yield Violation(
                    equation=row.name,
                    place=f"activity {nearest(found):.12g}, {side} limit {written:.12g}",
                    amount=nearest(sign * (found - exact(written))),
                )


def _cones(inst: Declared, values: list[Scalar]) -> Iterator[Violation]:
    for cone, program in zip(inst.cones, inst.exact.cones, strict=True):
        numbers = [
            constant + sum((a * values[j] for j, a in entries), Fraction(0))
            for constant, entries in program.members
        ]
        if cone.kind == "second-order":
            needed = root_above(sum((x * x for x in numbers[1:]), Fraction(0)))
        else:
            x, y, _ = numbers
            if y < 0 or (y == 0 and x > 0):
                first = f"second member {nearest(y):.12g}, expected at least 0"
                place = first if y < 0 else f"first member {nearest(x):.12g}, expected at most 0"
                yield Violation(equation=cone.name, place=place, amount=nearest(abs(y or x)))
                continue
            needed = y * exp_below(x / y) if y else Fraction(0)
        lacking = needed - numbers[cone.head]
        if lacking > program.slack:
            found, least = nearest(numbers[cone.head]), nearest(needed)
            place = f"value {found:.12g}, expected at least {least:.12g}"
            yield Violation(equation=cone.name, place=place, amount=nearest(lacking))
