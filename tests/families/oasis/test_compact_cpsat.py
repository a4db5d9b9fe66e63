"""Two ways to the optimum that share nothing find the same, and what the reference found."""

import pytest
from independent.oasis import FILES, load

from optsched.engine.progress import Progress
from optsched.families.oasis import FAMILY
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.cpsat import cpsat
from optsched.families.oasis.optimum.monolithic_mip import compact, schedule_of
from optsched.families.oasis.verify import verify
from optsched.models.oasis import oasis_ilp
from optsched.problem import Implementation
from optsched.solvers import solve_pyomo

METHODS = {Implementation.HIGHS: compact, Implementation.CP_SAT: cpsat}


def run(method, inst, **limits):
    progress = Progress(FAMILY, inst, **{"time_limit": 60.0, "gap": 1e-6} | limits)
    method(inst, progress, threads=1, seed=0)
    return progress


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_both_prove_the_optimum(path):
    inst, reference = load(path)
    for solver, method in METHODS.items():
        found = run(method, inst)
        assert found.value == pytest.approx(reference["optimum"], rel=1e-7), solver
        ((name, bound),) = found.claimed
        assert name == solver
        assert bound == pytest.approx(reference["optimum"], rel=1e-7), solver
        assert bound >= found.value * (1 - 1e-12), solver


def test_another_solver_of_pyomo_agrees():
    inst, reference = load(FILES[0])
    model = oasis_ilp(inst)
    assert solve_pyomo(model, "appsi_highs").objective == pytest.approx(reference["optimum"])
    found = verify(inst, schedule_of(inst, model))
    assert found.value == pytest.approx(reference["optimum"])


@pytest.mark.parametrize("method", METHODS.values())
def test_no_time_leaves_no_wrong_bound(method):
    inst, reference = load(FILES[7])
    found = run(method, inst, time_limit=0.0)
    assert all(bound >= reference["optimum"] for _, bound in found.claimed)


@pytest.mark.parametrize("method", METHODS.values())
def test_history_never_gets_worse(method):
    inst, _ = load(FILES[7])
    values = [point.value for point in run(method, inst).history]
    assert values
    assert values == sorted(values)


@pytest.mark.parametrize("method", METHODS.values())
def test_without_jobs_nothing_is_earned(method):
    inst, _ = load(FILES[0])
    found = run(method, OasisInstance(**inst.model_dump() | {"jobs": ()}))
    assert found.value == 0
    assert [bound for _, bound in found.claimed] == [0]


def test_schedule_ends_when_the_work_is_done():
    """Surplus slots in the solution are cut off: the job then completes, and earns, earlier."""
    inst, reference = load(FILES[0])
    m = oasis_ilp(inst)
    i = 4  # needs 3 worker-slots and has at most one worker
    assert (inst.work[i], inst.jobs[i].chunks, inst.jobs[i].arrival) == (3, 1, 0)
    m.v[i, 5].set_value(1)
    for t in range(6):
        m.y[i, 1, t].set_value(1)
        m.z[i, 0, t].set_value(1)
    assert reference["optimum_schedule"][i]["workers"] == [[t, 1, 1] for t in range(3)]
    assert schedule_of(inst, m).jobs[i].workers == tuple((t, 1, 1) for t in range(3))
    verdict = verify(inst, schedule_of(inst, m))
    assert verdict.feasible
    assert verdict.completion[i] == 2
