"""INPUT of the command line: an instance file, or a trace with the options of `optsched trace`."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pandas as pd
from pydantic import ValidationError

from optsched.files import first_error, load_instance
from optsched.problem import InputError, Instance, get_family
from optsched.traces import read_jobs, read_machines

SAMPLE = "sample"  # this word, instead of a file, is the trace that comes with the package


@dataclass(frozen=True)
class Window:
    """How a window of a trace becomes an instance."""

    family: str = "oasis"
    machines: Path | None = None
    jobs: int = 100
    slots: int = 100
    slot: str = "1h"
    start: str = "0"
    load: float = 2.0
    min_tasks: int = 1
    shapes: Path | None = None
    draw_seed: int = 0


def open_input(source: Path, window: Window) -> Instance:
    """Return the instance in the file ``source``, or made of the trace ``source``.

    Raises
    ------
    InputError
        The file is malformed; one line says where, what is there and what would be right.
    """
    if source.name.endswith(".json"):
        return load_instance(source)
    return from_trace(source, window)


def from_trace(source: Path, window: Window) -> Instance:
    """Return an instance made of a window of the trace ``source``."""
    family = get_family(window.family)
    machines = window.machines
    if str(source) == SAMPLE and not source.exists():
        source, machines = _sample("jobs.csv"), machines or _sample("machines.csv")
    with reading(source):
        jobs = read_jobs(source)
    listed = shapes = None
    if machines is not None:
        with reading(machines):
            listed = read_machines(machines)
    if window.shapes is not None:
        with reading(window.shapes):
            shapes = read_jobs(window.shapes)
    with reading(source):
        return family.from_trace(
            jobs,
            listed,
            jobs=window.jobs,
            slots=window.slots,
            slot_seconds=seconds(window.slot),
            start=window.start,
            load=window.load,
            seed=window.draw_seed,
            min_tasks=window.min_tasks,
            shapes=shapes,
        )


def _sample(name: str) -> Path:
    folder = Path(str(files("optsched") / "samples"))
    found = sorted(folder.glob(f"{name}*"))
    if not found:
        raise InputError(f"{folder}: the sample {name} is missing, expected it in the package")
    return found[0]


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever reading ``path`` may raise into one line."""
    try:
        yield
    except InputError:
        raise
    except ValidationError as err:
        raise InputError(f"{path}: {first_error(err)}") from err
    except (OSError, EOFError, zlib.error) as err:
        why = getattr(err, "strerror", None) or err
        raise InputError(f"{path}: cannot be read: {why}") from err
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as err:
        raise InputError(f"{path}: is no table: {err}") from err


def seconds(text: str) -> float:
    """Return the length of time that ``text`` says: 90, 90s, 15min, 1h, 2d.

    >>> seconds("1h"), seconds("90")
    (3600.0, 90.0)
    """
    try:
        length = float(text) if text.replace(".", "", 1).isdigit() else _timedelta(text)
    except ValueError as err:
        raise InputError(f"slot {text!r}: {err}, expected a length like 90s, 15min or 1h") from err
    if not length > 0:
        raise InputError(f"slot {text!r}: is no length, expected more than 0 s")
    return length


def _timedelta(text: str) -> float:
    return pd.Timedelta(text).total_seconds()
