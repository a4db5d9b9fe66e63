"""Pages of reference are made from what they are about, and leave nothing out."""

import sys
from pathlib import Path

import pytest
from typer import Context
from typer.main import get_command

from optsched.cli.app import app
from optsched.problem import families, get_family

pytest.importorskip("sphinx", reason="the extra `docs` is missing")
sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
commands = pytest.importorskip("extensions.commands")
formats = pytest.importorskip("extensions.formats")
sys.path.pop(0)

WHOLE = get_command(app)
LEAVES = {
    context.command_path: (command, context)
    for command, context in commands.leaves(WHOLE, Context(WHOLE, info_name="optsched"))
}


def test_every_command_has_a_section():
    groups = {name for name, part in WHOLE.commands.items() if hasattr(part, "commands")}
    assert groups == {"campaign", "library"}
    inner = {*WHOLE.commands} - groups
    inner |= {f"{group} {name}" for group in groups for name in WHOLE.commands[group].commands}
    assert set(LEAVES) == {f"optsched {name}" for name in inner}


@pytest.mark.parametrize("path", LEAVES)
def test_a_section_names_all_options(path):
    command, context = LEAVES[path]
    text = "\n".join(commands.described(command, context))
    assert text.startswith(f"## {path.removeprefix('optsched ')}\n")
    for parameter in command.params:
        if getattr(parameter, "hidden", False):  # accepted, and of no use there
            continue
        names = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar]
        for name in filter(None, names):
            assert f"{name}" in text.split("```{program}")[1], name
    assert "Example:" not in text
    assert f"```sh\n{path} " in text


@pytest.mark.parametrize("name", families())
def test_tables_name_all_fields(name):
    family = get_family(name)
    text = "\n".join(formats.text(name))
    for model in (family.instance, family.schedule, family.certificate):
        for field in getattr(model, "model_fields", ()):
            assert f"| `{field}` | " in text, field


def test_tables_say_what_a_value_may_be():
    text = "\n".join(formats.text("oasis"))
    assert "| `slot_seconds` | number > 0 | length of a slot, s (default: `3600.0`) |" in text
    assert "| `worker_demand` | list of number ≥ 0, < 1e+09 | w_i^r of one worker, " in text
