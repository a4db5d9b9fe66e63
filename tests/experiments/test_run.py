"""Running: what dies, hangs or is killed costs what it must, and no more."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest
from poison import begun, numbers, small, square

from optsched import campaign
from optsched.experiments.campaign import forecast, merge, status
from optsched.experiments.map_cells import call_all
from optsched.experiments.pool import ProcessPool
from optsched.experiments.run import part_of
from optsched.experiments.store import CellState, Store
from optsched.problem import InputError
from optsched.process import interrupts

pytestmark = pytest.mark.slow

HELPERS = Path(__file__).parents[1] / "helpers"
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from poison import small
from optsched import campaign
campaign(small(12, ("poison:Counts", "fifo")), "store", workers=1)
"""


@pytest.fixture(autouse=True)
def _there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def here(plan, store="store", **more):
    """Run a campaign in a thread of this process: without processes, and without harm."""
    with ThreadPoolExecutor(1) as executor:
        return campaign(plan, store, executor=executor, **more)


def counted():
    return len(begun("counts"))


def sound(path):
    db = sqlite3.connect(path)
    found = db.execute("PRAGMA integrity_check").fetchone()
    db.close()
    return found == ("ok",)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "store"
    here(small(4, ("fifo", "local-share")), path)
    return numbers(path)


def test_poison_costs_one_row_each():
    policies = ("fifo", *(f"poison:{name}" for name in ("Leaves", "Devours", "Hangs", "Raises")))
    limits = {"memory_gb": 1, "cell_seconds": 4}
    found = campaign(small(1, policies, limits=limits), "store", workers=1)
    assert found.progress.done == found.progress.cells == 5
    told = {}
    for row in numbers(Path("store")):
        told.setdefault(row["policy"].removeprefix("poison:"), set()).add(row["message"])
        assert row["optimum"] is not None
    assert told == {
        "fifo": {None},
        "Leaves": {"its process ended itself with status 7; output: it was me (tried 3 times)"},
        "Devours": {"it needs more than 1 GB of memory"},
        "Hangs": {"it came to no end within 4 s"},
        "Raises": told["Raises"],
    }
    (said,) = told["Raises"]
    assert "KeyError: 'no such thing'" in said
    assert "poison.py" in said
    (fifo, *others) = found.samples()
    assert (fifo.policy, fifo.count, fifo.errors) == ("fifo", 1, 0)
    assert {(s.count, s.errors) for s in others} == {(0, 1)}


@pytest.mark.skipif(sys.platform != "linux", reason="there is no limit")
def test_libraries_that_begin_beyond_the_limit_of_memory_do_not_hang():
    """The OpenBLAS of SciPy retries an allocation for ever."""
    limits = {"memory_gb": 0.05, "cell_seconds": 10}
    found = campaign(small(1, ("fifo",), limits=limits), "store", workers=1)
    assert found.progress.done == found.progress.cells == 1
    (row,) = numbers(Path("store"))
    assert "came to no end" not in (row["message"] or "")


def test_errors_are_tried_again_when_that_is_asked_for():
    plan = small(1, ("fifo", "poison:Raises"))
    first = here(plan)
    assert here(plan).progress.errors == 0  # nothing was run
    again = here(plan, retry_errors=True)
    assert first.progress.errors == again.progress.errors == 1
    assert status(Path("store")).count(CellState.ERROR) == 1


def children(process):
    """Return the numbers of the processes that a process has started."""
    said = subprocess.run(
        ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in said.stdout.split()]


@pytest.mark.skipif(sys.platform != "linux", reason="processes end with their parent")
def test_kills_lose_nothing_that_was_stored(tmp_path):
    # a worker, then the whole group, then the writer alone; dozens are the benchmarks' business
    store, plan = tmp_path / "store", small(12, ("poison:Counts", "fifo"))
    for kills in ("worker group", "writer"):
        command = [sys.executable, "-c", RUN, HELPERS]
        process = subprocess.Popen(command, start_new_session=True, cwd=tmp_path)
        for kill in kills.split():
            before = counted()
            while counted() < before + 3:
                time.sleep(0.02)
                assert process.poll() is None
            if kill == "worker":
                os.kill(children(process)[0], signal.SIGKILL)
            elif kill == "group":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
        assert sound(store)
        assert status(store).count(CellState.ERROR) == 0
    assert 0 < status(store).done < 24
    before, left = counted(), 12 - counted_rows(store)
    final = here(plan, store)
    assert (final.progress.done, final.progress.errors) == (24, 0)
    assert counted() - before == left  # what was stored is not run again
    here(plan, tmp_path / "calm")
    assert numbers(store) == numbers(tmp_path / "calm")


def counted_rows(store):
    return sum(row["policy"] == "counts" for row in numbers(store))


def test_done_cells_are_not_run_again():
    plan = small(5, ("poison:Counts",))
    here(plan)
    assert counted() == 5
    here(plan)
    assert counted() == 5
    here(small(8, ("poison:Counts",)))
    assert counted() == 8


def test_another_plan_is_refused_and_named():
    here(small(2))
    with pytest.raises(InputError, match=r"another plan: reference.time_limit is 3.0, but null"):
        campaign(small(2, reference={"time_limit": 3}), "store")
    with pytest.raises(InputError, match=r"another plan: instances\[0\].seeds is \[0\]"):
        campaign(small(1), "store")
    with pytest.raises(InputError, match=r"another plan: the plan lacks policy fifo"):
        campaign(small(2, ("poison:Counts",)), "store")


def test_an_instance_that_comes_a_second_time_is_solved_once():
    once = {"family": "bot", "preset": "small"}
    again = once | {"parameters": {"applications": 3}}  # what the preset has anyway
    here(small(instances=[once]))
    here(small(instances=[once, again]))
    with Store.open(Path("store")) as store:
        assert store.rows("SELECT count(*) FROM optimum") == [(1,)]
    first, second = numbers(Path("store"))
    assert first["instance_sha256"] == second["instance_sha256"]
    assert first["optimum_schedule_sha256"] == second["optimum_schedule_sha256"]


def test_shards_in_any_order_make_the_whole(undisturbed):
    plan = small(4, ("fifo", "local-share"))
    parts = []
    for k in range(1, 8):
        parts.append(Path(f"part{k}"))
        here(plan, parts[-1], shard=(k, 7))
    order = [*parts[3:], *parts[:3], parts[5]]
    merged = merge(Path("all"), order)
    assert merged.status().done == 8
    assert numbers(Path("all")) == undisturbed
    backwards = merge(Path("backwards"), order[::-1])
    assert numbers(Path("backwards")) == undisturbed
    assert backwards.statistics() == merged.statistics()


def test_shards_are_told_by_the_key_alone():
    found = [part_of(case.key, 3) for case in small(300).cases()]
    assert sorted(set(found)) == [1, 2, 3]
    assert min(map(found.count, (1, 2, 3))) > 70
    with pytest.raises(InputError, match=r"shard 4/3, expected k/n"):
        campaign(small(1), "store", shard=(4, 3))


def test_a_policy_that_the_plan_has_no_more_is_named():
    here(small(1, ("fifo", "local-share")), "a")
    with pytest.raises(InputError, match="a: holds another plan: the plan lacks policy local-sha"):
        here(small(1, ("fifo",)), "a")


def test_stores_of_other_plans_do_not_merge():
    here(small(1), "a")
    here(small(2), "b")
    with pytest.raises(InputError, match=r"b: holds another plan: instances\[0\].seeds"):
        merge(Path("c"), [Path("a"), Path("b")])
    assert not Path("c").exists()


def test_a_forecast_goes_by_what_is_done():
    store = Path("store")
    nothing = forecast(small(2), store)
    here(small(2), store)
    more = forecast(small(5), store)
    assert (nothing.cells, nothing.instances, nothing.done, nothing.seconds) == (2, 2, 0, None)
    assert (more.cells, more.instances, more.done) == (5, 5, 2)
    assert more.seconds > 0


def test_processes_that_cannot_begin_are_no_fault_of_a_cell(monkeypatch):
    monkeypatch.setattr("optsched.experiments.pool.START", "raise SystemExit('not today')")
    with pytest.raises(InputError, match=r"a worker cannot begin: .* status 1; output: not today"):
        campaign(small(1), "store", workers=2)
    assert status(Path("store")).done == 0


class Unreadable:
    def __reduce__(self):
        return import_module, ("no_such_module",)


def test_processes_that_cannot_read_what_to_do_are_told():
    pool = ProcessPool(1)

    def try_again_and_again():
        while True:
            if pool.has_capacity():
                pool.submit([Unreadable()])
            pool.poll(0.1)

    with pytest.raises(InputError, match=r"a worker cannot begin: .* output: ModuleNotFoundError"):
        try_again_and_again()
    pool.close()


def test_an_executor_that_breaks_says_so():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(InputError, match="the executor takes no more work"):
        campaign(small(1), "store", executor=executor)


def test_cells_are_small():
    here(small(30, ("fifo", "local-share"), replications=5))
    assert Path("store").stat().st_size / 300 < 300  # bytes per cell


def test_rows_tell_how_the_search_ended():
    here(small(1, reference={"time_limit": 0, "gap": 0}))
    (row,) = numbers(Path("store"))
    assert (row["status"], row["limit"], row["limited_to"]) == ("limit", "seconds", 0.0)
    assert row["ratio_low"] < row["ratio_high"]
    assert "ended by the clock" in " ".join(status(Path("store")).remarks())


def test_a_call_that_ends_its_process_is_named_and_others_are_kept():
    rows = {}
    cells = {k: {"n": n} for k, n in enumerate((1, 2, 3, -1))}
    with pytest.raises(RuntimeError, match=r"'n': -1.*: its process ended itself with status 7"):
        call_all(square, cells, keep=rows.__setitem__, workers=2)
    assert {rows[k]["square"] for k in rows} <= {1, 4, 9}
    lost = {}
    call_all(square, cells, keep=rows.__setitem__, workers=2, lost=lost.__setitem__)
    assert [*lost] == [3]
    assert "its process ended itself with status 7" in lost[3]
    assert [rows[k]["square"] for k in range(3)] == [1, 4, 9]


def test_whoever_ends_a_run_reads_what_it_waits_for(monkeypatch):
    received, said = interrupts.received, []
    monkeypatch.setattr(
        interrupts, "received", lambda: signal.SIGTERM if begun("hangs") else received()
    )
    plan = small(2, ("poison:Hangs",), limits={"cell_seconds": 2})
    made = campaign(plan, "store", workers=1, callback=lambda found: said.append(str(found)))
    assert made.progress.ended
    assert "finishing bot small, seed 0: poison:Hangs; a second signal ends at once, 0 of 2 c" in (
        "\n".join(said)
    )
