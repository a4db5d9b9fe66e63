"""Both checkers prove the same bounds by any tree and any prices of family `dmlrs`."""

import json
import random
from itertools import product
from typing import Any

import pytest
from forging import written
from independent.dmlrs import tiny
from second_checker import LINK, NODE, answers, differences
from sweeps import sweep

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule
from optsched.families.dmlrs.sources.presets import generate
from optsched.results.result import save_result

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no Node")

KINDS = ("completion", "workers")


def drawn_instance(draw: random.Random) -> DmlrsInstance:
    """Return a small instance in one of the readings."""
    locality = draw.choice(["job", "link"])
    seed = draw.randrange(1000)
    if draw.random() < 0.5:
        return tiny(seed, locality)
    ratio = draw.choice([1.0, 1.5, 4.0, 40.0])
    made = generate(
        "small", seed=seed, jobs=draw.randint(2, 6), machines=draw.randint(1, 5), ratio=ratio
    )
    return (
        made if locality == "job" else DmlrsInstance.model_validate({**made.model_dump(), **LINK})
    )


def drawn_certificate(inst: DmlrsInstance, draw: random.Random) -> dict[str, Any]:
    """Return a tree whose nodes have prices of all kinds here and there."""
    bits = draw.choice([8, 20, 45, 70])
    nodes: list[dict[str, Any]] = [{"node": "leaf"}]
    leaves = [0]
    for _ in range(draw.randrange(8)):
        k = leaves.pop(draw.randrange(len(leaves)))
        job = draw.randrange(len(inst.jobs))
        kind = draw.choice(KINDS)
        split = {
            "node": kind,
            "job": job,
            "slot": draw.randrange(inst.jobs[job].arrival, inst.horizon),
            "left": len(nodes),
            "right": len(nodes) + 1,
        }
        if kind == "workers":
            split["at"] = draw.randrange(inst.jobs[job].chunks)
        nodes[k] = split
        leaves += [len(nodes), len(nodes) + 1]
        nodes += [{"node": "leaf"}, {"node": "leaf"}]
    for k in range(len(nodes)):
        if k == 0 or draw.random() < 0.3:
            nodes[k]["prices"] = drawn_prices(inst, draw, bits)
    shift = draw.choice([0, 0, 3, 30])
    head = {"instance_sha256": inst.digest(), "grid_bits": bits, "value_shift": shift}
    return head | {"nodes": nodes}


def drawn_prices(inst: DmlrsInstance, draw: random.Random, bits: int) -> dict[str, Any] | None:
    """Return prices of what jobs may be able to pay."""
    jobs, slots = len(inst.jobs), inst.horizon
    classes, resources = len(inst.arrays.classes), len(inst.resources)
    best = max(job.utility(0) for job in inst.jobs) * 2.0**bits

    def entries(*shape: int, each: float) -> list[list[int]]:
        share = draw.choice([0.2, 0.7, 1.0])
        places = product(*map(range, shape))
        return [[*p, int(draw.random() * each)] for p in places if draw.random() < share]

    per_unit = best / 40 / max(1, int(inst.arrays.capacity.max()))
    kind = draw.choice(["capacity", "none", *["packings"] * (inst.locality == "job")])
    if kind == "none":
        return None
    capacity = entries(slots, classes, resources, each=per_unit * draw.choice([1, 10]))
    if kind == "capacity":
        return {"kind": kind, "entries": capacity}
    most = max(job.chunks for job in inst.jobs)
    return {
        "kind": kind,
        "together": entries(jobs, slots, most, each=best / 2),
        "capacity": capacity,
    }


@pytest.mark.slow
@pytest.mark.parametrize("number", sweep([60, 400], quick=1))
def test_any_tree_at_any_prices(number, tmp_path):
    draw, files = random.Random(number), []
    for k in range(number):
        inst = drawn_instance(draw)
        files.append(tmp_path / f"{k}.json")
        nobody = DmlrsSchedule(jobs=(None,) * len(inst.jobs))
        said = {"status": "feasible", "value": 0.0, "schedule": nobody}
        save_result(files[-1], inst, written(inst, **said))
        content = json.loads(files[-1].read_text())
        content["optimum"]["certificate"] = drawn_certificate(inst, draw)
        files[-1].write_text(json.dumps(content))
    found = answers(files, tmp_path)
    assert differences(files, found) == []
    assert sum(part["accepted"] for (part,) in found.values()) > number / 2


def test_a_program_over_many_slots(tmp_path):
    inst = generate("small", seed=33200, jobs=1, slots=12000, machines=1)
    nobody, path = DmlrsSchedule(jobs=(None,)), tmp_path / "long.json"
    save_result(path, inst, written(inst, status="feasible", value=0.0, schedule=nobody))
    content = json.loads(path.read_text())
    whole = {"nodes": [{"node": "leaf"}], "program": {"value": 2**40, "conflicts": []}}
    owner = {"instance_sha256": inst.digest(), "grid_bits": 40}
    content["optimum"]["certificate"] = owner | whole
    path.write_text(json.dumps(content))
    found = answers([path], tmp_path)
    assert differences([path], found) == []
    assert [part["bound"] for part in found[str(path)]] == [1.0]
