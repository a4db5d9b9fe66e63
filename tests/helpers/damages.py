"""Damaged result files: one thing is changed, so that two checkers can be requested about it."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from optsched.problem import InputError, get_family
from optsched.results.result import Recheck, recheck

Place = tuple[Any, ...]

PARTS = ("schedule", "schedule", "certificate", "certificate", "certificate", "numbers", "instance")
PARTS += ("words", "kind", "kind", "name")
WORDS = {  # of an optimum: what is stated of it, and what else could be reported
    "status": ("optimal", "claimed optimal", "feasible", "infeasible", "no_schedule", "toString"),
    "bound_level": (None, "claimed", "cross-checked", "certified", "constructor"),
    "value_level": (None, "claimed", "cross-checked", "certified"),
    "sense": ("max", "min", "valueOf"),
    "scope": ("", "stationary", "toString", "__proto__"),
    "gap": (None, 0.0, 0.5, 1e-7, "inf", "-inf", -1.0),
    "certified_gap": (None, 0.0, 0.5, "inf", True),
    "value": (None, "inf", 0.0, "1"),
    "bound": (None, "inf", "-inf", 0.0),
    "certified_bound": (None, "inf", 0.0, 1),
    "schedule": (None,),
    "certificate": (None,),
    "family": ("toString", ["oasis"], None),
    "history": (None, [], [{}], [1]),
    "shadow_prices": ([], [1], [{"x": 1}], None),
}
NAMES = ("toString", "constructor", "__proto__", "valueOf", "hasOwnProperty", "x", "")
KINDS = (
    None,
    True,
    False,
    0,
    1,
    1.0,
    0.5,
    "1",
    "0.5",
    "true",
    "inf",
    "",
    "x",
    [],
    {},
    [1],
    {"x": 1},
)
DIGESTS = (
    ("instance_sha256",),
    ("optimum", "instance_sha256"),
    ("optimum", "certificate", "instance_sha256"),
)
NUMBERS = ("value", "bound", "certified_bound")


def places(value: Any, above: Place = ()) -> Iterator[Place]:
    """Yield the way to everything that a list or an object holds."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*above, key)
            yield from places(inner, (*above, key))


def at(value: Any, place: Place) -> Any:
    """Return what stands at a place."""
    for key in place:
        value = value[key]
    return value


def changed(value: Any, draw: random.Random) -> Any:
    """Return something else of the same kind, most of the time."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        others = [value + 1, value - 1, value + 2, 0, 2 * value, value // 2, -value, 10**6, 1 << 62]
        return draw.choice(others[: 6 if draw.random() < 0.9 else None])
    if isinstance(value, float):
        factors = [1 + 1e-6, 1 - 1e-6, 1.5, 0.5, 0.9, 1.1, 1 + 1e-12, 1e-3, 1e3]
        return draw.choice([value * draw.choice(factors), round(value), value + 1, 0.0])
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    if isinstance(value, list) and value:
        other, k = list(value), draw.randrange(len(value))
        how = draw.randrange(3)
        if how == 0:
            del other[k]
        elif how == 1:
            other.insert(k, copy.deepcopy(other[k]))
        else:
            j = draw.randrange(len(other))
            other[j], other[k] = other[k], other[j]
        return other
    return None


def numeric(value: Any) -> bool:
    """Return whether a value is a number, which is what is worth changing most often."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def redigested(content: dict[str, Any]) -> bool:
    """Write the digest of a changed instance wherever it belongs; False if there is none."""
    try:
        instance = get_family(content["family"]).instance.model_validate(content["instance"])
    except (ValueError, ArithmeticError):
        return False
    for place in DIGESTS:
        holder = at(content, place[:-1])
        if isinstance(holder, dict) and place[-1] in holder:
            holder[place[-1]] = instance.digest()
    return True


def damage(content: dict[str, Any], draw: random.Random) -> tuple[dict[str, Any], str]:
    """Return a copy in which one thing is changed (or some words), and what it is."""
    other = copy.deepcopy(content)
    part = draw.choice((*PARTS, "digest"))
    if part == "words":
        names = draw.sample(sorted(WORDS), draw.choice((1, 1, 2, 3)))
        other["optimum"] |= {name: copy.deepcopy(draw.choice(WORDS[name])) for name in names}
        return other, " ".join(names)
    if part in ("kind", "name"):
        return other, anything(other, part, draw)
    inside: Place = ("instance",) if part == "instance" else ("optimum", part)
    if part == "digest":
        place = draw.choice([p for p in DIGESTS if p[-1] in (at(content, p[:-1]) or {})])
    elif part == "numbers":
        place = ("optimum", draw.choice(NUMBERS))
    else:
        there = list(places(at(content, inside)))
        if not there:
            return damage(content, draw)
        often = [p for p in there if numeric(at(at(content, inside), p))]
        place = (*inside, *draw.choice(often if often and draw.random() < 0.75 else there))
    at(other, place[:-1])[place[-1]] = changed(at(content, place), draw)
    if part == "instance" and draw.random() < 0.9:
        redigested(other)
    return other, ".".join(map(str, place))


def anything(content: dict[str, Any], how: str, draw: random.Random) -> str:
    """Put something of another kind anywhere, or a name that nobody knows; return where."""
    there = list(places(content))
    if how == "name":
        inside = [(), *(p for p in there if isinstance(at(content, p), dict))]
        place = (*draw.choice(inside), draw.choice((*NAMES, "references", "runs", "schedules")))
        value = draw.choice(({}, 1, None, [], "x"))
    else:
        short = [p for p in there if len(p) < 4]
        place = draw.choice(short if draw.random() < 0.5 else there)
        value = draw.choice(KINDS)
    at(content, place[:-1])[place[-1]] = copy.deepcopy(value)
    if place[0] == "instance" and draw.random() < 0.9:
        redigested(content)
    return ".".join(map(str, place))


def said(path: Path) -> list[Recheck] | None:
    """Return what optsched's own checker states of a file; None if it cannot be read."""
    try:
        return recheck(path)
    except InputError:
        return None


def damaged(path: Path, folder: Path, number: int, seed: int) -> Iterator[tuple[Path, str]]:
    """Write ``number`` damaged copies of a result; yield each, and what was changed."""
    content, draw = json.loads(path.read_text()), random.Random(f"{seed} {path.name}")
    for k in range(number):
        other, what = damage(content, draw)
        made = folder / f"{path.stem}-{k}.json"
        made.write_text(json.dumps(other))
        yield made, what
