"""Attacks must not take the memory of the machine, whatever they get through."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

MOST = 3 * 2**30  # bytes beyond what the process has already; more is a MemoryError


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """Limit the memory of a test, where the system can."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
