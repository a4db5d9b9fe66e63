"""What is kept of a time limit for judge and checker."""

import time

import pytest
from independent.completion import tiny
from patience import LONG

from optsched.engine.progress import Progress
from optsched.engine.reserve import STEPS, Pace, Reserve, busy
from optsched.families.completion import FAMILY
from optsched.process import timing, work_units


def progress(**limits):
    return Progress(FAMILY, tiny(0), gap=0.0, **limits)


def test_so_much_is_kept_and_no_more_than_a_share():
    reserve = Reserve(progress(time_limit=LONG), 0.5)
    assert reserve.seconds() == 0.0
    assert reserve.share() < 0.01
    reserve.work = LONG / 10
    assert reserve.seconds() == pytest.approx(LONG / 10, rel=0.5)
    reserve.work = 10 * LONG
    assert reserve.seconds() == pytest.approx(LONG / 2, rel=0.01)
    assert reserve.share() < 0.01


def test_the_time_is_over_when_only_what_is_kept_is_left():
    monitor = progress(time_limit=LONG)
    reserve = Reserve(monitor, 1.0)
    reserve.work = 2 * LONG
    assert reserve.share() == 1.0
    assert monitor.left() > 0


def test_work_takes_as_long_as_the_work_before(monkeypatch):
    """Seconds of a processor take three of the clock: so much more is kept."""
    now = [0.0, 0.0]
    monkeypatch.setattr(timing, "now", lambda: now[0])
    monkeypatch.setattr(time, "thread_time", lambda: now[1])
    reserve = Reserve(progress(time_limit=LONG), 0.5)
    reserve.work = 1.0
    for _ in range(20):
        now[0] += 3.0
        now[1] += 1.0
        kept = reserve.seconds()
    assert kept == pytest.approx(3.0, rel=0.01)
    for _ in range(20):  # and no less than it takes alone
        now[0] += 1.0
        now[1] += 1.0
        kept = reserve.seconds()
    assert kept == pytest.approx(1.0, rel=0.01)


def test_nothing_is_kept_under_effort():
    monitor = progress(units=100.0)
    reserve = Reserve(monitor, 0.5)
    reserve.work = LONG
    assert reserve.seconds() == 0.0
    work_units.spend(25.0)
    assert reserve.share() == pytest.approx(0.25)
    work_units.spend(100.0)
    assert reserve.share() == 1.0


def test_no_step_begins_that_would_not_end_in_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(timing, "now", lambda: now[0])
    pace = Pace(progress(time_limit=11.0))
    for took, short in ((3.0, False), (0.1, False), (3.8, False), (0.4, True)):
        now[0] += took
        assert pace.short() == short  # 8, 7.9, 4.1 and 3.7 are left after them
    assert not Pace(progress(time_limit=10.0)).short()
    for _ in range(STEPS):  # long steps are forgotten
        now[0] += 0.1
        quick = pace.short()
    assert not quick
    assert pace.short(kept=2.85)  # of 2.9


def test_a_thread_is_busy_while_it_works():
    began = busy()
    while busy() == began:
        sum(range(1000))
    assert busy() > began
