"""docs/errata.md and the tests next to this one name the same counterexamples."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "errata.md").read_text(encoding="utf-8")
PAPERS = ("OASIS", "DMLRS", "COMPLETION", "BIPARTITE", "BOT")


def sections() -> dict[str, str]:
    """Return what the page states under each label."""
    parts = re.split(r"^### (\S+)\n", PAGE, flags=re.MULTILINE)
    assert len(set(parts[1::2])) == len(parts[1::2])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def slips() -> list[str]:
    """Return the labels of the tables of slips."""
    return re.findall(r"^\| (\w+-\d+) \|", PAGE, flags=re.MULTILINE)


def with_tests() -> set[str]:
    """Return the labels that tests are named after."""
    names = (
        name
        for paper in PAPERS
        for name in re.findall(
            rf"^def test_({paper.lower()}_\d+)_\w+\(",
            (HERE / f"test_{paper.lower()}.py").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )
    return {name.upper().replace("_", "-") for name in names}


def test_every_counterexample_has_its_test_and_every_test_its_erratum():
    claimed = {label for label, text in sections().items() if "\n- Counterexample:" in text}
    assert claimed <= with_tests() <= claimed | {*slips()}


@pytest.mark.parametrize("paper", PAPERS)
def test_labels_never_change(paper):
    own = rf"{paper}-(\d+)"
    numbers = [int(found[1]) for label in sections() if (found := re.fullmatch(own, label))]
    assert numbers == sorted(numbers)
    listed = [int(found[1]) for label in slips() if (found := re.fullmatch(own, label))]
    withdrawn = {13} if paper == "BOT" else set()
    assert {*numbers, *listed} == {*range(1, max(numbers + listed) + 1)} - withdrawn
    assert not {*numbers} & {*listed}


@pytest.mark.parametrize("paper", PAPERS)
def test_the_first_lines_on_a_paper_list_all_its_errata(paper):
    head = PAGE.split(f"\n## {paper}\n")[1].split("\n### ")[0]
    linked = [f"{paper}-{n}" for n in re.findall(rf"\[(\d+)\]\(#{paper.lower()}-\1\)", head)]
    own = [label for label in sections() if label.startswith(f"{paper}-")]
    assert sorted(linked) == sorted(own)


@pytest.mark.parametrize("label", sections())
def test_every_erratum_says_all_that_it_must(label):
    title, parts = sections()[label].split("\n- ", maxsplit=1)
    assert re.search(r"\*\*.+\*\* \*.+\*", title)  # what, and the place in the paper
    names = [part.split(":")[0] for part in parts.split("\n- ")]
    assert names[:3] == ["Printed", "Should be", "Consequence"]
    assert names[3:] in (["Counterexample"], ["Proof"])


def test_the_most_consequential_have_tests():
    ranking = PAGE.split("## The most consequential")[1].split("\n## ")[0]
    ranked = set(re.findall(r"\[(\w+-\d+)\]", ranking))
    assert len(ranked) >= 10
    assert ranked <= with_tests()
