"""The testbed of the paper: its instances, a cell of every kind, verdicts by hand."""

import pytest
from verdicts import worst

from optsched.families.oasis.instance import most_workers
from optsched.papers import oasis
from optsched.papers.oasis import ESTIMATED, SCHEMES
from optsched.papers.reproduce import experiment
from optsched.papers.verdict import Support


def test_jobs_of_the_testbed_run_for_40_minutes_to_2_hours_on_half_of_their_chunks():
    inst = oasis.testbed(0)
    assert inst == oasis.testbed(0) != oasis.testbed(1)
    assert (len(inst.jobs), inst.horizon, inst.slot_seconds) == (12, 10, 1200)
    assert (len(inst.worker_capacity), len(inst.ps_capacity)) == (7, 2)
    for job, work in zip(inst.jobs, inst.work, strict=True):
        half = -(-job.chunks // 2)
        assert 2 * half <= work <= 6 * half + 1
        assert 1 <= most_workers(inst, job) <= job.chunks
        assert job.arrival < 9


@pytest.mark.parametrize("scheme", [ESTIMATED, "fifo"])
def test_a_cell(monkeypatch, scheme):
    monkeypatch.setattr("optsched.papers.oasis.PAST", range(1000, 1001))
    row = oasis.run8({"seed": 0, "scheme": scheme}, 0.0)
    assert row["value"] >= 0
    assert len(row["late"]) <= oasis.TESTBED_JOBS


@pytest.mark.parametrize(
    ("value", "late", "verdict"),
    [
        (20.0, 0.5, Support.HOLDS),
        (9.0, 0.5, Support.FAILS),
        (20.0, 5.0, Support.FAILS),
        (20.0, None, Support.UNKNOWN),  # nothing is completed
    ],
)
def test_verdicts(value, late, verdict):
    def row(scheme, seed):
        mine = scheme == ESTIMATED
        lateness = late if mine else 3.0
        return {
            "seed": seed,
            "scheme": scheme,
            "value": (value if mine else 10.0) + seed / 10,
            "late": [] if lateness is None else [lateness + seed / 10 * mine],
        }

    rows = [row(scheme, seed) for seed in range(3) for scheme in SCHEMES]
    assert worst(experiment("oasis-fig8").judge(rows)) is verdict
    assert len(experiment("oasis-fig8").picture(rows).axes) == 2
