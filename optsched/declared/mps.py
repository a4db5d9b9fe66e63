"""A declared problem as an MPS file and a table of times, from which it is read back as it is.

Numbers are written with all digits. Names are kept where MPS permits them: without
blanks, `$` and quotation marks, and not those of sections.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator

from optsched.declared.files import SECTIONS, SENSES
from optsched.declared.model import Declared, ProgramVariable, Row

LONGEST = 200  # characters of a name
TAKEN = {*SECTIONS, *SENSES, "OBJECTIVE", "MARKER", "RANGE", "BOUND"}  # names of other things


def mps_and_times(inst: Declared) -> tuple[str, str]:
    """Return the program of an instance as MPS, and the times of its variables as CSV."""
    names = _distinct(c.name for c in inst.columns)
    return "\n".join([*_mps(inst, names), ""]), _times(inst, names)


def _times(inst: Declared, names: list[str]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("name", "revealed", "decided"))
    for name, c in zip(names, inst.columns, strict=True):
        table.writerow((name, _number(c.revealed), _number(c.decided)))
    return text.getvalue()


def _mps(inst: Declared, names: list[str]) -> Iterator[str]:
    yield from ("NAME declared", "OBJSENSE", f" {inst.sense.upper()}", "ROWS", " N objective")
    binding = [r for r in inst.rows if r.entries and (r.lower, r.upper) != (-math.inf, math.inf)]
    entries: list[list[tuple[str, float]]] = [[("objective", c.cost)] for c in inst.columns]
    limits: list[tuple[str, float]] = [("objective", -inst.offset)] if inst.offset else []
    ranges: list[tuple[str, float]] = []
    sides = [(row, *side) for row in binding for side in _sides(row)]
    labels = _distinct(name for _, name, *_ in sides)
    for label, (row, _, kind, limit, width) in zip(labels, sides, strict=True):
        yield f" {kind} {label}"
        limits.append((label, limit))
        if width is not None:
            ranges.append((label, width))
        for j, a in row.entries:
            entries[j].append((label, a))
    yield "COLUMNS"
    whole = False
    for name, c, found in zip(names, inst.columns, entries, strict=True):
        if c.integer != whole:
            whole = c.integer
            yield f" MARKER 'MARKER' '{'INTORG' if whole else 'INTEND'}'"
        yield from (f" {name} {label} {_number(a)}" for label, a in found)
    if whole:
        yield " MARKER 'MARKER' 'INTEND'"
    yield "RHS"
    yield from (f" RHS {label} {_number(limit)}" for label, limit in limits)
    if ranges:
        yield "RANGES"
        yield from (f" RANGE {label} {_number(width)}" for label, width in ranges)
    yield "BOUNDS"
    for name, c in zip(names, inst.columns, strict=True):
        yield from _bounds(name, c)
    yield "ENDATA"


def _sides(row: Row) -> Iterator[tuple[str, str, float, float | None]]:
    """Yield name, type, right-hand side and range of a row.

    Where no range gives both limits to the last digit, there are two rows.
    """
    low, high = row.lower, row.upper
    width = high - low
    if low == high:
        yield row.name, "E", low, None
    elif math.isinf(low):
        yield row.name, "L", high, None
    elif math.isinf(high):
        yield row.name, "G", low, None
    elif high - width == low:
        yield row.name, "L", high, width
    elif low + width == high:
        yield row.name, "G", low, width
    else:
        yield row.name, "L", high, None
        yield f"{row.name}_lower", "G", low, None


def _bounds(name: str, c: ProgramVariable) -> Iterator[str]:
    """Yield all bounds: defaults depend on the reader of the file."""
    low, high = c.lower, c.upper
    if low == high:
        yield f" FX BOUND {name} {_number(low)}"
    elif math.isinf(low) and math.isinf(high):
        yield f" FR BOUND {name}"
    else:
        yield f" MI BOUND {name}" if math.isinf(low) else f" LO BOUND {name} {_number(low)}"
        yield f" PL BOUND {name}" if math.isinf(high) else f" UP BOUND {name} {_number(high)}"


def _number(x: float) -> str:
    """Write a number with all digits.

    >>> _number(3.0), _number(0.1)
    ('3', '0.1')
    """
    return repr(float(x)).removesuffix(".0")


def _distinct(names: Iterable[str]) -> list[str]:
    """Return names that MPS can hold, each its own.

    >>> _distinct(["x[1,2]", "a b", "a_b", "RHS"])
    ['x[1,2]', 'a_b_2', 'a_b', 'RHS_']
    """
    names = list(names)
    kept: set[str] = set()
    own = {name for name in names if _fits(name)}
    found = []
    for name in names:
        label = name
        if name not in own or name in kept:
            label = re.sub(r"[\s$'\"]|^\*", "_", name)[:LONGEST]
            label = "".join(c if c.isprintable() else "_" for c in label)
            label = label if _fits(label) else f"{label}_"
            base, n = label, 1
            while label in kept or label in own:
                n += 1
                label = f"{base}_{n}"
        kept.add(label)
        found.append(label)
    return found


def _fits(name: str) -> bool:
    odd = re.search(r"[\s$'\"]|^\*", name) or not name.isprintable()
    return not odd and len(name) <= LONGEST + 20 and name.upper() not in TAKEN
