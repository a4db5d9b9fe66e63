"""A list is known by its columns, however it is written; what is not used of it is reported."""

import csv
import gzip
import io
import json
import math
import re
from contextlib import nullcontext

import pytest
from hostile import bounded
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from optsched.cli.app import app
from optsched.core.inputs import usual_family
from optsched.problem import InputError
from optsched.process import messages
from optsched.traces import read_jobs, read_machines

PAI = """job_id,num_inst,submit_time,num_cpu,num_gpu,gpu_type,duration,user
0,20,0,6.0,1.0,T4,7200,u1
1,1,600,12.0,2.0,V100,14400,u2
2,50,700,6.0,0.5,MISC,3600,u1
"""
TIRESIAS = """job_id,num_gpu,submit_time,iterations,model_name,duration,interval,start_time
0,1,5,606,vgg,1640,30,7
1,8,30,133,alex,1470,23,30
"""
HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,\
duration,queue
a,u,v,8,24,1,COMPLETED,2020-04-01 00:10:00,2020-04-01 00:20:00,2020-04-01 01:20:00,3600,600
b,u,v,0,32,2,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 00:01:00,60,0
"""
ACME = """job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,\
duration,queue,gpu_time
d0,u1,1,8.0,120,Other,COMPLETED,2023-03-01 00:00:00+08:00,2023-03-01 00:10:00.5+08:00,\
2023-03-01 01:10:00+08:00,3600.0,600.0,28800.0
d1,u1,1,8.0,120,Other,CANCELLED,2023-03-01 00:30:00+08:00,,,,,
"""
SACCT = """JobID|User|Submit|Start|End|Elapsed|NCPUS|NNodes|ReqMem|AllocTRES|State
1|ann|2024-01-01T00:00:00|2024-01-01T00:05:00|2024-01-02T01:05:00|1-01:00:00|4|1|8Gn|cpu=4|COMPLETED
1.batch||2024-01-01T00:05:00|2024-01-01T00:05:00|2024-01-02T01:05:00|1-01:00:00|4|1|||COMPLETED
2|bob|2024-01-01T00:10:00|2024-01-01T00:10:00|2024-01-01T00:12:30|00:02:30|16|2|2Gc|\
cpu=16,gres/gpu=4|FAILED
3|bob|2024-01-01T00:20:00|Unknown|Unknown|00:00:00|4|1|1000M|cpu=4|PENDING
4|bob|2024-01-01T00:21:00|None|2024-01-01T00:22:00|00:00:00|0|0|1000M||CANCELLED by 7
5|bob|2024-01-01T00:22:00|2024-01-01T00:22:00|Unknown|00:10:00|4|1|1000M|cpu=4|RUNNING
"""
OWN = """submit_seconds,run_seconds,tasks,gpu,cpu,memory_gb,user,start_seconds
0,7200.5,4,1,8,32,ann,10
600,14400.25,2,0.5,8,,bob,
"""
PHILLY = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,b
2017-10-09 06:13:03,2951.0,4,11804.0,"a, b"
"""
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time
p0,12000,16384,1,1000,40,100,50
p1,6000,12288,1,460,10,90,10
"""
GAVEL = """job_type,total_steps,scale_factor,arrival_time_s,priority_weight
net (batch size 8),600,1,5,1
A3C,100,4,2,1
"""
TEXTS = [PAI, TIRESIAS, HELIOS, ACME, SACCT, OWN, PHILLY, PODS, GAVEL]
UNNAMED_GAVEL = """ResNet-18 (batch size 32)\tpython3 main.py -a 0,5,5\tcifar10\t--num_steps\t1\t\
2931\t1\t1\t-1.000000\t0
A3C\tpython3 main.py\trl\t--max-steps\t0\t14775\t2\t1\t-1.000000\t55
"""
UNNAMED_SHOCKWAVE = """LM (batch size 10)\tpython3 main.py\tlm\t--steps\t1\t134583\t1\tgns\t1\t\
-1.000000\t1418\t0
ResNet-50 (batch size 64)\tpython3 main.py\timagenet\t-n\t1\t143450\t2\tstatic\t1\t-1.0\t3338\t55
"""
BATSIM = {
    "nb_res": 4,
    "jobs": [
        {"id": 1, "subtime": 0, "walltime": 20, "res": 4, "profile": "p"},
        {"id": "w!2", "subtime": 3.5, "res": 1, "profile": "p"},
        {"id": 3, "subtime": 5, "res": 1, "profile": "q"},
    ],
    "profiles": {
        "p": {"type": "delay", "delay": 10},
        "q": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
    },
}


def test_instances_of_the_simulator_of_2020_are_tasks(write, remarks):
    jobs = read_jobs(write(PAI))
    assert jobs.attrs["format"] == "Alibaba GPU v2020 simulator jobs"
    assert jobs["tasks"].tolist() == [20, 1, 50]
    assert jobs["gpu"].tolist() == [1, 2, 0.5]
    assert jobs["cpu"].tolist() == [6, 12, 6]
    assert jobs["user"].tolist() == ["u1", "u2", "u1"]
    assert remarks[0].endswith("columns that are not used: gpu_type")


def test_starts_of_tiresias_are_used(write, remarks):
    jobs = read_jobs(write(TIRESIAS))
    assert jobs.attrs["format"] == "Tiresias jobs"
    assert jobs["start_seconds"].tolist() == [2, 25]
    assert not remarks
    with pytest.raises(InputError, match="line 2, start_time: is '2', expected at least the subm"):
        read_jobs(write(TIRESIAS.replace("30,7", "30,2")))


def test_every_column_is_used_or_reported(write, remarks):
    read_jobs(
        write("timestamp,duration,num_gpus,gpu_time,status\n2017-10-09 07:01:55,66,1,66,Failed\n")
    )
    (line,) = remarks
    assert line.endswith("list.csv (Philly jobs): columns that are not used: status")
    read_machines(write("gpu,cpu,memory_gb,rack\n1,8,32,r1\n"))
    assert remarks[1].endswith("(own machines): columns that are not used: rack")
    read_jobs(write("submit_seconds,run_seconds,tasks,2020\n0,1,1,7\n"))
    assert remarks[2].endswith("(own jobs): columns that are not used: 2020")
    with pytest.raises(InputError, match="two columns are called '2020', expected different"):
        read_jobs(write("submit_seconds,run_seconds,tasks,2020,2020\n0,1,1,7,7\n"))


SWF_ROW = "1 0 5 100 4 -1 -1 -1 200 -1 1 1 1 1 1 1 -1 -1\n"


def test_columns_of_several_formats_are_refused(write):
    head = "timestamp,duration,num_gpus,submit_seconds,run_seconds,tasks"
    with pytest.raises(InputError, match=r"may be of several formats \(Philly jobs: .*; own jobs:"):
        read_jobs(write(f"{head}\n2017-10-09 07:01:55,66,1,0,1,1\n"))


def test_lists_without_a_header(write):
    jobs = read_jobs(write(UNNAMED_GAVEL, "gavel.trace"))
    assert jobs.attrs["format"] == "Gavel jobs"
    assert jobs["model"].tolist() == ["ResNet-18 (batch size 32)", "A3C"]
    assert jobs["steps"].tolist() == [2931, 14775]
    assert jobs["submit_seconds"].tolist() == [0, 55]
    jobs = read_jobs(write(gzip.compress(UNNAMED_SHOCKWAVE.encode()), "s.trace"))
    assert jobs.attrs["format"] == "Shockwave jobs"
    assert jobs["tasks"].tolist() == [1, 2]
    assert jobs["run_seconds"].tolist() == [1418, 3338]
    for text in ("M1,1,j_1,1,Terminated,87076,87083,50.0,0.2\n", "1\t2\t3\t4\t5\t6\t7\t8\t9\t10\n"):
        with pytest.raises(InputError, match="line 1: has no header, since it holds the number 1;"):
            read_jobs(write(text))


def test_nodes_of_slurm_are_those_of_its_resources_without_their_column(write):
    head = "JobID|Submit|Elapsed|NCPUS|AllocTRES|ReqTRES|NodeList\n"
    rows = [
        ("cpu=4,mem=1G,node=2", "cpu=4,node=3", "n[1-4]"),
        ("", "billing=4,cpu=4,node=4", ""),
        ("cpu=4", "", "n[1-3]"),
        ("cpu=4", "", ""),
    ]
    text = head + "".join(
        f"{k}|2024-01-01T00:00:00|00:10:00|4|{'|'.join(row)}\n" for k, row in enumerate(rows)
    )
    nodes = read_jobs(write(text, "sacct.txt"))["nodes"].tolist()
    assert nodes[:3] == [2, 4, 3]
    assert math.isnan(nodes[3])
    bare = "\n".join(line.rpartition("|")[0] for line in text.splitlines())  # without NodeList
    assert read_jobs(write(bare, "bare.txt"))["nodes"].tolist()[:2] == [2, 4]


def test_helios_and_acme(write):
    jobs = read_jobs(write(HELIOS))
    assert jobs["tasks"].tolist() == [2, 8]
    assert jobs["gpu"].tolist() == [0, 1]
    assert jobs["cpu"].tolist() == [16, 3]
    assert jobs["start_seconds"].tolist() == [0, 1200]
    never = ACME.replace("00:30:00+08:00,,,,,", "00:30:00+08:00,,,0.0,,")  # cancelled in the queue
    assert never != ACME
    jobs = read_jobs(write(never))
    assert jobs.attrs["dropped"] == 1
    jobs = read_jobs(write(ACME))
    assert jobs["cpu"].tolist() == [15]
    assert jobs["start_seconds"].tolist() == [600.5]
    assert jobs.attrs["dropped"] == 1
    assert str(jobs.attrs["start"]).startswith("2023-03-01 00:00:00")


def test_slurm(write, remarks, tmp_path):
    jobs = read_jobs(write(SACCT, "sacct.txt"))
    assert jobs["name"].tolist() == ["1", "2", "5"]
    assert jobs["run_seconds"].tolist() == [90000, 150, 600]
    assert jobs["tasks"].tolist() == [4, 4, 4]
    assert jobs["gpu"].tolist() == [0, 1, 0]
    assert jobs["cpu"].tolist() == [1, 4, 1]
    assert jobs["memory_gb"].tolist()[:2] == [2, 8]
    assert jobs["start_seconds"].tolist() == [300, 600, 1320]
    waits = (
        "the means do not include their waiting times, and policies do not have to run them: over "
        "all jobs of the log, the distance to your cluster may be larger or smaller"
    )
    queued = "24.8 h of waiting until the log ends"  # job 3, until job 1 ends
    counts = f"1 PENDING before start ({queued}), 1 CANCELLED before start"
    assert remarks == [
        f"{tmp_path / 'sacct.txt'}: 2 of 5 jobs of the log are left out: {counts}; {waits}",
        f"{tmp_path / 'sacct.txt'}: 1 job of the log still ran when it was taken: the rest of "
        "its run time is missing, so with it the load is understated, and policies and the "
        "optimum may wait too little; recorded waiting times are right",
    ]
    for gres, gpus in (("gres/gpu:a100=4,gres/gpu=4", 4), ("gres/gpu:a=1,gres/gpu:b=3", 4)):
        jobs = read_jobs(write(SACCT.replace("gres/gpu=4", gres).replace("2Gc", "0n")))
        assert jobs["tasks"].tolist() == [4, gpus, 4]
        assert math.isnan(jobs["memory_gb"].iloc[1])  # 0: all of a machine
    read_jobs(write(SACCT.replace("3|bob", "3_[0,2-5:2%1]|bob")))
    assert "4 of 7 jobs of the log are left out: 3 PENDING before start (74.2 h" in remarks[-2]
    date = r"2024-01-0(\d)T(\d\d):(\d\d):00"
    epoch = re.sub(
        date, lambda m: str(86400 * int(m[1]) + 3600 * int(m[2]) + 60 * int(m[3])), SACCT
    )
    seconds = read_jobs(write(epoch.replace("2024-01-01T00:12:30", "87150")))
    assert seconds["start_seconds"].tolist() == [300, 600, 1320]
    rows = [line.split("|") for line in SACCT.splitlines()]
    without = "\n".join("|".join(r[:3] + r[5:]) for r in rows)  # neither Start nor End
    assert read_jobs(write(without, "bare.txt"))["name"].tolist() == ["1", "2", "5"]
    without = "\n".join("|".join(r[:3] + r[5:10]) for r in rows)  # and no State
    assert read_jobs(write(without, "barer.txt"))["name"].tolist() == ["1", "2", "5"]
    text = "\n".join("|".join(r[:4] + r[5:]) for r in rows)  # without End
    suspended = text.replace("RUNNING", "SUSPENDED")
    assert read_jobs(write(suspended, "endless.txt"))["name"].tolist() == ["1", "2"]
    assert "1 SUSPENDED without a run time;" in remarks[-1]
    limits = ("Partition|Timelimit", "gpu|2-00:00:00", "|", *["cpu|UNLIMITED"] * 4)
    text = "\n".join(map("|".join, zip(SACCT.splitlines(), limits, strict=True)))
    jobs = read_jobs(write(text, "limits.txt"))
    assert jobs["request_seconds"].iloc[0] == 172800
    assert math.isnan(jobs["request_seconds"].iloc[1])
    assert jobs["partition"].tolist() == ["gpu", "cpu", "cpu"]
    raw = text.replace("Timelimit", "TimelimitRaw").replace("2-00:00:00", "2880")
    found = read_jobs(write(raw, "raw.txt"))["request_seconds"]
    assert found.tolist() == pytest.approx([172800, math.nan, math.nan], nan_ok=True)
    with pytest.raises(InputError, match=r"TimelimitRaw: is '2 d', expected a number of minutes"):
        read_jobs(write(raw.replace("2880", "2 d"), "raw.txt"))
    with pytest.raises(InputError, match=r"line 2, Timelimit: is '2 d', expected a time such as"):
        read_jobs(write(text.replace("2-00:00:00", "2 d")))
    for old, new in (("|1-01:00:00|4|1|8", "|long|4|1|8"), ("00:02:30", "2 h")):
        with pytest.raises(InputError, match=r"Elapsed: is .*, expected a time such as 1-02:03:04"):
            read_jobs(write(SACCT.replace(old, new)))


def test_running_jobs_of_slurm_count_with_the_time_they_had_run(write, remarks):
    rows = [line.split("|") for line in SACCT.splitlines()]
    rows[6][5] = "3-00:00:00"  # job 5 runs until the log ends, then longest of all
    rows += [["6", "eve", *rows[6][2:]], ["7", "eve", *rows[6][2:-1], "SUSPENDED"]]
    rows[7][3], rows[7][5] = "2024-01-02T00:22:00", "Unknown"
    with_end = read_jobs(write("\n".join(map("|".join, rows)), "list.txt"))
    without = read_jobs(write("\n".join("|".join(r[:4] + r[5:]) for r in rows), "list.txt"))
    assert without.equals(with_end)
    assert with_end["run_seconds"].tolist() == [90000, 150, 3 * 86400, 2 * 86400]
    left_out, running = remarks[:2]
    assert remarks[2:] == [left_out, running]
    assert "1 PENDING before start (72 h" in left_out
    assert "1 SUSPENDED" in left_out
    assert (
        ": 2 jobs of the log still ran when it was taken: the rest of their run times is" in running
    )


def test_memory_per_node_is_not_guessed(write, remarks):
    rows = [line.split("|") for line in SACCT.splitlines()]
    text = "\n".join("|".join(r[:7] + r[8:9]) for r in rows)
    assert read_jobs(write(text))["memory_gb"].isna().all()
    assert "columns that are not used: ReqMem" in remarks[0]


def test_batsim(write, remarks):
    jobs = read_jobs(write(json.dumps(BATSIM), "load.json"))
    assert jobs["name"].tolist() == ["1", "w!2"]
    assert jobs["run_seconds"].tolist() == [10, 10]
    assert jobs["tasks"].tolist() == [4, 1]
    assert jobs["request_seconds"].tolist() == pytest.approx([20, math.nan], nan_ok=True)
    assert jobs.attrs["processors"] == 4
    assert "1 of 3 jobs of the log are left out" in remarks[0]
    for walltime, run in ((8, 8), (-1, 10), (None, 10)):  # a job is killed at its walltime
        rows = [job | {"walltime": walltime} for job in BATSIM["jobs"]]
        jobs = read_jobs(write(json.dumps(BATSIM | {"jobs": rows}), "load.json"))
        assert jobs["run_seconds"].tolist() == [run, run]
    for wrong, message in (
        ({"jobs": []}, "is no instance file and no job log: profiles: Field required"),
        ({**BATSIM, "profiles": {}}, "job 1: profile 'p' is missing"),
        (
            {**BATSIM, "jobs": [{"id": 1, "subtime": 0, "res": 0, "profile": "p"}]},
            r"jobs.0.res: is 0",
        ),
    ):
        with pytest.raises(InputError, match=message):
            read_jobs(write(json.dumps(wrong), "load.json"))


def test_decimal_commas(write, remarks):
    text = OWN.replace(",", ";").replace("7200.5", "7200,5").replace("14400.25", "14400,25")
    assert read_jobs(write(text.replace("0.5", "0,5"))).equals(read_jobs(write(OWN)))
    assert remarks[0].endswith("list.csv: decimal commas are in run_seconds, gpu")
    for field, comma in (
        ("7.200,5", "line 2 has a comma: '7.200,5'"),
        ("1.200", "line 3 has a comma: '14400,25'"),  # what is a point, next to commas?
        ("7,200,5", "line 2 has a comma: '7,200,5'"),
    ):
        mark = rf"line 2, run_seconds: is '{field}', expected one decimal mark .*\({comma}\)"
        with pytest.raises(InputError, match=mark):
            read_jobs(write(text.replace("7200,5", field)))
    with pytest.raises(InputError, match="line 2, run_seconds: is '7200,5', expected a number"):
        read_jobs(write(OWN.replace("7200.5", '"7200,5"')))


def test_decimal_commas_in_times(write, remarks):
    for first in ("0,5", "0"):
        text = f"submit_seconds;run_seconds;tasks\n{first};60,5;2\n10,5;30;1\n"
        assert read_jobs(write(text))["submit_seconds"].tolist() == [
            0,
            10.5 - float(first.replace(",", ".")),
        ]
    assert remarks[-1].endswith("decimal commas are in run_seconds, submit_seconds")


def test_what_an_own_list_may_have_got_wrong_is_remarked(write, remarks):
    head = "name,submit_seconds,run_seconds,tasks\n"
    naive, zoned = "a,2024-01-01 08:00,60,1\n", "{},2024-01-01T08:00{},60,1\n"
    read_jobs(write(head + naive + naive.replace("a", "b", 1)))
    read_jobs(
        write(
            head
            + "".join(
                zoned.format(n, z) for n, z in zip("abc", ("Z", "+01:00", "-0100"), strict=True)
            )
        )
    )
    assert remarks == []
    read_jobs(write(head + naive + naive))
    assert [told.partition(": ")[2] for told in remarks] == [
        "2 jobs share their name with another one"
    ]


def test_jobs_that_a_log_holds_twice_are_remarked(write, remarks):
    head, row = SACCT.splitlines()[:2]
    requeued = "1 job was requeued: each attempt counts as a job that arrives at its recorded time"
    for text, name, told in (
        (f"{head}\n{row}\n{row}8\n", "sacct.txt", requeued),
        (2 * SWF_ROW, "twice.swf", "2 jobs share their name with another one"),
    ):
        remarks.clear()
        assert len(read_jobs(write(text, name))) == 2
        assert remarks[-1].endswith(told)


@pytest.mark.parametrize("date", ["0001-01-01 00:00:00", "1677-01-01", "9999-12-31T23:59:59Z"])
def test_a_date_beyond_any_log_is_refused(write, date):
    with pytest.raises(InputError, match=r"line 2, submit_seconds: is '.*', expected seconds, or"):
        read_jobs(write(f"submit_seconds,run_seconds,tasks\n{date},10,1\n"))


def test_a_duration_of_slurm_has_seconds(write):
    head = "JobID|Submit|Elapsed|NCPUS|ReqMem\n1|2024-01-01T00:00:00|"
    assert read_jobs(write(f"{head}1-02:30:00|4|8G\n"))["run_seconds"].tolist() == [95400]
    with pytest.raises(InputError, match="Elapsed: is '1-02:30', expected a time such as"):
        read_jobs(write(f"{head}1-02:30|4|8G\n"))


LONG = "1" * 5000
ROW = {
    **{"JobID": "7", "Submit": "2024-01-01T00:00:00", "Elapsed": "01:00:00", "Timelimit": "02:00"},
    **{"AllocTRES": "cpu=4,mem=8G,node=1", "ReqTRES": "", "ReqMem": "8G", "NodeList": "n1"},
}


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("JobID", "7_[0-99999999999999999999]"),
        ("JobID", f"7_[0-{LONG}]"),
        ("Elapsed", f"{LONG}-01:01:01"),
        ("Elapsed", f"{LONG}.0"),
        ("Timelimit", f"{LONG}-01:01:01"),
        ("AllocTRES", f"cpu=4,gres/gpu={LONG}"),
        ("AllocTRES", f"cpu=4,gres/gpu:a100={LONG}"),
        ("AllocTRES", f"cpu=4,node={LONG}"),
        ("AllocTRES", f"cpu={LONG}"),
        ("AllocTRES", f"cpu=4,mem={LONG}G"),
        ("ReqMem", f"{LONG}G"),
        ("ReqMem", f"{LONG}Gc"),
    ],
    ids=range(12),
)
def test_numbers_of_slurm_that_are_too_large(write, column, text):
    row = ROW | {column: text}
    with pytest.raises(InputError, match=rf"line 2, {column}: is '.*', expected .*at most 1e\+"):
        read_jobs(write(f"{'|'.join(row)}\n{'|'.join(row.values())}\n"))
    if column == "AllocTRES":
        row = ROW | {"AllocTRES": "", "ReqTRES": text}
        with pytest.raises(InputError, match=r"line 2, ReqTRES: is '.*', expected at most 1e\+06"):
            read_jobs(write(f"{'|'.join(row)}\n{'|'.join(row.values())}\n"))


@pytest.mark.parametrize("name", ["7_[0-7:0]", "7_[,]"])
def test_a_name_of_slurm_that_is_no_array(write, name):
    row = ROW | {"JobID": name}
    assert len(read_jobs(write(f"{'|'.join(row)}\n{'|'.join(row.values())}\n"))) == 1


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("NodeList", "n" + "[1]" * 40_000),
        ("NodeList", "n[1-100000]," * 9_000),
        ("NodeList", f"{'x' * 100_000}[1-100000]"),
        ("NodeList", f"n[{LONG}-{LONG}]"),
        ("AllocTRES", "cpu=1," + "gres/gpu:" * 14_000),
        ("Submit", f"2024-01-01T00:00:00{':' * 131_000}"),
    ],
    ids=range(6),
)
def test_long_texts_of_slurm_are_read_in_no_time(write, column, text):
    row = ROW | {"AllocTRES": "cpu=4", column: text}
    path = write(f"{'|'.join(row)}\n{'|'.join(row.values())}\n")
    with bounded(), nullcontext() if column != "Submit" else pytest.raises(InputError):
        read_jobs(path)


def test_memory_of_slurm_that_cannot_be_read_is_remarked(write, remarks):
    head = "JobID|Submit|Elapsed|NCPUS|ReqMem\n1|2024-01-01T00:00:00|01:00:00|4|"
    assert read_jobs(write(f"{head}1P\n"))["memory_gb"].tolist() == [2**18]
    assert remarks == []
    assert read_jobs(write(f"{head}16GB\n"))["memory_gb"].isna().all()
    assert "the memory of 1 jobs counts as not known: ReqMem is '16GB'" in remarks[0]


@pytest.mark.parametrize("requested", ["0", "", "0n", "?"])
def test_memory_that_slurm_allocates_unrequested_is_taken(write, remarks, requested):
    head = "JobID|Submit|Elapsed|NCPUS|NNodes|ReqMem|AllocTRES\n"
    rows = f"1|2024-01-01T00:00:00|01:00:00|4|2|{requested}|cpu=4,mem=256G,node=2\n"
    rows += "2|2024-01-01T00:00:00|01:00:00|4|2|2Gn|cpu=4,mem=8G,node=2\n"
    assert read_jobs(write(head + rows))["memory_gb"].tolist() == [64, 1]
    assert remarks == []


def test_resources_of_slurm_are_those_of_its_tres(write, remarks):
    """Without NCPUS and ReqMem; what did not run has what it requested."""
    head = "JobID|Submit|Start|Elapsed|State|AllocTRES|ReqTRES\n"
    rows = (
        "1|2024-01-01T00:00:00|2024-01-01T00:00:00|01:00:00|COMPLETED|billing=8,cpu=8,mem=300G|\n"
        "2|2024-01-01T00:00:00|2024-01-01T00:00:00|01:00:00|COMPLETED||cpu=6,mem=3072M\n"
        "3|2024-01-01T00:00:00|2024-01-01T00:00:00|01:00:00|COMPLETED|"
        "cpu=4,gres/gpu:a100=2,gres/gpu=2,mem=0,node=1|gres/gpu:A100=2\n"
        "4|2024-01-01T00:00:00|2024-01-01T00:00:00|01:00:00|COMPLETED|cpu=4,gres/gpu:v100=1|\n"
    )
    jobs = read_jobs(write(head + rows))
    assert jobs["tasks"].tolist() == [8, 6, 2, 1]
    assert jobs["cpu"].tolist() == [1, 1, 2, 4]
    assert jobs["memory_gb"].tolist()[:2] == [37.5, 0.5]
    assert jobs["memory_gb"].isna().tolist() == [False, False, True, True]
    assert jobs["gpu_type"].tolist() == ["", "", "a100", ""]
    assert remarks == []
    with pytest.raises(InputError, match=r"states no cores, .* as in sacct --allusers"):
        read_jobs(write("JobID|Submit|Elapsed\n1|2024-01-01T00:00:00|01:00:00\n"))
    without = r"states no run times, expected a column Elapsed or .* as in sacct --allusers"
    with pytest.raises(InputError, match=without):
        read_jobs(write("JobID|Submit|NCPUS\n1|2024-01-01T00:00:00|4\n"))
    row = "1|2024-01-01T00:00:00|01:00:00|4\n"
    assert read_jobs(write(f"JobID|Submit|Elapsed|ReqCPUS\n{row}"))["tasks"].tolist() == [4]


def test_jobs_of_slurm_arrive_when_they_are_eligible(write, remarks):
    head = "JobID|Submit|Eligible|Start|Elapsed|State|NCPUS\n"
    rows = (
        "1|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T00:10:00|01:00:00|COMPLETED|4\n"
        "2|2024-01-01T00:00:00|2024-01-01T01:10:00|2024-01-01T01:12:00|01:00:00|COMPLETED|4\n"
        "3|2024-01-01T00:30:00|Unknown|2024-01-01T00:40:00|01:00:00|COMPLETED|4\n"
        "4|2024-01-01T00:30:00|2024-01-01T09:00:00|2024-01-01T00:40:00|01:00:00|COMPLETED|4\n"
    )
    jobs = read_jobs(write(head + rows)).set_index("name")
    waits = jobs["start_seconds"] - jobs["submit_seconds"]
    assert waits[["1", "2", "3", "4"]].tolist() == [600, 120, 600, 0]
    told = "2 jobs were eligible later than submitted"
    assert told in remarks[0]
    assert "1.33 h in all, which are not waiting times" in remarks[0]
    pending = "5|2024-01-01T00:00:00|2024-01-03T00:00:00|Unknown|00:00:00|PENDING|4\n"
    read_jobs(write(head + rows + pending))
    assert remarks[1] == remarks[0]
    bare = ["|".join(r.split("|")[:3] + r.split("|")[4:]) for r in (head + rows).split("\n") if r]
    assert len(read_jobs(write("\n".join(bare)))) == 4
    assert "9.67 h in all" in remarks[-1]  # without Start, all are counted


@pytest.mark.parametrize(
    ("user", "state", "told"),
    [
        ("bob", "FAILED", "of 21 jobs, all are of user bob: is the log complete?"),
        ("eve", "COMPLETED", "of 21 jobs, all are COMPLETED: is the log complete?"),
        ("bob", "COMPLETED", "of 21 jobs, all are of user bob and all are COMPLETED: is the log"),
        ("eve", "FAILED", None),
    ],
)
def test_a_log_of_one_user_or_one_state_is_remarked(write, remarks, user, state, told):
    head = "JobID|User|Submit|Start|Elapsed|State|NCPUS\n"
    row = "{}|{}|2024-01-01T00:00:00|2024-01-01T00:00:00|01:00:00|{}|4\n"
    rows = [row.format(i, "bob", "COMPLETED") for i in range(20)]
    read_jobs(write(head + "".join(rows)))
    assert remarks == []  # too few to tell
    read_jobs(write(head + "".join(rows) + row.format(20, user, state)))
    assert (told is None and not remarks) or told in remarks[0]


SLURM = "JobID|Submit|Start|End|Elapsed|State|AllocTRES\n"
RAN = "{}|2024-01-01T00:00:00|2024-01-01T0{}:00:00|2024-01-01T0{}:00:00|01:00:00|COMPLETED|cpu=4\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "JobID           Submit    Elapsed\n------------ ---------- ----------\n1  x  y\n",
            r"is a table of sacct in columns, .* expected that of --parsable2: sacct --allusers",
        ),
        (
            "JobID,Submit,Elapsed,AllocTRES\n1,2024-01-01,01:00:00,cpu=4,node=1\n",
            r"line 2: has 5 fields, expected 4 .*; AllocTRES of sacct contains commas: use --par",
        ),
        (SLURM, "names no job, expected at least one"),
        (
            SLURM + RAN.format(1, 5, 4) + RAN.format(2, 6, 5) + RAN.format(3, 4, 5),
            r"End is before Start in 2 rows, .*: the two columns seem swapped",
        ),
        (
            SLURM + RAN.format(1, 4, 5) + RAN.format(2, 4, 5)[:40],
            r"line 3: has 3 fields, expected 7 as in the header; it is the last line: the file see",
        ),
        (
            SLURM.replace("End", "JobName") + RAN.format(1, 4, "a|b"),
            r"has 8 fields, expected 7 .*; a name may contain \|: leave JobName out of --format",
        ),
        (SLURM + RAN.format(1, 4, 5)[:40] + "\n" + RAN.format(2, 4, 5), r"as in the header$"),
    ],
)
def test_what_is_wrong_with_a_table_of_sacct_is_named(write, text, told):
    with pytest.raises(InputError, match=told):
        read_jobs(write(text, "sacct.txt"))


@pytest.mark.parametrize(
    ("columns", "runs"),
    [
        (("Elapsed", "ElapsedRaw", "Start", "End"), [3600, 1800, 600]),
        (("ElapsedRaw", "Start", "End"), [3601, 1801, 601]),
        (("Start", "End"), [3602, 1802, 7802]),
    ],
)
def test_run_times_of_slurm_are_those_of_the_first_column_that_states_them(
    write, remarks, columns, runs
):
    """Job 3 still ran when the log was taken; job 4 waited; job 5 was cancelled in the queue."""
    names = ["JobID", "Submit", "State", "NCPUS", "Start", "End", "Elapsed", "ElapsedRaw"]
    day = "2024-01-01T"
    rows = [
        (1, "COMPLETED", f"{day}01:00:00", f"{day}02:00:02", "01:00:00", 3601),
        (2, "FAILED", f"{day}03:00:00", f"{day}03:30:02", "00:30:00", 1801),
        (3, "RUNNING", f"{day}01:20:00", "Unknown", "00:10:00", 601),
        (4, "PENDING", "Unknown", "Unknown", "00:00:00", 0),
        (5, "CANCELLED by 7", "None", f"{day}01:00:00", "", ""),
    ]
    kept = [*names[:4], *columns]
    text = "|".join(kept) + "\n"
    for name, state, *rest in rows:
        cells = dict(zip(names, [name, f"{day}00:00:00", state, 4, *rest], strict=True))
        text += "|".join(str(cells[x]) for x in kept) + "\n"
    jobs = read_jobs(write(text))
    assert jobs["name"].tolist() == ["1", "2", "3"]
    assert jobs["run_seconds"].tolist() == runs  # of job 3, else until the last end
    assert not any("not used" in line for line in remarks)
    with pytest.raises(InputError, match="ElapsedRaw: is '1:00', expected a number of seconds"):
        read_jobs(write(f"JobID|Submit|NCPUS|ElapsedRaw\n1|{day}00:00:00|4|1:00\n"))
    early = "1|{0}00:00:00|4|{0}02:00:00|{0}0{1}:00:00\n"
    text = "JobID|Submit|NCPUS|Start|End\n" + "".join(early.format(day, k) for k in (3, 1, 4))
    with pytest.raises(InputError, match=r"line 3, End: is .*, expected at least the Start of the"):
        read_jobs(write(text))


def test_what_was_cancelled_in_the_queue_never_ran(write, remarks):
    """Older Slurm writes that it started and ended at the same time."""
    head = "JobID|Submit|Start|Elapsed|State|NCPUS\n"
    row = "{}|2024-01-01T00:00:00|2024-01-01T00:10:00|{}|{}|4\n"
    rows = row.format(1, "01:00:00", "COMPLETED") + row.format(2, "00:00:00", "CANCELLED by 7")
    assert read_jobs(write(head + rows))["name"].tolist() == ["1"]
    assert "1 of 2 jobs of the log are left out: 1 CANCELLED before start; " in remarks[0]


def test_only_the_last_state_of_a_job_counts_where_exports_overlap(write, remarks):
    head = "JobID|Submit|Start|Elapsed|State|NCPUS\n"
    row = "{}|2024-01-0{}T00:00:00|{}|{}|{}|4\n"
    at = "2024-01-02T00:00:00"
    states = (
        (at, "01:00:00", "RUNNING"),
        (at, "02:00:00", "RUNNING"),
        ("Unknown", "0:0", "PENDING"),
    )
    rows = [row.format(7, 1, *state) for state in states]
    ended = row.format(7, 1, at, "03:00:00", "COMPLETED")
    other = row.format(7, 2, at, "04:00:00", "FAILED")  # its number was used again
    for text, runs in ((ended, [3, 4]), ("", [2, 4])):  # or it still ran when the log was taken
        jobs = read_jobs(write("".join([head, *rows[:2], text, rows[2], other])))
        assert (jobs["run_seconds"] / 3600).tolist() == runs
        left_out = 2 + bool(text)
        assert f"{left_out} rows are left out, which repeat another one or an" in remarks[0]
        remarks.clear()


def test_headers_within_a_table_are_left_out(write, remarks):
    text = SLURM + RAN.format(1, 4, 5) + SLURM + RAN.format(2, 4, 5)
    assert read_jobs(write(text))["name"].tolist() == ["1", "2"]
    assert remarks[0].endswith(": line 3 repeats the header: left out")
    read_jobs(write(text + SLURM))
    assert any(": line 3 repeats the header, 2 lines do: left out" in line for line in remarks)


def test_rows_of_slurm_that_repeat_and_clocks_that_changed_are_remarked(write, remarks):
    head = "JobID|Submit|Start|End|Elapsed|State|NCPUS\n"
    one = "1|2026-10-25T00:00:00|2026-10-25T00:00:00|2026-10-25T04:00:30|04:00:00|COMPLETED|4\n"
    two = "2|2026-10-25T00:00:00|2026-10-25T01:00:00|2026-10-25T04:00:00|04:00:00|COMPLETED|4\n"
    wait = "3|2026-10-25T00:00:00|Unknown|Unknown|00:00:00|PENDING|4\n"
    jobs = read_jobs(write(head + one + two + wait + two + wait))
    assert jobs["run_seconds"].tolist() == [4 * 3600] * 2
    assert "2 rows are left out, which repeat another one" in remarks[0]
    assert "differs from Elapsed for 1 job, the first is 2: 10800 s and 14400 s; " in remarks[1]
    assert "1 of 3 jobs of the log are left out: 1 PENDING before start" in remarks[2]
    assert len(remarks) == 3


def test_a_header_near_to_another_format_is_told_the_own_one(write):
    head = "job_id,submitted,runtime\n1,0,60\n"
    own = r"own jobs: submit_seconds, run_seconds, tasks"
    with pytest.raises(InputError, match=rf"expected those of one format \({own}; or Philly jobs"):
        read_jobs(write(head))
    near = head.replace("submitted,", "submit_time,num_gpus,")
    with pytest.raises(InputError, match=f"expected as Tiresias jobs: .*; or as {own}$"):
        read_jobs(write(near))


def test_dates_with_zones_and_fractions(write):
    for first, second in (
        ("2017-11-05 01:30:00+00:00", "2017-11-05 03:30:00.250+01:00"),
        ("2017-11-05T01:30:00Z", "2017-11-05T02:30:00.25Z"),
        ("2017-11-05T01:30:00", "2017-11-05 02:30:00.25"),
    ):
        jobs = read_jobs(
            write(f"timestamp,duration,num_gpus\n{first},5,1\n{second},,1\n{second},6,1")
        )
        assert jobs["submit_seconds"].tolist() == [0, 3600.25]
        assert jobs.attrs["dropped"] == 1  # no running time
        assert str(jobs.attrs["start"]).startswith("2017-11-05 01:30:00")
    for wrong in ("2017-13-05 01:30:00", "5.11.2017", "20171105", "now"):
        with pytest.raises(
            InputError, match=r"line 3, timestamp: is .*, expected seconds, or a da"
        ):
            read_jobs(write(f"timestamp,duration,num_gpus\n2017-11-05,5,1\n{wrong},5,1\n"))
    for first, second, zone in (
        ("+08:00", "", "with"),
        ("", "+08", "without"),
        ("", "Z", "without"),
    ):
        day = "2017-11-05 01:30:00"
        rows = f"timestamp,duration,num_gpus\n{day}{first},5,1\n{day}{second},5,1\n"
        with pytest.raises(InputError, match=rf"line 3, .*, expected a date {zone} a time zone"):
            read_jobs(write(rows))


@st.composite
def written(draw):
    """Draw a list, and the same list written otherwise: bytes and the ending of the name."""
    text = draw(st.sampled_from(TEXTS))
    rows = [*csv.reader(io.StringIO(text), delimiter="|" if text is SACCT else ",")]
    order = draw(st.permutations(range(len(rows[0]))))
    made = io.StringIO()
    writer = csv.writer(
        made,
        delimiter=draw(st.sampled_from(",;|\t")),
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        lineterminator=draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n"])),
    )
    writer.writerows([row[k] for k in order] for row in rows)
    data = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + made.getvalue().encode()
    ending = draw(st.sampled_from(["csv", "csv.gz", "CSV", "txt"]))
    return text, gzip.compress(data) if ending.endswith("gz") else data, ending


@settings(max_examples=60, deadline=None)
@given(pair=written())
def test_it_does_not_matter_how_a_list_is_written(tmp_path_factory, pair):
    text, data, ending = pair
    folder = tmp_path_factory.mktemp("lists")
    (folder / "usual.csv").write_text(text)
    (folder / f"other.{ending}").write_bytes(data)
    with messages.silenced():
        usual, other = read_jobs(folder / "usual.csv"), read_jobs(folder / f"other.{ending}")
    unnamed = usual["name"].str.startswith("line ").all()  # numbers of lines may differ
    columns = [c for c in usual if not (unnamed and c == "name")]
    assert other[columns].equals(usual[columns])
    assert other.attrs == usual.attrs


SWF_PARTS = """; Preemption: Yes
1 0 10 3600 4 -1 -1 4 3600 -1 1 1 1 1 1 1 -1 -1
1 -1 10 1800 4 -1 -1 4 3600 -1 2 1 1 1 1 1 -1 -1
1 0 600 1800 4 -1 -1 4 3600 -1 3 1 1 1 1 1 -1 -1
2 100 0 600 2 -1 -1 2 600 -1 5 1 1 1 1 1 -1 -1
3 100 0 600 2 -1 -1 2 600 -1 4 1 1 1 1 1 -1 -1
"""
SWF_HEAD = (
    "id submit wait runtime cpus cputimeused usedmem cpusreq walltime memreq status user group "
    "application queue partition precjob thinktime"
)


def test_parts_of_interrupted_jobs_do_not_count(write, remarks):
    jobs = read_jobs(write(SWF_PARTS, "log.swf"))
    assert jobs["name"].tolist() == ["1", "2"]
    assert (jobs["run_seconds"] * jobs["tasks"]).tolist() == [4 * 3600, 2 * 600]
    assert "3 lines are parts of interrupted jobs" in remarks[0]
    assert "1 jobs have no line with their totals and are left out" in remarks[0]


def test_preceding_jobs_are_reported(write, remarks):
    line = "{} 20 0 1200 1 -1 -1 1 1200 -1 1 1 1 1 1 1 {} 0\n"
    text = "".join(line.format(*pair) for pair in ((1, -1), (2, 1), (3, 0), (4, 2), (5, 5)))
    read_jobs(write(text, "log.swf"))
    assert remarks[0].endswith(
        "2 of 5 jobs name a preceding job (column 17); dependencies are not modelled"
    )


def test_a_header_of_swf_is_no_job(write):
    plain = read_jobs(write(SWF_PARTS, "log.swf"))
    for head in (SWF_HEAD, f"; a comment\n\n{SWF_HEAD}"):
        assert read_jobs(write(f"{head}\n{SWF_PARTS}", "log.swf")).equals(plain)
    with pytest.raises(InputError, match="line 2, run time: is 'runtime', exp"):
        read_jobs(
            write(
                SWF_PARTS.replace("1 0 10", f"{SWF_HEAD}\n1 0 10", 1).replace(
                    "; Preemption: Yes", "9 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
                ),
                "log.swf",
            )
        )


def test_lone_carriage_returns_end_lines(write):
    rows = "".join(f"{k},{k % 7},1\r" for k in range(40_000))  # a line end at the seam of pieces
    jobs = read_jobs(write(f"submit_seconds,run_seconds,tasks\r{rows}"))
    assert len(jobs) == 40_000
    assert jobs["name"].iloc[-1] == "line 40001"
    mixed = OWN.replace("\n", "\r\n", 1).replace("\n6", "\r6", 1)
    assert read_jobs(write(mixed)).equals(read_jobs(write(OWN)))
    assert math.isnan(read_jobs(write(OWN))["memory_gb"].iloc[1])


@pytest.mark.parametrize(
    ("text", "name", "family"),
    [
        *(
            (SACCT, "sacct.txt", "rigid"),
            (SWF_PARTS, "log.swf", "rigid"),
            (HELIOS, "h.csv", "oasis"),
        ),
        ("submit_seconds,run_seconds,tasks,request_seconds\n0,5,1,9\n", "own.csv", "rigid"),
        ("submit_seconds,run_seconds,tasks\n0,5,1\n", "own.csv", "oasis"),
    ],
)
def test_logs_of_batch_schedulers_are_of_rigid_jobs(write, remarks, text, name, family):
    path = write(text, name)
    chosen, note = usual_family(path)
    assert chosen == family
    assert note.startswith(f"family {family}, the default")
    done = CliRunner().invoke(app, ["show", str(path), "--jobs", "1", "--json"])
    assert json.loads(done.stdout)["family"] == family
    assert note in remarks


def test_a_column_that_may_be_meant_as_another_one_is_reported_so(tmp_path, remarks):
    path = tmp_path / "jobs.csv"
    path.write_text("submit_seconds,run_seconds,tasks,requested_seconds,queue\n0,9,1,10,a\n")
    read_jobs(path)
    assert remarks[-1].endswith(
        "columns that are not used: requested_seconds (is it request_seconds?), queue"
    )
