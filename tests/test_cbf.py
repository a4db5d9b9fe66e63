"""CBF files: read back by the format's definition, they have the same optimum."""

import cvxpy as cp
import pytest
from independent.conic import optimum
from independent.oasis import FILES, load

from optsched.problem import InputError
from optsched.results.export import Format, cbf_text, write_program


def programs():
    x = cp.Variable(3)
    budget = (x[0] + 2 * x[1] + x[2] <= 4).set_label("eq1_budget")
    ball = cp.norm(x) <= 3
    yield cp.Problem(cp.Maximize(cp.sum(cp.log(x)) + 3), [budget, ball])
    yield cp.Problem(cp.Minimize(cp.sum(cp.inv_pos(x)) - 2), [budget, x[0] == 0.5])
    yield cp.Problem(cp.Maximize(cp.sum(cp.power(x, 0.3, approx=False))), [budget, ball, x >= 0])


@pytest.mark.parametrize("problem", list(programs()), ids=["log", "reciprocal", "power"])
def test_the_file_has_the_same_optimum(problem):
    text = cbf_text(problem)
    assert "eq1_budget: 1 rows" in text
    problem.solve(solver=cp.CLARABEL)
    assert optimum(text) == pytest.approx(problem.value, rel=1e-6)


def test_an_integer_program_is_no_conic_one(tmp_path):
    instance, _ = load(FILES[0])
    with pytest.raises(InputError, match="cannot be written as cbf, expected lp or mps"):
        write_program(instance, tmp_path / "x.cbf", Format.CBF)
    assert not list(tmp_path.iterdir())
