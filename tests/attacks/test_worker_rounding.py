"""Families `oasis` and `dmlrs`: all agree where a whole number is almost reached."""

import math
from fractions import Fraction

import pytest
from forging import forged, proved_rightly, refused_or_right, second_look, solved_rightly
from independent import dmlrs, oasis

from optsched.families.dmlrs.certificate import check as dmlrs_format
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule
from optsched.families.oasis.certificate import check as oasis_format
from optsched.families.oasis.instance import OasisInstance
from optsched.numbers.resources import MachineClass
from optsched.problem import family_of

EPS = Fraction(1, 10**9)
OFF = (-2e-9, -1.001e-9, -1e-9, -0.999e-9, 0.0, 0.999e-9, 1e-9, 1.001e-9, 2e-9)
both = pytest.mark.parametrize("family", ["oasis", "dmlrs"])


def build(family, horizon, batches, batch_time, **changes):
    """Return one job that is worth 7, alone, with one worker at a time."""
    make, kind = {
        "oasis": (oasis.simple_job, OasisInstance),
        "dmlrs": (dmlrs.simple_job, DmlrsInstance),
    }[family]
    utility = {"kind": "constant", "value": 7.0}
    job = make(**{"epochs": batches, "batch_time": batch_time, "utility": utility} | changes)
    one, many = (MachineClass(capacity=(1.0,)),), (MachineClass(capacity=(float(job.chunks),)),)
    machines = {"worker_machines": many, "ps_machines": one}
    return kind(
        slot_seconds=0.008,  # so that a time to send is size / bandwidth
        horizon=horizon,
        resources=("gpu",),
        jobs=(job,),
        **(machines if family == "oasis" else {"machines": one}),
    )


def verdict(inst):
    """Judge the schedule of all workers in all slots."""
    slots, chunks = range(inst.horizon), inst.jobs[0].chunks
    job = {"workers": [(t, 0, chunks) for t in slots], "ps": [(t, 0, 1) for t in slots]}
    family = family_of(inst)
    return family.verify(inst, family.schedule.model_validate({"jobs": [job]}))


def edges(family):
    """Yield slots, batches and a batch time on either side of what is just enough."""
    for horizon in (1, 2, 7, 60, 399):
        for batches in (1, 3, 7, 101, 999):
            need = batches * (1 - EPS)
            most = horizon + EPS * horizon / (1 - EPS)  # work that is forgiven, about
            edge = float(most / batches if family == "oasis" else Fraction(horizon) / need)
            steps = [edge]
            for way in (0.0, math.inf):
                x = edge
                for _ in range(3):
                    x = math.nextafter(x, way)
                    steps.append(x)
            for tau in steps:
                work = batches * Fraction(str(tau))
                if family == "oasis":
                    enough = math.ceil(work - EPS * max(1, work)) <= horizon
                else:
                    enough = horizon / Fraction(str(tau)) >= need
                yield horizon, batches, tau, enough


def agree(inst, enough, *, solve=False):
    """Assert that judge and checker, and solvers if requested, state whether it can be done."""
    part = oasis_format if inst.family == "oasis" else dmlrs_format
    assert verdict(inst).feasible is enough, inst.jobs[0]
    truth = 7.0 if enough else 0.0
    assert proved_rightly(inst, [root(inst, part)], truth)
    if solve:
        solved_rightly(inst, truth)


def root(inst, part):
    kind = part.OasisCertificate if part is oasis_format else part.DmlrsCertificate
    return kind(instance_sha256=inst.digest(), grid_bits=40, nodes=(part.Leaf(),))


@both
def test_judge_and_checker_agree_at_the_edge(family):
    seen = set()
    for *case, enough in edges(family):
        agree(build(family, *case), enough)
        seen.add(enough)
    assert seen == {True, False}


@both
@pytest.mark.parametrize(("horizon", "batches"), [(60, 1), (7, 3), (60, 101)])
def test_solvers_agree_with_the_judge_at_the_edge(family, horizon, batches):
    for *case, enough in edges(family):
        if case[:2] == [horizon, batches]:
            solved_rightly(build(family, *case), 7.0 if enough else 0.0)


def test_a_slot_that_is_just_enough(tmp_path):
    inst = build("dmlrs", 60, 1, 60.00000006)
    assert verdict(inst).value == 7.0
    nothing = forged(inst, DmlrsSchedule(jobs=(None,)), 0.0, root(inst, dmlrs_format))
    refused_or_right(second_look(tmp_path, inst, nothing), "max", 7.0)
    solved_rightly(inst, 7.0)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_sending_times_at_the_edge(size):
    """A batch is computed in no time, and sent twice: 2 size / bandwidth slots."""
    for horizon, batches, tau, _ in edges("dmlrs"):
        if horizon > 7:
            continue
        width = float(Fraction(str(size)) * 2 / Fraction(str(tau)))
        changes = dict.fromkeys(("inner_bandwidth", "outer_bandwidth", "ps_bandwidth"), width)
        slots = 2 * Fraction(str(size)) / Fraction(str(width))
        inst = build("dmlrs", horizon, batches, 0.0, gradient_mb=size, **changes)
        agree(inst, horizon / slots >= batches * (1 - EPS))


@both
@pytest.mark.parametrize("workers", [1, 3, 7, 50])
def test_parameter_servers_at_the_edge(family, workers):
    """One PS is enough for n workers if n b / B exceeds 1 by no more than the tolerance."""
    for off in OFF:
        if family == "oasis" and workers == 1 and off > 0:
            continue  # a worker's bandwidth is at most that of a PS
        width = 8.0 * (1 + off)
        need = workers * Fraction(str(width)) / (8 * workers)  # PS for all workers
        widths = ("inner_bandwidth", "outer_bandwidth", "worker_bandwidth")
        changes = dict.fromkeys(widths[2:] if family == "oasis" else widths[:2], width)
        if family == "dmlrs":
            changes |= {"worker_demand": (0.0,), "ps_demand": (1.0,)}
        inst = build(family, 1, 1, 1.0, chunks=workers, ps_bandwidth=8.0 * workers, **changes)
        # a second PS finds no room
        agree(inst, need <= 1 + EPS * max(Fraction(1), need), solve=True)


@pytest.mark.parametrize("capacity", [1.0, 3.0, 1e6])
def test_demands_at_the_edge_of_a_machine(capacity):
    """A machine holds what exceeds it by no more than the tolerance: 1e-9, relative above 1."""
    for off in (-2e-9, -1e-9, 0.0, 1e-9, 2e-9):
        demand = round(capacity * (1 + off), 9)
        fields = build("oasis", 1, 1, 1.0, worker_demand=(demand,)).model_dump()
        fields["worker_machines"] = ({"capacity": (capacity,)},)
        fits = Fraction(str(demand)) <= Fraction(str(capacity)) * (1 + EPS)
        agree(OasisInstance.model_validate(fields), fits, solve=True)
