"""The judge of family `rigid`, its data, and instances from logs."""

import gzip
import json

import pytest
from pydantic import ValidationError

import optsched
from optsched.families.rigid import FAMILY
from optsched.families.rigid.instance import Machine, RigidInstance, RigidJob, RigidSchedule
from optsched.pages.words import of_ratios
from optsched.problem import Window

POOL = {"resources": ("p",), "machines": (Machine(capacity=(4,)),)}
NODES = {"resources": ("p",), "machines": (Machine(count=2, capacity=(2,)),), "packed": True}


def job(**given):
    return RigidJob(**{"arrival": 0, "run": 5, "request": 5, "need": (1,)} | given)


def test_the_objectives_are_means_by_weight():
    jobs = (job(weight=3), job(arrival=2, run=20, request=20))
    start = RigidSchedule(start=(7, 2))
    for objective, value in (
        ("flow", (3 * 12 + 20) / 4),
        ("wait", 21 / 4),
        ("slowdown", (3 * 1.2 + 1) / 4),
        ("makespan", 22),
    ):
        inst = RigidInstance(jobs=jobs, objective=objective, **POOL)
        assert FAMILY.verify(inst, start).value == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("platform", "start", "nodes", "said"),
    [
        (POOL, (0,), (), "start has 1 entries, expected 2"),
        (POOL, (0, None), (), "job 1 never starts"),
        (POOL, (0, 1), (), "job 1, start 1, before its arrival 2"),
        (POOL, (0, 4), (), "the pool, p, second 4"),
        (POOL, (0, 5), ((), ()), "nodes has 2 entries, expected 0"),
        (NODES, (0, 5), (), "nodes has 0 entries, expected 2"),
        (NODES, (0, 5), (((0, 2), (1, 1)), ((0, 3),)), "node 0, p, second 5"),
        (NODES, (0, 5), (((0, 2),), ((0, 2), (1, 1))), "2 tasks have a node, expected 3"),
        (NODES, (0, 5), (((0, 2), (2, 1)), ((0, 2), (1, 1))), "node 2 does not exist"),
        (NODES, (0, 5), (((0, 1), (0, 2)), ((0, 2), (1, 1))), "a node is named twice"),
    ],
)
def test_what_breaks_the_model_is_named(platform, start, nodes, said):
    inst = RigidInstance(jobs=(job(tasks=3), job(arrival=2, tasks=3)), **platform)
    verdict = FAMILY.verify(inst, RigidSchedule(start=start, nodes=nodes))
    assert verdict.value is None
    assert any(said in broken.place for broken in verdict.violations), str(verdict)


def test_who_ends_makes_space_for_who_starts():
    inst = RigidInstance(jobs=(job(tasks=3), job(tasks=3)), **NODES)
    nodes = (((0, 2), (1, 1)), ((0, 1), (1, 2)))
    assert FAMILY.verify(inst, RigidSchedule(start=(0, 5), nodes=nodes)).value == 7.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"request": 4}, "job 0: request 4 is below the run time 5"),
        ({"need": (5,)}, "never fit on the machines"),
        ({"need": (1, 1)}, "job 0: need has 2 entries, expected one per resource: p"),
        ({"tasks": 5}, "never fit on the machines"),
        ({"run": 0}, "greater than or equal to 1"),
    ],
)
def test_wrong_data_are_refused_in_a_line(change, said):
    with pytest.raises(ValidationError, match=said):
        RigidInstance(jobs=(job(**change),), **POOL)


def test_a_task_fits_on_a_node_or_nowhere():
    wide = job(need=(3,))
    assert RigidInstance(jobs=(wide,), **POOL).jobs == (wide,)
    with pytest.raises(ValidationError, match="never fit"):
        RigidInstance(jobs=(wide,), **NODES)


def test_instances_survive_their_file(tmp_path):
    inst = FAMILY.generate("lublin", seed=3, jobs=20)
    optsched.save_instance(inst, tmp_path / "i.json")
    assert optsched.load_instance(tmp_path / "i.json") == inst
    assert json.loads((tmp_path / "i.json").read_text())["family"] == "rigid"
    assert max(j.tasks for j in inst.jobs) <= 128


LOG = """\
; MaxProcs: 4
1 10 5 20 2 -1 -1 2 60 -1 1 3 1 1 1 1 -1 -1
2 12 13 7 2 -1 -1 2 -1 -1 1 4 1 1 1 1 -1 -1
3 30 0 4 4 -1 -1 4 3 -1 1 3 1 1 1 1 -1 -1
"""


def test_a_log_is_taken_as_it_is_and_its_schedule_is_a_row(tmp_path):
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress(LOG.replace("30 0 4 4", "30 5 4 4").encode()))
    inst = FAMILY.open_trace(path, Window(jobs=3))
    assert [(j.arrival, j.run, j.request, j.tasks) for j in inst.jobs] == [
        (0, 20, 60, 2), (2, 7, 60, 2), (20, 4, 4, 4)
    ]  # fmt: skip
    assert inst.total == (4,)  # as much as was used at once
    schedule, told = FAMILY.recorded(path, Window(jobs=3), inst)
    assert schedule.start == (5, 15, 25)
    assert told == ["what your cluster did: 3 of 3 jobs run as recorded"]
    assert FAMILY.verify(inst, schedule).value == pytest.approx((25 + 20 + 9) / 3)


@pytest.mark.parametrize(("stated", "pool"), [(6, 6), (3, 4)])
def test_the_machine_has_the_processors_that_a_log_states_if_its_jobs_fit(tmp_path, stated, pool):
    (tmp_path / "log.swf").write_text(
        f"; Version: 2.2\n; MaxProcs: {stated}\n{LOG.replace('30 0 4 4', '30 5 4 4')}"
    )
    assert FAMILY.open_trace(tmp_path / "log.swf", Window()).total == (pool,)


def test_tables_have_waiting_times_and_what_policies_know(tmp_path):
    (tmp_path / "log.swf").write_text(LOG.replace("30 0 4 4", "30 5 4 4"))
    inst = FAMILY.open_trace(tmp_path / "log.swf", Window())
    schedule, _ = FAMILY.recorded(tmp_path / "log.swf", Window(), inst)
    compared = optsched.compare(
        inst, ["fcfs", "easy", "easy-exact"], schedule={"real": schedule}, work_limit=2000
    )
    rows = {row.name: row.columns for row in compared.policies}
    assert [c["run times known"] for c in rows.values()] == ["none", "requested", "exact", "-"]
    assert rows["real"]["mean wait, h"] == pytest.approx((5 + 13 + 5) / 3 / 3600)
    assert rows["real"]["mean slowdown"] == pytest.approx((25 / 20 + 20 / 10 + 1) / 3)
    assert compared.hindsight["mean wait, h"] <= rows["real"]["mean wait, h"]
    assert compared.table()["mean wait, h"].tolist()[-1] == rows["real"]["mean wait, h"]
    hindsight = "The best schedule known has a mean wait of {:.4g} h and a mean slowdown of {:.4g}."
    assert hindsight.format(*compared.hindsight.values()) in of_ratios(compared, FAMILY)


def test_machines_that_are_too_few_for_what_was_recorded(tmp_path):
    (tmp_path / "log.swf").write_text(LOG)
    (tmp_path / "m.csv").write_text("cpu,memory_gb,gpu,count\n5,1,0,1\n")
    window = Window(jobs=3, machines=tmp_path / "m.csv")
    inst = FAMILY.open_trace(tmp_path / "log.swf", window)
    assert inst.total == (5,)
    schedule, told = FAMILY.recorded(tmp_path / "log.swf", window, inst)
    assert schedule is None
    assert "left out: it used 8 cores at once, more than the machines have (5 cores);" in told[0]


HALVES = """submit_seconds,start_seconds,run_seconds,tasks,gpu
0,0,9,1,0.5
0,0,9,1,1.5
0,0,9,1,1
"""


def test_messages_count_whole_ones_where_units_are_parts(tmp_path):
    (tmp_path / "log.csv").write_text(HALVES)
    (tmp_path / "m.csv").write_text("cpu,memory_gb,gpu,count\n4,1,1,2\n")
    window = Window(machines=tmp_path / "m.csv")
    inst = FAMILY.open_trace(tmp_path / "log.csv", window)
    assert (inst.total, inst.units) == ((200,), ("GPU / 100",))
    assert FAMILY.headline(inst).endswith("a pool of 2 GPUs")
    _, told = FAMILY.recorded(tmp_path / "log.csv", window, inst)
    assert "it used 3 GPUs at once, more than the machines have (2 GPUs);" in told[0]
    assert inst.amounts(inst.jobs[0].need) == "0.5 GPUs"
    with pytest.raises(optsched.InputError, match=r"job 1 \(1.5 GPUs\)"):
        optsched.whatif(inst, remove=f"1x{inst.machines[0].name}", work_limit=10)


def test_all_jobs_of_a_short_log_are_taken_with_their_queues(tmp_path):
    (tmp_path / "log.swf").write_text(LOG.replace("3 1 1 1 1 -1", "3 1 1 7 -1 -1"))
    jobs = FAMILY.open_trace(tmp_path / "log.swf", Window()).jobs
    assert [job.partition for job in jobs] == ["7", "1", "7"]
    with pytest.raises(optsched.InputError, match="has 3 jobs of at least 1 tasks, expected 4"):
        FAMILY.open_trace(tmp_path / "log.swf", Window(jobs=4))


@pytest.mark.parametrize("weight", ["0.5", "2000000"])
def test_weights_of_a_list_are_whole(tmp_path, weight):
    (tmp_path / "jobs.csv").write_text(
        "submit_seconds,run_seconds,tasks,weight,partition,request_seconds\n"
        "0,60,1,3,gpu,90\n5,60,1,,debug,\n"
    )
    first, second = FAMILY.open_trace(tmp_path / "jobs.csv", Window()).jobs
    assert (first.weight, first.partition, first.request) == (3, "gpu", 90)
    assert (second.weight, second.partition, second.request) == (1, "debug", 90)
    wrong = (tmp_path / "jobs.csv").read_text().replace("1,3,gpu", f"1,{weight},gpu")
    (tmp_path / "jobs.csv").write_text(wrong)
    with pytest.raises(optsched.InputError, match=r"job line 2: weight is .*, expected a whole"):
        FAMILY.open_trace(tmp_path / "jobs.csv", Window())


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("objective", ["flow", "wait", "slowdown", "makespan"])
def test_the_program_has_the_same_optimum(objective, packed):
    from optsched.solvers import solve_pyomo

    inst = FAMILY.generate("small", seed=2, jobs=4, machines=2, objective=objective, packed=packed)
    program = FAMILY.program(inst)
    best = optsched.solve(inst, method="cpsat", work_limit=20000)
    assert solve_pyomo(program).objective == pytest.approx(best.value, rel=1e-6)
