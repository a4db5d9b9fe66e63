"""A plan or a store names code: it runs only if the user names it, and if it is a policy."""

import json
import shutil
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sweeps import sweep

from optsched.adversarial.evaluation import Terms
from optsched.adversarial.worst_case import _settled
from optsched.experiments.campaign import Campaign, campaign
from optsched.experiments.cell_keys import digest_of_policy
from optsched.experiments.plan import make_plan
from optsched.experiments.run import agree
from optsched.experiments.store import Store
from optsched.policies.loader import get_policy
from optsched.problem import InputError, PolicyError, get_family

PLAN = '[[instances]]\nfamily = "bot"\npreset = "small"\n\n[[policies]]\nname = "fifo"\n'
MARKS = 'from pathlib import Path\n\nPath("imported").write_text("x")\n'
THING = """
from optsched.families.bot.policies.baselines import Fifo


class Mine(Fifo):
    name = "mine"


class Half:
    name, information, knows = "half", "after", ()

    def start(self, public, prior, streams): ...


class Declared(Fifo):
    name: str

    def __init__(self):
        super().__init__()
        self.name = "declared"


class Calls(type):
    def __call__(cls, *given, **more):
        raise AssertionError("was called")


class Odd(metaclass=Calls):
    def step(self, event): ...


def factory(**given):
    raise AssertionError("was called")


instance = Mine()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "code_mine.py").write_text(THING)
    (tmp_path / "code_marks.py").write_text(MARKS + THING)
    (tmp_path / "code_pack").mkdir()
    (tmp_path / "code_pack" / "__init__.py").write_text(MARKS)
    (tmp_path / "code_pack" / "inner.py").write_text(THING)
    yield tmp_path
    for name in [n for n in sys.modules if n.startswith("code_")]:
        del sys.modules[name]


def naming(name, **more):
    return (
        PLAN
        + f"\n[[policies]]\nname = {json.dumps(name)}\n"
        + "".join(f"{key} = {value}\n" for key, value in more.items())
    )


NAMES = ["os:system", "subprocess:Popen", "code_marks:Mine", "code_pack.inner:Mine"]
NAMES += ["exec:touch imported", "exec:sh -c 'touch imported'"]
PARAMETERS = '{ command = "touch imported" }'


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_runs_no_code_that_only_it_names(call, folder, name):
    more = {} if name.startswith("exec") else {"parameters": PARAMETERS}
    (folder / "plan.toml").write_text(naming(name, **more))
    for words in (("run", "plan.toml"), ("run", "plan.toml", "--allow", "fifo")):
        status, out, err = call("campaign", *words)
        assert (status, out) == (2, "")
        assert err.count("\n") == 1
    assert not (folder / "plan.sqlite").exists()
    status, _, _ = call("campaign", "run", "plan.toml", "--dry-run")
    assert status == 0
    with pytest.raises(InputError, match="names code that would be run"):
        campaign(folder / "plan.toml", folder / "store")
    assert not (folder / "imported").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", sweep(NAMES, quick=1))
def test_a_store_runs_no_code_that_only_it_names(call, folder, name):
    assert call("campaign", "run", "plan.toml", "--workers", 1)[0] == 0
    shutil.copy("plan.sqlite", "other.sqlite")
    with sqlite3.connect("other.sqlite") as store:
        (said,) = store.execute("SELECT value FROM fact WHERE name = 'plan'").fetchone()
        plan = json.loads(said)
        given = {} if name.startswith("exec") else {"command": "touch imported"}
        plan["policies"].append({"name": name, "parameters": given})
        store.execute("UPDATE fact SET value = ? WHERE name = 'plan'", (json.dumps(plan),))
    status, out, err = call("campaign", "resume", "other.sqlite")
    assert (status, out) == (2, "")
    assert "optsched: other.sqlite: names code that would be run" in err
    assert name in err
    assert err.count("\n") == 1
    call("campaign", "status", "other.sqlite")
    call("campaign", "export", "other.sqlite")
    call("report", "other.sqlite", "-o", "page.html")
    assert not (folder / "imported").exists()


FORMS = ["code_mine:Mine", "code_mine.py:Mine", "exec:python3 code_mine.py", "exec:./code_mine.py"]


@pytest.mark.parametrize("name", FORMS)
def test_a_policy_that_is_edited_makes_other_cells(folder, name):
    content = {"instances": [{"family": "bot"}], "policies": [{"name": name}]}
    before = make_plan(content, folder)
    assert before.keys() == make_plan(content, folder).keys()
    terms = Terms(family="bot", policy=name, preset="small")
    checkpoints = [_settled(get_family("bot"), terms)]
    (folder / "code_mine.py").write_text(THING + "\n# edited\n")
    assert before.keys().isdisjoint(make_plan(content, folder).keys())
    checkpoints.append(_settled(get_family("bot"), terms))
    assert checkpoints[0] != checkpoints[1]
    with pytest.raises(InputError, match="is another file than when the campaign began"):
        next(before.cases()).cells[0].contender.play(None, 0, code=True)


def test_all_files_of_a_program_count(folder):
    (folder / "data.txt").write_text("1")
    before = digest_of_policy("exec:python3 code_mine.py data.txt --fast")
    (folder / "data.txt").write_text("2")
    assert digest_of_policy("exec:python3 code_mine.py data.txt --fast") != before
    assert digest_of_policy("exec:python3 -c pass") is digest_of_policy("fifo") is None
    assert digest_of_policy("exec:'") is digest_of_policy("exec:") is None


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS[:2])
def test_a_process_that_has_loaded_a_policy_does_not_run_its_edited_file(folder, name):
    content = {"instances": [{"family": "bot"}], "policies": [{"name": name}]}
    with ThreadPoolExecutor(1) as executor:
        found = campaign(make_plan(content, folder), folder / "a", executor=executor, workers=1)
        assert found.status().messages == {}
        (folder / "code_mine.py").write_text(THING.replace('"mine"', '"other"'))
        found = campaign(make_plan(content, folder), folder / "b", executor=executor, workers=1)
    ((said, times),) = found.status().messages.items()
    assert (said.partition(":M")[2], times) == (
        "ine: this process has loaded it before its file changed, expected a new process",
        (1, 0),
    )


@pytest.mark.slow
def test_files_of_one_name_in_two_folders_are_two_policies(folder, monkeypatch):
    content = {"instances": [{"family": "bot"}], "policies": [{"name": "code_mine.py:Mine"}]}
    for k in range(2):
        (folder / f"{k}").mkdir()
        (folder / f"{k}" / "code_mine.py").write_text(THING + f"\n# {k}\n")
        monkeypatch.chdir(folder / f"{k}")
        with ThreadPoolExecutor(1) as executor:
            found = campaign(make_plan(content, folder), folder / f"{k}.db", executor=executor)
        assert found.status().messages == {}


def test_a_store_without_the_digest_of_a_policy_is_not_continued(folder):
    content = {"instances": [{"family": "bot"}], "policies": [{"name": "code_mine.py:Mine"}]}
    plan = make_plan(content, folder)
    with Store.create(folder / "store") as store:
        agree(store, plan.model_copy(update={"digests": {}}))
        with pytest.raises(InputError, match=r"another plan: digests.code_mine.py:Mine is "):
            agree(store, plan)


@pytest.mark.slow
@pytest.mark.parametrize("how", [("--trust",), ("--allow", "code_mine:Mine")])
def test_code_that_is_named_runs(call, folder, how):
    (folder / "plan.toml").write_text(naming("code_mine:Mine"))
    status, _, err = call("campaign", "run", "plan.toml", "--workers", 1, *how)
    assert status == 0, err
    assert call("campaign", "resume", "plan.sqlite")[0] == 2
    assert call("campaign", "resume", "plan.sqlite", *how)[0] == 0
    assert Campaign(folder / "plan.sqlite").status().done == 2
    status, _, err = call("campaign", "resume", "plan.sqlite", "--allow", "os:system")
    assert status == 2
    assert "has no policy 'os:system' from outside" in err


def test_what_the_caller_names_needs_no_second_word(folder):
    content = {"instances": [{"family": "bot"}], "policies": [{"name": "code_mine:Mine"}]}
    plan = make_plan(content, folder)
    assert campaign(plan, folder / "store", workers=1).progress.errors == 0
    with pytest.raises(InputError, match="'code_mine:Mine'; expected"):
        plan.refuse_code(trust=False, place="plan")
    plan.refuse_code(["code_mine:Mine"], "plan")
    plan.refuse_code(trust=True, place="plan")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("os:system", "is a builtin_function_or_method, expected a class"),
        ("builtins:exec", "expected a class"),
        ("subprocess:run", "is a function, expected a policy"),
        ("subprocess:Popen", "lacks name, information, knows, start, step"),
        ("threading:Thread", "lacks information, knows, step"),
        ("builtins:object", "lacks name"),
        ("code_mine:factory", "is a function, expected a policy"),
        ("code_mine:Half", "lacks step"),
        ("code_mine:Odd", "lacks name, information, knows, start"),
        ("code_mine:Mine.step", "'Mine.step' is no name of a class"),
        ("code_mine:", "'' is no name of a class"),
        ("code_mine:__class__", "lacks name"),
        ("code_mine:__name__", "is a str, expected a class"),
        ("code_mine:Nothing", "has no 'Nothing'"),
        ("nowhere.inner:Mine", "'nowhere' is neither installed nor in /"),
        ("nowhere.inner:Mine", "or the path of its file, nowhere/inner.py:Mine"),
        ("nowhere.py:Mine", "there is no file nowhere.py"),
        ("code_mine.py:factory", "is a function, expected a policy"),
        ("code_mine.py:Half", "lacks step"),
        ("../code_mine:Mine", "is no name of a module"),
        ("./code_mine:Mine", "is no name of a module"),
        (".code_mine:Mine", "is no name of a module"),
        ("/tmp/code_mine:Mine", "is no name of a module"),
        (" code_mine:Mine", "is no name of a module"),
        (":Mine", "is no name of a module"),
        ("code_mine:Mine:x", "is no name of a class"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_only_classes_of_policies_are_called(name, message):
    given = {"command": "touch imported"} if "factory" in name or "system" in name else {}
    with pytest.raises(InputError, match=message) as caught:
        get_policy(get_family("bot"), name, **given)
    assert not isinstance(caught.value, PolicyError)
    assert not Path("imported").exists()


@pytest.mark.usefixtures("folder")
def test_classes_that_declare_their_data_are_policies(capsys):
    for name in ("Mine", "Declared"):
        assert get_policy(get_family("bot"), f"code_mine:{name}").name == name.lower()
    said = capsys.readouterr().err
    assert said == "policy 'code_mine:Mine': importing module code_mine\n"


@pytest.mark.slow
def test_a_policy_that_is_asked_for_brings_no_other_along(call, folder):
    """The best schedule known is reported to be that of code: only `fifo` was requested."""
    assert call("campaign", "run", "plan.toml", "--workers", 1)[0] == 0
    with sqlite3.connect("plan.sqlite") as store:
        code = json.dumps({"policy": "code_marks:Mine"})
        store.execute("INSERT INTO word (text) VALUES (?)", (code,))
        store.execute(
            "INSERT INTO cell SELECT x'00', instance, reference, (SELECT max(id) FROM word), "
            "replication, seed, status, value, 1e9, low, high, micros, wall, schedule, versions, "
            "message FROM cell LIMIT 1"
        )
    assert call("report", "plan.sqlite", "-o", "page.html", "--policy", "fifo")[0] == 0
    assert not (folder / "imported").exists()
    assert "code_marks:Mine is a program from outside" in Path("page.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fifo", "the name of a policy 'fifo' is that of a policy of family bot"),
        ("mine", "no policy 'mine' has a ratio, expected code_marks:Mine"),
    ],
)
def test_the_own_name_of_a_policy_is_no_consent(call, folder, name, said):
    assert call("campaign", "run", "plan.toml", "--workers", 1)[0] == 0
    with sqlite3.connect("plan.sqlite") as store:
        code = json.dumps({"policy": "code_marks:Mine"})
        store.execute("UPDATE word SET text = ? WHERE text = ?", (code, '{"policy":"fifo"}'))
        store.execute("INSERT INTO word (text) VALUES (?)", (f"calls itself {name}",))
        store.execute(
            "UPDATE cell SET message = (SELECT max(id) FROM word) "
            "WHERE policy = (SELECT id FROM word WHERE text = ?)",
            (code,),
        )
    status, _, err = call("report", "plan.sqlite", "-o", "page.html", "--policy", name)
    assert status == 2
    assert said in err
    assert not (folder / "imported").exists()


def test_a_policy_that_is_given_all_run_times_is_no_online_algorithm(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "told.py").write_text(
        "from optsched.families.rigid.policies.orders import POLICIES\n\n\n"
        'class Told:\n    name, information, knows = "told", "after", ("run_times",)\n\n'
        "    def __init__(self):\n        self.inner = POLICIES['fcfs']()\n\n"
        "    def start(self, *given):\n        self.inner.start(*given)\n\n"
        "    def step(self, event):\n        return self.inner.step(event)\n"
    )
    (tmp_path / "plan.toml").write_text(
        '[[instances]]\nfamily = "rigid"\nparameters = {jobs = 4}\nseeds = 2\n\n'
        '[[policies]]\nname = "told.py:Told"\n\n[[policies]]\nname = "easy-exact"\n'
    )
    status, out, err = call("campaign", "run", "plan.toml", "--trust", "--workers", 1)
    assert status == 0, err
    assert "told (knows the future)" in out
    assert "no online algorithms, since they knew the future: told" in out
    assert "easy-exact (knows" not in out


def test_campaigns_name_statistics_that_a_policy_knew(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "peeks.py").write_text(
        "import optsched\nfrom optsched.families.oasis.policies import Fifo\n\n\n"
        '@optsched.statistic("oasis", "jobs_ahead")\n'
        "def jobs_ahead(instance):\n    return [job.arrival for job in instance.jobs]\n\n\n"
        'class Peeks(Fifo):\n    name = "peeks"\n    knows = ("own:jobs_ahead",)\n'
    )
    (tmp_path / "plan.toml").write_text(
        '[[instances]]\nfamily = "oasis"\npreset = "small"\nseeds = 2\n\n'
        '[[policies]]\nname = "peeks.py:Peeks"\n\n[[policies]]\nname = "fifo"\n'
    )
    status, out, err = call("campaign", "run", "plan.toml", "--trust", "--workers", 1)
    assert status == 0, err
    assert "peeks (knows own:jobs_ahead)" in out
    call("campaign", "export", "plan.sqlite", "--latex", "table.tex")
    assert r"peeks (knows own:jobs\_ahead)" in (tmp_path / "table.tex").read_text()
    assert call("campaign", "verify", "plan.sqlite", "--trust")[0] == 0
    with sqlite3.connect("plan.sqlite") as store:
        store.execute("UPDATE word SET text = 'calls itself peeks' WHERE text LIKE 'knows own%'")
    status, out, err = call("campaign", "verify", "plan.sqlite", "--trust")
    assert status == 1
    assert "message is 'knows own:jobs_ahead; calls itself peeks', the store states" in out + err
