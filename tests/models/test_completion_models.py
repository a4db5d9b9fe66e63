"""The declarative programs (2) and (15): optima by hand and from the reference files, names."""

import pyomo.environ as pyo
import pytest
from independent.completion import FILES, load

from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionJob,
    PsType,
    WorkerType,
)
from optsched.families.completion.optimum.monolithic_mip import schedule_of
from optsched.families.completion.verify import verify
from optsched.models.completion import completion_ilp, modes_by_job
from optsched.numbers.resources import MachineClass
from optsched.solvers import solve_pyomo

QUICK = [p for p in FILES if p.stem in ("009", "018", "024", "030")]


def two_jobs(architecture="ps"):
    """One server with 2 GPUs; job 0 takes 2 slots with 2 workers, job 1 one slot with one."""
    ring = architecture == "ring"
    job = {"epochs": 1, "update_time": (0.0,), "gradient_mb": 0.0, "batch_time": (1.0,)}
    return CompletionInstance(
        architecture=architecture,
        slot_seconds=0.008,
        horizon=4,
        enforce_horizon=True,
        resources=("gpu",),
        servers=(MachineClass(capacity=(2,)),),
        worker_types=(WorkerType(demand=(1,), bandwidth=1),),
        ps_types=() if ring else (PsType(demand=(0,), bandwidth=1),),
        jobs=(
            CompletionJob(arrival=0, weight=2, chunks=2, batches_per_chunk=2, **job),
            CompletionJob(arrival=0, weight=3, chunks=1, batches_per_chunk=1, **job),
        ),
    )


@pytest.mark.parametrize("architecture", ["ps", "ring"])
def test_optimum_worked_by_hand(architecture):
    # job 1 in slot 0 and job 0 in slots 1, 2 with both GPUs: 3 * 1 + 2 * 3; the other way round
    # 2 * 2 + 3 * 3; both at once from slot 0, job 0 with one worker: 3 * 1 + 2 * 4
    inst = two_jobs(architecture)
    model = completion_ilp(inst)
    found = solve_pyomo(model)
    assert found.objective == pytest.approx(9)
    verdict = verify(inst, schedule_of(inst, model, modes_by_job(inst)))
    assert verdict.value == 9
    assert verdict.completion == (3, 1)


@pytest.mark.parametrize("path", QUICK, ids=lambda p: p.stem)
def test_optimum_of_reference_files(path):
    inst, known = load(path)
    model = completion_ilp(inst)
    assert solve_pyomo(model).objective == pytest.approx(known["optimum"])
    assert verify(inst, schedule_of(inst, model, modes_by_job(inst))).value == known["optimum"]


@pytest.mark.parametrize("architecture", ["ps", "ring"])
def test_every_component_cites_its_equation(architecture):
    model = completion_ilp(two_jobs(architecture))
    names = set()
    for c in model.component_objects((pyo.Constraint, pyo.Objective)):
        number = c.name.split("_")[0].removeprefix("eq")
        twin = {"2d": "15a", "2h": "15b"} if architecture == "ring" else {}
        assert c.doc.startswith(f"({twin.get(number, number)}) "), c.name
        names.add(number)
    assert names == {"2", "2a", "2d", "2f", "2h"} | (
        set() if architecture == "ring" else {"2e", "2i"}
    )


def test_a_horizon_that_is_too_short_is_infeasible():
    assert solve_pyomo(completion_ilp(two_jobs(), [2, 2])).status == "infeasible"
