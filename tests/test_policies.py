"""What a policy can see, keep and change: nothing that is to come, and nothing that is judged."""

import numpy as np
import pytest
from knowing import prior_of

import optsched
import optsched.cli.console
from optsched.core import compare, simulate
from optsched.families.bipartite.policies.baselines import Drf
from optsched.families.completion.instance import Piece
from optsched.families.completion.policies.paper import AOnline
from optsched.families.oasis.policies import Fifo
from optsched.families.oasis.policies.paper import Oasis
from optsched.policies.knowledge import prior_name
from optsched.problem import InputError, PolicyError, get_family
from optsched.scheduling.placement import Placement


@pytest.fixture
def oasis():
    return get_family("oasis").generate("small", seed=1)


@pytest.fixture
def bipartite():
    return get_family("bipartite").generate("small", seed=1, slots=6)


class Blind:
    """Knows nothing, does nothing; the cheats below change that."""

    name = "blind"
    information = "after"
    knows = ()

    def start(self, public, _prior, _streams):
        self.public = public

    def step(self, _event):
        return {}


# --- looking ahead ---


def test_nobody_decides_before_bags_of_tasks_are_there():
    inst = get_family("bot").generate("small", seed=1)
    with pytest.raises(InputError, match='information is "before"'):
        list(get_family("bot").events(inst, "before"))


@pytest.mark.parametrize("family", ["oasis", "dmlrs", "completion", "bipartite"])
def test_who_decides_before_a_slot_is_told_of_the_slot_before(family):
    inst = get_family(family).generate("small", seed=1)
    events = get_family(family).events

    def shown(information):
        write = get_family(family).wire.event
        return [write(event)["jobs"] for event in events(inst, information)]

    after, before = shown("after"), shown("before")
    assert before[1:] == after[:-1]
    assert not any(before[0].values() if isinstance(before[0], dict) else before[0])


def test_no_other_slot_can_be_reached_from_an_event(bipartite):
    seen = []

    class Peeks(Blind):
        def step(self, event):
            array = event.jobs
            while array.base is not None:
                array = array.base
            seen.append(array.shape)
            return np.zeros(self.public.arrays.channels)

    simulate(bipartite, Peeks())
    assert set(seen) == {(bipartite.arrays.copies,)}


def test_who_asks_for_an_instance_gets_none(oasis):
    class Clairvoyant(Blind):
        def prior(self, _instance):
            raise AssertionError("was shown the instance")

    policy = Clairvoyant()
    assert simulate(oasis, policy).value == 0
    policy.knows = ("instance",)
    with pytest.raises(InputError, match="requests 'instance', but family oasis publishes"):
        simulate(oasis, policy)


def test_late_answers_come_too_late(oasis):
    class LateAnswers(Blind):
        def start(self, public, prior, streams):
            super().start(public, prior, streams)
            self.answers, self.placements = [], []

        def step(self, event):
            answer, placement = {}, Placement({}, {})
            self.answers.append(answer)
            for i in event.jobs:
                answer[i] = placement
                self.placements.append(placement)
            if event.slot == self.public.horizon - 1:
                for old in self.answers:
                    old[0] = Placement({0: 1}, {0: 1})
                for old in self.placements:
                    old.workers[0] = old.ps[0] = 1
            return {}

    run = simulate(oasis, LateAnswers())
    assert run.value == 0
    assert not any(run.schedule.jobs)


def test_late_numbers_come_too_late(bipartite):
    class LateNumbers(Blind):
        def start(self, public, prior, streams):
            super().start(public, prior, streams)
            self.answer = np.zeros(public.arrays.channels)

        def step(self, event):
            self.answer[0] = 1e-3 * event.slot
            return self.answer

    run = simulate(bipartite, LateNumbers())
    assert [run.schedule.decisions[d][0] for d in run.schedule.used] == [
        pytest.approx(1e-3 * t) for t in range(bipartite.horizon)
    ]


def test_nothing_is_decided_for_slots_that_are_over():
    inst = get_family("completion").generate("small", seed=1)
    honest = simulate(inst, "fifo")

    class Backdates(Blind):
        def step(self, event):
            if event.slot < inst.horizon:
                return {}
            return {j: list(pieces) for j, pieces in enumerate(honest.schedule.jobs)}

    with pytest.raises(PolicyError, match=r"a piece of job 0 begins in slot \d+, expected none"):
        simulate(inst, Backdates())


def test_a_later_decision_takes_the_place_of_what_has_not_been_done():
    inst = get_family("completion").generate("small", seed=1)
    run = simulate(inst, "fifo")
    piece = run.schedule.jobs[0][0]
    family = get_family("completion")
    events = list(family.events(inst))
    early = piece.model_copy(update={"duration": 5})
    stop, again = piece.start + 2, piece.model_copy(update={"start": piece.start + 4})
    played = [
        (events[piece.start], {0: (early,)}),
        (events[stop], {0: ()}),
        (events[stop + 1], {0: (again,)}),
    ]
    found = family.assemble(inst, played).jobs[0]
    assert [(p.start, p.duration) for p in found] == [
        (piece.start, 2),
        (piece.start + 4, piece.duration),
    ]


@pytest.mark.parametrize("family", ["oasis", "dmlrs", "completion"])
def test_nobody_decides_on_a_job_that_has_not_come(family):
    inst = get_family(family).generate("small", seed=1)
    last = max(range(len(inst.jobs)), key=lambda i: inst.jobs[i].arrival)
    piece = Piece(start=9, duration=1, worker_type=0, ps_type=0, workers=((0, 1),), ps=((0, 1),))

    class Guesses(Blind):
        def step(self, event):
            if event.slot:
                return {}
            return {last: [piece] if family == "completion" else Placement({0: 1}, {0: 1})}

    assert inst.jobs[last].arrival > 0
    with pytest.raises(PolicyError, match=f"decides on job {last}, which has not arrived"):
        simulate(inst, Guesses())


# --- bending what is judged ---


def test_what_a_policy_is_shown_cannot_be_written(bipartite):
    class Headroom(Drf):
        name = "headroom"

        def prepare(self):
            free = self.arrays.capacity
            free *= 0.9
            super().prepare()

    with pytest.raises(
        PolicyError, match=r"read-only\n.*test_policies.py, line \d+, prepare: free"
    ):
        simulate(bipartite, Headroom())


class Headroom(Drf):
    """Keeps 10 % free, by force."""

    name = "headroom"

    def prepare(self):
        free = self.arrays.capacity
        free.setflags(write=True)
        free *= 0.9
        super().prepare()


class Bends(Drf):
    """Makes the machines large, and uses them."""

    name = "bends"

    def prepare(self):
        for array in (self.arrays.capacity, self.arrays.request, self.arrays.upper):
            array.setflags(write=True)
            array[:] = 1e6
        super().prepare()


class Accident(Blind):
    """An honest ledger in place."""

    name = "accident"

    def start(self, public, _prior, _streams):
        self.arrays, self.free = public.arrays, public.arrays.capacity
        self.free.setflags(write=True)

    def step(self, event):
        a, y = self.arrays, np.zeros(self.arrays.channels)
        for row in range(len(a.capacity)):
            for i in range(a.start[row], a.start[row + 1]):
                if event.jobs[a.port[i]]:
                    y[i] = min(a.upper[i], self.free[row]) * 0.5
                    self.free[row] -= y[i]
        return y


@pytest.mark.slow
def test_writing_into_capacities_changes_neither_optimum_nor_judge(bipartite):
    best = compare(bipartite, ["drf"], time_limit=60)
    for policy in (Headroom(), Accident()):
        report = compare(bipartite, [policy], time_limit=60)
        assert report.optimum.value == best.optimum.value
        assert report.optimum.bound == best.optimum.bound
        assert report.policies[0].value <= best.optimum.value
        assert report.policies[0].ratio.low >= 1
    with pytest.raises(PolicyError, match=r"bends broke the model: rejected"):
        compare(bipartite, [Bends()], time_limit=60)


def test_writing_into_jobs_changes_neither_optimum_nor_judge(oasis):
    class Work(Fifo):
        name = "work"

        def step(self, event):
            for job in event.jobs.values():
                job.__dict__["epochs"] = 1
                job.__dict__["arrival"] = 0
            self.platform.__dict__["worker_machines"] = ()
            object.__setattr__(event, "slot", 0)
            return super().step(event)

    honest = compare(oasis, ["fifo"], time_limit=60)
    bent = compare(oasis, [Work()], time_limit=60)
    assert bent.optimum.value == honest.optimum.value
    assert bent.optimum.bound == honest.optimum.bound
    assert oasis.digest() == bent.optimum.instance_sha256
    assert bent.policies[0].value <= honest.optimum.value


def test_caches_of_an_instance_lift_no_result(oasis):
    """What is written next to the fields is forgotten: everybody works on a copy of the fields."""
    honest = compare(oasis, ["fifo"], time_limit=60)
    oasis.__dict__["work"] = (1,) * len(oasis.jobs)
    bent = compare(oasis, ["fifo"], time_limit=60)
    assert bent.policies[0].value == honest.policies[0].value
    assert bent.optimum.value == honest.optimum.value


def test_a_changed_instance_is_an_error_that_names_the_policy(oasis):
    class Reaches(Blind):
        name = "reaches"

        def step(self, _event):
            oasis.jobs[0].__dict__["epochs"] = 1  # by whatever way it got there
            return {}

    with pytest.raises(PolicyError, match="policy reaches has changed the instance"):
        simulate(oasis, Reaches())


# --- what is known beforehand ---


def test_knowledge_is_computed_by_the_family_and_stored(oasis):
    class Knows(Blind):
        knows = ("jobs", prior_name("ln_L1", floor=0.5))

        def start(self, _public, prior, _streams):
            self.known = prior

    policy = Knows()
    run = simulate(oasis, policy)
    assert run.prior == policy.known == prior_of(oasis, policy)
    assert run.prior["jobs"] == len(oasis.jobs)
    policy.known["jobs"] = 99
    assert run.prior["jobs"] == len(oasis.jobs)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("ln_U9",), "requests 'ln_U9', but family oasis publishes: ln_U1, ln_L1"),
        (("ln_L1(roof=1)",), r"requests 'ln_L1\(roof=1\)': .*roof"),
        (("own:mean",), "'own:mean', which is not registered for family oasis"),
        ("jobs", "knows is 'jobs', expected a tuple of names"),
        ((1,), "expected a tuple of names"),
    ],
)
def test_unknown_knowledge_is_refused(oasis, names, message):
    policy = Blind()
    policy.knows = names
    with pytest.raises(InputError, match=message):
        simulate(oasis, policy)


@pytest.mark.parametrize("name", ["run_times()", "run_times( )", "run_times( , )"])
def test_knowledge_without_parameters_has_no_brackets(name):
    inst = get_family("rigid").generate("small", seed=1)
    policy = Blind()
    policy.knows = (name,)
    for prior in (None, {name: [1]}):  # of which no table would say "exact", or "future"
        with pytest.raises(InputError, match=r"expected 'run_times', without empty brackets"):
            simulate(inst, policy, prior=prior)


def test_a_prior_that_is_handed_in_has_the_names_that_are_asked_for(oasis):
    inst = get_family("completion").generate("small", seed=1)
    run = simulate(inst, "a_online")
    assert run.guarantee is not None
    again = simulate(inst, "a_online", prior=run.prior)
    assert again.schedule == run.schedule
    assert again.guarantee is None
    prior = prior_of(oasis, Oasis())
    with pytest.raises(
        InputError, match=r"policy blind: the prior has ln_U1, .*, expected nothing"
    ):
        simulate(oasis, Blind(), prior=prior)
    policy = Blind()
    policy.knows = ("jobs",)
    with pytest.raises(InputError, match="jobs is no data that JSON can hold"):
        simulate(oasis, policy, prior={"jobs": oasis})


def test_theorems_are_about_the_familys_own_policies_only():
    inst = get_family("completion").generate("small", seed=1)

    class Variant(AOnline):
        """Somebody's variant."""

        def __init__(self):
            super().__init__()
            self.name = "variant"

    own, other = simulate(inst, AOnline()), simulate(inst, Variant())
    assert own.prior == other.prior
    assert own.guarantee is not None
    assert other.guarantee is None


def test_theorems_are_about_decisions_of_the_familys_own_policies(tmp_path):
    inst = get_family("completion").generate("small", seed=1)
    policy = AOnline()
    assert [simulate(inst, policy).guarantee for _ in range(2)] == [156, 156]
    policy.step = lambda _event: {}
    with pytest.raises(InputError, match="its name 'a_online' is that of a policy of family"):
        simulate(inst, policy)
    file = tmp_path / "own.py"
    file.write_text(
        "from optsched.families.completion.policies.paper import AOnline\n\n"
        "a_online, near = AOnline(most_workers=1), AOnline()\n"
    )
    with pytest.raises(InputError, match="its name 'a_online' is that of a policy of family"):
        simulate(inst, f"{file}:a_online")
    assert simulate(inst, f"{file}:near").guarantee is None


def test_run_times_of_jobs_to_come_are_of_the_future():
    inst = get_family("rigid").generate("small", seed=1)
    policy = get_family("rigid").policies["fcfs"]()

    class Told:
        name, information, knows = "told", "after", ("run_times",)
        start, step = policy.start, policy.step

    found = compare(inst, [Told(), "easy-exact"], work_limit=100)
    known = {row.name: row.information for row in found.policies}
    assert known == {"told": "after, future", "easy-exact": "after"}
    assert "knows future" in str(simulate(inst, Told()))


def test_a_policy_under_the_name_of_another_is_not_the_familys_own(oasis):
    policy = Fifo()
    policy.name = "oasis"
    with pytest.raises(PolicyError, match="its name 'oasis' is that of a policy of family oasis"):
        simulate(oasis, policy)


def test_own_statistics_are_marked_everywhere(oasis, capsys):
    handed = []

    @optsched.statistic("oasis", "mean_work")
    def mean_work(instance):
        handed.append(instance)
        instance.__dict__["work"] = (1,)
        return np.mean([job.epochs for job in instance.jobs])

    policy = Blind()
    policy.knows = ("own:mean_work",)
    report = compare(oasis, [policy, "fifo"], time_limit=30)
    assert report.runs[0].prior == {"own:mean_work": np.mean([j.epochs for j in oasis.jobs])}
    assert handed[0] is not oasis
    assert report.runs[0].own == report.policies[0].own == ("own:mean_work",)
    assert report.policies[1].own == ()
    assert "knows own:mean_work" in str(report)
    assert report.summary()["policies"][0]["own"] == ["own:mean_work"]
    optsched.cli.console.show_ratios(optsched.cli.console.out(), report)
    said = capsys.readouterr().out
    assert "after, own:mean_work" in said
    assert "it also knew a statistic from outside" in said


def test_a_statistic_hands_on_data_and_no_objects(oasis):
    @optsched.statistic("oasis", "everything")
    def everything(instance):
        return {"the instance": instance}

    policy = Blind()
    policy.knows = ("own:everything",)
    with pytest.raises(InputError, match="own:everything is no data that JSON can hold"):
        simulate(oasis, policy)
    with pytest.raises(InputError, match="unknown family 'bags'"):
        optsched.statistic("bags", "x")
    with pytest.raises(InputError, match="expected letters, digits"):
        optsched.statistic("oasis", "a b")


# --- what goes wrong ---


@pytest.mark.parametrize(
    ("family", "answer", "message"),
    [
        ("oasis", None, "the decision is a NoneType, expected a mapping from jobs"),
        ("oasis", {0: 3}, "the decision has a int for job 0, expected a Placement"),
        ("oasis", {-1: Placement()}, "has -1 as a job, expected a whole number >= 0"),
        ("oasis", {0: Placement({0: 1.5}, {})}, "has 1.5 as a number"),
        ("dmlrs", {True: Placement()}, "has True as a job"),
        ("completion", {0: 7}, "has a int for job 0, expected a list of pieces"),
        ("completion", {0: [{"start": -1}]}, "has a wrong piece for job 0: start"),
        ("bipartite", {}, "the decision"),
        ("bot", {"rates": 1}, "the decision is no BotSchedule: rates"),
    ],
)
def test_a_decision_that_is_none_is_named(family, answer, message):
    inst = get_family(family).generate("small", seed=1)

    class Babbles(Blind):
        def step(self, _event):
            return answer

    with pytest.raises(PolicyError, match=message):
        simulate(inst, Babbles())
