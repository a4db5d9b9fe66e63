"""Conversion of models to instances: Pyomo, linopy, and MPS or LP files with a table of times."""

from __future__ import annotations

import csv
import io
import math
import re
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
from pydantic import ValidationError

from optsched.declared.feasibility import settle
from optsched.declared.files import NUMBER, parse
from optsched.declared.model import (
    KINDS,
    Declared,
    Draft,
    Member,
    ProgramVariable,
    component_of,
    index_of,
)
from optsched.files.atomic_io import read_limited
from optsched.files.format import first_error
from optsched.numbers.resources import exact
from optsched.problem import InputError

When: TypeAlias = Any
"""A time, a function of the index, or a mapping from the index to a time."""
Whens: TypeAlias = Mapping[Any, When] | Iterable[tuple[Any, When]]
LARGEST = 100 << 20  # bytes of a table of times
KNOWN = {"Var", "Objective", "Constraint", "ConstraintList", "Block", "Param", "Set", "Suffix"}
KNOWN |= {"Expression", "RangeSet", "ContinuousSet", "BuildCheck", "BuildAction"}  # of Pyomo


def online(
    model: Any,
    revealed: Whens | Path | str,
    decided: Whens | None = None,
) -> Declared:
    """Declare an online problem: a linear model, and when its variables are revealed and decided.

    Parameters
    ----------
    model : object
        A Pyomo or linopy model, a CVXPY problem, or a path to an MPS or LP file: a linear program,
        possibly with integer variables, or a convex one (CVXPY). The instance is a copy.
    revealed : mapping or path
        For every variable that is not fixed, the time at which it becomes known, by component or
        name: a number, a
        function of its index, or a mapping from the index; of linopy also the name of a dimension,
        whose positions from 0 on are the times. Pyomo's scalar variables cannot be keys: give
        their names, or a list of pairs. A path leads to a table with the columns name,
        revealed and, if any differs, decided.
    decided : mapping, optional
        The time at which its value becomes irrevocable, in the same form; by default when it is
        revealed.

    Returns
    -------
    Declared
        An instance. Numbers are taken as the decimals that are written.

    Raises
    ------
    InputError
        The model is not linear, a variable has no time, a constraint has no variables, a number is
        NaN or out of range. The message names the component and its index.
    """
    table = None
    if isinstance(revealed, Path | str):
        table = Path(revealed)
        revealed, late = _table(table)
        decided = [*late.items(), *_pairs(decided or {}, "decided")]
    draft = _read(model)
    shown = _Times(_positions(model, revealed, "revealed"), "revealed", table)
    fixed = _Times(_positions(model, decided or {}, "decided"), "decided")
    found = [shown.of(c["name"], *key) for c, key in zip(draft.columns, draft.keys, strict=True)]
    first = min((time for time in found if time is not None), default=0.0)
    for j, (column, key) in enumerate(zip(draft.columns, draft.keys, strict=True)):
        seen, settled = found[j], fixed.of(column["name"], *key)
        if seen is None and (j in draft.follows or column["lower"] == column["upper"]):
            seen = first  # there is nothing to decide
        if seen is None:
            shown.refuse_unused(draft)
            where = "`revealed`" if table is None else table.name
            raise InputError(f"variable {column['name']}: has no time in {where}, expected one")
        column |= {"revealed": seen, "decided": seen if settled is None else settled}
    last = [max(range(len(found)), key=lambda j: draft.columns[j]["revealed"])] if found else []
    for j, sources in draft.follows.items():  # a constant atom shows that later data are 0
        for when in ("revealed", "decided"):
            draft.columns[j][when] = max(draft.columns[k][when] for k in sources or last)
    for times in (shown, fixed):
        times.refuse_unused(draft)
    for row in draft.rows:
        if not row["entries"]:
            holds = row["lower"] <= 0 <= row["upper"]
            raise InputError(
                f"constraint {row['name']}: has no variables and is always "
                f"{'true' if holds else 'false'}, expected a constraint on variables"
            )
    made = _instance(draft)
    if not isinstance(model, Path | str):
        if (held := _held.get()) is not None:
            held.append(model)
        alone = hasattr(model, "get_problem_data")  # parameters outlive a problem of CVXPY
        of, known = id(made), (lambda: model) if alone else weakref.ref(model)
        _models[of] = weakref.ref(made, lambda _: _models.pop(of, None)), known
    return made


_held: ContextVar[list[Any] | None] = ContextVar("held", default=None)


@contextmanager
def models_are_held() -> Iterator[None]:
    """Keep all models that are declared meanwhile: `refuse_changed` compares with them."""
    token = _held.set([])
    try:
        yield
    finally:
        _held.reset(token)


_models: dict[int, tuple[weakref.ref[Declared], Callable[[], Any]]] = {}


def offline(model: Any) -> Declared:
    """Return a model of any kind as an instance whose variables are all revealed at time 0."""
    draft = _read(model)
    for column in draft.columns:
        column |= {"revealed": 0.0, "decided": 0.0}
    return _instance(draft)


def _instance(draft: Draft) -> Declared:
    made = _validated(draft)
    if not (draft.follows or draft.atoms):
        return made
    draft.name_atoms(made)
    return _validated(draft)


def _validated(draft: Draft) -> Declared:
    try:
        return KINDS[draft.sense].model_validate(
            {
                "offset": draft.offset,
                "columns": draft.columns,
                "rows": draft.rows,
                "cones": draft.cones,
            }
        )
    except ValidationError as err:
        raise InputError(_located(err, draft)) from err


def refuse_changed(inst: Declared) -> None:
    """Refuse an instance whose model has changed since, as long as the model is still there.

    Raises
    ------
    InputError
        The message names the first component that differs.
    """
    mine, model = _models.get(id(inst), (None, None))
    there = None if mine is None or model is None or mine() is not inst else model()
    if there is None:
        return
    now = _read(there)
    again = "expected the model as it was declared: call optsched.online again"
    whole = (now.sense, now.offset + 0.0, len(now.columns), len(now.rows), len(now.cones))
    if whole != (inst.sense, inst.offset, len(inst.columns), len(inst.rows), len(inst.cones)):
        for kind, was, names in (
            ("variable", inst.columns, now.columns),
            ("constraint", inst.rows, now.rows),
        ):
            old, new = {x.name: None for x in was}, {x["name"]: None for x in names}
            for name in (*(n for n in old if n not in new), *(n for n in new if n not in old)):
                how = "is gone" if name in old else "is new"
                if now.fixed.get(name) is not None:
                    how = f"is now fixed at {now.fixed[name]:g}"
                raise InputError(f"{kind} {name} {how}, {again}")
        raise InputError(f"the model has another objective, or other cones now, {again}")
    now.name_atoms(inst)
    pairs: list[tuple[str, Any, Any]] = [
        *zip(repeat("variable"), inst.columns, now.columns, strict=False),
        *zip(repeat("constraint"), inst.rows, now.rows, strict=False),
        *zip(repeat("cone"), inst.cones, now.cones, strict=False),
    ]
    for kind, old, new in pairs:
        for name, value in new.items():
            before = getattr(old, name)
            if name not in ("revealed", "decided") and _plain(before) != _plain(value):
                what = "had other coefficients"
                if name not in ("entries", "members"):
                    what = f"{name} was {before} and is {value}"
                raise InputError(f"{kind} {old.name}: {what}, {again}")


def _plain(value: Any) -> Any:
    """Return members of cones as dictionaries, and all pairs as lists."""
    if isinstance(value, Member | dict):
        return {name: _plain(part) for name, part in dict(value).items()}
    return [*map(_plain, value)] if isinstance(value, list | tuple) else value


def _read(model: Any) -> Draft:
    """Read a model of any kind."""
    if isinstance(model, Path | str):
        return _of_file(Path(model))
    if hasattr(model, "component_data_objects"):
        from optsched.solvers import silent_pyomo

        with silent_pyomo():
            return _of_pyomo(model)
    if hasattr(model, "matrices") and hasattr(model, "variables"):
        return _of_linopy(model)
    if hasattr(model, "get_problem_data"):
        from optsched.declared.convex import of_cvxpy

        return of_cvxpy(model)
    raise InputError(
        f"the model is a {type(model).__name__}, expected a Pyomo or linopy model, a CVXPY "
        "problem, or the path of an MPS or LP file"
    )


def _located(err: ValidationError, draft: Draft) -> str:
    """Return the first complaint with the name of the variable, the constraint or the cone."""
    place = err.errors()[0]["loc"]
    message = first_error(err).removeprefix(".".join(map(str, place)) + ": ")
    if place == ("offset",):
        return f"objective: its constant: {message}"
    if len(place) < 2:
        return first_error(err)
    part = getattr(draft, str(place[0]))[place[1]]
    kind = {"columns": "variable", "rows": "constraint", "cones": "cone"}[str(place[0])]
    where = f"{kind} {part['name']}"
    message = message.removeprefix(f"{where}: ")
    where = draft.atoms.get(part["name"], where)
    what = ".".join(
        str(word) for word in place[2:] if word != "members" and not isinstance(word, int)
    )
    if part.get("auxiliary"):
        where, what = "objective", f"weight of {draft.named(int(place[1]))}"
    elif "entries" in place:
        entry = part
        for step in place[2:-1]:
            entry = entry[step]
        what = f"coefficient of {draft.named(entry[0])}"
    return f"{where}: {what + ': ' if what else ''}{message}"


class _Times:
    """Times by component, by name of a component, or by name of a variable."""

    def __init__(self, given: Whens, what: str, table: Path | None = None) -> None:
        self._given = _pairs(given, what)
        self._what = f"`{what}`" if table is None else table.name
        self._times: dict[str | int, When] = {}
        for key, when in self._given:
            self._times[key if isinstance(key, str) else id(key)] = when
        names = Counter(_called(key) for key, _ in self._given)
        twice = next((name for name, n in names.items() if n > 1), None)
        if twice is not None:
            raise InputError(f"`{what}` names {twice} twice, expected one time")
        self._indices: dict[str | int, set[tuple[Any, ...]]] = {}  # of the variables of a key

    def of(
        self, name: str, part: tuple[Any, ...], component: str, index: tuple[Any, ...]
    ) -> float | None:
        """Return the time of a variable, None if there is none."""
        found = [key for key in (name, component, *map(id, part)) if key in self._times]
        for key in found:
            self._indices.setdefault(key, set()).add(index)
        return self._time(self._times[found[0]], name, index) if found else None

    def _time(self, when: When, name: str, index: tuple[Any, ...]) -> float:
        try:
            if callable(when):
                found = when(*index)
            elif isinstance(when, Mapping):
                key = index[0] if len(index) == 1 and index not in when else index
                found = when[key]
            else:
                found = when
        except Exception as err:
            if isinstance(err, KeyError) and isinstance(when, Mapping):
                raise InputError(
                    f"variable {name}: the mapping in {self._what} lacks its index, "
                    "expected a time for every index"
                ) from None
            raise InputError(
                f"variable {name}: its time in {self._what} failed: {type(err).__name__}: {err}"
            ) from err
        try:
            time = float(found)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"variable {name}: {self._what} is {found!r:.60}, expected a number"
            ) from None
        if not math.isfinite(time):
            raise InputError(f"variable {name}: {self._what} is {time}, expected a finite time")
        return time

    def refuse_unused(self, draft: Draft) -> None:
        """Refuse a key that is no variable of the model, or a fixed one, and so its indices."""
        fixed = draft.fixed
        for key, when in self._given:
            name, there = _called(key), self._indices.get(key if isinstance(key, str) else id(key))
            if there is not None:
                there |= {index_of(n) for n in fixed if component_of(n) == name}
                for index in when if isinstance(when, Mapping) else ():
                    if (index if isinstance(index, tuple) else (index,)) not in there:
                        raise InputError(
                            f"{self._what} of {name} has a time for {index!r:.60}, which is no "
                            f"index of {name}"
                        )
                continue
            if hasattr(key, "component_objects"):
                raise InputError(
                    f"{self._what} names {name}, which is a block, expected its variables: "
                    f"[(m.{name}.x, 0), (m.{name}.y, 0)]"
                )
            if name in fixed:
                raise InputError(
                    f"{self._what} names {name}, which is fixed, expected variables only"
                )
            if hasattr(key, "is_affine") and key.args:
                raise InputError(
                    f"{self._what} names {name}, which is an expression, expected a variable, or "
                    "the name of a single one, such as 'x[0]'"
                )
            raise InputError(
                f"{self._what} names {name}, which is no variable of the model"
                f"{_meant(name, draft) if isinstance(key, str) else ''}"
            )


def _meant(name: str, draft: Draft) -> str:
    """Return a question for the most similar name, signs apart: use[0,0] may be use(0_0)."""
    names = {component_of(c["name"]): None for c in draft.columns}
    names |= {c["name"]: None for c in draft.columns}
    plain = {re.sub(r"\W", "_", known.lower()): known for known in names}
    found = get_close_matches(re.sub(r"\W", "_", name.lower()), plain, 1)
    return f"; did you mean {plain[found[0]]}?" if found else ""


def _positions(model: Any, given: Whens, what: str) -> Whens:
    """Replace names of dimensions of linopy's variables by positions along them."""
    found = []
    for key, when in _pairs(given, what):
        if isinstance(when, str) and hasattr(model, "matrices") and hasattr(model, "variables"):
            name = _called(key)
            if name not in model.variables:
                raise InputError(f"`{what}` names {name}, which is no variable of the model")
            labels = model.variables[name].labels
            if when not in labels.dims:
                known = ", ".join(map(str, labels.dims)) or "none"
                raise InputError(
                    f"variable {name}: has no dimension {when!r}, expected one of: {known}, or "
                    "a time"
                )
            place = {c: k for k, c in enumerate(labels.coords[when].values.tolist())}
            axis = labels.dims.index(when)
            found.append((key, lambda *index, place=place, axis=axis: place[index[axis]]))
        else:
            found.append((key, when))
    return found


def _called(key: Any) -> str:
    """Return the name of a key of `revealed` or `decided`."""
    name = key if isinstance(key, str) else getattr(key, "name", None)
    if callable(name):  # of CVXPY
        return str(key)
    return repr(key)[:60] if name is None else str(name)


def _pairs(given: Whens, what: str) -> list[tuple[Any, When]]:
    expected = "expected a mapping from variables to times, or pairs of both"
    if hasattr(given, "ctype") or isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"`{what}` is {_called(given)}, {expected}")
    pairs: list[tuple[Any, When]] = []
    for pair in given.items() if hasattr(given, "items") else given:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"`{what}` has {_called(pair)} without a time, {expected}")
        pairs.append((pair[0], pair[1]))
    return pairs


def _table(path: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Read a table of times: name, revealed and perhaps decided."""
    shown: dict[str, float] = {}
    fixed: dict[str, float] = {}
    try:
        lines = csv.DictReader(
            io.StringIO(read_limited(path, LARGEST).decode("utf-8-sig"), newline="")
        )
        columns = [(name or "").strip() for name in lines.fieldnames or ()]
        twice = next((name for name in columns if columns.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{path}: has the column {twice[:40]!r} twice, expected it once")
        lacking = [name for name in ("name", "revealed") if name not in columns]
        if lacking:
            raise InputError(
                f"{path}, line 1: lacks {' and '.join(lacking)}, expected a header with the "
                "columns name, revealed and perhaps decided, separated by commas"
            )
        lines.fieldnames = columns
        for line in lines:
            place = f"{path}, line {lines.line_num}"
            if None in line:
                raise InputError(
                    f"{place}: has more cells than columns, expected a name with commas in quotes"
                )
            name = (line.get("name") or "").strip()
            if not name or name in shown:
                what = f"names {name[:40]} a second time" if name else "has no name"
                raise InputError(f"{place}: {what}, expected the columns name, revealed")
            for column, target in (("revealed", shown), ("decided", fixed)):
                text = (line.get(column) or "").strip()
                if not text and column == "decided":
                    continue
                if not NUMBER.fullmatch(text):
                    raise InputError(f"{place}: {column} is {text[:40]!r}, expected a time")
                target[name] = float(text)
    except UnicodeDecodeError as err:
        raise InputError(f"{path}: is no text in UTF-8: {err}") from err
    except csv.Error as err:
        raise InputError(f"{path}, line {lines.line_num + 1}: is no CSV: {err}") from err
    return shown, fixed


def _of_file(path: Path) -> Draft:
    """Read an MPS or LP file, which HiGHS and the checks see unpacked and under one ending."""
    from optsched.solvers import read_program
    from optsched.traces.lines import read_bytes

    text = read_bytes(path)
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    if ending not in (".mps", ".lp"):
        raise InputError(f"{path}: expected an MPS or LP file (.mps, .lp, also with .gz)")
    with TemporaryDirectory() as folder:
        plain = Path(folder) / f"model{ending}"
        plain.write_bytes(text)
        try:
            written = parse(text.decode(), ending)
            found = read_program(plain)
        except ValueError as err:
            raise InputError(f"{path}: {err}") from err
    other = written.difference(found)
    if other is not None:
        raise InputError(f"{path}: HiGHS reads {other} otherwise than it is written")
    draft = Draft("max" if found.maximize else "min", found.offset)
    for name, cost, lower, upper, integer in found.columns:
        draft.columns.append(
            {"name": name, "cost": cost, "lower": lower, "upper": upper, "integer": integer}
        )
        draft.keys.append(((), name.partition("[")[0], index_of(name)))
    for name, lower, upper, entries in found.rows:
        draft.rows.append({"name": name, "lower": lower, "upper": upper, "entries": entries})
    return draft


def _of_pyomo(model: Any) -> Draft:
    """Read a Pyomo model."""
    import pyomo.environ as pyo
    from pyomo.repn import generate_standard_repn

    if isinstance(model, pyo.AbstractModel):
        raise InputError("the model is abstract, expected what its create_instance() returns")
    for part in model.component_objects(active=True, descend_into=True):
        if part.ctype.__name__ not in KNOWN:
            raise InputError(
                f"{part.name}: is a {part.ctype.__name__}, expected variables, linear constraints "
                "and an objective"
            )
    goals = list(model.component_data_objects(pyo.Objective, active=True))
    if len(goals) != 1:
        raise InputError(f"the model has {len(goals)} active objectives, expected one")
    (goal,) = goals
    draft = Draft("max" if goal.sense == pyo.maximize else "min")
    place: dict[int, int] = {}
    for v in model.component_data_objects(pyo.Var, active=True, descend_into=True):
        whole = v.is_integer() or v.is_binary()
        if not (v.fixed or whole or v.is_continuous()):
            raise InputError(f"variable {v.name}: its domain is no interval, expected one")
        try:
            low, high = v.lb, v.ub
        except ValueError as err:
            raise InputError(f"variable {v.name}: {' '.join(str(err).split())}") from err
        column = {
            "name": v.name,
            "cost": 0.0,
            "lower": -math.inf if low is None else float(low),
            "upper": math.inf if high is None else float(high),
            "integer": whole,
        }
        if v.fixed:
            _refuse_fixed(column, v.value)
            draft.fixed |= {v.parent_component().name: None, v.name: v.value}
            continue  # a number, at any position
        place[id(v)] = len(draft.columns)
        draft.columns.append(column)
        index = v.index()
        part = v.parent_component()
        known = () if index is None else index if isinstance(index, tuple) else (index,)
        draft.keys.append(((v, part), part.name, known))

    def linear(expression: Any, what: str) -> tuple[float, list[tuple[int, float]]]:
        with _evaluated(what):
            found = generate_standard_repn(expression, quadratic=True)
        if found.quadratic_vars or found.nonlinear_expr is not None:
            pairs = found.quadratic_vars or [found.nonlinear_vars]
            names = " and ".join(dict.fromkeys(v.name for v in pairs[0])) if pairs[0] else "it"
            raise InputError(f"{what}: is not linear in {names}, expected a linear expression")
        with _evaluated(what):
            constant, weights = float(found.constant), [float(a) for a in found.linear_coefs]
        if not math.isfinite(constant):
            raise InputError(f"{what}: its constant is {constant}, expected a finite number")
        entries: dict[int, float] = {}
        for v, a in zip(found.linear_vars, weights, strict=True):
            if id(v) not in place:
                raise InputError(f"{what}: variable {v.name} is not active in the model")
            j = place[id(v)]
            entries[j] = float(exact(entries[j]) + exact(a)) if j in entries else a
        return constant, list(entries.items())

    draft.offset, costs = linear(goal.expr, f"objective {goal.name}")
    for j, cost in costs:
        draft.columns[j]["cost"] = cost
    for c in model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
        what = f"constraint {c.name}"
        constant, entries = linear(c.body, what)
        with _evaluated(what):
            low, high = (None if x is None else float(pyo.value(x)) for x in (c.lower, c.upper))
        draft.rows.append(
            {
                "name": c.name,
                "lower": -math.inf if low is None else _moved(low, constant),
                "upper": math.inf if high is None else _moved(high, constant),
                "entries": entries,
            }
        )
    return draft


def _refuse_fixed(column: Mapping[str, Any], value: Any) -> None:
    """Refuse a variable that is fixed without a value, or at one that it cannot have."""
    where = f"variable {column['name']}: is fixed"
    if value is None:
        raise InputError(f"{where} without a value, expected a number")
    complaint = settle(ProgramVariable.model_construct(**column), float(value))[1]
    if complaint is not None:
        raise InputError(f"{where} at {complaint.place.removeprefix('value ')}")


def _moved(limit: float, constant: float) -> float:
    """Return a limit of an expression without its constant."""
    return float(exact(limit) - exact(constant)) if math.isfinite(limit) else limit


@contextmanager
def _evaluated(what: str) -> Iterator[None]:
    """Refuse what Pyomo cannot evaluate."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, ArithmeticError) as err:
        raise InputError(f"{what}: cannot be evaluated: {' '.join(str(err).split())}") from err


def _of_linopy(model: Any) -> Draft:
    """Read a linopy model; names are those of its arrays with their coordinates."""
    _refuse_beyond_matrices(model)
    draft = Draft("max" if model.objective.sense == "max" else "min")
    found = model.matrices
    kinds = [str(kind) for kind in found.vtypes]
    names = {int(n): (name, index) for name, n, index in _labels(model.variables)}
    for j, label in enumerate(found.vlabels):
        name, index = names[int(label)]
        draft.columns.append(
            {
                "name": _named(name, index),
                "cost": float(found.c[j]),
                "lower": float(found.lb[j]),
                "upper": float(found.ub[j]),
                "integer": kinds[j] in ("B", "I"),
            }
        )
        draft.keys.append(((model.variables[name],), name, index))
    if getattr(found, "Q", None) is not None:
        raise InputError("the objective is not linear, expected a linear expression")
    matrix = found.A.tocsr() if found.A is not None else None
    rows = {int(n): (name, index) for name, n, index in _labels(model.constraints)}
    for i, label in enumerate(found.clabels):
        assert matrix is not None
        cut = slice(matrix.indptr[i], matrix.indptr[i + 1])
        sense, limit = str(found.sense[i]), float(found.b[i])
        draft.rows.append(
            {
                "name": _named(*rows[int(label)]),
                "lower": limit if sense in ("=", ">", ">=") else -math.inf,
                "upper": limit if sense in ("=", "<", "<=") else math.inf,
                "entries": list(
                    zip(matrix.indices[cut].tolist(), matrix.data[cut].tolist(), strict=True)
                ),
            }
        )
    return draft


def _refuse_beyond_matrices(model: Any) -> None:
    """Refuse what linopy's matrices leave out, or state in other units than the model does."""
    variables, rows = dict(model.variables.items()), dict(model.constraints.items())
    scaled = [f"variable {name}" for name, v in variables.items() if np.any(v.scaling != 1)]
    scaled += [f"constraint {name}" for name, c in rows.items() if np.any(c.scaling != 1)]
    scaled += ["objective"] if model.objective.scaling != 1 else []
    for what, why in (
        *((f"variable {n}", "is semi-continuous") for n in model.variables.semi_continuous),
        *((f"variable {n}", "is in an SOS constraint") for n in model.variables.sos),
        *((f"constraint {n}", "is an indicator constraint") for n in model.indicator_constraints),
        *((what, "has a scaling") for what in scaled),
    ):
        raise InputError(
            f"{what}: {why}, expected continuous, integer or binary variables and linear "
            "constraints, without scaling"
        )


def _labels(container: Any) -> Iterator[tuple[str, int, tuple[Any, ...]]]:
    """Yield name, label and coordinates of every entry of linopy's arrays."""
    for name in container:
        labels = container[name].labels
        coordinates = [labels.coords[d].values.tolist() for d in labels.dims]
        flat = labels.values
        for position in np.ndindex(flat.shape):
            label = int(flat[position])
            if label >= 0:
                yield name, label, tuple(c[p] for c, p in zip(coordinates, position, strict=True))


def _named(name: str, index: tuple[Any, ...]) -> str:
    return f"{name}[{','.join(map(str, index))}]" if index else name
