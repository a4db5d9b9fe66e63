"""The judge: rewards by hand, one kind of damage per constraint, records, messages."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from knowing import prior_of
from pydantic import ValidationError

from optsched.core import simulate
from optsched.families.bipartite.instance import (
    BipartiteInstance,
    BipartiteSchedule,
    Machine,
    Port,
)
from optsched.families.bipartite.instance_utilities import KINDS, Utility
from optsched.families.bipartite.online import Recorder, events, verify
from optsched.families.bipartite.sources.presets import PRESETS, generate
from optsched.families.bipartite.verify import Verifier


def utility(kind, alpha=1.0):
    return {"kind": kind, "alpha": alpha}


@pytest.fixture
def tiny():
    """Two ports on machine 0, port 1 also on machine 1; cpu linear, gpu log with alpha 2."""
    f = (utility("linear"), utility("log", 2.0))
    return BipartiteInstance(
        horizon=2,
        resources=("cpu", "gpu"),
        overhead=(0.5, 0.25),
        ports=(Port(request=(3, 1)), Port(request=(2, 4))),
        machines=(
            Machine(capacity=(4, 3), ports=(0, 1), utility=f),
            Machine(capacity=(9, 0), ports=(1,), utility=f),
        ),
        arrivals=((1, 1), (0, 1)),
    )


GOOD = (3.0, 1.0, 1.0, 2.0, 2.0, 0.0)  # cpu 0, cpu 0, gpu 0, gpu 0 of machine 0; cpu, gpu of 1


def once(*decisions):
    return BipartiteSchedule(decisions=decisions, used=tuple(range(len(decisions))))


def test_rewards_by_hand(tiny):
    verdict = verify(tiny, once(GOOD, GOOD))
    port0 = 3 + 2 * np.log(2) - max(0.5 * 3, 0.25 * 1)
    port1 = (1 + 2) + 2 * np.log(3) - max(0.5 * (1 + 2), 0.25 * 2)
    assert verdict.feasible
    assert verdict.value == pytest.approx(port0 + 2 * port1, rel=1e-15)
    assert str(verdict) == f"feasible: value {verdict.value:.9g}"


@pytest.mark.parametrize(
    ("channel", "amount", "message"),
    [
        (0, -0.5, r"\(5\) broken by 0.5 at port 0, machine 0, cpu, slot 1: is -0.5"),
        (2, 1.5, r"\(5\) broken by 0.5 at port 0, machine 0, gpu, slot 1: is 1.5, .* at most 1"),
        (4, 2.5, r"\(5\) broken by 0.5 at port 1, machine 1, cpu, slot 1: is 2.5, .* at most 2"),
        (1, 2.0, r"\(6\) broken by 1 at machine 0, cpu, slot 1"),
        (5, 1.0, r"\(6\) broken by 1 at machine 1, gpu, slot 1"),
        (3, np.nan, r"\(4\) broken by 1 at port 1, machine 0, gpu, slot 1: is nan"),
        (3, np.inf, r"\(4\) broken by 1 at port 1, machine 0, gpu, slot 1: is inf"),
    ],
)
def test_damage_is_named(tiny, channel, amount, message):
    verifier = Verifier(tiny)
    verifier.slot(0, tiny.jobs[0], np.array(GOOD))
    damaged = np.array(GOOD)
    damaged[channel] = amount
    verifier.slot(1, tiny.jobs[1], damaged)
    verdict = verifier.verdict()
    assert verdict.value is None
    assert re.search(message, str(verdict)), str(verdict)


def test_tolerance_is_relative(tiny):
    assert verify(tiny, once((3 + 2e-9, *GOOD[1:]), GOOD)).feasible
    assert not verify(tiny, once((3 + 4e-9, *GOOD[1:]), GOOD)).feasible


def test_schedules_of_the_wrong_size(tiny):
    assert "decisions for 1 slots, expected 2" in str(verify(tiny, once(GOOD)))
    wrong = BipartiteSchedule(decisions=(GOOD,), used=(0, 1))
    assert "a decision that does not exist, expected 0..0" in str(verify(tiny, wrong))
    assert "shape (5,), expected (6,)" in str(verify(tiny, once(GOOD, GOOD[:5])))


def test_stream_and_schedule_agree():
    inst = generate("counts", seed=1)
    run = simulate(inst, "drf")
    assert verify(inst, run.schedule).value == pytest.approx(run.value, rel=1e-14)
    assert sum(run.schedule.rewards) == pytest.approx(run.value, rel=1e-14)


def recorded(inst, policy):
    """Run with nothing kept but the record."""
    recorder = Recorder(inst, policy)
    recorder._keep = False
    from optsched.numbers.streams import Streams

    policy.start(inst.platform(), prior_of(inst, policy), Streams(0))
    told = events(inst, policy.information)
    for event, true_event in zip(told, events(inst), strict=True):
        recorder.take(true_event, policy.step(event))
    return recorder.finish()


def test_a_record_is_repeated():
    from optsched.families.bipartite.policies.paper import OgaSched

    inst = generate("small", seed=2)
    schedule, verdict = recorded(inst, OgaSched("constant", eta=0.5))
    assert schedule.decisions == ()
    again = verify(inst, BipartiteSchedule.model_validate_json(schedule.model_dump_json()))
    assert again.value == verdict.value
    other = schedule.model_copy(
        update={"record": schedule.record.model_copy(update={"fingerprint": "0" * 64})}
    )
    assert "expected 0000" in str(verify(inst, other))
    foreign = schedule.model_copy(
        update={"record": schedule.record.model_copy(update={"policy": "mine"})}
    )
    assert "record of policy 'mine'" in str(verify(inst, foreign))


@pytest.mark.parametrize("preset", [*PRESETS])
def test_json_round_trip(preset):
    inst = generate(preset, seed=5, slots=7, machines=6, ports=4)
    again = BipartiteInstance.model_validate_json(inst.model_dump_json())
    assert again == inst
    assert again.digest() == inst.digest()
    np.testing.assert_array_equal(again.jobs, inst.jobs)


@given(st.sampled_from(KINDS), st.floats(1e-3, 1e3), st.floats(0, 1e4), st.floats(0, 1e4))
def test_utilities_are_concave_and_start_at_zero(kind, alpha, x, y):
    f = Utility(kind=kind, alpha=alpha)
    assert f(0.0) == 0
    low, high = sorted((x, y))
    assert f(low) <= f(high) * (1 + 1e-12)
    assert f.slope(high) <= f.slope(low) <= f.slope(0.0)
    assert f(high) <= f(low) + f.slope(low) * (high - low) + 1e-9 * (1 + abs(f(high)))


@pytest.mark.parametrize(
    ("kind", "steepest"), [("linear", 2.0), ("log", 2.0), ("reciprocal", 0.25), ("poly", 1.0)]
)
def test_slope_at_zero_is_that_of_the_nice_setup(kind, steepest):
    assert Utility(kind=kind, alpha=2.0).slope(0.0) == steepest


def damaged(inst, **update):
    return BipartiteInstance.model_validate(inst.model_dump() | update)


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"overhead": (0.5,)}, r"overhead has 1 entries, expected one per resource: cpu, gpu"),
        ({"overhead": (0.5, 1.5)}, r"less than or equal to 1"),
        ({"resources": ("cpu", "cpu")}, r"a name is used twice"),
        ({"horizon": 3}, r"arrivals has 2 slots, expected the horizon 3"),
        ({"arrivals": ((1, 1), (0,))}, r"slot 1: arrivals has 1 entries, expected one for each"),
        ({"arrivals": ((1, 1), (0, 2))}, r"slot 1, port 1: 2 jobs arrive, expected at most .* 1"),
        ({"ports": (Port(request=(1,)),) * 2}, r"port 0: request has 1 entries"),
        ({"speed": 1}, r"Extra inputs are not permitted"),
    ],
)
def test_wrong_instances_are_refused(tiny, update, message):
    with pytest.raises(ValidationError, match=message):
        damaged(tiny, **update)


@pytest.mark.parametrize(
    ("ports", "message"),
    [((1, 0), r"machine 1: ports \[1, 0\] are not ascending"), ((5,), r"port 5 does not exist")],
)
def test_wrong_edges_are_refused(tiny, ports, message):
    machines = (tiny.machines[0], tiny.machines[1].model_copy(update={"ports": ports}))
    with pytest.raises(ValidationError, match=message):
        damaged(tiny, machines=[m.model_dump() for m in machines])


def test_copies_and_patterns():
    inst = generate("counts", seed=0)
    a = inst.arrays
    assert a.copies == 9
    assert a.port_of.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    counts = np.array(inst.arrivals)
    np.testing.assert_array_equal(
        inst.counts, [(counts[:, p] > j).sum() for p in range(3) for j in range(3)]
    )
    patterns, which = inst.patterns
    np.testing.assert_array_equal(patterns[which], inst.jobs)
    assert len(np.unique(patterns, axis=0)) == len(patterns)
    for channel in range(a.channels):
        r, copy, k = a.place(channel)
        assert a.port[channel] == copy
        assert a.port_of[copy] in inst.machines[r].ports
        assert a.upper[channel] == inst.ports[a.port_of[copy]].request[k]
