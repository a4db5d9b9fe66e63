"""The page of worst instances: its figures are those of the stored hunts, which are checked."""

import pytest
import worst_cases
from worst_cases import CASES, FOLDER, PAGE, Stored

from optsched.engine.interval import CLOSED
from optsched.results.result import recheck

pytestmark = pytest.mark.slow

PICTURE = b"\x89PNG"


def test_the_figures_are_those_of_the_stored_hunts():
    page = PAGE.read_text(encoding="utf-8")
    assert worst_cases.written(page, FOLDER) == page


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_stored_hunt_is_checked(case):
    path = FOLDER / f"{case.name}.json"
    assert {part.complaints for part in recheck(path)} == {()}
    kept, said = Stored.read(case, FOLDER), worst_cases.stored(FOLDER)[case.name]
    assert kept.run.policy == case.policy
    assert (
        type(case.terms).model_validate(said["terms"]) == case.terms
    )  # files of old leave fields out
    assert said["ratio"]["low"] == pytest.approx(kept.ratio.low, rel=1e-9)
    assert said["instance_sha256"] == kept.instance.digest()
    promised = kept.ratio.guarantee
    assert promised is None or kept.ratio.low <= promised * (1 + CLOSED)
    assert path.with_suffix(".png").read_bytes().startswith(PICTURE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_paragraphs_are_about_what_is_stored(case):
    _, _, section = PAGE.read_text(encoding="utf-8").partition(f"\n## {case.name}\n")
    digest = worst_cases.stored(FOLDER)[case.name]["instance_sha256"]
    assert section.strip().startswith(f"<!-- written of instance {digest[:8]} -->")
