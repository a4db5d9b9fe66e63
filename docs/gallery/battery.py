import math

import pyomo.environ as pyo

import optsched

LOW, HIGH, SIZE, KEPT = 10, 90, 4, 0.9


@optsched.problem(sizes={"days": {"hours": 72}, "week": {"hours": 168}})
def battery(random, hours):
    """Buy power when it is cheap, lose some in the battery, and sell it when it is dear."""
    usual = [45 + 25 * math.sin(h / 24 * math.tau) for h in range(hours)]
    price = (usual + random.normal(0, 12, hours)).clip(LOW, HIGH).round(2)
    m = pyo.ConcreteModel()
    m.H = range(hours)
    m.buy, m.sell = pyo.Var(m.H, bounds=(0, 1)), pyo.Var(m.H, bounds=(0, 1))
    earned = sum(price[h] * (m.sell[h] - m.buy[h]) for h in m.H)
    m.earned = pyo.Objective(expr=earned, sense=pyo.maximize)
    level = [sum(KEPT * m.buy[i] - m.sell[i] for i in range(h + 1)) for h in m.H]
    m.level = pyo.Constraint(m.H, rule=lambda m, h: (0, level[h], SIZE))
    return optsched.online(m, revealed={m.buy: lambda h: h, m.sell: lambda h: h})


@battery.policy
def two_prices(event):
    """Buy well below the geometric mean of the extreme prices, and sell well above it."""
    (buy, sell), middle = event.variables, math.sqrt(LOW * HIGH)
    level = float(event.row(("level", event.time)).activity)
    if sell.cost > 1.1 * middle:
        return {sell: min(1, max(0, level))}
    return {buy: min(1, (SIZE - level) / KEPT) if sell.cost < 0.9 * middle else 0}
