"""The directive `commands`: every command and option, as the command line itself tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from docutils import nodes
from rich.text import Text
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer import Context
from typer.main import get_command

from optsched.cli.app import app

TOML = re.compile(r"\[\[\w+\]\]|\w+ = .+")  # a line of a plan: a paragraph in the terminal


def leaves(command: Any, context: Context) -> Iterator[tuple[Any, Context]]:
    """Yield all that can be called, in the order of `optsched --help`."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from leaves(inner, Context(inner, context, name, **inner.context_settings))
    if not hasattr(command, "commands"):
        yield command, context


def described(command: Any, context: Context) -> Iterator[str]:
    """Yield the lines of one command: what it does, its examples, its options."""
    path = context.command_path.replace("{", "").replace("}", "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f"## {path.removeprefix('optsched ')}", "")
    yield from ("```text", f"{path} {usage}", "```", "")
    paragraphs = Text.from_markup(command.help).plain.split("\n\n")
    examples = [part for part in paragraphs if part.startswith("Example:")]
    text = [part for part in paragraphs if part not in examples]
    for is_plan, parts in groupby(text, lambda part: bool(TOML.fullmatch(part))):
        if is_plan:
            yield from ("```toml", *parts, "```", "")
        else:
            yield from (line for part in parts for line in (part, ""))
    if examples:
        yield from ("```sh", *(part.removeprefix("Example:").strip() for part in examples), "```")
    yield from ("", f"```{{program}} {path}", "```", "")
    for parameter in command.get_params(context):
        if parameter.name == "help" or (record := parameter.get_help_record(context)) is None:
            continue
        names, meaning = record
        yield from (f"````{{option}} {names}", meaning.replace("  [", " ["), "````", "")


class Commands(SphinxDirective):
    """All of them, a section each."""

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        whole = get_command(app)
        found = leaves(whole, Context(whole, info_name="optsched", **whole.context_settings))
        text = "\n".join(line for pair in found for line in described(*pair))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the directive known."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
