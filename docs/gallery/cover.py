import pyomo.environ as pyo

import optsched


@optsched.problem(sizes={"small": {"elements": 20}, "large": {"elements": 60, "sets": 25}})
def cover(random, elements, sets=12, chance=0.25):
    """Elements appear one by one; sets are bought, for good, until each is in one of them."""
    cost = random.public.integers(1, 10, sets)
    inside = random.random((elements, sets)) < chance
    inside[:, 0] |= ~inside.any(axis=1)
    m = pyo.ConcreteModel()
    m.E, m.S = range(elements), range(sets)
    m.buy = pyo.Var(m.E, m.S, domain=pyo.Binary)
    m.pay = pyo.Objective(expr=sum(cost[s] * m.buy[e, s] for e in m.E for s in m.S))
    by = {e: [(d, s) for d in range(e + 1) for s in m.S if inside[e, s]] for e in m.E}
    m.covered = pyo.Constraint(m.E, rule=lambda m, e: sum(m.buy[i] for i in by[e]) >= 1)
    return optsched.online(m, revealed={m.buy: lambda e, s: e})


@cover.policy
def primal_dual(event):
    """Raise the weights of an element's sets, cheap ones faster, and buy the heaviest one."""
    weight, row = event.memory, event.row(("covered", event.time))
    here = {x.index[1]: x for x in event.variables if row.name in x.coefficients}
    if row.left() <= 0:
        return {}
    while sum(weight.get(s, 0) for s in here) < 1:
        for s, x in here.items():
            weight[s] = weight.get(s, 0) * (1 + 1 / x.cost) + 1 / (len(here) * x.cost)
    return {here[max(here, key=weight.get)]: 1}
