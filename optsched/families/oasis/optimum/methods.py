"""Methods of family `oasis`: how its building blocks are combined.

- `branch_and_price`: branch and price (Barnhart et al., 1998) with prices per worker and slot;
- `search`: large neighborhood search (Shaw, 1998), schedules only;
- `auto`: branch and price where the instance is small enough, otherwise cutting planes and large
  neighborhood search; where the cutting planes take long, subgradient prices and a greedy
  schedule come first, or are all;
- `relaxation`: the value of the linear relaxation, no schedule;
- `compact`, `cpsat`: the whole program in one solver.

With thousands of jobs, the first three are the subgradient method of `large`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from optsched.engine.branch import BranchAndBoundTree, BranchAndPrice
from optsched.engine.colgen import Relaxation
from optsched.engine.progress import Progress
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.build_certificate import (
    certify_tree,
)
from optsched.families.oasis.optimum.cpsat import cpsat
from optsched.families.oasis.optimum.large import large, solve_large
from optsched.families.oasis.optimum.monolithic_mip import compact
from optsched.families.oasis.optimum.priced_search import Portfolio
from optsched.families.oasis.optimum.relaxation import relaxation
from optsched.families.oasis.optimum.relaxations.capacity import SIDES
from optsched.families.oasis.optimum.search.fix_and_optimize import FixAndOptimize
from optsched.families.oasis.optimum.tree.branching import UnitPriceBranching
from optsched.problem import RELAXATION, Method
from optsched.scheduling.units import in_units


def neighborhood(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Search for schedules until the time is up, with restarts; proves nothing."""
    search = Portfolio(inst, progress, threads, seed)
    while not progress.stop():
        search.improve(search.params.restart)


def branch_and_price(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Branch and price at prices per worker and slot."""
    search = Portfolio(inst, progress, threads, seed)
    search.improve(search.short)
    _branch(search)


def auto(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Combine the methods by size."""
    search = Portfolio(inst, progress, threads, seed)
    params = search.params
    size = UnitPriceBranching(inst).rows // len(SIDES)
    small = size <= params.small
    short = params.quick * search.short if small else search.short
    search.improve(min(short, progress.left() / 4))
    if progress.stop():
        return
    if small:
        search.compact_bound()
        search.improve(min(2 * short, progress.left() / 4))
        _branch(search)
        if not progress.stop():  # nothing is left to split, but numbers do not pack
            cpsat(inst, progress, threads=threads, seed=seed)
        return
    seconds = params.slow * (size * sum(count.size for count in search.capacity.count)) ** 1.5
    share = params.tighten_share * progress.left()
    if seconds > share:
        solve_large(inst, progress, threads=threads, seed=seed)
        return
    if seconds > params.soon * progress.left():
        search.fill()
    with search.in_parallel(search.restart, share) as report:
        search.tighten(share, report)
    if not progress.stop():
        progress.confirm()
    search.finish()


def _branch(search: Portfolio) -> None:
    """Run the tree; one of several threads searches with the completions that the tree meets."""
    progress, params = search.progress, search.params
    problem = UnitPriceBranching(search.inst, progress.limits)
    searched = 0.0
    others = max(1, search.threads - 1)

    def target() -> float:
        return -np.inf if progress.value is None else progress.value * (1 + progress.gap_limit)

    def improved(tree: BranchAndBoundTree) -> None:
        progress.tighten(tree.bound(), lambda: certify_tree(problem, tree))

    def stop() -> bool:
        for found in repairs.found():
            progress.offer(found)
        return progress.stop()

    def relaxed(relaxation: Relaxation) -> None:
        nonlocal searched
        progress.offer(problem.schedule(relaxation))
        completions = problem.completions(relaxation)
        if completions is not None and relaxation.value > target():
            repairs.add(completions)
        repairs.work()
        for found in repairs.found():
            progress.offer(found)
        if searched + 2 * search.short < params.search_share * progress.seconds():
            began = progress.seconds()
            search.improve(2 * search.short)
            searched += progress.seconds() - began

    tree = BranchAndPrice(
        problem,
        target=target,
        stop=stop,
        improved=improved,
        relaxed=relaxed,
        threads=others,
        params=search.whole.branch,
    )
    repairs = FixAndOptimize(
        problem,
        progress,
        target,
        seed=search.seed,
        parallel=search.threads > 1,
        params=search.whole.repair,
    )
    with repairs:
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
    "branch-and-price": _sized(branch_and_price),
    "search": _sized(neighborhood),
    RELAXATION: relaxation,
}
