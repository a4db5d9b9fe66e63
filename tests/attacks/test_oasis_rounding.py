"""Family `oasis`: judge, checker and solvers agree where a whole number is almost reached."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from forging import proved_rightly, solved_rightly

from optsched.families.oasis.certificate.format import Leaf, OasisCertificate
from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisJob, OasisSchedule
from optsched.families.oasis.verify import verify
from optsched.numbers.resources import MachineClass

EPS = Fraction(1, 10**9)


def build(horizon, batches, batch_time, **changes):
    """Return one job that is worth 7, alone, with one worker at a time."""
    fields = {
        "arrival": 0,
        "epochs": batches,
        "chunks": 1,
        "batches_per_chunk": 1,
        "batch_time": batch_time,
        "gradient_mb": 0.0,
        "worker_bandwidth": 1.0,
        "ps_bandwidth": 1.0,
        "worker_demand": (1.0,),
        "ps_demand": (1.0,),
        "utility": {"kind": "constant", "value": 7.0},
    }
    job = OasisJob(**(fields | changes))
    return OasisInstance(
        slot_seconds=0.008,
        horizon=horizon,
        resources=("gpu",),
        worker_machines=(MachineClass(capacity=(float(job.chunks),)),),
        ps_machines=(MachineClass(capacity=(1.0,)),),
        jobs=(job,),
    )


def all_slots(inst):
    job = inst.jobs[0]
    workers = tuple((t, 0, job.chunks) for t in range(inst.horizon))
    ps = tuple((t, 0, 1) for t in range(inst.horizon))
    return OasisSchedule(jobs=(JobSchedule(workers=workers, ps=ps),))


def edges():
    """Yield slots, batches and a batch time on either side of what is just enough."""
    for horizon in (1, 2, 7, 60, 399):
        for batches in (1, 3, 7, 101, 999):
            most = horizon + EPS * horizon / (1 - EPS)  # work that is forgiven, about
            edge = float(most / batches)
            steps = [edge]
            for way in (0.0, math.inf):
                x = edge
                for _ in range(3):
                    x = math.nextafter(x, way)
                    steps.append(x)
            for tau in steps:
                work = batches * Fraction(str(tau))
                yield horizon, batches, tau, math.ceil(work - EPS * max(1, work)) <= horizon


def root(inst):
    return OasisCertificate(instance_sha256=inst.digest(), grid_bits=40, nodes=(Leaf(),))


def test_judge_and_checker_agree_at_the_edge():
    seen = set()
    for horizon, batches, tau, enough in edges():
        inst = build(horizon, batches, tau)
        assert verify(inst, all_slots(inst)).feasible is enough, (horizon, batches, tau)
        assert proved_rightly(inst, [root(inst)], 7.0 if enough else 0.0)
        seen.add(enough)
    assert seen == {True, False}


@pytest.mark.parametrize(("horizon", "batches"), [(60, 1), (7, 3), (60, 101)])
def test_solvers_agree_with_the_judge_at_the_edge(horizon, batches):
    for case in edges():
        if case[:2] == (horizon, batches):
            solved_rightly(build(*case[:3]), 7.0 if case[3] else 0.0)


@pytest.mark.parametrize("workers", [1, 3, 7, 50])
def test_parameter_servers_at_the_edge(workers):
    """One PS is enough for n workers if n b / B exceeds 1 by no more than the tolerance."""
    for off in (-2e-9, -1e-9, -0.999e-9, 0.0, 0.999e-9, 1e-9, 1.001e-9, 2e-9):
        width = 8.0 * (1 + off)
        if workers == 1 and off > 0:
            continue  # a worker's bandwidth is at most that of a PS
        need = workers * Fraction(str(width)) / (8 * workers)
        enough = need <= 1 + EPS * max(Fraction(1), need)
        inst = build(
            1,
            1,
            1.0,
            chunks=workers,
            worker_bandwidth=width,
            ps_bandwidth=8.0 * workers,
        )
        assert verify(inst, all_slots(inst)).feasible is enough, (workers, off)
        truth = 7.0 if enough else 0.0  # a second PS finds no room
        assert proved_rightly(inst, [root(inst)], truth)
        solved_rightly(inst, truth)


@pytest.mark.parametrize("capacity", [1.0, 3.0, 1e6])
def test_demands_at_the_edge_of_a_machine(capacity):
    """A machine holds what exceeds it by no more than the tolerance: 1e-9, relative above 1."""
    for off in (-2e-9, -1e-9, 0.0, 1e-9, 2e-9):
        demand = round(capacity * (1 + off), 9)
        fields = build(1, 1, 1.0, worker_demand=(demand,)).model_dump()
        fields["worker_machines"] = ({"capacity": (capacity,)},)
        inst = OasisInstance.model_validate(fields)
        fits = Fraction(str(demand)) <= Fraction(str(capacity)) * (1 + EPS)
        assert verify(inst, all_slots(inst)).feasible is fits, off
        assert proved_rightly(inst, [root(inst)], 7.0 if fits else 0.0)
        solved_rightly(inst, 7.0 if fits else 0.0)
