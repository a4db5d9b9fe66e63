"""Every kernel states what its arrays are, in its docstring or next to them: shapes, and units.

The unit is requested of amounts of resources, of prices and of times, which could be in any; other
arrays are numbers of something, as their names or sentences state.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import optsched

ROOT = Path(optsched.__file__).parent
ARRAY = re.compile(r"\b(Ints|Floats|Flags|Small|Medium|Unsigned|Marks|NDArray)\b")
UNITS = {  # by the last word of an array's name: what its definition must speak of
    r"(^|_)(demand|capacity|free|load|usage)s?$": r"\b(units?|flop|bytes|whether)\b|\bshares? of",
    r"(^|_)(price|cost|rent)s?$": r"\b(units?|workers?|PS|jobs?|load|items?|runs?|overhead)\b",
    r"(^|_)(duration|arrival|completion|slot)s?$": r"\b(slots?|seconds)\b",
}
REFERENCE = re.compile(r"\bas\s+in\s+`(\w+)`")  # "arrays as in `cheapest`"
Definition = ast.FunctionDef | ast.ClassDef


@cache
def by_name() -> dict[str, list[tuple[Path, Definition]]]:
    found: dict[str, list[tuple[Path, Definition]]] = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, Definition):
                found[node.name].append((path, node))
    return found


@cache
def kernels() -> dict[str, tuple[Path, ast.FunctionDef]]:
    return {
        f"{path.relative_to(ROOT)}:{name}": (path, node)
        for name, defined in by_name().items()
        for path, node in defined
        if isinstance(node, ast.FunctionDef)
        and any(re.match(r"kernel\b", ast.unparse(d)) for d in node.decorator_list)
    }


@cache
def tuples() -> dict[str, tuple[Path, ast.ClassDef]]:
    """Return the named tuples that kernels take."""
    handed = {
        name
        for _, kernel in kernels().values()
        for a in kernel.args.args
        if a.annotation is not None
        for name in re.findall(r"\w+", ast.unparse(a.annotation))
    }
    return {
        f"{path.relative_to(ROOT)}:{name}": (path, node)
        for name in handed
        for path, node in by_name().get(name, ())
        if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases)
    }


def parts(node: Definition) -> Iterator[tuple[str, str, int]]:
    """Yield name, type and line of the arguments of a function, or of the fields of a class."""
    if isinstance(node, ast.FunctionDef):
        for a in node.args.args:
            yield a.arg, ast.unparse(a.annotation) if a.annotation else "", a.lineno
    else:
        for a in node.body:
            if isinstance(a, ast.AnnAssign):
                yield ast.unparse(a.target), ast.unparse(a.annotation), a.lineno


def said(path: Path, node: Definition, name: str, line: int) -> bool:
    """Whether a shape is there: a comment, "``price`` (R, H)", "price[r, h]", "price : shape (R,)".

    Or the docstring refers to a definition that states it.
    """
    if "  # " in path.read_text("utf-8").splitlines()[line - 1]:
        return True
    doc = ast.get_docstring(node) or ""
    forms = (
        rf"``{name}``[^.;]*?\(\S",
        rf"\b{name}\s+\(\S+[,)]",
        rf"\b{name}\[",
        rf"\b{name}\b[\w, ]* : .*\(",
    )
    return any(re.search(form, doc) for form in forms) or any(
        said(there, other, name, at)
        for referred in REFERENCE.findall(doc)
        for there, other in by_name().get(referred, ())
        if other is not node
        for known, _, at in parts(other)
        if known == name
    )


def test_arrays_have_shapes():
    silent = [
        f"{name}: {a}"
        for name, (path, node) in (kernels() | tuples()).items()
        for a, kind, at in parts(node)
        if ARRAY.search(kind) and not said(path, node, a, at)
    ]
    assert not silent, "arrays without a documented shape"


def told(path: Path, node: Definition) -> str:
    """Return all that a definition states of its arrays, and those that it refers to."""
    doc = ast.get_docstring(node) or ""
    text = [doc]
    if isinstance(node, ast.ClassDef):
        lines = path.read_text("utf-8").splitlines()[node.lineno - 1 : node.end_lineno]
        text += [line.partition("  # ")[2] for line in lines]
    text += [
        told(there, other)
        for referred in REFERENCE.findall(doc)
        for there, other in by_name().get(referred, ())
        if other is not node
    ]
    return "\n".join(text)


def test_arrays_have_units():
    silent = [
        f"{name}: {a}"
        for name, (path, node) in (kernels() | tuples()).items()
        for a, kind, _ in parts(node)
        for ending, unit in UNITS.items()
        if ARRAY.search(kind)
        and re.search(ending, a)
        and not re.search(unit, told(path, node), re.IGNORECASE)
    ]
    assert not silent, "arrays without a documented unit"


def test_kernels_are_found():
    assert len(kernels()) > 200
    assert len(tuples()) > 40
