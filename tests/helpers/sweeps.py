"""Long rows of random instances: the first of them in every run, all of them in `.ci/run`."""

from collections.abc import Iterable
from typing import Any

import pytest


def sweep(values: Iterable[Any], quick: int) -> list[Any]:
    """Return parameters of a test, all but the first ``quick`` marked as exhaustive.

    A tuple is one value for each of several names.
    """
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [
        pytest.param(*row, marks=[pytest.mark.exhaustive] if k >= quick else [])
        for k, row in enumerate(rows)
    ]
