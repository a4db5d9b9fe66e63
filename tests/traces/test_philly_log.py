"""Philly's own job log, with the machines that it ran on."""

import math

import pytest

from optsched.problem import InputError
from optsched.traces import read_jobs, read_machines
from optsched.traces.pods import read_arrivals

MACHINES = "machineId,number of GPUs, single GPU mem\nm1,2, 12GB\nm2,8, 24GB\nm3,2, 12GB\n"


def attempt(begin, end, *gpus):
    hosts = [
        {"ip": f"m{k}", "gpus": [f"gpu{g}" for g in range(number)]} for k, number in enumerate(gpus)
    ]
    return {"start_time": begin, "end_time": end, "detail": hosts}


def job(name, submitted, *attempts):
    return {
        "status": "Pass", "vc": "v1", "jobid": name, "attempts": attempts,
        "submitted_time": submitted, "user": "u1",
    }  # fmt: skip


DAY = "2017-10-07"
LOG = [
    job(
        "again",
        f"{DAY} 01:00:00",
        attempt(f"{DAY} 01:10:00", f"{DAY} 01:20:00", 4),  # 40 GPU-minutes
        attempt(f"{DAY} 01:30:00", f"{DAY} 02:30:00", 1, 1),  # 120
    ),
    job("first", f"{DAY} 00:50:00", attempt(f"{DAY} 00:50:00", f"{DAY} 00:51:00", 8)),
    job("running", f"{DAY} 01:00:00", attempt(f"{DAY} 01:10:00", "None", 4)),
    job("never", f"{DAY} 01:00:00"),
    job("lost", f"{DAY} 01:00:00", attempt(None, f"{DAY} 01:10:00", 4)),
    job(
        "unsaid",
        f"{DAY} 02:00:00",
        attempt("", f"{DAY} 02:10:00", 4),
        attempt(f"{DAY} 02:30:00", f"{DAY} 02:40:00", 4),
    ),
    job("clock", f"{DAY} 03:00:00", attempt(f"{DAY} 02:59:00", f"{DAY} 02:20:00", 1)),
]


def test_a_job_is_all_its_attempts(write, capsys):
    jobs = read_jobs(write(LOG))
    assert "3 of 7 jobs of the log are left out" in capsys.readouterr().err
    assert jobs.attrs["format"] == "Philly log"
    assert str(jobs.attrs["start"]) == f"{DAY} 00:50:00"
    assert jobs["name"].tolist() == ["first", "again", "unsaid", "clock"]
    assert jobs["submit_seconds"].tolist() == [0, 600, 4200, 7800]
    assert jobs["start_seconds"].tolist() == [0, 1200, 6000, 7800]
    assert jobs["tasks"].tolist() == [8, 2, 4, 1]
    assert jobs["run_seconds"].tolist() == [60, 80 * 60, 600, 0]  # 160 GPU-minutes on two
    assert jobs["gpu"].tolist() == [1, 1, 1, 1]
    assert jobs["cpu"].isna().all()


def test_machines_say_nothing_of_cores(write):
    machines = read_machines(write(MACHINES, "cluster_machine_list"))
    assert machines["count"].tolist() == [2, 1]
    assert machines["gpu"].tolist() == [2, 8]
    assert math.isnan(machines["cpu"][0])
    assert math.isnan(machines["memory_gb"][0])


def test_what_the_cluster_did_is_a_row(call, write):
    log, machines = write(LOG), write(MACHINES, "cluster_machine_list")
    how = ["--machines", machines, "--no-scaling", "--slot-length", "10min", "--horizon", 24]
    status, out, err = call("ratio", log, *how, "--time-limit", 20, "-q")
    assert status == 0, err
    assert "what your cluster did" in out
    assert "4 of 4" in out


def test_jobs_arrive(write):
    arrivals = read_arrivals(write(LOG))
    assert arrivals["gpus"].tolist() == [8, 2, 4, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([job("x", "yesterday")], r"job 0, submitted_time: is 'yesterday', expected a date"),
        (
            [LOG[1], job("x", f"{DAY} 01:00:00", attempt(f"{DAY} 01:00:00", "soon", 1))],
            r"job 1, end_time: is 'soon', expected a date",
        ),
        ([{"jobid": "x"}], r"job 0.submitted_time: Field required; expected Philly's"),
        ([job("x", f"{DAY} 01:00:00", 3)], r"job 0.attempts.0: is 3; .* expected Philly's"),
        ("[{]", r"Invalid JSON.* expected Philly's cluster_job_log"),
        ("[]", r"names no job, expected at least one"),
    ],
)
def test_wrong_log(write, content, message):
    with pytest.raises(InputError, match=message):
        read_jobs(write(content))


def test_a_log_is_no_list_of_machines(call, write):
    log, machines = write(LOG), write(MACHINES, "cluster_machine_list")
    with pytest.raises(InputError, match="is a list of jobs, expected a list of machines"):
        read_machines(log)
    with pytest.raises(InputError, match="is a list of machines, expected a list of jobs"):
        read_jobs(machines)
    status, _, err = call("trace", log, "--machines", machines, "--load", 2, "-o", "x.json")
    assert status == 2
    assert "name no cores, expected a list that does" in err


def test_as_it_is_asks_for_what_machines_do_not_say(call, write):
    jobs = write("submit_seconds,run_seconds,tasks,cpu\n0,60,1,2\n", "jobs.csv")
    machines = write(MACHINES, "cluster_machine_list")
    status, _, err = call(
        "trace", jobs, "--machines", machines, "--no-scaling", "--horizon", 3, "-o", "x.json"
    )
    assert status == 2
    assert "jobs request cpu, and the list of machines (Philly machines) does not state" in err
