"""What every family promises, also one that is not of this package.

A policy sees nothing of what is still to come, it never beats the bound, and a seed fixes its run;
files keep instances, optima and runs; what is stated without time is true; programs cite equations.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import pyomo.environ as pyo
import pytest
from knowing import prior_of
from plugged import plugged

from optsched.core import Optimum, Run, simulate, solve
from optsched.core.simulation import answerable, following
from optsched.families.oasis import FAMILY as OASIS
from optsched.families.oasis.policies import Fifo
from optsched.numbers.streams import Streams
from optsched.problem import Family, Instance, Policy, families, get_family
from optsched.scheduling.placement import Placement

EXAMPLE = {"intervals": ("greedy", "posted")}  # of docs/examples
POLICIES: Mapping[str, tuple[str, ...]] = {f.name: (*f.policies,) for f in families().values()}
SLOW = [("dmlrs", "re-solve")]  # hundreds of programs
EACH = [
    pytest.param(f, policy, marks=[pytest.mark.slow] if (f, policy) in SLOW else [])
    for f, named in (POLICIES | EXAMPLE).items()
    for policy in named
]
TELLING = {"bipartite": "counts", "completion": "mid"}  # presets; in "small" little is to come
SMALLER = {("completion", "re-solve"): "small"}  # presets; in "mid" it is refused
EVERY = pytest.mark.parametrize("family", POLICIES)
REFUSES = ("bot", "simplex")  # utilities of the preset
METHODS = [(f.name, m) for f in families().values() for m in f.methods if (f.name, m) != REFUSES]
AT_ONCE = ("bot",)  # all bags are there from the start: nothing is to come


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory):
    """Let the family of docs/examples be found."""
    with plugged(tmp_path_factory.mktemp("site")):
        yield


@cache
def drawn(family: str, seed: int, preset: str = "small") -> Instance:
    return get_family(family).generate(preset, seed=seed)


@cache
def best(family: str) -> Optimum:
    return solve(drawn(family, 1), time_limit=20)


def arrivals(inst: Instance) -> tuple[str, list[int]]:
    """Return the field of what arrives, and the slot in which each of its entries does."""
    for name, value in inst:
        if name == "arrivals":  # a row for every slot
            return name, [*range(len(value))]
        if isinstance(value, tuple) and value and hasattr(value[0], "arrival"):
            return name, [entry.arrival for entry in value]
    raise AssertionError(f"family {inst.family}: nothing arrives")


def another_future(inst: Instance, cut: int) -> Instance:
    """Return the instance with what arrives after slot ``cut`` in the opposite order.

    What is drawn must fit whenever it arrives.
    """
    name, slots = arrivals(inst)
    now = inst.model_dump()
    later = [i for i, slot in enumerate(slots) if slot > cut]
    other = [*now[name]]
    for i, j in zip(later, reversed(later), strict=True):
        other[i] = now[name][j]
        if name != "arrivals":
            other[i] = other[i] | {"arrival": slots[i]}
    return type(inst).model_validate(now | {name: other})


def decisions(family: Family, inst: Instance, policy: Policy, prior: Mapping) -> list[tuple]:
    """Return what a policy decides, event by event, as (slot, JSON)."""
    made = []
    policy.start(family.public(inst), prior, Streams(0))
    told = answerable(family, family.events(inst, policy.information))
    event = next(told, None)
    while event is not None:
        decision = policy.step(event)
        made.append((event.slot, json.dumps(family.wire.decision(decision))))
        event = following(told, decision)
    return made


def foresees(family: Family, inst: Instance, policy: Policy) -> bool:
    """Return whether any decision depends on what comes after it."""
    prior = prior_of(inst, policy)
    whole = decisions(family, inst, policy, prior)
    slots = sorted({*arrivals(inst)[1]})
    others = {cut: another_future(inst, cut) for cut in slots}
    cuts = [cut for cut in slots if others[cut] != inst]
    assert cuts, "every future is the same, expected an instance that tells policies apart"
    for cut in {cuts[0], cuts[len(cuts) // 2], cuts[-1]}:
        told = cut + (policy.information == "before")  # it is told of the slot before
        seen = [decision for decision in whole if decision[0] <= told]
        assert seen
        if decisions(family, others[cut], policy, prior)[: len(seen)] != seen:
            return True
    return False


@pytest.mark.parametrize(
    ("family", "name"), [each for each in EACH if each.values[0] not in AT_ONCE]
)
def test_what_comes_later_changes_no_decision_before_it(family, name):
    inst = drawn(family, 5, SMALLER.get((family, name), TELLING.get(family, "small")))
    assert not foresees(get_family(family), inst, get_family(family).policies[name]())


def test_who_is_shown_the_instance_foresees():
    class Peeks(Fifo):
        def step(self, _event: object) -> dict[int, Placement]:
            order = sum(i * job.epochs * job.chunks for i, job in enumerate(self.shown.jobs))
            return {0: Placement({0: 1 + order}, {})}

        def start(self, public: object, _prior: object, _streams: object) -> None:
            self.shown = public

    shows: Callable[[Instance], Instance] = lambda inst: inst  # noqa: E731
    assert foresees(replace(OASIS, public=shows), drawn("oasis", 5), Peeks())


@pytest.mark.parametrize("family", AT_ONCE)
def test_where_nothing_is_to_come_there_is_one_event(family):
    assert len(list(get_family(family).events(drawn(family, 1)))) == 1


@pytest.mark.parametrize(("family", "name"), EACH)
def test_no_policy_beats_the_bound(family, name):
    run, known = simulate(drawn(family, 1), name), best(family)
    assert known.certified_bound is not None
    if run.obeys:  # or else it is another problem
        sign = get_family(family).sign
        assert sign * run.value <= sign * known.certified_bound
        assert sign * run.value <= sign * known.bound


@pytest.mark.parametrize(("family", "name"), EACH)
def test_a_seed_fixes_the_run_and_a_policy_can_be_used_again(family, name):
    make = get_family(family).policies[name]
    inst, again = drawn(family, 1), make()
    first = simulate(inst, again, seed=5)
    simulate(drawn(family, 2), again, seed=4)
    for run in (simulate(inst, again, seed=5), simulate(inst, make(), seed=5)):
        assert (run.schedule, run.value, run.prior) == (first.schedule, first.value, first.prior)


@EVERY
def test_a_seed_fixes_the_instance_and_its_file_keeps_it(family):
    inst = drawn(family, 1)
    assert inst == get_family(family).generate("small", seed=1) != drawn(family, 2)
    again = type(inst).model_validate_json(inst.model_dump_json())
    assert (again, again.digest()) == (inst, inst.digest())


@EVERY
def test_files_keep_an_optimum_and_its_proof_and_runs(family):
    known, facts = best(family), get_family(family)
    again = Optimum.model_validate_json(known.model_dump_json())
    assert again == known
    assert facts.check(drawn(family, 1), again.certificate) == known.certified_bound
    assert facts.verify(drawn(family, 1), again.schedule).value == known.value
    run = simulate(drawn(family, 1), next(iter(facts.policies)))
    assert Run.model_validate_json(run.model_dump_json()) == run


@pytest.mark.parametrize(("family", "method"), METHODS)
def test_what_is_stated_without_time_is_true(family, method):
    facts, inst, sign = get_family(family), drawn(family, 1), get_family(family).sign
    found = solve(inst, method=method, time_limit=0)
    if found.value is not None:
        assert facts.verify(inst, found.schedule).value == found.value
        assert sign * found.value <= sign * best(family).certified_bound
    if found.certified_bound is not None:
        assert facts.check(inst, found.certificate) == found.certified_bound
    if found.bound is not None and not found.scope:
        close = 1e-6 * abs(best(family).value)
        assert sign * (found.bound - best(family).value) >= -close


@EVERY
def test_every_constraint_of_a_program_cites_its_equation(family):
    if (write := get_family(family).program) is None:
        pytest.skip("it has no program")
    model = write(drawn(family, 1))
    if hasattr(model, "constraints"):  # of CVXPY
        cited = [c.label for c in model.constraints]
    else:
        cited = [c.doc for c in model.component_objects((pyo.Constraint, pyo.Objective))]
    assert cited
    assert all(re.match(r"\([\w. ]+\)", words) for words in cited), cited
