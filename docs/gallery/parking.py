import pyomo.environ as pyo

import optsched

LASTS, PRICE = (1, 4, 16, 64), (1, 3, 8, 20)


@optsched.problem(sizes={"permits": {"days": 80}, "rain": {"days": 80, "wet": 0.9}})
def parking(random, days, wet=0.4):
    """On a rainy day one needs a permit that is valid; longer ones cost less by the day."""
    rain = random.random(days) < wet
    m = pyo.ConcreteModel()
    m.D, m.K = range(days), range(len(LASTS))
    m.buy = pyo.Var(m.D, m.K, domain=pyo.Binary)
    m.pay = pyo.Objective(expr=sum(PRICE[k] * m.buy[d, k] for d in m.D for k in m.K))
    valid = {d: [(s, k) for k in m.K for s in m.D if d - LASTS[k] < s <= d] for d in m.D if rain[d]}
    m.drive = pyo.Constraint(list(valid), rule=lambda m, d: sum(m.buy[i] for i in valid[d]) >= 1)
    return optsched.online(m, revealed={m.buy: lambda d, k: d})


@parking.policy
def break_even(event):
    """Buy the longest permit whose price was already spent within its time."""
    if not any(event.residual(row) > 0 for row in event.variables[0].coefficients):
        return {}  # it is dry, or a permit is valid
    spent = event.memory.setdefault("spent", [])
    since = {x: event.time - LASTS[x.index[1]] for x in event.variables}
    paid = {x: sum(cost for day, cost in spent if day > since[x]) for x in since}
    chosen = [x for x in event.variables if x.cost <= max(1, paid[x])][-1]
    spent.append((event.time, chosen.cost))
    return {chosen: 1}
