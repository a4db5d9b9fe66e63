"""Methods of family `oasis`: how its building blocks are combined.

- `column_generation`: Dantzig-Wolfe column generation (Lübbecke and Desrosiers, 2005) with prices
  on capacity, started from the compact linear program;
- `branch_and_price`: branch and price (Barnhart et al., 1998) with prices per worker and slot;
- `neighbourhood`: large neighborhood search (Shaw, 1998), schedules only;
- `auto`: branch and price where the instance is small enough, otherwise cutting planes and large
  neighborhood search; where the cutting planes take long, subgradient prices and a greedy
  schedule come first, or are all;
- `relaxation`: the value of the linear relaxation, no schedule.

With thousands of jobs, all but the last are the subgradient method of `large`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from optsched.engine.branch import BranchAndPrice, Tree
from optsched.engine.colgen import Relaxation
from optsched.engine.progress import Progress
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.certify import (
    certify_tree,
)
from optsched.families.oasis.optimum.cpsat import cpsat
from optsched.families.oasis.optimum.declared import compact
from optsched.families.oasis.optimum.large import large, solve_large
from optsched.families.oasis.optimum.opening import in_units
from optsched.families.oasis.optimum.priced_search import Search
from optsched.families.oasis.optimum.prices.capacity import SIDES
from optsched.families.oasis.optimum.relaxation import relaxation
from optsched.families.oasis.optimum.search.pattern_program import PatternProgram
from optsched.families.oasis.optimum.search.repairs import Repairs
from optsched.families.oasis.optimum.tree.branching import UnitTree
from optsched.problem import RELAXATION, Method

SMALL = 1500  # slots of jobs in which they can earn, up to which the branching tree pays
QUICK = 0.3  # of the first search where a tree comes at once
PATTERN_SHARE = 0.4  # of the time may go into pattern programs
PATTERN_SECONDS = 1.0, 10.0  # of the first, and of any; each may take twice as long as the last
SEARCH_SHARE = 0.15  # of the time may go into new starts of the search beside the tree
TIGHTEN_SHARE = 0.5  # of the time at most goes into tightening the compact program, and its tree
SLOW = 1.3e-6  # seconds of the first round of tightening, for slots times classes, to 1.5
SOON = 0.25  # of the time: where the first round takes less, no other prices come first
RESTART_SECONDS = 60.0  # one annealing run of the search


def neighbourhood(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Search for schedules until the time is up, restarting every few seconds; proves nothing."""
    search = Search(inst, progress, threads, seed)
    while not progress.stop():
        search.improve(RESTART_SECONDS)


def column_generation(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the relaxation at prices on capacity, after a short search for a schedule."""
    search = Search(inst, progress, threads, seed)
    search.improve(search.short)
    search.speed_bound()
    search.generate(progress.left())
    search.improve(search.short)


def branch_and_price(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Branch and price at prices per worker and slot."""
    search = Search(inst, progress, threads, seed)
    search.improve(search.short)
    _branch(search)


def auto(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Combine the methods by size."""
    search = Search(inst, progress, threads, seed)
    size = UnitTree(inst).rows // len(SIDES)
    small = size <= SMALL
    # the tree knows how workers pack; where it ends at once, no kernels of packing are compiled
    short = QUICK * search.short if small else search.short
    search.improve(min(short, progress.left() / 4), packs=not small)
    if progress.stop():
        return
    if small:
        search.compact_bound()
        search.improve(min(2 * short, progress.left() / 4), packs=False)
        _branch(search)
        return
    beside = threads > 1 and progress.budget.units is None  # effort is counted in one thread
    share = 1.0 if beside else TIGHTEN_SHARE
    seconds = SLOW * (size * sum(count.size for count in search.capacity.count)) ** 1.5
    if seconds > share * progress.left():
        solve_large(inst, progress, threads=threads, seed=seed)
    elif beside:
        search.side_by_side(seconds)
    else:
        if seconds > SOON * progress.left():
            search.fill()
        search.tighten(TIGHTEN_SHARE * progress.left())
        if not progress.stop():
            progress.confirm()
        search.finish()


def _branch(search: Search) -> None:
    """Run the tree; look for schedules in the patterns that it meets.

    Of several threads, one looks for schedules with the completions that the tree meets.
    """
    progress = search.progress
    problem = UnitTree(search.inst, progress.limits)
    spent = searched = 0.0
    turn = PATTERN_SECONDS[0]
    tried: set[tuple[tuple[int, int], ...]] = set()
    beside = max(1, search.threads - 1)

    def target() -> float:
        return -np.inf if progress.value is None else progress.value * (1 + progress.gap_limit)

    def proved(tree: Tree) -> None:
        progress.proved(tree.bound(), lambda: certify_tree(problem, tree))

    def stop() -> bool:
        for found in repairs.found():
            progress.offer(found)
        return progress.stop()

    def relaxed(relaxation: Relaxation) -> None:
        nonlocal spent, searched, turn
        progress.offer(problem.schedule(relaxation))
        completions = problem.completions(relaxation)
        if completions is not None and relaxation.value > target():
            repairs.add(completions)
        repairs.work()
        for found in repairs.found():
            progress.offer(found)
        if searched + 2 * search.short < SEARCH_SHARE * progress.seconds():
            began = progress.seconds()
            search.improve(2 * search.short)
            searched += progress.seconds() - began
        key = () if completions is None else tuple(sorted(completions.items()))
        if tried and (not key or key in tried or spent + turn > PATTERN_SHARE * progress.seconds()):
            return
        began = progress.seconds()
        program = PatternProgram(problem, tree.master.columns, completions if tried else None)
        tried.add(key)
        progress.offer(
            program.solve(limits=progress.limits(turn), threads=beside, seed=search.seed)
        )
        spent += progress.seconds() - began
        turn = min(2 * turn, PATTERN_SECONDS[1])

    tree = BranchAndPrice(
        problem, target=target, stop=stop, proved=proved, relaxed=relaxed, threads=beside
    )
    with Repairs(problem, progress, target, seed=search.seed, beside=search.threads > 1) as repairs:
        tree.run()
    for found in repairs.found():  # since the tree looked last
        progress.offer(found)


def _sized(method: Method) -> Method:
    """Return the method, which is another one where instances are large."""

    def run(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
        chosen = solve_large if large(inst) else method
        chosen(inst, progress, threads=threads, seed=seed)

    return in_units(run)


METHODS: Mapping[str, Method] = {
    "auto": _sized(auto),
    "compact": compact,
    "cpsat": cpsat,
    "colgen": _sized(column_generation),
    "branch-and-price": _sized(branch_and_price),
    "search": _sized(neighbourhood),
    RELAXATION: relaxation,
}
