"""Both checkers say the same of results, whole and damaged: accepted or not, and which bound."""

from __future__ import annotations

import pytest
from damages import damaged
from second_checker import NODE, RESULTS, answers, differences, solved
from sweeps import sweep

from optsched.results.result import recheck

pytestmark = pytest.mark.slow

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no Node")

QUICK, LONG = 15, 120  # damaged files of every result


@pytest.fixture(scope="module", params=list(RESULTS))
def results(request, tmp_path_factory):
    return solved(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("number", sweep([QUICK, LONG], quick=1))
def test_whole_and_damaged_results(results, number, tmp_path):
    files = [
        *results,
        *(f for path in results for f, _ in damaged(path, tmp_path, number, seed=number)),
    ]
    assert all(part.accepted for path in results for part in recheck(path))
    assert differences(files, answers(files, tmp_path)) == []
