"""Damaged files of the family: one line each."""

from __future__ import annotations

import pytest
from hostile import attack
from sweeps import sweep


@pytest.mark.slow
@pytest.mark.parametrize("kind", sweep(["result", "schedule", "instance", "run"], 2))
def test_damaged_files(call, tmp_path, kind):
    attack(call, tmp_path, "oasis", "fifo", kind)
