"""Conversion of CVXPY models (Diamond and Boyd, 2016): linear rows and cones.

CVXPY replaces every atom by constraints on auxiliary variables. No policy decides those: they
follow from the others. One becomes known with the last of the variables from which it follows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from optsched.declared.model import Draft, label
from optsched.problem import InputError

KINDS = ("Zero", "NonNeg", "SOC", "ExpCone")


@dataclass(frozen=True)
class _Line:
    """A line of A x + s = b: its constraint, and its name."""

    constraint: Any
    name: str
    given: bool  # it is in the model, and no part of an atom
    reverse: bool = False  # its variables are on the right of <= or ==, or it is at least 0


def of_cvxpy(problem: Any) -> Draft:
    """Read a CVXPY problem."""
    import cvxpy as cp

    names: dict[str, Any] = {}
    for v in problem.variables():
        if v.name() in names:
            raise InputError(f"variable {v.name()}: the name is used twice, expected once")
        names[v.name()] = v
    for parameter in problem.parameters():
        if parameter.value is None:
            raise InputError(f"parameter {parameter.name()}: has no value, expected one")
    if not problem.is_dcp():
        raise InputError(_no_dcp(problem))
    solver = cp.HIGHS if problem.is_mixed_integer() else cp.CLARABEL
    try:
        data = problem.get_problem_data(solver, solver_opts={"use_quad_obj": False})[0]
    except (cp.SolverError, ValueError) as err:
        why = f"the model cannot be converted: {' '.join(str(err).split())}"
        for name, v in names.items():
            if v.attributes["boolean"] or v.attributes["integer"]:
                why = f"variable {name}: is integer next to atoms that become cones, such as norms "
                why += "and squares, expected continuous variables or a linear model"
        raise InputError(why) from err
    program = data["param_prob"]
    costs, offset = program.apply_parameters()[:2]
    sign = -1.0 if problem.objective.NAME == "maximize" else 1.0
    draft = Draft("max" if sign < 0 else "min", sign * float(offset))
    whole = {*data.get("bool_vars_idx", ()), *data.get("int_vars_idx", ())}
    binary = set(data.get("bool_vars_idx", ()))
    least = data.get("lower_bounds")
    most = data.get("upper_bounds")
    number, order = 0, []  # the column of the program of every column
    created = {name: v.id for name, v in names.items()}
    for v in sorted(program.variables, key=lambda v: created.get(v.name(), math.inf)):
        first = program.var_id_to_col[v.id]
        own = names.get(v.name())
        if own is not None and own.size != v.size:
            raise InputError(f"variable {v.name()}: its attributes are not supported")
        for k in np.arange(v.size).reshape(v.shape, order="F").ravel().tolist():
            j = first + k
            order.append(j)
            index = tuple(int(i) for i in np.unravel_index(k, v.shape, order="F"))
            if own is None:
                name, index = f"auxiliary[{number}]", (number,)
                number += 1
            else:
                name = label((v.name(), *index))
            draft.columns.append(
                {
                    "name": name,
                    "cost": sign * float(costs[j]),
                    "lower": _bound(least, j, 0.0 if j in binary else -math.inf),
                    "upper": _bound(most, j, 1.0 if j in binary else math.inf),
                    "integer": j in whole,
                    "auxiliary": own is None,
                }
            )
            draft.keys.append(((own,) if own is not None else (), v.name(), index))
    given = {c.id: c for c in problem.constraints}
    for c in program.constraints:
        if type(c).__name__ not in KINDS:
            kind = type(c).__name__
            raise InputError(
                f"{_of_cone(problem, c)}: becomes a cone of the kind {kind}, expected second-order "
                "or exponential cones"
            )
    lines = list(_lines(program.constraints, given))
    _rows(draft, data["A"][:, order].tocsr(), data["b"], lines)
    return draft


def _no_dcp(problem: Any) -> str:
    """Return which part of a problem is not convex by the rules of CVXPY."""
    for k, c in enumerate(problem.constraints):
        if not c.is_dcp():
            name = _label(c, k)
            return f"constraint {name}: is not convex by CVXPY's rules, expected a convex one"
    (goal,), kind = problem.objective.args, "convex"
    if problem.objective.NAME == "maximize":
        kind = "concave"
    terms = goal.args if type(goal).__name__ == "AddExpression" else [goal]
    wrong = next((term for term in terms if not getattr(term, f"is_{kind}")()), goal)
    return f"objective: {wrong!s:.80} is not {kind} by CVXPY's rules, expected a {kind} term"


def _of_cone(problem: Any, cone: Any) -> str:
    """Return the constraint of a problem that is a cone of another kind, or the atom."""
    from cvxpy.reductions.dcp2cone.canonicalizers import CANON_METHODS

    for k, c in enumerate(problem.constraints):
        if c.id == cone.id:
            return f"constraint {_label(c, k)}"

    def atoms(expression: Any) -> Iterator[Any]:
        for part in expression.args:
            yield from atoms(part)
        if type(expression) in CANON_METHODS:
            yield expression

    plain = {*KINDS, "Equality", "Inequality"}
    for expression in (problem.objective, *problem.constraints):
        for atom in atoms(expression):
            made = CANON_METHODS[type(atom)](atom, atom.args)[1]
            if any(type(c).__name__ not in plain for c in made):
                return f"{atom!s:.80}"
    return "the model"


def _label(constraint: Any, k: int) -> str:
    return str(getattr(constraint, "label", None) or f"c{k}")


def _bound(bounds: Any, j: int, without: float) -> float:
    return without if bounds is None or math.isinf(bounds[j]) else float(bounds[j])


def _lines(constraints: Any, given: Mapping[int, Any]) -> Iterator[_Line]:
    """Yield the lines of the program in its order: a member of a cone is a line."""
    order = {key: k for k, key in enumerate(given)}
    atoms = 0
    for c in constraints:
        kind, own = type(c).__name__, c.id in given
        name = _label(given[c.id], order[c.id]) if own else f"atom{atoms}"
        reverse = own and _is_reverse(given[c.id])
        atoms += not own
        if kind in ("Zero", "NonNeg"):
            shape = c.args[0].shape
            for k in range(c.args[0].size):
                index = tuple(int(i) for i in np.unravel_index(k, shape, order="F"))
                yield _Line(c, label((name, *index)), own, reverse)
        else:
            sizes = list(c.cone_sizes())
            for k, size in enumerate(sizes):
                for _ in range(size):
                    yield _Line(c, name if len(sizes) == 1 else f"{name}[{k}]", own)


def _is_reverse(constraint: Any) -> bool:
    """Whether a row of CVXPY has the signs of a constraint reversed: it moves all to the left."""
    kind = type(constraint).__name__
    return kind == "NonNeg" or (
        kind in ("Inequality", "Equality") and bool(constraint.args[0].is_constant())
    )


def _rows(draft: Draft, matrix: Any, sides: Any, lines: list[_Line]) -> None:
    """Write the lines as bounds, rows and cones, and give times to the auxiliary variables."""
    assert matrix.shape[0] == len(lines)
    related: list[list[int]] = []
    members: dict[str, list[dict[str, Any]]] = {}
    kinds: dict[str, str] = {}
    for i, line in enumerate(lines):
        if not line.given:
            draft.atoms[line.name] = "objective"
        cut = slice(matrix.indptr[i], matrix.indptr[i + 1])
        pairs = zip(matrix.indices[cut].tolist(), matrix.data[cut].tolist(), strict=True)
        entries = [(j, a) for j, a in pairs if a]
        side, kind = float(sides[i]) + 0.0, type(line.constraint).__name__
        if kind in ("Zero", "NonNeg"):
            if not line.given:
                related.append([j for j, _ in entries])
            if not line.given and len(entries) == 1 and _as_bound(draft, *entries[0], side, kind):
                continue
            low, high = side if kind == "Zero" else -math.inf, side
            if line.reverse:
                low, high, entries = 0.0 - high, 0.0 - low, [(j, -a) for j, a in entries]
            draft.rows.append({"name": line.name, "lower": low, "upper": high, "entries": entries})
        else:
            kinds[line.name] = "second-order" if kind == "SOC" else "exponential"
            member = {"constant": side, "entries": [(j, -a) for j, a in entries]}
            members.setdefault(line.name, []).append(member)
    for name, parts in members.items():
        draft.cones.append({"name": name, "kind": kinds[name], "members": parts})
        related.append([j for part in parts for j, _ in part["entries"]])
    group = _groups(draft, related)
    draft.follows = _sources(group, related)
    _place_atoms(draft, group)


def _as_bound(draft: Draft, j: int, a: float, side: float, kind: str) -> bool:
    """Take a row of an attribute of a variable, a x <= side, as a bound of it."""
    if abs(a) != 1.0:
        return False
    column, limit = draft.columns[j], side * a + 0.0
    if kind == "Zero" or a > 0:
        column["upper"] = min(column["upper"], limit)
    if kind == "Zero" or a < 0:
        column["lower"] = max(column["lower"], limit)
    return True


def _groups(draft: Draft, related: list[list[int]]) -> dict[int, set[int]]:
    """Return the auxiliary variables of the atoms of each auxiliary one."""
    group: dict[int, set[int]] = {j: {j} for j, c in enumerate(draft.columns) if c["auxiliary"]}
    for together in related:
        inside = [j for j in together if j in group]
        for j in inside[1:]:
            if group[j] is not group[inside[0]]:
                group[inside[0]] |= group[j]
                for k in group[j]:
                    group[k] = group[inside[0]]
    return group


def _sources(group: dict[int, set[int]], related: list[list[int]]) -> dict[int, list[int]]:
    """Return the variables from which each auxiliary one follows: those of its atoms."""
    found: dict[int, set[int]] = {j: set() for j in group}
    for together in related:
        for j in together:
            if j in group:
                found[j].update(k for k in together if k not in group)
    return {j: sorted({k for other in group[j] for k in found[other]}) for j in group}


def _place_atoms(draft: Draft, group: dict[int, set[int]]) -> None:
    """Note of the rows and cones of atoms in which constraint the atom is, else the objective."""
    users: dict[int, str] = {}
    for row in draft.rows:
        if row["name"] not in draft.atoms:
            for j, _ in row["entries"]:
                users |= dict.fromkeys(group.get(j, ()), f"constraint {row['name']}")
    for part in (*draft.rows, *draft.cones):
        entries = [e for member in part.get("members", [part]) for e in member["entries"]]
        j = next((j for j, _ in entries if j in group), None)
        if part["name"] in draft.atoms and j is not None:
            draft.atoms[part["name"]] = f"{users.get(j, 'objective')}: {draft.named(j)}"
