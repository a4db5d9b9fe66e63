"""What is printed on stderr while a command works: rows as they come, compiling, what is left."""

import json
import re
import subprocess
import sys
import threading
import time

import pytest
from numba.core import event
from terminal import piped

from optsched.cli.progress_display import RowPrinter, Ticker
from optsched.core import compare, solve, turns
from optsched.engine.progress import Progress
from optsched.files.format import save_instance
from optsched.numbers import kernels
from optsched.policies.loader import name_of
from optsched.problem import family_of, get_family
from optsched.process import messages, work_units

pytestmark = pytest.mark.slow

COMPILED = """
from optsched.numbers.kernels import kernel


@kernel
def twice(x):
    return 2 * x


class Idle:
    name, information, knows = "idle", "after", ()

    def start(self, public, prior, streams):
        twice(1)

    def step(self, event):
        return {}
"""


@pytest.fixture(scope="module")
def small():
    return get_family("oasis").generate("small", seed=1)


@pytest.fixture(scope="module")
def report(small):
    return compare(small, time_limit=30)


@kernels.kernel
def twice(x):
    return 2 * x


def test_the_slow_run_last_and_the_table_keeps_its_order(report):
    family = get_family("oasis")
    assert [name_of(p) for _, p in turns(family)] == ["fifo", "oasis", "drf", "rrh", "dorm"]
    assert turns(family, ["dorm", "rrh"]) == [(2, "fifo"), (1, "rrh"), (0, "dorm")]
    assert [row.name for row in report.policies] == family.compared
    assert [run.policy for run in report.runs] == family.compared


def test_rows_hold_the_final_ratios(small, report, capsys):
    names = [run.policy for run in report.runs]
    rows = RowPrinter(small, names, Ticker("running the policies"))
    rows.begin()
    for run in report.runs:
        rows.show(run)
    bound, *lines = capsys.readouterr().err.splitlines()
    assert re.match(r"no schedule reaches more than [\d.]+ \(first bound\)", bound)
    assert [line.split()[0] for line in lines] == names
    final = {row.name: row for row in report.policies}
    for line in lines:
        name, value, low, high = re.match(
            r"(\w+) +([\d.]+)  ratio ([\d.]+) \.\. ([\d.]+) so far$", line
        ).groups()
        row = final[name]
        assert value == f"{row.value:.6g}"
        assert float(low) <= row.ratio.low * 1.001
        assert float(high) >= row.ratio.high * 0.999


def test_quiet_says_nothing_but_what_went_wrong(capsys):
    messages.settle(quiet=True, verbose=False)
    with Ticker("running the policies") as ticker:
        ticker.print("fifo  1")
        ticker.complain("policy mine: event 0: \x1b[2JValueError")
    assert capsys.readouterr().err == "optsched: policy mine: event 0: \\x1b[2JValueError\n"


def test_what_is_compiled_is_said():
    ticker = Ticker("running fifo, 1 of 5 policies")
    assert ticker.line() == "running fifo, 1 of 5 policies (0 s)"
    with event.trigger_event("numba:compile", data={"dispatcher": twice}):
        said = ticker.line()
    assert re.match(r"running fifo, 1 of 5 policies: compiling, once: part \d+ of at most", said)
    ticker.show("12 events")
    assert ticker.line() == "running fifo, 1 of 5 policies: 12 events (0 s)"


def test_of_work_in_steps_the_line_says_how_long_this_one_and_all_take():
    ticker = Ticker("looking at what is known")
    ticker._began -= 40.0
    ticker.begin("running fifo, 1 of 5 policies")
    ticker._since -= 10.0
    ticker.show("12 events")
    assert ticker.line() == "running fifo, 1 of 5 policies: 12 events (10 s; 40 s in all)"


def test_after_the_search_the_line_says_what_is_computed(small, report):
    ticker = Ticker("looking at what is known")
    progress = Progress(family_of(small), small, gap=0.0, time_limit=0.0)
    ticker.watch(progress)
    assert "the limit is reached" in ticker.line()
    RowPrinter(small, [], ticker).show(report.optimum)
    assert ticker.line().startswith("computing the ratios (0 s; ")


def test_what_is_left_of_the_time_is_said(small):
    ticker, said = Ticker("looking for the optimum"), []

    def watch(progress):
        ticker.watch(progress)
        said.append(ticker.line())

    solve(small, time_limit=20, watch=watch)
    assert all(re.search(r"gap .*, at most \d+ s left", line) for line in said)
    assert "at most 20 s left" in said[0]


def test_what_is_left_is_counted_while_the_search_is_silent(small):
    """A limit of seconds goes on by itself; it does not while a kernel is compiled."""
    ticker = Ticker("looking for the optimum")
    progress = Progress(family_of(small), small, gap=0.0, time_limit=1.0)
    ticker.watch(progress)
    assert "at most 1 s left" in ticker.line()
    with event.trigger_event("numba:compile", data={"dispatcher": twice}):
        assert "compiling, once: part " in ticker.line()
        assert "no limit runs meanwhile" in ticker.line()
    while progress.left() > 0:
        time.sleep(0.05)
    assert "the limit is reached, checking the bound" in ticker.line()


def test_what_is_left_of_an_effort_is_counted_in_another_thread(small):
    ticker, seen = Ticker("looking for the optimum"), []

    def watch(progress):
        ticker.watch(progress)
        if len(seen) < 2:
            teller = threading.Thread(target=lambda: seen.append(ticker.line()))
            teller.start()
            teller.join()
            work_units.spend(100.0)

    solve(small, work_limit=1000, watch=watch)
    left = [int(re.search(r"at most (\d+) work units left", line)[1]) for line in seen]
    assert 890 <= left[1] <= left[0] - 100 <= 900


def test_that_nothing_can_be_stored_is_said_once(tmp_path):
    save_instance(get_family("oasis").generate("small", seed=1), tmp_path / "small.json")
    (tmp_path / "mine.py").write_text(COMPILED)
    code = (
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from optsched.cli.app import main\n"
        "main(['run', 'small.json', '-p', 'mine:Idle'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("compiled kernels cannot be stored") == 1
    assert done.stdout.startswith("oasis: idle reaches")


def test_stdout_is_the_result_and_stderr_the_talk(small, tmp_path, call):
    save_instance(small, tmp_path / "small.json")
    args = ("ratio", tmp_path / "small.json", "-p", "fifo", "-p", "drf", "--time-limit", 5)
    loud = piped(*args)
    status, quiet, said = call(*args, "-q")
    assert (loud.status, status, said) == (0, 0, "")
    assert "so far" in loud.err
    assert "so far" not in loud.out
    for found in (loud.out, quiet):
        assert found.startswith("oasis: ")
        assert found.count("│ fifo") == 1


def test_with_stderr_closed_stdout_has_the_result_alone(small, tmp_path):
    save_instance(small, tmp_path / "small.json")
    args = ("ratio", "small.json", "-p", "fifo", "--time-limit", "5", "--json")
    done = subprocess.run(
        ["sh", "-c", '"$@" 2>&-', "sh", sys.executable, "-m", "optsched", *args],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert json.loads(done.stdout)["family"] == "oasis"
