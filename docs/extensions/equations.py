"""Mathematics that needs no network and no script, and the lines of a model that state it.

Formulas become MathML, which browsers draw themselves; docutils makes it. The directive `stated`
shows what has a name in a model, so that a page cannot go stale: a name that is gone is an error.

    ```{stated} oasis.eq2_work
    ```
"""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

import optsched.models

MODELS = Path(optsched.models.__file__).parent


def named(tree: ast.AST) -> dict[str, ast.stmt]:
    """Return the functions and assignments of a module by name, from the outside in.

    Of equal names, the first. An `if` counts as what its first line assigns.
    """
    found: dict[str, ast.stmt] = {}
    for node in ast.walk(tree):
        statement = node.body[0] if isinstance(node, ast.If) else node
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, node)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            assert isinstance(node, ast.stmt)
            found.setdefault(statement.targets[0].id, node)
    return found


def lines_of(family: str, name: str) -> tuple[str, int]:
    """Return the source of a name in a model, decorators included, and its first line."""
    source = (MODELS / f"{family}.py").read_text("utf-8")
    inside, _, last = name.rpartition(".")
    tree = ast.parse(source)
    node = named(named(tree)[inside] if inside else tree)[last]
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    text = "\n".join(source.splitlines()[first - 1 : node.end_lineno])
    return textwrap.dedent(text), first


class Stated(SphinxDirective):
    """The lines of `models/FAMILY.py` that state what a formula states: `FAMILY.NAME`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make a block of code."""
        family, _, name = self.arguments[0].partition(".")
        self.env.note_dependency(str(MODELS / f"{family}.py"))
        try:
            text, first = lines_of(family, name)
        except KeyError:
            raise self.error(f"models/{family}.py has no {name}") from None
        block = nodes.literal_block(text, text, language="python", linenos=True)
        block["highlight_args"] = {"linenostart": first}
        self.set_source_info(block)
        return [block]


def mathml(translator: HTML5Translator, node: nodes.Element, *, block: bool) -> str:
    """Return a formula as MathML; one that cannot be read is a warning."""
    try:
        made = tex2mathml(node.astext().strip(), as_block=block)
    except MathError as wrong:
        translator.document.reporter.warning(f"formula: {wrong}", base_node=node)
        made = ""
    return "".join(line.strip() for line in made.splitlines())


def inline(translator: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula within a line."""
    translator.body.append(mathml(translator, node, block=False))
    raise nodes.SkipNode


def display(translator: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula of its own."""
    translator.body.append(f'<div class="formula">{mathml(translator, node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Make formulas and the directive known."""
    app.add_directive("stated", Stated)
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True}
