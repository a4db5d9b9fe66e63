"""The ways to the optimum: known answers, and what each promises."""

import pytest
from dmlrs_reference import FILES, load

from optsched.families.dmlrs.presets import generate
from optsched.optimum import solve
from optsched.problem import InputError, Level, Status

HARD = {"015"}  # constant utility: all completions are alike, and the tree is large


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_known_optima(file):
    inst, reference = load(file)
    best = reference["optimum_job"]["value"]
    for method in ("branch-and-price", "compact", "cpsat"):
        if method == "branch-and-price" and file.stem in HARD:
            continue
        found = solve(inst, method=method, time_limit=30)
        assert found.value == pytest.approx(best, rel=1e-6), method
        assert found.bound == pytest.approx(best, rel=1e-6, abs=1e-9), method
        level = Level.CERTIFIED if method == "branch-and-price" else Level.CLAIMED
        assert (found.status, found.bound_level) == (Status.OPTIMAL, level), method


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_known_optima_link_by_link(file):
    inst, reference = load(file, "link")
    found = solve(inst, method="auto", time_limit=30)
    assert found.value == pytest.approx(reference["optimum_link"]["value"], rel=1e-6)
    assert found.status is Status.OPTIMAL


def test_two_solvers_cross_check():
    inst, reference = load(FILES[1])
    found = solve(inst, method="compact", check="cross-checked", time_limit=30)
    assert found.bound_level is Level.CROSS_CHECKED
    assert found.value == pytest.approx(reference["optimum_job"]["value"])


def test_prices_and_search_at_some_size():
    inst = generate("contended", seed=0, jobs=15, slots=30, machines=4)
    found = solve(inst, method="auto", time_limit=3)
    assert found.bound_level is Level.CERTIFIED
    assert 0 < found.value <= found.bound
    assert found.gap < 0.2
    only = solve(inst, method="search", time_limit=0.5, seed=1)
    assert only.bound is None
    assert 0 < only.value <= found.bound * (1 + 1e-9)


def test_nothing_to_do():
    inst = generate("small", seed=0, jobs=1).model_copy(update={"jobs": ()})
    inst = type(inst).model_validate(inst.model_dump())
    for method in ("auto", "colgen", "branch-and-price", "compact", "cpsat"):
        found = solve(inst, method=method, time_limit=5)
        assert (found.status, found.value) == (Status.OPTIMAL, 0.0), method


@pytest.mark.parametrize("method", ["colgen", "branch-and-price", "search", "cpsat"])
def test_methods_that_know_one_reading_say_so(method):
    inst, _ = load(FILES[0], "link")
    with pytest.raises(InputError, match='locality is "link"'):
        solve(inst, method=method, time_limit=1)


def test_shadow_prices_say_what_one_more_unit_earns_at_most():
    inst = generate("contended", seed=0, jobs=12, slots=20, machines=3)
    found = solve(inst, method="colgen", time_limit=30)
    first = found.shadow_prices[0]
    assert first["price"] == max(row["price"] for row in found.shadow_prices) > 0
    r = inst.resources.index(first["resource"])
    classes = [
        c.model_copy(
            update={"capacity": tuple(x + (k == r) for k, x in enumerate(c.capacity))}
            if c.name == first["machines"]
            else {}
        )
        for c in inst.machines
    ]
    more = type(inst).model_validate(inst.model_dump() | {"machines": classes})
    paid = sum(
        row["price"] * next(c.count for c in inst.machines if c.name == row["machines"])
        for row in found.shadow_prices
        if (row["machines"], row["resource"]) == (first["machines"], first["resource"])
    )
    better = solve(more, method="search", time_limit=3).value
    assert better <= found.bound + paid + 1e-9


def test_cpsat_takes_workers_that_demand_nothing_of_a_resource():
    """A job whose workers need no GPU, but whose PS do: 0 times a sum is a trap of OR-Tools."""
    inst = generate("paper", seed=9, jobs=6, slots=4, machines=4, g_unit="Mbit")
    idle = [job.worker_demand[0] == 0 < job.ps_demand[0] for job in inst.jobs]
    assert any(idle)
    found = solve(inst, method="cpsat", time_limit=120)
    assert found.value == pytest.approx(solve(inst, time_limit=120).value)


@pytest.mark.parametrize(("machines", "seed"), [(10, 15), (10, 2)])
def test_ten_jobs_are_closed_and_certified(machines, seed):
    inst = generate("paper", seed=seed, jobs=10, slots=10, machines=machines, g_unit="Mbit")
    found = solve(inst, time_limit=60)
    assert (found.status, found.bound_level) == (Status.OPTIMAL, Level.CERTIFIED)
