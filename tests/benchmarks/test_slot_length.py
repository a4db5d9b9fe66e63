"""The benchmark of slot lengths, on a log of a few jobs; the page tells what is stored."""

import json

import pytest
import slot_length
from bench import RESULTS

pytestmark = pytest.mark.slow

STORED = json.loads((RESULTS / "slot_length.json").read_text())
PAGE = (RESULTS.parent.parent / "docs" / "traces.md").read_text()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slots")
    log = folder / "philly.csv"
    jobs = [  # every other one is too short
        f"2017-11-{10 + k // 24} {k % 24:02}:{7 * k % 60:02}:00,{(9000, 60)[k % 2]}.0,4,0.0,a\n"
        for k in range(48)
    ]
    log.write_text("timestamp,duration,num_gpus,gpu_time,cluster\n" + "".join(jobs))
    content = slot_length.main(
        ["--philly", str(log), "--seeds", "2", "--results", str(folder / "stored")]
    )
    assert str(folder) not in json.dumps(content)
    return content


def test_both_lengths_have_the_same_jobs_and_machines(made):
    assert made["complete"]
    assert len(made["rows"]) == 4 * 2 * 2  # HPC2N is left out
    for hour, quarter in zip(made["rows"][::2], made["rows"][1::2], strict=True):
        for name in ("log", "family", "times", "window", "seed", "jobs", "machines"):
            assert hour[name] == quarter[name]
        assert hour["jobs"] == 12


def test_shorter_slots_lose_nothing_where_hours_round_nothing(made):
    rows = [row for row in made["rows"] if row["times"] == "whole hours"]
    for hour, quarter in zip(rows[::2], rows[1::2], strict=True):
        assert hour["value"] <= quarter["bound"] * (1 + 1e-9)


def test_all_stored_intervals_overlap():
    assert all(target["met_must"] for target in STORED["targets"])
    assert {row["log"] for row in STORED["rows"]} == {*slot_length.LOGS}
    assert len(STORED["rows"]) == 20 * 2 * len(slot_length.SETTINGS)


def test_the_page_has_the_stored_figures():
    lines = STORED["table"]["lines"]
    for setting in dict.fromkeys(line[0] for line in lines):
        optimum, *policies = (line for line in lines if line[0] == setting)
        assert optimum[1] == "optimum"
        same = sum("no" not in line[6:8] for line in policies)
        figures = [setting, optimum[2], optimum[3], optimum[8], f"{same} of {len(policies)}"]
        assert f"| {' | '.join(figures)} |" in PAGE
