"""A result whose words were edited: what `verify` derives is true, whatever the file states."""

import json
from contextlib import suppress

import pytest
from forging import look, refused_or_right, worse
from independent.cases import AXES, case
from sweeps import sweep

from optsched import compare, simulate, solve
from optsched.pages.page import report
from optsched.problem import InputError, Level, family_of, get_family
from optsched.results.load import load_known, load_optimum, load_report
from optsched.results.result import save_result


class Solved:
    """An instance with its optimum, another one of the same shape, and what is right."""

    def __init__(self, family):
        self.family = family
        axis = next(iter(AXES[family]))
        scale = 1.0 if family == "bipartite" else 1e3
        found = []
        for seed in range(40):
            here = case(family, axis, scale, seed)
            if getattr(here.instance, "locality", "job") != "job":
                continue  # policies know one reading only
            if here.truth.low and getattr(here.instance, "alpha", 1) == 1:  # values as they are
                best = solve(here.instance, time_limit=60)
                if best.certificate is not None and best.status == "optimal":
                    found.append((here, best))
            if len(found) == 6:
                break
        worths = [best.value for _, best in found]
        least, most = worths.index(min(worths)), worths.index(max(worths))
        better, poorer = (least, most) if family == "completion" else (most, least)
        self.here, self.best = found[poorer]
        self.other, self.other_best = found[better]
        assert self.best.value != self.other_best.value
        self.truth = self.best.value  # as compared with what was tried or found by planes
        assert self.here.truth.reached(self.truth, 1e-6)

    def written(self, folder):
        path = folder / "result.json"
        save_result(path, self.here.instance, self.best)
        return path, json.loads(path.read_text())

    def right(self, path, content):
        """Assert that nothing false is derived of edited contents; return what is."""
        path.write_text(json.dumps(content))
        found = look(path)
        refused_or_right(found, self.best.sense, self.truth)
        return found


@pytest.fixture(scope="module")
def solved():
    known = {}

    def get(family):
        if family not in known:
            known[family] = Solved(family)
        return known[family]

    return get


@pytest.fixture(params=sweep(sorted(AXES), quick=2))
def mine(request, solved):
    return solved(request.param)


EDITS = {
    "method": {"method": "compact"},
    "scope": {"scope": "stationary"},
    "scope of nothing": {"scope": "best"},
    "infeasible": {"status": "infeasible"},
    "no schedule": {"status": "no_schedule"},
    "family": {"family": "other"},
    "sense": {"sense": "min"},
    "the other sense": {"sense": "max"},
    "levels": {"value_level": "claimed", "bound_level": "claimed"},
    "no certificate": {"certificate": None},
    "no certificate, cross-checked": {"certificate": None, "bound_level": "cross-checked"},
    "no schedule, its value": {"schedule": None},
    "no bound": {"bound": None},
    "a gap": {"gap": 0.5, "certified_gap": 0.5},
    "nothing but words": {"schedule": None, "certificate": None, "certified_bound": None},
}


@pytest.mark.slow
@pytest.mark.parametrize("what", EDITS)
def test_edited_words(mine, what, tmp_path):
    path, content = mine.written(tmp_path)
    content["optimum"] |= EDITS[what]
    mine.right(path, content)


@pytest.mark.parametrize("factor", [1e-3, 1 - 1e-5, 1 + 1e-5, 1e3, -1.0, 0.0])
@pytest.mark.parametrize("name", ["value", "bound", "certified_bound", "all"])
def test_edited_numbers(mine, name, factor, tmp_path):
    path, content = mine.written(tmp_path)
    names = ("value", "bound", "certified_bound") if name == "all" else (name,)
    for each in names:
        content["optimum"][each] *= factor
    found = mine.right(path, content)
    if name in ("value", "all"):
        assert found is None or not found.accepted
    better = worse(mine.best.sense, mine.truth * factor, mine.truth)
    if name != "value" and better:  # a bound that refutes the schedule
        assert found is None or not found.accepted


def test_an_infeasible_instance_of_words(mine, tmp_path):
    path, content = mine.written(tmp_path)
    names = ("value", "bound", "gap", "certified_bound", "certified_gap", "value_level",
             "bound_level", "schedule", "certificate")  # fmt: skip
    for level in (None, "claimed", "certified"):
        nothing = dict.fromkeys(names) | {"status": "infeasible", "bound_level": level}
        found = mine.right(path, content | {"optimum": content["optimum"] | nothing})
        assert found is None or not found.accepted


CLAIMS = {
    "infeasible, certified": {"status": "infeasible", "bound_level": "certified"},
    "infeasible, without a level": {"status": "infeasible", "bound_level": None},
    "certified without a bound": {"status": "no_schedule", "bound_level": "certified"},
    "a level of no value": {"status": "no_schedule", "value_level": "certified"},
    "feasible without a schedule": {"status": "feasible"},
    "claimed optimal without a schedule": {"status": "claimed optimal"},
    "optimal without a schedule": {"status": "optimal"},
}
NONE = ("value", "bound", "gap", "certified_bound", "certified_gap", "value_level", "bound_level")


@pytest.mark.parametrize("claim", CLAIMS)
def test_claims_beside_a_certificate_that_proves_something_else(mine, claim, tmp_path):
    path, content = mine.written(tmp_path)
    content["optimum"] |= dict.fromkeys((*NONE, "schedule")) | CLAIMS[claim]
    assert not mine.right(path, content).accepted
    with pytest.raises(InputError, match="rejected"):
        load_optimum(path)
    with pytest.raises(InputError, match="rejected"):
        load_known(path, mine.here.instance)
    with pytest.raises(InputError, match="rejected"):
        report(path, tmp_path / "page.html")


def test_a_claim_is_called_one(mine, tmp_path):
    """What no certificate can prove is not called certified, whoever reads the file."""
    path, content = mine.written(tmp_path)
    content["optimum"] |= dict.fromkeys((*NONE, "schedule"))
    content["optimum"] |= {"status": "infeasible", "bound_level": "cross-checked"}
    path.write_text(json.dumps(content))
    if mine.family == "completion":  # doing nothing is a schedule of all others
        assert load_optimum(path).bound_level == "claimed"
    else:
        with pytest.raises(InputError, match="there is one"):
            load_optimum(path)


@pytest.mark.parametrize(
    "edit",
    [
        {"gap": 0.5},
        {"certified_gap": 0.25},
        {"status": "claimed optimal", "bound_level": "claimed", "certified_bound": None},
        {"bound_level": None},
        {"sense": "other"},
    ],
)
def test_numbers_and_words_that_contradict_each_other(mine, edit, tmp_path):
    path, content = mine.written(tmp_path)
    best = content["optimum"]
    best |= {"sense": "min" if best["sense"] == "max" else "max"} if "sense" in edit else edit
    if edit.get("bound_level") == "claimed":
        best["bound"] += (1 if best["sense"] == "max" else -1) * (1 + abs(best["bound"]))
        best |= {"gap": None, "certified_gap": None, "certificate": None}
    assert not mine.right(path, content).accepted


def test_show_does_not_repeat_what_was_refused(call, mine, tmp_path):
    path, content = mine.written(tmp_path)
    content["optimum"] |= dict.fromkeys((*NONE, "schedule"))
    content["optimum"] |= CLAIMS["infeasible, certified"]
    path.write_text(json.dumps(content))
    status, out, _ = call("show", path)
    assert status == 0
    assert "not to be relied on" in out
    assert "no schedule exists (certified)" not in out
    said = json.loads(call("show", path, "--json")[1])
    assert (said["found"], said["comparison"]) == (None, None)


def test_a_policy_as_its_own_bound(mine, tmp_path):
    inst = mine.here.instance
    known = get_family(mine.family)
    for policy in list(known.policies)[:3]:
        run = simulate(inst, policy)
        if run.value is None or not run.obeys:
            continue
        kept = run.schedule if known.trim is None else known.trim(inst, run.schedule)
        for level in ("cross-checked", "certified"):
            path, content = mine.written(tmp_path)
            content["optimum"] |= {
                "value": run.value,
                "bound": run.value,
                "certified_bound": None,
                "bound_level": level,
                "schedule": kept.model_dump(mode="json"),
                "certificate": None,
            }
            found = mine.right(path, content)
            assert found is None or found.gap is None or found.complaints


@pytest.mark.parametrize("part", ["certificate", "schedule", "both", "all"])
def test_parts_of_another_result(mine, part, tmp_path):
    """The certificate of another instance, its digest edited, and its schedule."""
    path, content = mine.written(tmp_path)
    other = mine.other_best.model_dump(mode="json")
    digest = mine.here.instance.digest()
    names = {"both": ("certificate", "schedule"), "all": tuple(other)}.get(part, (part,))
    content["optimum"] |= {name: other[name] for name in names}
    content["optimum"]["instance_sha256"] = digest
    content["optimum"]["certificate"]["instance_sha256"] = digest
    mine.right(path, content)
    content["optimum"]["bound"] = content["optimum"]["certified_bound"] = other["bound"]
    mine.right(path, content)


@pytest.mark.parametrize("edited", ["its digest", "all digests"])
def test_another_instance(mine, edited, tmp_path):
    """The instance is replaced: statements must be true of the one in the file."""
    path, content = mine.written(tmp_path)
    inst = mine.other.instance
    content["instance"] = inst.model_dump(mode="json")
    content["instance_sha256"] = inst.digest()
    if edited == "all digests":
        content["optimum"]["instance_sha256"] = inst.digest()
        content["optimum"]["certificate"]["instance_sha256"] = inst.digest()
    path.write_text(json.dumps(content))
    found = look(path)
    refused_or_right(found, mine.best.sense, mine.other_best.value)
    if edited == "its digest":
        assert found is None or not found.accepted


def test_swapped_references(tmp_path):
    """The best single decision is no optimum, and the optimum is no single decision."""
    known = Solved("bipartite")
    inst, narrower = known.here.instance, None
    for seed in range(60):
        here = case("bipartite", "utilities", 1.0, seed)
        low, high = here.narrower["stationary"].high, here.truth.low
        if low < high * (1 - 1e-3):
            inst, narrower = here.instance, here
            break
    assert narrower is not None
    best = solve(inst, time_limit=60)
    one = solve(inst, method="stationary", time_limit=60)
    assert one.value < best.value * (1 - 1e-4)
    path = tmp_path / "result.json"
    edits = (
        {},
        {"method": "auto"},
        {"scope": ""},
        {"scope": "", "method": "auto"},
        {"scope": "", "method": "auto", "status": "optimal"},
    )
    for edit in edits:
        save_result(path, inst, one, references={"stationary": best})
        content = json.loads(path.read_text())
        content["optimum"] |= edit
        path.write_text(json.dumps(content))
        found = look(path)
        if found is None or not found.accepted:
            continue
        sure = found.gap is not None and found.gap <= 1e-6
        assert not sure or "stationary" in found.what, (edit, found)
        if "scope" in edit:
            assert not sure, (edit, found)
    assert family_of(inst).check(inst, one.certificate) < best.value  # of another question


def test_the_recorded_history_says_nothing_beyond_what_was_checked(mine, tmp_path):
    path, content = mine.written(tmp_path)
    best, sign = mine.best, 1 if mine.best.sense == "max" else -1
    huge, inf = 1e308, "inf"
    content["optimum"]["history"] = [
        {"seconds": -1e308, "value": 0.0, "bound": 0.0},
        {"seconds": 0.0, "value": sign * huge, "bound": -sign * huge},
        {"seconds": 0.0, "value": None, "bound": best.bound + sign},
        {"seconds": 1e308, "value": 0.0, "bound": 0.0},
    ]
    path.write_text(json.dumps(content))
    for found in (load_optimum(path), load_known(path, mine.here.instance)[0]):
        assert [p.seconds for p in found.history] == [0.0, 0.0]
        assert (found.history[0].value, found.history[0].bound) == (best.value, best.bound)
        assert found.history[1].bound == best.bound + sign
    report(path, tmp_path / "page.html")
    assert "1e+308" not in (tmp_path / "page.html").read_text()
    content["optimum"]["history"].append({"seconds": inf, "value": 0.0, "bound": 0.0})
    path.write_text(json.dumps(content))
    with suppress(InputError):
        assert len(load_optimum(path).history) == 2


def test_parts_that_are_nested_deeply_are_refused_in_a_line(mine, tmp_path):
    path, content = mine.written(tmp_path)
    prices: list[object] = []
    for _ in range(900):
        prices = [prices]
    content["optimum"]["shadow_prices"] = [{"x": prices}]
    path.write_text(json.dumps(content))
    with suppress(InputError):
        load_optimum(path)


def test_a_certificate_of_the_optimum_makes_no_relaxation(tmp_path, call):
    """The certificate of the integer program proves a bound that the relaxation exceeds."""
    instance, path = get_family("dmlrs").generate("small", seed=5), tmp_path / "result.json"
    made = compare(instance, ["fifo"], reference="both", time_limit=60)
    save_result(path, instance, made.optimum, made.runs, made.references)
    content = json.loads(path.read_text())
    optimum, relaxed = content["optimum"], content["references"]["relaxation"]
    assert optimum["certified_bound"] < relaxed["certified_bound"] - 0.01
    for name in ("certificate", "certified_bound", "bound"):
        relaxed[name] = optimum[name]
    path.write_text(json.dumps(content))
    read = load_report(path, instance)
    assert read.references["relaxation"].bound_level is Level.CLAIMED
    assert read.gap_in_words == "1 (claimed)"
    status, out, _ = call("verify", path)
    assert (status, "that the relaxation reaches the bound" in out) == (0, True)
    status, out, _ = call("show", path)
    assert (status, "(claimed)" in out, "warning: not checked" in out) == (0, True, True)
