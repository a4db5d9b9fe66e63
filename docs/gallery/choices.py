import math

import pyomo.environ as pyo

import optsched

LOW, HIGH = 1.0, 20.0  # of the value per unit of weight


@optsched.problem(sizes={"small": {"items": 80}, "large": {"items": 400}})
def choices(random, items, options=3, capacity=40):
    """Of each item at most one of several versions is taken; the knapsack has a capacity."""
    weight = random.integers(1, 5, (items, options))
    value = (weight * random.uniform(LOW, HIGH, (items, options))).round(2)
    m = pyo.ConcreteModel()
    m.I, m.V = range(items), range(options)
    m.take = pyo.Var(m.I, m.V, domain=pyo.Binary)
    pairs = [(i, v) for i in m.I for v in m.V]
    m.gain = pyo.Objective(expr=sum(value[i] * m.take[i] for i in pairs), sense=pyo.maximize)
    m.once = pyo.Constraint(m.I, rule=lambda m, i: sum(m.take[i, v] for v in m.V) <= 1)
    m.capacity = pyo.Constraint(expr=sum(weight[i] * m.take[i] for i in pairs) <= capacity)
    return optsched.online(m, revealed={m.take: lambda i, v: i})


@choices.policy
def threshold(event):
    """Charge a price per unit that rises exponentially as the knapsack fills."""
    full = 1 - event.residual("capacity") / event.row("capacity").upper
    price = (HIGH * math.e / LOW) ** full * LOW / math.e
    return event.best(lambda x: x.cost - price * x.coefficients["capacity"])
