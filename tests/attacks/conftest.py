"""Attacks must not take the memory and the time of the machine, whatever they get through."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

MOST = 3 * 2**30  # bytes beyond what the process has already; more is a MemoryError
ENDLESS = 200  # seconds; what ends at all takes a hundredth of it


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Limit the memory and the time of a test, where the system can."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    def fail(*_: object) -> None:
        pytest.fail(f"does not end within {ENDLESS} s")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST, memory[1]))
    handler = signal.signal(signal.SIGALRM, fail)
    signal.alarm(ENDLESS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, handler)
    resource.setrlimit(resource.RLIMIT_AS, memory)
