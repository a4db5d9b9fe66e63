"""Files: one envelope for everything, written whole or not at all.

    {"format": 1, "kind": "instance", "family": "oasis", "instance_sha256": "...", ...}

Numbers that are not finite are strings ("inf"). A result carries its instance, so that it can be
checked alone.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from optsched.problem import InputError, Instance, get_family

FORMAT = 1
LARGEST = 1 << 30  # bytes of a file that is read


def write_whole(path: Path, text: str | bytes) -> None:
    """Write a file so that it appears complete or not at all."""
    data = text.encode() if isinstance(text, str) else text
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as err:
        raise InputError(f"{path}: cannot be written: {err.strerror or err}") from err
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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
    envelope = {"format": FORMAT, "kind": kind, "family": family, **plain(content)}
    write_whole(path, json.dumps(envelope, allow_nan=False) + "\n")


def read_json(path: Path, *kinds: str) -> dict[str, Any]:
    """Read an envelope of one of ``kinds``.

    Raises
    ------
    InputError
        The file cannot be read, is no JSON, or holds something else.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path}: {path.stat().st_size} bytes, expected at most {LARGEST}")
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except InputError:
        raise
    except OSError as err:
        raise InputError(f"{path}: cannot be read: {err.strerror or err}") from err
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
    if content.get("format") != FORMAT:
        raise InputError(f'{path}: "format" is {content.get("format")!r}, expected {FORMAT}')
    if content["kind"] not in kinds:
        raise InputError(
            f"{path}: holds {content['kind']!r}, expected {' or '.join(map(repr, kinds))}"
        )
    return content


def _no_constant(name: str) -> float:
    raise ValueError(
        f"{name} is no number of JSON, expected a finite number, "
        'or the string "inf" where it is allowed'
    )


def save_instance(instance: Instance, path: Path | str) -> None:
    """Write ``instance`` to ``path``."""
    content = {"instance_sha256": instance.digest(), "instance": instance.model_dump(mode="json")}
    write_json(Path(path), "instance", instance.family, content)


def load_instance(path: Path | str) -> Instance:
    """Read the instance of an instance file, a run or a result.

    Raises
    ------
    InputError
        The file is malformed; the message names file, field, value and what would be right.
    """
    path = Path(path)
    return instance_of(read_json(path, "instance", "run", "result"), path)


def instance_of(content: Mapping[str, Any], path: Path) -> Instance:
    """Return the instance inside an envelope, checked against its own digest."""
    try:
        family = get_family(str(content.get("family")))
    except InputError as err:
        raise InputError(f"{path}: {err}") from err
    if "instance" not in content:
        raise InputError(f'{path}: lacks "instance"')
    try:
        instance = family.instance.model_validate(content["instance"])
    except ValidationError as err:
        raise InputError(f"{path}: {first_error(err)}") from err
    digest = content.get("instance_sha256")
    if digest is not None and digest != instance.digest():
        raise InputError(
            f"{path}: instance_sha256 does not belong to this instance, "
            f"expected {instance.digest()}"
        )
    return instance


def first_error(err: ValidationError) -> str:
    """Turn pydantic's first complaint into one line: place, what is there, what would be right."""
    first = err.errors()[0]
    place = ".".join(str(x) for x in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if not place or first["type"] == "value_error":
        return f"{place + ': ' if place else ''}{message}"
    value = repr(first["input"])
    shown = value if len(value) <= 60 else value[:57] + "..."
    return (
        f"{place}: {message}" if first["type"] == "missing" else f"{place}: is {shown}; {message}"
    )
