"""Files: one envelope for everything.

    {"format": 1, "kind": "instance", "family": "oasis", "instance_sha256": "...", ...}

Numbers that are not finite are strings ("inf"). A result carries its instance, so that it can be
checked alone. No file is trusted: texts that do something to a terminal, or are no texts at all,
are refused here, since names are printed everywhere.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError, ValidationInfo

from optsched.base import short as short
from optsched.base import shown_as_it_is
from optsched.files.atomic_io import read_limited, write_whole
from optsched.problem import Family, Frozen, InputError, Instance, get_family

Record = TypeVar("Record", bound=Frozen)

FORMAT = 1
STORE = b"SQLite format 3\0"  # how the store of a campaign begins
LARGEST = 1 << 28  # bytes of a file that is read
MOST_PARTS = 1 << 22  # lists and objects of a file, of which each takes some hundred bytes
REPEATED = 4096  # whole numbers of a file, of which each is one object in memory
NUMBERS = frozenset((int, float, type(None)))
NESTED = frozenset((dict, list))
DEEPEST = 400  # lists and objects around a value; the checker in JavaScript has the same limit


def plain(value: Any) -> Any:
    """Return ``value`` with infinities as strings, ready for strict JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def write_json(path: Path, kind: str, family: str, content: Mapping[str, Any]) -> None:
    """Write ``content`` in the envelope."""
    write_whole(path, envelope(kind, family, content))


def envelope(kind: str, family: str, content: Mapping[str, Any]) -> str:
    """Return the text of a file."""
    full = {"format": FORMAT, "kind": kind, "family": family, **content}
    try:
        return json.dumps(full, allow_nan=False) + "\n"
    except (TypeError, ValueError):  # few have infinities, or mappings that are no dict
        return json.dumps(plain(full), allow_nan=False) + "\n"


def read_json(path: Path, *kinds: str) -> dict[str, Any]:
    """Read an envelope of one of ``kinds``.

    Raises
    ------
    InputError
        The file cannot be read, is no JSON, or holds something else.
    """
    return parse_json(read_limited(path, LARGEST), path, *kinds)


def parse_json(data: bytes, path: Path, *kinds: str) -> dict[str, Any]:
    """Return the envelope of one of ``kinds`` that is written in ``data``; ``path`` names it.

    Raises
    ------
    InputError
        It is no JSON, or holds something else.
    """
    if data.startswith(STORE):
        raise InputError(
            f"{path}: is the store of a campaign, expected JSON; optsched campaign verify and "
            "optsched report read stores"
        )
    if data.count(b"[") + data.count(b"{") > MOST_PARTS:
        raise InputError(
            f"{path}: holds more than {MOST_PARTS} lists and objects, expected at most that"
        )
    try:
        content = json.loads(
            data.decode("utf-8"),
            parse_int=lru_cache(REPEATED)(int),
            parse_float=_finite,
            parse_constant=_no_constant,
            object_pairs_hook=_unique,
        )
        _must_be_shallow(content)
        if not data.isascii() or b"\\" in data or b"\x7f" in data:  # most files have neither
            must_be_printable(content)
    except (UnicodeDecodeError, RecursionError) as err:
        raise InputError(f"{path}: is no JSON text: {err}") from err
    except json.JSONDecodeError as err:
        raise InputError(
            f"{path}, line {err.lineno}, column {err.colno}: is no JSON: {err.msg}"
        ) from err
    except ValueError as err:
        raise InputError(f"{path}: {err}") from err
    if not isinstance(content, dict) or "kind" not in content:
        raise InputError(f'{path}: expected an object with "format", "kind" and "family"')
    if content.get("format") != FORMAT or isinstance(content["format"], bool):
        raise InputError(f'{path}: "format" is {short(content.get("format"))}, expected {FORMAT}')
    if content["kind"] not in kinds:
        raise InputError(
            f"{path}: holds {short(content['kind'])}, expected {' or '.join(map(repr, kinds))}"
        )
    return content


def _must_be_shallow(content: Any) -> None:
    level = [content] if type(content) in NESTED else []
    for _ in range(DEEPEST):
        inner = (x.values() if type(x) is dict else x for x in level)
        level = [x for values in inner for x in values if type(x) in NESTED]
        if not level:
            return
    if any(level):
        raise ValueError(f"is nested too deeply, expected at most {DEEPEST} levels")


def _no_constant(name: str) -> float:
    raise ValueError(
        f"{name} is no number of JSON, expected a finite number, "
        'or the string "inf" where it is allowed'
    )


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(
            f"{short(text)} is beyond the largest float, expected a smaller number, or the string "
            '"inf" where it is allowed'
        )
    return number


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)
        raise ValueError(f"{short(twice)} is given twice, expected once")
    return found


def must_be_printable(content: Any) -> None:
    """Raise ValueError if a text in ``content`` cannot be shown as it is: no file may hold it."""
    for text in _texts(content):
        shown_as_it_is(text)


def _texts(content: Any) -> Iterator[str]:
    left = [content]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list):
            left += value


def save_instance(instance: Instance, path: Path | str) -> None:
    """Write ``instance`` to ``path``."""
    content = {"instance_sha256": instance.digest(), "instance": instance.model_dump(mode="json")}
    write_json(Path(path), "instance", instance.family, content)


def load_instance(path: Path | str) -> Instance:
    """Read the instance of an instance file, a run or a result; of a what-if, that before it.

    Raises
    ------
    InputError
        The file is malformed; the message names file, field, value and what would be right.
    """
    path = Path(path)
    content = read_json(path, "instance", "run", "result", "whatif")
    if content["kind"] == "whatif":
        content = sides_in(content, path)[0]["before"]
    return instance_of(content, path)


def sides_in(content: Mapping[str, Any], path: Path) -> list[dict[str, Any]]:
    """Return the windows of a what-if, whose sides are results.

    Raises
    ------
    InputError
        There are none.
    """
    windows, sides = content.get("windows"), ("before", "after")
    if not isinstance(windows, list) or not windows:
        raise InputError(f'{path}: "windows" is no list, or empty')
    for k, window in enumerate(windows):
        if not isinstance(window, dict) or not all(isinstance(window.get(s), dict) for s in sides):
            raise InputError(f'{path}: windows[{k}]: lacks "before" or "after"')
    head = {"kind": "result", "family": content["family"]}
    return [w | {s: w[s] | head for s in sides} for w in windows]


def instance_of(content: Mapping[str, Any], path: Path) -> Instance:
    """Return the instance inside an envelope, checked against its own digest."""
    family = family_in(content, path)
    if "instance" not in content:
        raise InputError(f'{path}: lacks "instance"')
    instance = checked(family.instance, content["instance"], str(path))
    digest = content.get("instance_sha256")
    if digest is not None and digest != instance.digest():
        raise InputError(
            f"{path}: instance_sha256 does not belong to this instance, "
            f"expected {instance.digest()}"
        )
    return instance


def family_in(content: Mapping[str, Any], path: Path) -> Family:
    """Return the family that an envelope names."""
    name = content.get("family")
    if not isinstance(name, str):
        raise InputError(f'{path}: "family" is {short(name)}, expected the name of a family')
    try:
        return get_family(name)
    except InputError as err:
        raise InputError(f"{path}: {err}") from err


def of_family(value: Any, info: ValidationInfo) -> Any:
    """Return a field of a record, such as its schedule, as the family has it; None stays None."""
    if value is None or isinstance(value, Frozen):
        return value
    return getattr(get_family(info.data["family"]), str(info.field_name)).model_validate(value)


def checked(kind: type[Record], content: Any, place: str) -> Record:
    """Return ``content`` as a record; where it is none, ``place`` and the first complaint."""
    try:
        with Validating(place):
            made = kind.model_validate(content)
        wrong = _taken_for(content, made)
    except RecursionError as err:
        raise InputError(f"{place}: is nested too deeply") from err
    if wrong is not None:
        raise InputError(f"{place}: {wrong}")
    return made


def _taken_for(content: Any, made: Any) -> str | None:
    """Return where a text or a truth value was taken for a number, or a number for a truth value.

    Numbers have one meaning: other programs that check a file need not guess.
    """
    pairs: Iterable[tuple[Any, Any, Any]]
    if isinstance(content, dict):
        there = made if isinstance(made, dict) else getattr(made, "__dict__", {})
        pairs = [(k, x, there[k] if k in there else _aliased(made, k)) for k, x in content.items()]
    elif isinstance(content, list) and isinstance(made, list | tuple):
        if NUMBERS.issuperset(map(type, content)) and bool not in map(type, made):
            return None
        pairs = zip(count(), content, made, strict=False)
    else:
        return _guessed(content, made)
    for key, inner, taken in pairs:
        kind = type(inner)
        if kind in NESTED:
            found = _taken_for(inner, taken)
        elif type(taken) is not bool if kind in NUMBERS else type(taken) is kind:
            continue
        else:
            found = _guessed(inner, taken)
        if found is not None:
            between = "" if found.startswith(":") else "."
            return f"{key}{between}{found}"
    return None


def _aliased(made: Any, key: str) -> Any:
    """Return the field of a record that a file may also call ``key``; None: there is none."""
    for name, field in getattr(type(made), "model_fields", {}).items():
        alias = field.validation_alias
        if key in getattr(alias, "choices", (alias,)):
            return getattr(made, name)
    return None


def _guessed(content: Any, made: Any) -> str | None:
    number, flag = isinstance(made, int | float), isinstance(made, bool)
    if isinstance(content, bool):
        wrong = number and not flag
    elif isinstance(content, str):
        wrong = number and not (content in ("inf", "-inf") and math.isinf(made))
    else:
        wrong = flag
    if not wrong:
        return None
    return f": is {short(content)}, expected {'true or false' if flag else 'a number'}"


class Validating:
    """A context that turns the complaints of a record that is made inside into one line."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, err: BaseException | None, __: object) -> None:
        """Raise an InputError if the record was refused."""
        if isinstance(err, ValidationError):
            raise InputError(f"{self.place}: {first_error(err)}") from err
        if isinstance(err, ArithmeticError):  # numbers computed from it leave the range
            raise InputError(f"{self.place}: a number is too large or too small: {err}") from err


def first_error(err: ValidationError) -> str:
    """Turn pydantic's first complaint into one line: place, what is there, what would be right."""
    first = err.errors()[0]
    place = ".".join(str(x) for x in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if not place or first["type"] == "value_error":
        return f"{place + ': ' if place else ''}{message}"
    if first["type"] == "int_parsing_size":
        message = "expected a whole number of that size in digits alone"
    if first["type"] == "missing":
        return f"{place}: {message}"
    return f"{place}: is {short(first['input'])}; {message}"
