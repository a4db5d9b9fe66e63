"""Imports point downwards only: a module knows what lies below it, never what lies above."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import optsched

ROOT = Path(optsched.__file__).parent
BOTTOM = {
    *("problem", "plugins", "knowledge", "resources", "magnitudes", "utility"),
    *(
        "streams",
        "files",
        "disk",
        "interrupts",
        "lastwords",
        "provenance",
        "drawing",
        "clock",
        "kernels",
        "trouble",
        "wires",
    ),
}
FLOORS = [
    BOTTOM,
    {"scheduling", "solvers", "sealing"},
    {"branch", "search", "colgen", "interior_master", "progress"},
    {"families/*/instance"},
    {"families/*/verify", "families/*/certificate", "families/*/sources", "traces"},
    {"families/*", "models"},
    {"ratios", "reports", "reuse", "intervals", "simulation", "optimum", "results", "journal"},
    {"campaigns", "hunt", "stats", "store"},
]
TOP = len(FLOORS)  # cli, report, plots, and whatever else nobody may import
SOURCES = {"sources", "presets", "clusters", "facts"}  # where instances come from
WITHOUT_MODELS = {"policy", "baselines", "oracle", "online", *SOURCES}
SOLVERS = {"highspy", "ortools", "clarabel"}


def modules() -> dict[str, Path]:
    """Return every module of the package: 'families/oasis/verify' -> its file."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).with_suffix("").as_posix()
        found[name.removesuffix("/__init__")] = path
    return found


MODULES = modules()


def room(name: str) -> str:
    """Return the name under which FLOORS knows a module."""
    first, *rest = name.split("/")
    if first != "families" or len(rest) < 2:
        return first
    part = rest[1]
    if part in SOURCES or part == "modes":
        return "families/*/sources"
    for known in ("instance", "verify", "certificate"):
        if part == known or part.startswith(f"{known}_"):
            return f"families/*/{known}"
    return "families/*"


def floor(name: str) -> int:
    return next((f for f, rooms in enumerate(FLOORS) if room(name) in rooms), TOP)


def family(name: str) -> str | None:
    parts = name.split("/")
    return parts[1] if parts[0] in ("families", "models") and len(parts) > 1 else None


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import, expected the full name"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = inner.removeprefix("optsched.").replace(".", "/") in MODULES
                yield inner if is_module else str(node.module)


def package_imports(name: str) -> list[str]:
    """Return the modules of the package that a module imports."""
    names = (x for x in imported(MODULES[name]) if x.split(".")[0] == "optsched")
    return [x.removeprefix("optsched").removeprefix(".").replace(".", "/") for x in names]


def is_front(name: str) -> bool:
    """Whether this is a family's front door, which shows all rooms of its family."""
    return name.startswith("families/") and name.count("/") == 1


@pytest.mark.parametrize("name", [n for n in MODULES if n not in ("__init__", "")])
def test_imports_point_downwards(name):
    own = family(name)
    for other in package_imports(name):
        arrow = f"{name} imports {other or 'the public API'}"
        if is_front(name):
            assert family(other) in (own, None), f"{arrow}, of another family"
            continue
        assert other or floor(name) == TOP, f"{arrow}, expected the module it means"
        assert floor(other) <= floor(name), f"{arrow}, which lies above"
        if own is not None:
            assert family(other) in (own, None), f"{arrow}, of another family"
            if name.split("/")[2:3] and name.split("/")[2] in WITHOUT_MODELS:
                assert not other.startswith("models"), f"{arrow}, a formulation"


@pytest.mark.parametrize(
    "name", [n for n in MODULES if room(n).endswith(("verify", "certificate"))]
)
def test_judges_know_the_instance_alone(name):
    if not name.startswith("families/"):
        return
    own = f"families/{family(name)}"
    allowed = BOTTOM | {f"{own}/instance"}
    for other in package_imports(name):
        mine = "certificate" in name and other.startswith(f"{own}/certificate_")
        assert mine or other in allowed, f"{name} imports {other}, expected {sorted(allowed)}"


@pytest.mark.parametrize("name", [n for n in MODULES if n.startswith("models/")])
def test_formulations_know_the_instance_alone(name):
    own = f"families/{family(name)}"
    allowed = BOTTOM | {f"{own}/instance", f"{own}/modes"}
    for other in package_imports(name):
        assert other in allowed, f"{name} imports {other}, expected {sorted(allowed)}"


@pytest.mark.parametrize("name", MODULES)
def test_solvers_are_reached_in_one_place(name):
    if name.split("/")[0] == "solvers":
        return
    found = {x.split(".")[0] for x in imported(MODULES[name])} & SOLVERS
    assert not found, f"{name} imports {', '.join(sorted(found))}, expected optsched.solvers"


def test_the_rules_see_what_they_forbid():
    assert floor("colgen") < floor("families/oasis/verify") < floor("families/oasis/policy")
    assert floor("cli") == floor("anything/else") == TOP
    assert family("models/oasis") == family("families/oasis/policy") == "oasis"
    assert "families/oasis/instance" in package_imports("families/oasis/verify")
