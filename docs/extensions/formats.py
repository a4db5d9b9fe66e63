"""The directive `format`: the fields of a family's files, from the models that read them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from docutils import nodes
from pydantic import TypeAdapter
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from optsched.core import Optimum, Run
from optsched.problem import get_family

LARGEST = 1023  # exponent of a float
LIMITS = {
    "minimum": "≥",
    "exclusiveMinimum": ">",
    "maximum": "≤",
    "exclusiveMaximum": "<",
    "minItems": "at least",
}


def kind_of(definition: Mapping[str, Any]) -> str:
    """Return in words what a value may be."""
    if "$ref" in definition:
        return f"`{definition['$ref'].rsplit('/')[-1]}`"
    if "const" in definition:
        return f"`{json.dumps(definition['const'])}`"
    if "enum" in definition:
        return " or ".join(f"`{json.dumps(value)}`" for value in definition["enum"])
    for word in ("anyOf", "oneOf"):
        if word in definition:
            return " or ".join(dict.fromkeys(map(kind_of, definition[word])))
    if definition.get("type") == "array":
        if "prefixItems" in definition:
            return f"[{', '.join(map(kind_of, definition['prefixItems']))}]"
        return ", ".join([f"list of {kind_of(definition.get('items', {}))}", *limits(definition)])
    return " ".join([definition.get("type", "anything"), *limits(definition)])


def _limit(x: float) -> str:
    """Return a limit; a power of two beyond all floats as one."""
    power = int(x).bit_length() - 1
    return f"2^{power}" if power > LARGEST and x == 1 << power else f"{x:g}"


def limits(definition: Mapping[str, Any]) -> list[str]:
    """Return the bounds of a number or of a length."""
    found = [
        f"{sign} {_limit(definition[name])}" for name, sign in LIMITS.items() if name in definition
    ]
    return [", ".join(found)] if found else []


def table(name: str, definition: Mapping[str, Any]) -> Iterator[str]:
    """Yield a section on one model."""
    yield from (f"### {name}", "", definition.get("description", ""), "")
    if "enum" in definition:
        yield from (f"One of {kind_of(definition)}.", "")
    if not definition.get("properties"):
        return
    yield from ("| field | type | meaning |", "|---|---|---|")
    for field, about in definition["properties"].items():
        meaning = about.get("description", "")
        if "default" in about and about["default"] not in ("", None, []):
            meaning += f" (default: `{json.dumps(about['default'])}`)"
        elif field not in definition.get("required", ()):
            meaning += " (optional)"
        cells = (f"`{field}`", kind_of(about), meaning)
        whole = (" ".join(cell.replace("|", r"\|").split()) for cell in cells)
        yield f"| {' | '.join(whole)} |"
    yield ""


def models(kind: str) -> list[Any]:
    """Return what is shown under one word: a family's name, or `results`."""
    if kind == "results":
        return [Optimum, Run]
    family = get_family(kind)
    return [family.instance, family.schedule, family.certificate]


def text(kind: str) -> Iterator[str]:
    """Yield a section per model, the ones that hold others first."""
    shown: dict[str, Mapping[str, Any]] = {}
    for model in models(kind):
        schema = TypeAdapter(model).json_schema()
        inner = schema.pop("$defs", {})
        if "$ref" in schema:
            schema = inner.pop(schema["$ref"].rsplit("/")[-1])
        shown |= {schema.get("title", model.__name__): schema}
        shown |= {name: definition for name, definition in inner.items() if name not in shown}
    for name, definition in shown.items():
        yield from table(name, definition)


class Format(SphinxDirective):
    """The models of one family, or of results."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        found = "\n".join(text(self.arguments[0]))
        return self.parse_text_to_nodes(found, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the directive known."""
    app.add_directive("format", Format)
    return {"parallel_read_safe": True}
