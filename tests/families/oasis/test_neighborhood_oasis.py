"""The search begins with the best schedule that is known, and takes over better ones."""

import pytest
from independent.oasis import FILES, load, schedule

from optsched.engine.progress import Progress
from optsched.families.oasis import FAMILY
from optsched.families.oasis.instance import JobSchedule, OasisSchedule
from optsched.families.oasis.optimum.search.neighborhood import Neighborhood, flat_prices
from optsched.families.oasis.verify import verify
from optsched.scheduling.board import FACTORS

by_file = pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)


def area_of(inst) -> Neighborhood:
    return Neighborhood(inst, flat_prices(inst))


def watched(inst) -> Progress:
    return Progress(FAMILY, inst, time_limit=60.0, gap=0.0)


@by_file
def test_a_schedule_is_taken_over_as_it_is(path):
    inst, reference = load(path)
    best = schedule(reference["optimum_schedule"])
    area = area_of(inst)
    area.start()
    area.adopt(best)
    assert area.board.value == pytest.approx(reference["optimum"])
    again = verify(inst, area.schedule(area.board.plans))
    assert again.value == pytest.approx(reference["optimum"])
    # and it can be changed: all jobs out leave the machines empty
    whole = area_of(inst).board.free
    for i in list(area.board.plans):
        area.board.remove(i)
    assert all((a == b).all() for a, b in zip(area.board.free, whole, strict=True))


def test_places_named_twice_and_jobs_that_earn_nothing():
    inst, reference = load(FILES[0])
    best = schedule(reference["optimum_schedule"])
    split = OasisSchedule(
        jobs=tuple(
            None
            if job is None
            else JobSchedule(
                workers=[(t, h, 1) for t, h, n in job.workers for _ in range(n)],
                ps=[(t, h, 1) for t, h, n in job.ps for _ in range(n)],
            )
            for job in best.jobs
        )
    )
    area = area_of(inst)
    area.adopt(split)
    assert verify(inst, area.schedule(area.board.plans)).value == pytest.approx(
        reference["optimum"]
    )
    area.adopt(OasisSchedule(jobs=(JobSchedule(workers=(), ps=()),) * len(inst.jobs)))
    assert area.board.plans == {}


def test_jobs_come_in_at_multiples_of_the_prices():
    inst, _ = load(FILES[2])
    board = Neighborhood(inst, tuple(1e9 * p for p in flat_prices(inst))).board
    jobs = range(len(inst.jobs))
    assert not any(board.insert(i, len(FACTORS) - 1) for i in jobs)
    taken = [i for i in jobs if board.insert(i, 0)]
    assert taken == [*board.plans] != []
    assert all((free >= 0).all() for free in board.free)


def steps(inst, progress, *, then=lambda _passed: None, most=30) -> float:
    """Search for a number of steps from an empty state; return the value of what it ends with."""
    passed = 0

    def done() -> float:
        nonlocal passed
        passed += 1
        then(passed)
        return passed / most

    area = area_of(inst)
    plans = area.search(progress, seed=0, start=0, done=done)
    value = verify(inst, area.schedule(plans)).value
    assert value is not None
    return value


def test_it_begins_with_the_best_that_is_known():
    inst, reference = load(FILES[2])
    progress = watched(inst)
    progress.incumbent(0.0, schedule(reference["optimum_schedule"]))
    assert steps(inst, progress, most=1) == pytest.approx(reference["optimum"])
    assert steps(inst, watched(inst), most=1) < reference["optimum"] * 0.99  # by itself


def test_it_takes_over_what_arrives_and_is_better():
    inst, reference = load(FILES[2])
    progress = watched(inst)
    best = schedule(reference["optimum_schedule"])

    def arrive(passed):
        if passed == 20:
            progress.incumbent(reference["optimum"], best)

    assert steps(inst, progress, then=arrive, most=25) == pytest.approx(reference["optimum"])
