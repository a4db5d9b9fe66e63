"""Running: what dies, hangs or is killed costs what it must, and no more."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from poison import NAMES, numbers, small

from optsched import campaign
from optsched.campaigns.campaign import forecast, merge, status
from optsched.campaigns.run import part_of
from optsched.campaigns.store import State, Store
from optsched.problem import InputError

HELPERS = Path(__file__).parents[1] / "helpers"
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from poison import small
from optsched import campaign
campaign(small(40, ("poison:Counts", "fifo")), "store", workers=2)
"""


@pytest.fixture(autouse=True)
def _there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = os.pathsep.join([str(HELPERS), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", paths)  # of the processes


def counted():
    path = Path("counted")
    return len(path.read_text().splitlines()) if path.exists() else 0


def sound(path):
    db = sqlite3.connect(path)
    found = db.execute("PRAGMA integrity_check").fetchone()
    db.close()
    return found == ("ok",)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The rows of a run in threads of this process, without pool and without harm."""
    path = tmp_path_factory.mktemp("undisturbed") / "store"
    with ThreadPoolExecutor(1) as executor:
        campaign(small(4, ("fifo", "adaptive")), path, executor=executor)
    return numbers(path)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_number_of_processes_changes_nothing(undisturbed, workers):
    found = campaign(small(4, ("fifo", "adaptive")), "store", workers=workers)
    assert (found.progress.done, found.progress.errors) == (8, 0)
    assert numbers(Path("store")) == undisturbed
    assert [row["status"] for row in undisturbed] == ["done"] * 8


def test_poison_costs_one_row_each():
    policies = ("fifo", *(f"poison:{name}" for name in NAMES))
    limits = {"memory_gb": 1}
    found = campaign(small(1, policies, limits=limits), "store", workers=2)
    assert found.progress.done == found.progress.cells == 5
    told = {}
    for row in numbers(Path("store")):
        told.setdefault(row["policy"].removeprefix("poison:"), set()).add(row["message"])
        assert row["optimum"] is not None
    assert told == {
        "fifo": {None},
        "Leaves": {"its process ended itself with status 7; it said: it was me (tried 3 times)"},
        "Faults": {"its process was ended by SIGSEGV (tried 3 times)"},
        "Devours": {"it needs more than 1 GB of memory"},
        "Raises": told["Raises"],
    }
    (said,) = told["Raises"]
    assert "KeyError: 'no such thing'" in said
    assert "poison.py" in said
    (fifo, *others) = found.samples()
    assert (fifo.policy, fifo.count, fifo.errors) == ("fifo", 1, 0)
    assert {(s.count, s.errors) for s in others} == {(0, 1)}


def test_what_comes_to_no_end_is_ended():
    campaign(small(1, ("poison:Hangs",), limits={"cell_seconds": 3}), "store", workers=1)
    (row,) = numbers(Path("store"))
    assert (row["status"], row["message"]) == ("error", "it came to no end within 3 s")
    assert row["optimum"] is not None


def test_errors_are_tried_again_when_that_is_asked_for():
    plan = small(1, ("fifo", "poison:Raises"))
    first = campaign(plan, "store", workers=1)
    assert campaign(plan, "store", workers=1).progress.errors == 0  # nothing was run
    again = campaign(plan, "store", workers=1, retry_errors=True)
    assert first.progress.errors == again.progress.errors == 1
    assert status(Path("store")).count(State.ERROR) == 1


def test_kills_lose_nothing_that_was_stored(tmp_path):
    # real kills of the whole group, or of one process, at any moment, commits included
    rng = random.Random(7)
    store, group_kills = tmp_path / "store", 0
    for _ in range(10):
        before = status(store).done if store.exists() and store.stat().st_size else 0
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, HELPERS], start_new_session=True, cwd=tmp_path
        )
        time.sleep(1.0 + 2.0 * rng.random())
        one = rng.random() < 0.3
        children = subprocess.run(
            ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False
        ).stdout.split()
        if process.poll() is None and one and children:
            os.kill(int(rng.choice(children)), signal.SIGKILL)
            time.sleep(0.3)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            group_kills += 1
        process.wait()
        if store.exists() and store.stat().st_size:
            assert sound(store)
            found = status(store)
            assert found.done >= before
            assert found.count(State.ERROR) == 0
            if found.done == found.cells:
                break
    final = campaign(small(40, ("poison:Counts", "fifo")), store, workers=2)
    assert final.progress.done == 80
    assert group_kills >= 2
    with ThreadPoolExecutor(1) as executor:
        campaign(small(40, ("poison:Counts", "fifo")), tmp_path / "calm", executor=executor)
    assert numbers(store) == numbers(tmp_path / "calm")


def test_done_cells_are_not_run_again():
    plan = small(5, ("poison:Counts",))
    campaign(plan, "store", workers=1)
    assert counted() == 5
    campaign(plan, "store", workers=1)
    assert counted() == 5
    campaign(small(8, ("poison:Counts",)), "store", workers=1)
    assert counted() == 8


def test_another_plan_is_refused_and_named():
    campaign(small(2), "store", workers=1)
    with pytest.raises(InputError, match=r"another plan: reference.time_limit is 3.0, but 20.0"):
        campaign(small(2, reference={"time_limit": 3}), "store")
    with pytest.raises(InputError, match=r"another plan: instances\[0\].seeds is \[0\]"):
        campaign(small(1), "store")


def test_an_instance_that_comes_a_second_time_is_solved_once():
    once = {"family": "bot", "preset": "small"}
    again = once | {"parameters": {"applications": 3}}  # what the preset has anyway
    campaign(small(instances=[once]), "store", workers=1)
    campaign(small(instances=[once, again]), "store", workers=1)
    with Store.open(Path("store")) as store:
        assert store.rows("SELECT count(*) FROM optimum") == [(1,)]
    first, second = numbers(Path("store"))
    assert first["instance_sha256"] == second["instance_sha256"]
    assert first["optimum_schedule_sha256"] == second["optimum_schedule_sha256"]


def test_shards_in_any_order_make_the_whole(undisturbed):
    plan = small(4, ("fifo", "adaptive"))
    parts = []
    for k in range(1, 8):
        parts.append(Path(f"part{k}"))
        campaign(plan, parts[-1], workers=1, shard=(k, 7))
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


def test_stores_of_other_plans_do_not_merge():
    campaign(small(1), "a", workers=1)
    campaign(small(2), "b", workers=1)
    with pytest.raises(InputError, match=r"b: holds another plan: instances\[0\].seeds"):
        merge(Path("c"), [Path("a"), Path("b")])
    assert not Path("c").exists()


def test_a_forecast_goes_by_what_is_done():
    store = Path("store")
    nothing = forecast(small(2), store)
    campaign(small(2), store, workers=1)
    more = forecast(small(5), store)
    assert (nothing.cells, nothing.instances, nothing.done, nothing.seconds) == (2, 2, 0, None)
    assert (more.cells, more.instances, more.done) == (5, 5, 2)
    assert more.seconds > 0


def test_processes_that_cannot_begin_are_no_fault_of_a_cell(monkeypatch):
    monkeypatch.setattr("optsched.campaigns.pool.START", "raise SystemExit('not today')")
    with pytest.raises(InputError, match=r"a worker cannot begin: .* status 1; it said: not today"):
        campaign(small(1), "store", workers=2)
    assert status(Path("store")).done == 0


def test_an_executor_that_breaks_says_so():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(InputError, match="the executor takes no more work"):
        campaign(small(1), "store", executor=executor)


def test_cells_are_small():
    campaign(small(100, ("fifo", "adaptive", "local-share", "naive")), "store", workers=2)
    assert Path("store").stat().st_size / 400 < 300  # bytes per cell


def test_rows_tell_how_the_search_ended():
    campaign(small(1, reference={"time_limit": 0, "gap": 0}), "store", workers=1)
    (row,) = numbers(Path("store"))
    assert (row["status"], row["limited_by"], row["limit"]) == ("limit", "time", 0.0)
    assert row["ratio_low"] < row["ratio_high"]
    assert "ended by the clock" in " ".join(status(Path("store")).remarks())
