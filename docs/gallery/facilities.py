import numpy as np
import pyomo.environ as pyo

import optsched


@optsched.problem(sizes={"small": {"clients": 30}, "large": {"clients": 60}})
def facilities(random, clients, sites=8, price=60):
    """Clients come one by one; each is served by a facility that is open, or opened for it."""
    place, home = random.public.random((sites, 2)), random.random((clients, 2))
    far = np.rint(100 * np.linalg.norm(home[:, None] - place, axis=2))
    m = pyo.ConcreteModel()
    m.C, m.S = range(clients), range(sites)
    m.open, m.serve = (pyo.Var(m.C, m.S, domain=pyo.Binary) for _ in range(2))
    pairs = [(c, s) for c in m.C for s in m.S]
    m.pay = pyo.Objective(expr=sum(price * m.open[i] + far[i] * m.serve[i] for i in pairs))
    m.served = pyo.Constraint(m.C, rule=lambda m, c: sum(m.serve[c, s] for s in m.S) == 1)
    m.there = pyo.Constraint(
        m.C, m.S, rule=lambda m, c, s: m.serve[c, s] <= sum(m.open[b, s] for b in range(c + 1))
    )
    return optsched.online(m, revealed={m.open: lambda c, s: c, m.serve: lambda c, s: c})


@facilities.policy
def meyerson(event):
    """Open the nearest site with a probability that rises with the way to an open one."""
    price, way = ([x for x in event.variables if x.component == c] for c in ("open", "serve"))
    near = min(range(len(way)), key=lambda s: way[s].cost)
    best = min(event.memory, key=lambda s: way[s].cost, default=None)
    saved = np.inf if best is None else way[best].cost - way[near].cost
    if event.random.random() * price[near].cost >= saved:
        return {way[best]: 1}
    event.memory[near] = True
    return {price[near]: 1, way[near]: 1}
