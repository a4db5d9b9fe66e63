"""Programs that are written down in a thread, for as long as somebody wants them."""

from __future__ import annotations

import pytest
from completion_brute import tiny
from patience import LONG

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.process import clock
from optsched.scheduling.declared import READING, unless_stopped


def progress(**limits):
    return Progress(FAMILY, tiny(0), gap=0.0, **limits)


@pytest.mark.parametrize(("took", "read"), [(1.0, True), (9.0, False), (11.0, False)])
def test_a_solver_must_have_the_time_to_read_it(monkeypatch, took, read):
    now = [0.0]
    monkeypatch.setattr(clock, "now", lambda: now[0])
    monitor = progress(time_limit=10.0)

    def build():
        now[0] += took
        return "a program"

    assert 9.0 * (1 + READING) > 10.0
    assert (unless_stopped(build, monitor) == "a program") == read


def test_what_is_not_wanted_any_more_is_not_written_to_its_end():
    monitor, written = progress(time_limit=LONG), []

    def build():
        monitor.end()
        for k in range(10**9):  # more than anyone waits for
            written.append(k)
            written.clear()

    assert unless_stopped(build, monitor) is None


def test_an_error_while_it_is_written_is_raised():
    def build():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        unless_stopped(build, progress(time_limit=LONG))
