"""Long rows of random instances: the first of them in every run, all of them in `.ci/run`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sweep(values: Iterable[Any], quick: int) -> list[Any]:
    """Return parameters of a test, all but the first ``quick`` marked as exhaustive."""
    return [
        value if k < quick else pytest.param(value, marks=pytest.mark.exhaustive)
        for k, value in enumerate(values)
    ]
