"""Signals, kills and crashes: what is known is on file, with one line and the right exit status."""

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from independent.oasis import FILES, load
from sweeps import sweep

import optsched
from optsched.families.oasis import FAMILY
from optsched.files.format import save_instance
from optsched.problem import families
from optsched.process import interrupts

pytestmark = pytest.mark.slow

PATIENCE = 60  # seconds; a busy machine is slow
EARLY, LATE = (list(itertools.product(families(), [s])) for s in (1.0, 2.0))
MOMENTS = EARLY[:2] + LATE[2:] + LATE[:2] + EARLY[2:]
POLICIES = '''
import multiprocessing, os, sys, threading, time


class Idle:
    """Does nothing; needs no compiled kernel."""

    information = "after"
    knows = ()

    def start(self, public, prior, streams):
        pass

    def step(self, event):
        return {}


class Stuck(Idle):
    """Does not come back from its first decision."""

    name = "stuck"

    def step(self, event):
        print(os.getpid(), file=sys.stderr, flush=True)
        while True:
            time.sleep(0.1)


class Slow(Idle):
    """Takes its time, but comes back."""

    name = "slow"

    def step(self, event):
        print(os.getpid(), file=sys.stderr, flush=True)
        time.sleep(0.1)
        return super().step(event)


class Leaves(Idle):
    """Leaves a thread and two processes that do not end."""

    name = "leaves"

    def start(self, public, prior, streams):
        threading.Thread(target=time.sleep, args=(3600,), daemon=False).start()
        multiprocessing.get_context("fork").Process(target=time.sleep, args=(3600,)).start()
        child = os.fork()
        if child == 0:
            time.sleep(3600)
        print(child, file=sys.stderr, flush=True)


class Crash(Idle):
    """Ends the process."""

    name = "crash"

    def step(self, event):
        os.kill(os.getpid(), 11)
'''


@pytest.fixture
def folder(tmp_path):
    """A folder with an instance and policies that behave badly."""
    save_instance(load(FILES[0])[0], tmp_path / "small.json")
    (tmp_path / "bad.py").write_text(POLICIES)
    return tmp_path


def start(folder, *args, env=None):
    return subprocess.Popen(
        [sys.executable, "-m", "optsched", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ | (env or {}),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # ignored under nohup
    )


def ends(process, status):
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status, (out, err)
    assert "Traceback" not in err
    return out, err


def announced(process):
    """Return the number of the process that a policy has printed; the command prints lines too."""
    for line in process.stderr:
        if line.strip().isdigit():
            return int(line)
    raise AssertionError("the policy was never requested")


def hidden(folder):
    return [name for name in os.listdir(folder) if name.startswith(".")]


def until(condition, pause=0.02):
    """Wait until something is so, but not for ever; ``pause`` seconds pass between two looks."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never was"
        time.sleep(pause)


def is_listening(process):
    """Whether the process has taken the signals, which Python cannot before it has started."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    wanted = (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    return all(caught & 1 << number - 1 for number in wanted)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


# --- the supervisor ---------------------------------------------------------------------------


def test_the_supervisor_imports_next_to_nothing():
    code = "import sys, optsched, optsched.cli.supervisor; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "optsched" in loaded
    assert not loaded & {"numpy", "pydantic", "typer", "json", "typing_extensions", "numba"}


def test_the_package_names_what_it_offers():
    assert optsched.__version__
    assert all(getattr(optsched, name) is not None for name in optsched.__all__)
    assert {*optsched.__all__, "__version__"} <= {*dir(optsched)}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        optsched.nothing  # noqa: B018


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_anything_is_known(folder, number):
    for _ in range(10):  # on a busy machine it may be done before the signal comes
        process = start(folder, "solve", "small.json", "-o", "result.json")
        until(lambda process=process: is_listening(process))
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        if process.returncode:
            break
    assert process.returncode == 128 + number
    assert out == ""
    assert err.startswith("optsched: interrupted")
    assert err.count("\n") == 1
    assert hidden(folder) == []


@pytest.mark.parametrize("number", sweep([signal.SIGINT, signal.SIGTERM], 1))
def test_a_worker_that_does_not_listen_is_killed_and_its_best_is_kept(call, folder, number):
    process = start(
        folder, "ratio", "small.json", "-p", "fifo", "-p", "bad:Stuck", "-o", "result.json"
    )
    worker = announced(process)
    began = time.monotonic()
    process.send_signal(number)
    out, err = ends(process, 128 + number)
    assert time.monotonic() - began < PATIENCE / 2
    assert out == ""
    last = err.splitlines()[-1]  # there may be lines of progress before it
    assert last.startswith("optsched: interrupted; ")
    assert "result.json holds the best so far: oasis: " in last
    assert hidden(folder) == []
    assert not is_running(worker)
    content = json.loads((folder / "result.json").read_text())
    assert [run["policy"] for run in content["runs"]] == ["fifo"]
    assert content["optimum"]["value"] >= content["runs"][0]["value"] > 0
    assert content["optimum"]["bound_level"] in (None, "claimed")
    status, out, _ = call("verify", folder / "result.json")
    assert f"{content['optimum']['value']:.9g}" in out
    assert status == 0


@pytest.mark.parametrize("output", [(), ("-o", "result.json")], ids=["no file", "file"])
def test_an_optimum_that_was_given_is_the_best_so_far(call, folder, output):
    assert call("solve", folder / "small.json", "-o", folder / "best.json")[0] == 0
    known = json.loads((folder / "best.json").read_text())["optimum"]
    given = ("--optimum", "best.json", "-p", "fifo", "-p", "bad:Stuck")
    process = start(folder, "ratio", "small.json", *given, *output)
    announced(process)
    process.send_signal(signal.SIGINT)
    _, err = ends(process, 130)
    assert f"best so far: oasis: {known['value']:.6g} is optimal (certified)" in err
    if output:
        content = json.loads((folder / "result.json").read_text())
        assert content["optimum"]["certificate"] == known["certificate"]
        assert [run["policy"] for run in content["runs"]] == ["fifo"]
        assert call("verify", folder / "result.json")[0] == 0


def test_a_second_signal_kills_at_once(folder):
    process = start(folder, "run", "small.json", "-p", "bad:Stuck", "-o", "run.json")
    announced(process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    ends(process, 130)
    assert not (folder / "run.json").exists()


def test_a_policy_is_stopped_between_two_events(folder):
    process = start(folder, "run", "small.json", "-p", "bad:Slow", "-o", "run.json")
    announced(process)
    process.send_signal(signal.SIGINT)
    out, err = ends(process, 130)
    assert out == ""
    assert "optsched: interrupted" in err
    assert not (folder / "run.json").exists()


def test_a_worker_that_crashes_is_one_line(call, folder):
    process = start(
        folder, "ratio", "small.json", "-p", "fifo", "-p", "bad:Crash", "-o", "result.json"
    )
    out, err = ends(process, 1)
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("optsched: the computing process ended by a signal: Segmentation")
    assert "result.json holds the best so far" in last
    assert hidden(folder) == []
    assert call("verify", folder / "result.json")[0] == 0


def test_certify_keeps_its_proof_after_ctrl_c(call, folder):
    draw = random.Random(1)
    names = [f"x{j}" for j in range(60)]

    def terms():
        return " + ".join(f"{draw.randint(10, 99)} {name}" for name in names)

    rows = "".join(f" r{i}: {terms()} <= 1200\n" for i in range(12))
    model = f"max\n obj: {terms()}\nst\n{rows}binary\n {' '.join(names)}\nend\n"
    (folder / "hard.lp").write_text(model)
    process = start(folder, "certify", "hard.lp", "-o", "proof.json", "--time-limit", 600)
    until(lambda: "incumbent" in process.stderr.readline(), 0)
    process.send_signal(signal.SIGINT)
    out, _ = ends(process, 130)
    assert "found, bound" in out or "the certified bound is" in out  # with a claim of HiGHS
    assert call("verify", folder / "proof.json")[0] == 0


@linux
def test_what_a_policy_leaves_running_ends_with_the_command(folder):
    process = start(folder, "run", "small.json", "-p", "bad:Leaves", "-q", "--json")
    child = announced(process)
    out, _ = ends(process, 0)
    assert json.loads(out)["policy"] == "leaves"
    until(lambda: not is_running(child))


@linux
def test_a_worker_dies_with_its_supervisor(folder):
    process = start(folder, "run", "small.json", "-p", "bad:Stuck")
    worker = announced(process)
    assert is_running(worker)
    process.kill()
    process.communicate()
    until(lambda: not is_running(worker))


def at_home(folder):
    """Return the processes whose home is in a folder: those of sealed policies."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"\0HOME={folder}/".encode() in b"\0" + (place / "environ").read_bytes():
                found.append(place.name)
    return found


@linux
@pytest.mark.parametrize("times", [1, 2])
def test_a_sealed_policy_ends_too(folder, tmp_path_factory, times):
    home = tmp_path_factory.mktemp("homes")
    home.chmod(0o777)
    process = start(
        folder, "run", "small.json", "-p", "bad:Stuck", "--sandbox", env={"TMPDIR": str(home)}
    )
    announced(process)
    assert at_home(home)
    for _ in range(times):  # the second kills whoever is watched
        process.send_signal(signal.SIGTERM)
    ends(process, 143)
    until(lambda: not at_home(home))
    assert os.listdir(home) == []


@linux
def test_ctrl_z_stops_both_and_they_go_on(folder):
    def state(pid):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    process = start(folder, "run", "small.json", "-p", "bad:Slow")
    worker = announced(process)
    process.send_signal(signal.SIGTSTP)
    until(lambda: state(process.pid) == state(worker) == "T")
    process.send_signal(signal.SIGCONT)
    ends(process, 0)


@linux
def test_all_processes_of_a_figure_end(folder):
    process = start(folder, "reproduce", "oasis-fig3", "--workers", 2, "-o", folder / "figures")

    def group():
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):  # a process of others may end at any moment
                if entry.name.isdigit() and is_running(entry.name):
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    if int(fields[2]) == worker:
                        found.append(int(entry.name))
        return found

    until(lambda: is_listening(process))
    (worker,) = map(
        int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    )
    until(lambda: len(group()) >= 3, pause=0.2)  # itself and two more
    process.send_signal(signal.SIGTERM)
    ends(process, 143)
    until(lambda: group() == [], pause=0.2)
    assert hidden(folder / "figures") == []


LAST = """
import os, signal, sys
from optsched.cli import supervisor

class Late:
    pid = os.getpid()  # the worker has another one

    def __del__(self):  # when modules are cleared away, after Python has let go of signals
        if os.getpid() == self.pid:
            os.kill(self.pid, signal.SIGTERM)

supervisor.late = Late()
sys.argv = ["optsched", "--version"]
supervisor.main()
"""


def test_a_signal_after_the_end_changes_nothing(folder):
    done = subprocess.run([sys.executable, "-c", LAST], capture_output=True, text=True, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("family", "seconds"), sweep(MOMENTS, 3))
def test_signals_at_any_moment(call, tmp_path, family, seconds):
    made, target = tmp_path / "made.json", tmp_path / "result.json"
    assert call("generate", family, "--preset", "small", "--seed", 1, "-o", made)[0] == 0
    process = start(tmp_path, "solve", made, "--time-limit", 100, "--gap", 0, "-o", target)
    if sys.platform == "linux":  # a busy machine may take its time to start Python
        until(lambda: process.poll() is not None or is_listening(process))
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err
    assert hidden(tmp_path) == []
    if process.returncode == 0:  # it was done before
        assert f"{family}: " in out
    else:
        assert process.returncode == 143, err
        assert "interrupted" in err
    if target.exists():
        status, out, _ = call("verify", target)
        assert status == 0, out


def test_closed_output_is_no_traceback(folder):
    code = f"{sys.executable} -m optsched info | head -1"
    done = subprocess.run(code, shell=True, capture_output=True, text=True, cwd=folder, check=True)
    assert done.stdout.startswith("optsched")
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(
    "args", [("info",), ("show", "small.json"), ("run", "small.json", "-p", "fifo", "-q")]
)
def test_full_output_is_one_line(folder, args):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "optsched", *args],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            check=False,
        )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]  # on a busy machine there may be lines of progress before
    assert last == "optsched: output: cannot be written: No space left on device"


# --- from Python ------------------------------------------------------------------------------


class Press:
    """Presses Ctrl-C when it is requested the nth time, and whenever it is requested after that."""

    def __init__(self, first=1, times=1):
        self.left, self.times = first, times

    def __call__(self, *_):
        self.left -= 1
        if self.left <= 0 and self.times:
            self.times -= 1
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_solve_with_the_best_so_far():
    instance, known = load(FILES[1])
    before = signal.getsignal(signal.SIGINT)
    found = optsched.solve(instance, method="search", time_limit=3600, watch=Press(2))
    assert FAMILY.verify(instance, found.schedule).value == found.value
    assert signal.getsignal(signal.SIGINT) is before
    assert interrupts.received() is None
    again = optsched.solve(instance, method="compact", time_limit=60)
    assert again.value == pytest.approx(known["optimum"])


def test_a_second_ctrl_c_is_not_waited_for():
    instance, _ = load(FILES[1])
    press = interrupts.remembered()(lambda: [Press()(), interrupts.received(), Press()()])
    with pytest.raises(KeyboardInterrupt):
        press()
    assert interrupts.received() is None
    assert optsched.solve(instance, time_limit=0).value is not None


def test_ctrl_c_ends_simulate_between_events():
    instance, _ = load(FILES[1])
    seen = []
    with pytest.raises(KeyboardInterrupt):
        optsched.simulate(instance, "fifo", progress=lambda n: seen.append(n) or Press()())
    assert seen == [1]


def test_ctrl_c_in_compare_keeps_the_runs():
    instance, _ = load(FILES[1])
    report = optsched.compare(instance, ["fifo", "drf"], callback=Press())
    assert [row.name for row in report.policies] == ["fifo"]
    assert report.optimum.value >= report.runs[0].value
