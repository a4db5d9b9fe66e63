"""Family `completion`: durations where a whole number of slots is almost reached."""

import math
from fractions import Fraction

import pytest
from forging import proved_rightly, solved_rightly
from independent.completion import simple_job

from optsched.families.completion.certificate.check import CompletionCertificate, Leaf
from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionSchedule,
    Piece,
    PsType,
    WorkerType,
)
from optsched.families.completion.verify import verify
from optsched.numbers.resources import MachineClass

EPS = Fraction(1, 10**9)
OFF = (-2e-9, -1.001e-9, -1e-9, -0.999e-9, 0.0, 0.999e-9, 1e-9, 1.001e-9, 2e-9, 1e-8, 1.1e-8)


def build(batch_time, update=0.0, *, batches=1, gradient=0.0, width=1.0, ring=True, chunks=1):
    return CompletionInstance(
        architecture="ring" if ring else "ps",
        slot_seconds=0.008,
        horizon=10,
        resources=("gpu",),
        servers=(MachineClass(capacity=(float(chunks),)), MachineClass(capacity=(0.0,))),
        worker_types=(WorkerType(demand=(1.0,), bandwidth=width),),
        ps_types=() if ring else (PsType(demand=(0.0,), bandwidth=100.0),),
        jobs=(
            simple_job(
                epochs=batches,
                chunks=chunks,
                batch_time=(batch_time,),
                update_time=(update,),
                gradient_mb=gradient,
            ),
        ),
    )


def slots_needed(work):
    return max(1, math.ceil(work - EPS * max(Fraction(1), work)))


def agree(inst, expected, *, together=True):
    """Assert that the table, the judge, the checker and `duration` agree."""
    job, n = inst.jobs[0], inst.jobs[0].chunks
    assert inst.duration(job, 0, 0, together, n) == expected
    assert inst.durations(job)[0, 0, int(together), n - 1] == expected

    def plan(duration):
        ps = () if inst.ring else ((0 if together else 1, 1),)
        piece = Piece(
            start=0,
            duration=duration,
            worker_type=0,
            ps_type=None if inst.ring else 0,
            workers=((0, n),),
            ps=ps,
        )
        return CompletionSchedule(jobs=((piece,),))

    assert verify(inst, plan(expected)).value == expected
    assert expected == 1 or not verify(inst, plan(expected - 1)).feasible
    proof = CompletionCertificate(
        instance_sha256=inst.digest(), grid_bits=20, prices=((),), nodes=(Leaf(prices=0),)
    )
    assert proved_rightly(inst, [proof], expected)


@pytest.mark.parametrize("slots", [1, 2, 7, 1000, 10**6, 10**9])
@pytest.mark.parametrize("batches", [1, 3, 97])
def test_batch_times_at_the_edge(slots, batches):
    for off in OFF:
        tau = slots * (1 + off) / batches
        agree(build(tau, batches=batches), slots_needed(batches * Fraction(str(tau))))


@pytest.mark.parametrize("slots", [2, 7, 10**6])
@pytest.mark.parametrize("ring", [True, False])
def test_update_times_at_the_edge(slots, ring):
    """An update is not for one worker alone in a ring, so two workers share it."""
    for off in OFF:
        chunks = 2 if ring else 1
        update = slots * (1 + off)
        inst = build(0.5, update, ring=ring, chunks=chunks, batches=1)
        share = Fraction(1, 2) if ring else Fraction(1)
        each = Fraction(1, 2) + Fraction(str(update)) * share
        agree(inst, slots_needed(each * inst.jobs[0].batches / chunks))


@pytest.mark.parametrize("slots", [2, 7, 10**6])
def test_sending_times_at_the_edge(slots):
    """The PS is on the other server: gradients are sent twice."""
    for off in OFF:
        size = slots * (1 + off) * 3 / 2
        inst = build(1e-12, gradient=size, width=3.0, ring=False)
        work = Fraction("1e-12") + 2 * Fraction(str(size)) / 3
        agree(inst, slots_needed(work), together=False)


@pytest.mark.parametrize("off", OFF)
def test_solvers_agree_at_the_edge(off):
    tau = 7 * (1 + off)
    solved_rightly(build(tau), float(slots_needed(Fraction(str(tau)))))
