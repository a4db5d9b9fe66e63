"""Both checkers prove the same bounds by any duals of the linear relaxations."""

import json
import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from altered import LINK, SCARCE, drawn
from second_checker import NODE, answers, differences
from sweeps import sweep

import optsched
from optsched.families.dmlrs.certificate.declared import RelaxationRow
from optsched.problem import Instance
from optsched.results.result import recheck, save_result

CASES = {
    "oasis": ("oasis", {}),
    "oasis-scarce": ("oasis", SCARCE),
    "dmlrs": ("dmlrs", {}),
    "dmlrs-link": ("dmlrs", LINK),
    "completion": ("completion", {}),
    "completion-scarce": ("completion", SCARCE),
    "completion-ring": ("completion", {"architecture": "ring"}),
}


def drawn_duals(inst: Instance, certificate: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """Return the certificate with other duals, about as large as its own, some of them 0."""
    share, least = draw.choice([0.3, 0.9]), draw.choice([-4, -1])

    def some(top: int, *shape: int) -> Iterator[list[int]]:
        for place in product(*map(range, shape)):
            if draw.random() < share:
                yield [*place, int(top * 10.0 ** draw.uniform(least, 0.5))]

    def top(entries: Any) -> int:
        return max((x if isinstance(x, int) else x[-1] for x in entries), default=0) or 1000

    resources, slots = len(inst.resources), inst.horizon
    if inst.family == "completion":
        (prices,) = certificate["prices"]
        shape = slots, len(inst.arrays.classes), resources
        return certificate | {"prices": [list(some(top(prices), *shape))]}
    (leaf,) = certificate["nodes"]
    known = leaf["prices"]
    if inst.family == "oasis":
        sides = [len(inst.arrays.worker_classes), len(inst.arrays.ps_classes)]
        entries = [
            [s, *e]
            for s, n in enumerate(sides)
            for e in some(top(known["entries"]), slots, n, resources)
        ]
        prices = {}
    else:
        classes = len(inst.arrays.classes)
        entries = list(some(top(known["entries"]), slots, classes, resources))
        shape = len(RelaxationRow), len(inst.jobs), slots, classes, classes
        prices = {"rows": list(some(top(known["rows"]), *shape))}
    work = [int(draw.uniform(0, 2) * top(known["work"])) for _ in inst.jobs]
    return certificate | {
        "nodes": [leaf | {"prices": known | prices | {"entries": entries, "work": work}}]
    }


@pytest.mark.parametrize(
    ("case", "number"), sweep([("oasis", 12), *((case, 30) for case in CASES)], quick=1)
)
def test_any_duals_of_the_relaxation(case, number, tmp_path):
    name, options = CASES[case]
    draw, files, family = random.Random(number), [], optsched.get_family(name)
    for seed in range(1, 4):
        inst = drawn(name, "small", seed, options)
        found = optsched.relax(inst)
        if found.certificate is None:
            continue
        save_result(tmp_path / "whole.json", inst, found)
        content = json.loads((tmp_path / "whole.json").read_text())
        optimum = content["optimum"]
        for _ in range(number):
            files.append(tmp_path / f"{len(files)}.json")
            made = drawn_duals(inst, optimum["certificate"], draw)
            bound = family.check(inst, family.certificate.model_validate(made))
            assert family.sign * (bound - found.bound) >= -1e-9 * abs(found.bound)
            said = {"certificate": made, "bound": bound, "certified_bound": bound}
            files[-1].write_text(json.dumps(content | {"optimum": optimum | said}))
    if NODE is None:
        assert [part for path in files for part in recheck(path) if not part.accepted] == []
        return
    found = answers(files, tmp_path)
    assert [part for parts in found.values() for part in parts if not part["accepted"]] == []
    assert differences(files, found) == []  # so optsched's own checker accepts them as well
