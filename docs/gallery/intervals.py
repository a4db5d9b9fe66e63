import pyomo.environ as pyo

import optsched

LOW, HIGH = 1, 16  # of the value of a slot


@optsched.problem(sizes={"small": {"intervals": 60}, "large": {"intervals": 400}})
def intervals(random, intervals, longest=8, machines=1):
    """Intervals come in order of their first slot; each runs at once, to its end, or never."""
    length = random.integers(1, longest + 1, intervals)
    value = (LOW * (HIGH / LOW) ** random.random(intervals)).round(2)
    m = pyo.ConcreteModel()
    m.I = range(intervals)
    m.run = pyo.Var(m.I, domain=pyo.Binary)
    total = sum(length[i] * value[i] * m.run[i] for i in m.I)
    m.total = pyo.Objective(expr=total, sense=pyo.maximize)
    during = {t: [i for i in m.I if i <= t < i + length[i]] for t in m.I}
    m.slot = pyo.Constraint(m.I, rule=lambda m, t: sum(m.run[i] for i in during[t]) <= machines)
    return optsched.online(m, revealed={m.run: lambda i: i})


@intervals.policy
def classes(event):
    """Draw a class of values once, each with a factor of two, and take no interval below it."""
    least = event.memory.setdefault("least", LOW * 2 ** event.random.integers(0, 4))
    return event.best(lambda x: max(0, x.cost / len(x.coefficients) - least + 1e-9))
