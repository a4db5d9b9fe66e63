"""Rows of shadow prices: names, natural units, order."""

from types import SimpleNamespace

import numpy as np
import pytest

from optsched.numbers.resources import MachineClass
from optsched.scheduling.shadow import PricedSide, capacity_rows, class_name

MACHINES = (
    MachineClass(name="small", count=2, capacity=(1.0, 4.0)),
    MachineClass(capacity=(2.0, 8.0)),
)


def test_rows_are_in_natural_units_the_dearest_first():
    side = PricedSide("machine", [[0, 1], [2]], MACHINES, np.array([1.0, 8.0]))
    inst = SimpleNamespace(resources=("gpu", "memory"))
    rows = capacity_rows(inst, side, [(0, 0, 0, 4), (1, 1, 1, 2), (2, 0, 1, 1)], 3)
    assert [(r["slot"], r["machines"], r["resource"], r["price"]) for r in rows] == [
        (1, "machine 2", "memory", 2.0),
        (2, "small", "memory", 1.0),
        (0, "small", "gpu", 0.5),
    ]


def test_a_machine_that_nobody_has_is_refused():
    with pytest.raises(ValueError, match="machine 3: expected less than 3"):
        class_name(MACHINES, [3])
