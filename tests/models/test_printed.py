"""The programs with the papers' own numbers: the same optimum, a looser relaxation."""

import re

import pytest
from altered import LINK, drawn
from sweeps import sweep

import optsched
from optsched.problem import InputError
from optsched.results.export import Format, write_program
from optsched.solvers import solve_pyomo

CASES = {
    "oasis": ("oasis", {"jobs": 4}),
    "dmlrs": ("dmlrs", {"jobs": 4}),
    "dmlrs-link": ("dmlrs", {"jobs": 2, **LINK}),
    "completion": ("completion", {"jobs": 3}),
    "completion-ring": ("completion", {"jobs": 3, "architecture": "ring"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", sweep(range(8), quick=1))
@pytest.mark.parametrize("case", CASES)
def test_printed_and_tightened_programs_have_one_optimum(case, seed):
    name, options = CASES[case]
    instance = drawn(name, "small", seed, options)
    family = optsched.get_family(instance.family)
    tight, printed = (
        solve_pyomo(family.program(instance, printed=form)).objective for form in (False, True)
    )
    other = optsched.solve(instance, method="cpsat", check="claimed", time_limit=60)
    assert other.status.closed
    assert printed == pytest.approx(tight, rel=1e-6)
    assert printed == pytest.approx(other.value, rel=1e-6)
    lp, looser = (
        solve_pyomo(family.program(instance, relaxed=True, printed=form)).objective
        for form in (False, True)
    )
    assert family.sign * (looser - lp) >= -1e-7 * abs(lp)
    assert family.sign * (lp - tight) >= -1e-7 * abs(tight)


def test_a_relaxation_that_presolve_calls_infeasible_is_solved():
    """HiGHS 1.13 did so, although the integer program has a solution of the same value."""
    instance = drawn("completion", "small", 2, CASES["completion-ring"][1])
    family = optsched.get_family("completion")
    assert solve_pyomo(family.program(instance, relaxed=True)).objective == pytest.approx(96)
    assert optsched.relax(instance).bound == pytest.approx(96)


def test_the_printed_numbers_are_the_papers(tmp_path):
    instance = optsched.get_family("oasis").generate("small", seed=1)
    write_program(instance, tmp_path / "printed.lp", Format.LP, printed=True)
    write_program(instance, tmp_path / "tight.lp", Format.LP)
    printed, tight = ((tmp_path / f"{n}.lp").read_text() for n in ("printed", "tight"))
    job = instance.jobs[0]
    steps = job.epochs * job.chunks * job.batches_per_chunk
    sent = 2 * job.gradient_mb * 0.008 / job.worker_bandwidth / instance.slot_seconds
    work = steps * (job.batch_time + sent)
    of_work = [
        re.search(r"([\d.]+) v\(0_", text.split("eq2_work(0)_:")[1])[1] for text in (printed, tight)
    ]
    assert float(of_work[0]) == pytest.approx(work)
    assert work < float(of_work[1]) == instance.work[0]


def test_a_family_without_a_form_says_so():
    """A family from outside may have a program that takes the instance alone."""
    from dataclasses import replace

    from optsched.results.export import program_in_form

    family = optsched.get_family("oasis")
    instance = family.generate("small", seed=1)
    outside = replace(family, program=lambda inst: family.program(inst))
    with pytest.raises(InputError, match="family oasis has no relaxed form of its program"):
        program_in_form(outside, instance, relaxed=True)
