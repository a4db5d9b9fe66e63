"""Tiny instances of family `dmlrs` in other units, against what is right."""

from __future__ import annotations

from small_soundness import failures


def test_nothing_is_wrong_in_other_units(tmp_path):
    assert failures("dmlrs", tmp_path, 1e-9, 1e9) == []
