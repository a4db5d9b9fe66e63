"""A better schedule or bound for an entry: checked, and taken if it is strictly better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optsched.core import Optimum
from optsched.engine.interval import CLOSED, Interval
from optsched.files.atomic_io import write_whole
from optsched.files.format import instance_of, parse_json, read_json
from optsched.library.packs import Library, result_text
from optsched.library.page import page_of, page_text
from optsched.library.table import (
    FILE,
    Row,
    derive,
    load_table,
    parse_table,
    place_of,
    with_row,
)
from optsched.library.verify import verify
from optsched.problem import Family, InputError, Instance, Level, Status, agree, get_family
from optsched.results.result import SAME, part_of, recheck_optimum

LEVEL = Level.CERTIFIED


@dataclass(frozen=True)
class Taken:
    """Result of a submission."""

    name: str  # of the entry
    better: tuple[str, ...]  # "value", "bound": the strictly better ones
    before: Row
    after: Row

    def lines(self) -> list[str]:
        """Return the reader's report."""
        if not self.better:
            stored = f"value {self.before['value']}, bound {self.before['bound']}"
            return [f"{self.name}: refused: neither value nor bound is better than {stored}"]
        texts = [
            f"{self.name}: {what} {self.before[what]} is now {self.after[what]}"
            for what in self.better
        ]
        return [*texts, f"{self.name}: {self.before['status']} is now {self.after['status']}"]

    def summary(self) -> dict[str, Any]:
        """Return the content of ``--json``."""
        names = ("status", "value", "bound", "gap")
        return {
            "name": self.name,
            "accepted": bool(self.better),
            "better": list(self.better),
            "before": {name: self.before[name] for name in names},
            "after": {name: self.after[name] for name in names},
        }


def submit(
    library: Library,
    path: Path,
    *,
    workers: int = 1,
    callback: Callable[[str], None] = lambda _text: None,
) -> Taken:
    """Take improvements from a result file; the pack, the table and the page are written anew.

    A schedule and a bound may come from different files: the entry keeps the best of each. Table
    and page state numbers of all entries, so that nothing is written unless all of them verify;
    ``workers`` and ``callback`` are those of :func:`optsched.library.verify.verify`.

    Raises
    ------
    InputError
        The file is no result, its instance is in no pack, or something in it is wrong: a schedule
        that breaks the model, a certificate that proves less than is claimed. An entry or a table
        of the library is wrong.
    """
    content = read_json(path, "result")
    instance = instance_of(content, path)
    family = get_family(instance.family)
    theirs = part_of(Optimum, content, "optimum", path, family.name)
    _must_hold(family, instance, theirs, path)
    name = _entry(library, instance, path)
    text = library.text(name)
    before, wrong = derive(name, text)
    if before["sha256"] != instance.digest():
        wrong.append(f"{FILE} gives it the SHA-256 of another instance")
    if wrong:
        raise InputError(f"{name}: is damaged itself: {wrong[0]}; expected a library that verifies")
    content = parse_json(text, Path(name), "result")
    mine = part_of(Optimum, content, "optimum", Path(name), family.name)
    best = _best(family, instance, mine, theirs)
    if best is None:
        return Taken(name, (), before, before)
    _must_hold(family, instance, best, path)
    line = result_text(instance, best)
    after, _ = derive(name, line)
    checked = verify(library, workers=workers, callback=callback)
    if not checked.accepted:
        raise InputError(f"{checked.lines()[0]}; expected a library that verifies")
    _replace(library, name, line, after)
    changed = tuple(what for what in ("value", "bound") if getattr(mine, what) != after[what])
    return Taken(name, changed, before, after)


def _must_hold(family: Family, instance: Instance, submitted: Optimum, path: Path) -> None:
    """Refuse an optimum that is not as it states."""
    check = recheck_optimum(family, instance, submitted, "")
    if check.complaints:
        raise InputError(f"{path}: {check.complaints[0]}")
    if submitted.scope:
        raise InputError(f"{path}: is of {submitted.scope} schedules, expected the best of all")


def _entry(library: Library, instance: Instance, path: Path) -> str:
    """Return the name of the entry of an instance, as the table states."""
    if instance.family in library.families:
        table = load_table(library, instance.family)
        found = table.index[table["sha256"] == instance.digest()]
        if len(found):
            return str(found[0])
    raise InputError(
        f"{path}: its instance {instance.digest()} is not in {library.folder}, expected one that "
        "optsched library get has written"
    )


def _best(family: Family, instance: Instance, mine: Optimum, theirs: Optimum) -> Optimum | None:
    """Return the better schedule next to the better bound; None: nothing is strictly better."""
    sign = family.sign
    made = theirs.schedule
    value = None if made is None else family.verify(instance, made).value
    bound = None if theirs.certificate is None else family.proved(instance, theirs.certificate)
    schedule = value is not None and _beyond(sign, value, mine.value)
    proof = bound is not None and _beyond(-sign, bound, mine.proved)
    if not (schedule or proof):
        return None
    value = value if schedule else mine.value
    bound = bound if proof else mine.proved
    assert value is not None
    assert bound is not None
    parts = {
        "schedule": (theirs if schedule else mine).schedule,
        "certificate": (theirs if proof else mine).certificate,
    }
    known = Interval(family, instance, value, bound, parts["schedule"], parts["certificate"])
    bound = known.certified()
    gap = known.at(bound).gap
    return mine.model_copy(
        update={
            **parts,
            **{"value": value, "value_level": LEVEL, "bound": bound, "bound_level": LEVEL},
            **{"gap": gap, "certified_bound": bound, "certified_gap": gap},
            "status": Status.of(gap, CLOSED, LEVEL),
            "method": theirs.method,
            "seconds": theirs.seconds,
            "effort": None,
        }
    )


def _beyond(sign: int, new: float, old: float | None) -> bool:
    """Return whether a number is better (sign 1: larger), by more than rounding."""
    return old is None or (sign * (new - old) > 0 and not agree(new, old, SAME))


def _replace(library: Library, name: str, line: bytes, row: Row) -> None:
    pack, number = library.place(name)
    texts = [text for _, text in pack.lines()]
    texts[number - 1] = line
    table, place = with_row(library, pack.family, row), place_of(library, pack.family)
    tables = {family: load_table(library, family) for family in library.families}
    tables[pack.family] = parse_table(table.encode(), place)
    page = page_text(library, tables)
    pack.write(texts)  # from here on, nothing can be refused
    write_whole(place, table)
    if page is not None:
        write_whole(page_of(library), page)
