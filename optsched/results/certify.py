"""`certify`: a proof for any linear or integer program, and an exact check of solutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optsched.core.optimum import TIME_LIMIT, Optimum, solve
from optsched.declared.arrays import arrays
from optsched.declared.feasibility import verify
from optsched.declared.files import NUMBER
from optsched.declared.model import Declared, Solution
from optsched.declared.readers import offline
from optsched.engine.budget import Budget
from optsched.engine.interval import CLOSED
from optsched.engine.progress import Progress
from optsched.numbers.arrays import Ints
from optsched.problem import Frozen, InputError, Level, Status, Verdict
from optsched.process import interrupts
from optsched.process.background import supervised
from optsched.results.result import save_result
from optsched.results.vipr import write_vipr
from optsched.solvers import Claim, solve_mip
from optsched.traces.lines import read_lines

SHORT = 10.0  # seconds of HiGHS at most, where it was not needed
APART = 1e-6  # relative above 1: by how much a claim must be off to be contradicted


class SolverClaim(Frozen):
    """Claim of the solver, and the exact check of its solution."""

    solver: str
    status: str
    value: float | None
    bound: float | None
    check: Verdict | None


@dataclass(frozen=True)
class Certified:
    """Certified result of a model, and the claim of the solver.

    Attributes
    ----------
    instance : Declared
        The model, with all variables at time 0.
    optimum : optsched.core.optimum.Optimum
        The best solution that passed the exact check, the bound and its certificate.
    claim : SolverClaim or None
    given : optsched.problem.Verdict or None
        The exact check of the solution that was handed over.
    contradictions : tuple of str
        In which respects the claim is proved wrong.
    """

    instance: Declared
    optimum: Optimum
    claim: SolverClaim | None
    given: Verdict | None
    contradictions: tuple[str, ...]

    @property
    def value(self) -> float | None:
        """The value of the best solution that passed the exact check."""
        return self.optimum.value

    @property
    def bound(self) -> float | None:
        """The certified bound."""
        return self.optimum.proved

    @property
    def gap(self) -> float | None:
        """How far value and certified bound are apart, relative to the value."""
        return self.optimum.certified_gap

    @property
    def certified(self) -> bool:
        """Whether a bound is proved, or that nothing is feasible."""
        return self.bound is not None or _impossible(self.optimum)

    def save(self, path: Path | str) -> None:
        """Write a result file, which `optsched verify` and the second checker read."""
        save_result(Path(path), self.instance, self.optimum)

    def vipr(self, path: Path | str) -> None:
        """Write the proof in the format VIPR 1.0.

        Raises
        ------
        InputError
            There is no certificate, or the model has cones.
        """
        write_vipr(self.instance, self.optimum, Path(path))

    def summary(self) -> dict[str, Any]:
        """Return the content of ``--json``."""
        return {
            "optimum": self.optimum.summary(),
            "claim": None if self.claim is None else self.claim.model_dump(mode="json"),
            "given": None if self.given is None else self.given.model_dump(mode="json"),
            "contradictions": list(self.contradictions),
        }

    def __str__(self) -> str:
        lines = [str(self.optimum)]
        if self.claim is not None:
            numbers = {"value": self.claim.value, "bound": self.claim.bound}
            known = [f"{name} {x:.9g}" for name, x in numbers.items() if x is not None]
            lines.append(f"{self.claim.solver} claims: {', '.join([self.claim.status, *known])}")
            if self.claim.check is not None:
                lines.append(f"its solution: {_checked(self.claim.check)}")
            lines += self.contradictions or ["nothing that it claims is contradicted"]
        if self.given is not None:
            lines.append(f"the given solution: {_checked(self.given)}")
        return "\n".join(lines)


@interrupts.remembered()
def certify(
    model: Any,
    *,
    solution: Path | str | None = None,
    time_limit: float | None = None,
    work_limit: float | None = None,
    gap: float = CLOSED,
    threads: int = 1,
    seed: int = 0,
    params: Any = None,
    watch: Callable[[Progress], None] | None = None,
) -> Certified:
    """Prove a bound for a linear or integer program, and check solutions exactly.

    Parameters
    ----------
    model : object
        The path to an MPS or LP file, a Pyomo or linopy model, or a CVXPY problem.
    solution : path, optional
        A solution file to check: that of HiGHS, or lines of name and value. Variables that it
        leaves out are 0.
    time_limit, work_limit, gap, threads, seed, params, watch
        As in :func:`optsched.solve`.

    Returns
    -------
    Certified

    Raises
    ------
    InputError
        The model cannot be read or is unbounded, or the solution names an unknown variable.
    """
    inst = offline(model)
    given = None if solution is None else _read_solution(Path(solution), inst)
    verdict = None if given is None else verify(inst, given)
    kept: list[Progress] = []

    def look(progress: Progress) -> None:
        kept[:] = [progress]
        if watch is not None:
            watch(progress)

    found = solve(
        inst,
        time_limit=time_limit,
        work_limit=work_limit,
        gap=gap,
        threads=threads,
        seed=seed,
        start=[given] if given is not None and verdict and verdict.feasible else [],
        params=params,
        watch=look,
    )
    claimed = kept[0].solver_claim if kept else None
    if time_limit is None:
        time_limit = TIME_LIMIT if work_limit is None else math.inf
    units = None if work_limit is None else max(0.0, work_limit - (found.effort or 0.0))
    budget = Budget(min(SHORT, time_limit - found.seconds), units)

    def check(_stopped: Ints) -> Verdict | None:
        nonlocal claimed
        if claimed is None and not inst.cones and budget.left() > 0:  # the proof did without it
            with suppress(KeyboardInterrupt):
                limits = budget.limits()
                claimed = solve_mip(
                    *arrays(inst), presolve=True, threads=threads, seed=seed, **limits
                ).claim
        if claimed is None or claimed.x is None:
            return None
        return verify(inst, Solution(values=tuple(claimed.x.tolist())))

    checked = None
    with suppress(KeyboardInterrupt):  # the proof is kept; the claim of HiGHS is not checked
        checked = supervised(check, budget.overdue, patience=0.0)
    claim = None if claimed is None else _claim(inst, claimed, checked)
    against = () if claim is None else tuple(contradictions(found, claim))
    return Certified(inst, found, claim, verdict, against)


def _claim(inst: Declared, claimed: Claim, check: Verdict | None) -> SolverClaim:
    """Return a claim in the model's own sense, and how the check of its solution ended."""

    def own(minimized: float | None) -> float | None:
        sign = 1 if inst.sense == "min" else -1
        return None if minimized is None else sign * minimized + inst.offset

    return SolverClaim(
        solver=claimed.solver,
        status=claimed.status,
        value=None if claimed.status == "Infeasible" else own(claimed.value),
        bound=own(claimed.bound),
        check=check,
    )


def _impossible(optimum: Optimum) -> bool:
    return optimum.status is Status.INFEASIBLE and optimum.bound_level is Level.CERTIFIED


def contradictions(optimum: Optimum, claim: SolverClaim) -> list[str]:
    """Return in which respects a claim is wrong, by more than tolerances explain."""
    sign = 1 if optimum.sense == "min" else -1
    value, bound = optimum.value, optimum.proved
    found = []

    def below(x: float | None, y: float | None) -> bool:
        """Whether x is better than y."""
        return x is not None and y is not None and sign * (y - x) > APART * max(1.0, abs(x), abs(y))

    if claim.status == "Infeasible" and value is not None:
        found.append(f"contradicted: a solution of value {value:.9g} passes the exact check")
    if claim.value is not None and _impossible(optimum):
        found.append("contradicted: nothing is feasible, which is certified")
    if below(claim.value, bound):
        found.append(f"contradicted: no solution is better than {bound:.9g}, which is certified")
    if below(value, claim.bound):
        found.append(f"contradicted: a solution of value {value:.9g} beats its bound")
    elif claim.status == "Optimal" and below(value, claim.value):
        found.append(f"contradicted: a solution of value {value:.9g} is better")
    return found


def _checked(verdict: Verdict) -> str:
    if verdict.value is not None:
        return f"passes the exact check, value {verdict.value:.9g}"
    worst = max(verdict.violations, key=lambda v: v.amount)
    number = len(verdict.violations)
    times = "once," if number == 1 else f"{number} times, most"
    where = f"at {worst.equation} by {worst.amount:.3g} ({worst.place})"
    return f"fails the exact check {times} {where}"


def _read_solution(path: Path, inst: Declared) -> Solution:
    """Read a solution file of HiGHS, or lines of name and value."""
    lines = [line for _, line in read_lines(path)]
    first, last = 0, len(lines)
    for k, line in enumerate(lines):
        if line.startswith("# Columns ") and (number := line.split()[2]).isdecimal():
            first, last = k + 1, k + 1 + int(number)
            break
    if last > len(lines):
        raise InputError(f"{path}: ends after line {len(lines)}, expected {last - first} columns")
    values = {c.name: 0.0 for c in inst.columns}
    given = set[str]()
    for k in range(first, last):
        name, _, text = lines[k].strip().rpartition(" ")
        name = name.strip()
        if not lines[k].strip() or lines[k].startswith(("#", "=obj=")):
            continue
        if name not in values or name in given or not NUMBER.fullmatch(text):
            raise InputError(
                f"{path}, line {k + 1}: {lines[k][:60]!r}, expected a variable and its value, once"
            )
        given.add(name)
        values[name] = float(text)
        if not math.isfinite(values[name]):
            raise InputError(f"{path}, line {k + 1}: {name} is {text}, expected a finite number")
    return Solution(values=tuple(values.values()))
