"""Plans: what they request, their keys, and what is wrong with them."""

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import fields
from datetime import date
from pathlib import Path

import pytest

from optsched.core import open_input
from optsched.experiments.cell_keys import (
    Contender,
    Reference,
    Source,
    canonical,
    cells_of,
    instance_key,
    source_of,
)
from optsched.experiments.plan import (
    Instances,
    Plan,
    Policies,
    difference,
    make_plan,
    read_plan,
    stored_plan,
)
from optsched.files.format import save_instance
from optsched.problem import InputError, Window, get_family

TOML = """
[[instances]]
family = "bot"
preset = "small"
seeds = 2
grid = { applications = [2, 3] }

[[instances]]
family = "bipartite"
preset = "small"
seeds = "3..5"
parameters = { slots = 4 }

[[policies]]
name = "fifo"
[[policies]]
name = "drf"
[[policies]]
name = "fairness"
family = "bipartite"
grid = { among = ["jobs", "all"] }

[reference]
time_limit = 5
"""


JOBS = "submit_seconds,run_seconds,tasks,request_seconds,gpu\n" + "".join(
    f"{k},3600,1,7200,1\n" for k in range(6)
)
SAMPLE = {"family": "oasis", "trace": "sample"}


def plan(**changes):
    usual = {"instances": [{"family": "bot", "preset": "small", "seeds": 3}]}
    return make_plan(usual | changes, Path())


def nested(levels):
    made = 1
    for _ in range(levels):
        made = [made]
    return made


def test_a_file_asks_for_the_grid(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(TOML)
    cases = list(read_plan(path).cases())
    said = [(c.source.label, c.seed, [cell.contender.label for cell in c.cells]) for c in cases]
    policies = ["drf", "fairness(among=jobs)", "fairness(among=all)"]
    assert said == [
        *(("bot small applications=2", seed, ["fifo"]) for seed in (0, 1)),
        *(("bot small applications=3", seed, ["fifo"]) for seed in (0, 1)),
        *(("bipartite small slots=4", seed, policies) for seed in (3, 4, 5)),
    ]
    assert {case.reference for case in cases} == {Reference(time_limit=5.0)}
    assert {case.reference for case in plan().cases()} == {Reference(effort=60000.0)}


def test_without_policies_all_of_the_family_run():
    names = [cell.contender.name for cell in next(plan().cases()).cells]
    assert names == ["adaptive", "naive", "local-share", "fifo"]


def test_keys_are_known_for_good():
    # stores are read by later versions: these numbers must never change
    source = Source("bot", {"preset": "small"})
    key = instance_key(source, 7)
    (cell,) = cells_of(key, Reference(time_limit=5.0), [Contender("fifo", {})], 1)
    assert key.hex() == "68310c08e6fa2e093f493fcce033f336"
    assert cell.key.hex() == "babaea98e9c386731166c78ee3f7cc32"
    assert cell.seed == 938329571


def test_keys_do_not_depend_on_hashing():
    block = {"family": "bot", "seeds": 2, "grid": {"alpha": [1, 2]}}
    code = (
        "from pathlib import Path; from optsched.experiments.plan import make_plan;"
        f"p = make_plan({{'instances': [{block}]}}, Path('.'));"
        "print(*(c.key.hex() for case in p.cases() for c in case.cells))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "1"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    here = [cell.key.hex() for case in plan(instances=[block]).cases() for cell in case.cells]
    assert said == here


def test_seeds_of_policies_are_common_and_differ_between_instances():
    seeds = [{cell.seed for cell in case.cells} for case in plan().cases()]
    assert [len(s) for s in seeds] == [1, 1, 1]
    assert len(set.union(*seeds)) == 3


def test_more_seeds_keep_the_cells_that_were_there():
    more = plan(instances=[{"family": "bot", "preset": "small", "seeds": 5}], replications=2)
    assert plan().keys() < more.keys()


def test_limits_and_names_are_in_no_key():
    assert plan().keys() == plan(limits={"cell_seconds": 3}, name="other").keys()
    assert plan().content() == plan(limits={"cell_seconds": 3}, name="other").content()


@pytest.mark.parametrize(
    "changes",
    [
        {"reference": {"time_limit": 3}},
        {"reference": {"seed": 1}},
        {"reference": {"effort": 59999}},
        {"instances": [{"family": "bot", "seeds": 3}]},
        {"instances": [{"family": "bot", "preset": "small", "parameters": {"alpha": 2}}]},
        {"policies": [{"name": "adaptive", "parameters": {"iterations": 5}}]},
        {"policies": [{"name": "adaptive", "sandbox": True}]},
    ],
)
def test_what_changes_a_number_changes_the_key(changes):
    assert not plan().keys() & plan(**changes).keys()


def test_old_plans_call_the_sandbox_sealed():
    old, new = ({"policies": [{"name": "adaptive", key: True}]} for key in ("sealed", "sandbox"))
    assert plan(**old).keys() == plan(**new).keys()


@pytest.mark.parametrize("name", ["campaign_own:P", "campaign_own.py:P", "./campaign_own.py:P"])
def test_a_policy_of_ones_own_counts_by_its_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    keys = []
    for text in ("class P: pass\n", "class P:\n    x = 1\n"):
        (tmp_path / "campaign_own.py").write_text(text)
        keys.append(plan(policies=[{"name": name}]).keys())
    assert not keys[0] & keys[1]


def test_a_trace_counts_by_what_is_in_it(tmp_path):
    keys = []
    for folder, text in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "jobs.csv").write_text(text)
        block = {"family": "oasis", "trace": "jobs.csv", "grid": {"start": ["0", "1h"]}}
        keys.append(make_plan({"instances": [block]}, tmp_path / folder).keys())
    assert keys[0] == keys[1]
    assert not keys[0] & keys[2]


def test_windows_of_the_sample_become_instances():
    block = {"family": "oasis", "trace": "sample", "parameters": {"jobs": 5, "slots": 5}}
    first, second = make_plan({"instances": [block | {"seeds": 2}]}, Path()).cases()
    made = [case.source.make(case.seed) for case in (first, second)]
    assert len(made[0].jobs) == 5
    assert made[0].digest() != made[1].digest()


def test_windows_of_a_trace_are_the_instances_of_one_source():
    block = {"family": "oasis", "trace": "sample", "windows": 4}
    block |= {"parameters": {"jobs": 5, "slots": 5}}
    made = make_plan({"instances": [block]}, Path())
    cases = [*made.cases()]
    assert [case.seed for case in cases] == [1, 2, 3, 4]
    assert [case.source.drawn_by(case.seed) for case in cases] == [f"window {k}/4" for k in "1234"]
    assert {case.source.label for case in cases} == {"oasis sample windows=4 jobs=5 slots=5"}
    _, label = source_of(canonical(cases[0].source.content))
    assert label == "oasis sample jobs=5 slots=5 windows=4"
    places = [Window(start=f"#{k}", jobs=5, slots=5, draw_seed=1 + k // 100) for k in (0, 100)]
    alone = [open_input(Path("sample"), "oasis", window).digest() for window in places]
    assert [case.source.make(case.seed).digest() for case in cases[:2]] == alone
    assert stored_plan(made.model_dump_json(), Path("store")).keys() == made.keys()


def test_a_stored_plan_is_the_plan():
    assert stored_plan(plan().model_dump_json(), Path("store")).keys() == plan().keys()


MANY = {
    "replications": {"replications": 10**6},
    "seeds": {"instances": [{"family": "bot", "preset": "small", "seeds": [*range(10**6)]}]},
    "a grid of policies": {
        "policies": [{"name": "fifo", "grid": {k: [*range(46)] for k in "abc"}}],
        "replications": 9,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("what", MANY)
def test_a_stored_plan_of_too_many_cells_is_refused_at_once(what):
    usual = plan().model_dump(mode="json") | {"replications": 3} | MANY[what]
    with pytest.raises(InputError, match=r"store: the plan requests \d+ cells, expected at most"):
        stored_plan(json.dumps(usual), Path("store"))


def test_instances_that_are_named_twice_come_once():
    block = {"family": "bot", "preset": "small", "seeds": 2}
    assert len(list(plan(instances=[block, block | {"seeds": 3}]).cases())) == 3


def test_instance_files_are_the_instances_of_a_plan(tmp_path):
    family = get_family("bot")
    made = [family.generate("small", seed=seed) for seed in range(3)]
    (tmp_path / "mine").mkdir()
    for k, instance in enumerate(made[:2]):
        save_instance(instance, tmp_path / "mine" / f"{k}.json")
    asked = {"instances": [{"family": "bot", "files": "mine/*.json"}]}
    first = make_plan(asked, tmp_path)
    found = {case.source.file(case.seed): case.source.make(case.seed) for case in first.cases()}
    assert found == {"mine/0.json": made[0], "mine/1.json": made[1]}
    save_instance(made[2], tmp_path / "mine" / "00.json")  # sorted between: no key moves
    assert first.keys() < make_plan(asked, tmp_path).keys()
    assert stored_plan(first.model_dump_json(), Path("store")).keys() == first.keys()
    save_instance(made[2], tmp_path / "mine" / "1.json")
    with pytest.raises(InputError, match=r"1\.json: is another file than when the campaign began"):
        [case.source.make(case.seed) for case in first.cases()]


def test_a_trace_that_changes_during_a_campaign_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("submit_seconds,run_seconds,tasks\n0,60,1\n60,60,2\n")
    asked = {"instances": [{"family": "oasis", "trace": "t.csv", "parameters": {"slots": 4}}]}
    case = next(make_plan(asked, tmp_path).cases())
    case.source.make(case.seed)
    (tmp_path / "t.csv").write_text("submit_seconds,run_seconds,tasks\n0,60,1\n60,60,4\n")
    with pytest.raises(InputError, match=r"t\.csv: is another file than when the campaign began"):
        case.source.make(case.seed)


def test_instance_files_of_another_family_are_refused(tmp_path):
    save_instance(get_family("bot").generate("small", seed=0), tmp_path / "a.json")
    with pytest.raises(InputError, match=r"a\.json: is of family bot, expected oasis"):
        make_plan({"instances": [{"family": "oasis", "files": "*.json"}]}, tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instances": [{"family": "bot", "files": "no/*.json"}]}, "'no/*.json': there is none in"),
        (
            {"instances": [{"family": "bot", "files": "*.json", "seeds": 2}]},
            "expected no other key",
        ),
        (
            {"instances": [{"family": "bot", "files": "*"}]},
            "expected a pattern such as mine/*.json",
        ),
        (
            {"instances": [{"family": "bot", "files": "*.json", "preset": "small"}]},
            "preset and files are given, expected one of them",
        ),
        (
            {"instances": [{"files": "*.json"}]},
            'family is missing, expected that of the files, such as "declared-min"',
        ),
        ({"instances": [{"family": "bott"}]}, "instances.0: unknown family 'bott'"),
        ({"instances": [{"family": "bot", "preset": "tiny"}]}, "unknown preset 'tiny', expected"),
        ({"instances": [{"family": "bot", "parameters": {"jobs": 1}}]}, "parameter 'jobs'"),
        ({"instances": [{"family": "bot", "seeds": "1-3"}]}, "'1-3', expected how many"),
        ({"instances": [{"family": "bot", "seeds": 0}]}, "instances.0.seeds"),
        ({"instances": [{"family": "bot", "grid": {"alpha": []}}]}, "instances.0.grid.alpha"),
        ({"policies": [{"name": "drf"}]}, "unknown policy 'drf', expected one of: adaptive"),
        ({"policies": [{"name": "drf", "family": "oasis"}]}, "bot: no policy of the plan"),
        ({"reference": {"method": "x"}}, "bot: unknown method 'x', expected one of: auto"),
        ({"reference": {"work_limit": 5, "time_limit": 5}}, "expected one of them"),
        ({"reference": {"effort": 5, "work_limit": 5}}, "effort"),
        ({"reference": {"work_limit": True}}, "reference.work_limit: is True, expected a number"),
        ({"reference": {"gap": 1}}, "reference.gap: is 1; Input should be less than 1"),
        ({"limits": {"memory_gb": 1e308}}, "limits.memory_gb: is 1e+308; Input should be less"),
        ({"refrence": {}}, "refrence"),
        ({"digests": {}}, "digests is no key of a plan"),
        (
            {"instances": [{"family": "bot", "parameters": {"nodes": math.nan}}]},
            "nodes is nan, expected a finite",
        ),
        ({"instances": [{"family": "bot", "grid": {"nodes": [math.inf]}}]}, "grid.nodes[0] is inf"),
        (
            {"policies": [{"name": "fifo", "parameters": {"x": math.nan}}]},
            "x is nan, expected a finite",
        ),
        ({"instances": [{"family": "bot", "parameters": {"x": date(2020, 1, 1)}}]}, "x is a date"),
        ({"name": "\x1b[31mred"}, "holds a control character"),
        ({"instances": [{"family": "bot", "parameters": {"x": nested(25)}}]}, "nested too deeply"),
        ({"instances": [{"family": "bot", "parameters": {"x": nested(900)}}]}, "nested too deeply"),
        ({"instances": [{"family": "bot", "seeds": [1 << 63]}]}, "instances.0.seeds.0"),
        (
            {"instances": [{"family": "oasis", "trace": "sample", "parameters": {"machines": 3}}]},
            "machines is 3, expected the name of a file",
        ),
        ({"instances": [{"family": "bot", "windows": 2}]}, "windows are parts of a trace"),
        ({"instances": [SAMPLE | {"windows": 1}]}, "instances.0.windows"),
        ({"instances": [SAMPLE | {"windows": 2, "seeds": 2}]}, "starts and seeds of their own"),
        (
            {"instances": [SAMPLE | {"windows": 2, "grid": {"start": ["0"]}}]},
            "starts and seeds of their own",
        ),
        (
            {"instances": [SAMPLE | {"parameters": {"windows": 2}}]},
            "windows is no parameter here, expected it next to trace",
        ),
        (
            {"instances": [SAMPLE | {"windows": 5, "parameters": {"jobs": 100}}]},
            "has 80 jobs of at least 1 tasks, expected 100",
        ),
        ({"instances": [SAMPLE | {"windows": 401}]}, "expected at most 400 windows"),
        (
            {"instances": [{"family": "bot", "seeds": f"0..{999_900 + k}"} for k in range(40)]},
            "there are more than 1000000 seeds, expected fewer",
        ),
        (
            {"instances": [{"family": "bot", "grid": {k: [*range(9, 19)] for k in "abcdef"}}]},
            "a grid has more than 100000 points, expected fewer",
        ),
        (
            {"policies": [{"name": "fifo", "parameters": {"name": "x"}}]},
            "policy 'fifo': got an unexpected keyword argument 'name'",
        ),
        ({"policies": [{"name": "exec:x", "parameters": {"a": 1}}]}, "exec:x runs in a sandbox"),
        ({"instances": [{"family": "oasis", "trace": "no.csv"}]}, "no.csv: cannot be read"),
        (
            {"instances": [{"family": "bot", "seeds": "0..99999"}], "replications": 101},
            "requests 40400000 cells, expected at most 1000000",
        ),
    ],
)
def test_what_is_wrong_is_told_in_a_line(changes, said):
    with pytest.raises(InputError) as caught:
        plan(**changes)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "value", ["[" * 5000 + "]" * 5000, "9" * 5000, "1979-05-27", "nan"], ids=lambda v: v[:3]
)
def test_files_that_no_plan_is_are_refused_in_a_line(tmp_path, value):
    path = tmp_path / "plan.toml"
    path.write_text(f'[[instances]]\nfamily = "bot"\nparameters = {{nodes = {value}}}\n')
    with pytest.raises(InputError, match=r"plan\.toml"):
        read_plan(path)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (
            '[[policies]]\npolicy = "fifo"\n',
            "policies.0: has no name, expected one, such as",
        ),
        ('[policies]\nname = "fifo"\n', "[policies] is one table, expected [[policies]]"),
    ],
)
def test_blocks_of_policies_are_lists_of_names(tmp_path, block, said):
    path = tmp_path / "plan.toml"
    path.write_text(f'[[instances]]\nfamily = "oasis"\nseeds = 2\n{block}')
    with pytest.raises(InputError) as caught:
        read_plan(path)
    assert said in str(caught.value)


def test_a_difference_is_named_by_its_key():
    there, here = plan().content(), plan(reference={"time_limit": 3}).content()
    assert difference(there, here) == "reference.time_limit is 3.0, but null in the store"
    fewer = plan(instances=[{"family": "bot", "preset": "small", "seeds": 2}]).content()
    assert difference(there, fewer) == "instances[0].seeds is [0,1], but [0,1,2] in the store"


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ('machines = "m.csv"', "machines is no key here, .* parameters = {machines = ...}"),
        ("parameters = {slot = '1h'}", "toml: parameters.slot: family rigid has no slots"),
        ("parameters = {jobs = 4}", r"take fewer \(parameters.jobs 3\)"),
    ],
)
def test_messages_on_a_plan_name_its_keys(tmp_path, block, said):
    (tmp_path / "jobs.csv").write_text(JOBS)
    head = "[[instances]]\nfamily = 'rigid'\ntrace = 'jobs.csv'\nwindows = 2\n"
    (tmp_path / "plan.toml").write_text(head + block)
    with pytest.raises(InputError, match=said):
        read_plan(tmp_path / "plan.toml")


def test_a_plan_that_is_missing_is_no_wrong_toml(tmp_path):
    with pytest.raises(InputError, match=r"^[^ ]*plan.toml: cannot be read: No such file"):
        read_plan(tmp_path / "plan.toml")


def test_parameters_of_a_trace_may_have_the_names_of_options(tmp_path):
    (tmp_path / "jobs.csv").write_text(JOBS)
    block = {"family": "oasis", "trace": "jobs.csv"}
    named = [
        {"parameters": {"horizon": 9, "jobs": 3}, "grid": {"slot_length": ["1h", "2h"]}},
        {"parameters": {"slots": 9, "jobs": 3}, "grid": {"slot": ["1h", "2h"]}},
    ]
    one, other = (make_plan({"instances": [block | more]}, tmp_path) for more in named)
    assert one.content() == other.content()


def test_the_page_lists_all_keys_of_a_plan():
    page = (Path(__file__).parents[2] / "docs" / "campaigns.md").read_text()
    table = page.partition("## The plan")[2].partition("\n\n`MODULE")[0]
    names = {*re.findall(r"`([a-z_.]+)`", table)}
    assert {*Plan.model_fields} - {"folder", "digests"} <= names
    assert {f"instances.{name}" for name in Instances.model_fields} <= names
    assert {f"policies.{n}" for n in Policies.model_fields if n != "sealed"} <= names
    assert {f.name for f in fields(Window)} - {"draw_seed"} <= names
