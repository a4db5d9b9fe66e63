"""Executors of others: a chunk that comes to nothing, and a Dask cluster of real processes."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from poison import numbers, small

from optsched import campaign
from optsched.experiments.executors import must_be_alike
from optsched.experiments.run import CampaignProgress
from optsched.files.provenance import all_versions
from optsched.problem import InputError

pytestmark = pytest.mark.slow


class Fragile(Executor):
    """Loses every chunk with a certain policy, as a cluster whose worker dies does."""

    def __init__(self, policy):
        self.policy, self.lost = policy, 0

    def submit(self, function, tasks):
        future = Future()
        if any(t.contender is not None and t.contender.name == self.policy for t in tasks):
            self.lost += 1
            future.set_exception(ConnectionError("gone"))
        else:
            future.set_result(function(tasks))
        return future


def test_a_lost_chunk_is_tried_one_by_one(tmp_path):
    executor = Fragile("local-share")
    campaign(small(3, ("fifo", "local-share")), tmp_path / "store", executor=executor, workers=1)
    found = [(row["policy"], row["status"], row["message"]) for row in numbers(tmp_path / "store")]
    lost = ("local-share", "error", "ConnectionError: gone (tried 3 times)")
    assert sorted(found) == [("fifo", "done", None)] * 3 + [lost] * 3
    assert executor.lost <= 3 + 3 * 3


class Late(ThreadPoolExecutor):
    """Loses its first chunk, and takes long for optima."""

    lost = False

    def submit(self, function, tasks):
        if self.lost:
            return super().submit(self.run, function, tasks)
        self.lost, future = True, Future()
        future.set_exception(ConnectionError("gone"))
        return future

    @staticmethod
    def run(function, tasks):
        if tasks[0].contender is None:
            time.sleep(0.2)
        return function(tasks)


def test_cells_of_a_lost_chunk_wait_for_their_optimum(tmp_path):
    plan = small(1, ("fifo", "local-share"))
    with Late(2) as executor:
        campaign(plan, tmp_path / "store", executor=executor, workers=1)
    campaign(plan, tmp_path / "here", executor=Fragile("nobody"))
    assert numbers(tmp_path / "store") == numbers(tmp_path / "here")


def test_workers_with_other_versions_are_refused():
    here = all_versions()
    must_be_alike("w", here, here)
    with pytest.raises(InputError, match=r"worker w has numpy 1.0, expected \d"):
        must_be_alike("w", here | {"numpy": "1.0"}, here)
    with pytest.raises(InputError, match="worker w has numpy not at all, expected"):
        must_be_alike("w", {k: v for k, v in here.items() if k != "numpy"}, here)


class Joined(Executor):
    """Has a worker of another version, which joined after the command had looked at all."""

    def submit(self, function, tasks):
        future = Future()
        try:
            with pytest.MonkeyPatch.context() as patch:
                there = all_versions() | {"numpy": "1.0"}
                patch.setattr("optsched.experiments.executors.all_versions", lambda: there)
                future.set_result(function(tasks))
        except InputError as err:
            future.set_exception(err)
        return future


def test_a_worker_that_joins_later_with_other_versions_computes_nothing(tmp_path):
    plan, store = small(2, ("fifo",)), tmp_path / "store"
    with pytest.raises(InputError, match=r"worker process \d+ on .* has numpy 1.0, expected"):
        campaign(plan, store, executor=Joined(), workers=1)
    assert numbers(store) == []
    assert campaign(plan, store, executor=Fragile("nobody")).progress.done == 2


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers, as the command line starts them."""
    pytest.importorskip("distributed")
    port, processes = free_port(), []

    def start(*words):
        command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
        processes.append(
            subprocess.Popen(
                [*command, "--no-dashboard"],
                cwd=tmp_path,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        return processes[-1]

    address = f"tcp://127.0.0.1:{port}"
    start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port))
    for _ in range(2):
        start("dask_worker", address, "--nthreads", "1", "--no-nanny")
    yield address, processes
    for process in processes:
        process.kill()
        process.wait()


def test_a_dask_cluster_computes_the_same_though_a_worker_is_killed(cluster, tmp_path):
    from distributed import Client

    address, processes = cluster
    with Client(address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    seen: list[CampaignProgress] = []
    killed = threading.Event()

    def tell(progress):
        seen.append(progress)
        if 0 < progress.done < progress.cells and not killed.is_set():
            killed.set()
            os.kill(processes[-1].pid, signal.SIGKILL)

    plan = small(60, ("fifo", "local-share"))
    found = campaign(plan, tmp_path / "dask", dask=address, callback=tell)
    assert killed.is_set()
    assert (found.progress.done, found.progress.errors) == (120, 0)
    campaign(plan, tmp_path / "here", executor=Fragile("nobody"))
    assert numbers(tmp_path / "dask") == numbers(tmp_path / "here")


def test_a_dask_cluster_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("optsched.experiments.executors.PATIENCE", 0.5)
    address, began = f"tcp://127.0.0.1:{free_port()}", time.monotonic()
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        campaign(small(1), Path(tmp_path / "store"), dask=address)
    assert time.monotonic() - began < 30
