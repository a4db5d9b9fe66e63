"""The command line: every command, wrong input, Ctrl-C."""

import dataclasses
import gzip
import json
import os
import shlex
import signal
import stat
import subprocess
import sys

import pytest
from independent.oasis import FILES, load, schedule
from patience import LONG
from terminal import refused
from typer.testing import CliRunner

from optsched import problem, solvers
from optsched.cli.app import app, main
from optsched.families.oasis.instance import OasisSchedule
from optsched.files.format import load_instance, save_instance
from optsched.problem import families, get_family
from optsched.results.load import load_optimum, load_run
from optsched.results.result import save_schedule

LIMIT = ["--time-limit", "2"]
WINDOW = ["--jobs", "6", "--horizon", "8", "--load", "0.4"]
JOBS = "submit_seconds,run_seconds,tasks\n" + "".join(
    f"{600 * k},{3600 * (1 + k % 3)},{1 + k % 4}\n" for k in range(8)
)
MACHINES = "gpu,cpu,memory_gb,count\n4,32,128,2\n0,16,64,2\n"
POLICY = '''
from optsched.families.oasis.policies import Fifo


class Mine(Fifo):
    """First come, first served, under another name."""

    name = "mine"


class Nothing:
    """Lacks the protocol."""
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with an instance, a job list, a machine list, a result and a run."""
    path = tmp_path_factory.mktemp("cli")
    (path / "jobs.csv").write_text(JOBS)
    (path / "machines.csv").write_text(MACHINES)
    for command in (
        ["generate", "oasis", "--preset", "small", "--seed", "1", "-o", path / "small.json"],
        ["solve", path / "small.json", "-o", path / "result.json"],
        ["run", path / "small.json", "--policy", "fifo", "-o", path / "run.json"],
    ):
        with pytest.raises(SystemExit) as left:
            main([str(a) for a in command])
        assert not left.value.code
    return path


# --- commands ---------------------------------------------------------------------------------


def test_old_names_of_commands_and_options_still_work(folder, call, tmp_path):
    new, old = (
        call("solve", folder / "small.json", f"--{name}=5", "--json")
        for name in ("work-limit", "effort")
    )
    status, out, err = old
    assert json.loads(out)["reference"]["bound"] == json.loads(new[1])["reference"]["bound"]
    assert (status, new[2]) == (0, "")
    assert err.splitlines()[0] == "optsched: warning: --effort is deprecated, use --work-limit"
    _, _, err = call("generate", "oasis", "--slots", 7, "-o", tmp_path / "a.json")
    assert "--slots is deprecated, use --horizon" in err
    assert json.loads((tmp_path / "a.json").read_text())["instance"]["horizon"] == 7
    status, _, err = call("hunt", "--help")
    assert (status, err) == (0, "optsched: warning: hunt is deprecated, use worst-case\n")
    assert call("run", "--policy", "hunt", "x.json")[2].startswith("optsched: x.json")  # a value
    status, _, err = call("campaign", "run", "--policy=a:B", "--help")
    assert (status, err) == (0, "optsched: warning: --policy is deprecated, use --allow\n")


def test_help_of_every_command(call):
    status, out, _ = call("--help")
    assert status == 0
    for name in ("generate", "trace", "show", "solve", "run", "ratio", "verify", "export"):
        assert name in out
        status, text, _ = call(name, "--help")
        assert status == 0
        assert f"optsched {name}" in " ".join(text.split())  # the example
    assert {"reproduce", "info"} <= set(out.split())


def test_generate_follows_the_seed(call, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        made = call("generate", "oasis", "--preset", "small", "--seed", seed, "-o", tmp_path / name)
        assert made[0] == 0
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    assert (tmp_path / "a").read_text() != (tmp_path / "c").read_text()


def test_generate_takes_sizes(call, tmp_path):
    sizes = ("--jobs", 3, "--horizon", 7, "--machines", 4)
    status, out, _ = call(
        "generate", "oasis", "--preset", "small", *sizes, "-o", tmp_path / "x.json"
    )
    assert status == 0
    assert "3 jobs" in out
    made = load_instance(tmp_path / "x.json")
    assert (len(made.jobs), made.horizon) == (3, 7)
    assert len(made.worker_capacity) + len(made.ps_capacity) == 4


def test_trace_makes_an_instance(call, folder, tmp_path):
    target = tmp_path / "window.json"
    status, out, _ = call(
        "trace", folder / "jobs.csv", "--machines", folder / "machines.csv", *WINDOW, "-o", target
    )
    assert status == 0
    assert "6 jobs" in out
    made = load_instance(target)
    assert (len(made.jobs), made.horizon) == (6, 8)
    assert made.drawn


def test_trace_reads_gzip_and_the_slot(call, folder, tmp_path):
    packed = tmp_path / "jobs.csv.gz"
    packed.write_bytes(gzip.compress((folder / "jobs.csv").read_bytes()))
    target = tmp_path / "window.json"
    assert call("trace", packed, *WINDOW, "--slot-length", "30min", "-o", target)[0] == 0
    assert load_instance(target).slot_seconds == 1800


def test_show(call, folder, tmp_path):
    status, out, _ = call("show", folder / "small.json", "--plot", tmp_path / "pictures")
    assert status == 0
    assert "offered load" in out
    assert (tmp_path / "pictures" / "jobs.png").exists()
    status, out, _ = call("show", folder / "result.json")
    assert status == 0
    assert str(load_optimum(folder / "result.json")) in out
    status, out, _ = call("show", folder / "run.json", "--plot", tmp_path)
    assert str(load_run(folder / "run.json")) in out
    assert (tmp_path / "schedules.png").exists()


def test_show_takes_a_trace(call, folder):
    status, out, _ = call("show", folder / "jobs.csv", *WINDOW)
    assert status == 0
    assert "offered load" in out


def test_solve_prints_json(call, folder):
    status, out, _ = call("solve", folder / "small.json", *LIMIT, "--json")
    assert status == 0
    content = json.loads(out)
    assert content["family"] == "oasis"
    found = content["reference"]
    assert {"value", "bound", "status", "value_level", "bound_level"} <= set(found)
    assert found["value"] <= found["bound"] * (1 + 1e-9)


def test_solve_and_ratio_take_an_effort(call, folder):
    _, plain, _ = call("solve", folder / "small.json", "--work-limit", "5", "--json")
    _, compared, _ = call(
        *("ratio", folder / "small.json", "-p", "fifo", "--work-limit", "5", "--no-cache", "--json")
    )
    for out in (plain, compared):
        found = json.loads(out)["reference"]
        assert 5 <= found["effort"] < 500
        assert found["value"] <= found["bound"] * (1 + 1e-9)
    status, _, err = call("solve", folder / "small.json", "--work-limit", "-1")
    assert status == 2
    assert "--work-limit" in err


def test_run_says_what_was_earned(call, folder):
    status, out, _ = call("run", folder / "small.json", "--policy", "fifo")
    assert status == 0
    assert out.startswith("oasis: fifo reaches ")


def test_ratio_prints_a_table_a_file_and_pictures(call, folder, tmp_path):
    target = tmp_path / "result.json"
    status, out, _ = call(
        *("ratio", folder / "small.json", "--policy", "oasis", "--policy", "fifo", *LIMIT),
        *("-o", target, "--plot", tmp_path / "pictures"),
    )
    assert status == 0
    for word in ("oasis", "fifo", "ratio", "guarantee", "information", "offered load"):
        assert word in out
    assert "drf" not in out
    assert {"ratios.png", "schedules.png"} <= {p.name for p in (tmp_path / "pictures").iterdir()}
    status, out, _ = call("verify", target)
    assert status == 0
    assert out.count("accepted") == 3  # the optimum and two runs


def test_ratio_prints_json_for_all_policies(call, folder):
    status, out, _ = call("ratio", folder / "small.json", *LIMIT, "--json")
    assert status == 0
    content = json.loads(out)
    assert {row["name"] for row in content["policies"]} == {"oasis", "fifo", "drf", "rrh", "dorm"}
    for row in content["policies"]:
        assert {"name", "information", "value", "ratio", "guarantee", "seconds"} <= set(row)
        low, high = row["ratio"]["low"], row["ratio"]["high"]
        assert 1 <= float(low) <= float(high)


def test_a_result_does_not_go_where_the_table_is_printed(call, folder):
    status, out, err = call("ratio", folder / "small.json", "-p", "fifo", *LIMIT, "-o", "-")
    assert (status, out) == (2, "")
    assert "-o -: expected a file, or --json for the result on stdout" in err


def test_a_log_is_not_overwritten(call, folder):
    jobs = folder / "jobs.csv"
    status, _, err = call("solve", jobs, *WINDOW, *LIMIT, "-o", jobs)
    assert (status, jobs.read_text()) == (2, JOBS)
    assert "jobs.csv: is an input as well, expected another file to write" in err


def test_ratio_of_the_sample(call):
    status, out, _ = call("ratio", "sample", "--policy", "fifo", "--time-limit", "0.5", *WINDOW)
    assert status == 0
    assert "fifo" in out


def test_ratio_judges_a_schedule_from_elsewhere(call, tmp_path):
    instance, known = load(FILES[0])
    save_instance(instance, tmp_path / "instance.json")
    save_schedule(tmp_path / "s.json", instance, schedule(known["optimum_schedule"]))
    args = ("ratio", tmp_path / "instance.json", "--policy", "fifo", "--json", *LIMIT)
    status, out, _ = call(*args, "--schedule", tmp_path / "s.json")
    assert status == 0
    row = json.loads(out)["policies"][-1]
    assert row["name"] == "schedule"
    assert row["value"] == pytest.approx(known["optimum"])


def test_policy_in_a_file_of_ones_own(call, folder, tmp_path, monkeypatch):
    (tmp_path / "my_own_policy.py").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    status, out, _ = call("run", folder / "small.json", "--policy", "my_own_policy:Mine")
    assert status == 0
    assert "mine reaches" in out
    found = call("run", folder / "small.json", "--policy", "my_own_policy:Nothing")
    refused(found, "lacks name", "optsched.Policy")


@pytest.mark.parametrize("to", ["lp", "mps"])
def test_export_cites_the_equations(call, folder, tmp_path, to):
    target = tmp_path / f"program.{to}"
    assert call("export", folder / "small.json", "--to", to, "-o", target)[0] == 0
    text = target.read_text()
    for equation in ("eq1", "eq2", "eq4", "eq8"):
        assert equation in text


def test_info(call):
    status, out, _ = call("info")
    assert status == 0
    for word in ("optsched", "highspy", "oasis", "fifo", "paper", "CITATION.cff"):
        assert word in out


def test_info_prints_a_schema(call):
    status, out, _ = call("info", "--schema", "instance")
    assert status == 0
    assert json.loads(out)["properties"]["kind"]["const"] == "instance"
    refused(call("info", "--schema", "picture"), "picture", "instance, schedule, run, result")
    refused(call("info", "--schema", "run", "--family", "nobody"), "nobody", "oasis")


# --- verify -----------------------------------------------------------------------------------


def test_verify_judges_a_schedule(call, tmp_path):
    instance, known = load(FILES[0])
    save_instance(instance, tmp_path / "instance.json")
    best = schedule(known["optimum_schedule"])
    save_schedule(tmp_path / "good.json", instance, best)
    status, out, _ = call("verify", tmp_path / "instance.json", tmp_path / "good.json")
    assert status == 0
    assert f"value {known['optimum']:.9g}" in out
    admitted = next(plan for plan in best.jobs if plan is not None)
    twice = admitted.model_copy(
        update={"workers": tuple((t, h, 99 * n) for t, h, n in admitted.workers)}
    )
    jobs = tuple(twice if plan is admitted else plan for plan in best.jobs)
    save_schedule(tmp_path / "bad.json", instance, OasisSchedule(jobs=jobs))
    status, out, _ = call("verify", tmp_path / "instance.json", tmp_path / "bad.json")
    assert status == 1
    assert "(3) broken by" in out


def test_verify_checks_value_and_bound_again(call, folder):
    status, out, _ = call("verify", folder / "result.json", folder / "run.json")
    assert status == 0
    assert "(certified)" in out
    assert "bound" in out


DAMAGES = {
    "value": lambda c: c["optimum"].update(value=c["optimum"]["value"] * 1.5),
    "bound": lambda c: c["optimum"].update(bound=c["optimum"]["bound"] * 0.5),
    "instance": lambda c: c["instance"]["jobs"][0].update(arrival=1),
    "schedule": lambda c: c["optimum"]["schedule"].update(jobs=[None] * 6),
    "digest": lambda c: c.update(instance_sha256="0" * 64),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_verify_rejects_a_tampered_result(call, folder, tmp_path, damage):
    content = json.loads((folder / "result.json").read_text())
    DAMAGES[damage](content)
    (tmp_path / "tampered.json").write_text(json.dumps(content))
    status, out, _ = call("verify", tmp_path / "tampered.json")
    assert status == 1
    assert "rejected" in out


def test_verify_rejects_a_bound_that_the_certificate_does_not_prove(call, folder, tmp_path):
    content = json.loads((folder / "result.json").read_text())
    assert content["optimum"]["bound_level"] == "certified"
    content["optimum"] |= {"value": None, "value_level": None, "schedule": None}
    content["optimum"] |= {"status": "no_schedule", "gap": None, "certified_gap": None}
    (tmp_path / "bound.json").write_text(json.dumps(content))
    assert call("verify", tmp_path / "bound.json")[0] == 0
    content["optimum"]["bound"] *= 1 - 1e-6
    (tmp_path / "bound.json").write_text(json.dumps(content))
    status, out, _ = call("verify", tmp_path / "bound.json")
    assert status == 1
    assert "the certificate proves the bound" in out


def test_verify_rejects_a_tampered_run(call, folder, tmp_path):
    content = json.loads((folder / "run.json").read_text())
    content["run"]["value"] += 1
    (tmp_path / "tampered.json").write_text(json.dumps(content))
    status, out, _ = call("verify", tmp_path / "tampered.json")
    assert status == 1
    assert "the file states" in out


def test_verify_wants_a_pair_or_results(call, folder):
    found = call("verify", folder / "small.json", folder / "result.json")
    refused(found, "instance and result", "expected an instance and a schedule, or results")


# --- wrong input ------------------------------------------------------------------------------


def broken_instance(change):
    def write(folder, path):
        content = json.loads((folder / "small.json").read_text())
        del content["instance_sha256"]
        change(content["instance"])
        path.write_text(json.dumps(content))

    return write


def text(words):
    return lambda _folder, path: path.write_text(words)


def jobs(row):
    return text(JOBS + row + "\n")


INPUTS = {  # what else is wrong in files: test_files, traces/test_lines and traces/test_read_jobs
    "no file": ("x.json", lambda *_: None, ["cannot be read"]),
    "no JSON": ("x.json", text('{"format": 1,\n "kind"'), ["line 2", "is no JSON"]),
    "late arrival": (
        "x.json",
        broken_instance(lambda inst: inst["jobs"][0].update(arrival=99)),
        ["job 0: arrival 99 is outside the horizon 0..5"],
    ),
    "text in a CSV number": ("x.csv", jobs("100,soon,1"), ["line 10", "run_seconds", "soon"]),
    "negative in CSV": ("x.csv", jobs("100,-5,1"), ["line 10", "run_seconds", "-5"]),
    "header alone": ("x.csv", text("submit_seconds,run_seconds,tasks\n"), ["no job"]),
    "broken SWF": ("x.swf", text("1 2 three\n"), ["line 1", "18"]),
    "broken gzip": ("x.csv.gz", lambda _f, path: path.write_bytes(b"\x1f\x8bno"), ["x.csv.gz"]),
}


@pytest.mark.parametrize("case", INPUTS)
def test_wrong_input_is_one_line(call, folder, tmp_path, case):
    name, write, words = INPUTS[case]
    write(folder, tmp_path / name)
    before = sorted(tmp_path.iterdir())
    target = tmp_path / "out.json"
    window = ("--jobs", 4, "--horizon", 8) if ".csv" in name else ()
    refused(call("solve", tmp_path / name, *window, "-o", target), name, *words)
    assert sorted(tmp_path.iterdir()) == before  # no partial output


def test_machine_list_without_machines(call, folder, tmp_path):
    (tmp_path / "m.csv").write_text("gpu,cpu,memory_gb,count\n")
    found = call("trace", folder / "jobs.csv", "--machines", tmp_path / "m.csv", "-o", "x.json")
    refused(found, "m.csv", "no machine")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["generate", "nobody", "-o", "x.json"], ["unknown family 'nobody'", "oasis"]),
        (["generate", "oasis", "--preset", "huge", "-o", "x.json"], ["preset 'huge'", "paper"]),
        (
            ["generate", "oasis", "--horizon", "1000000", "-o", "x.json"],
            ["1000000 slots", "at most"],
        ),
        (["generate", "oasis", "-o", "nowhere/x.json"], ["nowhere", "no folder"]),
        (["run", "{small}", "--policy", "nobody"], ["unknown policy 'nobody'", "fifo"]),
        (["run", "{small}", "--policy", "nowhere:P"], ["cannot be loaded"]),
        (["solve", "{small}", "--method", "magic"], ["unknown method 'magic'", "auto"]),
        (["solve", "{small}", "-o", "nowhere/x.json"], ["nowhere", "no folder"]),
        (["trace", "{jobs}", "--slot-length", "long", "-o", "x.json"], ["slot 'long'", "15min"]),
        (
            ["trace", "{jobs}", "--slot-length", "-1h", "-o", "x.json"],
            ["slot '-1h'", "more than 0"],
        ),
        (["trace", "{jobs}", "--jobs", "99", "-o", "x.json"], ["8 jobs", "99"]),
        (["trace", "{jobs}", *WINDOW, "--load", "-1", "-o", "x.json"], ["load", "-1"]),
        (["trace", "{small}", "-o", "x.json"], ["instance file already"]),
        (["ratio", "{small}", "--schedule", "{jobs}"], ["jobs.csv", "is no JSON"]),
        (["ratio", "{small}", "--method", "magic"], ["unknown method 'magic'", "auto"]),
        (["ratio", "{bad}", "-p", "nobody"], ["unknown policy 'nobody'", "fifo"]),
        (["ratio", "{typo}", "-p", "easy"], ["line 1: lacks", "(has 'submitt_seconds')"]),
        (["ratio", "{bad}", "--machines", "none.csv"], ["none.csv: cannot be read"]),
        (["ratio", "{bad}", "--start", "soon"], ["start is 'soon'", "#500"]),
        (["ratio", "{bad}", "--slot-length", "long"], ["slot 'long'"]),
        (["whatif", "{bad}", "--add", "1xgpu", "-p", "nobody"], ["unknown policy 'nobody'"]),
        (["whatif", "{bad}", "--add", "gpu"], ["--add gpu: expected a number"]),
        (["whatif", "{bad}", "--add", "1xgpu", "--family", "bot"], ["--family bot"]),
        (["reproduce", "fig0"], ["unknown experiment 'fig0'", "oasis-fig5"]),
    ],
)
def test_wrong_option_is_one_line(call, folder, tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    names = {"small": folder / "small.json", "jobs": folder / "jobs.csv"}
    names["bad"] = tmp_path.with_suffix(".csv")  # which is not read
    names["bad"].write_text("submit_seconds,run_seconds,tasks\n0,soon,1\n")
    names["typo"] = tmp_path.with_suffix(".typo")
    names["typo"].write_text("submitt_seconds,run_seconds,tasks,request_seconds\n0,5,1,9\n")
    refused(call(*(a.format(**names) for a in args)), *words)
    assert not list(tmp_path.iterdir())


def test_a_result_that_cannot_be_stored_is_printed(call, folder):
    status, out, err = call("solve", folder / "small.json", *LIMIT, "-o", "/dev/full", "-q")
    assert status == 1
    assert out.startswith("oasis: ")
    assert err == "optsched: /dev/full: cannot be written: No space left on device\n"


def test_a_result_that_cannot_be_stored_is_not_looked_for(call, folder):
    args = (folder / "small.json", "--time-limit", 10**6, "--gap", 0, "-o", "/proc/x.json")
    refused(call("solve", *args, "--method", "search"), "/proc/x.json: cannot be written")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "said"),
    [
        ("-o /dev/full", "/dev/full: cannot be written: No space left on device"),
        ("-o - >&-", "-: cannot be written: stdout is closed"),
        ("-o - | true", ""),
    ],
)
def test_an_export_that_nobody_takes_ends_with_status_1(folder, shell, said):
    command = shlex.join([sys.executable, "-m", "optsched", "export", str(folder / "small.json")])
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} {shell}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr == (f"optsched: {said}\n" if said else "")


def test_the_name_of_a_file_commands_no_terminal(call, folder, tmp_path):
    odd = tmp_path / "a\x1b[31mb.json"
    odd.write_bytes((folder / "small.json").read_bytes())
    for command in (("show", odd), ("export", odd, "-o", tmp_path / "a\x1b[31mb.lp")):
        status, out, err = call(*command)
        assert status == 0
        assert "\x1b" not in out + err


def test_a_device_stays_a_device(call, folder):
    for command in (("run", folder / "small.json", "-p", "fifo"), ("generate", "oasis")):
        assert call(*command, "-o", "/dev/null")[0] == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_family_without_a_program(call, folder, monkeypatch):
    family = dataclasses.replace(get_family("oasis"), program=None)
    monkeypatch.setattr(problem, "load_family", lambda _name: family)
    refused(call("export", folder / "small.json"), "family oasis has no program to export")


def test_what_a_program_needs_is_said_and_written(call, folder, monkeypatch, tmp_path):
    told = ("objective = value + 7", "in two\nlines")
    family = dataclasses.replace(get_family("oasis"), program_note=lambda _instance: told)
    monkeypatch.setattr(problem, "load_family", lambda _name: family)
    for to, mark in (("lp", "\\"), ("mps", "*")):
        target = tmp_path / f"x.{to}"
        status, out, _ = call("export", folder / "small.json", "--to", to, "-o", target)
        assert status == 0
        assert "presolve = off" in out
        first = target.read_text().splitlines()[:4]
        assert first[:3] == [f"{mark} objective = value + 7", f"{mark} in two", f"{mark} lines"]
        assert "presolve = off" in first[3]
        h = solvers.highs(mip=True)
        h.readModel(str(target))
        assert h.getNumCol() > 100


@pytest.mark.parametrize(
    "args",
    [
        ["--time-limit", "nan"],
        ["--time-limit", "-1"],
        ["--threads", "0"],
        ["--threads", "1" + "0" * 9],
        ["--colour", "red"],
    ],
)
def test_option_out_of_range(call, folder, args):
    status, out, err = call("solve", folder / "small.json", *args)
    assert (status, out) == (2, "")
    assert args[0] in err


def test_schedule_of_another_instance(call, folder, tmp_path):
    instance, known = load(FILES[0])
    save_schedule(tmp_path / "s.json", instance, schedule(known["optimum_schedule"]))
    found = call("verify", folder / "small.json", tmp_path / "s.json")
    refused(found, "s.json", "another instance")


# --- processes --------------------------------------------------------------------------------


def start(*args):
    return subprocess.Popen(
        [sys.executable, "-m", "optsched", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "120"},
    )


def test_wrong_input_of_a_process(tmp_path):
    process = start("solve", tmp_path / "missing.json")
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out) == (2, "")
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.slow
def test_ctrl_c_prints_the_best_so_far(call, tmp_path):
    """Ctrl-C while the optimum is sought: exit status 130, and the best so far, in the file too."""
    hard, target = tmp_path / "hard.json", tmp_path / "result.json"
    sizes = ("--jobs", 60, "--horizon", 60, "--machines", 20)
    assert call("generate", "oasis", "--preset", "earnable", *sizes, "-o", hard)[0] == 0
    process = start("solve", hard, "--time-limit", 120, "-o", target)
    assert process.stderr is not None
    # progress, after two seconds of work; who compiles does not listen
    shown = next(line for line in process.stderr if "gap" in line and "compiling" not in line)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == 130, err
    assert shown.startswith("looking for the optimum")
    assert "best so far" in err
    assert "oasis: " in out
    assert target.exists()
    assert call("verify", target)[0] == 0


TAKE_A_FAMILY = ("generate", "trace", "show", "solve", "run", "ratio", "export")


@pytest.mark.parametrize("command", TAKE_A_FAMILY)
def test_help_names_every_family(command):
    told = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
    assert all(name in told for name in families())


@pytest.mark.parametrize("words", [(), ("campaign",), ("campaign", "run"), ("whatif",)])
def test_help_shows_flags_without_a_value(words):
    told = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"}).output
    assert "bool" not in told.lower()
    assert "{" not in told


def test_help_fits_on_one_screen():
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).output
    assert len(text.splitlines()) <= 40


def test_help_is_wrapped_where_the_terminal_ends():
    told = CliRunner().invoke(app, ["trace", "--help"], env={"COLUMNS": "150"}).output
    assert (
        "scaled to the horizon; the number of machines (bipartite: the size of the requests)"
        in told
    )
    told = CliRunner().invoke(app, ["campaign", "run", "--help"]).output
    assert "[[instances]]" in told


@pytest.mark.parametrize("command", ["export", "generate", "trace"])
def test_a_file_called_dash_is_the_output(folder, tmp_path, monkeypatch, capfdbinary, command):
    monkeypatch.chdir(tmp_path)
    args = {"export": [folder / "small.json"], "generate": ["oasis", "--preset", "small"]}
    args["trace"] = ["sample", "--jobs", "5"]
    target = tmp_path / "file"
    for file in (target, "-"):
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as left:
            main([command, *map(str, args[command]), "-o", str(file)])
        assert not left.value.code
    out, err = capfdbinary.readouterr()
    assert out == target.read_bytes()
    assert b"- written" in err
    assert [*tmp_path.iterdir()] == [target]


LOG = [
    {
        "jobid": "a",
        "submitted_time": "2017-10-09 07:01:55",
        "attempts": [
            {
                "start_time": "2017-10-09 07:02:00",
                "end_time": "2017-10-09 09:02:00",
                "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
            }
        ],
    }
]
LOAD = {
    "profiles": {"p": {"type": "delay", "delay": 9000}},
    "jobs": [{"id": 1, "subtime": 0, "res": 4, "profile": "p"}],
}


@pytest.mark.parametrize("content", [LOG, LOAD])
@pytest.mark.parametrize("name", ["log.json", "log", "log.json.gz"])
def test_a_trace_in_json_is_no_instance_file(call, tmp_path, content, name):
    path, target = tmp_path / name, tmp_path / "made.json"
    data = b"\xef\xbb\xbf" + json.dumps(content, indent=2).encode()
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    options = ("--family", "oasis", "--jobs", 1, "--horizon", 10)
    assert call("trace", path, *options, "-o", target)[0] == 0
    assert call("show", path, *options)[0] == 0
    assert call("show", target)[0] == 0
    refused(call("show", target, "--jobs", 1), "is an instance file")


@pytest.mark.parametrize("text", ['{"jobs": []}', '{"format": 1}', "{}"])
def test_json_that_is_neither_instance_nor_log(call, tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    refused(call("trace", path, "-o", tmp_path / "y.json"), "is no instance file and no job log")


@pytest.mark.parametrize("name", ["small", "small.json.gz", "small.JSON"])
def test_an_instance_file_by_another_name(call, folder, tmp_path, name):
    data = (folder / "small.json").read_bytes()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    refused(call("show", path), "may be an instance file, expected its name to end in .json")
