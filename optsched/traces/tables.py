"""Shared code of trace readers: one-line errors, durations, the tables of a window."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from pydantic import ValidationError

from optsched.files.format import first_error
from optsched.numbers import settings
from optsched.problem import InputError
from optsched.process import messages
from optsched.process.garbage import no_garbage
from optsched.scheduling.shapes import MACHINES
from optsched.traces.jobs import read_jobs
from optsched.traces.machines import read_machines
from optsched.traces.windows import NO_LIST, must_reach, report_scaling, sensible, take_window

Made = TypeVar("Made", bound=Any)

DEFAULTS = {
    **{"machines": None, "shapes": None, "jobs": None, "slots": 100, "slot": None},
    **{"start": "0", "load": 2.0, "min_tasks": 1, "draw_seed": 0},
}
"""Defaults of `Tables.open_scaled`."""


@dataclass(frozen=True)
class Tables:
    """Jobs, machines and shapes of tasks, as far as there are files of them."""

    jobs: pd.DataFrame
    machines: pd.DataFrame | None = None
    shapes: pd.DataFrame | None = None

    @property
    def listed(self) -> pd.DataFrame:
        """The list of machines, a usual one if there is none."""
        return MACHINES if self.machines is None else self.machines

    def open_scaled(
        self,
        chosen: dict[str, Any],
        make: Callable[..., Made],
        load_of: Callable[[Made], Mapping[str, float]],
        machines_of: Callable[[Made], int],
        *,
        requested: bool,
    ) -> Made:
        """Return the result of ``make`` for a window in slots of suitable length; log the scaling.

        Parameters
        ----------
        chosen : dict
            The options in `DEFAULTS`, but for files, and more for ``make``.
        make : callable
            (tables, slot_seconds, **options) -> instance.
        load_of, machines_of : callable
            Of an instance: the loads of which the largest is to be that of the window, and how many
            machines there are.
        requested : bool
            Whether the load was requested.
        """
        slot, seed = chosen.pop("slot"), chosen.pop("draw_seed")
        length = None if slot is None else seconds(slot)

        def made(slot_seconds: float) -> Made:
            inst = make(self, slot_seconds=slot_seconds, seed=seed, **chosen)
            must_reach(chosen["load"], load_of(inst), inst, inst.horizon)
            return inst

        settings.whole(slots=chosen["slots"], min_tasks=chosen["min_tasks"])
        some = take_window(self.jobs, chosen["jobs"], chosen["start"], chosen["min_tasks"])
        chosen["jobs"] = len(some)
        with no_garbage():
            inst = sensible(some, chosen["slots"], length, made, requested=requested)
        of = NO_LIST if self.machines is None else f"in place of {self.machines['count'].sum()}"
        report_scaling(some, inst.horizon, inst.slot_seconds, f"{machines_of(inst)} {of}")
        return inst


def read_tables(
    jobs: Path,
    machines: Path | None = None,
    shapes: Path | None = None,
    *,
    whole: bool = True,
    typed: bool = False,
) -> Tables:
    """Read a list of jobs, and what there is next to it; ``typed``: types of GPUs are modeled.

    Raises
    ------
    InputError
        A file cannot be read; ``whole``, and the machines' cores or memory are not known. The
        message names it.
    """
    listed = drawn_from = None  # short lists first: what is wrong with them shows early
    if machines is not None:
        with reading(machines):
            listed = read_machines(machines)
        if whole:
            must_be_whole(machines, listed)
    if shapes is not None:
        with reading(shapes):
            drawn_from = read_jobs(shapes)
    with reading(jobs):
        table = read_jobs(jobs)
    if not typed:
        tell_types(table["gpu_type"], {*table["gpu_type"]} - {""}, "this family has no types")
    return Tables(table, listed, drawn_from)


def tell_types(asked: pd.Series[str], lost: Collection[str], why: str) -> None:
    """State which types of GPUs that jobs requested are not distinguished."""
    if lost:
        messages.remark(
            f"{asked.isin(lost).sum()} of {len(asked)} jobs requested GPUs of type "
            f"{' or '.join(sorted(lost))}, not distinguished: such a job may run on any GPU ({why})"
        )


def must_be_whole(path: Path, machines: pd.DataFrame) -> None:
    """Refuse a list of machines without numbers of cores and amounts of memory."""
    for name, what in (("cpu", "cores"), ("memory_gb", "memory")):
        if machines[name].isna().any():
            raise InputError(
                f"{path}: {machines.attrs['format']} name no {what}, expected a list that does "
                "(family bipartite can do without)"
            )


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
    """Return the length of time that ``text`` states: 90, 90s, 15min, 1h, 2d.

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
    days = text.removesuffix("d") + "D" if text.endswith("d") else text  # as pandas writes it
    return pd.Timedelta(days).total_seconds()
