"""Complete search by CP-SAT for instances with few modes and starts.

CP-SAT (Perron et al., 2023) finds the best schedule in about a second, and only its certificate
remains. Compiling the kernels of the local search would take longer.
"""

from __future__ import annotations

from optsched.families.completion.optimum.cpsat import Program, all_choices
from optsched.families.completion.optimum.horizon import ends_below
from optsched.families.completion.optimum.prices.priced_search import Search

FEW = 2000  # pairs of a mode and a start: CP-SAT has looked at them in a blink
SECONDS = 1.0  # a blink at most


def best_of_few(search: Search) -> bool:
    """Find the best schedule where there are few choices; return whether that has been done."""
    jobs, progress = search.jobs, search.progress
    if progress.value is None or not jobs.modes or jobs.impossible() is not None:
        return False
    choices = all_choices(jobs, ends_below(jobs, progress.value))
    if sum(len(starts) for choice in choices for starts in choice.starts) > FEW:
        return False
    program = Program(jobs, choices)
    status = program.solve(progress, threads=search.threads, seed=search.seed, seconds=SECONDS)
    if status != "optimal":
        return False
    search.begin_with_known()
    return True
