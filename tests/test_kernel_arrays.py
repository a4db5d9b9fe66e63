"""Every kernel says what its arrays are, in its docstring or beside them: their shapes at least."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import optsched

ROOT = Path(optsched.__file__).parent
ARRAY = re.compile(r"\b(Ints|Floats|Flags|Small|Medium|Unsigned|Marks|NDArray)\b")
REFERENCE = re.compile(r"\bas\s+in\s+`(\w+)`")  # "arrays as in `cheapest`"
Definition = ast.FunctionDef | ast.ClassDef


def definitions() -> Iterator[tuple[Path, Definition]]:
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, Definition):
                yield path, node


DEFINED = [*definitions()]
KERNELS = {
    f"{path.relative_to(ROOT)}:{node.name}": (path, node)
    for path, node in DEFINED
    if isinstance(node, ast.FunctionDef)
    and any(re.match(r"kernel\b", ast.unparse(d)) for d in node.decorator_list)
}
HANDED = {  # the tuples that kernels take
    name for _, k in KERNELS.values() for a in k.args.args if a.annotation is not None
    for name in re.findall(r"\w+", ast.unparse(a.annotation))
}  # fmt: skip
TUPLES = {
    f"{path.relative_to(ROOT)}:{node.name}": (path, node)
    for path, node in DEFINED
    if isinstance(node, ast.ClassDef)
    and node.name in HANDED
    and "NamedTuple" in map(ast.unparse, node.bases)
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

    Or the docstring refers to a definition that says it.
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
        for there, other in DEFINED
        if other.name in REFERENCE.findall(doc) and other is not node
        for known, _, at in parts(other)
        if known == name
    )


@pytest.mark.parametrize("name", [*KERNELS, *TUPLES])
def test_arrays_have_shapes(name):
    path, node = (KERNELS | TUPLES)[name]
    silent = [
        a for a, kind, at in parts(node) if ARRAY.search(kind) and not said(path, node, a, at)
    ]
    assert not silent, f"{name}: says no shape of {', '.join(silent)}"


def test_kernels_are_found():
    assert len(KERNELS) > 200
    assert len(TUPLES) > 40
