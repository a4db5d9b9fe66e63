"""Compiling: which clock stands still, what is printed, and what happens without a cache."""

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from optsched.numbers.kernels import kernel
from optsched.process import timing

pytestmark = pytest.mark.slow

COLD = """
import threading, time
from optsched import get_family, solve
from optsched.numbers import kernels
from optsched.process import timing

said = set()
def listen():
    while True:
        said.add(kernels.compiling())
        time.sleep(0.01)

threading.Thread(target=listen, daemon=True).start()
began = time.perf_counter()
found = solve(get_family("bot").generate("small", seed=1), time_limit=5.0)
took = time.perf_counter() - began
assert found.certified_bound is not None and found.schedule is not None
assert timing.stopped() > 0.5 * took, (timing.stopped(), took)
assert found.seconds <= took - timing.stopped() + 0.1, (found.seconds, took, timing.stopped())
assert any(line.startswith("compiling, once: part ") for line in said), said
assert kernels.compiling() == ""
print(kernels.unstored())
"""


def test_the_clock_stands_still_and_goes_on():
    before, still = timing.now(), timing.stopped()
    timing.stop()
    timing.stop()
    time.sleep(0.05)
    timing.go_on()
    assert timing.now() == pytest.approx(before, abs=0.04)
    time.sleep(0.05)
    timing.go_on()
    assert timing.stopped() - still >= 0.1
    assert timing.now() - before < timing.stopped() - still


def test_compiling_is_on_no_clock_and_is_said(tmp_path):
    cold = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COLD], env=cold, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "\n"


def test_no_file_in_the_working_folder_chooses_where_kernels_are_stored(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: here\n")
    code = "import optsched.numbers.kernels as k; from numba import config; print(config.CACHE_DIR)"
    env = {n: x for n, x in os.environ.items() if n != "NUMBA_CACHE_DIR"}
    env["PYTHONPATH"] = str(Path(__file__).parents[1])
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


def test_where_nothing_can_be_stored_is_said():
    code = """
from numba.core import caching
class Nowhere:
    @classmethod
    def from_function(cls, function, path):
        return None
caching.CacheImpl._locator_classes = [Nowhere]
from optsched.numbers import kernels

@kernels.kernel
def twice(x):
    return 2 * x

assert twice(2) == 4
print(kernels.unstored())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "let NUMBA_CACHE_DIR name a folder that can be written" in done.stdout, done.stderr


MODULE = """
from typing import NamedTuple
import numpy as np
from optsched.numbers.kernels import kernel

class {name}(NamedTuple):
    here: object

@kernel
def first(pair):
    return pair.here[0]

found = first({name}(np.array([7])))
"""


def test_what_an_older_version_has_stored_may_be_of_types_that_are_gone(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "upgraded.py"
    for name in ("Former", "New"):  # files of one size would count as one file
        path.write_text(MODULE.format(name=name))
        sys.modules.pop("upgraded", None)
        importlib.invalidate_caches()
        assert importlib.import_module("upgraded").found == 7
    sys.modules.pop("upgraded")


@kernel(counted=False)
def _mixed(pair):
    first, second = pair
    both = 0.0
    for x in range(first.size):
        both += first[x] if x % 2 else second[x]
    return both


def test_arrays_are_freed_though_a_kernel_does_not_count_who_uses_them():
    assert _mixed.targetoptions["_nrt"] is False
    pair = np.arange(9.0), np.ones(9)
    counts = [sys.getrefcount(array) for array in pair]
    assert [_mixed(pair) for _ in range(3)] == [21.0] * 3
    assert [sys.getrefcount(array) for array in pair] == counts


PARTS = {
    "depths": 'FACTOR = {factor}\nERRORS = "{errors}"\n',
    "middles": """
import numpy as np
from depths import ERRORS, FACTOR
from optsched.numbers.kernels import kernel

@kernel(error_model=ERRORS)
def scaled(x):
    return {sign} * FACTOR * x
""",
    "uppers": """
from middles import scaled
from optsched.numbers.kernels import kernel

@kernel
def first(x):
    return second(x)

@kernel
def second(x):
    return scaled(x) + 0
""",
}
ASK = "from uppers import first; print(first(7), [*first.stats.cache_hits.values()])"


@pytest.mark.parametrize("changed", [{"sign": -1}, {"factor": 3}, {"errors": "numpy"}])
def test_what_is_stored_counts_only_while_all_that_it_holds_is_the_same(tmp_path, changed):
    """A file that is as it was may hold kernels of others, and their numbers, compiled in."""

    def answer(**changed):
        parts = {"sign": 1, "factor": 2, "errors": "python"} | changed
        for name, text in PARTS.items():
            (tmp_path / f"{name}.py").write_text(text.format(**parts))
        done = subprocess.run(
            [sys.executable, "-B", "-c", ASK], capture_output=True, text=True, cwd=tmp_path
        )
        return done.stdout.strip() or done.stderr

    assert answer() == "14 []"
    assert answer() == "14 [1]"
    assert answer(**changed) == f"{7 * changed.get('sign', 1) * changed.get('factor', 2)} []"


def test_what_is_stored_counts_whatever_the_order_of_sets():
    code = (
        "from optsched.numbers.kernels import _stamps\n"
        "import optsched.scheduling.oracle.slots\n"
        "print(sorted((k.py_func.__qualname__, v) for k, v in _stamps.items()))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(1, 5)
    }
    assert len(found) == 1
