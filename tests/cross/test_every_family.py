"""Every family: damaged files take one line each, and nothing is wrong in other units."""

from __future__ import annotations

import pytest
from hostile import attack
from small_soundness import failures
from sweeps import sweep

pytestmark = pytest.mark.slow

POLICIES = {
    "bipartite": "fairness", "bot": "naive", "completion": "fifo", "dmlrs": "fifo", "oasis": "fifo",
}  # fmt: skip
UNITS = {name: (1e-3, 100.0, 1e3) if name == "bipartite" else (1e-9, 1e9) for name in POLICIES}


@pytest.mark.parametrize("family", POLICIES)
@pytest.mark.parametrize("kind", sweep(["result", "schedule", "instance", "run"], 2))
def test_damaged_files(call, tmp_path, family, kind):
    attack(call, tmp_path, family, POLICIES[family], kind)


@pytest.mark.parametrize("family", UNITS)
def test_nothing_is_wrong_in_other_units(tmp_path, family):
    """Tiny instances, against what is right."""
    assert failures(family, tmp_path, *UNITS[family]) == []
