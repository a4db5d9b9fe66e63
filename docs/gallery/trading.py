import math

import pyomo.environ as pyo

import optsched

LOW, HIGH, RATIO = 1.0, 8.0, 1.9731  # RATIO = ln((HIGH / LOW - 1) / (RATIO - 1))


@optsched.problem(sizes={"days": {"days": 60}, "weeks": {"days": 10}})
def trading(random, days):
    """Sell one unit of a currency bit by bit, at prices not known beforehand."""
    steps = random.normal(0.0, 0.35, days).cumsum()
    price = [min(HIGH, max(LOW, 2.0 * math.exp(step))) for step in steps]
    m = pyo.ConcreteModel()
    m.D = range(days)
    m.sell = pyo.Var(m.D, bounds=(0, 1))
    m.rest = pyo.Var(bounds=(0, 1))  # the rest is sold at LOW in the end
    earned = sum(price[d] * m.sell[d] for d in m.D) + LOW * m.rest
    m.earn = pyo.Objective(expr=earned, sense=pyo.maximize)
    m.unit = pyo.Constraint(expr=sum(m.sell[d] for d in m.D) + m.rest <= 1)
    return optsched.online(m, revealed={m.sell: lambda d: d, "rest": days})


@trading.policy
def threat(event):
    """At a new maximum, sell enough to keep the ratio if the price falls to LOW for good."""
    (x,) = event.variables
    left, earned = event.residual("unit"), event.memory.get("earned", 0.0)
    if x.component == "rest" or x.cost <= LOW:
        return {x: left if x.component == "rest" else 0}
    amount = (x.cost / RATIO - earned - left * LOW) / (x.cost - LOW)
    amount = min(left, max(0.0, amount))
    event.memory["earned"] = earned + amount * x.cost
    return {x: amount}
