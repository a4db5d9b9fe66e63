"""Helpers beside this file can be imported; Hypothesis draws the same examples every time."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from optsched.cli import main
from optsched.problem import families

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group the tests of a family: of several processes, only one compiles its kernels."""
    for item in items if config.pluginmanager.hasplugin("xdist") else ():
        for family in families():
            if family in item.nodeid:
                item.add_marker(pytest.mark.xdist_group(family))
                break


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Let SIGINT interrupt, also where the tests run in the background and it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command here; return its exit status, stdout and stderr."""

    def run(*args: object) -> tuple[int, str, str]:
        status: int | str | None = 0
        try:
            main([str(a) for a in args])
        except SystemExit as left:
            status = left.code or 0
        said = capsys.readouterr()
        assert isinstance(status, int)
        return status, said.out, said.err

    return run
