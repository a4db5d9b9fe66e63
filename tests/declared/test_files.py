"""MPS and LP files: every feature is read as it is written, or refused in one line."""

import gzip
import random
import re
from math import inf

import pytest
from independent import mps

from optsched.declared.readers import offline
from optsched.problem import InputError

MPS = """NAME some model
{sense}ROWS
 N cost
 N other
 L at_most
 G at_least
 E equal
COLUMNS
 x cost 1 at_most 1
 x other 7 at_least 1
 {begin}
 y cost -2.5 at_most 1
 y equal 3
 {end}
RHS
 RHS at_most 4 at_least 1
 RHS equal -2 {more}
{sections}ENDATA
"""
INTEGER = {"begin": "M1 'MARKER' 'INTORG'", "end": "M2 'MARKER' 'INTEND'"}
LP = """min
 obj: 2 x + 3 y + 4
st
 c: x + y >= 2
{rows}bounds
 x <= 4
{tail}end
"""


def written(**given):
    blank = dict.fromkeys(("sense", "begin", "end", "more", "sections"), "")
    return MPS.format(**(blank | given)).replace(" \n", "\n")


def read(folder, text, ending="mps"):
    path = folder / f"model.{ending}"
    path.write_text(text)
    return offline(path)


def agrees(inst, model):
    """Assert that what was read is what the independent reader finds."""
    assert (inst.sense, inst.offset) == (model.sense, model.offset)
    mine = {c.name: [c.cost, c.lower, c.upper, c.integer] for c in inst.columns}
    assert mine == model.columns
    names = [c.name for c in inst.columns]
    rows = {r.name: [r.lower, r.upper, {names[j]: a for j, a in r.entries}] for r in inst.rows}
    assert rows == model.rows


@pytest.mark.parametrize("value", ["2", "-2", "0"])
@pytest.mark.parametrize(
    ("row", "limits"),
    [
        ("at_most", {"2": (2, 4), "-2": (2, 4), "0": (4, 4)}),
        ("at_least", {"2": (1, 3), "-2": (1, 3), "0": (1, 1)}),
        ("equal", {"2": (-2, 0), "-2": (-4, -2), "0": (-2, -2)}),
    ],
)
def test_ranges_of_every_sign(tmp_path, row, value, limits):
    text = written(sections=f"RANGES\n RNG {row} {value}\n")
    inst = read(tmp_path, text)
    (found,) = (r for r in inst.rows if r.name == row)
    assert (found.lower, found.upper) == limits[value]
    agrees(inst, mps.read(text))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("lines", "bounds"),
    [
        ("UP B y 5", (0, 5)),
        ("UP B y 0", (0, 0)),
        ("UP y 5", (0, 5)),
        ("MI B y", (-inf, inf)),
        ("MI B y\n UP B y -3", (-inf, -3)),
        ("LO B y -5\n UP B y -3", (-5, -3)),
        ("UP B y -3\n LO B y -5", (-5, -3)),
        ("PL B y", (0, inf)),
        ("FR B y", (-inf, inf)),
        ("FX B y 2.5", (2.5, 2.5)),
        ("LO B y 2", (2, inf)),
        ("BV B y", (0, 1)),
        ("BV y", (0, 1)),
        ("LI B y 2", (2, inf)),
        ("UI B y 7", (0, 7)),
        ("UP B y 1e30", (0, inf)),
        ("UP B y Inf", (0, inf)),
    ],
)
def test_bounds_of_every_type(tmp_path, lines, bounds, whole):
    text = written(sections=f"BOUNDS\n {lines}\n", **(INTEGER if whole else {}))
    inst = read(tmp_path, text)
    y = inst.columns[1]
    assert (y.lower, y.upper) == bounds
    assert y.integer == (whole or lines[:2] in ("BV", "LI", "UI"))
    if "1e30" not in lines:
        agrees(inst, mps.read(text))


def test_markers_objective_constants_free_rows_and_senses(tmp_path):
    for sense in ("", "OBJSENSE\n MAX\n", "OBJSENSE\n MINIMIZE\n", "OBJSENSE MAX\n"):
        text = written(sense=sense, more="cost -10", **INTEGER)
        inst = read(tmp_path, text)
        agrees(inst, mps.read(text))
        assert inst.offset == 10
        assert inst.columns[1].integer
        assert inst.columns[1].upper == 1  # without a bound, as other readers have it
        assert "other" not in [r.name for r in inst.rows]
        assert inst.sense == ("max" if "MAX" in sense else "min")


def test_long_names_empty_rows_tabs_and_compressed_files(tmp_path):
    long = "a_very_long_name_of_a_variable[3,north]"
    text = written().replace(" x ", f" {long} ").replace(" E equal", " E equal\n G nothing")
    text = text.replace(" y cost", "\ty\tcost")
    inst = read(tmp_path, text)
    agrees(inst, mps.read(text))
    path = tmp_path / "model.mps.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert offline(path) == inst


@pytest.mark.parametrize("seed", range(12))
def test_random_files_are_read_as_the_independent_reader_does(tmp_path, seed):
    text = drawn(random.Random(seed))
    agrees(read(tmp_path, text), mps.read(text))


def drawn(draw):
    """Return a random MPS file in free format."""
    rows = {f"r{i}": draw.choice("LGE") for i in range(draw.randint(1, 6))}
    lines = ["NAME drawn", *draw.choice([[], ["OBJSENSE", " MAX"]]), "ROWS", " N cost"]
    lines += [f" {kind} {name}" for name, kind in rows.items()]
    lines += [" N more", "COLUMNS"]
    bounds, whole = [], False
    for j in range(draw.randint(1, 6)):
        if draw.random() < 0.4:
            lines.append(f" M{j} 'MARKER' '{'INTEND' if whole else 'INTORG'}'")
            whole = not whole
        names = ["cost", *draw.sample(list(rows), draw.randint(1, len(rows))), "more"]
        lines += [f" x{j} {name} {draw.choice(['1', '-2', '3.5', '1e1', '-.5'])}" for name in names]
        kind = draw.choice(["", "UP", "LO", "FX", "MI", "PL", "FR", "BV", "LI", "UI"])
        if kind in ("UP", "UI", "LO", "LI", "FX"):
            bounds.append(f" {kind} B x{j} {draw.randint(0, 5)}")
        elif kind:
            bounds.append(f" {kind} B x{j}")
    lines += [" M 'MARKER' 'INTEND'"] * whole
    lines += ["RHS"] + [f" RHS {name} {draw.randint(-5, 5)}" for name in rows]
    lines += [f" RHS cost {draw.randint(-5, 5)}"]
    ranged = [name for name in rows if draw.random() < 0.5]
    lines += ["RANGES"] * bool(ranged) + [f" R {n} {draw.randint(-4, 4)}" for n in ranged]
    return "\n".join([*lines, *(["BOUNDS"] if bounds else []), *bounds, "ENDATA", ""])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("x cost 1", "x cost one"), "line 9: 'cost one at_most 1', expected a column, then"),
        (("x cost 1", "x cost 1,5"), "line 9: 'cost 1,5 at_most 1', expected"),
        (("x cost 1 at_most 1", "x cost 1 at_most"), "line 9: 'cost 1 at_most', expected"),
        (("x cost 1", "x cost 1 equal 2"), "line 9: 'cost 1 equal 2 at_most 1', expected"),
        (("x cost 1", "x cost 1e-20"), "line 9: cost of x is 1e-20, expected 0 or a size from"),
        (("x cost 1", "x cost 1e300"), "line 9: cost of x is 1e+300, expected 0 or a size from"),
        (
            ("at_most 1\n", "at_most 1e16\n"),
            "line 9: coefficient of x in at_most is 1e+16, expected",
        ),
        (
            ("at_most 1\n", "at_most 1e15\n"),
            "line 9: coefficient of x in at_most is 1e+15, expected",
        ),
        (("at_most 1\n", "at_most -1e300\n"), "coefficient of x in at_most is -1e+300, expected 0"),
        (("at_most 1\n", "at_most inf\n"), "coefficient of x in at_most is inf, expected 0 or a"),
        (
            ("at_most 1\n", "at_most 1e-9\n"),
            "coefficient of x in at_most is 1e-09, expected 0 or a",
        ),
        ((" RHS equal -2", " RHS other 3"), "row other is free and no objective"),
        ((" RHS equal -2", " RHS nowhere 3"), "line 17: nowhere is no row, expected one of ROWS"),
        (("ROWS\n", "OBJSENSE\n UP\nROWS\n"), "line 3: OBJSENSE UP, expected one of: MAX"),
        (("ROWS\n", "OBJSENSE MAX\n MIN\nROWS\n"), "line 3: OBJSENSE MIN after MAX, expected one"),
        (
            ("ROWS\n", "OBJSENSE MAXIMISE\nROWS\n"),
            "line 2: OBJSENSE MAXIMISE, expected one of: MAX, MIN",
        ),
        (("ROWS\n", "OBJNAME\n other\nROWS\n"), "line 2: section OBJNAME, expected one of"),
        (("COLUMNS\n", "LAZYCONS\n L z\nCOLUMNS\n"), "section LAZYCONS, expected one of"),
        (
            ("ENDATA", "BOUNDS\n UP B z 3\nENDATA"),
            "line 19: 'B z', expected perhaps a name, then one of COLUMNS",
        ),
        (
            ("ENDATA", "BOUNDS\n FR B z\nENDATA"),
            "line 19: 'B z', expected perhaps a name, then one of COLUMNS",
        ),
        (("ENDATA", "BOUNDS\n UP y x 4\nENDATA"), "line 19: 'y x', expected perhaps a name"),
        (("ENDATA", "BOUNDS\n FR y x\nENDATA"), "line 19: 'y x', expected perhaps a name"),
        (("RHS\n", "RANGES\n R at_most 3\nRHS\n"), "section RHS after RANGES, expected in this"),
        (("ENDATA", "BOUNDS\n UP B x much\nENDATA"), "'UP B x much', expected a type, a column"),
        (("ENDATA", "BOUNDS\n UP B x -3\nENDATA"), "variable x: lower bound 0 and upper bound -3"),
        (("ENDATA", "BOUNDS\n LO B x inf\nENDATA"), "line 19: variable x has a lower bound of inf"),
        (("ENDATA", "BOUNDS\n UP B x -inf\nENDATA"), "line 19: variable x has an upper bound of -"),
        (("ENDATA", "BOUNDS\n SC B x 3\nENDATA"), "line 19: 'SC B x 3', expected a type"),
        (("ENDATA", "BOUNDS\n UP B x 3\n UP C x 4\nENDATA"), "C is a second set of BOUNDS"),
        (("ENDATA", "BOUNDS\n UP B x 3\n UP B x 4\nENDATA"), "variable x has an upper bound"),
        ((" RHS equal -2", " R2 equal -2"), "R2 is a second set of RHS"),
        (("x cost 1", "$x cost 1,5"), "line 9: 'cost 1,5 at_most 1', expected"),
        (("x cost 1", "x cost 1$5"), "line 9: 'cost 1$5 at_most 1', expected"),
        ((" N cost", " Ncost"), "line 3: 'Ncost', expected N, L, G or E and a new name"),
        (("at_least 1\n", "at_least 1\u00a0000\n"), r"holds '\xa0', expected other"),
        (("ROWS\n", "* text\rROWS\n"), "line 2: holds a carriage return"),
        (("ENDATA", "QUADOBJ\n x x 2\nENDATA"), "section QUADOBJ, expected one of"),
        (("ENDATA", "SOS\n S1 SOS s 1\n SOS x 1\nENDATA"), "section SOS, expected one of"),
        (("ENDATA", ""), "HiGHS cannot read it"),
        ((" RHS equal -2", " RHS equal 1e30"), "constraint equal has the limits inf and inf"),
        (
            (" L at_most", " L at_most\n L at_most"),
            "line 6: 'L at_most', expected N, L, G or E and a new name",
        ),
    ],
)
def test_what_is_doubtful_in_mps_files_is_refused_in_one_line(tmp_path, change, complaint):
    text = written()
    assert change[0] in text
    with pytest.raises(InputError, match=re.escape(complaint)) as refused:
        read(tmp_path, text.replace(*change))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["model.MPS", "model.Mps.gz", "packed.mps", "plain.mps.GZ"])
def test_checks_are_those_of_the_format_whatever_the_name(tmp_path, name):
    path = tmp_path / name
    data = written().replace("x cost 1", "x cost 1,5").encode()
    path.write_bytes(gzip.compress(data) if name in ("model.Mps.gz", "packed.mps") else data)
    with pytest.raises(InputError, match="line 9: 'cost 1,5 at_most 1', expected"):
        offline(path)


def test_a_model_that_unpacks_to_much_more_is_refused(tmp_path):
    path = tmp_path / "bomb.mps.gz"
    path.write_bytes(gzip.compress(b"* x\n" * 10**6 + written().encode()))
    with pytest.raises(InputError, match="the gzip unpacks to more than 50 times its size"):
        offline(path)


def test_names_with_blanks_are_refused(tmp_path):
    text = """NAME          t
ROWS
 N  cost
 L  row one
COLUMNS
    x one     cost               1.0   row one            1.0
RHS
    RHS       row one            4.0
ENDATA
"""
    with pytest.raises(
        InputError, match="line 4: 'L row one', expected N, L, G or E and a new name"
    ):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("tail", "y"),
    [
        ("", (0, inf, False)),
        (" y free\n", (-inf, inf, False)),
        (" -inf <= y <= 3\n", (-inf, 3, False)),
        (" -2 <= y <= 3\n", (-2, 3, False)),
        (" y = 3\n", (3, 3, False)),
        (" y >= 1\n y <= 3\n", (1, 3, False)),
        ("general\n y\n", (0, inf, True)),
        ("integers\n y\n", (0, inf, True)),
        ("binary\n y\n", (0, 1, True)),
        ("general\n x\nbinary\n y\n", (0, 1, True)),
    ],
)
def test_bounds_and_kinds_in_lp_files(tmp_path, tail, y):
    inst = read(tmp_path, LP.format(rows="", tail=tail), "lp")
    assert inst.offset == 4
    assert [c.cost for c in inst.columns] == [2, 3]
    found = inst.columns[1]
    assert (found.lower, found.upper, found.integer) == y
    row = inst.rows[0]
    assert (row.name, row.lower, row.upper, row.entries) == ("c", 2, inf, ((0, 1), (1, 1)))


@pytest.mark.parametrize(
    ("rows", "tail", "complaint"),
    [
        (
            " d: 1e300 x + y >= 2\n",
            "",
            "line 5: coefficient of x in d is 1e+300, expected 0 or a si",
        ),
        (
            " d: x - 1e16 y >= 2\n",
            "",
            "line 5: coefficient of y in d is -1e+16, expected 0 or a siz",
        ),
        (" 1e16 x + y >= 2\n", "", "line 5: coefficient of x in constraint 2 is 1e+16, expected"),
        ("", " y >= inf\n", "line 7: variable y has a lower bound of inf, expected a number"),
        (" d: 1 <= x - y <= 5\n", "", "line 5: a constant on the left, expected terms"),
        (" d: [ x^2 ] + x >= 1\n", "", "line 5: '[ x^2 ] + x >= 1', expected a name, a number"),
        (" d: x + 2 <= 3\n", "", "line 5: a constant on the left, expected terms"),
        (" d: x + 2 x <= 3\n", "", "line 5: x appears more than once, expected one term"),
        (" c: x <= 3\n", "", "constraint c: the name is used twice"),
        (" d: x <= -inf\n", "", "constraint d has the limits -inf and -inf, expected a finite"),
        (" d: y = 1 -> x <= 3\n", "", "line 5: '>', expected name"),
        (" d: x + y <= 3 e: y <= 2\n", "", "line 5: 'e', expected it on a line of its own"),
        (" d: (x + y) <= 3\n", "", "line 5: '(x + y) <= 3', expected a name, a number"),
        (" d: x + y; <= 3\n", "", "line 5: '; <= 3', expected a name, a number"),
        (" st + y <= 3\n", "", "line 5: 'st', expected bounds or binary"),
        (" d: y + st <= 3\n", "", "line 5: st is a word of the format, expected another"),
        ("", " y <= -3\n", "variable y: lower bound 0 and upper bound -3"),
        ("", "binary\n x\n", "variable x is binary and its bounds are 0 and 4"),
        ("", " y <= 5\nsemi-continuous\n y\n", "line 9: semi-continuous and SOS are not read"),
        ("", "sos\n s1: S1:: x:1 y:2\n", "line 8: semi-continuous and SOS are not read"),
        ("", "generals\n x, y\n", "x, occurs neither in the objective nor in a constraint"),
        ("", "binary\n Y\n", "Y occurs neither in the objective nor in a constraint"),
        ("", "general\n x binary y\n", "line 8: binary is a word of the format"),
        ("", " 1 <= z <= 3\n", "z occurs neither in the objective nor in a constraint"),
    ],
)
def test_what_is_doubtful_in_lp_files_is_refused_in_one_line(tmp_path, rows, tail, complaint):
    with pytest.raises(InputError, match=re.escape(complaint)) as refused:
        read(tmp_path, LP.format(rows=rows, tail=tail), "lp")
    assert "\n" not in str(refused.value)


def test_a_quadratic_objective_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"line 2: '\[ x\^2 \] / 2', expected a name"):
        read(tmp_path, "min\n obj: x + [ x^2 ] / 2\nst\n c: x >= 1\nend\n", "lp")


def test_a_file_that_is_not_there_is_no_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        offline(tmp_path / "missing.mps")
