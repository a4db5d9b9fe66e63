"""Imports point downwards only: a module knows what lies below it, never what lies above."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import optsched

ROOT = Path(optsched.__file__).parent
BELOW = [{"base"}, {"process"}, {"numbers"}, {"problem"}, {"files"}, {"policies", "drawing"}]
BOTTOM = {room for floor in BELOW for room in floor}
FLOORS = [
    *BELOW,
    {"proofs"},  # what judges share
    {"scheduling", "solvers", "sandbox"},
    {"engine"},
    {"families/*/instance"},
    {"families/*/verify", "families/*/certificate", "families/*/sources", "traces"},
    {"models"},
    {"families", "families/*"},
    {"core"},
    {"results", "minimax"},
    {"experiments"},
]
TOP = len(FLOORS)  # cli, pages, papers, and whatever else nobody may import
SOURCES = {"sources", "facts", "modes"}  # where instances come from
WITHOUT_MODELS = {"policies", "oracle", "online", *SOURCES}
JUDGES = {"proofs", "families/*/verify", "families/*/certificate"}
GRID = {"proofs/grid", "proofs/limits", "proofs/enclosure"}  # others may round as well
DECLARED = {"model": "instance", "feasibility": "verify", "certificate": "certificate"}
SOLVERS = {"highspy", "ortools", "clarabel"}
CLOCKS = {  # who may ask the clock, of those that search
    "engine/budget",  # the one place that tells seconds from effort
    "engine/reserve",  # what comes after a search takes longer on a busy machine
    "scheduling/declared",  # whether a solver still has time to read what took so long to write
    "solvers/convex",  # what a time limit leaves for a second attempt
    "solvers/linear",  # how long it took, and what a time limit leaves after handing over
}


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
    if first == "declared" and rest:  # a family whose problems come from outside
        part = DECLARED.get(rest[0], "")
        return f"families/*/{part}" if part else "families/*"
    if first != "families" or len(rest) < 2:
        return first
    part = "instance" if rest[1].startswith("instance_") else rest[1]
    if part in ("instance", "verify", "certificate"):
        return f"families/*/{part}"
    return "families/*/sources" if part in SOURCES else "families/*"


def floor(name: str) -> int:
    return next((f for f, rooms in enumerate(FLOORS) if room(name) in rooms), TOP)


def family(name: str) -> str | None:
    parts = name.split("/")
    return parts[1] if parts[0] in ("families", "models") and len(parts) > 1 else None


@cache
def imported(path: Path) -> list[str]:
    """Return the dotted names that a file imports, wherever in the file."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import, expected the full name"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = inner.removeprefix("optsched.").replace(".", "/") in MODULES
                found.append(inner if is_module else str(node.module))
    return found


def package_imports(name: str) -> list[str]:
    """Return the modules of the package that a module imports."""
    names = (x for x in imported(MODULES[name]) if x.split(".")[0] == "optsched")
    return [x.removeprefix("optsched").removeprefix(".").replace(".", "/") for x in names]


def is_front(name: str) -> bool:
    """Whether this is a family's front door, which shows all rooms of its family."""
    return name.startswith("families/") and name.count("/") == 1


def objections(name: str, other: str) -> Iterator[str]:
    """Yield what is wrong with one module importing another one."""
    own = family(name)
    if own is not None and family(other) not in (own, None):
        yield "another family"
    if is_front(name):
        return
    if not other and floor(name) < TOP:
        yield "the public API, expected the module"
    if floor(other) > floor(name):
        yield "a module of a higher layer"
    if room(other) == "proofs" and other not in GRID and room(name) not in JUDGES:
        yield "a module for feasibility checks and certificate checkers only"
    if (
        own is not None
        and WITHOUT_MODELS.intersection(name.split("/")[2:3])
        and other.startswith("models")
    ):
        yield "a formulation"
    checker = room(name) in JUDGES - {"proofs"}
    if checker and room(other) not in BOTTOM | {"families/*/instance", "proofs", room(name)}:
        yield "a module that a checker must not share"
    data = room(other) in BOTTOM | {"families/*/instance"} or other.endswith("/modes")
    if name.startswith("models/") and not data:
        yield "a module that a formulation must not use"


def test_imports_point_downwards():
    wrong = [
        f"{name} imports {other or 'optsched'}: {what}"
        for name in MODULES
        if name not in ("__init__", "")
        for other in package_imports(name)
        for what in objections(name, other)
    ]
    assert not wrong


def test_no_module_imports_itself_by_way_of_others():
    graph = {name: {*package_imports(name)} for name in MODULES if name and not is_front(name)}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as err:
        raise AssertionError(" -> ".join(err.args[1])) from None


def test_tools_of_the_tests_are_not_needed():
    tools = {"pytest", "hypothesis"}
    wrong = [n for n, p in MODULES.items() if tools & {x.split(".")[0] for x in imported(p)}]
    assert not wrong


def test_solvers_are_reached_in_one_place():
    wrong = [
        f"{name} imports {', '.join(sorted(found))}"
        for name in MODULES
        if room(name) != "solvers"
        and (found := {x.split(".")[0] for x in imported(MODULES[name])} & SOLVERS)
    ]
    assert not wrong, "expected optsched.solvers"


def test_who_searches_does_not_ask_the_clock():
    asking = {
        name
        for name, path in MODULES.items()
        if room(name) in {"engine", "solvers", "scheduling"} or "optimum" in name.split("/")[2:3]
        if {"timing", "time", "datetime"} & {x.split(".")[-1] for x in imported(path)}
    }
    assert asking == CLOCKS


def test_what_tests_compare_with_is_independent():
    data = {"problem", "numbers", "families/*/instance"}
    formats = {"oasis_certificate": "families/oasis/certificate/check"}
    sources = sorted((Path(__file__).parent / "independent").glob("*.py"))
    assert sources
    wrong = [
        f"{path.name} imports {name}"
        for path in sources
        for name in imported(path)
        if name.split(".")[0] == "optsched"
        and room(part := "/".join(name.split(".")[1:])) not in data
        and part != formats.get(path.stem)
    ]
    assert not wrong, "expected classes of instances only"


def test_the_rules_see_what_they_forbid():
    paper, judge = "families/oasis/policies/paper", "families/oasis/verify"
    assert floor("engine/colgen") < floor(judge) < floor(paper)
    assert floor("cli/app") == floor("anything/else") == TOP
    assert family("models/oasis") == family(paper) == "oasis"
    assert "families/oasis/instance" in package_imports(judge)
    forbidden = [
        (judge, "engine/colgen"),
        ("families/oasis/optimum/methods", "families/bot/instance"),
        ("engine/colgen", judge),
        ("scheduling/board", ""),
        ("declared/certificate", "declared/optimum"),
        ("declared/feasibility", "solvers/linear"),
        (paper, "proofs/tree"),
        (paper, "models/oasis"),
        ("models/oasis", "families/oasis/facts"),
    ]
    for name, other in forbidden:
        assert [*objections(name, other)], f"{name} imports {other}"
