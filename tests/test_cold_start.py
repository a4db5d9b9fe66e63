"""The first command on a machine: nothing is compiled, five seconds, and yet an answer."""

import json
import os
import subprocess
import sys

import pytest
from sweeps import sweep

pytestmark = pytest.mark.slow

OPTSCHED = [sys.executable, "-m", "optsched"]
STARTS = [("bot", "ratio"), ("completion", "solve")]  # all families: benchmarks/first_minute.py


@pytest.mark.parametrize(("family", "command"), sweep(STARTS, 1))
def test_five_seconds_are_enough_though_nothing_is_compiled(tmp_path, family, command):
    made, result = tmp_path / "made.json", tmp_path / "result.json"
    cold = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([*OPTSCHED, "generate", family, "--preset", "small", "-o", made], check=True)
    done = subprocess.run(
        [*OPTSCHED, command, made, "--time-limit", "5", "-o", result],
        env=cold,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "cache").rglob("*.nbc"))  # what is compiled now is stored
    if family == "completion":  # it takes so long that it is told
        assert "compiling, once: part " in done.stderr
    optimum = json.loads(result.read_text())["optimum"]
    assert optimum["certified_bound"] is not None
    assert optimum["certificate"] is not None
    assert optimum["schedule"] is not None
