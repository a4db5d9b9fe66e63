"""Pages on families have the whole program, and every symbol with its field."""

import ast
import re
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from optsched.problem import families, get_family

pytest.importorskip("sphinx", reason="the extra `docs` is missing")
DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
equations = pytest.importorskip("extensions.equations")
sys.path.pop(0)

OF_ITSELF = {"drawn", "redrawn", "source"}  # what an instance tells of itself, without a symbol


def equation_names(family):
    """Return the names of all objectives and constraints of a model."""
    tree = ast.parse((equations.MODELS / f"{family}.py").read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and "doc=" in "".join(
            map(ast.unparse, node.decorator_list)
        ):
            yield node.name
        elif isinstance(node, ast.Assign) and re.fullmatch(r"eq\d+\w?", ast.unparse(node.targets)):
            yield node.targets[0].id


@pytest.mark.parametrize("name", families())
def test_page_states_every_equation_of_the_model(name):
    text = (DOCS / f"{name}.md").read_text("utf-8")
    shown = re.findall(rf"^```{{stated}} {name}\.(\S+)$", text, re.MULTILINE)
    wanted = set(equation_names(name))
    assert len(wanted) >= 3
    assert not wanted - {place.rpartition(".")[2] for place in shown}
    for place in shown:
        lines, first = equations.lines_of(name, place)
        assert lines.count("\n") < 40, place
        source = (equations.MODELS / f"{name}.py").read_text("utf-8").splitlines()
        assert source[first - 1].strip() == lines.splitlines()[0]


@pytest.mark.parametrize("name", families())
def test_table_of_symbols_names_every_field(name):
    text = (DOCS / f"{name}.md").read_text("utf-8")
    (table,) = re.findall(
        r"^\| symbol \| field \| unit \| meaning \|\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL
    )
    said = {word for cell in re.findall(r"`([^`]*)`", table) for word in re.findall(r"\w+", cell)}
    schema = TypeAdapter(get_family(name).instance).json_schema()
    parts = [part.get("properties", {}) for part in (schema, *schema["$defs"].values())]
    fields = {field for part in parts if "kind" not in part for field in part}  # not of utilities
    assert fields - said <= OF_ITSELF


def test_a_name_that_is_gone_is_an_error():
    with pytest.raises(KeyError):
        equations.lines_of("oasis", "eq99_nothing")


def test_formulas_need_no_script():
    made = equations.tex2mathml(r"\sum_{i} w_i \le c", as_block=True)
    assert made.startswith("<math")
    assert "<munder>" in made
