"""Family `completion`: what only policies may do is no optimum."""

from __future__ import annotations

import json

import pytest
from forging import forged, look, refused_or_right, second_look, solved_rightly

from optsched import solve
from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionJob,
    CompletionSchedule,
    Piece,
    WorkerType,
)
from optsched.families.completion.verify import verify
from optsched.files.envelope import save_instance
from optsched.numbers.resources import MachineClass
from optsched.results.result import save_schedule


def job(arrival, weight, slots):
    return CompletionJob(
        arrival=arrival,
        weight=weight,
        epochs=slots,
        chunks=1,
        batches_per_chunk=1,
        batch_time=(1.0,),
        update_time=(0.0,),
        gradient_mb=0.0,
    )


def build(horizon=20, *, enforce=False):
    """Return a long job, and an urgent one that comes a slot later."""
    return CompletionInstance(
        architecture="ring",
        horizon=horizon,
        enforce_horizon=enforce,
        resources=("gpu",),
        servers=(MachineClass(capacity=(1.0,)),),
        worker_types=(WorkerType(demand=(1.0,), bandwidth=10.0),),
        jobs=(job(0, 1.0, 10), job(1, 10.0, 2)),
    )


BEST = 30.0 + 13.0  # the urgent one in slots 1 and 2, the long one after it


def run(start, slots):
    return Piece(start=start, duration=slots, worker_type=0, ps_type=None, workers=((0, 1),), ps=())


CLAIMED = {"status": "feasible", "bound_level": None, "certified_bound": None}
PREEMPTED = {
    "resumed": ((run(0, 1), run(3, 9)), (run(1, 2),)),
    "cut where nothing else runs": ((run(3, 5), run(8, 5)), (run(1, 2),)),
    "a slot too few in all": ((run(0, 1), run(3, 8)), (run(1, 2),)),
    "twice at once": ((run(3, 5), run(3, 5)), (run(1, 2),)),
    "never": ((), (run(0, 2),)),
    "before it arrives": ((run(2, 10),), (run(0, 2),)),
}


def test_the_optimum_is_known():
    inst = build()
    assert verify(inst, CompletionSchedule(jobs=((run(3, 10),), (run(1, 2),)))).value == BEST
    solved_rightly(inst, BEST)


@pytest.mark.parametrize("what", PREEMPTED)
def test_a_schedule_of_several_pieces_is_no_optimum(what, tmp_path):
    inst = build()
    schedule = CompletionSchedule(jobs=PREEMPTED[what])
    assert verify(inst, schedule).value is None
    free = verify(inst, schedule, unfinished=True).value
    for value in (free, 42.0):
        if value is not None:
            claim = forged(
                inst, schedule, value, status="feasible", bound_level=None, certified_bound=None
            )
            found = second_look(tmp_path, inst, claim)
            assert found is None or not found.accepted


@pytest.mark.slow
def test_a_schedule_beyond_the_horizon_is_no_solution(tmp_path):
    inst = build(11, enforce=True)
    late = CompletionSchedule(jobs=((run(3, 10),), (run(1, 2),)))
    assert solve(inst, time_limit=60).status == "infeasible"
    claim = forged(inst, late, 43.0, **CLAIMED)
    found = second_look(tmp_path, inst, claim)
    assert found is None or not found.accepted
    refused_or_right(second_look(tmp_path, inst, forged(inst, late, 43.0)), "min", 1e9)


@pytest.mark.parametrize("limit", [0, 10])
@pytest.mark.parametrize("what", ["resumed", "before it arrives"])
def test_ratio_does_not_take_it_as_an_optimum(what, limit, tmp_path, call):
    inst = build()
    save_instance(inst, tmp_path / "i.json")
    save_schedule(tmp_path / "s.json", inst, CompletionSchedule(jobs=PREEMPTED[what]))
    status, out, _ = call(
        "ratio", tmp_path / "i.json", "--schedule", tmp_path / "s.json", "-p", "fifo",
        "--time-limit", limit, "-o", tmp_path / "r.json",
    )  # fmt: skip
    if status == 0:
        assert json.loads((tmp_path / "r.json").read_text())["optimum"]["value"] in (None, BEST), (
            out
        )
        refused_or_right(look(tmp_path / "r.json"), "min", BEST)


def test_ratio_does_not_take_a_schedule_beyond_the_horizon(tmp_path, call):
    inst = build(11, enforce=True)
    save_instance(inst, tmp_path / "i.json")
    late = CompletionSchedule(jobs=((run(3, 10),), (run(1, 2),)))
    save_schedule(tmp_path / "s.json", inst, late)
    status, out, _ = call(
        "ratio", tmp_path / "i.json", "--schedule", tmp_path / "s.json", "-p", "fifo",
        "--time-limit", 5, "-o", tmp_path / "r.json",
    )  # fmt: skip
    if status == 0:
        assert json.loads((tmp_path / "r.json").read_text())["optimum"]["value"] is None, out
