"""Branch and price: closes to brute force, bounds what does not pack, holds when stopped."""

from itertools import combinations, count

import pytest
from independent.oasis import optimum, random_instance, simple_job

from optsched.core import solve
from optsched.engine.branch import BranchAndPrice
from optsched.families.oasis.certificate.check import check
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.build_certificate import certify_tree
from optsched.families.oasis.optimum.tree.branching import UnitPriceBranching
from optsched.families.oasis.sources.presets import generate
from optsched.families.oasis.verify import verify
from optsched.numbers.resources import MachineClass
from optsched.problem import Level, Status

GAP = 1e-6
# the bound at the root is above the optimum, so that a tree is needed
BRANCHING = (4, 6, 13, 19, 26)
WHOLE = 0  # its relaxation is a schedule


def tree_of(inst, best, stop=lambda: False):
    """Return (search for a proof of ``best``, problem, bounds that were reported)."""
    problem, reported = UnitPriceBranching(inst), []
    search = BranchAndPrice(
        problem,
        target=lambda: best * (1 + GAP),
        stop=stop,
        improved=lambda tree: reported.append(tree.bound()),
        relaxed=lambda _: None,
    )
    return search, problem, reported


def alone(inst, stop):
    """Return a search that is told of no schedule, and the best value that it has found."""
    problem, found = UnitPriceBranching(inst), {"value": 0.0}

    def look(relaxation):
        schedule = problem.schedule(relaxation)
        if schedule is not None:
            found["value"] = max(found["value"], verify(inst, schedule).value)

    search = BranchAndPrice(
        problem,
        target=lambda: found["value"] * (1 + GAP),
        stop=stop,
        improved=lambda _: None,
        relaxed=look,
    )
    return search, found


def never_fits_together():
    """Return 6 jobs of one worker in the only slot; 3 machines; 5 jobs are the most.

    A machine holds two of jobs 0, 1, 2 or two of 3, 4, 5, never one of each kind. Either kind takes
    one and a half machines in fractions, so the bound is 6 for whole numbers of workers; on
    single machines either takes two.
    """
    pairs = [(i, j) for i in (0, 1, 2) for j in (3, 4, 5)]
    kinds = [(0, 1, 2), (3, 4, 5)]

    def demand(i):
        return (*(float(i in pair) for pair in pairs), *(float(i in kind) for kind in kinds))

    utility = {"kind": "constant", "value": 10}
    jobs = [
        simple_job(worker_demand=demand(i), ps_demand=(0.0,) * 11, utility=utility)
        for i in range(6)
    ]
    machine = MachineClass(count=3, capacity=(1.0,) * 9 + (2.0,) * 2)
    return OasisInstance(
        horizon=1,
        resources=tuple(f"r{k}" for k in range(11)),
        worker_machines=(machine,),
        ps_machines=(MachineClass(capacity=(1.0,) * 11),),
        jobs=tuple(jobs),
    )


@pytest.mark.parametrize("seed", range(40))
def test_it_closes_to_brute_force(seed):
    inst = random_instance(seed)
    best = optimum(inst)
    search, problem, reported = tree_of(inst, best)
    assert search.run()
    bound = search.tree.bound()
    assert best * (1 - 1e-9) <= bound <= best * (1 + 2 * GAP) + 1e-9
    assert reported == sorted(reported, reverse=True)
    certified = check(inst, certify_tree(problem, search.tree))
    assert certified == pytest.approx(bound, rel=1e-8, abs=1e-9)
    assert certified >= best * (1 - 1e-12)


def test_some_of_these_need_a_tree():
    for seed in BRANCHING:
        inst = random_instance(seed)
        best = optimum(inst)
        search, _, _ = tree_of(inst, best)
        search.run()
        assert len(search.tree.nodes) > 1, seed


def test_without_a_target_it_finds_the_optimum_by_itself():
    """A leaf whose schedule is whole cannot be split: its bound is the value of that schedule."""
    for seed in BRANCHING:
        inst = random_instance(seed)
        search, found = alone(inst, stop=lambda: False)
        search.run()
        assert found["value"] == pytest.approx(optimum(inst), rel=1e-6), seed
        assert search.tree.bound() == pytest.approx(found["value"], rel=1e-6), seed


@pytest.mark.parametrize("most", range(16))
def test_bound_and_certificate_hold_wherever_it_is_stopped(most):
    inst = random_instance(BRANCHING[0])
    best, steps = optimum(inst), count()
    search, problem, _ = tree_of(inst, best, stop=lambda: next(steps) >= most)
    search.run()
    certified = check(inst, certify_tree(problem, search.tree))
    assert certified == pytest.approx(search.tree.bound(), rel=1e-8)
    assert certified >= best * (1 - 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("most", range(40))
def test_it_goes_on_wherever_it_was_stopped(most):
    """The clock may have ended anything: what was cut short is taken up again, and closes."""
    inst, steps = random_instance(BRANCHING[0]), {"left": most}

    def stop():
        steps["left"] -= 1
        return steps["left"] < 0

    search, _ = alone(inst, stop)
    search.run()
    steps["left"] = 10**9
    assert search.run()
    assert search.tree.bound() == pytest.approx(optimum(inst), rel=1e-6)


def test_a_leaf_that_was_cut_short_is_not_given_up():
    """Where nobody hears of the root's schedule, there is nothing left to do but for the clock."""
    inst = random_instance(WHOLE)
    steps = {"left": 10**9}

    def stop():
        steps["left"] -= 1
        return steps["left"] < 0

    def run(most):
        problem = UnitPriceBranching(inst)
        search = BranchAndPrice(
            problem,
            target=lambda: 0.0,
            stop=stop,
            improved=lambda _: None,
            relaxed=lambda _: None,
        )
        steps["left"] = most
        return search, search.run()

    search, done = run(10**9)
    assert not done
    assert search.stuck == [0]
    asked = 10**9 - steps["left"]
    for most in range(asked):
        search, _ = run(most)
        assert not search.stuck, most
        assert search.open, most


def test_nothing_is_left_to_split_where_numbers_do_not_pack():
    inst = never_fits_together()
    search, problem, _ = tree_of(inst, 50.0)
    assert not search.run()
    assert search.stuck
    assert check(inst, certify_tree(problem, search.tree)) >= 60 * (1 - 1e-9)


@pytest.mark.slow
def test_the_answer_is_right_where_numbers_do_not_pack():
    inst = never_fits_together()
    # by hand: all pairs of different kinds conflict, and no machine holds three of a kind
    for i, j in combinations(range(6), 2):
        together = [
            a + b for a, b in zip(*(inst.jobs[k].worker_demand for k in (i, j)), strict=True)
        ]
        fits = all(d <= c for d, c in zip(together, inst.worker_machines[0].capacity, strict=True))
        assert fits == ((i < 3) == (j < 3))
    found = solve(inst, time_limit=60)
    assert found.value == 50
    assert found.bound == pytest.approx(50, rel=1e-6)
    assert found.bound_level is Level.CLAIMED
    assert found.certified_bound >= 60 * (1 - 1e-9)


@pytest.mark.exhaustive
def test_a_schedule_met_in_a_leaf_closes_the_leaf():
    """The leaf is a better schedule than any known, but its bound has not converged yet."""
    inst = generate("paper", seed=8, jobs=10, slots=10, machines=60)
    found = solve(inst, time_limit=120)
    assert found.status is Status.OPTIMAL
    assert found.bound_level is Level.CERTIFIED


def test_plateaus_of_a_utility_are_disjoint():
    # every slot earns 0.9 of what is negligible less than the one before, in a slow decline
    kind = {"kind": "sigmoid", "scale": 2.0, "decay": 1.8e-8, "target": 0.0}
    text = generate("small", seed=0).model_dump()
    quick = {"chunks": 1, "batches_per_chunk": 1}  # it can complete on arrival
    job = {**text["jobs"][0], **quick, "arrival": 2, "utility": kind}
    inst = OasisInstance.model_validate({**text, "jobs": [job]})
    (last,) = UnitPriceBranching(inst).deadline
    assert last[2:].tolist() == [3, 3, 5, 5]
    assert (last[last] == last).all()
