"""A gallery problem through every part of the framework; rules that all of them keep to."""

import json
import shutil
from pathlib import Path

import pytest
from second_checker import NODE, answers, differences
from sweeps import sweep
from typer.testing import CliRunner

from optsched.cli.app import app
from optsched.core import simulate, solve
from optsched.declared.leaks import check_problem
from optsched.files.format import load_instance
from optsched.library.packs import Library, Pack, result_text
from optsched.library.table import derive, write_table
from optsched.problem import InputError, Status, get_family
from optsched.process.loading import load_from_file

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
NAMES = sorted(path.stem for path in GALLERY.glob("*.py"))
MOST_LINES = 30

PLAN = """
[[instances]]
family = "paging.py:paging"
parameters = {requests = 10}
seeds = 2

[[policies]]
name = "re-solve"

[[policies]]
name = "paging.py:lru"
"""


def problem(name):
    return load_from_file(f"{GALLERY / name}.py:{name}", "problem")


def test_there_are_ten():
    assert len(NAMES) == 10


@pytest.mark.parametrize("name", sweep(NAMES, quick=5))
def test_a_gallery_problem(name):
    lines = (GALLERY / f"{name}.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= MOST_LINES
    made = problem(name)
    instance = made(seed=1)
    found = solve(instance)
    assert found.status is Status.OPTIMAL
    (policy,) = made.policies.values()
    sign = 1 if instance.sense == "max" else -1
    assert sign * simulate(instance, policy).value <= sign * found.value + 1e-6
    assert check_problem(made, pairs=4).leak is None


@pytest.fixture
def folder(folder):
    shutil.copy(GALLERY / "paging.py", folder)
    (folder / "plan.toml").write_text(PLAN)
    return folder


def run(*words, code=0):
    done = CliRunner().invoke(app, [*map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done.stdout


@pytest.mark.slow
def test_a_campaign_is_run_and_reported(folder):
    run("campaign", "run", "plan.toml", "-o", "cells.sqlite", "--trust")
    run("campaign", "verify", "cells.sqlite", "--trust")
    told = run("campaign", "status", "cells.sqlite")
    assert "4" in told
    run("report", "cells.sqlite", "-o", "cells.html")
    page = (folder / "cells.html").read_text()
    assert "lru" in page
    assert "paging" in page


@pytest.mark.slow
def test_a_search_finds_a_bad_instance_that_both_checkers_accept(folder):
    words = [
        "worst-case",
        "--family",
        "paging.py:paging",
        "-p",
        "paging.py:lru",
        "--evaluations",
        "10",
    ]
    found = json.loads(run(*words, "-o", "worst.json", "--json"))
    assert found["ratio"]["low"] > 1
    assert found["ratio"]["low"] == found["ratio"]["high"]
    assert load_instance(folder / "worst.json").source == "paging small found by a search"
    assert json.loads(run(*words, "-o", "worst.json", "--json"))["low"] == found["low"]
    (folder / "paging.py").unlink()  # nothing that reads it needs the problem
    run("verify", "worst.json")
    run("show", "worst.json")
    run("report", "worst.json", "-o", "worst.html")
    if NODE is not None:
        files = [folder / "worst.json"]
        told = answers(files, folder)
        assert all(part["accepted"] for part in told[str(files[0])])
        assert differences(files, told) == []


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_policy_plays_in_the_sandbox():
    run("generate", "paging.py:paging", "--seed", "2", "-o", "p.json")
    alone = json.loads(run("run", "p.json", "-p", "paging.py:lru", "--json"))
    sealed = json.loads(run("run", "p.json", "-p", "paging.py:lru", "--sandbox", "--json"))
    assert sealed["sealed"]
    assert sealed["value"] == alone["value"]


@pytest.mark.slow
def test_results_make_a_library(folder):
    instances = [problem("paging")(seed=seed, requests=10) for seed in range(3)]
    pack = Pack(folder / "library" / "declared-min" / "small-drawn.jsonl.xz")
    pack.path.parent.mkdir(parents=True)
    texts = [result_text(inst, solve(inst)) for inst in instances]
    pack.write(texts)
    rows = [derive(pack.entry(k), text)[0] for k, text in enumerate(texts, start=1)]
    write_table(Library(folder / "library"), "declared-min", rows)
    where = ["--library", folder / "library"]
    assert "declared-min-small-drawn-0003" in run("library", "list", *where)
    run("library", "get", "declared-min-small-drawn-0002", *where, "-o", "two.json")
    assert load_instance(folder / "two.json") == instances[1]
    run("library", "verify", *where)
    run("library", "submit", "two.json", *where, code=1)  # nothing in it is better


def test_what_a_declared_problem_has_not_is_refused_in_one_line():
    family = get_family("declared-max")
    assert family.parameter_space is None
    assert family.open_trace is None
    with pytest.raises(InputError, match=r"drawn by its problem, expected FILE\.py:NAME"):
        family.generate("none")
