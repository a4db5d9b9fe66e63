"""README: its commands come first and exist, its Python runs."""

import re
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from optsched.cli.app import app
from optsched.core import simulate
from optsched.families.oasis.policies import Fifo
from optsched.problem import families, get_family

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_the_two_commands_are_targets_that_install_and_run():
    assert blocks("sh")[:2] == ["make demo\n", "make test\n"]
    for target, tool in (("demo", "/bin/optsched ratio sample"), ("test", "/bin/python -m pytest")):
        # a make inside `make test` names its directory as well
        call = ["make", "-n", "--no-print-directory", target, "VENV=nowhere", "PYTHON=python3"]
        done = subprocess.run(call, cwd=README.parent, capture_output=True, text=True, check=True)
        create, install, _, run = done.stdout.splitlines()
        assert create == "python3 -m venv nowhere"
        assert install.startswith("nowhere/bin/pip install ")
        assert run.startswith("nowhere" + tool)


def test_every_command_is_listed():
    listed = re.findall(r"^    optsched ([\w-]+)", TEXT, re.MULTILINE)
    assert {*get_command(app).commands} <= {*listed}


def test_every_family_is_listed_with_its_page():
    listed = re.findall(r"^\| \[`(\w+)`\]\(docs/(\w+)\.md\)", TEXT, re.MULTILINE)
    assert sorted(listed) == [(name, name) for name in families()]


def test_python_example_runs(capsys):
    exec(blocks("python")[0], {})  # what a reader would paste
    said = capsys.readouterr().out
    assert "oasis reaches" in said
    assert "fifo reaches" in said


@pytest.mark.parametrize("more", ["", ",request_seconds"])
def test_commands_for_own_lists_take_any_of_them(tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{60 * k},3600,4{',7200' * bool(more)}\n" for k in range(100))
    Path("jobs.csv").write_text(f"submit_seconds,run_seconds,tasks{more}\n{rows}")
    Path("machines.csv").write_text("gpu,cpu,memory_gb\n0,16,64\n")
    lines = re.findall(r"^    optsched ratio (jobs\.csv .*)", TEXT, re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        done = CliRunner().invoke(app, ["trace", *line.split(), "-o", "made.json"])
        assert done.exit_code == 0, done.output


def test_policy_example_is_a_policy():
    names = {}
    exec(blocks("python")[1], names)
    instance = get_family("oasis").generate("small", seed=1)
    mine = simulate(instance, names["MyPolicy"]())
    fifo = simulate(instance, Fifo(fewest_workers=1, most_workers=1))
    assert mine.policy == "mine"
    assert mine.value == pytest.approx(fifo.value)
