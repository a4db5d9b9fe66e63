"""Shadow prices: a certificate's prices on capacity, in natural units, by name of the machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from optsched.numbers.resources import MachineClass

Row: TypeAlias = dict[str, Any]
"""side, slot, machines, resource, price: of one more natural unit on one machine of the class."""


def capacity_rows(
    entries: Iterable[tuple[int, int, int, float]],
    *,
    side: str,
    classes: Sequence[Sequence[int]],
    machines: Sequence[MachineClass],
    resources: Sequence[str],
    scale: Sequence[float],
) -> list[Row]:
    """Return a row for every price, the dearest first (ties by slot, class and resource).

    Parameters
    ----------
    entries : iterable of (slot, class, resource, price of one demand unit)
    side : str
        What the machines are for.
    classes : sequence
        The single machines of every class.
    machines : sequence of MachineClass
        Where the names are.
    resources : sequence of str
    scale : sequence of float
        Demand units in one natural unit.
    """
    rows = [
        {
            "side": side,
            "slot": slot,
            "machines": class_name(machines, classes[group]),
            "resource": resources[resource],
            "price": float(price * scale[resource]),
        }
        for slot, group, resource, price in entries
    ]
    return dearest_first(rows)


def dearest_first(rows: Iterable[Row]) -> list[Row]:
    """Return the rows by falling price; equal prices keep their order."""
    return sorted(rows, key=lambda row: -float(row["price"]))


def class_name(machines: Sequence[MachineClass], members: Sequence[int]) -> str:
    """Return the name of equal machines: that of the class that the first belongs to."""
    first = members[0]
    for c in machines:
        if first < c.count:
            return c.name or f"machine {members[0]}"
        first -= c.count
    raise ValueError(f"machine {members[0]}: expected less than {sum(c.count for c in machines)}")
