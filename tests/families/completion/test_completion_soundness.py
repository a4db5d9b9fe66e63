"""Tiny instances of family `completion` in other units, against what is right."""

from __future__ import annotations

import pytest
from small_soundness import failures


@pytest.mark.slow
def test_nothing_is_wrong_in_other_units(tmp_path):
    assert failures("completion", tmp_path, 1e-9, 1e9) == []
