"""Family `completion`: what only policies may do is no optimum."""

import pytest
from forging import forged, refused_or_right, second_look, solved_rightly
from independent.completion import simple_job

from optsched import InputError, compare, solve
from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionSchedule,
    Piece,
    WorkerType,
)
from optsched.families.completion.verify import verify
from optsched.files.format import save_instance
from optsched.numbers.resources import MachineClass
from optsched.results.result import save_schedule


def build(horizon=20, *, enforce=False):
    """Return a long job, and an urgent one that comes a slot later."""
    return CompletionInstance(
        architecture="ring",
        horizon=horizon,
        enforce_horizon=enforce,
        resources=("gpu",),
        servers=(MachineClass(capacity=(1.0,)),),
        worker_types=(WorkerType(demand=(1.0,), bandwidth=10.0),),
        jobs=(simple_job(epochs=10), simple_job(arrival=1, weight=10.0, epochs=2)),
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
            found = second_look(tmp_path, inst, forged(inst, schedule, value, **CLAIMED))
            assert found is None or not found.accepted
    with pytest.raises(InputError, match="the schedule breaks the model"):
        compare(inst, ["fifo"], schedule=schedule, time_limit=0)


@pytest.mark.slow
def test_a_schedule_beyond_the_horizon_is_no_solution(tmp_path):
    inst = build(11, enforce=True)
    late = CompletionSchedule(jobs=((run(3, 10),), (run(1, 2),)))
    assert solve(inst, time_limit=60).status == "infeasible"
    claim = forged(inst, late, 43.0, **CLAIMED)
    found = second_look(tmp_path, inst, claim)
    assert found is None or not found.accepted
    refused_or_right(second_look(tmp_path, inst, forged(inst, late, 43.0)), "min", 1e9)


def test_ratio_does_not_take_a_schedule_beyond_the_horizon(tmp_path, call):
    inst = build(11, enforce=True)
    save_instance(inst, tmp_path / "i.json")
    late = CompletionSchedule(jobs=((run(3, 10),), (run(1, 2),)))
    save_schedule(tmp_path / "s.json", inst, late)
    status, _, err = call(
        "ratio", tmp_path / "i.json", "--schedule", tmp_path / "s.json", "-p", "fifo",
        "--time-limit", 5, "-o", tmp_path / "r.json",
    )  # fmt: skip
    assert status == 2
    assert "the schedule breaks the model" in err
    assert not (tmp_path / "r.json").exists()
