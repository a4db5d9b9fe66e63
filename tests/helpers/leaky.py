"""Twelve kinds of problems that reveal what is still to come, and one that does not."""

import numpy as np
import pyomo.environ as pyo

import optsched

KINDS = (
    "cost",
    "right-hand side",
    "horizon",
    "later jobs",
    "scaled",
    "name",
    "order",
    "bound",
    "coefficient",
    "decided",
    "integer",
    "event",
)


def leaky(kind):
    """Return a knapsack problem with a leak of some kind."""

    def knapsack(random, items=12):
        value = random.integers(1, 20, items)
        weight = random.integers(1, 6, items)
        later = random.integers(1, 4, items)  # data that come with the next item
        ahead = [int(later[min(i + 1, items - 1)]) for i in range(items)]
        total = int(value.sum())
        m = pyo.ConcreteModel()
        m.I = range(items)
        names = [f"{i} of {total}" if kind == "name" else i for i in m.I]
        order = list(np.argsort(value)) if kind == "order" else list(m.I)
        m.x = pyo.Var(names, domain=pyo.Binary)
        x = [m.x[name] for name in names]
        m.y = pyo.Var(
            m.I,
            bounds=lambda _m, i: (0, ahead[i] if kind == "bound" else 9),
            domain=lambda _m, i: pyo.Integers if kind == "integer" and ahead[i] > 2 else pyo.Reals,
        )
        gain = [int(value[i]) + (ahead[i] if kind == "cost" else 0) for i in m.I]
        scale = total if kind == "scaled" else 100
        m.gain = pyo.Objective(
            expr=sum(gain[i] / scale * x[i] - 0.01 * m.y[i] for i in m.I), sense=pyo.maximize
        )
        room = {
            "right-hand side": int(weight.sum()) // 2,
            "horizon": items,
            "later jobs": int((later > 1).sum()),
        }
        m.room = pyo.Constraint(expr=sum(int(weight[i]) * x[i] for i in m.I) <= room.get(kind, 20))
        m.own = pyo.ConstraintList()
        for i in order if kind == "order" else m.I:
            m.own.add((ahead[i] if kind == "coefficient" else 1) * x[i] + m.y[i] <= 3)

        def when(i):
            return int(str(i).split(" ")[0])

        def early(i):
            return when(i) - 0.5 if kind == "event" and ahead[when(i)] > 2 else when(i)

        def late(i):
            return when(i) + ahead[when(i)] if kind == "decided" else when(i)

        return optsched.online(m, revealed={m.x: early, m.y: when}, decided={m.x: late, m.y: when})

    return optsched.problem(sizes={"small": {"items": 12}})(knapsack)


def honest(random, items=12):
    """Return an honest knapsack."""
    return leaky("none").function(random, items)


LEAKY = {kind: leaky(kind) for kind in KINDS}
none = leaky("none")
