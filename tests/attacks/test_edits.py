"""Edited stores, results and packs: an answer in a line, no traceback, in time."""

import pytest
from edits_of_files import KINDS, attack, good_files

pytestmark = pytest.mark.slow

EDITS = 6  # of each kind; benchmarks/edits.py: 667


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return good_files(tmp_path_factory.mktemp("good"))


@pytest.mark.parametrize("kind", KINDS)
def test_edits(good, kind, tmp_path):
    found = [
        wrong for seed in range(EDITS) for wrong in attack(kind, good, tmp_path / "edited", seed)
    ]
    assert found == []
