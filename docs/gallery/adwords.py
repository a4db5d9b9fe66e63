import math

import pyomo.environ as pyo

import optsched


@optsched.problem(sizes={"small": {"queries": 90}, "large": {"queries": 600, "ads": 40}})
def adwords(random, queries, ads=6, budget=45):
    """Each query is shown at most one ad, which pays its bid as long as its budget lasts."""
    wants = [[a >= q // 15 for a in range(ads)] for q in range(queries)]  # ads end, one by one
    bid = random.integers(2, 5, (queries, ads)) * (wants & (random.random((queries, ads)) < 0.8))
    m = pyo.ConcreteModel()
    m.Q, m.A = range(queries), range(ads)
    m.x = pyo.Var(m.Q, m.A, domain=pyo.Binary)
    pairs = [(q, a) for q in m.Q for a in m.A]
    m.revenue = pyo.Objective(expr=sum(bid[i] * m.x[i] for i in pairs), sense=pyo.maximize)
    m.once = pyo.Constraint(m.Q, rule=lambda m, q: sum(m.x[q, a] for a in m.A) <= 1)
    m.budget = pyo.Constraint(
        m.A, rule=lambda m, a: sum(bid[q, a] * m.x[q, a] for q in m.Q) <= budget
    )
    return optsched.online(m, revealed={m.x: lambda q, a: q})


@adwords.policy
def msvv(event):
    """Show the ad whose bid is best once it is discounted by the share of its budget spent."""

    def score(x):
        row = ("budget", x.index[1])
        left = event.residual(row) / event.row(row).upper if x.cost else 0.0
        return x.cost * (1 - math.exp(-left))

    return event.best(score)
