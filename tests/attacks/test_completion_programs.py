"""Damaged programs over time: they are refused, or prove no more than is true."""

from functools import cache

import numpy as np
import pytest
from completion_programs import changed, forced, job, proof, ring_or_ps, tight

from optsched.families.completion.certificate.check import CompletionCertificate, check
from optsched.families.completion.certificate.program import TimelineProof

SEEDS = (1, 4)  # a ring, and PS


@cache
def whole(seed):
    """Return an instance, its optimum, and the certificate of it, which holds conflicts."""
    inst = tight(seed)
    found = forced(inst)
    made = proof(found)
    assert check(inst, made) == found.value
    assert made.program.conflicts
    assert len(made.program.prices) > 1
    return inst, found.value, made


def lists(program, change):
    """Return the price lists with every entry changed."""
    return {"prices": [[change(*entry) for entry in one] for one in program["prices"]]}


def runs(program, at, change):
    """Return the conflicts with one number of every run changed."""
    out = []
    for conflict in program["conflicts"]:
        rows = [[change(x) if k == at else x for k, x in enumerate(r)] for r in conflict["runs"]]
        out.append({**conflict, "runs": rows})
    return {"conflicts": out}


def credited(program, change):
    """Return the conflicts with all credits changed."""
    return {
        "conflicts": [
            {**conflict, "credits": [change(*pair) for pair in conflict["credits"]]}
            for conflict in program["conflicts"]
        ]
    }


def fewer_runs(program):
    """Return the conflicts without their last run."""
    return {
        "conflicts": [
            {"runs": c["runs"][:-1] or c["runs"], "credits": c["credits"][:-1] or c["credits"]}
            for c in program["conflicts"]
        ]
    }


DAMAGE = {
    "one step more": lambda p: {"value": p["value"] + 1},
    "twice the value": lambda p: {"value": 2 * p["value"]},
    "no price list but the first": lambda p: {"prices": p["prices"][:1], "value": p["value"] + 1},
    "a missing list": lambda p: {"prices": p["prices"][:-1], "value": p["value"] + 1},
    "no prices": lambda p: {"prices": [[]], "value": p["value"] + 1},
    "prices times ten": lambda p: lists(p, lambda t, c, r, x: (t, c, r, 10 * x)),
    "dear prices": lambda p: lists(p, lambda t, c, r, _: (t, c, r, 2**61)),
    "prices a slot later": lambda p: lists(p, lambda t, c, r, x: (t + 1, c, r, x)),
    "prices far away": lambda p: lists(p, lambda t, c, r, x: (t + 10**9, c, r, x)),
    "prices of a class that does not exist": lambda p: lists(
        p, lambda t, c, r, x: (t, c + 9, r, x)
    ),
    "prices of another resource": lambda p: lists(p, lambda t, c, r, x: (t, c, 1 - r, x)),
    "a price given twice": lambda p: {"prices": [[*p["prices"][0], p["prices"][0][0]]]},
    "a finer grid": lambda p: {"grid_bits": p["grid_bits"] + 1, "value": p["value"] + 1},
    "a coarser grid": lambda p: {"grid_bits": -60, "value": p["value"] + 1},
    "the finest grid": lambda _: {"grid_bits": 1024},
    "no credits": lambda p: credited(p, lambda *_: (0, 0)),
    "equal credits": lambda p: credited(p, lambda *_: (5, 5)),
    "credits for hosts": lambda p: credited(p, lambda a, b: (a, b + 2**20)),
    "credits for workers": lambda p: credited(p, lambda a, b: (a + 2**20, b)),
    "credits of fewer runs": lambda p: {
        "conflicts": [{**c, "runs": [*c["runs"], c["runs"][0]]} for c in p["conflicts"]]
    },
    "a run less": fewer_runs,
    "lighter workers": lambda p: runs(p, 0, lambda _: 0),
    "a type that does not exist": lambda p: runs(p, 0, lambda _: 99),
    "fewer workers apart": lambda p: runs(p, 1, lambda n: max(n - 1, 0)),
    "a worker together": lambda p: runs(p, 3, lambda n: max(n - 1, 0)),
    "no PS type": lambda p: runs(p, 2, lambda _: 0),
    "all PS types": lambda p: runs(p, 4, lambda _: 2**59),
    "begins later": lambda p: runs(p, 5, lambda t: t + 3),
    "stays for long": lambda p: runs(p, 6, lambda t: t + 10**6),
    "ends before it begins": lambda p: runs(p, 5, lambda t: t + 10**6),
    "slots that overlap no more": lambda p: {
        "conflicts": [
            {**c, "runs": [[*r[:5], 10 * k, 10 * k] for k, r in enumerate(c["runs"])]}
            for c in p["conflicts"]
        ]
    },
    "credits of more runs": lambda p: {
        "conflicts": [{**c, "credits": [*c["credits"], [1, 1]]} for c in p["conflicts"]]
    },
    "the credits of others": lambda p: {
        "conflicts": [{**c, "credits": c["credits"][::-1]} for c in p["conflicts"]],
        "value": p["value"] + 1,
    },
    "conflicts of one run": lambda p: {
        "conflicts": [{"runs": [r], "credits": [[1, 0]]} for c in p["conflicts"] for r in c["runs"]]
    },
    "credits for nothing": lambda p: {
        "conflicts": [
            {"runs": c["runs"], "credits": [[2**39, 2**39] for _ in c["runs"]]}
            for c in p["conflicts"]
        ]
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_proves_no_more_than_is_true(seed, damage):
    inst, best, made = whole(seed)
    content = made.program.model_dump(mode="json")
    update = DAMAGE[damage](content)
    assert {**content, **update} != content
    try:
        assert check(inst, changed(made, **update)) <= best
    except ValueError:
        return


@pytest.mark.slow
def test_a_program_of_another_instance_is_refused():
    inst, _, made = whole(SEEDS[0])
    jobs = [job.model_copy(update={"weight": job.weight + 1}) for job in inst.jobs]
    other = type(inst).model_validate(inst.model_dump() | {"jobs": tuple(jobs)})
    with pytest.raises(ValueError, match="belongs to instance"):
        check(other, made)
    # even where it states otherwise
    forged = made.model_copy(update={"instance_sha256": other.digest()})
    best = forced(other).value
    try:
        assert check(other, forged) <= best
    except ValueError:
        return


@pytest.mark.slow
def test_a_program_for_fewer_servers_is_refused():
    inst, best, made = whole(SEEDS[1])
    larger = type(inst).model_validate(inst.model_dump() | {"servers": inst.servers * 2})
    forged = CompletionCertificate.model_validate(
        made.model_dump() | {"instance_sha256": larger.digest()}
    )
    assert forced(larger).value < best
    with pytest.raises(ValueError, match=r"program|conflict|class"):
        check(larger, forged)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_what_conflicts_show_is_needed(seed):
    inst, best, made = whole(seed)
    with pytest.raises(ValueError, match="jobs may start in slots"):
        check(inst, changed(made, conflicts=()))
    assert check(inst, changed(made, value=made.program.value - 1)) < best


@pytest.mark.parametrize(("bits", "slot"), [(51, 4500), (53, 3000), (56, 4000)])
def test_a_price_long_after_the_last_job_makes_no_number_too_large(bits, slot):
    """Starts up to the last price are looked at: weight times slot has to fit there as well."""
    inst = ring_or_ps(True, [(1, 1)], [job(0, 1.0, 1, [1.0])] * 2, [(2, 2)])
    far = [[(slot, 0, 0, 2 ** (bits + 3))]]
    made = CompletionCertificate.root(inst, np.zeros((1, 1, 2)), 0)
    program = TimelineProof(value=3, grid_bits=bits, prices=far, conflicts=())
    with pytest.raises(ValueError, match="weighted completion can reach"):
        check(inst, made.model_copy(update={"program": program}))
