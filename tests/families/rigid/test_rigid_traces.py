"""Logs: the objective is chosen by option, plan or argument, and reaches all that is stored."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import optsched
from optsched.core import open_input
from optsched.experiments.cell_keys import Source, instance_key
from optsched.experiments.plan import make_plan
from optsched.families.rigid.verify import verify
from optsched.problem import InputError, Window, get_family
from optsched.process import messages

LOG = "submit_seconds,run_seconds,tasks,request_seconds\n0,100,2,120\n10,50,2,60\n20,5,1,10\n"
# by hand, on two processors: job 2 at 20, job 1 at 25, job 0 at 75; the makespan is less if job 0
# begins at once
MEANS = {
    "flow": (175 + 65 + 5) / 3,
    "wait": (75 + 15 + 0) / 3,
    "slowdown": (175 / 100 + 65 / 50 + 1) / 3,
    "makespan": 155,
}


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("jobs.csv").write_text(LOG)
    Path("nodes.csv").write_text("gpu,cpu,memory_gb\n0,2,8\n")
    return tmp_path


@pytest.mark.parametrize("objective", MEANS)
def test_it_is_that_of_optimum_certificate_and_page(log, call, objective):
    options = ("--machines", "nodes.csv", "--objective", objective, "-p", "sjf")
    assert call("ratio", "jobs.csv", *options, "-o", "result.json", "-q")[0] == 0
    stored = json.loads((log / "result.json").read_text())
    assert stored["instance"]["objective"] == objective
    status, out, err = call("verify", "result.json", "--json")
    assert status == 0, err
    checked = json.loads(out)["checks"][0]
    assert (checked["value"], checked["bound"]) == pytest.approx([MEANS[objective]] * 2)
    Path("nodes.csv").write_text("gpu,cpu\n0,2\n")  # no job requests memory
    loaded = optsched.load_trace("jobs.csv", machines="nodes.csv", objective=objective)
    assert loaded.digest() == get_family("rigid").instance(**stored["instance"]).digest()
    assert call("report", "result.json", "-o", "page.html")[0] == 0
    name = get_family("rigid").headline(loaded).split(", ")[1]
    assert name in (log / "page.html").read_text()


def test_cells_of_a_campaign_differ_by_it(log):
    plan = {
        "instances": [
            {
                "family": "rigid",
                "trace": "jobs.csv",
                "parameters": {"machines": "nodes.csv"},
                "grid": {"objective": ["flow", "slowdown"]},
            }
        ],
        "policies": [{"name": "sjf"}],
    }
    flow, slowdown = make_plan(plan, log).cases()
    assert flow.key != slowdown.key
    for case in (flow, slowdown):
        name = case.source.parameters["objective"]
        assert case.source.label.endswith(f"objective={name}")
        assert case.source.make(0).objective == name
        assert case.reference.solve(case.source.make(0)).value == pytest.approx(MEANS[name])
    # keys of plans without it are those of older versions
    old = Source("rigid", {"jobs": 3}, "jobs.csv", str(log), {"jobs.csv": "00"})
    assert instance_key(old, 0).hex() == "f939161e0dfba5520c1082f8b13274d0"


@pytest.mark.usefixtures("log")
def test_another_one_is_refused_and_other_families_have_none(call):
    with pytest.raises(InputError, match=r"objective: .*'flow', 'wait', 'slowdown' or 'makespan'"):
        optsched.load_trace("jobs.csv", objective="mean")
    with pytest.raises(InputError, match="option --objective is not supported by family oasis"):
        get_family("oasis").open_trace(Path("jobs.csv"), Window(objective="wait"))
    assert call("ratio", "jobs.csv", "--objective", "mean")[0] == 2
    status, _, err = call("whatif", "jobs.csv", "--objective", "wait")
    assert (status, "No such option: --objective" in err) == (2, True)


@pytest.mark.usefixtures("log")
def test_requests_below_the_run_time_are_counted(capsys):
    assert "ran longer" not in capsys.readouterr().err
    Path("jobs.csv").write_text(LOG.replace("120", "99").replace("60", ""))
    inst = optsched.load_trace("jobs.csv", machines="nodes.csv")
    assert [job.request for job in inst.jobs] == [100, 99, 10]  # the longest of all
    said = "1 of 3 jobs ran longer than its limit; its limit is taken to be its run time\n"
    assert said in capsys.readouterr().err
    Path("jobs.csv").write_text(LOG.replace("120", "99").replace("60", "9"))
    optsched.load_trace("jobs.csv", machines="nodes.csv")
    assert "2 of 3 jobs ran longer than their limits; their" in capsys.readouterr().err


@pytest.mark.usefixtures("log")
def test_fractions_of_a_second_leave_the_recorded_schedule_feasible():
    ends = np.cumsum([10.5, 10.5, 1.7, 1.6, 1.1, 2.2, 1.9]).tolist()  # one after the other
    begins, head = [0.0, *ends], "submit_seconds,start_seconds,run_seconds,tasks,cpu\n"
    rows = [f"0.3,{b + 0.3},{e - b},1,2\n" for b, e in zip(begins, ends, strict=False)]
    Path("jobs.csv").write_text(head + "".join(rows))
    Path("nodes.csv").write_text("gpu,cpu\n0,2\n")
    window = Window(machines=Path("nodes.csv"), packed=True)
    inst = get_family("rigid").open_trace(Path("jobs.csv"), window)
    assert [job.run for job in inst.jobs] == [10, 11, 1, 2, 1, 2, 2]
    schedule, _ = get_family("rigid").recorded(Path("jobs.csv"), window, inst)
    assert schedule.start == (0, 10, 21, 22, 24, 25, 27)
    assert verify(inst, schedule).violations == ()
    Path("jobs.csv").write_text(f"{head}0,0,0,1,2\n0,0,9,1,2\n")
    inst = get_family("rigid").open_trace(Path("jobs.csv"), window)
    _, told = get_family("rigid").recorded(Path("jobs.csv"), window, inst)
    assert "used 4 cores at once" in told[0]
    assert told[0].endswith("(jobs shorter than a second count as 1 s)")


NAMED = (  # name, start, end, cores, nodes: the first or fullest nodes leave 2 + 2 cores for f
    ("a", 0, 50, 2, "n1"),
    ("b", 0, 10, 2, "n2"),
    ("d", 0, 50, 2, "n1"),
    ("e", 0, 10, 2, "n2"),
    ("f", 10, 50, 4, "n2"),
    ("g", 50, 59, 8, "n[1-2]"),
)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ((), "6 of 6 jobs run as recorded, on the nodes it names"),
        (
            ("n2\n", "n1\n"),
            "the jobs on node n1 used 8 cores at once, more than a node of the list has",
        ),
        (("|n2", "|"), "the log names no nodes of job b"),
        (("|n[1-2]", "|n[1-3]"), "the 2 tasks of job g have no equal share on 3 nodes"),
        (("|n[1-2]", "|n[3-4]"), "the log names 4 nodes, of which the list has 2"),
    ],
)
def test_recorded_jobs_run_on_the_nodes_that_the_log_names(tmp_path, edit, said):
    rows = [
        f"{name}|2024-01-01T00:00:{start:02}|2024-01-01T00:00:{start:02}|2024-01-01T00:00:{end:02}|"
        f"00:00:{end - start:02}|{cores}|{1 + (cores > 4)}|COMPLETED|{nodes}"
        for name, start, end, cores, nodes in NAMED
    ]
    text = "\n".join(["JobID|Submit|Start|End|Elapsed|NCPUS|NNodes|State|NodeList", *rows, ""])
    log, nodes = tmp_path / "sacct.txt", tmp_path / "nodes.csv"
    log.write_text(text.replace(*edit) if edit else text)
    nodes.write_text("name,count,gpu,cpu,memory_gb\nthin,2,0,4,8\n")
    window = Window(machines=nodes, packed=True)
    inst = open_input(log, "rigid", window)
    schedule, (line,) = get_family("rigid").recorded(log, window, inst)
    assert said in line
    assert (schedule is None) == bool(edit)
    if schedule is not None:
        assert verify(inst, schedule).feasible
        assert schedule.nodes[4] == schedule.nodes[1] != schedule.nodes[0]
        assert schedule.nodes[5] == ((0, 1), (1, 1))


def test_a_pool_of_a_log_without_starts_is_not_called_what_it_used(tmp_path, call):
    rows = ["JobID|Submit|Elapsed|State|NCPUS", "1|2026-01-01T00:00:00|00:10:00|COMPLETED|4"]
    rows += ["2|2026-01-01T00:01:00|00:10:00|COMPLETED|4"]
    rows += ["3|2026-01-01T00:02:00|00:10:00|RUNNING|4"]
    (tmp_path / "sacct.txt").write_text("\n".join(rows))
    status, _, err = call("ratio", tmp_path / "sacct.txt", "-p", "fcfs", "--work-limit", 100)
    assert status == 0, err
    assert "as much as would be used at once if the 3 jobs without a recorded start had" in err
    assert "the recorded schedule used" not in err
    assert "1 job of the log still ran when it was taken" in err
    assert "recorded waiting times are right" not in err
    assert "has no recorded starts: what your cluster did is not known" in err


@pytest.mark.usefixtures("log")
def test_a_job_that_never_fits_has_the_name_of_the_log():
    Path("jobs.csv").write_text("name,submit_seconds,run_seconds,tasks\n77,0,9,1\n482320,5,9,3\n")
    window = Window(machines=Path("nodes.csv"))
    said = (
        r"1 of 2 jobs never fits on the machines, the first is job 482320 \(3 cores\); expected .*"
    )
    with pytest.raises(InputError, match=said):
        open_input(Path("jobs.csv"), "rigid", window)
    with messages.collected_remarks() as remarks:
        inst = open_input(Path("jobs.csv"), "rigid", replace(window, skip_unfit=True))
    assert [job.tasks for job in inst.jobs] == [1]
    told = (
        "left out, since they never fit on the machines: 1 of 2 jobs, the first is job 482320 (3 "
    )
    assert any(line.startswith(told) for line in remarks)
    Path("jobs.csv").write_text("submit_seconds,run_seconds,tasks\n0,9,3\n")
    with pytest.raises(InputError, match=r"the first is job of line 2 \(3 cores\)"):
        open_input(Path("jobs.csv"), "rigid", replace(window, skip_unfit=True))


@pytest.mark.usefixtures("log")
def test_nodes_that_a_list_of_slurm_lacks_are_named():
    Path("jobs.csv").write_text(
        "JobID|Submit|Start|Elapsed|State|NCPUS|NodeList\n"
        "1|2026-01-05T08:00:00|2026-01-05T08:00:00|01:00:00|COMPLETED|2|n1\n"
        "2|2026-01-05T08:00:00|2026-01-05T08:00:00|01:00:00|COMPLETED|2|n2\n"
    )
    Path("nodes.csv").write_text("NODELIST|CPUS|MEMORY|GRES|PARTITION\nn1|2|4096|(null)|cpu\n")
    window = Window(machines=Path("nodes.csv"))
    inst = get_family("rigid").open_trace(Path("jobs.csv"), window)
    _, told = get_family("rigid").recorded(Path("jobs.csv"), window, inst)
    assert "expected the machines it ran on: the list lacks n2; sinfo --Node" in told[0]


@pytest.mark.usefixtures("log")
def test_means_are_called_weighted_where_weights_differ(call):
    Path("jobs.csv").write_text(
        "submit_seconds,run_seconds,tasks,request_seconds,weight\n0,100,2,120,1\n10,50,2,60,3\n"
    )
    status, out, err = call("ratio", "jobs.csv", "--machines", "nodes.csv", "-p", "sjf")
    assert status == 0, err
    assert "weighted mean flow time, s" in out
    assert "Optimum: weighted mean waiting time" in out
    assert "all means are weighted by the column weight of the log" in out + err
    Path("jobs.csv").write_text(LOG)
    _, out, _ = call("ratio", "jobs.csv", "--machines", "nodes.csv", "-p", "sjf")
    assert "weighted" not in out


@pytest.mark.usefixtures("log")
def test_a_start_has_the_time_zone_of_the_log():
    days = "submit_seconds,run_seconds,tasks,request_seconds\n" + "".join(
        f"2026-11-0{d}T{h:02d}:30:00+02:00,60,1,60\n" for d in (1, 2, 3) for h in (0, 1, 23)
    )
    Path("jobs.csv").write_text(days)

    def first(start: str) -> str:
        inst = optsched.load_trace("jobs.csv", machines="nodes.csv", start=start)
        return inst.source

    assert "line 5" in first("2026-11-02")
    assert first("2026-11-02") == first("2026-11-02T00:00:00+02:00") == first("2026-11-01T22:00Z")
    assert "line 7" in first("2026-11-02 02:00")
    Path("jobs.csv").write_text(days.replace("+02:00", ""))
    with pytest.raises(InputError, match="expected seconds from the start of the trace"):
        first("2026-11-02T00:00:00+02:00")
