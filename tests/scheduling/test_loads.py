"""What jobs request over time."""

import numpy as np
import pytest

from optsched.scheduling.jobs import LoadProfile


def test_loads_of_tenths_are_never_negative():
    draw = np.random.default_rng(0)
    for _ in range(300):
        n = int(draw.integers(5, 60))
        demand = LoadProfile(
            "bandwidth",
            draw.integers(0, 8, n).tolist(),
            draw.uniform(0.1, 3, n).tolist(),
            np.round(draw.uniform(0.1, 9, n), 1).tolist(),
            7.3,
        )
        loads = demand.between(np.linspace(0, 100, 11))
        assert loads.min() >= 0
        total = np.dot(demand.slots, demand.amount) / 7.3
        assert loads.sum() * 10 == pytest.approx(total, rel=1e-12)
