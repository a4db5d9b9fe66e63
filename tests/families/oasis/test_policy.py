"""OASiS: the reference runs, a run worked by hand, and what it may know."""

import math

import pytest
from independent.oasis import FILES, load, schedule, simple_job
from knowing import prior_of

from optsched.core import simulate
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.policies.paper import Oasis
from optsched.numbers.resources import MachineClass
from optsched.numbers.streams import Streams
from optsched.scheduling.online.separated import ADMISSION

LN2 = math.log(2)
by_file = pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)


def job(arrival=0, epochs=1, chunks=1, time=1.0, worker=1.0, ps=1.0, **utility):
    """Return a job of ceil(epochs chunks time) worker-slots; every worker has its own PS."""
    return simple_job(
        arrival=arrival,
        epochs=epochs,
        chunks=chunks,
        batch_time=time,
        worker_demand=(worker,),
        ps_demand=(ps,),
        utility=utility or {"kind": "constant", "value": 8},
    )


def instance(*jobs, horizon=2, workers=2.0, ps=2.0):
    """Return one machine on either side, with one resource."""
    return OasisInstance(
        horizon=horizon,
        resources=("gpu",),
        worker_machines=(MachineClass(capacity=(workers,)),),
        ps_machines=(MachineClass(capacity=(ps,)),),
        jobs=jobs,
    )


def constant(value, **fields):
    return job(kind="constant", value=value, **fields)


# --- the reference ---


def sorted_rows(found):
    """Return the schedule with the entries of every job in order."""
    return [
        None if plan is None else (sorted(plan.workers), sorted(plan.ps)) for plan in found.jobs
    ]


@by_file
def test_the_prior_is_that_of_the_reference(path):
    inst, reference = load(path)
    prior = prior_of(inst, Oasis())
    for key in ("ln_U1", "ln_U2"):
        known = reference[key.replace("_", "")]
        assert [u is None for u in prior[key]] == [u is None for u in known]
        pairs = [(u, k) for u, k in zip(prior[key], known, strict=True) if k is not None]
        assert [u for u, _ in pairs] == pytest.approx([k for _, k in pairs], rel=1e-12)
    for key in ("ln_L1", "ln_L2"):
        known = reference[key.replace("_", "")]
        assert prior[key] == (None if known is None else pytest.approx(known, rel=1e-12))
    assert 2 * prior["alpha"] == pytest.approx(reference["guarantee"], rel=1e-12)
    promised = simulate(inst, "oasis").guarantee  # demands are not negligible
    assert promised is None or promised > reference["guarantee"]


@by_file
def test_the_run_is_that_of_the_reference(path):
    inst, reference = load(path)
    known = reference["online"]
    run = simulate(inst, "oasis")
    assert list(run.completion) == known["completion"]
    assert sorted_rows(run.schedule) == sorted_rows(schedule(known["schedule"]))
    assert run.value == pytest.approx(known["value"])
    assert run.prior == prior_of(inst, Oasis())


@by_file
def test_payoffs_when_jobs_are_admitted(path):
    inst, reference = load(path)
    policy = Oasis()
    policy.start(inst.platform(), prior_of(inst, policy), Streams(0))
    order = sorted(range(len(inst.jobs)), key=lambda i: (inst.jobs[i].arrival, i))
    payoffs = {i: policy.admit(i, inst.jobs[i]) for i in order}
    for i, known in enumerate(reference["online"]["payoffs"]):
        assert payoffs[i] == (None if known is None else pytest.approx(known)), i


@by_file
@pytest.mark.parametrize("options", [{}, {"granularity": "chunk"}, {"L_floor": 0.1}], ids=str)
def test_it_does_not_see_the_future(path, options):
    inst, _ = load(path)
    prior = prior_of(inst, Oasis(**options))
    whole = simulate(inst, Oasis(**options), prior=prior)
    for now in sorted({j.arrival for j in inst.jobs})[:-1]:
        known = [i for i, j in enumerate(inst.jobs) if j.arrival <= now]
        past = inst.model_copy(update={"jobs": tuple(inst.jobs[i] for i in known)})
        past = OasisInstance.model_validate(past.model_dump())
        run = simulate(past, Oasis(**options), prior=prior)
        assert list(run.schedule.jobs) == [whole.schedule.jobs[i] for i in known], now


# --- by hand ---


def test_a_run_by_hand():
    """Every job takes one worker-slot of the two in each of two slots.

    U = 8 / 1. 1 / eta = W w / (T c) = 1 / 4, L = 1 / 4 * 1 / 4 * 0.5 / 1 = 1 / 32, on both sides.
    A machine that is empty, half used, full costs 1 / 32, 1 / 2, 8. So a job pays 1 / 16 or 1.
    """
    jobs = (constant(8), constant(8), constant(0.5), constant(8), constant(4), constant(8))
    inst = instance(*jobs)
    run = simulate(inst, "oasis")
    prior = {
        "ln_U1": [pytest.approx(3 * LN2)],
        "ln_L1": pytest.approx(-5 * LN2),
        "ln_U2": [pytest.approx(3 * LN2)],
        "ln_L2": pytest.approx(-5 * LN2),
        "alpha": pytest.approx(8 * LN2),
        "most_workers": 1,
        "most_work": 1,
    }
    assert run.prior == prior
    # a job takes half a machine: a = (16 - 1) / (1 / 2), b = 16, D = 2 * 16 * 1 / 32 * 4, v = 8
    assert run.guarantee == pytest.approx(30 * 16 / (1 - 4 / 8), rel=1e-5)
    # job 1 goes where it is empty; job 2 is not worth 1; job 3 ties and goes first; 5 finds no room
    assert run.completion == (0, 1, None, 0, 1, None)
    assert run.value == 8 + 8 + 8 + 4
    policy = Oasis()
    policy.start(inst.platform(), prior_of(inst, policy), Streams(0))
    payoffs = [policy.admit(i, j) for i, j in enumerate(jobs)]
    assert payoffs == [pytest.approx(8 - 1 / 16)] * 2 + [
        None,
        pytest.approx(7),
        pytest.approx(3),
        None,
    ]


def test_jobs_run_when_planned():
    late = constant(8, arrival=1)
    run = simulate(instance(constant(8), late), "oasis")
    assert [plan.workers for plan in run.schedule.jobs] == [((0, 0, 1),), ((1, 0, 1),)]
    assert run.information == "after"


def test_the_utility_must_beat_the_cost_by_more_than_rounding():
    # one job alone: U = f / 1, L = f / 4; it pays 2 L = f / 2 on a machine of its size in one slot
    inst = instance(constant(8), horizon=1, workers=1, ps=1)
    policy = Oasis()
    prior = dict(prior_of(inst, policy))
    assert prior["ln_L1"] == pytest.approx(math.log(2))
    for factor, admitted in ((2 * (1 - ADMISSION / 2), False), (2 * (1 - 3 * ADMISSION), True)):
        shift = math.log(factor)
        dear = prior | {k: prior[k] + shift for k in ("ln_L1", "ln_L2")}
        run = simulate(inst, policy, prior=dear)
        assert (run.completion == (0,)) is admitted


# --- options ---


def test_l_counts_utilities_above_the_floor_only():
    fading = {"kind": "table", "values": [8, 4, 0.5]}
    inst = instance(job(**fading), horizon=3)
    least = prior_of(inst, Oasis())["ln_L1"]
    # 1 / eta = 1 / (3 * 2)
    assert least == pytest.approx(math.log(0.5 / 4 / 6))
    for side, floor, logarithm in (
        (1, 0.05, least),
        (1, 0.5, math.log(4 / 4 / 6)),
        (2, 1, math.log(8 / 4 / 6)),
    ):
        prior = prior_of(inst, Oasis(L_floor=floor))
        assert prior[f"ln_L{side}(floor={floor})"] == pytest.approx(logarithm)


def test_zero_utilities_do_not_count_in_l():
    inst = instance(job(kind="table", values=[8, 4, 0, 0]), horizon=4)
    assert prior_of(inst, Oasis())["ln_L1"] == pytest.approx(math.log(4 / 4 / 8))
    assert prior_of(instance(constant(0)), Oasis())["ln_L1"] is None


def test_time_critical_jobs_keep_their_logarithms():
    critical = {"kind": "sigmoid", "scale": 1, "decay": 6, "target": 1}
    inst = instance(job(**critical), horizon=200)
    # f(199) = exp(-6 * 198), far below the smallest float
    assert prior_of(inst, Oasis())["ln_L1"] == pytest.approx(-6 * 198 - math.log(4 * 400))
    assert simulate(inst, "oasis").completion == (0,)


@pytest.mark.parametrize(
    "options", [{"U_factor": 4}, {"L_factor": 0.25}, {"L_floor": 0.5}], ids=str
)
def test_wrong_estimates_shift_the_logarithms_and_void_the_guarantee(options):
    inst = instance(constant(8), constant(4))
    shift = {k: math.log(options.get(f"{k}_factor", 1)) for k in "UL"}
    true, wrong = Oasis(), Oasis(**options)
    for policy in (true, wrong):
        policy.start(inst.platform(), prior_of(inst, policy), Streams(0))
    for prices, right in (
        (wrong.scheduler.worker_prices, true.scheduler.worker_prices),
        (wrong.scheduler.ps_prices, true.scheduler.ps_prices),
    ):
        assert prices.lower == pytest.approx(right.lower + shift["L"])
        assert prices.span == pytest.approx(right.span + shift["U"] - shift["L"])
    assert "alpha" not in wrong.knows
    assert simulate(inst, Oasis(**options)).guarantee is None


def test_wrong_estimates_change_what_is_admitted():
    jobs = [constant(8), constant(8), constant(0.5), constant(8)]
    inst = instance(*jobs)
    assert simulate(inst, "oasis").completion == (0, 1, None, 0)
    # at U / 16 a half-used machine costs 1 / 8, so that job 2 is worth its place
    assert simulate(inst, Oasis(U_factor=1 / 16)).completion == (0, 1, 0, 1)
    # at 64 L an empty machine costs 2: job 2 is not worth it
    assert simulate(instance(jobs[2], jobs[0]), Oasis(L_factor=64)).completion == (None, 0)


def test_chunks_round_every_slot_up():
    # W = ceil(2 * 2 * 0.75) = 3 worker-slots; 1 chunk takes ceil(0.75) worker-slots, 2 take 2
    inst = instance(job(epochs=2, chunks=2, time=0.75), horizon=3)
    exact, chunk = (simulate(inst, Oasis(granularity=g)) for g in ("exact", "chunk"))
    assert exact.schedule.jobs[0].workers == ((0, 0, 2), (1, 0, 1))
    assert chunk.schedule.jobs[0].workers == ((0, 0, 2), (1, 0, 2))
    assert chunk.prior["most_work(granularity=chunk)"] == 4
    # W = ceil(2 * 3 * 0.75) = 5; 4 chunks take 3 worker-slots, so that 6 chunks take 3 + 2
    inst = instance(job(epochs=2, chunks=3, time=0.75), horizon=3, workers=4, ps=4)
    chunk = simulate(inst, Oasis(granularity="chunk"))
    assert chunk.schedule.jobs[0].workers == ((0, 0, 3), (1, 0, 2))
    # a chunk that takes longer than N worker-slots fits in no slot at all
    long = instance(job(epochs=1, chunks=1, time=1.5), horizon=3)
    assert simulate(long, "oasis").completion == (1,)
    assert simulate(long, Oasis(granularity="chunk")).completion == (None,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"L_floor": 1.5}, r"L_floor is 1\.5, expected a share in \[0, 1\]"),
        ({"U_factor": 0}, r"U_factor 0, L_factor 1\.0: expected factors above 0"),
        ({"L_factor": math.nan}, r"L_factor nan: expected factors above 0"),
        ({"granularity": "batch"}, r"granularity is 'batch', expected 'exact' or 'chunk'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Oasis(**options)


# --- unusual instances ---


def test_a_job_that_can_never_finish_is_turned_away_and_counts_in_the_prior():
    never = constant(8, epochs=9)
    inst = instance(never, constant(8))
    run = simulate(inst, "oasis")
    assert run.completion == (None, 0)
    assert run.schedule.jobs[0] is None
    # the greatest W / f counts: L = 1 / 4 * 1 / 4 * 8 / 9
    assert run.prior["ln_L1"] == pytest.approx(math.log(8 / 16 / 9))


def test_a_worker_that_fits_nowhere_is_turned_away():
    run = simulate(instance(constant(8, worker=3.0), constant(8)), "oasis")
    assert run.completion == (None, 0)


def test_a_side_that_nobody_demands_is_free():
    inst = instance(constant(8, ps=0.0), constant(4, ps=0.0))
    run = simulate(inst, "oasis")
    assert run.prior["ln_L2"] is None
    assert run.prior["ln_U2"] == [None]
    assert run.prior["alpha"] == pytest.approx(run.prior["ln_U1"][0] - run.prior["ln_L1"])
    assert run.value == 12


def test_jobs_that_demand_nothing_are_all_admitted():
    jobs = [constant(1, worker=0.0, ps=0.0) for _ in range(5)]
    run = simulate(instance(*jobs), "oasis")
    assert run.completion == (0,) * 5
    assert run.guarantee == 2


def test_no_jobs_at_all():
    run = simulate(instance(), "oasis")
    assert run.value == 0
    assert run.completion == ()


def test_a_job_that_can_never_finish_needs_no_memory():
    endless = constant(8, epochs=10**9)
    run = simulate(instance(endless, constant(8)), "oasis")
    assert run.completion == (None, 0)
    assert run.prior["most_work"] == 3  # one more than its two slots can do
