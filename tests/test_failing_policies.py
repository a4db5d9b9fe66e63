"""A policy of your own that fails: its own lines, the equation broken, the others' rows stand."""

import json
import math
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import pytest
from numba.core import event
from sweeps import sweep
from terminal import piped

import optsched
from optsched.core import simulate
from optsched.files.format import load_instance, save_instance
from optsched.problem import InputError, PolicyError, get_family
from optsched.process import interrupts

MINE = '''
from optsched.families.oasis.policies import Fifo
from optsched.scheduling.placement import Placement


class Bug(Fifo):
    name = "bug"

    def step(self, event):
        return self.helper(event)

    def helper(self, event):
        return event.slot / 0


class Greedy(Fifo):
    """Puts a thousand workers of every new job on one machine."""

    name = "greedy"

    def step(self, event):
        return {job: Placement(workers={0: 1000}, ps={0: 1}) for job in event.jobs}


class Odd(Fifo):
    name = "odd"

    def step(self, event):
        return "everything"


class Unmade(Fifo):
    def __init__(self):
        self.table = {}["missing"]


class Leaving(Fifo):
    name = "leaving"

    def start(self, public, prior, streams):
        raise SystemExit(0)


class Broken(dict):
    def items(self):
        raise RuntimeError("no items")


class Hollow(Fifo):
    name = "hollow"

    def step(self, event):
        return Broken()


class Masked(Fifo):
    """Has a name of its own at first, and that of a policy of the family from then on."""

    asked = 0

    @property
    def name(self):
        self.asked += 1
        return "mine" if self.asked < 3 else "oasis"


class Asks(Fifo):
    name = "asks"
    knows = ("future",)


class Taken(Fifo):
    name = "oasis"
'''
FAILURES = {
    "mine:Bug": [
        "optsched: policy bug: event 0: ZeroDivisionError: division by zero",
        "  mine.py, line 10, step: return self.helper(event)",
        "  mine.py, line 13, helper: return event.slot / 0",
    ],
    "mine:Odd": [
        "optsched: policy odd: event 0: the decision is a str, expected a mapping from jobs"
    ],
    "mine:Hollow": [
        "optsched: policy hollow: event 0: its decision: RuntimeError: no items",
        '  mine.py, line 46, items: raise RuntimeError("no items")',
    ],
    "mine:Unmade": [
        "optsched: policy 'mine:Unmade' cannot be loaded: KeyError: 'missing'",
        '  mine.py, line 34, __init__: self.table = {}["missing"]',
    ],
    "mine:Leaving": [
        "optsched: policy leaving: start: SystemExit: 0",
        "  mine.py, line 41, start: raise SystemExit(0)",
    ],
    "broken:X": [
        "optsched: policy 'broken:X' cannot be loaded: NameError: name 'undefined' is not defined",
        "  broken.py, line 1, <module>: undefined",
    ],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder in which a command is run, and whose modules nobody has imported."""
    save_instance(get_family("oasis").generate("small", seed=1), tmp_path / "small.json")
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "broken.py").write_text("undefined\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("mine", "broken"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("policy", FAILURES)
@pytest.mark.usefixtures("folder")
def test_a_policy_that_fails_is_told_by_its_own_lines(call, policy):
    status, out, err = call("run", "small.json", "-p", policy, "-q")
    assert (status, out) == (1, "")
    assert err.splitlines() == FAILURES[policy]


@pytest.mark.usefixtures("folder")
def test_what_is_no_decision_is_told_in_a_sandbox_as_without_one(call):
    status, out, err = call("run", "small.json", "-p", "mine:Odd", "-q", "--sandbox")
    assert (status, out) == (1, "")
    assert err.splitlines() == FAILURES["mine:Odd"]


@pytest.mark.usefixtures("folder")
def test_a_name_is_read_once(call):
    """Who states another name when it is read again is not taken for a policy of the family."""
    status, out, err = call("run", "small.json", "-p", "mine:Masked", "-q", "--json")
    assert (status, out) == (1, "")
    assert "its name 'oasis' is that of a policy of family oasis" in err
    policy = get_family("oasis").policies["fifo"]
    names = iter([*["mine"] * 3, *["oasis"] * 9])
    masked = type("Masked", (policy,), {"name": property(lambda _: next(names))})
    assert simulate(load_instance("small.json"), masked()).policy == "mine"


@pytest.mark.usefixtures("folder")
def test_an_infeasible_decision_names_the_equation_in_a_few_lines(call):
    status, out, err = call("run", "small.json", "-p", "mine:Greedy", "-q")
    assert (status, out) == (1, "")
    first, *lines = err.splitlines()
    assert first.startswith("optsched: policy greedy broke the model: rejected: ")
    assert 1 <= len(lines) <= 4
    assert "broken by" in lines[0]
    assert lines[0].strip().startswith("(")


@pytest.mark.parametrize("sandbox", [(), pytest.param(("--sandbox",), marks=pytest.mark.slow)])
@pytest.mark.parametrize("others", [(), ("-p", "fifo")])
@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("mine:Taken", "its name 'oasis' is that of a policy of family oasis"),
        ("mine:Missing", "has no 'Missing'"),
        ("exec:./missing", "there is no such program, expected exec:COMMAND"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_loaded_is_refused_in_a_sandbox_as_without_one(
    call, policy, why, others, sandbox
):
    commands = ("ratio",) if others else ("ratio", "run")
    for command in commands:
        status, out, err = call(command, "small.json", "-p", policy, *others, "-q", *sandbox)
        assert (status, out) == (2, "")
        assert why in err


@pytest.mark.usefixtures("folder")
def test_the_rows_of_the_others_stand(call):
    assert call("solve", "small.json", "-o", "result.json", "-q")[0] == 0
    args = ("ratio", "small.json", "--optimum", "result.json", "-q")
    mixed = [a for name in ("mine:Bug", "fifo", "mine:Greedy", "drf") for a in ("-p", name)]
    status, out, err = call(*args, *mixed)
    assert status == 1
    assert [line.split()[1] for line in out.splitlines() if line.startswith("│")] == [
        "drf",  # it earns more
        "fifo",
    ]
    assert "mine:Bug has no row: policy bug: event 0: ZeroDivisionError" in out
    assert "mine:Greedy has no row: policy greedy broke the model" in out
    assert FAILURES["mine:Bug"][2] in err
    assert len(err.splitlines()) < 10
    content = json.loads(call(*args, *mixed, "--json")[1])
    assert [row["name"] for row in content["policies"]] == ["fifo", "drf"]
    assert [failed["name"] for failed in content["failed"]] == ["mine:Bug", "mine:Greedy"]


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", [False, True])
@pytest.mark.usefixtures("folder")
def test_what_a_policy_states_of_itself_costs_its_own_row_alone(sandbox):
    wrong = ["mine:Masked", "mine:Asks"]
    inst = load_instance("small.json")
    optimum = optsched.solve(inst, work_limit=1)
    report = optsched.compare(inst, [*wrong, "fifo"], optimum=optimum, sandbox=sandbox)
    assert [row.name for row in report.policies] == ["fifo"]
    assert [failed.name for failed in report.failed] == wrong
    assert "its name 'oasis' is that of a policy" in report.failed[0].why
    assert "policy asks requests 'future', but family oasis publishes" in report.failed[1].why


@pytest.mark.slow
def test_where_all_fail_nothing_is_solved(folder):
    found = piped("ratio", "small.json", "-p", "mine:Bug", "--time-limit", 10**6, folder=folder)
    assert (found.status, found.out) == (1, "")
    assert found.err.splitlines()[-3:] == FAILURES["mine:Bug"]


# --- decisions that take too long ---

ENDLESS = """
import time
import numba
import numpy as np
from optsched.families.oasis.policies import Fifo


class Hangs(Fifo):
    name = "hangs"

    def step(self, event):
        while True:
            pass


class Catches(Fifo):
    name = "catches"

    def step(self, event):
        while True:
            try:
                time.sleep(60)
            except Exception:
                pass


class Endless(dict):
    def items(self):
        while True:
            pass


class Decides(Fifo):
    name = "decides"

    def step(self, event):
        return Endless({0: 1})


class Begins(Fifo):
    name = "begins"

    def start(self, public, prior, streams):
        time.sleep(60)


class Imports(Fifo):
    name = "imports"

    def step(self, event):
        import slow_module

        assert slow_module.DONE
        return super().step(event)


class Compiles(Fifo):
    name = "compiles"

    def step(self, event):
        if event.slot == 0:
            made = kernel()
            assert made(np.arange(9.0)) == 8.0
        return super().step(event)


def kernel():
    return numba.njit(lambda a: np.sort(a)[-1])
"""


@pytest.fixture
def endless(folder):
    (folder / "endless.py").write_text(ENDLESS)
    (folder / "slow_module.py").write_text("import time\n\ntime.sleep(1)\nDONE = True\n")
    yield folder
    for name in ("endless", "slow_module"):
        sys.modules.pop(name, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "place", "sealed"),
    [
        *(("Hangs", "event 0", sealed) for sealed in (False, True)),
        *(("Catches", "event 0", sealed) for sealed in (False, True)),
        *(("Begins", "start", sealed) for sealed in (False, True)),
        ("Decides", "event 0: its decision", False),
    ],
)
@pytest.mark.usefixtures("endless")
def test_a_decision_that_takes_too_long_is_an_error(call, name, place, sealed):
    sandbox = ["--sandbox"] if sealed else []
    began = time.monotonic()
    call("run", "small.json", "-p", "fifo", *sandbox)  # so that its modules are there
    limit = 1 + 2 * math.ceil(time.monotonic() - began) if sealed else 1  # its process has to start
    words = ("run", "small.json", "-p", f"endless:{name}", "--decision-limit", limit, "-q")
    status, out, err = call(*words, *sandbox)
    assert (status, out) == (1, "")
    assert err.splitlines() == [
        f"optsched: policy {name.lower()}: {place}: has not answered within {limit} s"
    ]
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


@pytest.mark.slow
@pytest.mark.usefixtures("endless")
def test_an_import_is_not_broken_off(call):
    words = ("run", "small.json", "-p", "endless:Imports", "--decision-limit", 0.2, "-q")
    status, _, err = call(*words)
    assert status == 1
    assert "policy imports: event 0: has not answered within 0.2 s" in err
    assert sys.modules["slow_module"].DONE


@pytest.mark.slow
@pytest.mark.usefixtures("endless")
def test_a_limit_leaves_out_the_time_of_a_compilation():
    inst = load_instance("small.json")
    value = simulate(inst, "fifo").value
    assert simulate(inst, "endless:Compiles", decision_limit=0.1).value == value


def test_no_handler_raises_in_a_compilation():
    seen = []

    class Presses(event.Listener):
        def on_start(self, _event):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            seen.append(interrupts.may_raise(sys._getframe()))

        def on_end(self, _event):
            pass

    with interrupts.remembered(), event.install_listener("numba:compiler_lock", Presses()):
        assert numba.njit(lambda x: x + 1)(1) == 2
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert set(seen) == {False}
    assert interrupts.may_raise(sys._getframe())


@pytest.mark.slow
@pytest.mark.usefixtures("endless")
def test_the_table_shows_the_limit(call):
    words = ("ratio", "small.json", "-p", "endless:Hangs", "-p", "fifo", "--decision-limit", 2)
    status, out, _ = call(*words, "-q")
    assert status == 1
    assert "endless:Hangs has no row: policy hangs: event 0: has not answered within 2 s" in out
    assert "; decision limit 2 s\n" in out
    _, out, _ = call("ratio", "small.json", "-p", "fifo", "-q")
    assert "decision limit" not in out
    _, out, _ = call("ratio", "small.json", "-p", "fifo", "-q", "--sandbox")
    assert "; decision limit 600 s\n" in out
    for wrong in ("0", "nan", "inf", "-1"):
        status, _, err = call("run", "small.json", "-p", "fifo", f"--decision-limit={wrong}")
        assert status == 2
        assert f"decision limit {wrong}: expected seconds above 0" in err


@pytest.mark.slow
def test_a_limit_in_a_thread_needs_a_process(folder):
    inst = load_instance(folder / "small.json")
    with ThreadPoolExecutor(1) as executor:
        done = executor.submit(simulate, inst, "fifo", decision_limit=1)
        with pytest.raises(InputError, match="only the main thread"):
            done.result()
        run = executor.submit(simulate, inst, "fifo", decision_limit=60, sandbox=True).result()
    assert run.decision_limit == 60


# --- own policies, families from outside ---

BROKEN_FAMILY = """
import sys
import time
from optsched.cli.app import main
from optsched.families import oasis
from optsched.families.oasis.policies import Fifo


def broken(self, *given):
    return {}["missing"]


setattr(*{what})
main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "lines"),
    [
        ("(Fifo, 'step', broken)", ["optsched: policy fifo: event 0: KeyError: 'missing'"]),
        ("(Fifo, 'start', broken)", ["optsched: policy fifo: start: KeyError: 'missing'"]),
        (
            "(oasis.FAMILY.instance, 'digest', broken)",
            ["optsched: KeyError: 'missing'", "  a defect of optsched or of a plug-in"],
        ),
    ],
)
def test_a_defect_of_a_family_is_told_like_one_of_a_policy_file(folder, what, lines):
    (folder / "broken_family.py").write_text(BROKEN_FAMILY.replace("{what}", what))
    command = [sys.executable, "broken_family.py", "run", "small.json", "-p", "fifo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    said = [line for line in done.stderr.splitlines() if ".py, line" not in line]
    assert all(map(str.startswith, said, lines)), said
    assert len(said) == len(lines)
    assert "Traceback" not in done.stderr
    done = subprocess.run([*command, "-v"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


# --- what policies print ---

LOUD = """
import atexit, os, subprocess, sys, threading, time
print("at import")
from optsched.families.oasis.policies import Fifo


def keep_writing():
    while True:
        os.write(1, b"by a thread\\n")
        time.sleep(0.01)


threading.Thread(target=keep_writing, daemon=True).start()
atexit.register(lambda: (print("at the end"), os.write(1, b"last\\n")))


class Loud(Fifo):
    name = "loud"

    def __init__(self):
        print("when made")
        super().__init__()

    def __del__(self):
        print("when forgotten")

    def step(self, event):
        print("by print")
        sys.__stdout__.write("by the stream\\n")
        sys.__stdout__.flush()
        os.write(1, b"by the system\\n")
        subprocess.run([sys.executable, "-S", "-c", "print('by a program')"])
        return super().step(event)
"""


@pytest.mark.slow
@pytest.mark.parametrize("sealed", [False, True])
def test_what_a_policy_prints_goes_to_stderr(folder, sealed):
    (folder / "loud.py").write_text(LOUD)
    more = ["--sandbox"] if sealed else []
    for words in (("run", "small.json"), ("ratio", "small.json", "--time-limit", "20")):
        command = [sys.executable, "-m", "optsched", *words, "-p", "loud:Loud", "--json", *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert isinstance(json.loads(done.stdout), dict)
        for way in ("at import", "when made", "by print", "by the stream", "by the system"):
            assert way in done.stderr
        for way in ("by a program", "by a thread", "at the end\n", "last\n"):
            assert way in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("target", ["-", "/dev/stdout"])
def test_a_run_that_is_written_to_stdout_stays_whole(folder, target):
    (folder / "loud.py").write_text(LOUD)
    words = [*("run", "small.json", "-p", "loud:Loud"), *("-o", target, "--json")]
    command = [sys.executable, "-m", "optsched", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, end = json.JSONDecoder().raw_decode(done.stdout)
    assert (first["kind"], json.loads(done.stdout[end:])["policy"]) == ("run", "loud")


def test_a_name_is_shown_as_it_is(folder, call):
    name = ":bomb: [red] x"
    text = 'from optsched.families.oasis.policies import Fifo\nclass Odd(Fifo): name = "{}"\n'
    (folder / "odd.py").write_text(text.format(name))
    for words in (("run", "small.json"), ("ratio", "small.json", "--time-limit", "5")):
        status, out, _ = call(*words, "-p", "odd:Odd")
        assert status == 0
        assert name in out


def test_what_policies_print_at_the_same_time_changes_no_stream(folder):
    (folder / "loud.py").write_text(LOUD)
    inst = load_instance(folder / "small.json")
    before = sys.stdout
    with ThreadPoolExecutor(3) as executor:
        assert len({run.value for run in executor.map(simulate, [inst] * 6, ["fifo"] * 6)}) == 1
    assert sys.stdout is before


@pytest.mark.parametrize("value", ["\x1b[31m", {"a\u202e": 1}, "x" * (1 << 20), [[[]]] * 3])
def test_a_statistic_that_no_file_can_hold_is_refused(folder, value):
    for _ in range(100 if isinstance(value, list) else 0):
        value = [value]
    inst = load_instance(folder / "small.json")
    policy = get_family("oasis").policies["fifo"]()
    policy.knows = ("own:odd",)
    optsched.statistic("oasis", "odd")(lambda _: value)
    with pytest.raises(InputError, match="own:odd is no data that JSON can hold") as caught:
        simulate(inst, policy)
    assert len(str(caught.value)) < 300


# --- policies that raise, fork or end as nobody expects ---

RUDE = """
import os
from optsched.families.oasis.policies import Fifo
from optsched.problem import PolicyError


class Mute(Exception):
    def __str__(self):
        raise self


class Base(BaseException):
    pass


class Named(type):
    @property
    def __name__(cls):
        raise KeyError("name")


class Rude(Fifo):
    name = "rude"

    def step(self, event):
        raise self.error

    def __init_subclass__(cls, error=None):
        cls.error = error


class Mutes(Rude, error=Mute()): pass
class Bases(Rude, error=Base("low")): pass
class Stops(Rude, error=StopIteration()): pass
class Breaks(Rude, error=KeyboardInterrupt()): pass
class Closes(Rude, error=GeneratorExit()): pass
class Loud(Rude, error=ValueError("x" * 10**7)): pass
class Claims(Rude, error=type("Claim", (PolicyError,), {"__str__": lambda self: 1 / 0})()): pass
class Long(Rude, error=PolicyError("y\\n" * 10**6)): pass
class Nameless(Rude, error=Named("Bare", (Exception,), {})("x")): pass
class Paints(Rude, error=type("\\x1b[2J\\u202e", (Exception,), {})("\\x1b[31m")): pass


class Forks(Fifo):
    name = "forks"

    def step(self, event):
        if os.fork() and event.slot:
            raise ValueError("a bug")
        return {}


class Lost(Fifo):
    name = "lost"

    def step(self, event):
        eval(compile("1 / 0", "no\\0file.py", "eval"))


class Quits(Fifo):
    name = "quits"

    def step(self, event):
        os._exit(0)


class Odd(type(Fifo)):
    @property
    def __mro__(cls):
        raise KeyError("odd")


class Made(Fifo, metaclass=Odd): pass


def __getattr__(name):
    raise KeyError(name)
"""
FOUND = {
    "Mutes": "policy rude: event 0: Mute",
    "Bases": "policy rude: event 0: Base: low",
    "Stops": "policy rude: event 0: StopIteration",
    "Breaks": "policy rude: event 0: KeyboardInterrupt",
    "Closes": "policy rude: event 0: GeneratorExit",
    "Loud": "policy rude: event 0: ValueError: xxx",
    "Claims": "policy rude: event 0: Claim",
    "Long": "policy rude: event 0: PolicyError: y y",
    "Nameless": "policy rude: event 0: Bare: x",
    "Lost": "policy lost: event 0: ",
    "Paints": "policy rude: event 0: \\x1b[2J\\u202e: \\x1b[31m",
    "Made": "policy 'rude:Made' cannot be loaded: KeyError: 'odd'",
    "Absent": "policy 'rude:Absent' cannot be loaded: KeyError: 'Absent'",
    "Forks": "policy forks: event 1: ValueError: a bug",
    "Quits": "the computing process ended itself, with status 0",
}


@pytest.mark.parametrize("name", sweep(FOUND, quick=2))
def test_whatever_a_policy_does_is_its_error(folder, name):
    (folder / "rude.py").write_text(RUDE)
    found = piped("run", "small.json", "-p", f"rude:{name}", "-q", folder=folder)
    assert (found.status, found.out) == (1, "")
    first, *lines = found.err.splitlines()
    assert first.startswith(f"optsched: {FOUND[name]}")
    assert all(line.startswith("  rude.py, line ") for line in lines)
    assert len(found.err) < 5000


@pytest.mark.parametrize("name", sweep((n for n in FOUND if n not in ("Forks", "Quits")), quick=1))
@pytest.mark.usefixtures("folder")
def test_an_error_of_a_sandboxed_policy_is_told_alike(folder, name):
    (folder / "rude.py").write_text(RUDE)
    inst = load_instance(folder / "small.json")
    with pytest.raises(PolicyError) as caught:
        simulate(inst, f"rude:{name}", sandbox=True)
    assert FOUND[name] in str(caught.value)
    assert len(str(caught.value)) < 5000
    assert str(caught.value).replace("\n", "").isprintable()


@pytest.mark.slow
def test_a_campaign_outlives_policies_that_fork_and_paint(folder, call):
    (folder / "rude.py").write_text(RUDE)
    lines = ['reference = {effort = 100}\n[[instances]]\nfamily = "oasis"\npreset = "small"']
    lines += ["seeds = 1"]
    lines += [f'[[policies]]\nname = "rude:{name}"' for name in ("Forks", "Paints", "Loud")]
    (folder / "plan.toml").write_text("\n".join(lines))
    status, out, err = call("campaign", "run", "plan.toml", "--trust", "--workers", 2, "-q")
    assert status in (0, 1), err
    assert "defect" not in err
    assert (out + err).replace("\n", "").isprintable()


def test_what_is_too_large_for_a_policy_of_the_family_costs_its_row_alone():
    content = get_family("dmlrs").generate("small", seed=1).model_dump(mode="json")
    content["jobs"][0]["epochs"] = 10**8
    inst = get_family("dmlrs").instance.model_validate(content)
    report = optsched.compare(inst, ["oasis", "fifo"], work_limit=50)
    assert [row.name for row in report.policies] == ["fifo"]
    assert [failed.name for failed in report.failed] == ["oasis"]
    assert "too large for the dynamic program" in report.failed[0].why
    with pytest.raises(InputError, match="too large for the dynamic program"):
        optsched.compare(inst, ["oasis"], work_limit=50)
