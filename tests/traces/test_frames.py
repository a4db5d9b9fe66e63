"""DataFrames in the place of files."""

import pandas as pd
import pytest

import optsched

JOBS = pd.DataFrame(
    {
        "submit_seconds": pd.to_datetime(["2024-01-01 08:00", "2024-01-01 08:10"]),
        "run_seconds": pd.to_timedelta(["2h", "30min"]),
        "tasks": [4, 1],
        "gpu": [1.0, None],
        "start_seconds": pd.to_datetime(["2024-01-01 08:05", None]),
    }
)
NODES = pd.DataFrame({"gpu": [4], "cpu": [16], "memory_gb": [64]})


def test_a_frame_is_read_like_a_file(tmp_path):
    jobs = optsched.read_jobs(JOBS)
    assert jobs["run_seconds"].tolist() == [7200, 1800]
    assert jobs["start_seconds"].iloc[0] == 300
    assert jobs["gpu"].isna().tolist() == [False, True]
    jobs.dropna(axis=1, how="all").to_csv(tmp_path / "jobs.csv", index=False)
    pd.testing.assert_frame_equal(optsched.read_jobs(tmp_path / "jobs.csv"), jobs)
    assert optsched.read_machines(NODES)["gpu"].tolist() == [4]


def test_an_instance_of_frames_has_options_of_traces(tmp_path):
    NODES.to_csv(tmp_path / "nodes.csv", index=False)
    inst = optsched.load_trace(JOBS, machines=NODES)
    assert inst == optsched.load_trace(JOBS, machines=tmp_path / "nodes.csv")
    assert [(job.arrival, job.run) for job in inst.jobs] == [(0, 7200), (600, 1800)]
    assert len(optsched.load_trace(JOBS, family="oasis", machines=NODES, jobs=1).jobs) == 1


def test_an_option_that_there_is_not_is_refused():
    with pytest.raises(optsched.InputError, match="unknown option 'unknown', expected one of: mac"):
        optsched.load_trace(JOBS, machines=NODES, unknown=3)


def test_remarks_name_the_frame(capsys):
    optsched.load_trace(JOBS.assign(other=1), machines=NODES)
    said = capsys.readouterr().err
    assert said.startswith("DataFrame (own jobs): columns that are not used: other\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": [4, 1.5]}, "DataFrame, line 3, tasks: is '1.5', expected a whole number"),
        ({"run_seconds": [5, "long"]}, "DataFrame, line 3, run_seconds: is 'long'"),
    ],
)
def test_messages_name_the_frame(change, message):
    with pytest.raises(optsched.InputError) as caught:
        optsched.load_trace(JOBS.assign(**change), machines=NODES)
    assert str(caught.value).startswith(message)


def test_durations_of_slurm_may_be_those_of_pandas():
    jobs = pd.DataFrame(
        {
            "JobID": [1, 2],
            "Submit": pd.to_datetime(["2024-01-01", "2024-01-02"]),
            "Elapsed": pd.to_timedelta(["1h", "90.5s"]),
            "Timelimit": pd.to_timedelta(["2h", "24h"]),
            "NCPUS": [2, 3],
        }
    )
    table = optsched.read_jobs(jobs)
    assert table["run_seconds"].tolist() == [3600, 90.5]
    assert table["request_seconds"].tolist() == [7200, 86400]
