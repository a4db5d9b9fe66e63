"""Family `dmlrs`: judge, checker and solvers agree where a whole number is almost reached."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from forging import forged, proved_rightly, refused_or_right, second_look, solved_rightly

from optsched.families.dmlrs.certificate.format import DmlrsCertificate, Leaf
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob, DmlrsSchedule, JobSchedule
from optsched.families.dmlrs.verify import verify
from optsched.numbers.resources import MachineClass

EPS = Fraction(1, 10**9)


def build(horizon, batches, batch_time, **changes):
    """Return one job that is worth 7, alone on two machines, with one worker at a time."""
    fields = {
        "arrival": 0,
        "epochs": batches,
        "chunks": 1,
        "batches_per_chunk": 1,
        "batch_time": batch_time,
        "gradient_mb": 0.0,
        "inner_bandwidth": 1.0,
        "outer_bandwidth": 1.0,
        "ps_bandwidth": 1.0,
        "worker_demand": (1.0,),
        "ps_demand": (0.0,),
        "utility": {"kind": "constant", "value": 7.0},
    }
    return DmlrsInstance(
        slot_seconds=0.008,  # so that a time to send is size / bandwidth
        horizon=horizon,
        resources=("gpu",),
        machines=(MachineClass(capacity=(1.0,)),),
        jobs=(DmlrsJob(**(fields | changes)),),
    )


def all_slots(inst):
    entries = tuple((t, 0, inst.jobs[0].chunks) for t in range(inst.horizon))
    ps = tuple((t, 0, 1) for t in range(inst.horizon))
    return DmlrsSchedule(jobs=(JobSchedule(workers=entries, ps=ps),))


def edges():
    """Yield slots, batches and a batch time on either side of what is just enough."""
    for horizon in (1, 2, 7, 60, 399):
        for batches in (1, 3, 7, 101, 999):
            need = batches * (1 - EPS)
            edge = float(Fraction(horizon) / need)
            steps = [edge]
            for way in (0.0, math.inf):
                x = edge
                for _ in range(3):
                    x = math.nextafter(x, way)
                    steps.append(x)
            for tau in steps:
                enough = horizon / Fraction(str(tau)) >= need
                yield horizon, batches, tau, enough


def root(inst):
    return DmlrsCertificate(instance_sha256=inst.digest(), grid_bits=40, nodes=(Leaf(),))


def test_judge_and_checker_agree_at_the_edge():
    seen = set()
    for horizon, batches, tau, enough in edges():
        inst = build(horizon, batches, tau)
        verdict = verify(inst, all_slots(inst))
        assert verdict.feasible is enough, (horizon, batches, tau)
        assert proved_rightly(inst, [root(inst)], 7.0 if enough else 0.0)
        seen.add(enough)
    assert seen == {True, False}


@pytest.mark.parametrize(("horizon", "batches"), [(60, 1), (7, 3), (60, 101)])
def test_solvers_agree_with_the_judge_at_the_edge(horizon, batches):
    for case in edges():
        if case[:2] == (horizon, batches):
            inst = build(*case[:3])
            solved_rightly(inst, 7.0 if case[3] else 0.0)


def test_a_slot_that_is_just_enough(tmp_path):
    inst = build(60, 1, 60.00000006)
    assert verify(inst, all_slots(inst)).value == 7.0
    nothing = forged(inst, DmlrsSchedule(jobs=(None,)), 0.0, root(inst))
    refused_or_right(second_look(tmp_path, inst, nothing), "max", 7.0)
    solved_rightly(inst, 7.0)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_sending_times_at_the_edge(size):
    """A batch is computed in no time, and sent twice: 2 size / bandwidth slots."""
    for horizon, batches, tau, enough in edges():
        if horizon > 7:
            continue
        width = float(Fraction(str(size)) * 2 / Fraction(str(tau)))
        changes = dict.fromkeys(("inner_bandwidth", "outer_bandwidth", "ps_bandwidth"), width)
        inst = build(horizon, batches, 0.0, gradient_mb=size, **changes)
        slots = 2 * Fraction(str(size)) / Fraction(str(width))
        enough = horizon / slots >= batches * (1 - EPS)
        assert verify(inst, all_slots(inst)).feasible is enough, (horizon, batches, tau)
        assert proved_rightly(inst, [root(inst)], 7.0 if enough else 0.0)


@pytest.mark.parametrize("workers", [1, 3, 7, 50])
def test_parameter_servers_at_the_edge(workers):
    """One PS is enough for n workers if n b / B exceeds 1 by no more than the tolerance."""
    for off in (-2e-9, -1.001e-9, -1e-9, -0.999e-9, 0.0, 0.999e-9, 1e-9, 1.001e-9, 2e-9):
        width = 8.0 * (1 + off)
        need = workers * Fraction(str(width)) / (8 * workers)  # PS for all workers
        enough = need <= 1 + EPS * max(Fraction(1), need)
        inst = build(
            1,
            1,
            1.0,
            chunks=workers,
            inner_bandwidth=width,
            outer_bandwidth=width,
            ps_bandwidth=8.0 * workers,
            worker_demand=(0.0,),
            ps_demand=(1.0,),
        )
        assert verify(inst, all_slots(inst)).feasible is enough, (workers, off)
        truth = 7.0 if enough else 0.0  # a second PS finds no room
        assert proved_rightly(inst, [root(inst)], truth)
        solved_rightly(inst, truth)
