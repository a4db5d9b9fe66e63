"""Time limits and signals hold whatever the method is busy with; what it does then harms nobody."""

import os
import subprocess
import sys
import threading
import time

import pytest
from independent.oasis import random_instance
from patience import LONG

from optsched import get_family, solve
from optsched.declared.model import KINDS
from optsched.declared.optimum import _Linear
from optsched.engine.progress import Progress
from optsched.families.oasis import FAMILY
from optsched.process import interrupts, timing, work_units
from optsched.process.background import supervised

SLACK = 8.0  # seconds: on a machine that is busy with other tests

INTERRUPTED = """
import os, signal, threading, time, optsched

instance = optsched.get_family("completion").generate("paper", seed=1)
sent = []

def press():
    time.sleep(4)  # kernels are compiled meanwhile
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
found = optsched.solve(instance, time_limit=600)
took = time.monotonic() - sent[0]
assert found.value is not None
family = optsched.get_family("completion")
assert family.verify(instance, found.schedule).value == found.value
print(took, flush=True)
os._exit(0)  # what is being compiled is not waited for
"""


LEFT = """
import time
from optsched.process.background import supervised
from optsched.solvers import highs

def solve_again_and_again(_stopped):
    solver, end = highs(), time.monotonic() + 2
    while time.monotonic() < end:
        solver.run()

supervised(solve_again_and_again, lambda: True, patience=0.2)
print("left")
"""


def training(family, jobs, slots, machines, **more):
    """Return an instance of jobs that are all alike but for their arrivals."""
    job = {
        "epochs": 1,
        "chunks": 2,
        "batches_per_chunk": 3,
        "gradient_mb": 50.0,
    }
    if family == "completion":
        job |= {"weight": 1.0, "batch_time": [0.5, 0.9], "update_time": [0.1]}
        rest = {
            "architecture": "ps",
            "servers": [{"name": "m", "count": machines, "capacity": [4.0, 8.0]}],
            "worker_types": [
                {"demand": [1.0, 2.0], "bandwidth": 1.0},
                {"demand": [2.0, 1.0], "bandwidth": 2.0},
            ],
            "ps_types": [{"demand": [1.0, 1.0], "bandwidth": 2.0}],
        }
    else:
        job |= {
            "batch_time": 0.5,
            "inner_bandwidth": 10.0,
            "outer_bandwidth": 1.0,
            "ps_bandwidth": 20.0,
            "worker_demand": [1.0, 2.0],
            "ps_demand": [1.0, 1.0],
            "utility": {"kind": "inverse", "scale": 50.0},
        }
        rest = {
            "machines": [{"name": "m", "count": machines, "capacity": [4.0, 8.0]}],
            "locality": "link",
        }
    made = [job | more | {"arrival": (k * 7919) % slots} for k in range(jobs)]
    frame = {"slot_seconds": 300.0, "horizon": slots, "resources": ["a", "b"]}
    return get_family(family).instance.model_validate(frame | rest | {"jobs": made})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "sizes"),
    [
        ("completion", {"jobs": 6, "slots": 1000, "machines": 2, "chunks": 8, "epochs": 10**6}),
        ("completion", {"jobs": 20, "slots": 50, "machines": 10**4, "chunks": 500}),
        ("dmlrs", {"jobs": 20, "slots": 100, "machines": 50, "chunks": 500, "epochs": 20}),
    ],
)
def test_a_limit_holds_and_the_time_that_passed_is_reported(family, sizes):
    instance = training(family, **sizes)
    began, compiled = time.perf_counter(), timing.stopped()
    found = solve(instance, time_limit=1.0)
    took = time.perf_counter() - began - (timing.stopped() - compiled)
    assert took < 1.0 + SLACK
    assert found.seconds == pytest.approx(took, abs=0.5)
    if found.schedule is not None:
        assert get_family(family).verify(instance, found.schedule).value == found.value


@pytest.mark.slow
def test_a_limit_holds_while_what_is_known_is_judged():
    instance = random_instance(0)
    schedule = solve(instance, work_limit=1).schedule
    began = time.perf_counter()
    found = solve(instance, time_limit=0.5, start=[schedule] * 10**6)
    assert time.perf_counter() - began < 0.5 + SLACK
    assert found.status == "no_schedule"


@pytest.mark.slow
def test_a_signal_ends_a_solve_while_kernels_are_compiled(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < SLACK


@pytest.mark.slow
def test_the_interpreter_waits_for_a_solver_that_was_left_alone():
    """A thread that returns from C++ after the end of the interpreter aborts the process."""
    done = subprocess.run([sys.executable, "-c", LEFT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")


@pytest.mark.parametrize(("rows", "status"), [(2, "optimal"), (60, "unknown")])
def test_only_a_small_relaxation_is_solved_after_the_search_was_called_off(rows, status):
    column = {"cost": 1, "lower": 0, "upper": 9, "integer": False, "revealed": 0, "decided": 0}
    row = {"lower": 1, "upper": "inf", "entries": [(j, 1) for j in range(200)]}
    content = {
        "columns": [column | {"name": f"x[{j}]"} for j in range(200)],
        "rows": [row | {"name": f"r[{i}]"} for i in range(rows)],
    }
    linear = _Linear(KINDS["min"].model_validate(content), lambda: True, relaxed=False)
    assert linear.solve()[0] == status


def test_a_thread_that_is_left_alone_hears_that_it_should_end():
    heard, go = [], threading.Event()

    def work(_stopped):
        heard.append(interrupts.received())
        go.wait()
        heard.append(interrupts.received())
        try:
            interrupts.leave_if_abandoned()
        finally:
            heard.append("left")

    before = set(threading.enumerate())
    assert supervised(work, lambda: True, patience=0.0) is None
    (thread,) = set(threading.enumerate()) - before
    go.set()
    thread.join(LONG)
    assert heard[0] is None
    assert heard[1:] == [2, "left"]
    assert interrupts.received() is None
    interrupts.leave_if_abandoned()  # others go on


def test_who_waits_counts_the_effort_of_its_thread_until_that_is_left_alone():
    go, spent, began = threading.Event(), threading.Event(), work_units.done()
    supervised(lambda _stopped: work_units.spend(5.0), lambda: False)
    assert work_units.done() - began == 5.0

    def work(_stopped):
        work_units.spend(2.0)
        spent.set()
        go.wait()
        work_units.spend(1000.0)

    before = set(threading.enumerate())
    supervised(work, spent.is_set, patience=0.0)
    (thread,) = set(threading.enumerate()) - before
    go.set()
    thread.join(LONG)
    assert work_units.done() - began == 7.0


def test_what_is_known_is_a_claim_until_its_certificate_was_checked():
    instance = random_instance(0)
    progress = Progress(FAMILY, instance, gap=0.0)
    bound, certificate = FAMILY.opening(instance)
    progress.tighten(bound, certificate)
    known, level = progress.so_far()
    assert (known.bound, level) == (bound, "claimed")
    made = certificate()
    proved = progress.check(made)
    known, level = progress.so_far()
    assert (known.bound, level) == (proved, "certified")
    assert known.check(known.certificate()) == proved
    progress.abandon()
    assert progress.interrupted
