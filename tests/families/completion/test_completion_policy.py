"""A_online against the known replays, its guarantee, and what all policies must keep to."""

import numpy as np
import pytest
from independent.completion import FILES, load, schedule
from knowing import prior_of

from optsched.core import simulate
from optsched.families.completion import FAMILY
from optsched.families.completion.certificate.check import CompletionCertificate, check
from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.modes import Cluster
from optsched.families.completion.online import assemble, events
from optsched.families.completion.policies.baselines import AntMan, Drf, Fifo, Tiresias
from optsched.families.completion.policies.max_weight import max_weight
from optsched.families.completion.policies.paper import AOnline, blocks, price_base, weight_bound
from optsched.families.completion.sources.presets import generate
from optsched.families.completion.verify import verify
from optsched.numbers.streams import Streams
from optsched.problem import InputError


def play(inst, policy, prior):
    """Return the schedule of a run with a prior that may be anything."""
    policy.start(inst.platform(), prior, Streams(0))
    return assemble(inst, [(event, policy.step(event)) for event in events(inst)])


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_online_replays_the_known_runs(path):
    inst, known = load(path)
    answer = known["online"]["earliest"]
    policy = AOnline()
    made = play(inst, policy, prior_of(inst, policy))
    verdict = verify(inst, made, unfinished=True)
    assert made == schedule(answer["schedule"])
    assert verdict.value == answer["value"]
    assert list(verdict.completion) == answer["completion"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_prior_and_guarantee_are_the_known_ones(path):
    inst, known = load(path)
    prior = prior_of(inst, AOnline())
    assert prior["F"] == pytest.approx(known["F"])
    assert prior["lambda"] == pytest.approx(known["lam"])
    assert FAMILY.guarantee(inst, "a_online", prior) == known["guarantee"]
    assert FAMILY.guarantee(inst, "fifo", {}) is None


def test_alpha_by_hand():
    # lambda 16: g = 2 log2 16 = 8; log2(8 / 7) = 0.1926; log2 of (1 + 3) / 1 = 2; 10.38 -> 11
    assert blocks([1.0, 3.0], 16.0) == 11
    assert blocks([5.0], 16.0) == 1


def test_f_can_be_handed_in():
    inst = generate("small", seed=3)
    least = weight_bound(inst)
    assert prior_of(inst, AOnline())["F"] == least
    prior = prior_of(inst, AOnline(50.0))
    assert least <= 50
    assert prior["lambda(F=50.0)"] == price_base(inst, 50.0)
    assert simulate(inst, AOnline(50.0)).guarantee == 4 * prior["alpha(F=50.0)"]
    assert simulate(inst, AOnline(least / 2)).guarantee is None  # too small for (11)
    assert simulate(inst, AOnline(most_workers=1)).guarantee is None  # another algorithm
    with pytest.raises(ValueError, match="F is 0"):
        AOnline(0)


@pytest.mark.parametrize("architecture", ["ps", "ring"])
@pytest.mark.parametrize("name", FAMILY.compared)
def test_policies_keep_to_their_rules(name, architecture):
    inst = generate("mid", seed=2, architecture=architecture)
    run = simulate(inst, name)
    assert run.obeys == (name not in ("antman", "tiresias")) or run.obeys
    assert None not in run.completion
    least = check(inst, CompletionCertificate.root(inst, np.zeros((1, 1, 1)), 20))
    assert run.value >= least


def test_policies_differ_from_each_other():
    values = {}
    for name in FAMILY.compared:
        values[name] = tuple(simulate(generate("mid", seed=s), name).value for s in range(4))
    assert len(set(values.values())) == len(values)


def test_baselines_preempt_where_they_may():
    inst = generate("mid", seed=3, jobs=15, machines=3)
    pieces = {
        policy.name: max(len(job) for job in simulate(inst, policy).schedule.jobs)
        for policy in (Fifo(), Drf(), Tiresias())
    }
    assert pieces["fifo"] == pieces["drf"] == 1
    assert pieces["tiresias"] > 1
    assert not simulate(inst, Tiresias()).obeys


@pytest.mark.parametrize("kind", [Tiresias, AntMan])
def test_stopped_jobs_may_have_to_pay(kind):
    inst, cost = generate("mid", seed=3, jobs=15, machines=3), 3
    free, dear = (simulate(inst, kind(cost=slots)) for slots in (0, cost))
    assert dear.value > free.value
    assert max(map(len, dear.schedule.jobs)) > 1
    for job, pieces in zip(inst.jobs, dear.schedule.jobs, strict=True):
        done = 0
        for k, piece in enumerate(pieces):
            where = (piece.worker_type, piece.ps_type or 0, piece.together, piece.number)
            again = k > 0 and pieces[k - 1].end < piece.start
            slots = piece.duration - (min(cost, piece.duration) if again else 0)
            done += slots * piece.number / inst.batch_slots(job, *where)
        assert done >= job.batches * (1 - 1e-9)


def test_parameters_of_baselines_are_checked():
    with pytest.raises(ValueError, match="fifo: workers is 0"):
        Fifo(0)
    with pytest.raises(ValueError, match="antman: share 2"):
        AntMan(2.0)
    with pytest.raises(ValueError, match="tiresias: cost -1"):
        Tiresias(cost=-1)


def test_a_job_that_fits_nowhere_is_refused():
    inst = generate("small", seed=0)
    content = inst.model_dump()
    for servers in content["servers"]:
        servers["capacity"] = (1.0, 0.0, 1.0, 1.0)
    tight = CompletionInstance.model_validate(content)
    with pytest.raises(InputError, match="job 0: fits on no servers in any way"):
        simulate(tight, "a_online")


def test_max_weight_respects_the_deadline_and_rejects_what_costs_too_much():
    inst = generate("mid", seed=0, jobs=15, machines=2)
    cluster = Cluster(inst)
    tasks = {j: cluster.task(job) for j, job in enumerate(inst.jobs)}
    dear = max_weight(cluster, tasks, range(15), 16, 1e9)
    dense = max_weight(cluster, tasks, range(15), 16, 1e9, order="density")
    for found in (dear, dense):
        assert found
        assert all(piece.end <= 16 for piece in found.values())
    assert sum(inst.jobs[j].weight for j in dense) >= sum(inst.jobs[j].weight for j in dear)
    assert list(dear) == sorted(dear)
    assert list(dense) == sorted(dense, key=lambda j: (-tasks[j].density, j)) != sorted(dense)
