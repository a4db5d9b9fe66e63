"""The ways to the optimum: known answers, and what each promises."""

import math

import pytest
from independent.dmlrs import FILES, load, optimum, tiny
from patience import LONG, until
from sweeps import sweep

from optsched.core import solve
from optsched.engine.progress import Progress
from optsched.families.dmlrs import FAMILY
from optsched.families.dmlrs.certificate.check import check
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.optimum.methods import _Portfolio
from optsched.families.dmlrs.sources.presets import generate
from optsched.families.dmlrs.verify import verify
from optsched.problem import InputError, Level, Status

HARD = {"015"}  # constant utility: all completions are alike, and the tree is large
STUCK = {"030", "036"}  # the tree ends with a leaf that has nothing left to split
CROWDED = next(f for f in FILES if f.stem == "006")  # no single bound at hand is tight


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_known_optima(file):
    inst, reference = load(file)
    best = reference["optimum_job"]["value"]
    for method in ("branch-and-price", "compact", "cpsat"):
        if method == "branch-and-price" and file.stem in HARD | STUCK:
            continue
        found = solve(inst, method=method, time_limit=LONG)
        assert found.value == pytest.approx(best, rel=1e-6), method
        assert found.bound == pytest.approx(best, rel=1e-6, abs=1e-9), method
        assert found.status.closed, method
        if method == "branch-and-price":
            assert found.bound_level is Level.CERTIFIED
        else:  # certified where the first bound is tight, else the solver's word
            assert (found.bound_level is Level.CLAIMED) == (found.certified_gap > 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("file", sweep(FILES, 4), ids=lambda f: f.stem)
def test_known_optima_link_by_link(file):
    inst, reference = load(file, "link")
    best = reference["optimum_link"]["value"]
    hard = file.stem in HARD  # CP-SAT closes it in a minute: here it is stopped before
    found = solve(inst, method="auto", time_limit=1.0 if hard else LONG)
    assert found.value <= best * (1 + 1e-9)
    if not hard:
        assert found.value == pytest.approx(best, rel=1e-6)
        assert found.status.closed
        assert found.bound_level in (Level.CROSS_CHECKED, Level.CERTIFIED)
    assert best <= found.certified_bound * (1 + 1e-9)
    assert found.certified_bound == check(inst, found.certificate)


@pytest.mark.slow
def test_two_solvers_cross_check():
    inst, reference = load(CROWDED)
    found = solve(inst, method="compact", check="claimed", time_limit=LONG)
    assert found.bound_level is Level.CLAIMED
    found = solve(inst, method="compact", check="cross-checked", time_limit=LONG)
    assert found.bound_level is Level.CROSS_CHECKED
    assert found.value == pytest.approx(reference["optimum_job"]["value"])


@pytest.mark.slow
def test_prices_and_search_at_some_size():
    inst = generate("contended", seed=0, jobs=15, slots=30, machines=4)
    near = until(lambda p: (p.gap() or math.inf) < 0.19)
    found = solve(inst, method="auto", time_limit=LONG, watch=near)
    assert found.bound_level is Level.CERTIFIED
    assert 0 < found.value <= found.bound
    assert found.gap < 0.2
    something = until(lambda p: (p.value or 0) > 0)
    only = solve(inst, method="search", time_limit=LONG, seed=1, watch=something)
    assert only.bound > found.bound  # the one at hand
    assert 0 < only.value <= found.bound * (1 + 1e-9)


@pytest.mark.slow
def test_a_search_begins_with_what_earns_most_per_cost():
    inst = generate("contended", seed=0, jobs=100, slots=50, machines=10)
    assert solve(inst, work_limit=500).gap < 0.5  # 0.31; the most valuable jobs first: 0.86


def test_nothing_to_do():
    inst = generate("small", seed=0, jobs=1).model_copy(update={"jobs": ()})
    inst = type(inst).model_validate(inst.model_dump())
    for method in ("auto", "colgen", "branch-and-price", "compact", "cpsat"):
        found = solve(inst, method=method, time_limit=5)
        assert (found.status, found.value) == (Status.OPTIMAL, 0.0), method


def test_the_method_that_knows_one_reading_says_so():
    many = generate("small", seed=0, jobs=13)
    for inst in (load(FILES[0], "link")[0], many):
        with pytest.raises(InputError, match='at most 12 jobs and locality "job", expected the me'):
            solve(inst, method="branch-and-price", time_limit=1)


@pytest.mark.slow
def test_what_the_tree_does_not_close_goes_to_a_program(monkeypatch):
    """Where branching gets nowhere, the time that is left is not given away."""
    monkeypatch.setattr("optsched.families.dmlrs.optimum.methods.slot_program", lambda *_: None)
    monkeypatch.setattr("optsched.families.dmlrs.optimum.methods._branch", lambda _: None)
    inst, reference = load(CROWDED)
    found = solve(inst, time_limit=LONG)
    assert found.value == pytest.approx(reference["optimum_job"]["value"])
    assert (found.status, found.bound_level) == (Status.CLAIMED, Level.CROSS_CHECKED)


@pytest.fixture(scope="module")
def searched():
    """Return an instance, and what a search finds."""
    inst = generate("contended", seed=2, jobs=10, slots=20, machines=3)
    return inst, solve(inst, method="search", time_limit=1, seed=7)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["search", "auto"])
def test_the_search_starts_from_what_is_known(method, searched):
    inst, known = searched
    again = solve(inst, method=method, time_limit=0.2, seed=8, start=[known.schedule])
    assert again.value >= known.value * (1 - 1e-12)
    search = _Portfolio(inst, monitor(inst, known.schedule), 1, 0)
    search.improve(0.0)
    assert sum(p.value for p in search.best.values()) == pytest.approx(known.value)


def monitor(inst, schedule):
    """Return a monitor that knows a schedule."""
    progress = Progress(FAMILY, inst, time_limit=10.0, gap=0.0)
    progress.incumbent(verify(inst, schedule).value, schedule)
    return progress


@pytest.mark.slow
@pytest.mark.parametrize("locality", ["job", "link"])
@pytest.mark.parametrize("method", ["auto", "compact", "cpsat"])
@pytest.mark.parametrize("factor", [1e-300, 1e-12, 1e12, 1e300])
def test_the_unit_of_utility_does_not_matter(method, factor, locality):
    inst = tiny(0, locality)
    best, scaled = optimum(inst), with_utilities(inst, factor)
    found, plain = (solve(x, method=method, time_limit=LONG) for x in (scaled, inst))
    assert found.value == pytest.approx(best * factor, rel=1e-9, abs=0)
    assert found.bound == pytest.approx(best * factor, rel=1e-6, abs=0)
    assert (found.status, found.bound_level) == (plain.status, plain.bound_level)
    assert found.certified_gap == pytest.approx(plain.certified_gap, rel=1e-3, abs=1e-9)


def with_utilities(inst, factor):
    """Return the instance with ``factor`` times the utilities."""
    data = inst.model_dump()
    for job in data["jobs"]:
        utility = job["utility"]
        if "scale" in utility:
            utility["scale"] *= factor
        else:
            utility["values"] = [factor * x for x in utility["values"]]
    return DmlrsInstance.model_validate(data)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "compact", "cpsat"])
@pytest.mark.parametrize(("amounts", "times"), [(1e-6, 1e-12), (1e6, 1e6), (0.1, 1e12)])
def test_the_units_of_amounts_and_times_do_not_matter(method, amounts, times):
    """Demands and capacities; slots and mini-batches."""
    inst = tiny(3)
    data = inst.model_dump()
    for machines in data["machines"]:
        machines["capacity"] = [amounts * x for x in machines["capacity"]]
    for job in data["jobs"]:
        for field in ("worker_demand", "ps_demand"):
            job[field] = [amounts * x for x in job[field]]
        for field in ("inner_bandwidth", "outer_bandwidth", "ps_bandwidth"):
            job[field] /= times  # and this many slots to send the gradients, unless they are longer
    data["slot_seconds"] *= times
    found = solve(DmlrsInstance.model_validate(data), method=method, time_limit=LONG)
    assert found.status.closed
    assert found.value == pytest.approx(optimum(inst))


@pytest.mark.slow
def test_shadow_prices_say_what_one_more_unit_earns_at_most():
    inst = generate("contended", seed=0, jobs=12, slots=20, machines=3)
    found = solve(inst, method="colgen", time_limit=LONG)
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
    better = solve(more, method="search", time_limit=1, start=[found.schedule]).value
    assert better >= found.value
    assert better <= found.bound + paid + 1e-9


@pytest.mark.slow
def test_cpsat_takes_workers_that_demand_nothing_of_a_resource():
    """A job whose workers need no GPU, but whose PS do: 0 times a sum is a trap of OR-Tools."""
    inst = generate("paper", seed=9, jobs=6, slots=4, machines=4, g_unit="Mbit")
    idle = [job.worker_demand[0] == 0 < job.ps_demand[0] for job in inst.jobs]
    assert any(idle)
    found = solve(inst, method="cpsat", time_limit=LONG)
    assert found.value == pytest.approx(
        solve(inst, method="branch-and-price", time_limit=LONG).value
    )


@pytest.mark.slow
@pytest.mark.parametrize(("machines", "seed"), [(10, 15), (10, 2)])
def test_ten_jobs_are_closed_and_certified(machines, seed):
    inst = generate("paper", seed=seed, jobs=10, slots=10, machines=machines, g_unit="Mbit")
    found = solve(inst, time_limit=60)
    assert (found.status, found.bound_level) == (Status.OPTIMAL, Level.CERTIFIED)
