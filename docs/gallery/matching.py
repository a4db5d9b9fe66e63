import pyomo.environ as pyo

import optsched


@optsched.problem(
    sizes={"small": {"visitors": 40}, "large": {"visitors": 150, "places": 150, "chance": 0.02}}
)
def matching(random, visitors, places=40, chance=0.06):
    """Visitors come one by one; each is matched with a free place that suits, or never."""
    suits = random.random((visitors, places)) < chance
    m = pyo.ConcreteModel()
    m.V, m.P = range(visitors), range(places)
    m.E = [(v, p) for v in m.V for p in m.P if suits[v, p]]
    m.x = pyo.Var(m.E, domain=pyo.Binary)
    m.size = pyo.Objective(expr=sum(m.x[e] for e in m.E), sense=pyo.maximize)
    of = {("visitor", v): [e for e in m.E if e[0] == v] for v in m.V}
    of |= {("place", p): [e for e in m.E if e[1] == p] for p in m.P}
    some = [k for k in of if of[k]]
    m.once = pyo.Constraint(some, rule=lambda m, *k: sum(m.x[e] for e in of[k]) <= 1)
    return optsched.online(m, revealed={m.x: lambda v, p: v})


@matching.policy
def ranking(event):
    """Rank the places once at random, and give each visitor the best one that is free."""
    rank = event.memory
    return event.best(lambda x: 1 + rank.setdefault(x.index[1], event.random.random()))
