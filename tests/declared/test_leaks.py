"""Nonanticipativity of declared problems: planted leaks are found, and none where there is none."""

from __future__ import annotations

import pytest
from leaky import LEAKY, none

from optsched.declared.leaks import check_problem

NAMED = {
    "cost": "variable x[",
    "right-hand side": "constraint room: upper",
    "horizon": "constraint room: upper is 12.0 or 16.0, depending on whether items is 12 or 16",
    "later jobs": "constraint room: upper",
    "scaled": "time 0: variable x[0]: cost",
    "name": "time 0: variable x[0 of",
    "order": "constraint own[",
    "bound": "upper is",
    "coefficient": "coefficient of x[",
    "decided": "decided is",
    "integer": "integer is",
    "event": "the next event",
}


@pytest.mark.parametrize("kind", LEAKY)
def test_planted_leaks_are_found(kind):
    found = check_problem(LEAKY[kind])
    assert found.leak is not None
    assert NAMED[kind] in str(found)


def test_an_honest_problem_has_none():
    assert str(check_problem(none, pairs=40)) == "knapsack: no leak in 40 pairs of instances"
