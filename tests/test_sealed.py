"""Sealed policies: what they gain by cheating, what they answer, and in which language."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sweeps import sweep

import optsched
from optsched.core import compare, simulate
from optsched.files.format import save_instance
from optsched.problem import InputError, PolicyError, families, get_family

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[1] / "docs"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="guards are those of Linux")

CHEATS = """
import ctypes, gc, os, stat, sys
from optsched.families.oasis.instance import OasisInstance

NEEDLE = "-".join(["needle", "in", "a", "haystack"])
PATH = {path!r}


def kept(policy):
    return hasattr(policy, "instance")


def collected():
    return any(issubclass(type(o), OasisInstance) for o in gc.get_objects())  # a proxy may be dead


def framed():
    frame = sys._getframe()
    while frame:
        if any(isinstance(o, OasisInstance) for o in frame.f_locals.values()):
            return True
        frame = frame.f_back
    return False


def remembered(pid):
    with open(f"/proc/{{pid}}/maps") as maps, open(f"/proc/{{pid}}/mem", "rb") as memory:
        for line in maps:
            if "rw-p" not in line:
                continue
            begin, end = (int(x, 16) for x in line.split()[0].split("-"))
            memory.seek(begin)
            try:
                if NEEDLE.encode() in memory.read(end - begin):
                    return True
            except (OSError, ValueError, OverflowError):
                pass
    return False


def copied(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    here = (ctypes.c_size_t * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
    there = (ctypes.c_size_t * 2)(8, 8)  # nothing is there, which only those learn who may look
    libc.process_vm_readv(pid, here, 1, there, 1, 0)
    return ctypes.get_errno() == 14  # EFAULT, not EPERM


def opened(path):
    return NEEDLE in open(path).read()


def sized(path):
    return os.stat(path).st_size


def counted():
    return os.statvfs(os.path.dirname(os.__file__)).f_blocks


def inherited():
    for handle in map(int, os.listdir("/proc/self/fd")):
        try:
            mode = os.fstat(handle).st_mode
        except OSError:  # that of the list
            continue
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return True


def sampled():
    import optsched
    folder = os.path.join(os.path.dirname(optsched.__file__), "samples")
    return bool(open(os.path.join(folder, "jobs.csv")).read())


def killed(pid):
    os.kill(pid, 0)
    return True


def tried(how, *given):
    try:
        return how(*given)
    except Exception:  # however a cheat fails, it has gained nothing
        return False


class Cheats:
    name, information, knows = "cheats", "after", ()

    def prior(self, instance):
        self.instance = instance

    def start(self, public, prior, streams):
        self.horizon = public.horizon

    def step(self, event):
        if event.slot == 0:
            pid = os.getppid()
            found = {{
                "keep": tried(kept, self),
                "collector": tried(collected),
                "frames": tried(framed),
                "memory": tried(remembered, pid),
                "trace": tried(copied, pid),
                "file": tried(opened, PATH),
                "folder": tried(opened, f"/proc/{{pid}}/cwd/" + os.path.basename(PATH)),
                "size": tried(sized, PATH),
                "blocks": tried(counted),
                "inherited": tried(inherited),
                "samples": tried(sampled),
                "signal": tried(killed, pid),
                "environment": "OPTSCHED_TEST_SECRET" in os.environ,
            }}
            print("FOUND", *(name for name in found if found[name]), file=sys.stderr)
        return {{}}


if __name__ == "__main__":
    ways = {{"memory": remembered, "trace": copied, "signal": killed}}
    print(*(name for name, how in ways.items() if tried(how, int(sys.argv[1]))))
"""

LATE = """
from optsched.scheduling.placement import Placement


class Late:
    name, information, knows = "late", "after", ()

    def start(self, public, prior, streams):
        self.answers, self.jobs, self.last = [], {}, public.horizon - 1

    def step(self, event):
        self.jobs.update(event.jobs)
        self.answers.append({})
        if event.slot == self.last:
            for slot, answer in enumerate(self.answers[:-1]):
                answer.update({i: Placement({0: 1}, {0: 1}) for i in self.jobs})
        return self.answers[-1]
"""


@pytest.fixture
def inst():
    made = get_family("oasis").generate("small", seed=1)
    return made.model_copy(update={"source": "-".join(["needle", "in", "a", "haystack"])})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder in which a command is run, and whose modules nobody has imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@linux
def test_six_cheats_gain_nothing(inst, folder, capsys, monkeypatch):
    monkeypatch.setenv("OPTSCHED_TEST_SECRET", "x")
    path = folder / "instance.json"
    save_instance(inst, path)
    (folder / "cheats.py").write_text(CHEATS.format(path=str(path)))
    simulate(inst, "cheats:Cheats")
    unsealed = {*capsys.readouterr().err.split()}  # so the cheats are none that never work
    assert {"collector", "frames", "file", "samples", "environment", "size", "blocks"} <= unsealed
    assert "keep" not in unsealed
    run = simulate(inst, "cheats:Cheats", sandbox=True)
    assert run.sealed
    found = {*capsys.readouterr().err.split()} - {"FOUND"}
    if "files" in run.guards:
        assert not found
        assert run.seal == "sandbox"
    else:
        assert found <= {"file", "folder", "samples", "signal", "size", "blocks"}
        assert run.seal.startswith("sandbox: partial, without files")


@linux
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root sees everything")
def test_the_cheat_by_memory_works_where_nothing_is_sealed(inst, folder):
    (folder / "cheats.py").write_text(CHEATS.format(path="x"))
    assert inst.source
    command = [sys.executable, str(folder / "cheats.py"), str(os.getpid())]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert {*said.stdout.split()} == {"memory", "trace", "signal"}


def test_late_answers_gain_nothing(inst, folder):
    (folder / "late.py").write_text(LATE)
    run = simulate(inst, "late:Late", sandbox=True)
    assert not any(run.schedule.jobs)
    assert run.value == 0


@pytest.mark.parametrize("family", sweep(families(), 2))
def test_sealed_policies_decide_the_same(family):
    inst = get_family(family).generate("small", seed=1)
    name = next(iter(get_family(family).policies))
    here, there = simulate(inst, name), simulate(inst, name, sandbox=True)
    changes = {"sealed": True, "guards": there.guards}
    changes |= {"seconds": there.seconds, "slowest": there.slowest, "decision_limit": 600}
    assert there == here.model_copy(update=changes)


def test_tables_say_who_was_sealed(inst):
    report = compare(inst, ["fifo"], sandbox=True, time_limit=20)
    assert report.policies[0].seal.startswith("sandbox")
    assert report.runs[0].sealed
    assert compare(inst, ["fifo"], time_limit=20).policies[0].seal == "no sandbox"
    assert report.summary()["policies"][0]["seal"].startswith("sandbox")
    assert "sandbox" in str(report)


def test_a_policy_with_helpers_and_a_package(inst, folder):
    """What it imports from its folder is there; what is not Python is not."""
    (folder / "no.module.py").write_text("what nobody can import\n")
    (folder / "pack").mkdir()
    (folder / "pack" / "__init__.py").write_text("from pack.inner import SHARE\n")
    (folder / "pack" / "inner.py").write_text("SHARE = 1\n")
    (folder / "helper.py").write_text("from pack import SHARE\n")
    (folder / "mine.py").write_text(
        "import helper\nfrom optsched.families.oasis.policies import Fifo\n\n\n"
        'class Mine(Fifo):\n    name = f"mine {helper.SHARE}"\n'
    )
    run = simulate(inst, "mine:Mine", sandbox=True)
    assert run.policy == "mine 1"
    assert run.value == simulate(inst, "fifo").value
    assert run.guarantee is None


LOOKS = """
import sys
from optsched.families.oasis.policies import Fifo


class Looks(Fifo):
    name = "looks"

    def start(self, public, prior, streams):
        super().start(public, prior, streams)
        for path in {paths}:
            try:
                print("READS", open(path).read(), file=sys.stderr)
            except OSError:
                print("closed", file=sys.stderr)
"""


@linux
@pytest.mark.parametrize("name", ["looks:Looks", "looks.py:Looks"])
def test_links_in_the_folder_of_a_policy_open_nothing(inst, folder, capsys, monkeypatch, name):
    """Nor do folders that a file could hide, unless they are packages themselves."""
    here, other = folder / "here", folder / "other"
    for path in (here / "pack", here / "data", here / "data.py", other):
        path.mkdir(parents=True)
    secrets = [folder / "one.txt", other / "two.txt", here / "data" / "three.txt", here / "4.txt"]
    for path in secrets:
        path.write_text("SECRET")
    for path in (other / "__init__.py", here / "data.py" / "mine.txt", here / "__init__.py"):
        path.write_text("")
    links = {"a.py": "../one.txt", "b": "../other", "pack/__init__.py": "../../one.txt"}
    links |= {"c.py": "/proc/self/cwd/4.txt", "d.py": "4.txt", "e": ".", "f": "b", "g": "../other"}
    for link, target in links.items():
        (here / link).symlink_to(target)
    (here / "looks.py").write_text(LOOKS.format(paths=[*map(str, secrets)]))
    monkeypatch.chdir(here)
    run = simulate(inst, name, sandbox=True)
    said = capsys.readouterr().err
    assert said.count("READS") + said.count("closed") == len(secrets)
    assert ("SECRET" in said) == ("files" not in run.guards)


@linux
def test_links_to_modules(inst, folder, monkeypatch):
    """One to a module of the policy is followed, another one named."""
    (folder / "here").mkdir()
    (folder / "outside.py").write_text("SHARE = 2\n")
    (folder / "here" / "second.py").write_text("SHARE = 1\n")
    (folder / "here" / "helper.py").symlink_to("second.py")
    mine = "from optsched.families.oasis.policies import Fifo\n\n\nclass Mine(Fifo):\n"
    (folder / "here" / "mine.py").write_text(f'import helper\n{mine}    name = "mine"\n')
    monkeypatch.chdir(folder / "here")
    assert simulate(inst, "mine:Mine", sandbox=True).policy == "mine"
    (folder / "here" / "helper.py").unlink()
    (folder / "here" / "helper.py").symlink_to("../outside.py")
    with pytest.raises(InputError, match=r"helper.py is a symbolic link to .*/outside.py, which"):
        simulate(inst, "mine:Mine", sandbox=True)


@linux
def test_the_folder_of_the_command_is_none_of_installed_packages(inst, folder, capsys, monkeypatch):
    here = folder / "site-packages"
    here.mkdir()
    (here / "instance.json").write_text("SECRET")
    (folder / "far").mkdir()
    (folder / "far" / "instance.json").write_text("SECRET")
    (folder / "linked").mkdir()
    (folder / "linked" / "site-packages").symlink_to("../far")
    paths = [str(here / "instance.json"), str(folder / "far" / "instance.json")]
    (here / "looks.py").write_text(LOOKS.format(paths=paths))
    monkeypatch.chdir(here)
    sys.path[:0] = [str(here), str(folder / "linked" / "site-packages")]
    run = simulate(inst, "looks:Looks", sandbox=True)
    said = capsys.readouterr().err
    assert said.count("READS") + said.count("closed") == len(paths)
    assert ("SECRET" in said) == ("files" not in run.guards)


@linux
def test_modules_next_to_the_package_do_not_run_before_the_lock(inst, folder):
    """The folder of a checkout holds the package, and perhaps the files of a policy."""
    save_instance(inst, folder / "small.json")
    (folder / "optsched").symlink_to(Path(optsched.__file__).parent)
    (folder / "uuid.py").write_text(
        f"try:\n    print(open({str(folder / 'small.json')!r}).read())\nexcept OSError:\n    pass\n"
        "raise ImportError('not the one of Python')\n"
    )
    (folder / "mine.py").write_text(
        "from optsched.families.oasis.policies import Fifo\n\n\n"
        'class Mine(Fifo):\n    name = "mine"\n'
    )
    start = (
        "import sys; k = sys.path.index(next(p for p in sys.path if 'site-packages' in p)); "
        "sys.path.insert(k, sys.argv.pop(1)); from optsched.cli.app import main; main()"
    )
    ran = subprocess.run(
        [
            *(sys.executable, "-P", "-c", start, folder),
            *("run", "small.json", "-p", "mine:Mine", "--sandbox"),
        ],
        env={name: x for name, x in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, "haystack" in ran.stderr) == (0, False), ran.stderr


def test_other_files_of_the_folder_of_a_problem_run_in_no_library(inst, folder, call):
    """They may belong to a policy that runs in a sandbox alone."""
    save_instance(inst, folder / "small.json")
    (folder / "helper.py").write_text("NAME = 'knapsack'\n")
    (folder / "accelerator.py").write_text("print('RUNS')\n")  # as an optional one
    (folder / "queue.py").write_text("print('RUNS')\n")  # a module of Python
    (folder / "stats.py").write_text("import helper\nimport queue\nimport json.tool\n")
    for module in ("stats", "queue"):
        _, said, complaint = call("run", "small.json", "-p", "fifo", "--statistics", module)
        assert "RUNS" not in said + complaint
    assert "has a module 'queue', and so has Python or a library" in complaint
    assert {"stats", "helper"} <= {*sys.modules}
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("accelerator")


def test_a_file_of_the_folder_replaces_nothing_in_a_sandbox(inst, folder):
    """The family's policies run there next to those of others."""
    (folder / "cffi.py").write_text(
        "from optsched.families.oasis.policies.paper import Oasis\n\n"
        "Oasis.step = lambda *_given: {}\nraise ImportError('not the one that is installed')\n"
    )
    assert simulate(inst, "oasis", sandbox=True).value == simulate(inst, "oasis").value
    (folder / "mine.py").write_text(
        "import cffi\nfrom optsched.families.oasis.policies import Fifo\n\n\n"
        "class Mine(Fifo):\n    name = f\"mine {hasattr(cffi, 'FFI')}\"\n"
    )
    assert simulate(inst, "mine:Mine", sandbox=True).policy == "mine True"


def test_an_answer_that_is_too_long_prints_no_traceback(inst, folder, capfd):
    (folder / "long.py").write_text(
        "import os\nfrom optsched.families.oasis.policies import Fifo\n\n\n"
        'class Long(Fifo):\n    name = "long"\n\n'
        "    def step(self, event):\n        for fd in (3, 4, 5):\n            try:\n"
        '                while True:\n                    os.write(fd, b"x" * 65536)\n'
        "            except OSError:\n                pass\n"
    )
    with pytest.raises(PolicyError, match="answers with more than 8388608 bytes"):
        simulate(inst, "long:Long", sandbox=True)
    assert "Traceback" not in capfd.readouterr().err


def test_own_kernels_are_compiled_in_the_sealed_process(inst, folder):
    (folder / "compiled.py").write_text(
        "from numba import njit\nfrom optsched.families.oasis.policies import Fifo\n\n\n"
        "@njit(cache=True)\ndef twice(x):\n    return 2 * x\n\n\n"
        'class Compiled(Fifo):\n    name = f"compiled {twice(21)}"\n'
    )
    assert simulate(inst, "compiled:Compiled", sandbox=True).policy == "compiled 42"


def test_statistics_are_computed_outside(inst, folder):
    @optsched.statistic("oasis", "longest")
    def longest(instance):
        return max(job.epochs for job in instance.jobs)

    (folder / "knowing_one.py").write_text(
        "from optsched.families.oasis.policies import Fifo\n\n\n"
        'class Knows(Fifo):\n    name = "knows"\n    knows = ("own:longest", "jobs")\n\n'
        "    def start(self, public, prior, streams):\n"
        '        assert prior["own:longest"] > 0 and prior["jobs"] == 6, prior\n'
        "        super().start(public, prior, streams)\n"
    )
    run = simulate(inst, "knowing_one:Knows", sandbox=True)
    assert run.own == ("own:longest",)
    assert "own:longest" in str(run)


# --- programs ---

PROGRAM = """
import json, sys, time
for line in sys.stdin:
    kind = next(iter(json.loads(line)))
    if kind == "hello":
        print(json.dumps({"policy": {"name": "p", "knows": []}}), flush=True)
    elif kind == "start":
        print(json.dumps({"ready": True}), flush=True)
    else:
        STEP
"""


@pytest.fixture
def program(folder):
    def write(step):
        (folder / "program.py").write_text(PROGRAM.replace("STEP", step))
        return f"exec:'{sys.executable}' -S program.py"

    return write


def test_a_program_that_does_nothing(inst, program):
    run = simulate(inst, program('print("{\\"decision\\": {}}", flush=True)'))
    assert run.policy == "p"
    assert run.value == 0
    assert run.sealed


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ('print("hello", flush=True)', r"policy p: event 0: answers 'hello', expected one line"),
        ('print("{}", flush=True)', "answers '{}', expected one line"),
        ('print("[" * 100000, flush=True)', r"answers '\[\[\["),
        ('print("{\\"decision\\": NaN}", flush=True)', "answers '.*NaN"),
        ('print("{\\"decision\\": 1}", flush=True)', "the decision is a int, expected a mapping"),
        ('print("{\\"decision\\": {\\"0\\": 1}}", flush=True)', "has 1 for job 0"),
        ('print("{\\"decision\\": {}}\\n{\\"decision\\": {}}", flush=True)', "without a request"),
        ('print("{\\"error\\": \\"no idea\\"}", flush=True)', "policy p: event 0: no idea"),
        ("sys.exit(3)", r"its process has ended \(exit status 3\)"),
        ("import os; os.kill(os.getpid(), 9)", r"its process has ended \(SIGKILL\)"),
        ('print("{\\"dec", end="", flush=True); sys.exit(0)', "exit status 0.*after printing"),
        ("time.sleep(60)", "has not answered within 1.5 s"),
    ],
)
def test_a_program_that_misbehaves_is_named(inst, program, step, message):
    command = program(step)
    with pytest.raises(PolicyError, match=message):
        simulate(inst, command, decision_limit=1.5 if "sleep" in step else 60)


def test_a_program_that_is_not_ready_plays_no_event(inst, program, folder):
    command = program("pass")
    file = folder / "program.py"
    file.write_text(file.read_text().replace('"ready": True', '"ready": False'))
    with pytest.raises(PolicyError, match=r'start: answers that it is not ready, expected \{"rea'):
        simulate(inst, command)


MANY = ", ".join(f'"{k}": 1' for k in range(1000))
PIECE = '{"start": 0, "duration": 1, "worker_type": 0, "ps_type": 0, "workers": [[0, 1]], "ps": []}'
WIDE = PIECE.replace("[0, 1]", ", ".join(["[0, 1]"] * 1000))


@pytest.mark.parametrize(
    ("family", "decision", "message"),
    [
        ("oasis", f'{{"0": {{"workers": {{{MANY}}}}}}}', "has 1000 machines for job 0"),
        ("dmlrs", f'{{"0": {{"ps": {{{MANY}}}}}}}', "has 1000 machines for job 0"),
        ("oasis", f"{{{MANY.replace(': 1', ': {}')}}}", "is on 1000 jobs"),
        ("rigid", f"{[*range(1000)]}", "is on 1000 jobs"),
        ("completion", f'{{"1": [{PIECE}, {PIECE}]}}', "job 1 has 2 pieces on up to 1 servers"),
        ("completion", f'{{"1": [{WIDE}]}}', "job 1 has 1 pieces on up to 1000 servers"),
        ("bipartite", f"{[0] * 1000}", r"has shape \(1000,\), expected one amount per channel"),
        ("bipartite", '{"float64": "AAAAAAAA+H8="}', "has the amount nan, expected finite ones"),
        ("bipartite", '{"channels": [0], "amounts": [1e999]}', "has the amount inf"),
        ("bipartite", '{"channels": [true], "amounts": [1]}', "has channels that are not in 0"),
        ("bipartite", '{"channels": [0, 0], "amounts": [1, 2]}', "names a channel twice"),
        ("bipartite", '{"channels": [0], "amounts": ["1"]}', "expected a list of numbers"),
        ("bipartite", '{"channels": 5, "amounts": [5]}', "has 5 as channels, expected a list"),
        ("bipartite", '{"float64": "AAAA"}', "has 3 bytes, expected 8 for each channel"),
        ("bipartite", f"{[[1.0]]}", "expected a list of numbers"),
        ("rigid", "[true]", "is no tuple: 0: is True; Input should be a valid integer"),
        ("bot", '{"rates": [[["0", 0, 1]]]}', "Input should be a valid"),
    ],
)
def test_what_does_not_exist_is_refused_at_once(program, capsys, family, decision, message):
    """Before the command has many of these answers in memory."""
    inst = get_family(family).generate("small", seed=1)
    answer = f'{{"decision": {decision}}}'
    command = program(f"print({answer!r}, flush=True); print('answered', file=sys.stderr)")
    with pytest.raises(PolicyError, match=message):
        simulate(inst, command)
    assert capsys.readouterr().err.count("answered") <= 1


def test_what_a_program_says_on_stderr_passes_through(inst, program, capsys):
    simulate(
        inst, program('print("so far", file=sys.stderr); print("{\\"decision\\": {}}", flush=True)')
    )
    assert capsys.readouterr().err.count("so far\n") == inst.horizon


def test_a_program_is_locked_too(inst, program, folder, capsys):
    path = folder / "instance.json"
    save_instance(inst, path)
    step = (
        f"\n        try: print(open({str(path)!r}).read(), file=sys.stderr)"
        '\n        except OSError: print("closed", file=sys.stderr)'
        '\n        print("{\\"decision\\": {}}", flush=True)'
    )
    run = simulate(inst, program(step))
    said = capsys.readouterr().err
    assert ("closed" in said) == ("files" in run.guards)


def test_the_old_name_of_the_argument_warns(inst):
    with pytest.warns(DeprecationWarning, match=r"simulate\(sealed=\) is deprecated, use sandbox="):
        assert simulate(inst, "fifo", sealed=True).sealed


def test_wrong_names_are_refused(inst, folder):
    with pytest.raises(InputError, match="there is no such program"):
        simulate(inst, "exec:./nothing --here")
    with pytest.raises(InputError, match="unknown policy 'lifo'"):
        simulate(inst, "lifo", sandbox=True)
    with pytest.raises(InputError, match=r"expected its name \(MODULE:CLASS\), not a Fifo"):
        simulate(inst, get_family("oasis").policies["fifo"](), sandbox=True)
    with pytest.raises(InputError, match="decision limit 0: expected seconds above 0"):
        simulate(inst, "fifo", sandbox=True, decision_limit=0)
    (folder / "broken.py").write_text("1 / 0\n")
    with pytest.raises(PolicyError, match=r"ZeroDivisionError.*\n.*broken.py, line 1"):
        simulate(inst, "broken:Policy", sandbox=True)


def test_the_example_in_another_language_runs(inst, folder):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    text = (DOCS / "sealed.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^:caption: policy.js\n\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (folder / "policy.js").write_text(code)
    run = simulate(inst, "exec:node policy.js")
    assert run.policy == "one-worker"
    assert run.value > 0
    workers = [number for job in run.schedule.jobs if job for _, _, number in job.workers]
    assert set(workers) == {1}


def test_a_policy_in_perl(inst, folder):
    """The language that is there wherever Debian is; without a library for JSON."""
    if shutil.which("perl") is None:
        pytest.skip("perl is not installed")
    (folder / "policy.pl").write_text(
        "$| = 1;\n"
        "while (<STDIN>) {\n"
        '    if (/^\\{"hello"/) { print qq({"policy": {"name": "perl", "knows": ["jobs"]}}\\n); }\n'
        '    elsif (/^\\{"start".*"jobs":(\\d+)/) { $n = $1; print qq({"ready": true}\\n); }\n'
        '    else { print STDERR "$n jobs\\n"; print qq({"decision": {}}\\n); }\n'
        "}\n"
    )
    run = simulate(inst, "exec:perl policy.pl")
    assert (run.policy, run.information, run.prior) == ("perl", "after", {"jobs": len(inst.jobs)})


def test_commands_seal(folder, inst, call):
    save_instance(inst, folder / "small.json")
    (folder / "mine.py").write_text(
        "import optsched\nfrom optsched.families.oasis.policies import Fifo\n\n\n"
        'class Mine(Fifo):\n    name = "mine"\n    knows = ("own:horizon",)\n'
    )
    (folder / "stats.py").write_text(
        'import optsched\n\n\n@optsched.statistic("oasis", "horizon")\n'
        "def horizon(instance):\n    return instance.horizon\n"
    )
    status, said, _ = call(
        "run", "small.json", "-p", "mine:Mine", "--sandbox", "--statistics", "stats"
    )
    assert status == 0
    assert "sandbox" in said
    assert "knows own:horizon" in said
    status, _, complaint = call("run", "small.json", "-p", "fifo", "--statistics", "nothing")
    assert status == 2
    assert "statistics 'nothing' cannot be loaded" in complaint
    args = ("ratio", "small.json", "-p", "fifo", "--sandbox", "--time-limit", 20)
    status, said, _ = call(*args, "-o", "result.json")
    assert status == 0
    assert "all policies: information after; sandbox yes" in said
    status, said, _ = call("show", "result.json", "-v")
    assert status == 0
    assert re.search(r"┃ sandbox\s+┃", said)
    assert re.search(r"│ yes\s+│", said)
