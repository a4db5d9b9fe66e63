"""Pages of the documentation: their Python runs, their links lead somewhere."""

import re
from pathlib import Path

import pytest

from optsched.core import simulate
from optsched.problem import families, get_family

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def blocks(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [*PAGES, "../README.md", "../CONTRIBUTING.md"])
def test_links_lead_somewhere(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", text):
        assert ((DOCS / page).parent / link).exists(), link


def test_policy_of_the_tutorial_runs():
    names = {}
    exec(blocks("tutorials/own-policy.md")[0], names)
    instance = get_family("oasis").generate("small", seed=1)
    run = simulate(instance, names["OneByOne"]())  # refused if it broke a constraint
    assert run.policy == "one-by-one"
    assert run.value > 0
    assert all(
        len({i for i, job in enumerate(run.schedule.jobs) if job for e in job.workers if e[0] == t})
        <= 1
        for t in range(instance.horizon)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", families())
def test_example_of_the_page_on_a_family_runs(name, capsys):
    def prints(block):
        exec(block, {})
        return f"{name}: " in capsys.readouterr().out

    assert any(prints(block) for block in blocks(f"{name}.md")), f"no example prints what {name} is"


def test_page_on_families_names_every_field_and_member():
    text = (DOCS / "families.md").read_text(encoding="utf-8")
    for name in get_family("oasis").__dataclass_fields__:
        assert f"`{name}" in text, name


@pytest.mark.parametrize("name", families())
def test_page_on_families_names_all_that_can_be_known(name):
    text = (DOCS / "families.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| `{name}` \| (.*)\|$", text, re.MULTILINE)
    for word in get_family(name).knowledge:
        assert f"`{word}`" in row, word


def test_no_share_of_the_benchmarks_is_senseless():
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert not re.findall(r"\d{5,}(?:\.\d+)?%", text)


@pytest.mark.parametrize("name", families())
def test_page_on_a_family_names_every_policy_method_and_preset(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    family = get_family(name)
    for word in (*family.policies, *family.methods, *family.presets):
        assert f"`{word}`" in text, word
