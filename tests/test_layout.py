"""The layout that docs/design.md describes: folders, their modules, what an import loads."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import optsched

TREE = Path(__file__).parents[1]
ROOT = Path(optsched.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
DESIGN = (TREE / "docs" / "design.md").read_text("utf-8")
HEAVY = {"highspy", "ortools", "clarabel", "cvxpy", "pyomo", "matplotlib", "numba", "numpy"}


def roles() -> list[tuple[str, str]]:
    """Return the rows of the table of roles as (family, what is named in its column)."""
    head, _, *rows = DESIGN[DESIGN.index("| role |") :].split("\n\n")[0].splitlines()
    _, *families = (cell.strip() for cell in head.strip("|").split("|"))
    assert {*families} == {path.parent.name for path in ROOT.glob("families/*/instance.py")}
    found = []
    for row in rows:
        cells = row.strip("|").split("|")[1:]
        for family, cell in zip(families, cells, strict=True):
            found += [(family, named) for named in re.findall(r"`([^`]+)`", cell)]
    return found


def test_the_table_of_roles_names_what_exists():
    places = {
        f"{family}: {named}": [ROOT / "families" / family / named, ROOT / named]
        for family, named in roles()
    }
    missing = [
        row
        for row, paths in places.items()
        if not any(p.is_dir() or p.with_suffix(".py").is_file() for p in paths)
    ]
    assert places
    assert not missing, "named in docs/design.md, but neither a folder nor a module"


@pytest.mark.parametrize("imports", ["optsched", "optsched, optsched.solvers"])
def test_importing_the_package_loads_nothing_that_is_heavy(imports):
    code = f"import sys, {imports}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    heavy = HEAVY - {"numba", "numpy"} if "solvers" in imports else HEAVY
    assert not heavy & {name.split(".")[0] for name in loaded}
    ours = [name for name in loaded if name.split(".")[0] == "optsched"]
    assert ours == ["optsched"] or "solvers" in imports


def test_there_is_one_pool_of_processes():
    scripts = sorted((TREE / "benchmarks").glob("*.py"))
    assert scripts
    named = [p for p in [*SOURCES, *scripts] if "ProcessPoolExecutor" in p.read_text("utf-8")]
    assert named == [ROOT / "experiments/pool.py"], "expected the pool that outlives a process"


def test_modules_are_found_under_their_old_names():
    old = ("ratios", "campaigns.plan", "hunts.hunt", "files.envelope", "sealing")
    code = (
        f"import {', '.join(f'optsched.{name}' for name in old)};"
        "from optsched.core import Search; from optsched.core.optimum import Search as again;"
        "print(optsched.ratios.compare is optsched.compare, optsched.campaigns.plan.__name__,"
        "optsched.hunts.hunt.__name__, optsched.files.envelope.load_instance.__module__,"
        "Search.__name__, again.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "always::DeprecationWarning", "-c", code],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [
        *("True", "optsched.experiments.plan", "optsched.adversarial.worst_case"),
        *("optsched.files.format", "SolveOptions", "SolveOptions"),
    ]
    for name in (*old, "core.Search", "core.optimum.Search"):
        assert f"optsched.{name} is deprecated, use " in done.stderr


def test_modules_named_in_docstrings_of_methods_exist():
    missing = []
    for path in ROOT.glob("families/*/optimum/**/*.py"):
        source = path.read_text("utf-8")
        head = ast.get_docstring(ast.parse(source), clean=False) or ""
        for name in re.findall(r"`(?:optsched\.)?([\w./]+)`", head):
            place, _, last = name.removesuffix(".py").strip(".").replace(".", "/").rpartition("/")
            found = (TREE / name).exists() or any(ROOT.glob(f"**/{place}/{last}"))
            found = found or any(ROOT.glob(f"**/{place}/{last}.py"))
            texts = [p.read_text("utf-8") for p in ROOT.rglob(f"{place}.py")] if place else [source]
            if not found and not re.search(rf"\b{last}\b", "".join(texts).replace(head, "")):
                missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert not missing
