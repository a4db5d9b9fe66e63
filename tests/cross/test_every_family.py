"""Every family: damaged files take one line each, and nothing is wrong in other units."""

import pytest
import soundness
from hostile import attack
from sweeps import sweep

pytestmark = pytest.mark.slow

POLICIES = {
    "bipartite": "fairness", "bot": "naive", "completion": "fifo", "dmlrs": "fifo", "oasis": "fifo",
}  # fmt: skip
UNITS = {name: (1e-3, 100.0, 1e3) if name == "bipartite" else (1e-9, 1e9) for name in POLICIES}


@pytest.mark.parametrize("family", POLICIES)
@pytest.mark.parametrize("kind", sweep(["result", "schedule", "instance", "run"], 2))
def test_damaged_files(call, tmp_path, family, kind):
    attack(call, tmp_path, family, POLICIES[family], kind)


@pytest.mark.parametrize("family", UNITS)
def test_nothing_is_wrong_in_other_units(tmp_path, family):
    """Ten tiny instances, and fewer in other units, against what is right."""
    asked = ["--families", family, "--scales", *map(str, UNITS[family])]
    runs = ["--seeds", "10", "--processes", "1", "--results", str(tmp_path)]
    content = soundness.main([*runs, *asked])
    assert content["complete"]
    assert sum(row["solves"] for row in content["rows"]) >= 40
    failures = [
        f"{row['axis']} x {row['scale']:g}: {what}"
        for row in content["rows"]
        for what in row["failures"]
        if what.split(":")[0] in soundness.COUNTS
    ]
    assert failures == []
