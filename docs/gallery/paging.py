import pyomo.environ as pyo

import optsched

CACHE = 4


@optsched.problem(sizes={"small": {"requests": 60}, "large": {"requests": 300}})
def paging(random, requests, pages=7):
    """Keep pages in a cache; a page that is requested must be there, and to fetch one costs 1."""
    page = random.geometric(0.35, requests) % pages
    m = pyo.ConcreteModel()
    m.T, m.P = range(requests), range(pages)
    m.held, m.fetch = (pyo.Var(m.T, m.P, domain=pyo.Binary) for _ in range(2))
    m.faults = pyo.Objective(expr=sum(m.fetch[t, p] for t in m.T for p in m.P))
    m.size = pyo.Constraint(m.T, rule=lambda m, t: sum(m.held[t, p] for p in m.P) <= CACHE)
    m.serve = pyo.Constraint(m.T, rule=lambda m, t: m.held[t, int(page[t])] >= 1)

    def new(m, t, p):
        return m.held[t, p] - (m.held[t - 1, p] if t else 0) <= m.fetch[t, p]

    m.new = pyo.Constraint(m.T, m.P, rule=new)
    return optsched.online(m, revealed={m.held: lambda t, p: t, m.fetch: lambda t, p: t})


@paging.policy
def lru(event):
    """Keep the pages that were requested last."""
    held = {x: x.index[1] for x in event.variables if x.component == "held"}
    (page,) = (p for x, p in held.items() if any(r.startswith("serve") for r in x.coefficients))
    last = event.memory.setdefault("last", [])
    fetch = {f"fetch[{event.time:.0f},{page}]": page not in last[:CACHE]}
    last[:] = [page, *(p for p in last if p != page)]
    return {x: p in last[:CACHE] for x, p in held.items()} | fetch
