"""MPS and LP files that HiGHS misreads without an error: rejected here, with the line."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from optsched.problem import InputError

NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity)", re.IGNORECASE | re.ASCII)
SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
SENSES = ("MAX", "MIN", "MAXIMIZE", "MINIMIZE")
VALUED, VALUELESS = ("UP", "LO", "FX", "LI", "UI", "SC", "SI"), ("FR", "MI", "PL", "BV")
LP_SECTIONS = re.compile(
    r"(?P<binary>bin|binary|binaries)|end|gen|generals?|integers?|bounds?|semi\S*|sos\d?",
    re.IGNORECASE,
)
LP_REST = re.compile(rf"^[ \t]*(?:{LP_SECTIONS.pattern})\b", re.IGNORECASE | re.MULTILINE)


def refuse_mps(path: Path, text: str) -> None:
    """Refuse an MPS file that HiGHS reads as another model than is written.

    Raises
    ------
    InputError
        The message names the line.
    """
    for number, complaint in _mps(io.StringIO(text, newline=None)):
        raise InputError(f"{path}, line {number}: {complaint}")


def refuse_lp(
    path: Path, text: str, bounds: Mapping[str, tuple[float, float]], unused: Collection[str]
) -> None:
    """Refuse an LP file that HiGHS reads as another model than is written.

    ``bounds`` are those that HiGHS reads, ``unused`` the variables without coefficients.

    Raises
    ------
    InputError
        The message names the variable.
    """
    text = re.sub(r"\\.*", "", text)
    rest = LP_REST.search(text)
    head = text[: rest.start()] if rest else text
    for name in unused:
        if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", head):
            raise InputError(
                f"{path}: {name} occurs neither in the objective nor in a constraint, "
                "expected a variable of the model; names are separated by blanks"
            )
    for name in _binaries(io.StringIO(text, newline=None)):
        low, high = bounds.get(name, (0.0, 1.0))
        if low < 0 or high > 1:
            raise InputError(
                f"{path}: variable {name} is binary and its bounds are {low:g} and "
                f"{high:g}, expected bounds within 0 and 1"
            )


def _mps(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of an MPS file that are doubtful, and why."""
    section, objective, free, columns = "", "", set[str](), set[str]()
    latest = -1
    for number, line in enumerate(lines, start=1):
        words = line.partition("$")[0].split()
        if not words or line.startswith("*"):
            continue
        if not line[0].isspace():
            section = words[0].upper()
            if section not in SECTIONS:
                yield number, f"section {words[0]}, expected one of: {', '.join(SECTIONS)}"
            elif section != "OBJSENSE":
                place = SECTIONS.index(section)
                if place <= latest:
                    after = f"section {section} after {SECTIONS[latest]}"
                    yield number, f"{after}, expected in this order: {', '.join(SECTIONS)}"
                latest = place
            if section == "OBJSENSE" and words[1:] and words[1].upper() not in SENSES[:2]:
                yield number, f"OBJSENSE {words[1]}, expected MAX or MIN"
        elif section == "OBJSENSE" and words[0].upper() not in SENSES:
            yield number, f"OBJSENSE {words[0]}, expected one of: {', '.join(SENSES)}"
        elif section == "ROWS" and words[0].upper() == "N":
            objective = objective or words[-1]
            free.add(words[-1])
        elif section == "COLUMNS" and "'MARKER'" not in words:
            columns.add(words[0])
            yield from _pairs(number, words[1:], "a column, then")
        elif section in ("RHS", "RANGES"):
            rest = words[len(words) % 2 :]
            yield from _pairs(number, rest, "perhaps a name, then")
            other = next((row for row in rest[::2] if row in free and row != objective), None)
            if other is not None:
                yield number, f"row {other} is free and no objective, expected a constraint"
        elif section == "BOUNDS":
            yield from _bound(number, words, columns)


def _pairs(number: int, rest: list[str], what: str) -> Iterator[tuple[int, str]]:
    if len(rest) not in (2, 4) or not all(map(NUMBER.fullmatch, rest[1::2])):
        yield number, f"{' '.join(rest)[:60]!r}, expected {what} one or two rows with a number each"


def _bound(number: int, words: list[str], columns: set[str]) -> Iterator[tuple[int, str]]:
    kind, rest = words[0].upper(), words[1:]
    first = rest[0] if rest else ""
    if first in columns and (len(rest) == 3 or columns.intersection(rest[1:])):
        yield number, f"the bound set {first} has the name of a column, expected another name"
    elif kind in VALUELESS:
        names = rest[-2:] if len(rest) > 1 and NUMBER.fullmatch(rest[-1]) else rest[-1:]
        if not columns.intersection(names):
            yield number, f"{' '.join(rest)[:60]!r} names no column, expected one of COLUMNS"
    elif kind not in VALUED or len(rest) not in (2, 3) or not NUMBER.fullmatch(rest[-1]):
        yield number, f"{' '.join(words)[:60]!r}, expected a type, a column and its bound"
    elif rest[-2] not in columns:
        yield number, f"{rest[-2]} is no column, expected one of COLUMNS"


def _binaries(lines: Iterable[str]) -> Iterator[str]:
    """Yield the variables in the binary section of an LP file."""
    on = False
    for line in lines:
        words = line.split()
        if words and (found := LP_SECTIONS.fullmatch(words[0])):
            on = found["binary"] is not None
            del words[0]
        if on:
            yield from words
