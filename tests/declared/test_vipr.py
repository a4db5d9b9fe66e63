"""Certificates in the format VIPR, derived again line by line by an independent checker."""

import math
import random
import re
from fractions import Fraction

import cvxpy as cp
import pytest
from independent import reference, vipr
from independent.declared import draw
from typer.testing import CliRunner

import optsched
from optsched.cli.app import app
from optsched.core import relax, solve
from optsched.declared.certificate import Tree
from optsched.declared.model import Maximization, Minimization
from optsched.numbers.resources import exact
from optsched.problem import InputError
from optsched.results.vipr import write_vipr

NUMBER = re.compile(r"-?\d+(/\d+)?")
TRAP = reference.DATA / "solver_traps" / "wrong_optimum.lp"


def column(name, **given):
    return {"name": name, "revealed": 0, "decided": 0} | given


def written(inst, found, folder):
    path = folder / "proof.vipr"
    write_vipr(inst, found, path)
    return path.read_text()


def same_model(inst, proved):
    """Assert that the file is about the model: its bounds, rows, costs and integers, exactly."""
    assert proved.sense == inst.sense
    assert proved.costs == {j: exact(c.cost) for j, c in enumerate(inst.columns) if c.cost}
    assert proved.whole == {j for j, c in enumerate(inst.columns) if c.integer}
    limits = [({j: 1}, c.lower, c.upper) for j, c in enumerate(inst.columns)]
    limits += [({j: exact(a) for j, a in r.entries if a}, r.lower, r.upper) for r in inst.rows]
    expected = [
        (entries, sense, exact(side))
        for entries, low, high in limits
        for sense, side in ((1, low), (-1, high))
        if math.isfinite(side)
    ]
    assert [(c.entries, c.sense, c.side) for c in proved.given] == expected
    assert proved.bounds == sum(math.isfinite(x) for c in inst.columns for x in (c.lower, c.upper))


def as_good(inst, found, proved):
    """Assert that the file proves what the certificate does."""
    if found.status == "infeasible":
        assert proved.infeasible
        return
    sign = 1 if inst.sense == "min" else -1
    bound = (proved.lower if sign > 0 else proved.upper) + exact(inst.offset)
    least = 1e-9 * max(1, abs(found.certified_bound))
    assert sign * (float(bound) - found.certified_bound) >= -least
    if found.value is not None:
        assert sign * (float(bound) - found.value) <= 1e-6 * max(1, abs(found.value))


def solved(seed):
    inst = draw(seed)
    try:
        found = solve(inst)
    except InputError:
        return None  # it is unbounded
    return None if found.certificate is None else (inst, found)


@pytest.mark.parametrize("part", range(4))
def test_random_programs(tmp_path, part):
    kinds = set()
    for seed in range(15 * part, 15 * part + 15):
        if pair := solved(seed):
            proved = vipr.check(written(*pair, tmp_path))
            same_model(pair[0], proved)
            as_good(*pair, proved)
            kinds |= {"infeasible" if proved.infeasible else "range", *proved.reasons}
    assert {"infeasible", "range", "lin"} <= kinds


@pytest.mark.exhaustive
def test_more_random_programs(tmp_path):
    for seed in range(60, 600):
        if pair := solved(seed):
            proved = vipr.check(written(*pair, tmp_path))
            same_model(pair[0], proved)
            as_good(*pair, proved)


def split(seed, columns=12, rows=2):
    """Return a market split, which needs a tree."""
    rng = random.Random(seed)
    names = [
        column(f"x[{j}]", cost=round(j / 300, 3), upper=1, integer=True) for j in range(columns)
    ]
    names += [column(f"s[{i},{k}]", cost=1, upper=200) for i in range(rows) for k in (0, 1)]
    made = []
    for i in range(rows):
        weights = [(j, rng.randint(1, 100)) for j in range(columns)]
        side = sum(a for _, a in weights) // 2
        ends = [(columns + 2 * i, 1), (columns + 2 * i + 1, -1)]
        made.append({"name": f"r[{i}]", "lower": side, "upper": side, "entries": weights + ends})
    return Minimization.model_validate({"columns": names, "rows": made})


def thirds(seed, items=30):
    """Return a knapsack whose values are sevenths, rounded to decimals."""
    rng = random.Random(seed)
    columns = [
        column(f"x[{j}]", cost=rng.randint(5, 40) / 7, upper=1, integer=True) for j in range(items)
    ]
    weights = [(j, rng.randint(5, 40)) for j in range(items)]
    row = {"name": "room", "upper": sum(a for _, a in weights) / 3, "entries": weights}
    return Maximization.model_validate({"columns": columns, "rows": [row]})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [split, thirds])
def test_trees_cuts_and_rounded_costs(tmp_path, make, seed):
    inst = make(seed)
    found = solve(inst, method="tree", work_limit=1000)
    tree = found.certificate
    proved = vipr.check(written(inst, found, tmp_path))
    same_model(inst, proved)
    as_good(inst, found, proved)
    assert proved.reasons.count("uns") == len(tree.cuts) + len(tree.nodes) // 2
    assert tree.cuts or make is thirds
    assert tree.denominator or make is split


def test_a_cut_by_hand(tmp_path):
    # 2 x + 2 y + z <= 3 of integers and z >= 0: halved, x + y <= 1
    inst = Maximization.model_validate(
        {
            "columns": [
                column("x", cost=1, upper=5, integer=True),
                column("y", cost=1, upper=5, integer=True),
                column("z", upper=1),
            ],
            "rows": [{"name": "r", "upper": 3, "entries": [(0, 2), (1, 2), (2, 1)]}],
        }
    )
    found = solve(inst)
    tree = Tree.model_validate(
        {
            "cuts": [{"multipliers": [(0, "1/2000000000")]}],
            "nodes": [{"node": "leaf", "multipliers": [(1, "-1")]}],
        }
    )
    assert optsched.problem.family_of(inst).check(inst, tree) == 1
    changed = found.model_copy(update={"certificate": tree})
    proved = vipr.check(written(inst, changed, tmp_path))
    assert (proved.lower, proved.upper) == (1, 1)
    assert proved.reasons[:5] == ["asm", "lin", "asm", "lin", "uns"]


def test_the_file_proves_the_exact_model_without_tolerance(tmp_path):
    rows = [{"name": "r", "lower": 1, "entries": [(0, 3)]}]
    inst = Minimization.model_validate({"columns": [column("x", cost=1)], "rows": rows})
    found = solve(inst)
    proved = vipr.check(written(inst, found, tmp_path))
    assert proved.lower == Fraction(1, 3)
    assert found.certified_bound < 1 / 3
    assert proved.solutions == []  # 0.3333333333333333 is short of a third
    assert "no solution keeps it exactly" in written(inst, found, tmp_path)


def test_a_relaxation_has_no_integers(tmp_path):
    inst = Maximization.model_validate(
        {
            "columns": [column("x", cost=1, upper=5, integer=True)],
            "rows": [{"name": "r", "upper": 3, "entries": [(0, 2)]}],
        }
    )
    proved = vipr.check(written(inst, relax(inst), tmp_path))
    assert (proved.whole, proved.upper) == (set(), Fraction(3, 2))


def test_the_command_writes_it(tmp_path):
    path = tmp_path / "trap.vipr"
    done = CliRunner().invoke(app, ["certify", str(TRAP), "--vipr", str(path)])
    assert done.exit_code == 0
    proved = vipr.check(path.read_text())
    assert (proved.lower, proved.upper) == (Fraction(-73, 2), Fraction(-73, 2))


def test_names_with_blanks_become_numbers(tmp_path):
    inst = Minimization.model_validate({"columns": [column("a b", cost=1)], "rows": []})
    assert vipr.check(written(inst, solve(inst), tmp_path)).names == ["x0"]


def test_what_has_no_counterpart_is_refused(tmp_path):
    x = cp.Variable(2, name="x")
    model = cp.Problem(cp.Minimize(cp.norm(x)), [x >= 1])
    with pytest.raises(InputError, match="VIPR has no cones, expected a linear model"):
        optsched.certify(model).vipr(tmp_path / "x")
    inst = Minimization.model_validate({"columns": [column("x", cost=1)], "rows": []})
    none = solve(inst).model_copy(update={"certificate": None})
    with pytest.raises(InputError, match="nothing is certified"):
        write_vipr(inst, none, tmp_path / "x")


def test_damaged_files_are_refused(tmp_path):
    """Every single number of the derivations, one larger or smaller: no false bound is proved."""
    found = optsched.certify(TRAP)
    found.vipr(tmp_path / "trap.vipr")
    text = (tmp_path / "trap.vipr").read_text()
    words, rng = text.split("\n"), random.Random(1)
    assert vipr.check(text).lower == Fraction(-73, 2)
    with pytest.raises(vipr.RefusedError, match="not the relation to prove"):
        vipr.check(text.replace("RTP range -73/2 -73/2", "RTP range -36 inf"))
    begin = next(k for k, line in enumerate(words) if line.startswith("DER"))
    refused = 0
    for _ in range(200):
        lines = list(words)
        k = rng.randrange(begin + 1, len(lines) - 1)
        parts = lines[k].split(" ")
        numbers = [i for i in range(2, len(parts) - 1) if NUMBER.fullmatch(parts[i])]
        i = rng.choice(numbers)
        parts[i] = str(Fraction(parts[i]) + rng.choice([-1, 1]))
        lines[k] = " ".join(parts)
        try:
            proved = vipr.check("\n".join(lines))
        except (vipr.RefusedError, ValueError):
            refused += 1
        else:
            assert proved.lower <= Fraction(-73, 2)
    assert refused > 100
