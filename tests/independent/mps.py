"""A small reader of MPS files in free format, written from the description of the format.

Conventions that differ between readers: an objective RHS is subtracted; integer columns between
markers go from 0 to 1 unless they have a bound; a negative UP leaves the lower bound alone.
"""

from dataclasses import dataclass, field
from math import inf


@dataclass
class Model:
    sense: str = "min"
    offset: float = 0.0
    columns: dict[str, list] = field(default_factory=dict)
    """Cost, lower bound, upper bound, whether it is integer."""
    rows: dict[str, list] = field(default_factory=dict)
    """Lower limit, upper limit, coefficients by column."""


def read(text: str) -> Model:
    model, section, objective, free = Model(), None, None, set()
    kinds, bounded, whole = {}, set(), False
    for line in text.splitlines():
        words = line.split()
        if not words or line.startswith("*"):
            continue
        if not line.startswith((" ", "\t")):
            section = words[0]
            if section == "OBJSENSE" and len(words) == 2:
                model.sense = words[1].lower()[:3]
            continue
        if section == "OBJSENSE":
            model.sense = words[0].lower()[:3]
        elif section == "ROWS":
            kind, name = words
            if kind == "N":
                free.add(name)
                objective = objective or name
            else:
                kinds[name] = kind
                limits = {"L": [-inf, 0.0], "G": [0.0, inf], "E": [0.0, 0.0]}[kind]
                model.rows[name] = [*limits, {}]
        elif section == "COLUMNS":
            if words[1] == "'MARKER'":
                whole = words[2] == "'INTORG'"
                continue
            name = words[0]
            column = model.columns.setdefault(name, [0.0, 0.0, 1.0 if whole else inf, whole])
            for row, value in zip(words[1::2], words[2::2], strict=True):
                if row == objective:
                    column[0] = float(value)
                elif row not in free:
                    model.rows[row][2][name] = float(value)
        elif section in ("RHS", "RANGES"):
            pairs = words[len(words) % 2 :]
            for row, text_value in zip(pairs[::2], pairs[1::2], strict=True):
                value = float(text_value)
                if row == objective:
                    model.offset = -value
                    continue
                _side(model.rows[row], "RHS" if section == "RHS" else kinds[row], value)
        elif section == "BOUNDS":
            _bound(model.columns, bounded, words)
        elif section is None:
            raise ValueError(line)
    return model


def _bound(columns: dict[str, list], bounded: set[str], words: list[str]) -> None:
    kind = words[0]
    if kind in ("FR", "MI", "PL", "BV"):
        name, value = words[-1], 0.0
    else:
        name, value = words[-2], float(words[-1])
    column = columns[name]
    if name not in bounded and column[3]:
        column[2] = inf
    bounded.add(name)
    if kind in ("LO", "LI", "FX", "FR", "MI"):
        column[1] = -inf if kind in ("FR", "MI") else value
    if kind in ("UP", "UI", "FX", "FR"):
        column[2] = inf if kind == "FR" else value
    if kind == "BV":
        column[1:3] = 0.0, 1.0
    column[3] = column[3] or kind in ("LI", "UI", "BV")


def _side(row: list, kind: str, value: float) -> None:
    low, high, _ = row
    if kind == "RHS":
        low = value if low > -inf else low
        high = value if high < inf else high
    elif kind == "L":
        low = high - abs(value)
    elif kind == "G":
        high = low + abs(value)
    else:
        low, high = low + min(value, 0), high + max(value, 0)
    row[:2] = low, high
