"""The declared program: labels, by hand, and the interior point within its certificate."""

import cvxpy as cp
import numpy as np
import pytest
from independent.bipartite import tiny
from independent.cases import FIELDS, scaled
from sweeps import sweep

from optsched.families.bipartite.instance import BipartiteInstance, Machine, Port
from optsched.families.bipartite.instance_utilities import KINDS
from optsched.families.bipartite.optimum.decision import Solver
from optsched.families.bipartite.optimum.monolithic_conic import conic_optimum
from optsched.families.bipartite.sources.presets import generate
from optsched.models.bipartite import bipartite_program
from optsched.solvers import solve_cvxpy

AGREED = 2e-6  # of a conic solver's value, relatively


def test_every_constraint_cites_its_equation():
    program = bipartite_program(generate("small", seed=0))
    assert [c.label for c in program.constraints] == [
        "(5) no channel above the request",
        "(6) capacity of each machine",
    ]
    assert isinstance(program.objective, cp.Maximize)
    assert program.is_dcp()


@pytest.mark.parametrize(
    ("kind", "gains"),
    [
        ("linear", 2 * 3.0),
        ("log", 2 * np.log(4.0)),
        ("reciprocal", 1 / 2 - 1 / 5),
        ("poly", 2 * 2.0 - 2),
    ],
)
def test_by_hand(kind, gains):
    # one port, one machine with 3 cores, overhead 0.01: all is taken, in each of 2 slots of 3
    inst = BipartiteInstance(
        horizon=3,
        resources=("cpu",),
        overhead=(0.01,),
        ports=(Port(request=(5,)),),
        machines=(Machine(capacity=(3,), ports=(0,), utility=({"kind": kind, "alpha": 2.0},)),),
        arrivals=((1,), (0,), (1,)),
    )
    for n in (None, inst.counts):
        program = bipartite_program(inst, n)
        assert solve_cvxpy(program).value == pytest.approx(2 * (gains - 0.03), rel=1e-7)
    once = bipartite_program(inst, inst.jobs[0])
    assert solve_cvxpy(once).value == pytest.approx(gains - 0.03, rel=1e-7)


@pytest.mark.parametrize("first", sweep(range(0, 80, 40), 1))
@pytest.mark.parametrize("kind", KINDS)
def test_interior_point_agrees_within_its_certificate(kind, first):
    """80 random instances of every kind; counts and the jobs of one slot in turns."""
    for seed in range(first, first + 40):
        inst = generate(
            "small", seed=seed, utilities=(kind,), machines=3, ports=3, slots=9, density=1.5
        )
        weight = inst.counts if seed % 2 else inst.jobs[seed % 9]
        solved = Solver(inst).solve(weight, 1e-8)
        found = conic_optimum(inst, weight)
        assert found is not None
        slack = AGREED * max(1.0, abs(solved.value))
        assert solved.value - slack <= found.value <= solved.bound + slack


def test_interior_point_agrees_on_mixed_instances_with_copies():
    for seed in range(20):
        inst = generate("counts", seed=seed)
        solved = Solver(inst).solve(inst.counts, 1e-8)
        assert conic_optimum(inst, inst.counts).value == pytest.approx(solved.value, rel=AGREED)


@pytest.mark.slow
@pytest.mark.parametrize("first", sweep(range(0, 600, 200), 1))
def test_no_decision_is_better_than_what_the_conic_solver_allows_for(first):
    """In units of amounts from 1e-3 to 1e3, where it was seen to be off by 1e-6."""
    for seed in range(first, first + 200):
        drawn = tiny(seed) if seed % 3 else generate("small", seed=seed, ports=3, machines=4)
        unit = 10.0 ** np.random.default_rng(seed).integers(-3, 4)
        inst = scaled(drawn, FIELDS["amounts"], float(unit))
        found = conic_optimum(inst, inst.counts)
        if found is not None and found.trusted:
            best = Solver(inst).solve(inst.counts, 1e-12).value
            assert found.value + found.error >= best * (1 - 1e-12)
