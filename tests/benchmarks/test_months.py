"""The benchmark of whole months, on logs of a few jobs."""

import json

import months
import pytest
from bench import RESULTS

pytestmark = pytest.mark.slow

LOG = """; Version: 2.2
1 0 120 7200 4 -1 -1 4 7200 -1 1 1 1 1 1 1 -1 -1
2 1800 60 3600 2 -1 -1 2 3600 -1 1 2 1 1 1 1 -1 -1
3 3700 900 10800 8 -1 -1 8 10800 -1 1 1 1 1 1 1 -1 -1
"""
PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"


def test_months_of_a_few_jobs(tmp_path):
    log = tmp_path / "tiny.swf"
    log.write_text(LOG)
    (tmp_path / "tiny.swf.machines").write_text("0\tsmall\t1\t8\t1\t1048576\n")
    extract = tmp_path / "philly.csv"
    days = [f"2017-11-{day} 07:01:55,7200.0,2,14400.0,a\n" for day in (10, 24, 25)]
    extract.write_text(PHILLY + "".join(days))
    told = ["--hpc2n", str(log), "--philly", str(extract), "--results", str(tmp_path / "stored")]
    content = months.main([*told, "--time-limit", "5"])
    stored = json.loads((tmp_path / "stored" / "months.json").read_text())
    assert stored["rows"] == content["rows"]
    of_philly, of_hpc2n = stored["rows"]
    assert (of_philly["jobs"], of_hpc2n["jobs"]) == (2, 3)
    assert "what your cluster did" in {p["name"] for p in of_hpc2n["policies"]}
    assert "what your cluster did" not in {p["name"] for p in of_philly["policies"]}
    assert all(target["met_must"] for target in stored["targets"])
    assert str(tmp_path) not in (tmp_path / "stored" / "months.json").read_text()


STORED = json.loads((RESULTS / "months.json").read_text())
PAGE = (RESULTS.parent.parent / "docs" / "months.md").read_text()


@pytest.mark.parametrize("row", STORED["rows"], ids=lambda row: row["month"])
def test_the_page_has_the_stored_figures(row):
    for p in row["policies"]:
        done = f"{p['completed']} of {row['jobs']}"
        ratio = f"{p['low']:.4f} .. {p['high']:.4f}"
        assert f"| {p['name']} | {p['value']:.6g} | {done} | {ratio} |" in PAGE
    assert f"| certified bound | {row['bound']:.6g} |" in PAGE
    assert (RESULTS / f"months-{row['month']}.png").exists()
