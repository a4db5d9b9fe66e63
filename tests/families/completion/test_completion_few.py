"""Instances with few choices: the best schedule at once, and nothing of a search is compiled."""

import subprocess
import sys

import pytest

from optsched.engine.progress import Progress
from optsched.families.completion import FAMILY
from optsched.families.completion.optimum.initial_bounds import one_by_one
from optsched.families.completion.optimum.methods import enumerate_by_cpsat
from optsched.families.completion.optimum.relaxations.priced_search import Portfolio
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.verify import verify

RUN = """
from optsched import get_family, solve
from optsched.families.completion.optimum.search.dispatch import dispatch
from optsched.families.completion.oracle.servers import _occupy
found = solve(get_family("completion").generate("small", seed=0), time_limit=20)
print(found.status, found.certified_bound, *(len(k.overloads) for k in (dispatch, _occupy)))
"""


@pytest.mark.slow
def test_nothing_of_a_search_is_compiled():
    """Neither compiled nor loaded, in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, check=True, timeout=300
    )
    assert ran.stdout.split() == ["optimal", "174.0", "0", "0"]


def known(inst):
    """Return the search for an instance of which the simplest schedule is known."""
    monitor = Progress(FAMILY, inst, time_limit=20, gap=1e-6)
    simple = one_by_one(inst)
    monitor.incumbent(verify(inst, simple).value, simple)
    return Portfolio(inst, monitor, 1, 0)


def test_the_best_is_found_where_choices_are_few():
    inst = generate("small", seed=1)
    search = known(inst)
    assert search.progress.value == 148
    assert enumerate_by_cpsat(search)
    assert search.progress.value == 120  # as the other methods find and prove


def test_many_choices_are_left_to_the_search():
    search = known(generate("mid", seed=1))
    value = search.progress.value
    assert not enumerate_by_cpsat(search)
    assert search.progress.value == value
