"""A small part of benchmarks/soundness.py, for tests."""

from __future__ import annotations

from pathlib import Path

import soundness

TEN = ["--seeds", "10", "--processes", "1"]


def failures(family: str, folder: Path, *scales: float) -> list[str]:
    """Return what is wrong with ten instances of a family, and fewer in its other units."""
    asked = ["--families", family, "--scales", *map(str, scales), "--results", str(folder)]
    content = soundness.main([*TEN, *asked])
    assert content["complete"]
    assert sum(row["solves"] for row in content["rows"]) >= 40
    return [
        f"{row['axis']} x {row['scale']:g}: {what}"
        for row in content["rows"]
        for what in row["failures"]
        if what.split(":")[0] in soundness.COUNTS
    ]
