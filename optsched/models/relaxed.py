"""The linear relaxation of a declared program."""

# mypy: allow-untyped-calls

from __future__ import annotations

import pyomo.environ as pyo


def linear(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """Let all variables of a model be fractions, within their bounds, and return it."""
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    return model
