"""Reading models of Pyomo, linopy and files, and what is refused in one line."""

import gc
import math
import os
import re

import pyomo.environ as pyo
import pytest

from optsched.core import compare, simulate, solve
from optsched.declared.model import KINDS, component_of, index_of
from optsched.declared.problem import problem
from optsched.declared.readers import online
from optsched.problem import InputError, PolicyError
from optsched.results.export import Format, write_program


def model():
    m = pyo.ConcreteModel()
    m.I = range(4)
    m.x = pyo.Var(m.I, domain=pyo.Binary)
    m.y = pyo.Var(bounds=(0, 5))
    m.gain = pyo.Objective(expr=sum(m.x[i] for i in m.I) - m.y + 2.5, sense=pyo.maximize)
    m.switch = pyo.Constraint(m.I, rule=lambda m, i: m.x[i] <= m.y)
    return m


def times(m):
    return {m.x: lambda i: i, "y": 0}


def declared(change=lambda _m: None, **given):
    m = model()
    change(m)
    return online(m, given.pop("revealed", times(m)), **given)


def test_a_pyomo_model_is_read_as_it_is_written():
    inst = declared()
    assert inst.family == "declared-max"
    assert inst.offset == 2.5
    assert [c.name for c in inst.columns] == ["x[0]", "x[1]", "x[2]", "x[3]", "y"]
    assert [c.revealed for c in inst.columns] == [0, 1, 2, 3, 0]
    assert inst.rows[2].name == "switch[2]"
    assert (inst.rows[2].lower, inst.rows[2].upper) == (-math.inf, 0)
    assert dict(inst.rows[2].entries) == {2: 1, 4: -1}
    assert solve(inst).value == 5.5


def test_constants_and_fixed_variables_are_moved_exactly():
    def change(m):
        m.x[1].fix(1)
        m.more = pyo.Constraint(expr=(0.1, 0.1 * m.x[0] + 0.2 * m.x[0] + m.x[1] - 0.7, 0.4))

    inst = declared(change)
    assert "x[1]" not in [c.name for c in inst.columns]
    row = inst.rows[-1]
    assert (row.lower, row.upper) == pytest.approx((-0.2, 0.1))
    assert row.entries[0] == (0, pytest.approx(0.3))


def test_times_are_numbers_functions_and_mappings_of_components_and_names():
    m = model()
    inst = online(m, [(m.x, {i: 10 * i for i in m.I}), (m.y, 0)], decided={"x[2]": 25, m.x: 30})
    assert [c.revealed for c in inst.columns] == [0, 10, 20, 30, 0]
    assert [c.decided for c in inst.columns] == [30, 30, 25, 30, 0]


def add(expression):
    def change(m):
        m.more = pyo.Constraint(expr=expression(m))

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (add(lambda m: m.x[0] * m.y <= 2), "constraint more: is not linear in x[0] and y"),
        (add(lambda m: pyo.exp(m.y) <= 2), "constraint more: is not linear in y"),
        (
            lambda m: setattr(m.gain, "expr", m.x[1] * m.x[2]),
            "objective gain: is not linear in x[1] and x[2]",
        ),
        (add(lambda m: (0, 0 * m.x[1], 1)), "constraint more: has no variables and is always true"),
        (
            add(lambda m: (1, 0 * m.x[1], 1)),
            "constraint more: has no variables and is always false",
        ),
        (add(lambda m: math.nan * m.x[2] + m.y <= 1), "constraint more: coefficient of x[2]: nan"),
        (add(lambda m: m.x[2] + m.y <= math.nan), "constraint more: upper: nan is no limit"),
        (lambda m: setattr(m.gain, "expr", math.nan * m.x[3]), "variable x[3]: cost: nan"),
        (add(lambda m: 1e300 * m.x[2] + m.y <= 1), "constraint more: coefficient of x[2]: 1e+300"),
        (lambda m: setattr(m.gain, "expr", 1e300 * m.x[3]), "variable x[3]: cost: 1e+300"),
        (lambda m: m.y.setub(1e300), "variable y: upper: 1e+300"),
        (lambda m: m.y.setlb(9), "variable y: lower bound 9 and upper bound 5 leave no value"),
        (lambda m: m.gain.deactivate(), "the model has 0 active objectives"),
        (lambda m: setattr(m, "z", pyo.Var([7])), "variable z[7]: has no time in `revealed`"),
        (
            lambda m: setattr(m, "s", pyo.SOSConstraint(var=m.x, sos=1)),
            "s: is a SOSConstraint, expected variables",
        ),
    ],
)
def test_models_that_cannot_be_declared_are_refused_in_one_line(change, complaint):
    with pytest.raises(InputError, match=re.escape(complaint)) as refused:
        declared(change)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        ((math.inf, None), "its lower limit is inf, expected a number"),
        ((math.inf, math.inf), "its lower limit is inf"),
        ((None, -math.inf), "its upper limit is -inf"),
        ((-math.inf, -math.inf), "its upper limit is -inf"),
        ((None, 10**400), "cannot be evaluated: int too large"),
    ],
)
@pytest.mark.parametrize("by_parameter", [False, True])
def test_limits_that_nothing_satisfies_are_refused(limits, complaint, by_parameter):
    def change(m):
        m.low, m.high = (pyo.Param(initialize=x, within=pyo.Any, mutable=True) for x in limits)
        low, high = (m.low, m.high) if by_parameter else limits
        m.more = pyo.Constraint([1, 2], rule=lambda m, i: (low, m.y, high) if i == 2 else m.y <= 4)

    if by_parameter and None in limits:
        complaint = "cannot be evaluated: No value for uninitialized"
    with pytest.raises(InputError, match=re.escape(f"constraint more[2]: {complaint}")):
        declared(change)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda m: m.x[2].fix(), "x[2]: is fixed without a value, expected a number"),
        (lambda m: m.x[2].fix(0.5), "x[2]: is fixed at 0.5, expected an integer"),
        (lambda m: m.x[2].fix(2), "x[2]: is fixed at 2, upper bound 1"),
        (lambda m: m.y.fix(-1), "y: is fixed at -1, lower bound 0"),
        (lambda m: m.y.fix(math.nan), "y: is fixed at nan, expected a number"),
        (lambda m: m.y.fix(math.inf), "y: is fixed at inf, expected a number"),
    ],
)
def test_variables_that_are_fixed_at_no_value_of_theirs_are_refused(change, complaint):
    with pytest.raises(InputError, match=re.escape(f"variable {complaint}")):
        declared(change, revealed=[("x", 0), ("y", 0)])


def test_a_variable_may_be_fixed_at_a_value_of_any_domain_and_within_the_tolerance():
    def change(m):
        m.z = pyo.Var(domain=pyo.Set(initialize=[0.5, 2.5]))
        m.z.fix(2.5)
        m.x[2].fix(1 + 1e-12)
        m.more = pyo.Constraint(expr=m.y <= m.z)

    assert declared(change).rows[-1].upper == 2.5


@pytest.mark.parametrize("right", [lambda m, i: m.p[i], lambda m, i: 3 * m.p[i] + 1])
def test_a_parameter_without_a_value_is_refused_with_its_constraint(right):
    def change(m):
        m.p = pyo.Param(m.I, initialize={0: 1, 1: 1}, mutable=True)
        m.more = pyo.Constraint(m.I, rule=lambda m, i: m.x[i] + m.y <= right(m, i))

    with pytest.raises(InputError, match=r"constraint more\[2\]: cannot be .*p\[2\]") as refused:
        declared(change)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None])
def test_a_seed_that_is_none_is_refused(seed):
    @problem(sizes={"small": {}})
    def drawn(random):  # noqa: ARG001
        return declared()

    for draw in (drawn, drawn.family.generate):
        with pytest.raises(InputError, match=f"drawn: seed {seed!r}, expected an integer from 0"):
            draw("small", seed=seed)


def test_infinite_limits_that_always_hold_are_none():
    inst = declared(add(lambda m: (-math.inf, m.x[2] + m.y, math.inf)))
    assert (inst.rows[-1].lower, inst.rows[-1].upper) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (add(lambda m: m.y + math.inf <= 3), "constraint more: its constant is inf, expected a fi"),
        (add(lambda m: m.y - math.inf <= math.inf), "constraint more: its constant is -inf"),
        (lambda m: setattr(m.gain, "expr", m.y + math.nan), "objective gain: its constant is nan"),
        (lambda m: setattr(m.gain, "expr", m.y + 1e300), "objective: its constant: 1e+300 is out"),
        (lambda m: setattr(m.gain, "expr", 10**400 * m.y), "objective gain: cannot be evaluated"),
    ],
)
def test_constants_that_are_no_numbers_are_refused(change, complaint):
    with pytest.raises(InputError, match=re.escape(complaint)):
        declared(change)


@pytest.mark.parametrize(
    ("revealed", "complaint"),
    [
        ({"x": lambda i: i}, "variable y: has no time in `revealed`"),
        ({"x": 0, "y": 0, "zz": 0}, "`revealed` names zz, which is no variable"),
        ({"x": {0: 0}, "y": 0}, "variable x[1]: the mapping in `revealed` lacks its index"),
        ({"x": None, "y": 0}, "variable x[0]: `revealed` is None, expected a number"),
        ({"x": {0: "noon"}, "y": 0}, "variable x[0]: `revealed` is 'noon', expected a number"),
        ({"x": lambda a, b: a + b, "y": 0}, "variable x[0]: its time in `revealed` failed"),
        ({"x": math.nan, "y": 0}, "variable x[0]: `revealed` is nan"),
        (None, "`revealed` is None, expected a mapping"),
        (["x", "y"], "`revealed` has x without a time, expected a mapping from variables to"),
        ({"x": {i: i for i in range(6)}, "y": 0}, "`revealed` of x has a time for 4, which is no"),
        ([("x", {(0, 1): 0} | dict.fromkeys(range(4), 0)), ("y", 0)], "has a time for (0, 1), whi"),
    ],
)
def test_times_that_are_none_are_refused(revealed, complaint):
    with pytest.raises(InputError, match=re.escape(complaint)):
        declared(revealed=revealed)


def test_components_without_times_are_refused_by_their_names():
    m = model()
    for given, said in (([m.y, m.x], "has y without a time"), (m.x, "is x, expected a mapping")):
        with pytest.raises(InputError, match=f"`revealed` {said}"):
            online(m, given)
    m.z = pyo.Var(range(2))  # an iterable of two, as a pair is
    with pytest.raises(InputError, match="`revealed` has z without a time"):
        online(m, [m.z])


def test_a_mapping_may_have_times_of_variables_that_are_fixed():
    inst = declared(lambda m: m.x[1].fix(1), revealed={"x": {i: i for i in range(4)}, "y": 0})
    assert [c.revealed for c in inst.columns] == [0, 2, 3, 0]
    inst = declared(revealed={"x[2]": 9, "x": {0: 0, 1: 1, 2: 2, 3: 3}, "y": 0})
    assert [c.revealed for c in inst.columns] == [0, 1, 9, 3, 0]


def test_scalars_of_pyomo_as_keys_of_a_problem_are_explained():
    @problem(sizes={"small": {}})
    def keyed(random):  # noqa: ARG001
        m = model()
        return online(m, {m.x[0]: 0})

    with pytest.raises(PolicyError, match=r"cannot be keys, expected names, such as 'x\[0\]'"):
        keyed()


@pytest.mark.parametrize("by_name", [True, False])
def test_two_times_of_a_variable_are_refused(by_name):
    m = model()
    x = "x" if by_name else m.x
    with pytest.raises(InputError, match="`revealed` names x twice, expected one time"):
        online(m, [(x, 0), ("y", 0), (x, lambda i: i)])


def test_a_time_of_a_fixed_variable_is_refused():
    with pytest.raises(InputError, match="`revealed` names y, which is fixed"):
        declared(lambda m: m.y.fix(1), revealed={"x": 0, "y": 0})
    with pytest.raises(InputError, match=r"`revealed` names x\[1\], which is fixed"):
        declared(lambda m: m.x[1].fix(1), revealed={"x": 0, "y": 0, "x[1]": 0})
    with pytest.raises(InputError, match="`revealed` names x, which is fixed"):
        declared(lambda m: m.x.fix(1), revealed={"x": 0, "y": 0})


def test_an_abstract_model_is_refused():
    with pytest.raises(InputError, match="the model is abstract"):
        online(pyo.AbstractModel(), {})


def test_a_decision_before_the_variable_is_revealed_is_refused():
    with pytest.raises(InputError, match=re.escape("variable x[2]: decided at 1, before it is")):
        declared(decided={"x[2]": 1})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda m: m.y.setub(7), "variable y: upper was 5.0 and is 7.0"),
        (lambda m: setattr(m.gain, "expr", 2 * m.x[0]), "variable x[0]: cost was 1.0 and is 2.0"),
        (lambda m: m.gain.set_value(m.x[0] + m.x[1]), "variable x[2]: cost was 1.0 and is 0.0"),
        (lambda m: setattr(m.gain, "expr", m.gain.expr + m.y), "variable y: cost was -1.0 and is"),
        (lambda m: m.gain.set_value(m.gain.expr + 1), "the model has another objective"),
        (lambda m: m.gain.set_sense(pyo.minimize), "the model has another objective"),
        (
            lambda m: setattr(m, "more", pyo.Constraint(expr=m.y <= 3)),
            "constraint more is new, expected the model as it was declared",
        ),
        (lambda m: m.switch[1].set_value(m.x[1] <= 2 * m.y), "switch[1]: had other coefficients"),
        (lambda m: m.switch[2].set_value(m.x[2] <= m.y + 1), "switch[2]: upper was 0.0 and is 1.0"),
        (lambda m: m.x[3].fix(1), "variable x[3] is now fixed at 1, expected the model as it was"),
        (lambda m: m.switch[0].deactivate(), "constraint switch[0] is gone"),
    ],
)
def test_a_model_that_is_changed_after_it_was_declared_is_refused(change, complaint):
    m = model()
    m.gain.expr -= 2.5  # no offset
    inst = online(m, times(m))
    assert solve(inst).value == 3
    assert simulate(inst, "re-solve").value == 0
    change(m)
    for use in (
        solve,
        lambda inst: simulate(inst, "greedy"),
        lambda inst: compare(inst, ["greedy"]),
    ):
        with pytest.raises(InputError, match=re.escape(complaint)) as refused:
            use(inst)
        assert "\n" not in str(refused.value)


def test_a_parameter_that_is_set_to_zero_is_a_change():
    m = model()
    m.price = pyo.Param(m.I, initialize=1.0, mutable=True)
    m.gain.expr = sum(m.price[i] * m.x[i] for i in m.I)
    inst = online(m, times(m))
    assert solve(inst).value == 4
    m.price[2] = 0.0
    with pytest.raises(InputError, match=re.escape("variable x[2]: cost was 1.0 and is 0.0")):
        solve(inst)


def test_a_changed_model_that_nobody_has_any_more_is_not_meant():
    m = model()
    inst = online(m, times(m))
    m.y.setub(0)
    del m
    gc.collect()
    assert solve(inst).value == 5.5


def test_an_unbounded_model_is_refused_with_a_variable_that_grows():
    def change(m):
        m.z = pyo.Var([7])
        m.gain.expr += m.z[7]

    m = model()
    change(m)
    inst = online(m, {**times(m), m.z: 0})
    with pytest.raises(InputError, match=re.escape("unbounded: variable z[7] can grow")):
        solve(inst)


def test_files_are_read_with_a_table_of_times(tmp_path):
    path = tmp_path / "program.lp"
    write_program(declared(), path, Format.LP)
    names = {c.name: k for k, c in enumerate(declared().columns)}
    written = re.findall(r"x\(\S+\)|ONE_VAR_CONSTANT", path.read_text())
    table = tmp_path / "times.csv"
    table.write_text(
        "name,revealed,decided\n"
        + "".join(f"{name},1,{2 if 'y' in name else ''}\n" for name in dict.fromkeys(written))
    )
    inst = online(path, table)
    assert len(inst.columns) >= len(names)
    assert {c.decided for c in inst.columns} <= {0, 1, 2}
    assert solve(inst).value == 5.5


ODD = ("x+y", "x_y", "x[1,2]", "x(1,2)", "2x", "1e5", "0", "-", "<=", "inf", "é", "x" * 150)
RENAMED = ("a b", "a_b", "RHS", "BOUND", "rows", "max", "objective", "*x", "$x", "'MARKER'", "\xa0")
RENAMED += ("x" * 300, "x" * 301)


def odd_program(sense, names):
    """Return a program with every kind of bound and row, under names of all kinds."""
    kinds = [(0, 4), (-3, math.inf), (-math.inf, 7), (-math.inf, math.inf), (2, 2), (-0.1, 1e15)]
    columns = [
        {
            "name": name,
            "cost": 0.1 * (k % 4) - 0.2,
            "lower": kinds[k % 6][0],
            "upper": kinds[k % 6][1],
            "integer": k % 3 == 0,
            "revealed": k / 3,
            "decided": k / 3 + k % 2,
        }
        for k, name in enumerate(names)
    ]
    sides = [(-1, 5), (-math.inf, 9.7), (0.1, math.inf), (3, 3), (-0.1, 0.3), (0.1, 1e15)]
    rows = [
        {
            "name": name,
            "lower": sides[k % 6][0],
            "upper": sides[k % 6][1],
            "entries": [(k, 1 / 3), ((k + 1) % len(names), -2.5)],
        }
        for k, name in enumerate(names)
    ]
    return KINDS[sense].model_validate({"offset": 1.5, "columns": columns, "rows": rows})


@pytest.mark.parametrize("sense", ["max", "min"])
def test_an_exported_program_is_read_back_as_it_is(sense, tmp_path):
    inst = odd_program(sense, ODD)
    notes = write_program(inst, tmp_path / "odd.mps", Format.MPS)
    assert f"times of its variables: {tmp_path / 'odd.times.csv'}" in notes
    back = online(tmp_path / "odd.mps", str(tmp_path / "odd.times.csv"))
    assert (back.family, back.offset) == (inst.family, inst.offset)
    assert back.columns == inst.columns
    rows = {row.name: row for row in back.rows}
    for row in inst.rows:
        other = rows.pop(row.name)
        assert sorted(row.entries) == sorted(other.entries)
        lower = other.lower
        if (row.lower, row.upper) == (-0.1, 0.3):  # no float is their difference: two rows
            second = rows.pop(f"{row.name}_lower")
            assert (second.upper, second.entries) == (math.inf, other.entries)
            lower = second.lower
        assert (row.lower, row.upper) == (lower, other.upper)
    assert not rows


@pytest.mark.parametrize("to", [Format.MPS, Format.LP])
def test_names_that_a_file_cannot_hold_are_replaced_by_others(to, tmp_path):
    inst = odd_program("max", RENAMED)
    path = tmp_path / f"odd.{to}"
    write_program(inst, path, to)
    if to is Format.MPS:
        back = online(path, tmp_path / "odd.times.csv")
        fields = ("cost", "lower", "upper", "integer", "revealed", "decided")
        for mine, other in zip(inst.columns, back.columns, strict=True):
            assert [getattr(mine, f) for f in fields] == [getattr(other, f) for f in fields]
        assert [c.name for c in back.columns][:3] == ["a_b_2", "a_b", "RHS_"]
    else:
        assert len(set(re.findall(r"x\(\S+", path.read_text()))) == len(RENAMED)


def test_names_that_pyomo_makes_one_are_told_apart(tmp_path):
    inst = odd_program("max", ("x+y", "x_y", "x y"))
    write_program(inst, tmp_path / "some.lp", Format.LP)
    found = set(re.findall(r"x\(x_y\)\S*", (tmp_path / "some.lp").read_text()))
    assert found == {"x(x_y)", "x(x_y)_2", "x(x_y)_3"}
    online(tmp_path / "some.lp", dict.fromkeys(found, 0))


MPS = """NAME d
ROWS
 N cost
 L c
COLUMNS
 x cost 1 c 1
 y cost 2 c 1
{more}RHS
 RHS c 4
ENDATA
"""


@pytest.mark.parametrize("more", [" y c 2\n", " x c 1\n"])
def test_files_with_doubtful_parts_are_refused(tmp_path, more):
    path = tmp_path / "twice.mps"
    path.write_text(MPS.format(more=""))
    assert len(online(path, {"x": 0, "y": 0}).columns) == 2
    path.write_text(MPS.format(more=more))
    with pytest.raises(InputError, match=r"twice\.mps: line 8: column . has two entries in row c"):
        online(path, {"x": 0, "y": 0})


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("name,revealed\nx,1\nx,2\n", "line 3: names x a second time"),
        ("name,revealed\nx,soon\n", "line 2: revealed is 'soon', expected a time"),
        ("name,revealed\n,1\n", "line 2: has no name"),
        ("who,when\nx,1\n", "line 1: lacks name and revealed, expected a header with the columns"),
        ("name;revealed\nx;1\n", "lacks name and revealed, .* separated by commas"),
        ("name,time\nx,1\n", "line 1: lacks revealed, expected"),
        ("name,revealed\nx,1\n", "variable y: has no time in times.csv, expected one"),
        ("name,revealed\nx,1,5\ny,1\n", "line 2: has more cells than columns"),
        ("name,revealed\nx,1_0\ny,1\n", "line 2: revealed is '1_0', expected a time"),
        ("name,revealed\nx,\u0661\ny,1\n", "line 2: revealed is '\u0661', expected a time"),
        ("name,revealed\nx,nan\ny,1\n", "line 2: revealed is 'nan', expected a time"),
        ("name,revealed,revealed\nx,1,2\ny,1,2\n", "has the column 'revealed' twice"),
        (f"name,revealed\nx,1\n{'y' * 131073},1\n", r"line 3: is no CSV: field larger"),
    ],
)
def test_tables_that_are_none_are_refused(tmp_path, table, complaint):
    (tmp_path / "some.mps").write_text(MPS.format(more=""))
    (tmp_path / "times.csv").write_text(table)
    with pytest.raises(InputError, match=complaint):
        online(tmp_path / "some.mps", tmp_path / "times.csv")


def test_a_similar_name_is_suggested(tmp_path):
    m = pyo.ConcreteModel()
    m.use = pyo.Var(range(2), range(2), bounds=(0, 1))
    m.gain = pyo.Objective(expr=sum(m.use[i, j] for i in (0, 1) for j in (0, 1)))
    m.once = pyo.Constraint(expr=m.use[0, 0] + m.use[1, 1] >= 1)
    path, table = str(tmp_path / "model.lp"), tmp_path / "times.csv"
    m.write(path, io_options={"symbolic_solver_labels": True})
    table.write_text('name, revealed\n"use[0,1]",1\n')
    line = "times.csv names use[0,1], which is no variable of the model; did you mean use(0_1)?"
    with pytest.raises(InputError, match=f"^{re.escape(line)}$"):
        online(path, table)
    for wrong, meant in (("Use", "use"), ("used[1,0]", "use[1,0]"), ("nothing", "")):
        with pytest.raises(InputError, match="`revealed` names ") as refused:
            online(m, {wrong: 0})
        assert str(refused.value).endswith(f"did you mean {meant}?" if meant else "of the model")
    table.write_text("name, revealed\n" + "".join(f"use({k}),1\n" for k in ("0_0", "1_1")))
    with pytest.raises(InputError, match=r"variable use\(0_1\): has no time in times.csv"):
        online(path, table)


def test_a_table_that_may_not_end_is_not_read(tmp_path, monkeypatch):
    (tmp_path / "some.mps").write_text(MPS.format(more=""))
    os.mkfifo(tmp_path / "pipe.csv")
    for table, kind in ((tmp_path / "pipe.csv", "a pipe"), ("/dev/zero", "a device")):
        with pytest.raises(InputError, match=f"is {kind}, expected a file"):
            online(tmp_path / "some.mps", table)
    monkeypatch.setattr("optsched.declared.readers.LARGEST", 20)
    (tmp_path / "times.csv").write_text("name,revealed\nx,1\ny,1\n")
    with pytest.raises(InputError, match="22 bytes, expected at most 20"):
        online(tmp_path / "some.mps", tmp_path / "times.csv")


def semi_continuous(m, coords):
    m.add_variables(lower=2, upper=5, semi_continuous=True, coords=coords, name="x")


def special_ordered(m, coords):
    x = m.add_variables(lower=0, upper=5, coords=coords, name="x")
    m.add_sos_constraints(x, sos_type=1, sos_dim="t")


def indicator(m, coords):
    x = m.add_variables(lower=0, upper=5, coords=coords, name="x")
    use = m.add_variables(binary=True, coords=coords, name="use")
    m.add_indicator_constraints(use, 1, x <= 1, name="only")


def scaled_variable(m, coords):
    m.add_variables(lower=0, upper=5, coords=coords, name="x", scaling=10.0)


def scaled_row(m, coords):
    x = m.add_variables(lower=0, upper=5, coords=coords, name="x")
    m.add_constraints(2 * x >= 1, name="least", scaling=4.0)


@pytest.mark.parametrize(
    ("add", "why"),
    [
        (semi_continuous, "variable x: is semi-continuous"),
        (special_ordered, "variable x: is in an SOS constraint"),
        (indicator, "constraint only: is an indicator constraint"),
        (scaled_variable, "variable x: has a scaling"),
        (scaled_row, "constraint least: has a scaling"),
        (None, "objective: has a scaling"),
    ],
)
def test_what_is_not_in_the_matrices_of_linopy_is_refused(add, why):
    linopy = pytest.importorskip("linopy", reason="linopy is an optional extra")
    import pandas as pd

    m, hours = linopy.Model(), pd.RangeIndex(3, name="t")
    (add or (lambda m, coords: m.add_variables(coords=coords, name="x")))(m, [hours])
    x = m.variables["x"]
    m.add_constraints(x.sum() <= 7, name="total")
    m.add_objective(x.sum(), sense="max", scaling=1.0 if add else 3.0)
    with pytest.raises(InputError, match=f"{why}, expected continuous"):
        online(m, dict.fromkeys(m.variables, "t"))


def test_a_linopy_model_is_read():
    linopy = pytest.importorskip("linopy", reason="linopy is an optional extra")
    import pandas as pd
    import xarray as xr

    m = linopy.Model()
    hours = pd.RangeIndex(4, name="t")
    buy = m.add_variables(lower=0, upper=2, coords=[hours], name="buy")
    use = m.add_variables(binary=True, coords=[hours], name="use")
    price = xr.DataArray([3.0, 1, 4, 2], coords=[hours])
    m.add_constraints(buy - 2 * use <= 0, name="switch")
    m.add_constraints(buy.sum() >= 3, name="total")
    m.add_objective((price * buy + 0.5 * use).sum())
    inst = online(m, {"buy": lambda t: t, "use": lambda t: t})
    assert inst.family == "declared-min"
    assert [c.name for c in inst.columns[:2]] == ["buy[0]", "buy[1]"]
    assert solve(inst).value == pytest.approx(5.0)
    late = pd.date_range("2026-01-01", periods=4, freq="h", name="hour")
    sell = m.add_variables(
        lower=0, upper=2, coords=[["a", "b"], late], dims=["at", "hour"], name="sell"
    )
    m.add_constraints(sell.sum() <= 5, name="stock")
    inst = online(m, [("buy", "t"), (m.variables["use"], "t"), ("sell", "hour")], {"buy": 9})
    assert [(c.revealed, c.decided) for c in inst.columns[:2]] == [(0, 9), (1, 9)]
    assert [c.revealed for c in inst.columns if c.name[:4] == "sell"] == [0, 1, 2, 3] * 2
    with pytest.raises(
        InputError, match="variable buy: has no dimension 'hour', expected one of: t"
    ):
        online(m, {"buy": "hour", "use": "t", "sell": "hour"})
    with pytest.raises(InputError, match="names bought, which is no variable of the model"):
        online(m, {"bought": "t"})


def test_a_pypsa_network_is_read():
    pypsa = pytest.importorskip("pypsa", reason="pypsa is an optional extra")
    import pandas as pd

    n = pypsa.Network()
    n.set_snapshots(pd.date_range("2026-01-01", periods=3, freq="h"))
    n.add("Bus", "north")
    n.add("Generator", "gas", bus="north", p_nom_extendable=True, capital_cost=5, marginal_cost=2)
    n.add("Generator", "wind", bus="north", p_nom=10, p_max_pu=[1.0, 0.5, 0.0])
    n.add("Load", "town", bus="north", p_set=[4, 7, 6])
    m = n.optimize.create_model()
    times = {v: "snapshot" if "snapshot" in m.variables[v].dims else 0 for v in m.variables}
    inst = online(m, times)
    assert solve(inst).value == pytest.approx(6 * 5 + 8 * 2)
    known = dict(zip((row.name for row in inst.rows), inst.times, strict=True))
    limits = {t for name, t in known.items() if "gas" in name and "upper" in name}
    assert limits >= {0, 1, 2}  # of every hour, when it comes
    balance = [t for name, t in known.items() if name.startswith("Bus-nodal_balance")]
    assert balance == [0, 1, 2]


def test_continuous_time_of_pyomo_is_read():
    from pyomo.dae import ContinuousSet, DerivativeVar

    m = pyo.ConcreteModel()
    m.t = ContinuousSet(bounds=(0, 4))
    m.level = pyo.Var(m.t, bounds=(0, 2))
    m.flow = DerivativeVar(m.level, wrt=m.t, bounds=(-1, 1))
    m.level[0].fix(0)
    grid = pyo.TransformationFactory("dae.finite_difference")
    grid.apply_to(m, wrt=m.t, nfe=2, scheme="BACKWARD")
    m.flow[0].fix(0)
    m.end = pyo.Objective(expr=m.level[4], sense=pyo.maximize)
    inst = online(m, {m.level: lambda t: t, m.flow: lambda t: t})
    assert sorted({c.revealed for c in inst.columns}) == [2, 4]
    assert inst.times == (2, 4)
    assert solve(inst).value == 2


def test_variables_of_blocks_have_pairs_as_times_and_their_own_components():
    m = pyo.ConcreteModel()
    m.T = range(2)
    m.block = pyo.Block(m.T, rule=lambda b, _: setattr(b, "x", pyo.Var([3], domain=pyo.Binary)))
    m.gain = pyo.Objective(expr=sum(m.block[t].x[3] for t in m.T), sense=pyo.maximize)
    inst = online(m, [(m.block[t].x, t) for t in m.T])
    assert [c.name for c in inst.columns] == ["block[0].x[3]", "block[1].x[3]"]
    assert component_of(inst.columns[1].name) == "block[1].x"
    assert index_of(inst.columns[1].name) == (3,)
    assert inst.values(solve(inst).schedule) == {"block[0].x[3]": 1.0, "block[1].x[3]": 1.0}


def test_a_generator_that_changes_its_model_after_it_was_declared_is_refused():
    @problem(sizes={"small": {}})
    def late(random):  # noqa: ARG001
        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(2), domain=pyo.Binary)
        m.gain = pyo.Objective(expr=m.x[0] + 2 * m.x[1], sense=pyo.maximize)
        made = online(m, {m.x: lambda i: i})
        m.one = pyo.Constraint(expr=m.x[0] + m.x[1] <= 1)
        return made

    with pytest.raises(InputError, match=r"call optsched\.online again"):
        late("small")
