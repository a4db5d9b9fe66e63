"""The judge: known answers in both readings, and every kind of damage."""

import re

import pytest
from independent.dmlrs import FILES, load, schedule

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob, DmlrsSchedule, JobSchedule
from optsched.families.dmlrs.verify import verify
from optsched.numbers.resources import MachineClass
from optsched.numbers.utility import Inverse


@pytest.mark.parametrize("locality", ["job", "link"])
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_known_schedules_and_mutants(file, locality):
    inst, reference = load(file, locality)
    known = reference[f"optimum_{locality}"]
    verdict = verify(inst, schedule(known["schedule"]))
    assert verdict.value == pytest.approx(known["value"], rel=1e-7)
    assert list(verdict.completion) == known["completion"]
    for mutant in known["mutants"]["accepted"]:
        verdict = verify(inst, schedule(mutant["schedule"]))
        assert verdict.value == pytest.approx(mutant["value"], rel=1e-7), verdict
    for mutant in known["mutants"]["rejected"]:
        try:
            damaged = schedule(mutant["schedule"])
        except ValueError:  # a slot below 0 is no schedule at all
            assert "entry" in mutant["reason"]
            continue
        verdict = verify(inst, damaged)
        assert verdict.value is None, mutant["reason"]
        equation = re.search(r"\((3\.\d)\)", mutant["reason"])
        if equation:
            assert equation[1] in [v.equation for v in verdict.violations], mutant["reason"]


def make(locality="job", **changes):
    """Two machines of 4 GPUs; a job of 8 mini-batches, 1 slot each inside and 2 outside."""
    job = {
        "arrival": 1,
        "epochs": 1,
        "chunks": 4,
        "batches_per_chunk": 2,
        "batch_time": 0.5,
        "gradient_mb": 0.5,
        "inner_bandwidth": 2.0,
        "outer_bandwidth": 0.6666666666666666,
        "ps_bandwidth": 4.0,
        "worker_demand": (1.0,),
        "ps_demand": (1.0,),
        "utility": Inverse(scale=12.0),
        **changes,
    }
    return DmlrsInstance(
        slot_seconds=0.008,
        horizon=6,
        resources=("gpu",),
        machines=(MachineClass(count=2, capacity=(4.0,)),),
        locality=locality,
        jobs=(DmlrsJob(**job),),
    )


def plan(workers, ps):
    return DmlrsSchedule(jobs=(JobSchedule(workers=tuple(workers), ps=tuple(ps)),))


INSIDE = ([(t, 0, 2) for t in (1, 2, 3, 4)], [(t, 0, 1) for t in (1, 2, 3, 4)])


def test_worked_by_hand():
    # two workers and their PS on one machine train 2 mini-batches a slot: 8 in slots 1 to 4
    verdict = verify(make(), plan(*INSIDE))
    assert verdict.value == pytest.approx(12 / 4)
    assert verdict.completion == (4,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w, s: (w[:-1], s[:-1]), r"\(3\.1\) broken by 2 at job 0: 6 of 8 mini-batches"),
        (
            lambda w, s: ([(1, 1, 5), *w], [(1, 1, 3), *s]),
            r"\(3\.2\) .* slot 1: 7 workers",
        ),
        (
            lambda w, s: ([(1, 0, 2), *w], [(1, 0, 1), *s]),
            r"\(3\.3\) broken by 2 at machine 0",
        ),
        (lambda w, s: (w, s[1:]), r"\(3\.4\) .* slot 1: 2 workers without a parameter server"),
        (lambda w, s: ([(1, 0, 1), *w], s), r"\(3\.4\) .* 1 parameter servers for a flow of 6"),
        (lambda w, s: (w, [(1, 1, 2), *s]), r"\(3\.5\) .* slot 1: 3 parameter servers for 2"),
        (lambda w, s: (w, [(5, 0, 1), *s]), r"\(3\.5\) .* slot 5: 1 parameter servers for 0"),
        (lambda w, s: ([(0, 0, 1), *w], [(0, 0, 1), *s]), r"\(3\.7\) .* before its arrival 1"),
        (lambda w, s: ([(6, 0, 1), *w], s), r"\(3\.3\) .* slot 6 of 6, machine 0 of 2 does not"),
        # the PS on the other machine: outer, and too slow
        (lambda w, s: (w, [(t, 1, n) for t, _, n in s]), r"\(3\.1\) broken by 4 .*: 4 of 8 mini"),
        # a stray PS on the other machine makes everybody outer
        (lambda w, s: (w, [(1, 1, 1), *s]), r"\(3\.1\) broken by 1 at job 0: 7 of 8 mini-batches"),
    ],
)
def test_every_kind_of_damage_is_named(change, message):
    verdict = verify(make(), plan(*change(*INSIDE)))
    assert verdict.value is None
    assert re.search(message, str(verdict)), str(verdict)


def test_the_readings_differ_where_one_machine_has_all_servers():
    # workers on both machines, all PS on machine 0: per link, those next to it run at the inner
    # rate
    split = [(t, h, 1) for t in (1, 2, 3, 4, 5) for h in (0, 1)], [(t, 0, 1) for t in range(1, 6)]
    per_job, per_link = (verify(make(x), plan(*split)) for x in ("job", "link"))
    assert "5 of 8 mini-batches" in str(per_job)
    assert "7.5 of 8 mini-batches" in str(per_link)


def test_links_to_two_machines_with_servers_count_twice():
    both = ([(1, 0, 3)], [(1, 0, 1), (1, 1, 1)])
    assert "for a flow of 8 Gbit/s" not in str(verify(make("link"), plan(*both)))
    four = ([(1, 0, 3)], [(1, 0, 1), (1, 1, 1)])
    crowded = make("link", ps_bandwidth=3.0)
    assert "for a flow of 8 Gbit/s" in str(verify(crowded, plan(*four)))


def test_unfinished_jobs_earn_nothing():
    part = plan(INSIDE[0][:2], INSIDE[1][:2])
    assert verify(make(), part, unfinished=True).value == 0.0
    assert verify(make(), DmlrsSchedule(jobs=()), unfinished=True).value is None
