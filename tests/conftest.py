"""Limits of time and memory for tests; Hypothesis draws the same examples in every run."""

import gc
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# two processes of tests share two cores: threads of theirs would wait for one another
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

os.environ["OPTSCHED_CACHE"] = os.devnull  # no test finds the optima of another one
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


MOST = 3 * 2**30  # bytes beyond what the process has already; more is a MemoryError
ENDLESS = 1200  # seconds; what ends at all takes a thousandth of it

gc.set_threshold(500_000, 20, 20)  # models and compilers make many objects that stay


# a hundred processes are started: they need not compile the package's modules each
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


FAMILIES = ("bipartite", "bot", "completion", "dmlrs", "oasis", "rigid")
FAMILY = re.compile(rf"(?<![a-z])({'|'.join(FAMILIES)})(?![a-z])")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each process begin with families of its own, so that no two compile the same kernels.

    xdist hands out equal parts of the list, and moves what is left of them later.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    parts: list[list[pytest.Item]] = [[] for _ in range(workers)]
    others = []
    for item in items:
        if family := FAMILY.search(item.nodeid):
            parts[FAMILIES.index(family[1]) * workers // len(FAMILIES)].append(item)
        else:
            others.append(item)
    for part in parts:
        room = max(0, len(items) // workers - len(part))
        part += others[:room]
        del others[:room]
    items[:] = [item for part in (*parts, others) for item in part]


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the modules, which stay."""
    gc.freeze()


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Let SIGINT interrupt, also where the tests run in the background and it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def not_quiet() -> Iterator[None]:
    """Undo the `-q` or `-v` of a command that a test has run in this process."""
    yield
    from optsched.process import messages  # not in the process that only hands out tests

    messages.settle(quiet=False, verbose=False)


@pytest.fixture(autouse=True)
def bounded(request: pytest.FixtureRequest) -> Iterator[None]:
    """Limit the memory and the time that an attack can take, where the system can."""
    attack = request.node.path.parent.name == "attacks"
    if not attack or not sys.platform.startswith("linux"):
        yield
        return
    import resource

    def fail(*_: object) -> None:
        pytest.fail(f"does not end within {ENDLESS} s")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST, memory[1]))
    handler = signal.signal(signal.SIGALRM, fail)
    signal.alarm(ENDLESS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, handler)
    resource.setrlimit(resource.RLIMIT_AS, memory)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command here; return its exit status, stdout and stderr."""

    from optsched.cli.app import main  # not in the process that only hands out tests

    def run(*args: object) -> tuple[int, str, str]:
        status: int | str | None = 0
        try:
            main([str(a) for a in args])
        except SystemExit as left:
            status = left.code or 0
        said = capsys.readouterr()
        assert isinstance(status, int)
        return status, said.out, said.err

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in a folder of its own; afterwards, forget the modules that come from there."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if str(tmp_path) in name]:
        del sys.modules[name]
    sys.path[:] = [place for place in sys.path if place != str(tmp_path)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Chromium, where it and Playwright are there."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no extra `browser`")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as made:
        opened = made.chromium.launch(
            executable_path=program, args=["--no-sandbox"], timeout=600_000
        )
        yield opened
        opened.close()
