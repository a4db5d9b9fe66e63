"""The ledger counts exactly, in units that get finer as jobs become known."""

import numpy as np
import pytest

from optsched.scheduling.online.ledger import Ledger


def test_units_are_refined_and_what_was_used_is_counted_anew():
    ledger = Ledger([(3, 7.5), (1, 0.25)], horizon=2)
    demand = ledger.units((1, 2))
    assert demand.tolist() == [1, 2]
    assert ledger.free[0].tolist() == [[3, 1], [7, 0]]  # (R, H), rounded down to whole units
    ledger.take(1, 0, 2 * demand)
    assert ledger.units((1, 0.25)).tolist() == [1, 25]
    assert ledger.scale == [1, 100]
    assert ledger.used[1].tolist() == [[2, 0], [400, 0]]
    assert ledger.free[1].tolist() == [[1, 1], [350, 25]]
    assert ledger.free[0].tolist() == [[3, 1], [750, 25]]
    assert ledger.units((1, 2)).tolist() == [1, 200]


def test_tenths_fill_a_machine_to_the_brim():
    ledger = Ledger([(0.3,)], horizon=1)
    demand = ledger.units((0.1,))
    for _ in range(3):
        assert (ledger.free[0, :, 0] >= demand).all()
        ledger.take(0, 0, demand)
    assert ledger.free.sum() == 0


@pytest.mark.parametrize(("capacity", "fits"), [(0.6 - 1e-10, 6), (0.6 - 1e-8, 5)])
def test_the_common_tolerance_decides_what_fits(capacity, fits):
    ledger = Ledger([(capacity,)], horizon=1)
    assert ledger.free[0, 0, 0] // ledger.units((0.1,))[0] == 0  # whole units: none so far
    assert ledger.free[0, 0, 0] == fits
    assert np.array_equal(ledger.used, np.zeros((1, 1, 1)))
