"""Rows of shadow prices: names, natural units, order."""

from __future__ import annotations

import pytest

from optsched.numbers.resources import MachineClass
from optsched.scheduling.shadow import capacity_rows, class_name

MACHINES = (
    MachineClass(name="small", count=2, capacity=(1.0, 4.0)),
    MachineClass(capacity=(2.0, 8.0)),
)


def test_rows_are_in_natural_units_the_dearest_first():
    rows = capacity_rows(
        [(0, 0, 0, 0.5), (1, 1, 1, 0.25), (2, 0, 1, 0.125)],
        side="machine",
        classes=[[0, 1], [2]],
        machines=MACHINES,
        resources=("gpu", "memory"),
        scale=(1.0, 8.0),
    )
    assert [(r["slot"], r["machines"], r["resource"], r["price"]) for r in rows] == [
        (1, "machine 2", "memory", 2.0),
        (2, "small", "memory", 1.0),
        (0, "small", "gpu", 0.5),
    ]


def test_a_machine_that_nobody_has_is_refused():
    with pytest.raises(ValueError, match="machine 3: expected less than 3"):
        class_name(MACHINES, [3])
