"""Damaged files of the family: one line each."""

from __future__ import annotations

import pytest
from hostile import attack


@pytest.mark.parametrize("kind", ["instance", "schedule", "run", "result"])
def test_damaged_files(call, tmp_path, kind):
    attack(call, tmp_path, "bipartite", "fairness", kind)
