"""The optimum of family `rigid`: known values, brute force, and certificates that are checked."""

import json

import numpy as np
import pytest
from numba import typeof
from rigid_twin import instance_of, optimum, random_log, reference
from scipy.optimize import linprog
from second_checker import NODE, answers
from sweeps import sweep

import optsched
from optsched.engine.progress import Progress
from optsched.families.rigid import FAMILY
from optsched.families.rigid.certificate.bound import Prices, Surcharges
from optsched.families.rigid.certificate.check import Leaf, RigidCertificate, Split, check
from optsched.families.rigid.instance import Cost, Machine, RigidInstance, RigidJob
from optsched.families.rigid.optimum import tree
from optsched.families.rigid.optimum.methods import Portfolio
from optsched.families.rigid.optimum.prices import adapt, steps_from
from optsched.families.rigid.optimum.problem import RigidProblem, grid_bits, written
from optsched.problem import Level, Status
from optsched.results.result import save_result

KNOWN = {name: data for name, data in reference().items() if "optimum" in data}
CASES = [(name, aim) for name, data in KNOWN.items() for aim in data["optimum"]]
OBJECTIVES = ("flow", "wait", "slowdown", "makespan")


@pytest.mark.parametrize(("name", "objective"), sweep(CASES, 24))
def test_optima_of_the_reference_are_certified(name, objective):
    inst = instance_of(KNOWN[name], objective)
    found = optsched.solve(inst, work_limit=30000)
    assert found.value == pytest.approx(KNOWN[name]["optimum"][objective] / inst.weight, rel=1e-12)
    assert (found.status, found.bound_level) == ("optimal", Level.CERTIFIED)


@pytest.mark.parametrize("seed", sweep(range(60), 6))
def test_brute_force(seed):
    log = random_log(seed, jobs=2 + seed % 4)
    for objective in OBJECTIVES:
        inst = log.model_copy(update={"objective": objective})
        best = float(optimum(inst))
        found = optsched.solve(inst, work_limit=20000)
        assert found.value == pytest.approx(best, rel=1e-12)
        assert found.certified_bound <= best
        assert found.certified_bound >= best * (1 - 1e-6)


def test_the_tree_finds_a_schedule_that_keeps_capacity_idle_for_a_job_to_come():
    """The search moves no job that starts before another one arrives."""
    jobs = [(0, 3, 1, 1), (1, 1, 6, 2**20), (1, 2, 3, 1), (0, 4, 2, 5)]
    inst = RigidInstance(
        resources=("a",),
        machines=(Machine(capacity=(8,)),),
        objective="wait",
        jobs=tuple(
            RigidJob(arrival=r, run=p, request=p, need=(d,), weight=w) for r, p, d, w in jobs
        ),
    )
    found = optsched.solve(inst, work_limit=20000)
    assert found.schedule.start == (2, 1, 2, 0)
    assert found.value == float(optimum(inst)) == 3 / (2**20 + 7)
    assert (found.status, found.bound_level) == ("optimal", Level.CERTIFIED)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("packed", [False, True])
def test_cpsat_agrees(objective, packed):
    inst = FAMILY.generate("small", seed=4, jobs=6, objective=objective, packed=packed, machines=2)
    best = optsched.solve(inst, work_limit=30000)
    claimed = optsched.solve(inst, method="cpsat", work_limit=30000)
    assert claimed.status.closed
    assert claimed.value == pytest.approx(best.value, rel=1e-9)
    if packed:  # the pool of the bound may hold more than the nodes do
        assert best.certified_bound <= claimed.value
    else:
        assert best.status == "optimal"


@pytest.mark.parametrize("seed", [2, 19, 28])
def test_ten_jobs_that_collide_for_seconds_are_closed(seed):
    found = optsched.solve(FAMILY.generate("lublin", seed=seed, jobs=10), work_limit=20_000)
    assert (found.status, found.bound_level) == ("optimal", Level.CERTIFIED)


@pytest.mark.slow
def test_a_tree_leaves_time_to_check_its_certificate(monkeypatch):
    monkeypatch.setattr(tree, "CHECKED", 1e9)  # seconds for each node: more than there are
    found = optsched.solve(FAMILY.generate("lublin", seed=2, jobs=10), work_limit=20_000)
    assert found.status == "feasible"
    assert 0 < found.certified_bound < found.value


def test_a_makespan_that_a_tree_does_not_close_has_the_bound_of_prices():
    need = ((3, 1), (5, 0), (2, 3), (6, 1), (5, 2), (4, 3), (3, 3), (10, 3), (2, 2))
    arrival = (0, 2527, 2967, 5639, 6669, 10692, 13503, 15448, 17163)
    run = (4017, 4964, 3860, 825, 6122, 1824, 3798, 6606, 4670)
    inst = RigidInstance(
        resources=("a", "b"),
        machines=(Machine(capacity=(10, 6)),),
        objective="makespan",
        jobs=tuple(
            RigidJob(arrival=r, run=p, request=p, need=d)
            for r, p, d in zip(arrival, run, need, strict=True)
        ),
    )
    found = optsched.solve(inst, work_limit=300)
    assert found.value == 26724  # as CP-SAT finds
    assert 26600 < found.certified_bound <= 26724


@pytest.mark.slow
def test_a_log_of_many_jobs_has_a_small_gap():
    inst = FAMILY.generate("lublin", seed=1, jobs=100, load=0.7)
    found = optsched.solve(inst, work_limit=2000)
    assert not found.defects
    assert found.certified_gap < 0.3
    again = optsched.solve(inst, work_limit=2000)
    assert (again.value, again.bound) == (found.value, found.bound)


def test_the_search_for_least_waiting_times_is_that_for_least_flow_times():
    """Both differ by a constant, so the same random numbers find the same schedules."""
    found = []
    for objective in ("flow", "wait"):
        inst = FAMILY.generate("lublin", seed=1, jobs=60, load=3.0, objective=objective)
        search = Portfolio(inst, Progress(FAMILY, inst, units=1000.0, gap=0.0), seed=0)
        search.list(search.problem.jobs.arrival)
        first = search.cost
        for k in range(6):
            search.cool(k / 6)
        assert search.cost < first
        found.append([*search.walk.start, *search.walk.best_start])
    assert found[0] == found[1]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_any_prices_prove_a_bound(objective):
    """Whatever the numbers mean, no bound is above the optimum; also with Python's integers."""
    for seed in range(40):
        log = random_log(seed, jobs=4)
        inst = log.model_copy(update={"objective": objective})
        best = float(optimum(inst))
        for bits, price in ((0, 1), (3, 2), (10, 700), (90, 2**89), (100, 2**150)):
            times = (0, 3, 4 + seed % 7, 30)
            row = (price, 0, 2 * price)
            kind = seed % len(inst.resources)
            needs = tuple(sorted({job.need[kind] for job in inst.jobs} - {0}))
            more = tuple((price // k, price // 3, k) for k in range(1, 1 + len(needs)))
            surcharges = Surcharges(resource=kind, needs=needs, price=more)
            for base in (row, (0, 0, 0)):
                sized = Prices(
                    times=times, price=(base,) * len(inst.resources), surcharges=surcharges
                )
                assert check(inst, RigidCertificate.root(inst, sized, bits)) <= best
            prices = Prices(times=times, price=(row,) * len(inst.resources))
            made = RigidCertificate.root(inst, prices, bits)
            assert check(inst, made) <= best
            split = made.model_copy(
                update={
                    "nodes": (
                        Split(job=1, at=seed % 9, left=1, right=2),
                        Leaf(prices=0),
                        Leaf(prices=0),
                    )
                }
            )
            assert check(inst, split) <= best


@pytest.mark.parametrize("at", range(4))
def test_a_split_loses_no_start(at):
    """A job alone waits for nothing: the left side holds its arrival, 0, whatever the second."""
    alone = random_log(1, jobs=1)
    alone = alone.model_copy(
        update={"jobs": (alone.jobs[0].model_copy(update={"arrival": 0}),), "objective": "flow"}
    )
    made = RigidCertificate.root(alone, Prices(times=(), price=((),) * len(alone.resources)), 4)
    nodes = (Split(job=0, at=at, left=1, right=2), Leaf(prices=0), Leaf(prices=0))
    later = made.model_copy(
        update={
            "nodes": (Split(job=0, at=at, left=1, right=2), Split(job=0, at=0, left=3, right=4))
            + (Leaf(prices=0),) * 3
        }
    )
    assert check(alone, made.model_copy(update={"nodes": nodes})) == alone.jobs[0].run
    assert check(alone, later) == alone.jobs[0].run


def test_the_bound_of_a_job_is_that_of_every_second():
    """The cheapest start is at a breakpoint: no second between has a lower cost."""
    for seed in range(30):
        inst = random_log(seed, jobs=1).model_copy(update={"objective": OBJECTIVES[seed % 3]})
        (job,) = inst.jobs
        times, row = (2, 5, 9, 14, 40), (7, 0, 3, 1)
        prices = Prices(times=times, price=(row,) * len(inst.resources))
        bits = 1

        def charge(s, job=job, times=times, row=row):
            return sum(
                p for t in range(s, s + job.run)
                for a, b, p in zip(times, times[1:], row, strict=False) if a <= t < b
            )  # fmt: skip

        from rigid_twin import objective as cost

        every = [
            cost(inst, {0: s}) * job.weight + charge(s) * sum(job.need) / 2**bits
            for s in range(job.arrival, 80)
        ]
        rent = sum((b - a) * p for a, b, p in zip(times, times[1:], row, strict=False))
        expected = min(every) - rent * sum(inst.total) / 2**bits
        found = check(inst, RigidCertificate.root(inst, prices, bits))
        if inst.objective != "slowdown":
            expected = -(-expected // 1)
        assert found == pytest.approx(max(0.0, float(expected / job.weight)), abs=1e-9 + 0.5)


PAIR = RigidInstance(
    resources=("p",),
    machines=(Machine(capacity=(3,)),),
    jobs=(RigidJob(arrival=0, run=10, request=10, need=(2,)),) * 2,
)


def sized(**given):
    more = {"resource": 0, "needs": (2,), "price": ((1,),)} | given
    return Prices(times=(0, 10), price=((0,),), surcharges=Surcharges(**more))


def test_surcharges_prove_that_two_wide_jobs_do_not_run_at_once():
    assert check(PAIR, RigidCertificate.root(PAIR, sized(), 0)) == 15
    pooled = [Prices(times=(0, 10), price=((price,),)) for price in range(10)]
    assert max(check(PAIR, RigidCertificate.root(PAIR, p, 4)) for p in pooled) == 12.5


TWO = RigidInstance(
    resources=("p", "q"),
    machines=(Machine(capacity=(3, 0)), Machine(capacity=(0, 5))),
    jobs=tuple(RigidJob(arrival=0, run=10, request=10, need=need) for need in [(2, 0), (0, 4)] * 2),
)


def test_resources_that_share_no_job_have_surcharges_each():
    more = [Surcharges(resource=k, needs=(need,), price=((1,),)) for k, need in enumerate((2, 4))]
    prices = Prices(times=(0, 10), price=((0,), (0,)), surcharges=more)
    assert check(TWO, RigidCertificate.root(TWO, prices, 0)) == 15
    assert (
        check(TWO, RigidCertificate.root(TWO, prices.model_copy(update={"surcharges": ()}), 0))
        == 10
    )
    twice = prices.model_copy(update={"surcharges": (*more, more[0])})
    assert check(TWO, RigidCertificate.root(TWO, twice, 0)) == 12.5  # a job pays once
    assert {*RigidProblem(TWO).sized().needs} == {0, 1}
    old = prices.model_dump() | {"surcharges": more[0].model_dump()}
    assert Prices.model_validate(old).surcharges == (more[0],)
    assert Prices.model_validate(old | {"surcharges": None}).surcharges == ()


@pytest.mark.slow
def test_the_unit_of_a_resource_makes_no_difference():
    """Memory is in 1/1024 GB in logs; long steps along it hid all other prices."""
    log = FAMILY.generate("lublin", seed=1, jobs=60, load=0.8)
    (pool,) = log.machines
    bounds = []
    for unit in (1, 10**6):
        jobs = [j.model_copy(update={"need": (*j.need, unit * j.need[0])}) for j in log.jobs]
        wide = (pool.model_copy(update={"capacity": (*pool.capacity, unit * pool.capacity[0])}),)
        data = {"resources": ("cpu", "memory"), "units": (), "machines": wide, "jobs": jobs}
        inst = log.model_copy(update=data)
        bounds.append(optsched.solve(inst, work_limit=3000).certified_bound)
    assert bounds[1] == pytest.approx(bounds[0], rel=0.05)


def partitions_of(seed):
    """Return a log of two partitions, whose memory has odd amounts, and the log of each."""
    draw = np.random.default_rng(seed)
    both = (int(draw.integers(2, 5)), int(draw.integers(1000, 9999)))
    jobs = []
    for i in range(5):
        need = (int(draw.integers(1, both[0] + 1)), int(draw.integers(1, both[1] + 1)))
        run = int(draw.integers(1, 12))
        jobs.append(
            RigidJob(
                arrival=int(draw.integers(0, 6)),
                run=run,
                request=run,
                weight=int(draw.integers(1, 4)),
                need=(*need, 0, 0) if i % 2 else (0, 0, *need),
            )
        )
    nodes = (Machine(capacity=(*both, 0, 0)), Machine(capacity=(0, 0, *both)))
    names = ("cpu of a", "memory of a", "cpu of b", "memory of b")
    whole = RigidInstance(resources=names, machines=nodes, jobs=tuple(jobs))
    return whole, [whole.model_copy(update={"jobs": tuple(jobs[k::2])}) for k in (0, 1)]


@pytest.mark.parametrize("seed", sweep(range(40), 4))
@pytest.mark.parametrize("objective", ["flow", "wait", "slowdown"])
def test_partitions_add_up(seed, objective):
    """Partitions share no job: the bound is that of both, no more than brute force finds."""
    whole, parts = partitions_of(seed)
    whole, *parts = (i.model_copy(update={"objective": objective}) for i in (whole, *parts))
    best = float(optimum(whole))
    found = optsched.solve(whole, work_limit=20000)
    apart = [optsched.solve(part, work_limit=20000) for part in parts]
    added = sum(r.certified_bound * p.weight for r, p in zip(apart, parts, strict=True))
    assert added * (1 - 1e-6) <= found.certified_bound * whole.weight <= best * whole.weight + 1e-9
    assert found.value == pytest.approx(best, rel=1e-12)
    problem = RigidProblem(whole)
    sized, times = problem.sized(), problem.grid(40, 6)
    needs = sized.needs.items() if sized else ()
    share = np.concatenate([1 / problem.capacity, *(d / problem.capacity[k] for k, d in needs)])
    share[: 4 * bool(sized)] *= seed % 2  # surcharges alone, or prices as well
    for scale in (0.5, 2.0, 8.0):
        price = np.zeros((len(share), len(times)))
        price[:, :-1] = scale * share[:, None] * np.linspace(1, 0.1, len(times) - 1)
        bits = grid_bits(problem, times, price)
        proof = RigidCertificate.root(whole, written(times, price, bits, sized), bits)
        assert check(whole, proof) <= best * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_log_of_two_partitions_is_bounded_as_well_as_each(seed):
    """Odd amounts of memory leave the surcharges to the processors of each partition."""
    draw = np.random.default_rng(seed)
    logs = [FAMILY.generate("lublin", seed=seed + k, jobs=40, load=0.9) for k in (0, 10)]
    width = [log.total[0] for log in logs]
    jobs = []
    for k, log in enumerate(logs):
        for job in log.jobs:
            tasks = job.tasks * job.need[0]
            need = [0, 0, 0, 0]
            need[2 * k : 2 * k + 2] = tasks, tasks * 4099 - int(draw.integers(0, 2000))
            jobs.append(job.model_copy(update={"tasks": 1, "need": tuple(need)}))
    nodes = tuple(
        Machine(capacity=(0, 0) * k + (w, 4099 * w) + (0, 0) * (1 - k)) for k, w in enumerate(width)
    )
    names = ("cpu of a", "memory of a", "cpu of b", "memory of b")
    whole = RigidInstance(resources=names, machines=nodes, jobs=tuple(jobs))
    assert {*RigidProblem(whole).sized().needs} == {0, 2}
    parts = [
        whole.model_copy(update={"jobs": tuple(j for j in jobs if j.need[2 * k])}) for k in (0, 1)
    ]
    joint = optsched.solve(whole, work_limit=6000).certified_bound * whole.weight
    apart = [optsched.solve(part, work_limit=3000).certified_bound * part.weight for part in parts]
    assert joint >= 0.99 * sum(apart)


def test_a_size_that_is_not_listed_pays_no_surcharge():
    assert check(PAIR, RigidCertificate.root(PAIR, sized(needs=(1,)), 0)) == 0


def test_steps_and_checker_agree_on_the_bound_of_sizes():
    inst = FAMILY.generate("lublin", seed=1, jobs=30, load=0.9)
    problem = RigidProblem(inst)
    found = problem.sized()
    assert found is not None
    end = int(problem.jobs.arrival.max() + problem.jobs.run.max())
    times = problem.grid(end, 40)
    (needs,) = found.needs.values()
    price = np.zeros((1 + needs.size, len(times)))
    price[1:, :-1] = 0.02 * needs[:, None] * (1 + np.arange(len(times) - 1) % 3)
    steps, now = steps_from(price), price.copy()
    first, _ = adapt(
        found.jobs, times, now.copy(), found.room, 0.0, 1, steps, -np.inf, price.copy()
    )
    best, _ = adapt(found.jobs, times, now, found.room, 0.05, 50, steps, first, price)
    assert best > first
    bits = grid_bits(problem, times, price)
    made = RigidCertificate.root(inst, written(times, price, bits, found), bits)
    assert check(inst, made) == pytest.approx(best / inst.weight, abs=1 / inst.weight)
    shown = sum(row["price"] for row in FAMILY.shadow_prices(inst, made))
    units = {row["unit"] for row in FAMILY.shadow_prices(inst, made)}
    assert units == {f"mean flow time, s, per 1 {inst.resources[0]}"}
    assert shown > 0


def test_kernels_are_compiled_once_for_all_nodes():
    problem = RigidProblem(PAIR)
    node = problem.windows(np.array([0, 10]), np.array([0, 10]))
    assert typeof(node) == typeof(problem.jobs)


@pytest.mark.parametrize("needs", [(1, 2, 4), (3, 3)])
def test_sizes_that_fill_the_machines_have_no_surcharges(needs):
    jobs = tuple(RigidJob(arrival=0, run=5, request=5, need=(d,)) for d in needs)
    for units, fills in ((12, True), (13, False)):
        pool = (Machine(capacity=(units,)),)
        inst = RigidInstance(resources=("p",), machines=pool, jobs=jobs)
        assert (RigidProblem(inst).sized() is None) == fills


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"resource": 1}, "prices 0: resource 1 does not exist, expected 0..0"),
        ({"needs": (2, 2), "price": ((1,), (1,))}, "needs do not ascend"),
        ({"price": ((1, 1),)}, "expected 1 lists of 1 surcharges"),
        ({"price": ()}, "expected 1 lists of 1 surcharges"),
    ],
)
def test_surcharges_that_prove_nothing_are_refused(change, said):
    with pytest.raises(ValueError, match=said):
        check(PAIR, RigidCertificate.root(PAIR, sized(**change), 0))


@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_knapsacks_of_more_steps_than_a_checker_takes_are_refused(tmp_path):
    pool = (Machine(capacity=(2**13,)),)
    inst = RigidInstance(resources=("p",), machines=pool, jobs=PAIR.jobs)
    price = tuple((1,) * 2**6 for _ in range(2**7))
    more = Surcharges(resource=0, needs=tuple(range(1, 2**7 + 1)), price=price)
    wide = Prices(times=tuple(range(2**6 + 1)), price=((0,) * 2**6,), surcharges=more)
    certificate = RigidCertificate.root(inst, wide, 0)
    with pytest.raises(ValueError, match="67108864 steps of knapsacks, expected at most 33554432"):
        check(inst, certificate)
    one = more.model_copy(update={"needs": (1,), "price": ((2**60,) * 2**6,)})
    large = wide.model_copy(update={"surcharges": (one, one)})
    with pytest.raises(ValueError, match="67108864 steps of knapsacks"):  # in Python's integers
        check(inst, RigidCertificate.root(inst, large, 0))
    path = tmp_path / "wide.json"
    best = optsched.solve(inst, work_limit=50)
    forged = {"certificate": certificate, "shadow_prices": (), "bound_level": Level.CLAIMED}
    save_result(path, inst, best.model_copy(update=forged))
    found = answers([path], tmp_path)
    assert "too many steps of knapsacks" in json.dumps(found)


@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_trees_of_more_breakpoints_than_a_checker_looks_at_are_refused(tmp_path):
    times, leaves = tuple(range(2**16)), 2**12
    long = Prices(times=times, price=((0,) * (len(times) - 1),))
    nodes = []
    for k in range(leaves - 1):
        nodes += [Split(job=0, at=k, left=2 * k + 1, right=2 * k + 2), Leaf(prices=0)]
    made = RigidCertificate.root(PAIR, long, 0).model_copy(
        update={"nodes": (*nodes, Leaf(prices=0))}
    )
    with pytest.raises(
        ValueError, match="268435456 breakpoints for each of 2 jobs, expected at most"
    ):
        check(PAIR, made)
    path = tmp_path / "long.json"
    best = optsched.solve(PAIR, work_limit=50)
    forged = {"certificate": made, "shadow_prices": (), "bound_level": Level.CLAIMED}
    save_result(path, PAIR, best.model_copy(update=forged))
    assert "too many breakpoints" in json.dumps(answers([path], tmp_path))


def test_prices_beyond_64_bits_that_nobody_pays_are_counted():
    idle = RigidJob(arrival=0, run=5, request=5, need=(0,))
    inst = RigidInstance(resources=("p",), machines=PAIR.machines, jobs=(idle,) * 3)
    dear = Prices(times=(0, 5), price=((2**64,),))
    assert check(inst, RigidCertificate.root(inst, dear, 0)) == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instance_sha256": "x"}, "belongs to instance x"),
        ({"prices": (Prices(times=(3, 3), price=((1,),)),)}, "breakpoints do not ascend"),
        ({"prices": (Prices(times=(3, 4), price=((1, 2),)),)}, "expected 1 lists of 1 prices"),
        ({"nodes": (Leaf(prices=1),)}, "prices 1 does not exist, expected 0..0"),
        ({"nodes": (Split(job=9, at=0, left=1, right=2),)}, "job 9 does not exist"),
        ({"nodes": (Split(job=0, at=0, left=1, right=1), Leaf(prices=0))}, "already a child"),
        ({"deadline": 5}, "a deadline, expected none with objective flow"),
    ],
)
def test_certificates_that_prove_nothing_are_refused(change, said):
    inst = random_log(1, jobs=4, kinds=1)
    made = RigidCertificate.root(inst, Prices(times=(0, 9), price=((1,),)), 4)
    with pytest.raises(ValueError, match=said):
        check(inst, made.model_copy(update=change))


def test_a_deadline_that_can_be_met_is_not_excluded():
    inst = random_log(1, jobs=4, kinds=1).model_copy(update={"objective": "makespan"})
    best = int(optimum(inst))
    found = optsched.solve(inst, work_limit=20000).certificate
    for deadline in (best, best + 5):
        with pytest.raises(ValueError, match="is not excluded"):
            check(inst, found.model_copy(update={"deadline": deadline}))


@pytest.mark.parametrize("objective", ["flow", "wait", "slowdown"])
@pytest.mark.parametrize("seed", range(6))
def test_the_relaxation_has_the_value_of_the_program_over_seconds(seed, objective):
    inst = random_log(seed, jobs=5, kinds=1).model_copy(update={"objective": objective})
    jobs, weight = inst.jobs, inst.weight
    end = max(job.arrival for job in jobs) + sum(job.run for job in jobs)
    starts = [(i, s) for i, j in enumerate(jobs) for s in range(j.arrival, end - j.run + 1)]
    cost = [float(Cost(objective, jobs[i]).at(s)) / weight for i, s in starts]
    use = np.zeros((end, len(starts)))
    for v, (i, s) in enumerate(starts):
        use[s : s + jobs[i].run, v] = jobs[i].need[0] * jobs[i].tasks
    once = np.array([[float(i == k) for i, _ in starts] for k in range(len(jobs))])
    capacity = np.full(end, inst.total[0])
    program = linprog(cost, A_ub=use, b_ub=capacity, A_eq=once, b_eq=np.ones(len(jobs)))
    relaxed = optsched.relax(inst)
    assert relaxed.bound_level is Level.CERTIFIED
    assert relaxed.bound == pytest.approx(program.fun, rel=1e-6, abs=1e-9)


def test_a_relaxed_certificate_has_nothing_that_bounds_schedules_only():
    relaxed = {"relaxed": True}
    with pytest.raises(ValueError, match="relaxed: there are surcharges, expected none"):
        check(PAIR, RigidCertificate.root(PAIR, sized(), 0).model_copy(update=relaxed))
    plain = RigidCertificate.root(PAIR, Prices(times=(0, 10), price=((1,),)), 0)
    tree = (Split(job=0, at=0, left=1, right=2), Leaf(prices=0), Leaf(prices=0))
    with pytest.raises(ValueError, match="relaxed: there is a tree, expected one leaf"):
        check(PAIR, plain.model_copy(update=relaxed | {"nodes": tree}))
    late = PAIR.model_copy(update={"objective": "makespan"})
    with pytest.raises(ValueError, match="relaxed: expected an objective other than makespan"):
        check(late, RigidCertificate.root(late, plain.prices[0], 0, relaxed=True))


def test_no_jobs():
    inst = random_log(1).model_copy(update={"jobs": ()})
    for objective in OBJECTIVES:
        empty = inst.model_copy(update={"objective": objective})
        for method in FAMILY.methods:
            found = optsched.solve(empty, method=method, work_limit=1000)
            assert found.bound == 0 or found.bound is None
            assert method == "relaxation" or found.value == 0


def test_more_jobs_times_nodes_than_a_schedule_can_hold_are_refused():
    job = {"arrival": 0, "run": 1, "request": 1, "need": [1]}
    inst = FAMILY.instance.model_validate(
        {
            "resources": ["cores"],
            "packed": True,
            "machines": [{"count": 2**16, "capacity": [1]}],
            "jobs": [job] * 2**12,
        }
    )
    with pytest.raises(
        optsched.InputError, match="4096 jobs are packed onto 65536 nodes, expected at most"
    ):
        optsched.solve(inst, work_limit=10)


def test_jobs_of_several_tasks_are_packed_onto_a_single_node():
    wide = RigidJob(arrival=0, run=1, request=1, tasks=2, need=(2,))
    other = RigidJob(arrival=0, run=4, request=4, tasks=1, need=(2,))
    node = (Machine(capacity=(5,)),)
    inst = RigidInstance(resources=("p",), machines=node, packed=True, jobs=(wide, other, wide))
    found = optsched.solve(inst, work_limit=2000)
    assert (found.status, found.value) == (Status.OPTIMAL, 3.0)


def test_cpsat_takes_slowdowns_that_are_below_the_threshold():
    job = RigidJob(arrival=0, run=1, request=1, need=(1,))
    short = PAIR.model_copy(update={"jobs": (job,) * 2, "objective": "slowdown"})
    assert optsched.solve(short, method="cpsat", work_limit=500).value == 1.0
