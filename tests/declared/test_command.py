"""Declared problems in a plain file: commands, campaigns, the sandbox, and code that is not run."""

import html
import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import read
from typer.main import get_command
from typer.testing import CliRunner

import optsched
from optsched.adversarial.evaluation import Terms
from optsched.adversarial.worst_case import find_worst_case
from optsched.cli.app import app
from optsched.core import compare
from optsched.declared.model import KINDS
from optsched.experiments.campaign import campaign
from optsched.experiments.plan import Plan, make_plan
from optsched.files.format import load_instance, save_instance
from optsched.problem import InputError, PolicyError, get_family
from optsched.process.loading import load_from_file
from optsched.results.load import load_report

PAGE = Path(__file__).parents[2] / "docs" / "declared.md"
(FILE,) = [b.body for b in read(PAGE.read_text("utf-8")) if b.file == "knapsack.py"]
PLAN = """
[[instances]]
family = "knapsack.py:knapsack"
parameters = {items = 12}
seeds = 3

[[policies]]
name = "re-solve"

[[policies]]
name = "knapsack.py:threshold"
"""


@pytest.fixture
def folder(folder):
    (folder / "knapsack.py").write_text(FILE)
    (folder / "plan.toml").write_text(PLAN)
    return folder


def run(*words):
    done = CliRunner().invoke(app, [*map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def test_a_problem_and_its_policy_are_named_by_their_file(folder):
    words = ["ratio", "knapsack.py:knapsack", "--preset", "small", "--seed", "1"]
    words += ["-p", "re-solve", "-p", "knapsack.py:threshold", "-o", "result.json", "--json"]
    said = json.loads(run(*words).stdout)
    assert said["reference"]["status"] == "optimal"
    assert [row["name"] for row in said["policies"]] == ["re-solve", "threshold"]
    instance = load_instance(folder / "result.json")
    assert instance.source == "knapsack small seed=1"
    (folder / "knapsack.py").unlink()  # the file of an instance needs no code
    report = load_report(folder / "result.json", instance)
    assert report.optimum.value == said["reference"]["value"]
    for command in (["verify", "result.json"], ["show", "result.json"]):
        assert run(*command).exit_code == 0
    assert run("report", "result.json", "-o", "result.html").exit_code == 0
    page = (folder / "result.html").read_text()
    assert "--policy re-solve --policy FILE.py:threshold --optimum result.json" in page


@pytest.mark.slow
def test_instances_are_generated_exported_and_played_in_the_sandbox(folder):
    assert run("generate", "knapsack.py:knapsack", "--seed", "2", "-o", "k.json").exit_code == 0
    alone = json.loads(run("run", "k.json", "-p", "knapsack.py:threshold", "--json").stdout)
    apart = ["run", "k.json", "-p", "knapsack.py:threshold", "--sandbox", "--json"]
    assert json.loads(run(*apart).stdout)["value"] == alone["value"]
    own = ["run", "k.json", "-p", "re-solve", "--sandbox", "--json"]
    assert json.loads(run(*own).stdout)["sealed"]
    assert run("export", "k.json", "-o", "k.lp").exit_code == 0
    assert "take" in (folder / "k.lp").read_text()


SPY = """
from knapsack import knapsack


class Spy:
    name, information, knows = "spy", "after", ()

    def start(self, public, prior, streams):
        raise ValueError(knapsack("small", seed=streams.seed).source)

    def step(self, event):
        raise NotImplementedError
"""


@pytest.mark.parametrize("command", ["run", "ratio"])
def test_a_policy_cannot_draw_its_instance_again(folder, command):
    (folder / "spy.py").write_text(SPY)
    with pytest.raises(PolicyError, match="ValueError: knapsack small seed=152401799434728\n"):
        run(command, "knapsack.py:knapsack", "--seed", 987654321, "-p", "spy.py:Spy")


@pytest.mark.usefixtures("folder")
def test_the_old_name_of_a_method_warns():
    run("generate", "knapsack.py:knapsack", "-o", "k.json")
    done = [run("solve", "k.json", "-m", name, "--json") for name in ("cp-sat", "cpsat")]
    assert "method cp-sat is deprecated, use cpsat" in done[0].stderr
    values = [json.loads(one.stdout)["reference"]["bound"] for one in done]
    assert values[0] == values[1]


def test_the_ending_of_an_export_is_its_format(folder):
    run("generate", "knapsack.py:knapsack", "-o", "k.json")
    sections = {"lp": "\nc_u_", "mps": "\nROWS"}
    for name, more, to in (
        ("a.mps", [], "mps"),
        ("a.MPS", [], "mps"),
        ("b.lp", [], "lp"),
        ("c.mps", ["--to", "mps"], "mps"),
        ("program", [], "lp"),
        ("program", ["--to", "mps"], "mps"),
        ("d.txt", ["--to", "mps"], "mps"),
    ):
        assert run("export", "k.json", "-o", name, *more).exit_code == 0
        text = (folder / name).read_text()
        assert [kind for kind, mark in sections.items() if mark in text] == [to]
    assert run("export", "k.json", "--to", "mps").exit_code == 0
    assert (folder / "k.mps").read_bytes() == (folder / "a.mps").read_bytes()
    for name, more, said in (
        ("x.mps", ["--to", "lp"], "x.mps: the ending is .mps and --to is lp, expected one format"),
        ("x.nl", [], "x.nl: the ending is .nl, expected .lp, .mps, .cbf"),
        ("x.mps.gz", [], "x.mps.gz: the ending is .gz, expected .lp, .mps, .cbf"),
        ("x.mps.gz", ["--to", "mps"], "x.mps.gz: the ending is .gz, expected .lp, .mps, .cbf"),
        ("x.cbf", [], "cannot be written as cbf, expected lp or mps"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            run("export", "k.json", "-o", name, *more)
        assert not (folder / name).exists()


ORDERS = """
import optsched
import pyomo.environ as pyo


@optsched.problem(sizes={"tiny": {"periods": 2}, "small": {"periods": 3}})
def orders(random, periods, warehouse=25):
    price = random.integers(1, 8, periods)
    m = pyo.ConcreteModel()
    m.order = pyo.Var(range(periods), bounds=(0, 9))
    m.cost = pyo.Objective(expr=sum(int(price[t]) * m.order[t] for t in range(periods)))
    m.need = pyo.Constraint(range(periods), rule=lambda m, t: m.order[t] >= 2)
    return optsched.online(m, revealed={m.order: lambda t: t})


@orders.policy
def twice(event):
    return {x: 4 for x in event.variables}


@orders.policy
def broken(event):
    return {x: 1 / 0 for x in event.variables}
"""


@pytest.mark.slow
def test_a_search_for_bad_costs_speaks_of_no_utility(folder):
    (folder / "orders.py").write_text(ORDERS)
    words = ["worst-case", "--family", "orders.py:orders", "--evaluations", "2"]
    done = run(*words, "-p", "orders.py:twice", "-o", "twice.json")
    assert done.exit_code == 0
    assert "worst instance: ratio 2" in done.stdout
    assert "utility" not in done.stdout
    done = run(*words, "-p", "orders.py:broken", "-o", "broken.json")
    assert done.exit_code == 1
    assert "in 2 of them: policy broken: time 0: ZeroDivisionError" in done.stdout
    assert "\n  orders.py, line" in done.stdout
    with pytest.raises(PolicyError, match="policy broken: time 0: ZeroDivisionError"):
        run("run", "orders.py:orders", "-p", "orders.py:broken", "--sandbox")
    assert "\\n" not in done.stdout


@pytest.mark.parametrize("command", ["worst-case", "generate"])
def test_only_options_that_exist_are_suggested(folder, command):
    (folder / "orders.py").write_text(ORDERS)
    words = {"worst-case": ["-p", "greedy", "--family"], "generate": []}[command]
    said = "--jobs is not supported by family orders.py:orders, expected the sizes of a preset, "
    with pytest.raises(InputError, match=re.escape(f"{said}--preset tiny or small")):
        run(command, *words, "orders.py:orders", "--jobs", "4", "-o", "w.json")
    (folder / "slots.py").write_text(ORDERS.replace("periods", "slots"))
    with pytest.raises(InputError, match=r"expected one of: --horizon$"):
        run(command, *words, "slots.py:orders", "--jobs", "4", "-o", "w.json")


POLICIES = """
import optsched
from optsched.declared.policies import Lookahead, Rolling

near, far = Rolling(4), Lookahead(3)
"""


def test_policies_that_are_made_already_are_named_by_their_file(folder):
    (folder / "mine.py").write_text(POLICIES)
    words = ["ratio", "knapsack.py:knapsack", "-p", "mine.py:near", "-p", "mine.py:far", "--json"]
    table = json.loads(run(*words).stdout)["policies"]
    assert [(row["name"], row["information"]) for row in table] == [
        ("near", "after"),
        ("far", "after, future"),
    ]
    assert len({row["value"] for row in table}) == 2
    with pytest.raises(InputError, match=r"'mine\.py:optsched' is a module, expected a class or a"):
        run("run", "knapsack.py:knapsack", "-p", "mine.py:optsched")


def test_a_function_that_is_not_decorated_is_refused_before_anything_runs(folder):
    (folder / "mine.py").write_text("def buffer(event):\n    return {}\n")
    line = "policy 'buffer': is a function, expected a policy; decorate it with @optsched.policy"
    with pytest.raises(InputError, match=line):
        run("run", "knapsack.py", "-p", "mine.py:buffer")
    began = []
    with pytest.raises(InputError, match=line):
        compare(
            load_from_file("knapsack.py:knapsack", "problem")("small"),
            ["re-solve", "mine.py:buffer"],
            callback=began.append,
        )
    assert not began


@pytest.mark.usefixtures("folder")
def test_a_policy_of_a_file_that_has_been_run_is_suggested():
    # another test may have run another file with a policy of that name
    line = (
        "unknown policy 'threshold', expected (.*, or )?knapsack.py:threshold, or one of: greedy, "
    )
    with pytest.raises(InputError, match=line):
        run("ratio", "knapsack.py", "-p", "threshold")
    with pytest.raises(InputError, match="unknown policy 'pyo', expected one of: greedy, "):
        run("ratio", "knapsack.py", "-p", "pyo")


@pytest.mark.usefixtures("folder")
def test_a_plan_of_python_names_problems_and_policies():
    problem = load_from_file("knapsack.py:knapsack", "problem")
    family = "knapsack.py:knapsack"
    for instances, policies, line in (
        ({"family": "knapsack.py"}, [], "family is 'knapsack.py', expected the problem as well"),
        (
            {"family": problem},
            [],
            "plan: instances[0].family is a Problem, expected its name, 'knapsack.py:knapsack'",
        ),
        (
            {"family": family},
            [{"name": problem.policies["threshold"]}],
            "policies[0].name is a FunctionPolicy, expected its name, 'knapsack.py:threshold'",
        ),
    ):
        with pytest.raises(InputError, match=re.escape(line)):
            campaign({"instances": [instances], "policies": policies}, "cells.sqlite")


@pytest.mark.usefixtures("folder")
def test_a_run_is_verified_without_its_instance():
    run("generate", "knapsack.py", "-o", "k.json")
    run("run", "k.json", "-p", "greedy", "-o", "run.json")
    with pytest.raises(InputError, match=r"run\.json has its instance: optsched verify run\.json"):
        run("verify", "k.json", "run.json")
    assert run("verify", "run.json").exit_code == 0


@pytest.mark.usefixtures("folder")
def test_rows_before_any_bound_state_what_is_known():
    said = run("ratio", "knapsack.py", "--seed", "1", "-p", "greedy", "-p", "random").stderr
    assert re.search(r"greedy +905  the best so far\n", said)
    assert re.search(r"random +\d+  ratio at least [\d.]+\n", said)


def test_a_policy_that_cannot_be_loaded_ends_a_campaign_first(folder, monkeypatch):
    monkeypatch.setattr("optsched.experiments.campaign.ProcessPool", None)
    with pytest.raises(InputError, match=r"knapsack\.py has no 'nope'"):
        run("ratio", "knapsack.py:knapsack", "--seeds", "2", "-p", "knapsack.py:nope")
    plan = (folder / "plan.toml").read_text().replace("knapsack.py:threshold", "knapsack.py:nope")
    (folder / "plan.toml").write_text(plan)
    with pytest.raises(InputError, match=r"knapsack\.py has no 'nope'"):
        campaign("plan.toml", "cells.sqlite", trust=True)


def test_the_only_problem_of_a_file_needs_no_name(folder):
    words = ["--preset", "small", "--seed", "1", "--json"]
    named = json.loads(run("ratio", "knapsack.py:knapsack", "-p", "greedy", *words).stdout)
    alone = json.loads(run("ratio", "knapsack.py", "-p", "greedy", *words).stdout)
    assert alone["reference"]["value"] == named["reference"]["value"]
    assert "no leak" in run("check-problem", "knapsack.py", "--pairs", "2").stdout
    assert run("generate", "knapsack.py", "-o", "a.json").exit_code == 0
    second = FILE.replace("def knapsack", "def sack").replace("@knapsack", "@sack")
    (folder / "two.py").write_text(FILE + second.replace("return optsched.online", "return 1 / 0"))
    with pytest.raises(InputError, match=r"expected one of: two\.py:knapsack, two\.py:sack"):
        run("ratio", "two.py")
    (folder / "none.py").write_text("x = 1\n")
    with pytest.raises(InputError, match=r"none\.py: has no optsched\.problem, expected one"):
        run("generate", "none.py", "-o", "b.json")


def test_the_results_of_several_instances_are_no_json(folder):
    with pytest.raises(InputError, match=r"many\.json: .* expected a name such as many\.sqlite"):
        run("ratio", "knapsack.py", "--seeds", "2", "-p", "greedy", "-o", "many.json")
    assert not (folder / "many.json").exists()


def test_what_is_not_verified_says_what_checks_it(folder):
    for name, said in (("s.vipr", "viprchk"), ("m.mps", "certify"), ("m.lp", "certify")):
        (folder / name).write_text("")
        with pytest.raises(InputError, match=said):
            run("verify", name)


@pytest.mark.parametrize("name", ["m.mps", "m.lp", "m.mps.gz"])
def test_a_model_without_times_says_what_it_needs(folder, name):
    (folder / name).write_text("")
    with pytest.raises(InputError, match=rf"{name}: is a model, which needs a table of times"):
        run("ratio", name, "-p", "greedy")


def test_an_infeasible_instance_is_not_the_fault_of_policies(folder):
    (folder / "orders.py").write_text(ORDERS.replace("bounds=(0, 9)", "bounds=(0, 1)"))
    done = run("ratio", "orders.py:orders", "-p", "re-solve", "-o", "none.json", "--json")
    assert done.exit_code == 1
    said = json.loads(done.stdout)
    assert said["reference"]["status"] == "infeasible"
    assert said["policies"] == []
    assert "no schedule exists (certified)" in run("verify", "none.json").stdout
    assert "no schedule exists (certified)" in run("ratio", "orders.py:orders").stdout
    with pytest.raises(PolicyError, match="ZeroDivisionError"):  # which is the policy's own
        run("ratio", "orders.py:orders", "-p", "orders.py:broken")


@pytest.mark.slow
def test_an_infeasible_instance_of_a_campaign_is_called_so(folder):
    (folder / "orders.py").write_text(ORDERS.replace("bounds=(0, 9)", "bounds=(0, 1)"))
    done = run("ratio", "orders.py:orders", "--seeds", "2", "-p", "re-solve")
    assert done.exit_code == 1
    assert "2 failed cells: the instance is infeasible (certified)" in done.stdout


@pytest.mark.slow
def test_a_campaign_marks_foresight_and_its_report_says_how_to_repeat_it(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    (folder / "far.py").write_text(
        "from optsched.declared.policies import Lookahead\nfar = Lookahead(100)\n"
    )
    with (folder / "plan.toml").open("a") as f:
        f.write('\n[[policies]]\nname = "lookahead"\nparameters = {window = 3}\n')
        f.write('\n[[policies]]\nname = "far.py:far"\n')
    done = run("campaign", "run", "plan.toml", "--trust", "-o", "cells.sqlite")
    ahead = "far, lookahead(window=3)"
    assert "lookahead(window=3) (knows the future)" in done.stdout
    assert re.search(r"│ far \(knows the future\)", done.stdout)
    assert "re-solve (knows" not in done.stdout
    assert f"no online algorithms, since they knew the future: {ahead}" in done.stdout
    run("report", "cells.sqlite", "-o", "cells.html")
    page = html.unescape((folder / "cells.html").read_text())
    assert "lookahead(window=3) (knows the future)" in page
    for line in (
        'family = "knapsack.py:knapsack"',
        "optsched campaign run cells.toml --trust<",
        "optsched campaign resume cells.sqlite --trust<",
        "--worst worst --trust<",
    ):
        assert line in page, line
    with sqlite3.connect("cells.sqlite") as store:  # of other versions, without the mark
        store.execute('INSERT INTO word (text) VALUES (\'{"optsched":"0.0.1"}\')')
        store.execute("UPDATE cell SET message = NULL, versions = (SELECT max(id) FROM word)")
    done = run("campaign", "verify", "cells.sqlite", "--trust")
    assert done.exit_code == 1
    assert "the row does not state that the policy knows the future" in done.stdout


@pytest.mark.slow
def test_many_seeds_make_a_campaign(folder):
    (folder / "knapsack.py").write_text(FILE.replace('"items": 60', '"items": 12'))
    words = ["ratio", "knapsack.py:knapsack", "--seeds", "3", "-p", "greedy", "--json"]
    done = run(*words)
    assert done.exit_code == 0
    assert json.loads(done.stdout)["done"] == 3


def test_the_instance_that_shows_the_sense_is_drawn_once(folder):
    counted = FILE.replace("    value = random", "    calls.append(items)\n    value = random")
    (folder / "counted.py").write_text("calls = []\n" + counted)
    run("generate", "counted.py:knapsack", "-o", "k.json")
    run("generate", "counted.py:knapsack", "--seed", "1", "-o", "other.json")
    (calls,) = [m.calls for name, m in sys.modules.items() if name.endswith("counted.py")]
    assert len(calls) == 2
    assert (folder / "k.json").read_bytes() != (folder / "other.json").read_bytes()


def test_pyomo_imports_no_statistics_along_with_scipy():
    code = "import sys, pyomo.environ, optsched.solvers; sys.exit('scipy.stats' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_programs_in_any_language_play(folder):
    (folder / "mine.py").write_text(
        "import json, sys\n"
        "left = None\n"
        "for line in sys.stdin:\n"
        "    ((kind, said),) = json.loads(line).items()\n"
        "    if kind == 'hello':\n"
        "        print(json.dumps({'policy': {'name': 'mine'}}), flush=True)\n"
        "    elif kind == 'start':\n"
        "        assert set(said['public']) == {'sense', 'problem'}\n"
        "        print(json.dumps({'ready': True}), flush=True)\n"
        "    else:\n"
        "        for row in said['rows']:\n"
        "            left = row['upper']\n"
        "        ((_, name, weight),) = said['entries']\n"
        "        taken = weight <= left\n"
        "        left -= weight * taken\n"
        "        print(json.dumps({'decision': {name: 1} if taken else {}}), flush=True)\n"
    )
    run("generate", "knapsack.py:knapsack", "-o", "k.json")
    done = run("run", "k.json", "-p", f"exec:{sys.executable} mine.py", "--json")
    greedy = run("run", "k.json", "-p", "greedy", "--json")
    assert json.loads(done.stdout)["value"] == json.loads(greedy.stdout)["value"]


def test_check_problem_says_what_leaks(folder):
    done = run("check-problem", "knapsack.py:knapsack", "--pairs", "5")
    assert (done.exit_code, done.stdout) == (0, "knapsack: no leak in 5 pairs of instances\n")
    leaky = FILE.replace("<= capacity", "<= int(weight.sum()) // 4")
    (folder / "leaky.py").write_text(leaky)
    done = run("check-problem", "leaky.py:knapsack")
    assert done.exit_code == 1
    assert "time 0: constraint capacity: upper is" in done.stdout
    assert "expected the running sum to be a variable" in done.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["ratio", "nope.py:knapsack"], "there is no file nope.py"),
        (["ratio", "knapsack.py:nope"], "knapsack.py has no 'nope'"),
        (["ratio", "knapsack.py:pyo"], "expected an optsched.problem"),
        (["ratio", "knapsack.py:knapsack", "--preset", "tiny"], "unknown preset 'tiny'"),
        (["ratio", "knapsack.py:knapsack", "--jobs", "3"], "expected no options of a trace"),
        (["ratio", "plan.toml", "--preset", "small"], "--preset is about a problem"),
        (["check-problem", "knapsack"], "expected FILE.py:NAME"),
        (["check-problem", "i.json"], "a file of instances has no generator that draws pairs"),
        (["check-problem", "knapsack.py:threshold"], "expected an optsched.problem"),
        (["generate", "declared-max", "-o", "x.json"], "an instance is drawn by its problem"),
        (["run", "knapsack.py:knapsack", "-p", "knapsack.py:nope"], "has no 'nope'"),
        (["run", "knapsack.py:knapsack", "-p", "knapsack.py:knapsack"], "expected a class"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_names_are_one_line(words, complaint):
    with pytest.raises(InputError, match=re.escape(complaint)) as refused:
        run(*words)
    assert "\n" not in str(refused.value)


def test_what_goes_wrong_in_a_generator_is_told_by_its_own_lines(folder):
    (folder / "broken.py").write_text(FILE.replace("value = random", "value = 1 / 0 + random"))
    with pytest.raises(PolicyError, match="ZeroDivisionError") as failed:
        run("ratio", "broken.py:knapsack")
    assert "broken.py, line" in str(failed.value)


@pytest.mark.slow
def test_a_campaign_runs_problems_of_files_only_if_they_are_trusted(folder):
    with pytest.raises(InputError, match=r"names code that would be run: 'knapsack\.py:knapsack'"):
        campaign("plan.toml", "cells.sqlite")
    with pytest.raises(InputError, match="names code that would be run"):
        run("campaign", "run", "plan.toml", "--allow", "knapsack.py:threshold")
    assert not [name for name in sys.modules if str(folder) in name]
    made = campaign("plan.toml", "cells.sqlite", trust=True)
    assert made.status().done == 6
    for name in [name for name in sys.modules if str(folder) in name]:
        del sys.modules[name]
    (folder / "knapsack.py").unlink()  # what reads a store runs nothing of it
    assert made.statistics()
    assert run("campaign", "status", "cells.sqlite").exit_code == 0
    assert run("report", "cells.sqlite", "-o", "cells.html").exit_code == 0
    with pytest.raises(InputError, match="names code that would be run"):
        run("campaign", "resume", "cells.sqlite")


NAMED_BY_FILES = {  # commands that read what somebody else may have written
    "show": ["result.json"],
    "solve": ["result.json", "--effort", 10],
    "run": ["result.json", "-p", "re-solve"],
    "ratio": ["result.json", "-p", "re-solve", "--optimum", "result.json", "--effort", 10],
    "verify": ["result.json"],
    "export": ["result.json", "-o", "program.mps"],
    "certify": ["program.mps", "--work-limit", 10],
    "report": ["cells.sqlite", "-o", "cells.html"],
    "foresight": ["result.json", "--windows", 0],
    "advice": ["result.json", "--errors", 0, "--lambdas", 1, "--seeds", 1, "--work-limit", 0],
    "whatif": ["result.json", "--add", "1xgpu"],
    "worst-case": ["-p", "fifo", "-o", "worst.json", "--evaluations", 1, "--family", "bot"],
    "minimax": ["result.json"],
    "campaign run": ["plan.toml"],
    "campaign resume": ["cells.sqlite"],
    "campaign status": ["cells.sqlite"],
    "campaign verify": ["cells.sqlite"],
    "campaign merge": ["all.sqlite", "cells.sqlite"],
    "campaign export": ["cells.sqlite", "--csv", "cells.csv", "--worst", "worst"],
    "library submit": ["result.json"],
}
NAMED_BY_WHO_CALLS = {
    *("generate", "trace", "check-problem", "checker", "reproduce", "info"),
    *("library list", "library get", "library verify"),
}


def commands(group, before=""):
    for name, command in group.commands.items():
        inner = hasattr(command, "commands")
        yield from commands(command, f"{name} ") if inner else [f"{before}{name}"]


@pytest.mark.slow
def test_no_command_runs_code_that_only_a_file_names(call, folder):
    """Nor does a command that is new: it must be listed above."""
    assert {*commands(get_command(app))} == {*NAMED_BY_FILES} | NAMED_BY_WHO_CALLS
    campaign("plan.toml", "cells.sqlite", trust=True, workers=1)
    words = ["-p", "knapsack.py:threshold", "-o", "result.json", "--effort", 10]
    assert call("ratio", "knapsack.py:knapsack", "--preset", "small", *words)[0] == 0
    assert call("worst-case", *NAMED_BY_FILES["worst-case"])[0] == 0
    notes = folder / "worst.checkpoint.json"
    notes.write_text(notes.read_text().replace('"fifo"', '"knapsack.py:threshold"'))
    for name in [name for name in sys.modules if str(folder) in name]:
        del sys.modules[name]
    with (folder / "knapsack.py").open("a") as f:
        f.write("\nopen('imported', 'w').close()\n")
    for name, words in NAMED_BY_FILES.items():
        status, _, err = call(*name.split(), *words)
        assert status in (0, 1, 2), (name, err)
        assert not (folder / "imported").exists(), name
    assert not (folder / "cells.csv").exists()  # what is refused is not half done
    status, _, err = call("campaign", "export", "cells.sqlite", "--worst", "worst")
    assert (status, "names code that would be run: 'knapsack.py:knapsack'" in err) == (2, True)
    assert err.count("\n") == 1


@pytest.mark.slow
def test_worst_instances_of_a_problem_are_written_if_it_is_trusted(call, folder):
    campaign("plan.toml", "cells.sqlite", trust=True, workers=1)
    for how in ("--trust", "--allow=knapsack.py:knapsack"):
        assert call("campaign", "export", "cells.sqlite", "--worst", "worst", how)[0] == 0
        assert len([*(folder / "worst").iterdir()]) == 2
    # a policy is not run, and need not be trusted; that it is does not extend to the problem
    words = ("--worst", "worst", "--allow", "knapsack.py:threshold")
    assert call("campaign", "export", "cells.sqlite", *words)[0] == 2


def test_the_file_that_is_trusted_is_the_one_that_runs(folder):
    """A blank in its name does not hide a file: what is trusted is `b.py`, not `my b.py`."""
    plan = make_plan({"instances": [{"family": "oasis"}]}, folder)
    content = plan.model_dump(mode="json")
    content["instances"][0]["family"] = "declared-max my knapsack.py:knapsack"
    stored = Plan.model_validate(content)
    assert stored.problems() == ["my knapsack.py:knapsack"]
    with pytest.raises(InputError, match=r"has no policy 'knapsack\.py:knapsack' from"):
        stored.refuse_code(["knapsack.py:knapsack"], "store")
    with pytest.raises(InputError, match="is a file of code"):
        next(stored.cases()).source.make(0)
    assert not [name for name in sys.modules if str(folder) in name]


def test_a_trace_is_no_code(folder):
    with pytest.raises(InputError, match=r"trace is 'knapsack\.py:knapsack', expected a file"):
        make_plan({"instances": [{"family": "oasis", "trace": "knapsack.py:knapsack"}]}, folder)


@pytest.mark.slow
def test_a_changed_problem_makes_new_cells(folder):
    """In another process: this one keeps what it has loaded, and refuses the change."""
    campaign("plan.toml", "cells.sqlite", trust=True)
    (folder / "knapsack.py").write_text(FILE.replace("capacity=60", "capacity=61"))
    with pytest.raises(InputError, match="this process has loaded it before its file changed"):
        campaign("plan.toml", "other.sqlite", trust=True)
    command = [sys.executable, "-m", "optsched", "campaign", "run", "plan.toml", "--trust", "-q"]
    subprocess.run([*command, "-o", "other.sqlite"], check=True, capture_output=True)
    before, after = (
        {key for (key,) in sqlite3.connect(name).execute("SELECT key FROM cell")}
        for name in ("cells.sqlite", "other.sqlite")
    )
    assert before
    assert after
    assert not before & after


def test_a_file_that_names_a_problem_as_its_family_runs_nothing(folder):
    run("generate", "knapsack.py:knapsack", "-o", "k.json")
    content = json.loads((folder / "k.json").read_text())
    (folder / "evil.py").write_text("raise SystemExit('run')")
    (folder / "k.json").write_text(json.dumps(content | {"family": "declared-max evil.py:x"}))
    load_instance(folder / "k.json")
    (folder / "k.json").write_text(json.dumps(content | {"family": "evil.py:x"}))
    with pytest.raises(InputError, match="unknown family"):
        load_instance(folder / "k.json")
    with pytest.raises(InputError, match="unknown family"):
        get_family("evil.py:x")


@pytest.mark.usefixtures("folder")
def test_a_hunt_refuses_a_problem_in_one_line():
    with pytest.raises(InputError, match="has no parameter space"):
        find_worst_case(Terms(family="declared-max", policy="greedy", preset="small"))


def test_the_function_and_the_module_have_one_name():
    import optsched
    import optsched.problem as module

    assert optsched.problem is module
    assert module.InputError is InputError
    with pytest.raises(InputError, match="at least one preset"):
        optsched.problem(sizes={})
    for wrong in (lambda: optsched.problem(lambda random: None), optsched.problem):  # noqa: ARG005
        with pytest.raises(InputError, match="lacks its sizes, expected @optsched"):
            wrong()
    with pytest.raises(InputError, match="preset 'a' has 'b'"):
        optsched.problem(sizes={"a": {"b": 1}})(lambda random, n: None)  # noqa: ARG005


@pytest.mark.slow
def test_no_module_of_the_folder_of_a_policy_runs_before_the_sandbox_is_locked(folder):
    run("generate", "knapsack.py:knapsack", "--preset", "small", "-o", "k.json")
    (folder / "numba.py").write_text("open('ran', 'w').write('unlocked')\nraise ImportError\n")
    (folder / "mine.py").write_text(
        "class Mine:\n    name, information, knows = 'mine', 'after', ()\n"
        "    def start(self, public, prior, streams):\n        pass\n"
        "    def step(self, event):\n        return {}\n"
    )
    done = run("run", "k.json", "-p", "mine:Mine", "--sandbox")
    assert "sandbox" in done.stdout
    assert not (folder / "ran").exists()


def test_a_maximization_and_a_minimization_of_equal_data_have_two_optima(folder):
    columns = [{"name": "x", "cost": 1.0, "upper": 3, "revealed": 0, "decided": 0}]
    for sense, kind in KINDS.items():
        inst = kind.model_validate({"columns": columns, "rows": []})
        save_instance(inst, folder / f"{sense}.json")
    (folder / "both.toml").write_text(
        "".join(
            f'[[instances]]\nfamily = "declared-{sense}"\nfiles = "{sense}.json"\n'
            for sense in KINDS
        )
        + '[[policies]]\nname = "greedy"\n[reference]\nwork_limit = 10\n'
    )
    table = campaign("both.toml", "both.sqlite").table().set_index("family")
    assert table["optimum"].to_dict() == {"declared-max": 3, "declared-min": 0}
    best = {sense: optsched.solve(load_instance(folder / f"{sense}.json")) for sense in KINDS}
    with pytest.raises(InputError, match="the optimum belongs to another instance"):
        compare(load_instance(folder / "min.json"), ["greedy"], optimum=best["max"])
    with pytest.raises(InputError, match="the warm start is for another instance"):
        optsched.solve(load_instance(folder / "min.json"), start=best["max"])
