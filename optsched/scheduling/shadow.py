"""Shadow prices: a certificate's prices on capacity, in natural units, by name of the machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from optsched.numbers.arrays import Floats
from optsched.numbers.resources import MachineClass
from optsched.scheduling.units import times_two_to

Row: TypeAlias = dict[str, Any]
"""side, slot, machines, resource, price: of one more natural unit on one machine of the class."""


class PricedSide(NamedTuple):
    """Machines of one purpose."""

    name: str
    classes: Sequence[Sequence[int]]  # the single machines of every class
    machines: Sequence[MachineClass]  # where the names are
    scale: Floats  # (R,) demand units in one natural unit


def capacity_rows(
    inst: Any, side: PricedSide, entries: Iterable[tuple[int, int, int, int]], grid_bits: int
) -> list[Row]:
    """Return a row for every price, in decreasing order (ties by slot, class and resource).

    ``entries``: slot, class, resource, price of one demand unit times 2**grid_bits.
    """
    rows = [
        {
            "side": side.name,
            "slot": slot,
            "machines": class_name(side.machines, side.classes[group]),
            "resource": inst.resources[resource],
            "price": times_two_to(float(price), -grid_bits) * float(side.scale[resource]),
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
