"""The compact program: by hand, by equation, by damage, and as a file."""

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from independent.oasis import FILES, load, simple_job

from optsched.families.oasis.instance import OasisInstance
from optsched.models.oasis import bandwidths, measured, oasis_ilp
from optsched.numbers.resources import MachineClass
from optsched.solvers import highs, solve_pyomo

CONSTRAINTS = (pyo.Constraint, pyo.Objective)


def job(**changes):
    """Return a job of two worker-slots; one worker takes one GPU and one PS one CPU."""
    demands = {"worker_demand": (1.0, 0.0), "ps_demand": (0.0, 1.0), "ps_bandwidth": 2.0}
    utility = {"kind": "inverse", "scale": 10.0}
    return simple_job(**{"chunks": 2, "utility": utility} | demands | changes)


def instance(*jobs, gpu=2.0, cpu=1.0, horizon=3):
    """Return one worker machine and one PS machine with ``jobs``."""
    return OasisInstance(
        horizon=horizon,
        resources=("gpu", "cpu"),
        worker_machines=(MachineClass(capacity=(gpu, 0.0)),),
        ps_machines=(MachineClass(capacity=(0.0, cpu)),),
        jobs=jobs,
    )


@pytest.fixture
def tiny():
    """Job 0 fills slot 0; job 1 arrives in slot 1 and needs two slots of its only worker."""
    late = job(arrival=1, chunks=1, epochs=2, utility={"kind": "inverse", "scale": 6.0})
    return instance(job(), late)


def optimum(model):
    outcome = solve_pyomo(model)
    assert outcome.status == "optimal"
    return outcome.objective


def test_optimum_worked_by_hand(tiny):
    # job 0 ends in slot 0: 10 / 1; job 1 ends in slot 2, one after its arrival: 6 / 2
    m = oasis_ilp(tiny)
    assert optimum(m) == pytest.approx(13)
    assert m.v[0, 0].value == m.v[1, 2].value == 1
    assert m.y[0, 0, 0].value == 2


def test_every_component_cites_its_equation(tiny):
    m = oasis_ilp(tiny)
    names = [c.name for c in m.component_objects(CONSTRAINTS)]
    assert [n.split("_")[0] for n in names] == [
        "eq1",
        "eq2",
        "eq4",
        "eq5",
        "eq6",
        "eq7",
        "eq8",
        "eq11",
    ]
    for c in m.component_objects(CONSTRAINTS):
        assert c.doc.startswith(f"({c.name.split('_')[0].removeprefix('eq')}) "), c.name


@pytest.mark.parametrize(
    ("equation", "wrong"),
    [
        ("eq2_work", 16),  # nobody has to work: both complete on arrival, 10 + 6
        ("eq8_completion", 16),  # job 1 with two workers in its first slot
        ("eq11_once", 10 + 5 + 10 / 3),  # job 0 completes in every slot
    ],
)
def test_damage_is_noticed(tiny, equation, wrong):
    m = oasis_ilp(tiny, printed=True)  # utilities as they are, also before the earliest slot
    m.component(equation).deactivate()
    assert optimum(m) == pytest.approx(wrong)


@pytest.mark.parametrize(
    ("equation", "gpu", "cpu", "right", "wrong"),
    [
        ("eq4_worker_capacity", 1.0, 1.0, 5, 10),  # one worker at a time: a slot later
        ("eq5_ps_capacity", 2.0, 0.0, 0, 10),  # no PS, no training
        ("eq6_bandwidth", 2.0, 0.0, 0, 10),
    ],
)
def test_damage_to_capacity_is_noticed(equation, gpu, cpu, right, wrong):
    m = oasis_ilp(instance(job(), gpu=gpu, cpu=cpu), printed=True)
    assert optimum(m) == pytest.approx(right)
    m.component(equation).deactivate()
    assert optimum(m) == pytest.approx(wrong)


def test_parameter_servers_do_not_outnumber_workers():
    # a prize for parameter servers: (7) alone keeps them as few as the workers
    m = oasis_ilp(instance(job(), cpu=9.0))
    m.eq1_utility.set_value(pyo.quicksum(m.z.values()))
    assert optimum(m) == pytest.approx(6)
    m.eq7_servers.deactivate()
    assert optimum(m) == pytest.approx(27)


def test_no_variable_before_arrival(tiny):
    m = oasis_ilp(tiny)
    assert min(t for i, t in m.v if i == 1) == 1
    assert min(t for i, _, t in m.y if i == 1) == 1
    assert min(t for i, _, t in m.z if i == 1) == 1


def test_slots_before_the_first_arrival_have_no_rows():
    m = oasis_ilp(instance(job(arrival=1), job(arrival=2)))
    assert {t for _, _, t in m.eq4_worker_capacity} == {1, 2}
    assert {r for _, r, _ in m.eq4_worker_capacity} == {0}  # nobody's workers need a CPU
    assert optimum(m) == pytest.approx(20)


def test_instance_without_jobs_is_worth_nothing():
    assert optimum(oasis_ilp(instance())) == 0


def test_capacity_is_exact_where_floats_are_not():
    # 3 * 0.1 is 0.30000000000000004 in floats; all three workers fit
    three = job(chunks=3, worker_demand=(0.1, 0.0), ps_bandwidth=3.0)
    assert optimum(oasis_ilp(instance(three, gpu=0.3))) == pytest.approx(10)
    # 1e-9 too little of 0.3 is within the tolerance, 2e-9 is not: one worker comes later
    assert optimum(oasis_ilp(instance(three, gpu=0.299999999))) == pytest.approx(10)
    assert optimum(oasis_ilp(instance(three, gpu=0.299999998))) == pytest.approx(5)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_rows_hold_the_judges_integers(path):
    inst, _ = load(path)
    for i, one in enumerate(inst.jobs):
        table = inst.ps_needed(i)
        b, big_b = bandwidths(table)
        assert [-(-n * b // big_b) for n in range(one.chunks + 1)] == list(table)


def test_common_measure_keeps_what_fits():
    demand, capacity = measured(np.array([[4, 0], [6, 0]]), np.array([[9, 5], [11, 0]]))
    assert (demand, capacity) == ([[2, 0], [3, 0]], [[4, 5], [5, 0]])


@pytest.mark.parametrize("form", ["lp", "mps"])
def test_file_has_the_same_optimum(form, tmp_path):
    inst, reference = load(FILES[3])
    path = tmp_path / f"program.{form}"
    oasis_ilp(inst).write(str(path), io_options={"symbolic_solver_labels": True})
    assert "eq11_once" in path.read_text()
    h = highs(mip=True)
    h.readModel(str(path))
    h.run()
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    assert h.getInfo().objective_function_value == pytest.approx(reference["optimum"], rel=1e-7)
