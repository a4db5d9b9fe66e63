"""Methods of family `completion`: how its building blocks are combined.

- `column_generation`: Dantzig-Wolfe column generation (Lübbecke and Desrosiers, 2005) with prices
  on capacity, on increasingly fine time grids;
- `neighborhood`: large neighborhood search (Shaw, 1998), schedules only;
- `auto`: with few choices, CP-SAT for the best schedule; otherwise column generation, then large
  neighborhood search. Small instances get certificates of optimality by bounded dynamic programming
  over time; for others, first prices come from a dispatched schedule, as in `large`.

With thousands of jobs, all three are the method of `large`. There, `compact` and `cpsat` dispatch
a schedule before they write their program, and write none that does not fit into memory. All solve
the instance at weights of ordinary size: see `scaling`.
"""

from __future__ import annotations

from collections.abc import Mapping

from optsched.engine.progress import Progress
from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.optimum.cpsat import CpSatProgram, all_choices, cpsat
from optsched.families.completion.optimum.horizon import ends_below
from optsched.families.completion.optimum.large import Dispatching, large, solve_large, whole
from optsched.families.completion.optimum.monolithic_mip import compact
from optsched.families.completion.optimum.relaxation import relaxation
from optsched.families.completion.optimum.relaxations.priced_search import Portfolio
from optsched.families.completion.optimum.scaling import at_any_scale
from optsched.families.completion.optimum.timeline.prover import Prover
from optsched.problem import RELAXATION, Method

SPANS = (32, 16, 4)  # slots whose prices have one shape, one after the other


def neighborhood(inst: CompletionInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Search for schedules until the time is up, restarting every minute; proves nothing."""
    search = Portfolio(inst, progress, threads, seed)
    if search.begin():
        while not progress.stop():
            search.improve(search.params.restart)


def column_generation(
    inst: CompletionInstance, progress: Progress, *, threads: int, seed: int
) -> None:
    """Solve the relaxation at prices on capacity, and look for a schedule."""
    search = Portfolio(inst, progress, threads, seed)
    if not search.begin():
        return
    if len(inst.jobs) * search.slots <= search.params.small:
        search.generate(1, progress.left())
    else:
        for k, span in enumerate(SPANS):
            search.generate(span, progress.left() / (len(SPANS) - k))
    search.improve(min(search.short, progress.left()))


def auto(inst: CompletionInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Combine the methods by size."""
    search = Portfolio(inst, progress, threads, seed)
    params = search.params
    known = enumerate_by_cpsat(search)
    if not (known or search.begin()) or progress.stop():
        return
    whole, kept = progress.left(), 0.0
    if known or len(inst.jobs) * search.slots <= params.small:
        search.generate(1, whole / 4)
        for _ in range(0 if known else 2):
            if not progress.stop():
                search.improve(min(search.short, 0.02 * whole))
        if not progress.stop():
            prover = Prover(search)
            prover.everything()
            kept = prover.reserve.seconds()
        if known or progress.infeasible:
            return
    else:
        _prices(search, whole)
    while not progress.stop() and progress.left() > kept:
        search.improve(min(params.restart, progress.left() - kept))


def _prices(search: Portfolio, whole: float) -> None:
    """Find prices, first those of a dispatched schedule; ``whole`` seconds are left in all."""
    params = search.params
    if params.dispatch_share:
        _dispatch(search)
    for span, share in zip(SPANS, params.span_shares, strict=False):
        if span == SPANS[-1]:
            if whole <= 2 * params.restart:
                return
            search.improve(params.restart)
        search.generate(span, share * whole)


def enumerate_by_cpsat(search: Portfolio) -> bool:
    """Find the best schedule by CP-SAT where there are few choices; return whether that is done.

    Only its certificate remains. Compiling the kernels of the local search would take longer.
    """
    jobs, progress = search.jobs, search.progress
    if progress.value is None or not jobs.modes or jobs.impossible() is not None:
        return False
    choices = all_choices(jobs, ends_below(jobs, progress.value))
    if sum(len(starts) for choice in choices for starts in choice.starts) > search.params.choices:
        return False  # CP-SAT would not soon have looked at all
    program = CpSatProgram(jobs, choices)
    status = program.solve(
        progress, threads=search.threads, seed=search.seed, seconds=1.0, small=True
    )
    if status != "optimal":
        return False
    search.start()
    return True


def _dispatch(search: Portfolio) -> None:
    """Find first prices and a schedule as for thousands of jobs: masters need much longer."""
    first = Dispatching(search.inst, search.progress, search.seed)
    if first.prepare():
        first.dispatch()
        first.find_prices(search.params.dispatch_share)
        if first.prices is not None and search.progress.bound is not None:
            search.take(first.prices, search.progress.bound)


def _sized(method: Method) -> Method:
    """Return the method, which is another one where instances are large."""

    def run(inst: CompletionInstance, progress: Progress, *, threads: int, seed: int) -> None:
        chosen = solve_large if large(inst) else method
        chosen(inst, progress, threads=threads, seed=seed)

    return run


METHODS: Mapping[str, Method] = {
    name: at_any_scale(method)
    for name, method in {
        "auto": _sized(auto),
        "compact": whole(compact),
        "cpsat": whole(cpsat),
        "colgen": _sized(column_generation),
        "search": _sized(neighborhood),
        RELAXATION: relaxation,
    }.items()
}
