"""What the benchmarks of campaigns share: runs in processes of their own, a Dask cluster, load."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bench import Row

from optsched import campaign
from optsched.experiments.plan import make_plan

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from poison import numbers

HELPERS = Path(__file__).parents[1] / "tests" / "helpers"
CALL = """
import json, sys
from optsched import campaign
plan, store, how = sys.argv[1:]
campaign(json.loads(plan), store, **json.loads(how))
"""
RUN = ("campaign", "run", "plan.toml", "-o", "store", "-q")
PATIENCE = 600.0  # seconds in which anything comes to an end
Plan = dict[str, Any]


def in_parts(cells: Mapping[str, Iterable[Row]], parts: Iterable[str]) -> list[Row]:
    """Return the cells of the parts that are requested, each with the name of its part."""
    return [{"part": part, **cell} for part in parts for cell in cells[part]]


def in_folder(parts: Mapping[str, Callable[[Row, Path], Row]], cell: Row) -> Row:
    """Measure a cell as its part does it, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="optsched-") as folder:
        return parts[cell["part"]](cell, Path(folder))


def bags(seeds: int, *policies: str, **more: object) -> Plan:
    """Return a plan of small bags of tasks, whose cells take a moment."""
    return {
        "instances": [{"family": "bot", "preset": "small", "seeds": seeds}],
        "policies": [{"name": name} for name in policies],
        **more,
    }


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a run: policies of the tests are found, nothing is remembered."""
    paths = os.pathsep.join(filter(None, [str(HELPERS), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": paths, "OPTSCHED_CACHE": os.devnull} | more


def start(plan: Plan, folder: Path, **how: Any) -> subprocess.Popen[bytes]:
    """Begin a campaign in a process (and a group) of its own; its store is folder/store."""
    return subprocess.Popen(
        [sys.executable, "-c", CALL, json.dumps(plan), "store", json.dumps(how)],
        cwd=folder,
        env=environment(),
        start_new_session=True,
    )


def calm(plan: Plan, store: Path, **how: Any) -> list[dict[str, Any]]:
    """Run a plan in a thread of this process, undisturbed; return its rows."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # policies may leave files
        try:
            with ThreadPoolExecutor(1) as executor:
                campaign(make_plan(plan, Path()), store, executor=executor, **how)
        finally:
            os.chdir(before)
    return numbers(store)


def starting(
    *words: object, folder: Path, within: Sequence[str] = (), **more: str
) -> dict[str, Any]:
    """Return what starts `optsched` with these words; ``within`` another command."""
    return {
        "args": [*within, sys.executable, "-m", "optsched", *map(str, words)],
        "cwd": folder,
        "env": environment(**more),
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }


def command_line(
    *words: object, folder: Path, within: Sequence[str] = (), **more: str
) -> subprocess.CompletedProcess[str]:
    """Run `optsched` with these words; ``more`` is of the environment."""
    process = starting(*words, folder=folder, within=within, **more)
    return subprocess.run(**process, check=False, timeout=PATIENCE)


def digest(store: Path) -> str:
    """Return a digest of all rows of a store, but for times and versions."""
    return hashlib.sha256(json.dumps(numbers(store)).encode()).hexdigest()[:16]


def sound(store: Path) -> bool:
    """Whether SQLite finds nothing wrong with a file."""
    with sqlite3.connect(store) as db:
        found: tuple[str] = db.execute("PRAGMA integrity_check").fetchone()
    db.close()
    return found == ("ok",)


def write_plan(plan: Plan, path: Path) -> Path:
    """Write a plan file."""
    path.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in plan.items()))
    return path


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name} = {_toml(x)}' for name, x in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def until(condition: Callable[[], Any], pause: float = 0.02) -> None:
    """Wait for something.

    Raises
    ------
    TimeoutError
        It does not come.
    """
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > PATIENCE:
            raise TimeoutError("what was waited for does not come")
        time.sleep(pause)


def children(number: int) -> list[int]:
    """Return the processes that a process has started."""
    with suppress(OSError):
        listed = Path(f"/proc/{number}/task/{number}/children").read_text()
        return [int(word) for word in listed.split()]
    return []


class Cluster:
    """A scheduler and workers of Dask, as the command line starts them."""

    def __init__(self, folder: Path, workers: int, **more: str) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._folder, self._more = folder, more
        self.workers: list[subprocess.Popen[bytes]] = []
        self.begin(workers)

    def begin(self, workers: int) -> None:
        """Start a scheduler, and workers."""
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(self.port))
        for _ in range(workers):
            self.workers.append(
                self._start("worker", self.address, "--nthreads", "1", "--no-nanny")
            )
        from distributed import Client

        with Client(self.address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)

    def _start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{what}", *words, "--no-dashboard"],
            cwd=self._folder,
            env=environment(**self._more),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def close(self) -> None:
        """Kill all."""
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()
        self.workers = []


@contextmanager
def cluster(folder: Path, workers: int, **more: str) -> Iterator[Cluster]:
    """Hold a Dask cluster; ``more`` is of its environment."""
    made = Cluster(folder, workers, **more)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Have other processes compute all the while."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def kill(numbers_: Sequence[int]) -> bool:
    """Send SIGKILL; return whether somebody was there."""
    there = False
    for number in numbers_:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
            there = True
    return there
