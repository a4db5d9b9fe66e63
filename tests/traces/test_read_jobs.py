"""Lists of jobs: four formats, one table; the first wrong field is named with its line."""

import math

import pandas as pd
import pytest

from optsched.problem import InputError
from optsched.traces import read_jobs

PHILLY = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,b
2017-10-09 06:13:03,2951.0,4,11804.0,a
2017-10-09 07:01:55,5.0,2,10.0,c
"""
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,\
deletion_time,scheduled_time
p0,12000,16384,1,1000,,LS,Running,40,100,50
p1,6000,12288,1,460,,LS,Running,10,90,10
p2,6000,0,0,0,,BE,Pending,20,90,
"""
SWF = """; Version: 2.2
  1 100 -1 83 4 -1 -1 -1 1200 -1 -1 7 1 -1 -1 1 -1 -1

  2 103 -1 -1 1 -1 -1 -1 1200 -1 -1 7 1 -1 -1 1 -1 -1
  3 50 -1 0 -1 -1 -1 8 1200 2097152 -1 9 1 -1 -1 1 -1 -1
"""
OWN_HEAD = "submit_seconds,run_seconds,tasks"
OWN = "submit_seconds,run_seconds,tasks,gpu,cpu,memory_gb,user\n5,60,2,0.5,4,,ann\n2,30,1,,,8,\n"


def test_philly_is_put_in_order_and_equal_times_keep_theirs(write):
    jobs = read_jobs(write(PHILLY))
    assert jobs["name"].tolist() == ["line 3", "line 2", "line 4"]
    assert jobs["submit_seconds"].tolist() == [0, 2932, 2932]
    assert jobs["run_seconds"].tolist() == [2951, 66, 5]
    assert jobs["tasks"].tolist() == [4, 1, 2]
    assert jobs["user"].tolist() == ["a", "b", "c"]
    assert (jobs["gpu"] == 1).all()
    assert jobs["cpu"].isna().all()
    assert jobs.attrs["start"] == pd.Timestamp("2017-10-09 06:13:03")


def test_many_equal_times_keep_the_order_of_the_file(write):
    rows = [f"{k % 3},{k},1" for k in range(300)]
    jobs = read_jobs(write("\n".join([OWN_HEAD, *rows])))
    assert jobs["run_seconds"].tolist() == [*range(0, 300, 3), *range(1, 300, 3), *range(2, 300, 3)]


def test_pods_have_demands_and_those_that_never_started_are_dropped(write):
    jobs = read_jobs(write(PODS))
    assert jobs["name"].tolist() == ["p1", "p0"]
    assert jobs["submit_seconds"].tolist() == [0, 30]
    assert jobs["run_seconds"].tolist() == [80, 50]
    assert jobs["gpu"].tolist() == [0.46, 1.0]
    assert jobs["cpu"].tolist() == [6, 12]
    assert jobs["memory_gb"].tolist() == [12, 16]
    assert jobs.attrs["dropped"] == 1


def test_pods_without_times_are_shapes_only(write):
    rows = [line.split(",")[:5] for line in PODS.splitlines()]
    jobs = read_jobs(write("\n".join(map(",".join, rows))))
    assert len(jobs) == 3
    assert jobs["submit_seconds"].isna().all()


def test_swf_knows_processors_used_or_requested(write, capsys):
    jobs = read_jobs(write(SWF, "log.swf"))
    assert "log.swf: 1 of 3 jobs of the log are left out" in capsys.readouterr().err
    assert jobs["name"].tolist() == ["3", "1"]  # 2 has no known running time
    assert jobs["tasks"].tolist() == [8, 4]
    assert jobs["submit_seconds"].tolist() == [0, 50]
    assert jobs["memory_gb"].iloc[0] == 2
    assert math.isnan(jobs["memory_gb"].iloc[1])
    assert jobs.attrs["dropped"] == 1


def test_swf_with_columns_of_its_own_says_nothing_of_memory(write):
    text = "\n".join(line + " x y" if line.startswith("  ") else line for line in SWF.splitlines())
    assert read_jobs(write(text, "log.swf"))["memory_gb"].isna().all()


def test_own_format_leaves_gaps_open(write):
    jobs = read_jobs(write(OWN))
    assert jobs["name"].tolist() == ["line 3", "line 2"]
    assert jobs["gpu"].isna().tolist() == [True, False]
    assert jobs["user"].tolist() == ["", "ann"]


NUMBER = (
    "expected a number at least 0 and at most 1e+09 (seconds), or nothing where it is not known"
)
TASKS = "expected a whole number at least 1 and at most 1e+06 (tasks at once)"
OWN_FORMAT = "own jobs: submit_seconds, run_seconds, tasks"
FORMATS = f"expected as Philly jobs: timestamp, duration, num_gpus; or as {OWN_FORMAT}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("66.0,1", "abc,1", f", line 2, duration: is 'abc', {NUMBER}"),
        ("66.0,1", "-,1", f", line 2, duration: is '-', {NUMBER}"),
        ("66.0,1", "nan,1", f", line 2, duration: is 'nan', {NUMBER}"),
        ("2951.0,4", "inf,4", f", line 3, duration: is 'inf', {NUMBER}"),
        ("2951.0,4", "-5,4", f", line 3, duration: is '-5', {NUMBER}"),
        ("2951.0,4", "2951.0,0", f", line 3, num_gpus: is '0', {TASKS}"),
        ("2951.0,4", "2951.0,1.5", f", line 3, num_gpus: is '1.5', {TASKS}"),
        (
            "2017-10-09 06",
            "9.10.17 06",
            ", line 3, timestamp: is '9.10.17 06:13:03', "
            "expected seconds, or a date such as 2017-10-09 07:01:55",
        ),
        ("duration", "length", f", line 1: lacks column duration, {FORMATS}"),
    ],
)
def test_wrong_field_of_philly(write, old, new, message):
    path = write(PHILLY.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_jobs(path)
    assert str(caught.value) == f"{path}{message}"


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (
            PODS,
            "40,100,50",
            "40,100,150",
            r"line 2, deletion_time: is '100', .* at least the sched",
        ),
        (PODS, "12000,", "-1,", r"line 2, cpu_milli: is '-1', expected a number at least 0"),
        (PODS, "1,460", "1,1460", r"line 3, gpu_milli: is '1460', .* at most 1000"),
        (PODS, "deletion_time", "end", r"line 1: lacks column deletion_time, expected as Alibaba"),
        (PODS, "memory_mib", "memory", r"line 1: lacks column memory_mib, expected as Alibaba"),
        (SWF, "  1 100", "  1 soon", r"line 2, submit: is 'soon', expected a number"),
        (SWF, "  1 100", "  1 -7", r"line 2, submit: is '-7', expected a number at least 0"),
        (SWF, "83 4", "83 4.5", r"line 2, used: is '4.5', expected a whole number of processors"),
        (
            SWF,
            "9 1 -1 -1 1 -1 -1",
            "9 1",
            r"line 5: has 13 fields, expected the 18 of the Standard",
        ),
        (SWF.rpartition("  3")[0], "83 4", "-1 4", r"expected at least one"),  # no time is known
        (OWN, "0.5,4", "-0.5,4", r"line 2, gpu: is '-0.5', .*or nothing where it is not known"),
        (OWN, "0.5,4", "nan,4", r"line 2, gpu: is 'nan', expected"),
        (OWN, "run_seconds", "run", r"line 1: lacks column run_seconds, expected as own jobs"),
    ],
)
def test_wrong_field(write, text, old, new, message):
    name = "log.swf" if text.startswith(";") else "jobs.csv"
    with pytest.raises(InputError, match=message):
        read_jobs(write(text.replace(old, new, 1), name))


def test_empty_trace(write):
    for text, name in (
        (OWN.splitlines()[0], "jobs.csv"),
        (PHILLY.splitlines()[0], "p.csv"),
        ("; no job\n", "a.swf"),
    ):
        with pytest.raises(InputError, match="names no job, expected at least one"):
            read_jobs(write(text, name))


def test_unknown_header(write):
    with pytest.raises(
        InputError, match=r"has the columns 'a, b', expected those of one format \(own "
    ):
        read_jobs(write("a,b\n1,2\n"))
    with pytest.raises(InputError, match="is a list of machines, expected a list of jobs"):
        read_jobs(write("sn,cpu_milli,memory_mib,gpu,model\n"))
