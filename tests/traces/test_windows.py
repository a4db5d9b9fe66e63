"""Windows of a trace: where they begin, and parts of equal numbers of jobs."""

import pandas as pd
import pytest

from optsched.problem import InputError, Window, get_family
from optsched.traces.windows import from_start, take_window

HEAD = "name,submit_seconds,run_seconds,tasks,gpu\n"


def listed(jobs):
    """Return a list in which every second job has two tasks."""
    return pd.DataFrame(
        {
            "name": [*map(str, range(jobs))],
            "submit_seconds": [float(k * k) for k in range(jobs)],
            "run_seconds": 10.0,
            "tasks": [1 + k % 2 for k in range(jobs)],
        }
    )


def names(window):
    return [*map(int, window["name"])]


@pytest.mark.parametrize(("jobs", "number"), [(23, 4), (24, 4), (7, 7), (5, 1)])
def test_parts_are_disjoint_and_make_up_the_list(jobs, number):
    table = listed(jobs)
    parts = [names(from_start(table, f"{k}/{number}", 1)[0]) for k in range(1, number + 1)]
    assert [k for part in parts for k in part] == [*range(jobs)]
    sizes = [len(part) for part in parts]
    assert sizes[0] == min(sizes) == jobs // number
    assert max(sizes) <= sizes[0] + 1


def test_a_window_never_leaves_its_part():
    table = listed(23)
    assert names(take_window(table, 5, "2/4", 1)) == [5, 6, 7, 8, 9]
    with pytest.raises(InputError, match=r"has 5 jobs .* expected 6; take fewer \(--jobs 5\) or "):
        take_window(table, 6, "1/4", 1)


def test_parts_count_the_jobs_that_are_large_enough():
    assert names(take_window(listed(24), 3, "4/4", 2)) == [19, 21, 23]


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("1/4", "the trace has 3 jobs of at least 1 tasks, .* expected at most 3 windows"),
        ("0/3", "start is 0/3, expected a part from 1/3 to 3/3"),
        ("4/3", "start is 4/3, expected a part from 1/3 to 3/3"),
        ("1/0", "start is 1/0, expected a part"),
    ],
)
def test_parts_that_there_are_not_are_refused_in_a_line(start, said):
    with pytest.raises(InputError, match=said):
        take_window(listed(3), 1, start, 1)


def test_parts_of_a_log_as_it_is_are_disjoint(write):
    rows = [f"{k},{600 * k},3600,1,1\n" for k in range(12)]
    jobs = write(HEAD + "".join(rows), "jobs.csv")
    machines = write("gpu,cpu,memory_gb\n4,8,32\n", "machines.csv")
    made = [
        get_family("oasis").open_trace(
            jobs, Window(machines=machines, as_is=True, slots=9, start=f"{k}/3")
        )
        for k in (1, 2, 3)
    ]
    assert [len(inst.jobs) for inst in made] == [4, 4, 4]  # nine hours are longer than a part
    assert [inst.jobs[0].arrival for inst in made] == [0, 0, 0]
