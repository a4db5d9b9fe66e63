"""What one more unit of capacity saves."""

from optsched.core import solve
from optsched.families.completion.sources.presets import generate


def test_rows_name_servers_and_resources_the_dearest_first():
    inst = generate("small", seed=3)
    found = solve(inst, method="colgen", time_limit=120)
    prices = [row["price"] for row in found.shadow_prices]
    assert prices
    assert prices == sorted(prices, reverse=True)
    assert prices[0] > 0
    names = {c.name for c in inst.servers}
    assert {row["machines"] for row in found.shadow_prices} <= names
    assert {row["resource"] for row in found.shadow_prices} <= set(inst.resources)
