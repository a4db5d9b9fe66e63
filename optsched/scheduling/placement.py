"""Placement of the workers and parameter servers of one job in one slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from optsched.numbers.arrays import Ints


@dataclass(frozen=True)
class Placement:
    """Numbers by machine; machines without any are left out."""

    workers: Mapping[int, int] = field(default_factory=dict)
    ps: Mapping[int, int] = field(default_factory=dict)


def by_slot(entries: Ints) -> dict[int, Placement]:
    """Return a job's placement in every slot in which it runs.

    Parameters
    ----------
    entries : shape (n, 4)
        Rows [side, slot, machine, number]; side 0 holds workers, 1 PS.
    """
    placed: dict[int, tuple[dict[int, int], dict[int, int]]] = {}
    for side, t, h, number in entries.tolist():
        placed.setdefault(t, ({}, {}))[side][h] = number
    return {t: Placement(*sides) for t, sides in placed.items()}
