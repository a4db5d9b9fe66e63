"""Both checkers agree of results, whole and damaged: accepted or not, and which bound."""

import json
import subprocess
from itertools import product

import pytest
from damages import NAMES, damaged
from independent.cases import case
from independent.dmlrs import mixed
from names import NO_NAMES
from patience import LONG
from second_checker import NODE, RESULTS, answers, differences, solved

from optsched.core import compare, simulate, solve
from optsched.pages.checker import save_checker
from optsched.problem import InputError, get_family
from optsched.results.result import recheck, save_result, save_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NODE is None, reason="there is no Node"),
]

DAMAGED = 30  # files of every result


@pytest.fixture(scope="module", params=list(RESULTS))
def results(request, tmp_path_factory):
    return solved(request.param, tmp_path_factory.mktemp(request.param))


def test_the_same_nesting_is_refused(tmp_path):
    path = solved("oasis", tmp_path)[0]
    files, text = [], path.read_text().rstrip().removesuffix("}")
    for inner in ("", "1"):
        for depth in range(398, 403):
            files.append(tmp_path / f"nested{depth}{inner}.json")
            files[-1].write_text(f'{text}, "note": {"[" * depth}{inner}{"]" * depth}}}')
    assert differences(files, answers(files, tmp_path)) == []
    assert all(part.accepted for part in recheck(files[0]))
    with pytest.raises(InputError, match="nested too deeply, expected at most 400 levels"):
        recheck(files[-1])


def test_whole_and_damaged_results(results, tmp_path):
    files = [
        *results,
        *(f for path in results for f, _ in damaged(path, tmp_path, DAMAGED, seed=50)),
    ]
    assert all(part.accepted for path in results for part in recheck(path))
    assert differences(files, answers(files, tmp_path)) == []


def test_amounts_that_nine_decimals_change_much_are_refused(tmp_path):
    path, files = solved("oasis", tmp_path)[0], []
    for x in (0.0, 4e-10, 1.5e-9, 1e-9, 3.3333333333e-4, 1.0000004e-3, 5e-324, 1.000002e-6):
        content = json.loads(path.read_text())
        content["instance"]["worker_machines"][0]["capacity"][1] = x
        files.append(tmp_path / f"amount{x}.json")
        files[-1].write_text(json.dumps(content))
    told = answers(files, tmp_path)
    assert differences(files, told) == []
    for x in (4e-10, 1.5e-9, 5e-324, 1.000002e-6):
        with pytest.raises(InputError, match="choose a smaller unit"):
            recheck(tmp_path / f"amount{x}.json")
        found = told[str(tmp_path / f"amount{x}.json")]
        assert "expected 0 or a multiple of 1e-9" in json.dumps(found)


@pytest.mark.parametrize("damage", [None, "[]", '"x"'])
def test_parameters_that_were_set(tmp_path, damage):
    inst, path = get_family("oasis").generate("small", seed=1), tmp_path / "result.json"
    save_result(path, inst, solve(inst, work_limit=50, params={"auto": {"small": 0}}))
    content = json.loads(path.read_text())
    assert content["optimum"]["params"] == {"auto": {"small": 0}}
    if damage is not None:
        content["optimum"]["params"] = json.loads(damage)
        path.write_text(json.dumps(content))
    assert differences([path], answers([path], tmp_path)) == []


PLACES = ("", "instance", "optimum", "certificate", "schedule")


def test_unknown_names(results, tmp_path):
    """A name that all objects of JavaScript have is as unknown as any other."""
    files = {}
    for name, where in product(NAMES, PLACES):
        content = json.loads(results[0].read_text())
        inside = content if where in ("", "instance", "optimum") else content["optimum"]
        (inside[where] if where else inside)[name] = 1
        path = tmp_path / f"{len(files)}.json"
        path.write_text(json.dumps(content))
        files[path] = name, where
    found = answers([*files], tmp_path)
    for path, (name, where) in files.items():
        (part,) = found[str(path)]
        assert part["accepted"] == (where == ""), (name, where)  # an envelope may have more
    assert differences([*files], found) == []


EDITS = (
    {"family": ["oasis"]},
    {"format": True},
    {"runs": None},
    {"references": None},
    {"schedules": None},
    {"optimum.value": "1"},
    {"optimum.seconds": True},
    {"optimum.seconds": -5.0},
    {"optimum.method": "exhaustive search"},
    {"optimum.method": "cp-sat "},
    {"optimum.method": ["auto"]},
    {"optimum.effort": "3"},
    {"optimum.bound": "inf"},
    {"optimum.scope": "constructor"},
    {"optimum.status": "toString"},
)


def test_what_only_one_of_them_used_to_refuse(results, tmp_path):
    files = []
    for edit in EDITS:
        content = json.loads(results[0].read_text())
        for place, value in edit.items():
            holder, _, name = place.rpartition(".")
            (content[holder] if holder else content)[name] = value
        files.append(tmp_path / f"{len(files)}.json")
        files[-1].write_text(json.dumps(content))
    found = answers(files, tmp_path)
    for path, edit in zip(files, EDITS, strict=True):
        assert not any(part["accepted"] for part in found[str(path)]), edit
    assert differences(files, found) == []


def test_methods_are_those_of_the_family(results, tmp_path):
    files, content = [], json.loads(results[0].read_text())
    methods = [*get_family(content["family"]).methods]
    for name in [*methods, *["cp-sat"] * ("cpsat" in methods), "exponential"]:
        content["optimum"]["method"] = name
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(content))
    found = answers(files, tmp_path)
    accepted = [all(part["accepted"] for part in found[str(path)]) for path in files]
    assert accepted == [True] * (len(files) - 1) + [False]
    assert differences(files, found) == []


def test_names_of_rows(tmp_path):
    inst = case("bipartite", "one job", 1.0, 1).instance
    made = compare(inst, ["binpacking", "ogasched"], time_limit=LONG)
    outside = {"mine": made.runs[0].schedule}
    good = tmp_path / "good.json"
    save_result(good, inst, made.optimum, made.runs, made.references, outside)
    run = tmp_path / "run.json"
    save_run(run, inst, made.runs[0])
    content, alone = json.loads(good.read_text()), json.loads(run.read_text())
    files = []
    for name in (*NO_NAMES, "stationary", "BinPacking", "mine"):
        second = content["runs"][1] | {"policy": name}
        edits = [content | {"runs": [content["runs"][0], second]}]
        if name != "mine":
            edits.append(content | {"schedules": {name: content["schedules"]["mine"]}})
        if name in (*NO_NAMES, "stationary"):
            edits.append(alone | {"run": alone["run"] | {"policy": name}})
        for edit in edits:
            files.append(tmp_path / f"{len(files)}.json")
            files[-1].write_text(json.dumps(edit))
    found = answers([good, run, *files], tmp_path)
    assert all(part["accepted"] for path in (good, run) for part in found[str(path)])
    assert not any(part["accepted"] for path in files for part in found[str(path)])
    assert differences([good, run, *files], found) == []


def test_times_of_a_run_are_not_negative(tmp_path):
    inst = case("bipartite", "one job", 1.0, 1).instance
    files = [tmp_path / "good.json"]
    save_run(files[0], inst, simulate(inst, "binpacking"))
    content = json.loads(files[0].read_text())
    for edit in ({"seconds": -1.0}, {"slowest": -1.0}, {"decision_limit": 0.0}):
        files.append(tmp_path / f"{len(files)}.json")
        files[-1].write_text(json.dumps(content | {"run": content["run"] | edit}))
    found = answers(files, tmp_path)
    assert [found[str(path)][0]["accepted"] for path in files] == [True, False, False, False]
    assert differences(files, found) == []


def test_a_relaxation_has_no_schedule(tmp_path):
    inst = case("oasis", "one job", 1.0, 1).instance
    best, relaxed = solve(inst, time_limit=LONG), solve(inst, method="relaxation", time_limit=LONG)
    files = [tmp_path / "good.json", tmp_path / "bad.json"]
    for path, reference in zip(files, (relaxed, best), strict=True):
        save_result(path, inst, best, references={"relaxation": reference})
    assert [[part.accepted for part in recheck(path)] for path in files] == [
        [True, True],
        [True, False],
    ]
    assert "'relaxation', which has no schedule" in str(recheck(files[1])[1])
    assert differences(files, answers(files, tmp_path)) == []


def test_a_checker_to_which_nobody_listens_ends_quietly(tmp_path):
    program = save_checker(tmp_path / "checker.js")
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {NODE} {program} {program} {program} | true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (1, "")


@pytest.mark.parametrize("family", ["oasis", "dmlrs"])
def test_beside_jobs_that_never_run_and_are_worth_far_more(family, tmp_path):
    files = []
    for seed in range(12):
        for scale in (1e-9, 1e12):
            here = case(family, "one job", scale, seed).instance
            for method in ("auto", "relaxation"):
                files.append(tmp_path / f"{seed}-{scale:g}-{method}.json")
                save_result(files[-1], here, solve(here, method=method, time_limit=LONG))
    assert differences(files, answers(files, tmp_path)) == []


def test_in_mixed_units(tmp_path):
    files = [tmp_path / f"{seed}.json" for seed in (104, 237, 277, 310, 321)]
    for path in files:
        here = mixed(int(path.stem))
        save_result(path, here, solve(here, time_limit=LONG))
    assert differences(files, answers(files, tmp_path)) == []


@pytest.mark.parametrize(
    ("number", "reads"),
    [
        ("1e18", True),
        ("9223372036854774784.0", True),
        ("9223372036854775808", True),
        ("9223372036854775808.0", False),
        ("1e19", False),
        ("-9223372036854775808.0", False),
    ],
)
def test_large_whole_numbers_are_written_in_digits_alone(number, reads, tmp_path):
    (path,) = solved("oasis", tmp_path, [1])
    content = json.loads(path.read_text())
    content["optimum"]["certificate"]["nodes"][0]["prices"]["entries"][0][-1] = "NUMBER"
    path.write_text(json.dumps(content).replace('"NUMBER"', number))
    if reads:
        assert recheck(path)[0].bound is not None
    else:
        with pytest.raises(
            InputError, match="expected a whole number of that size in digits alone"
        ):
            recheck(path)
    assert differences([path], answers([path], tmp_path)) == []


@pytest.mark.parametrize("slot", [2**53, 2**63, 10**400, -(10**30)])
def test_a_slot_that_no_float_holds(slot, tmp_path):
    inst = case("oasis", "one job", 1.0, 1).instance
    save_run(tmp_path / "run.json", inst, simulate(inst, "fifo"))
    content = json.loads((tmp_path / "run.json").read_text())
    content["run"]["completion"][0] = slot
    (tmp_path / "run.json").write_text(json.dumps(content))
    found = answers([tmp_path / "run.json"], tmp_path)
    assert differences([tmp_path / "run.json"], found) == []
    ((part,),) = found.values()
    assert part["complaints"] == [
        "other jobs are completed, or in other slots, than the file states"
    ]


@pytest.mark.parametrize(("limits", "reads"), [([], True), ([[0, 0, "1"]], False)])
def test_empty_cuts_of_slots_of_earlier_versions(limits, reads, tmp_path):
    (path,) = solved("oasis", tmp_path, [1])
    content = json.loads(path.read_text())
    certificate = content["optimum"]["certificate"]
    assert "limits" not in certificate
    certificate["limits"] = limits
    path.write_text(json.dumps(content))
    found = answers([path], tmp_path)
    assert any(part["accepted"] for part in found[str(path)]) == reads
    assert differences([path], found) == []


def test_a_number_that_no_float_holds_is_not_infinite(results, tmp_path):
    """The text "inf" is the only infinity of a file."""
    text = results[0].read_text()
    gap = json.dumps(json.loads(text)["optimum"]["gap"])
    path = tmp_path / "r.json"
    path.write_text(text.replace(f'"gap": {gap}', '"gap": 1e400'))
    assert path.read_text() != text
    with pytest.raises(InputError, match="beyond the largest float"):
        recheck(path)
    content = json.loads(text)
    content["optimum"]["shadow_prices"] = [{"price": "NUMBER"}]
    path.write_text(json.dumps(content).replace('"NUMBER"', "-1e400"))
    with pytest.raises(InputError, match="beyond the largest float"):
        recheck(path)
    found = answers([path], tmp_path)
    assert not any(part["accepted"] for part in found[str(path)])


def test_a_job_of_family_rigid_that_ends_at_a_second_which_no_float_holds(tmp_path):
    inst = get_family("rigid").generate("small", seed=1, jobs=1)
    (job,) = inst.jobs
    run = simulate(inst, "fcfs")
    start = 2**53 + 1 - job.run
    late = run.model_copy(
        update={
            "schedule": run.schedule.model_copy(update={"start": (start,)}),
            "completion": (start + job.run,),
            "value": float(start + job.run - job.arrival),
        }
    )
    save_run(tmp_path / "run.json", inst, late)
    found = answers([tmp_path / "run.json"], tmp_path)
    assert [part["accepted"] for part in found[str(tmp_path / "run.json")]] == [True]
    assert differences([tmp_path / "run.json"], found) == []
