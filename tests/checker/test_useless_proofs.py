"""Claims with certificates that prove nothing, or next to nothing: both checkers refuse them.

A bound beyond the largest float excludes nothing, however little it is beyond.
"""

import copy
import json
import math
import random
import sys

import pytest
from games import skiing
from second_checker import NODE, RESULTS, answers, differences, solved
from terminal import refused

from optsched.core import simulate, solve
from optsched.declared.model import Maximization, Minimization
from optsched.files.format import load_instance
from optsched.problem import InputError, Level, Status, family_of
from optsched.results.load import load_known, load_optimum, load_start
from optsched.results.result import recheck, save_result

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no Node")

MAX = sys.float_info.max
DECLARED = {"declared-max": Maximization, "declared-min": Minimization}
CLAIMS = 12  # for each certificate
TIMES = {"revealed": 0, "decided": 0}
SOLVED = {"oasis": 1, "dmlrs": 1, "bot": 1, "bipartite": 0, "completion": 0, "rigid": 0}


@pytest.fixture(scope="module", params=[*RESULTS, *DECLARED])
def result(request, tmp_path_factory):
    """Return a result file with a schedule."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param in SOLVED:
        return solved(request.param, folder, [SOLVED[request.param]])[0]
    columns = [
        {"name": f"x[{j}]", "cost": j + 2, "upper": 3, "integer": True, **TIMES} for j in range(4)
    ]
    row = {"name": "sum", "lower": 1, "upper": 5, "entries": [(j, 2 + j % 2) for j in range(4)]}
    inst = DECLARED[request.param].model_validate({"columns": columns, "rows": [row]})
    save_result(folder / "r.json", inst, solve(inst))
    return folder / "r.json"


def edge(proves, most):
    """Return the largest number for which a certificate proves a bound."""
    least = 1
    assert proves(least)
    assert not proves(most)
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if proves(middle) else (least, middle)
    return least


def of_size(family, certificate, number, bits=0):
    """Return a certificate with a bound that grows with ``number`` to the useless side."""
    made = copy.deepcopy(certificate)
    leaf = {"node": "leaf"}
    if family in DECLARED:
        leaf |= {"ray": False, "multipliers": [[0, f"-{number}/1000"]]}
        return made | {"cuts": [], "denominator": None, "nodes": [leaf]}
    first = certificate["nodes"][0]["prices"]
    if family == "dmlrs":  # of packings
        first = {"kind": "capacity", "entries": [[0, 0, 0, 1]]}
    entry = [*first["entries"][0][:-1], number]
    made |= {"grid_bits": bits, "nodes": [leaf | {"prices": first | {"entries": [entry]}}]}
    return made | ({"program": None} if "program" in made else {})


def proved(inst, certificate):
    """Return what a certificate proves, None if it is nothing."""
    family = family_of(inst)
    try:
        return family.check(inst, family.certificate.model_validate(certificate))
    except ValueError:
        return None


def certificates(inst, certificate):
    """Return certificates that prove nothing, the largest float, or little."""
    family = inst.family
    found = [None, certificate, certificate | {"instance_sha256": "0" * 64}]
    if family in ("oasis", "dmlrs", *DECLARED):
        most = 10**325 if family in DECLARED else 2**61

        def sized(number, bits):
            return of_size(family, certificate, number, bits)

        # the finest grid on which a price can be too large
        bits = next(b for b in range(-900, -1000, -1) if proved(inst, sized(most, b)) is None)
        last = edge(lambda n: proved(inst, sized(n, bits)) is not None, most)
        found += [sized(n, bits) for n in (last, last + 1, last + 10**3, most)]
    return found


def claimed(best, rng):
    """Return an optimum with other words and numbers."""
    value = best["value"]
    numbers = (None, value, value, 0.0, MAX, -MAX)
    made = {
        "status": rng.choice(
            ["optimal", "claimed optimal", "feasible", "infeasible", "no_schedule", "bound only"]
        ),
        "bound": rng.choice(numbers),
        "certified_bound": rng.choice(numbers),
        "bound_level": rng.choice([None, "claimed", "cross-checked", "certified", "certified"]),
        "value_level": rng.choice([None, "certified"]),
        "gap": rng.choice([None, 0.0, 0.0, "inf"]),
        "certified_gap": rng.choice([None, 0.0, "inf"]),
    }
    if made["status"] in ("infeasible", "no_schedule", "bound only"):
        made |= {"schedule": None, "value": None, "value_level": None, "gap": None}
        made["certified_gap"] = None
    return best | made


def claims(best, rng):
    """Return what a forger would write, and much that nobody would."""
    nothing = dict.fromkeys(("schedule", "value", "value_level", "gap", "certified_gap"))
    alone = nothing | {"certified_bound": None}
    yield best
    yield best | nothing | {"status": "no_schedule"}
    yield best | alone | {"status": "bound only"}
    yield best | alone | {"status": "bound only", "bound": None, "bound_level": None}
    for level in ("claimed", "certified"):
        yield best | alone | {"status": "infeasible", "bound": None, "bound_level": level}
    yield best | {"bound_level": "claimed", "status": "claimed optimal"}
    yield best | {"bound": MAX, "bound_level": "claimed", "status": "feasible", "gap": 0.0}
    for _ in range(CLAIMS):
        yield claimed(best, rng)


def holds(sign, said, bound, gap):
    """Return whether what a file calls certified follows from the bound that was derived."""
    certified = [said["certified_bound"]]
    if said["bound_level"] == "certified":
        certified.append(said["bound"])
        if said["status"] == "infeasible" and bound != -sign * math.inf:
            return False
        if said["bound"] is None and said["status"] != "infeasible":
            return False
    if said["status"] == "optimal" and (gap is None or gap > 1e-6):
        return False
    certified = [b for b in certified if b is not None]
    return all(
        bound is not None and sign * (bound - b) <= 1e-9 * max(abs(bound), abs(b))
        for b in certified
    )


@pytest.mark.slow
def test_no_claim_outlives_its_proof(result, tmp_path):
    inst, content, rng = load_instance(result), json.loads(result.read_text()), random.Random(1)
    best, sign = content["optimum"], family_of(inst).sign
    files, wrong, good = [], [], 0
    for certificate in certificates(inst, best["certificate"]):
        bound = None if certificate is None else proved(inst, certificate)
        assert bound is None or sign * bound < math.inf
        for said in claims(best | {"certificate": certificate}, rng):
            path = tmp_path / f"{len(files)}.json"
            path.write_text(json.dumps(content | {"optimum": said, "runs": []}))
            files.append(path)
            try:
                (found,) = recheck(path)
            except InputError:
                continue
            words = {k: x for k, x in said.items() if isinstance(x, str | float | None)}
            if not found.complaints and not holds(sign, said, bound, found.gap):
                wrong.append(("recheck", bound, words))
            good += found.accepted
            if certificate is not None and bound is None and found.accepted:
                wrong.append(("a useless certificate", words))
            for load in (load_optimum, lambda p: load_known(p, inst)[0]):
                try:
                    read = load(path)
                except InputError:
                    continue
                str(read)
                if not holds(sign, read.model_dump(mode="json"), bound, found.gap):
                    wrong.append(("load", bound, words))
            try:
                load_start(path, inst)
            except InputError:
                continue
            if certificate is not None and bound is None:
                wrong.append(("start", words))
    assert wrong == []
    assert good  # of the certificate as it was
    assert differences(files, answers(files, tmp_path)) == []


def test_a_search_refuses_to_start_from_a_proof_of_nothing(call, tmp_path):
    columns = [{"name": "x", "cost": 1, "upper": 3, "integer": True, **TIMES}]
    row = {"name": "sum", "upper": 20, "entries": [(0, 1)]}
    inst = Maximization.model_validate({"columns": columns, "rows": [row]})
    best = solve(inst)
    save_result(tmp_path / "r.json", inst, best)
    content = json.loads((tmp_path / "r.json").read_text())
    certificate = content["optimum"]["certificate"]

    def finite(number):
        bound = proved(inst, of_size("declared-max", certificate, number))
        return bound is not None and math.isfinite(bound)

    last = edge(finite, 10**325)
    content["optimum"]["certificate"] = of_size("declared-max", certificate, last + 1)
    (tmp_path / "r.json").write_text(json.dumps(content))
    ended = call("solve", tmp_path / "r.json", "--start-from", tmp_path / "r.json")
    refused(ended, "r.json", "proves nothing", "beyond the largest float")


@pytest.mark.parametrize("place", ["runs", "schedules"])
def test_no_claim_of_infeasibility_outlives_a_schedule(place, tmp_path):
    inst, path = skiing(4, 3)[-1], tmp_path / "f.json"
    best, run = solve(inst), simulate(inst, "greedy")
    nothing = ("value", "schedule", "certificate", "bound", "value_level", "certified_bound")
    said = dict.fromkeys((*nothing, "gap", "certified_gap"))
    said |= {"status": Status.INFEASIBLE, "bound_level": Level.CLAIMED}
    forged = best.model_copy(update=said)
    others = {"runs": [run]} if place == "runs" else {"schedules": {"mine": run.schedule}}
    save_result(path, inst, forged, **others)
    mine, theirs = recheck(path), answers([path], tmp_path)[str(path)]
    assert mine[0].complaints == ("the file claims that no schedule exists, but there is one",)
    assert theirs[0]["complaints"] == ["it is stated that no schedule exists, but there is one"]
    assert mine[1].accepted
    assert theirs[1]["accepted"]
