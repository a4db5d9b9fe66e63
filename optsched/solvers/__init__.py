"""The only package that configures HiGHS, CP-SAT and Clarabel.

Known defects of the solvers, and how this package avoids them:

- HiGHS 1.12 to 1.15 returns wrong "Optimal" answers for integer programs of the OASiS shape when
  presolve is on. With 1.16 none was found, but presolve saves no time over all families (see
  benchmarks/presolve.py): :func:`highs` turns it off for integer programs. Linear programs keep it,
  and declared ones, of which no claim counts.
- HiGHS compares objectives with absolute tolerances: :func:`solve_mip` hands it one whose largest
  coefficient is near 1000.
- HiGHS may hand back duals of a maximization with the wrong sign (interior point, no crossover):
  :func:`run` and :func:`row_duals` refuse maximizations. Hand over the negative.
- A solver that a limit stops may hand back numbers that violate the constraints: every solution
  is checked again before it is returned, and dropped if it fails.
- CP-SAT 9.15 may cut off the optimum when its presolve looks for constraints that contain others
  (or-tools#5293): :func:`cp_solver` turns this step off.
- CP-SAT stopped before it begins to search reports the bound 0: :func:`cp_bound` reports none.
- HiGHS prints its version at its first use, which would spoil results on stdout: not the class that
  :func:`highs` makes.
- Ctrl-C does not reach code that runs inside a solver: solvers run in a thread of their own and
  are stopped; :class:`Interrupted` brings the best so far.
- Clarabel ends in numerical errors on exponential cones unless its steps may get small, and its
  "inaccurate" values are off: the word is passed on.

Solvers are imported when they are needed, so that importing the package stays quick.
"""

from __future__ import annotations

import optsched.process.bare_scipy  # noqa: F401  before others that import scipy
from optsched.solvers.constraint import cp_bound, cp_domain, cp_program, cp_solver, run_cp
from optsched.solvers.convex import Conic, ConvexOutcome, solve_cones, solve_cvxpy
from optsched.solvers.linear import (
    Claim,
    MipLimits,
    MipResult,
    claim_of,
    highs,
    load,
    lp_status,
    ray,
    read_program,
    rerun,
    row_duals,
    run,
    solve_mip,
)
from optsched.solvers.modelling import (
    PyomoOutcome,
    Written,
    silent_pyomo,
    solve_pyomo,
    solve_written,
    written,
)
from optsched.solvers.status import Interrupted, Status

__all__ = [
    "Claim",
    "Conic",
    "ConvexOutcome",
    "Interrupted",
    "MipLimits",
    "MipResult",
    "PyomoOutcome",
    "Status",
    "Written",
    "claim_of",
    "cp_bound",
    "cp_domain",
    "cp_program",
    "cp_solver",
    "highs",
    "load",
    "lp_status",
    "ray",
    "read_program",
    "rerun",
    "row_duals",
    "run",
    "run_cp",
    "silent_pyomo",
    "solve_cones",
    "solve_cvxpy",
    "solve_mip",
    "solve_pyomo",
    "solve_written",
    "written",
]
