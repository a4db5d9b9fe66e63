"""Programs that are written down in a thread, for as long as somebody wants them."""

import importlib
import sys
from threading import Event

import pytest
from independent.completion import tiny
from patience import LONG

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.process import interrupts, timing
from optsched.scheduling.declared import READING, affordable, unless_stopped


def progress(**limits):
    return Progress(FAMILY, tiny(0), gap=0.0, **limits)


@pytest.mark.parametrize(("took", "read"), [(1.0, True), (9.0, False), (11.0, False)])
def test_a_solver_must_have_the_time_to_read_it(monkeypatch, took, read):
    now = [0.0]
    monkeypatch.setattr(timing, "now", lambda: now[0])
    monitor = progress(time_limit=10.0)

    def build():
        now[0] += took
        return "a program"

    assert 9.0 * (1 + READING) > 10.0
    assert (unless_stopped(build, monitor) == "a program") == read


def test_what_is_not_wanted_any_more_is_not_written_to_its_end():
    monitor, ended = progress(time_limit=LONG), Event()

    def build():
        monitor.end()
        try:
            for _ in range(10**9):  # more than anyone waits for
                interrupts.leave_if_abandoned()
        finally:
            ended.set()

    assert unless_stopped(build, monitor) is None
    assert ended.wait(LONG)


@pytest.mark.slow
def test_a_module_that_is_being_imported_is_imported_to_its_end(tmp_path, monkeypatch):
    """An exception in that thread would leave half of it, for as long as the process lives."""
    lines = ("import time", "for _ in range(100):", "    time.sleep(0.01)", "whole = True")
    (tmp_path / "slow_to_import.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    monitor, ended = progress(time_limit=LONG), Event()

    def build():
        monitor.end()
        try:
            importlib.import_module("slow_to_import")
        finally:
            ended.set()

    assert unless_stopped(build, monitor) is None
    assert ended.wait(LONG)
    assert sys.modules["slow_to_import"].whole


def test_a_program_that_takes_longer_than_is_left_is_not_begun():
    assert affordable(progress(time_limit=LONG), 1000)
    assert not affordable(progress(time_limit=1.0), 10**6)


def test_an_error_while_it_is_written_is_raised():
    def build():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        unless_stopped(build, progress(time_limit=LONG))
