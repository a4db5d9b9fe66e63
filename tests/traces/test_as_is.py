"""A trace as it is, what its cluster did with it, and what happens where it is scaled."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from optsched.cli.app import app
from optsched.core import compare, open_input, recorded
from optsched.problem import REAL, InputError, Window, family_of, get_family
from optsched.traces.as_is.replay import replay

JOBS = """submit_seconds,start_seconds,run_seconds,tasks,gpu
0,600,7200,2,1
300,7500,3600,1,1
4000,4000,5400,3,1
7300,,1800,1,1
20000,21000,9000,4,1
"""
MACHINES = "gpu,cpu,memory_gb,count\n2,16,64,2\n1,8,32,1\n0,32,128,1\n"
FAMILIES = ["oasis", "dmlrs"]


@pytest.fixture
def own(tmp_path):
    """A list of jobs with recorded starts, and the machines that it ran on."""
    jobs, machines = tmp_path / "jobs.csv", tmp_path / "machines.csv"
    jobs.write_text(JOBS)
    machines.write_text(MACHINES)
    return jobs, machines


def as_is(files, **more):
    return Window(machines=files[1], as_is=True, **{"jobs": 5, **more})


def machines_of(inst):
    return inst.worker_machines if inst.family == "oasis" else inst.machines


@pytest.mark.parametrize("family", FAMILIES)
def test_times_and_machines_are_those_of_the_trace(own, family):
    inst = open_input(own[0], family, as_is(own))
    assert [job.arrival for job in inst.jobs] == [0, 0, 1, 2, 5]
    assert [(c.count, c.capacity) for c in machines_of(inst)] == [
        (2, (2.0,)),
        (1, (1.0,)),
        (1, (0.0,)),
    ]
    assert inst.resources == ("gpu",)  # nothing else is requested
    assert inst.drawn == ("utility",)
    assert [job.worker_demand for job in inst.jobs] == [(1.0,)] * 5
    assert all(set(job.ps_demand) == {0.0} for job in inst.jobs)
    assert inst.horizon == 8  # 9000 s from 21000 s on: slots 5, 6 and 7
    facts = family_of(inst).describe(inst)
    assert facts["jobs that can never finish"] == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_work_is_that_of_the_trace(own, family):
    inst = open_input(own[0], family, as_is(own, slot="30min"))
    if family == "oasis":
        assert inst.work == (8, 2, 9, 1, 20)
    else:
        assert [-(-n.work // n.inner) for n in inst.needs] == [8, 2, 9, 1, 20]


def test_a_part_of_a_trace(own):
    def arrivals(**window):
        return [job.arrival for job in open_input(own[0], "oasis", as_is(own, **window)).jobs]

    assert arrivals(jobs=None, slots=3) == [0, 0, 1, 2]
    assert arrivals(jobs=2, slots=3) == [0, 0]
    assert arrivals(jobs=None, slots=6, start="1h") == [0, 1, 4]
    assert arrivals(jobs=2, start="#2") == [0, 0]  # the first slot begins with that job


def test_load_over_time(own):
    inst = open_input(own[0], "oasis", as_is(own))
    shown = family_of(inst).describe(inst)["offered load over time"]
    # of 5 GPUs: 2 workers for 2 slots, 1 for 1, 3 for 5/3, 1 for 1, 4 for 2.5
    expected = [3 / 5, 5 / 5, 3 / 5, 0, 0, 4 / 5, 4 / 5, 2 / 5]
    assert shown["worker gpu"] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_cluster_did(own, family):
    window = as_is(own)
    inst = open_input(own[0], family, window)
    schedule, summary = get_family(family).recorded(own[0], window, inst)
    verdict = get_family(family).verify(inst, schedule, unfinished=True)
    assert verdict.feasible
    assert verdict.completion == (1, 2, 2, None, 7)
    slots = [sorted({t for t, _, _ in job.workers}) if job else None for job in schedule.jobs]
    assert slots == [[0, 1], [2], [1, 2], None, [5, 6, 7]]
    assert [sum(n for t, _, n in schedule.jobs[4].workers if t == s) for s in (5, 6, 7)] == [
        4,
        4,
        2,
    ]
    assert summary == [
        "what your cluster did: 4 of 5 jobs run as recorded",
        "what your cluster did: left out, 1 of 5 jobs have no recorded start",
    ]


def test_it_is_a_row_of_the_table(own):
    window = as_is(own)
    inst = open_input(own[0], "oasis", window)
    report = compare(inst, ["fifo"], schedule=recorded(own[0], window, inst), time_limit=1.0)
    (row,) = [row for row in report.policies if row.name == REAL]
    assert row.completed == 4
    assert 1 < row.ratio.low <= row.ratio.high


def test_nothing_is_recorded_elsewhere(own, tmp_path, capsys):
    plain = tmp_path / "plain.csv"
    plain.write_text("submit_seconds,run_seconds,tasks,gpu\n0,60,1,1\n60,60,1,1\n")
    for path, window in ((plain, as_is(own, jobs=2)), (own[0], Window(jobs=5, slot="1h"))):
        inst = open_input(path, "oasis", window)
        capsys.readouterr()
        assert recorded(path, window, inst) == {}
        assert ("has no recorded starts" in capsys.readouterr().err) == bool(window.as_is)
    window = Window(machines=own[1], jobs=5)  # a family that scales every trace
    inst = open_input(own[0], "bipartite", window)
    capsys.readouterr()
    assert recorded(own[0], window, inst) == {}
    assert capsys.readouterr().err == ""


def test_swf_and_pods_say_when_jobs_started(tmp_path):
    log, nodes = tmp_path / "log.swf", tmp_path / "log.machines"
    log.write_text(
        "; a log\n1 50 100 7200 2 -1 -1 2 -1 -1 1 1 1 -1 1 -1 -1 -1\n"
        "2 60 3600 60 1 -1 -1 1 -1 -1 1 1 1 -1 1 -1 -1 -1\n"
    )
    nodes.write_text("0\tall\t3\t1\t1.0\t1048576\n")
    pods, listed = tmp_path / "pods.csv", tmp_path / "nodes.csv"
    pods.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n"
        "a,4000,1024,1,500,0,9000,1800\nb,4000,1024,1,500,0,3600,0\n"
    )
    listed.write_text("sn,cpu_milli,memory_mib,gpu,model\nn,8000,4096,1,A\n")
    for files, expected in (((log, nodes), [[0, 1], [1]]), ((pods, listed), [[0, 1], [0]])):
        window = as_is(files, jobs=2)
        inst = open_input(files[0], "dmlrs", window)
        schedule = recorded(files[0], window, inst)[REAL]
        assert [[t for t, _, _ in job.ps] for job in schedule.jobs] == expected
        assert get_family("dmlrs").verify(inst, schedule).feasible
    assert inst.resources == ("gpu", "cpu", "memory")


def test_what_does_not_fit_is_told():
    one = np.ones((4, 1), np.int64)
    found = replay([0, 0, 0, 3], [2, 1, 1, 2], [1, 1, 1, 1], one, one[:1], 4)
    # the first holds the only machine in slots 0 and 1, so slot 1 is no way out for the others
    assert found.jobs == [[(0, 0, 1), (1, 0, 1)], None, None, None]
    assert found.summary() == [
        "what your cluster did: 1 of 4 jobs run as recorded",
        "what your cluster did: left out, 1 of 4 jobs ended after the horizon",
        "what your cluster did: left out, 2 of 4 jobs need more than the machines have left in "
        "their slots (a job of a few minutes takes whole slots: shorter ones may help)",
    ]
    found = replay([0, 0], [1, 1], [1, 1], one, one[:1], 4)
    assert found.jobs == [[(0, 0, 1)], [(1, 0, 1)]]
    assert found.summary()[0].endswith("2 of 2 jobs run as recorded, 1 of them a slot later, "
                                    "where they fit")  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_machines_never_hold_more_than_they_can(seed):
    rng = np.random.default_rng(seed)
    number, horizon = 40, 12
    start = [None if s < 0 else int(s) for s in rng.integers(-1, horizon, number)]
    tasks = rng.integers(1, 6, number)
    work = rng.integers(1, 5 * tasks + 1)
    demand = rng.integers(0, 4, (number, 2))
    capacity = rng.integers(0, 9, (6, 2))
    found = replay(start, work.tolist(), tasks.tolist(), demand, capacity, horizon)
    load = np.zeros((horizon, *capacity.shape), np.int64)
    for i, placed in enumerate(found.jobs):
        if placed is None:
            continue
        workers = np.zeros(horizon, np.int64)
        for t, h, n in placed:
            load[t, h] += n * demand[i]
            workers[t] += n
        first = int(np.flatnonzero(workers)[0])
        assert first - start[i] in (0, 1)
        assert workers.sum() == work[i]
        assert set(workers[first : first - (-work[i] // tasks[i]) - 1]) <= {tasks[i]}
    assert (load <= capacity).all()
    assert found.placed + found.crowded + found.late + found.unknown == number
    assert found.placed == sum(placed is not None for placed in found.jobs) > 0


@pytest.mark.parametrize(
    ("family", "options", "message"),
    [
        (
            "oasis",
            {"load": 2.0},
            "option --load is not supported by family oasis where nothing is scaled, expected",
        ),
        ("oasis", {"machines": None}, "exactly the machines of a list, expected --machines FILE"),
        ("oasis", {"jobs": 6}, "has 5 jobs of at least 1 tasks, expected 6"),
        ("oasis", {"start": "9d", "slots": 3}, "no job of at least 1 tasks is submitted in the 3"),
        ("oasis", {"slot": "1s"}, None),
        (
            "completion",
            {"machines": None},
            "option --no-scaling is not supported by family completion, expected one of",
        ),
        ("rigid", {"slot": "1h"}, r"rigid has no slots \(times are in seconds\).*--family oasis"),
        (
            "bot",
            {"machines": None, "jobs": None},
            "option --no-scaling is not supported by family bot",
        ),
    ],
)
def test_wrong_options(own, family, options, message):
    window = Window(**{"machines": own[1], "as_is": True, "jobs": 5, **options})
    if message is None:
        assert open_input(own[0], family, window).horizon == 30000
        return
    with pytest.raises(InputError, match=message):
        open_input(own[0], family, window)


@pytest.mark.parametrize("family", FAMILIES)
def test_machines_without_a_load_scale_nothing(own, family):
    plain = open_input(own[0], family, Window(machines=own[1]))
    assert plain == open_input(own[0], family, as_is(own))


def test_a_load_scales_and_all_jobs_of_a_short_list_are_taken(own):
    scaled = open_input(own[0], "oasis", Window(machines=own[1], load=1.0, slots=9))
    assert scaled.horizon == 9
    assert scaled.source.startswith("own jobs: 5 jobs")


def test_listed_weights_are_priorities(own, tmp_path):
    rows = [
        f"{line},{w}" for line, w in zip(JOBS.split(), ("weight", 5, 0.5, 70, "", 1), strict=True)
    ]
    (tmp_path / "weighted.csv").write_text("\n".join(rows))
    drawn = open_input(own[0], "oasis", as_is(own)).jobs
    listed = open_input(tmp_path / "weighted.csv", "oasis", as_is(own)).jobs
    assert [j.utility.scale for j in listed] == [5, 0.5, 70, drawn[3].utility.scale, 1]
    assert [j.utility.decay for j in listed] == [j.utility.decay for j in drawn]
    jobs = open_input(tmp_path / "weighted.csv", "completion", Window(slots=40)).jobs
    assert [job.weight for job in jobs][:3] == [5, 0.5, 70]


def test_nothing_is_invented(own, tmp_path):
    bare = tmp_path / "bare.csv"
    bare.write_text("submit_seconds,run_seconds,tasks\n0,60,1\n")
    with pytest.raises(InputError, match="expected a column gpu, cpu or memory_gb"):
        open_input(bare, "oasis", as_is(own, jobs=1))


def test_a_horizon_that_is_too_long_names_one_that_is_not(own, tmp_path):
    long = tmp_path / "long.csv"
    rows = [f"{60 * k},{60 if k else 10**9},1,1" for k in range(60)]
    long.write_text("\n".join(["submit_seconds,run_seconds,tasks,gpu", *rows]))
    with pytest.raises(InputError, match=r"expected --horizon, such as 1, in which 95 %"):
        open_input(long, "oasis", as_is(own, jobs=60))


def test_the_command(own, monkeypatch):
    monkeypatch.chdir(own[0].parent)
    command = ["trace", "jobs.csv", "--machines", "machines.csv", "--no-scaling", "--jobs", "5"]
    made = CliRunner().invoke(app, [*command, "-o", "month.json"])
    assert made.exit_code == 0, made.output
    assert "offered load over time: worker gpu 0.6, 1, 0.6, 0, 0, 0.8, 0.8, 0.4" in made.output
    assert "4 of 5 jobs run as recorded" in made.stderr
    content = json.loads(Path("month-recorded.json").read_text())
    assert content["kind"] == "schedule"
    judged = CliRunner().invoke(
        app, ["verify", "--unfinished", "month.json", "month-recorded.json"]
    )
    assert judged.exit_code == 0
    assert "4 of 5 jobs completed" in judged.output


def listed(run_seconds, every, tasks=1):
    rows = [f"{every * k},{run_seconds[k % len(run_seconds)]},{tasks},1,4,16" for k in range(60)]
    return "\n".join(["submit_seconds,run_seconds,tasks,gpu,cpu,memory_gb", *rows])


@pytest.mark.parametrize("family", ["oasis", "dmlrs", "completion"])
@pytest.mark.parametrize(
    ("runs", "slot"),
    [
        ((20 * 3600,), 3600.0),  # an hour will do
        ((9 * 86400, 40 * 86400), 172800.0),  # jobs of weeks
        ((600, 1200, 5400), 300.0),  # in slots of an hour hardly any load
    ],
)
def test_slots_are_of_a_length_in_which_most_jobs_finish(tmp_path, capsys, family, runs, slot):
    path = tmp_path / "jobs.csv"
    path.write_text(listed(runs, every=3600, tasks=4))
    inst = open_input(path, family, Window(jobs=60))
    facts = family_of(inst).describe(inst)
    if family != "completion":  # its jobs may use other numbers of workers
        assert inst.slot_seconds == slot
        assert facts["jobs that can never finish"] <= 0.2 * 60
        load = facts["offered load"]
        load = load.get("worker", load)
        assert max(load.values()) >= 0.7 * 2.0
    said = capsys.readouterr().err
    assert ("slots of" in said and "in those of 1 h" in said) == (inst.slot_seconds != 3600)


@pytest.mark.parametrize("family", ["oasis", "dmlrs", "completion"])
def test_a_load_that_cannot_be_reached(tmp_path, capsys, family):
    path = tmp_path / "jobs.csv"
    path.write_text(listed((600, 1200), every=60))
    with pytest.raises(
        InputError, match=r"load 50 cannot be reached: .* --load [0-9.]+ or less"
    ) as err:
        open_input(path, family, Window(jobs=60, load=50.0))
    assert ("--no-scaling" in str(err.value)) == (family != "completion")  # which lacks it
    assert ("best kind of GPU" in str(err.value)) == (family == "completion")
    open_input(path, family, Window(jobs=5, slot="1d"))  # nobody requested a load
    assert "with the fewest machines it is" in capsys.readouterr().err


@pytest.mark.parametrize("family", ["oasis", "dmlrs", "completion", "bipartite"])
def test_every_family_reports_what_it_scales(tmp_path, capsys, family):
    path = tmp_path / "jobs.csv"
    path.write_text(listed((3600, 7200), every=1800, tasks=4))
    open_input(path, family, Window(jobs=60, slots=20, slot="1h"))
    said = capsys.readouterr().err
    assert "arrivals of 1.23 d compressed to 20 slots of 1 h; machines: " in said
    assert " in the proportions of default types, since there is no list of machines" in said
    assert ("--no-scaling" in said) == (family in ("oasis", "dmlrs"))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_sample_as_it_is_has_no_recorded_starts(own, family):
    window = as_is(own, jobs=3, slot="4h")
    inst = open_input(Path("sample"), family, window)
    assert len(inst.jobs) == 3
    assert recorded(Path("sample"), window, inst) == {}


LENGTHS = {"1h": 1, "30min": 2, "15min": 4, "100s": 36}  # slots of an hour


def by_hours(job, parts, hours):
    """Return the utility of a job that completes so many hours after its slot of arrival begins."""
    return job.utility(parts * hours - 1)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("horizon", [None, 24, 100])  # hours of a scaled window
def test_a_job_is_the_same_in_slots_of_any_length(own, family, horizon):
    jobs = {}
    for slot, parts in LENGTHS.items():
        how = {"load": 2.0, "slots": horizon * parts} if horizon else {"as_is": True}
        window = Window(machines=own[1], jobs=100, draw_seed=3, slot=slot, **how)
        jobs[slot] = open_input(Path("sample"), family, window).jobs
    for slot, parts in LENGTHS.items():
        for a, b in zip(jobs["1h"], jobs[slot], strict=True):
            assert b.arrival // parts == a.arrival
            for name in ("chunks", "worker_demand", "ps_bandwidth"):
                assert getattr(a, name) == getattr(b, name)
            for hours in (1, 2, 5, 17, 60):
                assert by_hours(b, parts, hours) == pytest.approx(by_hours(a, 1, hours))


def test_targets_of_short_and_of_long_slots_are_within_reach():
    day = open_input(Path("sample"), "oasis", Window(slot="1d"))
    minutes = open_input(Path("sample"), "oasis", Window(slot="1min"))
    few = open_input(Path("sample"), "oasis", Window(slot="5min", slots=47))
    for inst, unit in ((day, 1), (minutes, 4), (few, 1)):  # slots: of 100, four are the 24th
        for job, work in zip(inst.jobs, inst.work, strict=True):
            late = job.utility.target + 1 - -(-work // job.chunks)
            assert unit <= late < 16 * unit  # the shortest run is rounded up to whole units


def test_slots_above_an_hour_leave_time_to_earn(own):
    inst = open_input(Path("sample"), "oasis", as_is(own, jobs=100, slot="4h"))
    for job, work in zip(inst.jobs, inst.work, strict=True):
        late = (job.utility.target + 1 - -(-work // job.chunks)) * 4  # hours after the shortest run
        assert 1 - 1e-6 <= late <= 15 + 1e-6
