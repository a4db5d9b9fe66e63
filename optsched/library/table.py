"""The table of a family: verified value, bound and features of every entry.

Nothing in it is typed by hand: status, value, bound and gap come from checking the schedule and
re-evaluating the certificate, the features from the instance.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from optsched.engine.interval import CLOSED
from optsched.files.atomic_io import read_limited, write_whole
from optsched.files.format import instance_of, parse_json, short
from optsched.library.packs import NAME, Library
from optsched.problem import InputError, Instance, agree, family_of
from optsched.results.result import SAME, recheck_content

NEARLY = 0.01  # the gap up to which an entry that is not closed counts as hard
STATUSES = {
    "easy": f"closed: the gap between value and certified bound is at most {CLOSED:g}",
    "hard": f"not closed, a gap of at most {NEARLY:.0%}",
    "open": f"a gap above {NEARLY:.0%}",
}
KEY = ("name", "size", "origin", "status", "value", "bound", "gap", "sha256", "method", "effort")
ROUNDED = 1e-3  # how far a feature, of four digits, may be from another machine's
FILE = "table.csv"
LARGEST = 1 << 26  # bytes of a table
MOST_CELLS = 1 << 22  # of a table
SETTINGS = ("alpha", "architecture")  # of an instance, not of its parts
PLACES = {"a", "b", "master", "ports"}  # numbers that name a place: their size means nothing

Row = dict[str, Any]


def status_of(gap: float | None) -> str:
    """Return "easy", "hard" or "open", by the certified gap alone; see `STATUSES`.

    >>> status_of(0.0), status_of(0.004), status_of(0.2), status_of(None)
    ('easy', 'hard', 'open', 'open')
    """
    if gap is None or gap > NEARLY:
        return "open"
    return "easy" if gap <= CLOSED else "hard"


def derive(name: str, text: bytes) -> tuple[Row, list[str]]:
    """Check an entry; return its row of the table, and what is wrong with it.

    Raises
    ------
    InputError
        It is no result; the message begins with its name.
    """
    content = parse_json(text, Path(name), "result")
    instance = instance_of({k: v for k, v in content.items() if k != "instance_sha256"}, Path(name))
    found = NAME.fullmatch(name)
    if found is None:
        raise InputError(f"{name}: is no name, expected one such as oasis-small-drawn-0001")
    family, kind = found[1], found[2]
    stated = content.get("optimum", {})
    checks = recheck_content(content, Path(name))
    complaints = [complaint for check in checks for complaint in check.complaints]
    empty = [check for check in checks if None in (check.value, check.bound)]
    complaints += [f"nothing can be derived of {check.what}" for check in empty]
    if instance.family != family:
        complaints.append(f"is of family {instance.family}, expected {family}")
    if stated.get("scope"):
        complaints.append(f"its scope is {stated['scope']!r}, expected all schedules")
    main = checks[0]
    size, origin = kind.split("-")
    row = {"name": name, "size": size, "origin": origin, "status": status_of(main.gap)}
    row |= {"value": main.value, "bound": main.bound, "gap": main.gap}
    row |= {"sha256": instance.digest(), "method": stated["method"], "effort": stated.get("effort")}
    return row | features(instance), complaints


def features(instance: Instance) -> dict[str, float | int | str]:
    """Return features that may indicate how hard an instance is.

    That is its load (the scarcest resource's), the numbers among its facts, how many entries each
    of its lists has, and of every number in them mean and coefficient of variation.
    """
    facts = family_of(instance).describe(instance)
    found: dict[str, Any] = {"load": max(_leaves(facts.get("offered load", {})), default=math.nan)}
    found |= {name.replace(",", ""): x for name, x in facts.items() if _is_number(x)}
    for name, part in instance.model_dump(mode="json").items():
        if isinstance(part, list) and part and isinstance(part[0], dict):
            found = _of_records(name, part) | found
        elif name in SETTINGS:
            found[name] = part
    return {
        name: float(f"{x:.4g}") if isinstance(x, float) else x
        for name, x in found.items()
        if not (isinstance(x, float) and math.isnan(x))
    }


def _of_records(name: str, records: Sequence[Mapping[str, Any]]) -> dict[str, float | int]:
    """Return the number of records, and of every number in them the mean and the variation."""
    found: dict[str, float | int] = {name: len(records)}
    flat = [_numbers(record) for record in records]
    for key in flat[0]:
        column = [numbers[key] for numbers in flat if key in numbers]
        if len(column) == len(flat):
            mean = float(np.mean(column))
            found[f"{name}.{key} mean"] = mean
            found[f"{name}.{key} cv"] = float(np.std(column)) / abs(mean) if mean else 0.0
    return found


def _numbers(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a record: a list counts by its sum, a part by its own numbers."""
    found: dict[str, float] = {}
    for name, x in record.items():
        if _is_number(x) and name not in PLACES:
            found[name] = x
        elif isinstance(x, list) and x and all(map(_is_number, x)) and name not in PLACES:
            found[name] = sum(x)
        elif isinstance(x, dict):
            found |= {f"{name}.{key}": part for key, part in x.items() if _is_number(part)}
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _leaves(value: Any) -> list[float]:
    if isinstance(value, Mapping):
        return [x for part in value.values() for x in _leaves(part)]
    return [float(value)] if _is_number(value) else []


def load_table(library: Library, family: str) -> pd.DataFrame:
    """Return the table of a family, indexed by name; texts are those of the file.

    Raises
    ------
    InputError
        There is none, or it lacks a column.
    """
    path = place_of(library, family)
    return parse_table(read_limited(path, LARGEST), path)


def place_of(library: Library, family: str) -> Path:
    """Return the path of the table of a family."""
    return library.folder / family / FILE


def parse_table(data: bytes, path: Path) -> pd.DataFrame:
    """Return the table in ``data``; see :func:`load_table`."""
    try:
        columns = len(next(csv.reader(StringIO(data.decode())), ()))
        if columns * data.count(b"\n") > MOST_CELLS:
            raise ValueError(f"{columns} columns are too many for its lines")
        found = pd.read_csv(BytesIO(data), dtype=str, keep_default_na=False)
    except (ValueError, csv.Error) as err:  # pandas' own errors are ValueErrors
        raise InputError(f"{path}: is no table: {' '.join(str(err).split())}") from err
    if [*KEY] != [*found.columns[: len(KEY)]]:
        raise InputError(f"{path}: begins with other columns, expected {','.join(KEY)}")
    table = found.set_index("name", drop=False)
    if not table.index.is_unique:
        raise InputError(f"{path}: names an entry twice, expected once")
    return table


def write_table(library: Library, family: str, rows: Sequence[Row]) -> None:
    """Write the table of a family from derived rows, by name."""
    write_whole(place_of(library, family), table_text(rows))


def table_text(rows: Sequence[Row]) -> str:
    """Return the text of a table, by name."""
    ordered = sorted(rows, key=lambda row: str(row["name"]))
    table = pd.DataFrame.from_records(ordered)
    names = [str(name) for name in table.columns if name not in KEY]
    others = [name for name in names if table[name].nunique(dropna=False) > 1]
    return table.to_csv(columns=[*KEY, *others], index=False, lineterminator="\n")


def with_row(library: Library, family: str, row: Row) -> str:
    """Return the text of a table with a derived row instead of that of its name; columns stay."""
    listed = rows_of(library, family)
    mine = {name: x for name, x in row.items() if name in listed[0]}
    return table_text([mine if e["name"] == row["name"] else e for e in listed])


def rows_of(library: Library, family: str) -> list[dict[str, str]]:
    """Return the rows of a table, all of them texts."""
    table = load_table(library, family)
    return [{str(k): str(x) for k, x in row.items()} for row in table.to_dict("records")]


def contradictions(derived: Row, listed: Mapping[str, str] | None) -> list[str]:
    """Return the differences between the table and the derived rows."""
    if listed is None:
        return [f"{FILE} has no row of it"]
    found = []
    for name, stated in listed.items():
        true: Any = derived.get(name)
        if name == "effort" and true is None:  # an entry need not have it
            continue
        same = stated == str("" if true is None else true)
        if not same and _is_number(true):
            try:
                # a gap is a difference: its rounding error means nothing
                same = agree(float(stated), float(true), SAME if name in KEY else ROUNDED) or (
                    name == "gap" and abs(float(stated) - float(true)) <= SAME
                )
            except ValueError:
                same = False
        if not same:
            found.append(f"{FILE}: {name:.60} is {short(stated)}, derived is {true}")
    return found
