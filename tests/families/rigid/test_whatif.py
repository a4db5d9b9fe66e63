"""What if: both scenarios against hand-edited inputs and brute force, prices, refusals, pages."""

import csv
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from rigid_twin import optimum, random_log
from sweeps import sweep
from typer.testing import CliRunner

import optsched
from optsched.cli.app import app
from optsched.cli.console import out, show_whatif
from optsched.core import open_input
from optsched.core.display import Ticker
from optsched.experiments.campaign import campaign
from optsched.experiments.plan import make_plan
from optsched.experiments.whatif import (
    BEGIN,
    HOUR,
    TOO_WIDE,
    UNCHECKED,
    UNFIT,
    UNKNOWN,
    Scenario,
    Sides,
    WhatIf,
    _carried,
    hourly,
    hours,
    recheck_content,
)
from optsched.families.rigid.certificate.bound import Prices, Surcharges
from optsched.families.rigid.certificate.check import RigidCertificate, check
from optsched.families.rigid.changes import Changes, altered
from optsched.families.rigid.facts import EMPTY, shadow_prices
from optsched.families.rigid.instance import Machine, RigidInstance, RigidJob
from optsched.families.rigid.verify import verify
from optsched.files.format import load_instance
from optsched.pages.blocks import Plot
from optsched.pages.whatif import _bars, _prices
from optsched.problem import REAL, InputError, Window, get_family
from optsched.process import crash_state, interrupts, messages
from optsched.results.load import load_report

FAMILY = get_family("rigid")
whatif_module = sys.modules["optsched.experiments.whatif"]
HEAD = ["name", "submit_seconds", "start_seconds", "run_seconds", "tasks", "cpu", "user"]
NODES = "name,count,gpu,cpu,memory_gb\nthin,2,0,2,8\nfat,1,0,4,8\n"
POLICIES = ["fcfs", "easy"]


def jobs(number=8):
    """Return jobs of one task, every third of alice's, and a schedule that leaves time between."""
    rows, start = [], 0
    for i in range(number):
        submit, run = 50 * i, 400 + 130 * (i % 4)
        start = max(start, submit)
        rows.append([i, submit, start, run, 1, 1 + 3 * (i % 2), ("alice", "bob", "eve")[i % 3]])
        start += run
    return rows


def write(folder, rows, nodes=NODES):
    """Return a log and a list of machines as files."""
    with (folder / "log.csv").open("w", newline="") as f:
        csv.writer(f).writerows([HEAD, *rows])
    (folder / "nodes.csv").write_text(nodes)
    return folder / "log.csv", folder / "nodes.csv"


def measured(log, nodes, number=8, **more):
    how = {"policies": POLICIES, "work_limit": 3000, "machines": nodes, "jobs": number}
    how["packed"] = False
    return optsched.whatif(log, **how | more)


EDITS = {  # jobs that stay, by what submit times are divided, nodes, the same as options
    "add": ("", 1, ("fat,1", "fat,3"), {"add": "2xfat"}),
    "remove": ("", 1, ("thin,2", "thin,1"), {"remove": ["1xthin"]}),
    "load": ("", 1.25, ("", ""), {"scale_load": 1.25}),
    "without": ("bob", 1, ("", ""), {"without": "user=bob"}),
    "all": ("eve", 2, ("fat,1", "fat,2"), {"without": "user=eve", "scale_load": 2, "add": "1xfat"}),
}


@pytest.mark.parametrize("label", sweep(EDITS, quick=2))
def test_both_scenarios_are_those_of_hand_edited_inputs(tmp_path, label):
    log, nodes = write(tmp_path, jobs())
    gone, load, nodes_edit, options = EDITS[label]
    rows = [[r[0], int(r[1] / load), *r[2:]] for r in jobs() if r[-1] != gone]
    (tmp_path / "edited").mkdir()
    other = write(tmp_path / "edited", rows, NODES.replace(*nodes_edit))
    found = measured(log, nodes, **options)
    for scenario, (path, listed) in zip(
        (found.before[0], found.after[0]), ((log, nodes), other), strict=True
    ):
        number = len(path.read_text().splitlines()) - 1
        inst = open_input(path, "rigid", Window(machines=listed, jobs=number))
        ratio = optsched.compare(inst, POLICIES, work_limit=3000)
        runs = np.mean([job.run for job in inst.jobs])  # flow time is waiting and running
        for row in ratio.policies:
            wait = (row.value - runs) / HOUR
            assert scenario.rows[row.name].wait == pytest.approx((wait, wait))
        low, high = scenario.rows["optimum"].wait
        assert ratio.optimum.status == "optimal"
        assert (low, high) == pytest.approx(((ratio.optimum.value - runs) / HOUR,) * 2, abs=1e-9)
    kept = {r[0] for r in rows}
    mine = [r[2] - r[1] for r in jobs()]
    real = found.before[0].rows[REAL]
    assert real.wait[1] == pytest.approx(np.mean(mine) / HOUR)
    assert real.same == pytest.approx(np.mean([mine[i] for i in kept]) / HOUR)
    assert REAL not in found.after[0].rows
    assert found.remarks[-1] == UNKNOWN
    told = f"after the change {8 - len(rows)} of 8 jobs are gone"
    assert (told in found.listed) == (len(rows) < 8)
    assert any("divided by" in x for x in found.listed) == ("scale_load" in options)


@pytest.mark.parametrize("seed", sweep(range(100), 8))
def test_intervals_hold_what_brute_force_finds(seed):
    inst = random_log(seed, jobs=3 + seed % 3).model_copy(update={"objective": "wait"})
    name, sign = inst.resources[0], 1 if seed % 2 else -1
    capacity = (inst.total[0] + sign, *inst.total[1:])
    fit = [j for j in inst.jobs if j.tasks * j.need[0] <= min(inst.total[0], capacity[0])]
    if not fit:
        return
    before = altered(inst, jobs=fit)
    after = altered(before, machines=[Machine(capacity=capacity)])
    how = {"add" if sign > 0 else "remove": f"1x{name}", "skip_unfit": True}
    true = [float(optimum(one)) / HOUR for one in (before, after)]
    for limit in (1, 5000):
        found = optsched.whatif(inst, policies=["fcfs"], work_limit=limit, **how)
        row = found.rows["optimum"]
        for ends, value in zip((row.before, row.after), true, strict=True):
            assert ends[0] - 1e-12 <= value <= ends[1] + 1e-12
        low, high = row.change
        assert low - 1e-12 <= true[1] - true[0] <= high + 1e-12
        assert (low, high) == (min(low, 0), min(high, 0)) if sign > 0 else low >= 0
    assert high - low < 1e-6
    dropped = len(inst.jobs) - len(fit)
    assert any(f": {dropped} jobs that no longer fit" in x for x in found.listed) == (dropped > 0)


def test_units_that_become_whole_nodes_are_explained(tmp_path):
    log, _ = write(tmp_path, jobs())
    nodes = tmp_path / "one.csv"
    nodes.write_text("name,count,gpu,cpu,memory_gb\nfat,3,0,4,8\n")
    found = measured(log, nodes, add="5xcpu", policies=["fcfs"])
    assert found.changes == (
        "2 nodes of type fat (8 cores; 5 requested, rounded up to whole nodes) added",
    )
    whole = measured(log, nodes, add="8xcpu", policies=["fcfs"])
    assert whole.changes == ("2 nodes of type fat (8 cores) added",)
    assert "under fcfs, the only policy compared, falls by" in str(whole)
    pool = "The 3 nodes count as one pool: a job may use any free units. "
    assert any(line.startswith(pool) for line in found.answer)


@pytest.mark.parametrize("name", ["first", "second"])
@pytest.mark.parametrize(("verb", "sign"), [("add", -1), ("remove", 1)])
def test_more_of_equal_nodes_of_several_types_never_make_it_worse(name, verb, sign):
    two = [Machine(name=n, count=2, capacity=(2,)) for n in ("first", "second")]
    job = RigidJob(arrival=0, run=600, request=600, need=(2,))
    inst = RigidInstance(resources=("cpu",), machines=two, jobs=(job,) * 9, packed=True)
    found = optsched.whatif(inst, policies=["fcfs"], work_limit=1, **{verb: f"1x{name}"})
    assert found.direction == sign


def test_shadow_prices_are_what_the_bound_loses_with_one_more_unit():
    inst = FAMILY.generate("lublin", seed=2, jobs=40, machines=16, load=3.0, objective="wait")
    best = optsched.solve(inst, work_limit=1000)
    fall = lost(inst, best.certificate, Machine(count=17, capacity=(1,)))
    found = hourly(inst, best.certificate, 0)
    assert sum(found["processors"]) == pytest.approx(fall, abs=2 / HOUR)
    assert fall > 0.1
    assert found["node of type node"] == found["processors"]
    summed = sum(p["price"] for p in shadow_prices(inst, best.certificate)) * inst.weight / HOUR
    assert summed == pytest.approx(sum(found["processors"]))
    late = hourly(inst, best.certificate, 5 * HOUR)["processors"]
    assert np.roll(found["processors"], 5) == pytest.approx(late)
    one = Prices(times=(1800, 1800 + 25 * HOUR), price=((4,),))
    expected = np.full(24, 4.0)
    expected[0] += 2.0
    expected[1] += 2.0
    found = hourly(inst, RigidCertificate.root(inst, one, 0), 0)["processors"]
    assert found == pytest.approx(expected)
    ages = Prices(times=(0, 86400 * 2**19), price=((24,),))  # no list of all hours is made
    found = hourly(inst, RigidCertificate.root(inst, ages, 0), 0)["processors"]
    assert found == pytest.approx(np.full(24, 24 * 2**19))


def test_a_policy_that_knows_a_statistic_of_the_user_is_not_recommended(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("peeks.py").write_text(
        "import optsched\nfrom optsched.families.rigid.policies.orders import POLICIES\n\n\n"
        '@optsched.statistic("rigid", "runs")\n'
        "def runs(instance):\n    return [job.run for job in instance.jobs]\n\n\n"
        'class Peeks:\n    name, information, knows = "peeks", "after", ("own:runs",)\n\n'
        "    def __init__(self):\n        self.inner = POLICIES['sjf']()\n\n"
        "    def start(self, *given):\n        self.inner.start(*given)\n\n"
        "    def step(self, event):\n        return self.inner.step(event)\n"
    )
    inst = FAMILY.generate("lublin", seed=2, jobs=40, machines=16, load=3.0, objective="wait")
    found = optsched.whatif(inst, policies=["fcfs", "peeks.py:Peeks"], work_limit=10)
    assert found.rows["peeks"].knows == "requested, own:runs"
    assert [row.name for row in found.usable] == ["fcfs"]
    assert any("or statistics of your own" in line for line in found.remarks)


def lost(inst, certificate, *machines):
    larger = altered(inst, machines=machines)
    moved = certificate.model_copy(update={"instance_sha256": larger.digest()})
    return (check(inst, certificate) - check(larger, moved)) * inst.weight / HOUR


def test_the_shadow_price_of_a_node_counts_jobs_that_one_processor_cannot_take():
    job = RigidJob(arrival=0, run=1800, request=1800, need=(9,))
    thin = Machine(name="thin", count=3, capacity=(8,))
    inst = RigidInstance(resources=("core",), machines=(thin,), jobs=(job,) * 9)
    sized = Surcharges(resource=0, needs=(9,), price=((1,),))
    prices = Prices(times=(0, 9000), price=((0,),), surcharges=sized)
    certificate = RigidCertificate.root(inst, prices, 0)
    found = {name: sum(row) for name, row in hourly(inst, certificate, 0).items()}
    node = lost(inst, certificate, thin.model_copy(update={"count": 4}))
    assert found == pytest.approx({"core": 0.0, "node of type thin": node})
    assert node == 9000 / HOUR


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"add": "10gpu"}, "--add 10gpu: expected a number from 1 and a type, such as 10xgpu"),
        ({"remove": "0xfat"}, "--remove 0xfat: expected a number from 1"),
        ({"add": "ten gpu"}, '--add "ten gpu": expected a number from 1'),
        ({"add": "1xgpu"}, "expected one of: thin (2 cores); fat (4 cores); or a resource: cpu"),
        ({"add": "1xCPU"}, "add 1xCPU: is called cpu, expected 1xcpu"),
        ({"remove": "1xFat"}, "remove 1xFat: is called fat, expected 1xfat"),
        ({"add": "5xcpu"}, "nodes are added or removed, expected --add 3xthin or --add 2xfat"),
        ({"add": "1xfat", "remove": "1xfat"}, "1 fat added, 1 fat removed: changes nothing"),
        ({"remove": "3xthin"}, "remove 3xthin: there are 2, expected at most that"),
        ({"remove": ["2xthin", "1xfat"]}, "no machine is left after the change"),
        ({"scale_load": 0}, "scale-load 0: expected a factor > 0 other than 1"),
        ({"scale_load": 1.0}, "scale-load 1.0: expected a factor > 0 other than 1"),
        ({"scale_load": 1e-12}, "scale-load 1e-12: the last job would arrive in second "),
        ({"without": "bob"}, "--without bob: expected user=NAME or partition=NAME"),
        ({"without": "user=joe"}, "without user=joe: no job has it, expected one of: alice, bob"),
        ({"without": "partition=x"}, "no job has it, the log names no partition"),
        ({"without": ["user=bob", "user=eve", "user=alice"]}, "no job is left after the change"),
        ({"remove": ["1xfat", "1xthin"]}, "job 1 (submitted by bob in second 50: 4 cores)"),
        ({"add": "1xfat", "windows": 9}, "8 jobs"),
        ({"add": "1xfat", "windows": 1}, "windows is 1, expected a whole number, at least 2"),
        ({"add": "1xfat", "windows": "2"}, "windows is '2', expected a whole number, at least 2"),
        ({"add": "1xfat", "jobs": 1.5}, "jobs is 1.5, expected a whole number, at least 1"),
        ({"add": "1xfat", "policies": "easy"}, "policies is 'easy', expected a list such as"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_line(tmp_path, options, said):
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        measured(*write(tmp_path, jobs()), **options)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="family bot, expected family rigid"):
        optsched.whatif(get_family("bot").generate("small", seed=0), add="1xgpu")


@pytest.mark.slow
def test_windows_the_command_and_the_page(tmp_path, monkeypatch):
    log, nodes = write(tmp_path, jobs(30))
    monkeypatch.chdir(tmp_path)
    words = ["whatif", "log.csv", "--machines", "nodes.csv", "--jobs", "5", "--windows", "6"]
    words += ["--add", "1xthin", "--pooled", "-p", "fcfs", "--work-limit", "200", "-o", "w.json"]
    monkeypatch.setattr("sys.argv", ["optsched", *words])
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    found = WhatIf.load("w.json")
    alone = [
        measured(log, nodes, 5, add="1xthin", start=f"{k}/6", policies=["fcfs"])
        for k in range(1, 7)
    ]
    for name in ("fcfs", "optimum"):
        changes = [one.rows[name].change for one in alone]
        row = found.rows[name]
        assert row.change == pytest.approx(np.mean(changes, axis=0), abs=1e-9)
        assert row.interval[0] <= row.change[0] <= row.change[1] <= row.interval[1]
    head = "With 1 node of type thin added, the least possible mean waiting time falls by "
    assert head in done.stdout
    assert "would have saved" not in done.stdout  # policies begin with an empty cluster
    for line in (*found.answer, *found.listed, UNKNOWN):
        assert line in done.stdout
    assert CliRunner().invoke(app, ["report", "w.json", "-o", "w.html"]).exit_code == 0
    page = Path("w.html").read_text()
    assert head in page
    assert REAL in page
    assert "Mean waiting time before and after" in page
    assert " ".join(["optsched", *words]) in page
    for told in (page, CliRunner().invoke(app, ["show", "w.json"]).stdout):
        told = " ".join(told.split())
        assert (
            "The file alone states the name of the log, the names of the changes, the remarks, "
            in told
        )
        assert "decided so, and which run times policies knew: this cannot be checked" in told
    said = json.loads(CliRunner().invoke(app, [*words[:-2], "--json"]).stdout)
    assert said["listed"] == [*found.listed]
    assert said["rows"][0]["change"] == pytest.approx([*found.rows["optimum"].change])


def test_changes_are_those_of_the_jobs_that_both_scenarios_have(tmp_path):
    files = write(tmp_path, jobs())
    found = measured(*files, without="user=bob", add="1xfat")
    window = open_input(files[0], "rigid", Window(machines=files[1], jobs=8))
    start = optsched.simulate(window, "fcfs").schedule.start
    stay = [i for i in range(8) if i % 3 != 1]  # every third job is bob's
    before = np.mean([start[i] - window.jobs[i].arrival for i in stay]) / HOUR
    row = found.rows["fcfs"]
    assert row.base == pytest.approx((before, before))
    assert row.before != row.base
    assert row.change == pytest.approx((row.after[0] - before,) * 2)
    assert row.share == pytest.approx((row.after[0] / before - 1,) * 2)
    best = found.rows["optimum"]
    assert best.change is best.share is best.interval is None
    said = "\n".join(found.answer)
    assert "the least possible mean waiting time of the 5 remaining jobs is " in said
    assert "before the change, of all 8 jobs, it is " in said
    assert "the mean waiting time of the 5 remaining jobs " in said
    bars = {bar.name: bar.text for bar in _bars(found).bars}  # of the same jobs
    assert bars["fcfs, before"] == hours(row.base) != hours(row.before)
    assert "optimum, before" not in bars
    cells = found.table()[0]
    assert (cells["before, same jobs"], cells["change"]) == ("-", "-")
    assert "before, same jobs" not in measured(*files, add="1xfat").table()[0]


def test_the_hour_of_a_shadow_price_is_that_of_the_clock():
    one = scenario(9.0, 9.0).model_copy(update={"prices": {"core": (0.0,) * 15 + (3.0,) * 9}})
    found = compared([(one, one)], -1)
    assert found.answer[-1].endswith("Capacity is most scarce between 15:00 and 16:00.")


@pytest.mark.parametrize(
    ("low", "gap", "stated"),
    [(9.0, 0.0, True), (9.0, 5.0, True), (9.0, 7.0, False), (2.0, 5.0, True)],
)
def test_a_shadow_price_is_stated_if_it_exceeds_the_gap(low, gap, stated):
    found = compared([(scenario(low, low + gap), scenario(1.0, 1.0 + gap))], -1)
    most = 4 * (low + gap)  # no more than there is
    line = (
        "On the present machines, 1 more core would reduce the least total waiting time of all "
        f"jobs by at most {min(most, 24 + 4 * gap):.3g} h. Capacity is "
    )
    assert any(line in said for said in found.answer) == stated
    assert bool(found.telling(after=False)) == stated


@pytest.mark.parametrize(
    ("at", "said", "number"),
    [
        ("window 2 of 3, policies before the change", "1 of 3 windows are complete", 2),
        ("window 2 of 3, optimum before the change", "a longer search may narrow", 15),
        ("window 1 of 3, policies after the change", "no policy ran after the change", 2),
    ],
)
def test_an_interrupted_run_says_so_in_file_and_page(tmp_path, monkeypatch, at, said, number):
    files = write(tmp_path, jobs(20))
    how = {"add": "1xfat", "windows": 3, "policies": ["fcfs"]}

    def stop(part):
        if part == at:
            monkeypatch.setattr(interrupts, "_received", number)

    found = measured(*files, 5, callback=stop, **how)
    monkeypatch.setattr(interrupts, "_received", None)
    said = f"interrupted by {'Ctrl-C' if number == 2 else 'SIGTERM'}: {said}"
    assert found.remarks[0].startswith(said)
    found.save(tmp_path / "w.json")
    page = optsched.report(tmp_path / "w.json", tmp_path / "w.html").read_text()
    assert said in page


def test_after_ctrl_c_the_schedules_of_policies_are_not_checked_again(monkeypatch):
    checked, check_all = [], sys.modules["optsched.families.rigid.verify"]._overload
    monkeypatch.setattr(
        sys.modules["optsched.families.rigid.verify"],
        "_overload",
        lambda *of: checked.append(1) or check_all(*of),
    )

    def stop(part):
        if part == "optimum":
            checked.clear()
            monkeypatch.setattr(interrupts, "_received", 2)

    names = ["fcfs", "easy", "conservative", "sjf", "f1", "f2"]
    inst = FAMILY.generate("lublin", seed=0, jobs=30)
    found = optsched.whatif(inst, policies=names, callback=stop)
    monkeypatch.setattr(interrupts, "_received", None)
    assert len(found.rows) == 1 + len(names)
    assert len(checked) <= 4  # of the best alone


def test_ctrl_c_ends_the_reading_of_a_log_at_once(tmp_path, monkeypatch):
    order, opened = [], whatif_module._opened
    monkeypatch.setattr(crash_state, "finish_what_is_begun", lambda: order.append("finish"))
    monkeypatch.setattr(whatif_module, "_opened", lambda *of: order.append("read") or opened(*of))
    log, nodes = write(tmp_path, jobs())
    args = ["whatif", str(log), "--machines", str(nodes), "-p", "fcfs", "--work-limit", "1"]
    assert CliRunner().invoke(app, args).exit_code == 0
    assert order[:2] == ["read", "finish"]


def test_policies_of_both_scenarios_are_shown_before_the_search(tmp_path):
    files, first, parts, searched = write(tmp_path, jobs(20)), [], [], []
    how = {"callback": parts.append, "watch": lambda _: searched.append(parts[-1])}
    found = measured(*files, 20, add="1xfat", shown=first.append, work_limit=300, **how)
    present, early = first
    assert (present.changes, early.changes) == ((), ("1 node of type fat added",))
    assert "would have" in present.early[0]
    assert present.early[0] == early.early[0]
    assert parts[:2] == ["policies before the change", "policies after the change"]
    assert not {*parts[:2]} & {*searched}  # its limit is no limit of the policies
    for name in POLICIES:
        assert early.rows[name].change == found.rows[name].change
    (low, high), (lowest, highest) = early.rows["optimum"].before, found.rows["optimum"].before
    assert low <= lowest <= highest <= high


@pytest.mark.slow
def test_a_file_is_verified_and_one_that_lies_is_refused(tmp_path, monkeypatch):
    found = measured(*write(tmp_path, jobs(20)), number=20, add="1xfat", work_limit=1000)
    found.save(tmp_path / "w.json")
    again = WhatIf.load(tmp_path / "w.json")
    assert again.summary() == found.summary()
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["verify", "w.json"])
    assert done.exit_code == 0, done.output
    assert "the name of the log, the names of the changes, the remarks, which jobs" in done.output
    rows = [
        f"{side} the change, run of {name}" for side in ("before", "after") for name in POLICIES
    ]
    assert all(f"mean waiting time in s {x}: accepted: value" in done.output for x in rows)
    assert f"before the change, schedule '{REAL}': accepted" in done.output
    shown = CliRunner().invoke(app, ["show", "w.json"]).output
    assert found.answer[0] in shown
    page = optsched.report("w.json", "w.html").read_text()
    assert "Checked again for this page: 7 schedules and 2 certificates of lower bounds" in page
    for edit in (
        lambda side, _: side["runs"][0].update(value=1.0),
        lambda side, _: side["runs"][0]["schedule"]["start"].__setitem__(0, 10**6),
        lambda side, _: side["optimum"].update(bound=side["optimum"]["bound"] * 1.01),
        lambda _, window: window.update(same=[*range(1, 20)]),
    ):
        text = json.loads((tmp_path / "w.json").read_text())
        (window,) = text["windows"]
        edit(window["after"], window)
        (tmp_path / "lie.json").write_text(json.dumps(text))
        with pytest.raises(InputError, match=r"lie\.json: "):
            WhatIf.load(tmp_path / "lie.json")
        done = CliRunner().invoke(app, ["verify", "lie.json"])
        assert done.exit_code == 1
        assert "rejected" in done.output


@pytest.mark.parametrize("how", [{"packed": True}, {"objective": "makespan"}])
def test_a_relaxation_without_a_value_says_why(how):
    inst = FAMILY.generate("small", seed=1, **how)
    with messages.collected_remarks() as remarks:
        found = optsched.relax(inst, time_limit=5)
    assert found.bound is None
    assert any(line.startswith("the linear relaxation has no value for ") for line in remarks)


def test_policies_that_know_run_times_are_marked_and_not_recommended(tmp_path):
    log, _ = files = write(tmp_path, jobs())
    found = measured(*files, add="1xfat", policies=["fcfs", "easy"])
    known = {row["policy"]: row["run times known"] for row in found.table()}
    assert (known["easy"], known["fcfs"]) == ("exact", "none")  # nothing was requested
    assert found.remarks[0].startswith("Policies with exact run times cannot be deployed: ")
    head, *rows = log.read_text().splitlines()
    log.write_text("\n".join([f"{head},request_seconds", *(f"{row},3600" for row in rows)]))
    found = measured(*files, add="1xfat", policies=["fcfs", "easy", "sjf-exact"])
    known = {row["policy"]: row["run times known"] for row in found.table()}
    assert known == {
        "optimum": "-", "sjf-exact": "exact", "easy": "requested", "fcfs": "none", REAL: "-"
    }  # fmt: skip
    assert "easy, the best of 2 deployable policies before the change, " in str(found)
    assert any(
        line.startswith("easy: EASY backfilling: a job may overtake") for line in found.remarks
    )
    oracles = "cannot be deployed: they know each job's run time in advance."
    assert found.remarks[0] == f"Policies named -exact {oracles}"
    usual = measured(*files, add="1xfat", policies=["fcfs"])
    assert "the only policy compared, " in str(usual)
    assert "deployed" not in str(usual)


@pytest.mark.parametrize("output", ["w.json", None])
def test_the_last_line_says_where_shadow_prices_are(tmp_path, capsys, output):
    found = measured(*write(tmp_path, jobs(20)), 20, add="1xfat", work_limit=1000)
    show_whatif(out(), found, output and Path(output))
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("Shadow prices, in hours of waiting time per unit and hour of the day, ")
    there = "w.json" if output else "FILE (of -o FILE)"
    assert last.endswith(f"of optsched report {there}, and printed by --json.")


@pytest.mark.slow
def test_shadow_prices_are_those_of_nodes_where_there_are_any(tmp_path):
    log, nodes = write(tmp_path, jobs(20))  # too many for a tree, whose bound has no prices
    there = str(measured(log, nodes, 20, add="1xfat", work_limit=1000))
    assert "1 more node of type fat by at most" in there
    assert "1 more core" not in there
    pool = nodes.with_name("pool.csv")
    pool.write_text("name,count,gpu,cpu,memory_gb\npool,1,0,8,24\n")
    alone = str(measured(log, pool, 20, add="1xcpu", work_limit=1000))
    assert "1 more core would reduce the least total waiting time" in alone


def test_a_window_within_the_log_begins_with_an_empty_cluster(tmp_path):
    log, nodes = write(tmp_path, jobs(20))
    within = measured(log, nodes, 5, add="1xfat", start="#5", policies=["fcfs"])
    warned = (
        "This window begins with an empty cluster: the waiting times of policies and optimum below "
        f"are too short (recorded: {hours(within.rows[REAL].before)}). Use the whole log for "
        "decisions."
    )
    assert within.answer[0] == within.early[0] == warned
    assert str(within).count("empty cluster") == 1
    first = measured(log, nodes, 5, add="1xfat", policies=["fcfs"])
    assert "empty cluster" not in str(first)
    for one, stated in ((within, False), (first, True)):  # else the jobs are not the same
        assert bool(re.search("would have (saved|added)", str(one))) == stated
        assert ("more than the least possible" in str(one)) == stated
        cells = {row["policy"]: row["above optimum before"] for row in one.table()}
        assert (cells[REAL] != "-") == stated
        assert cells["fcfs"] != "-"
        assert any(REAL in bar.name for bar in _bars(one).bars) == stated
    many = measured(log, nodes, 5, add="1xfat", windows=3, policies=["fcfs"])
    assert many.answer[0].startswith(f"windows 2, 3: {EMPTY}")
    assert str(many).count("empty cluster") == 1


PACKED = """submit_seconds,start_seconds,run_seconds,tasks,nodes,cpu,gpu
0,0,100,6,2,1,0
0,0,100,2,,1,1
10,{start},100,4,1,1,0
"""


@pytest.mark.parametrize(("start", "fits"), [(100, True), (10, False)])
def test_shares_of_jobs_are_packed_onto_nodes(tmp_path, start, fits):
    log, nodes = tmp_path / "log.csv", tmp_path / "nodes.csv"
    log.write_text(PACKED.format(start=start))
    nodes.write_text("name,count,gpu,cpu,memory_gb\nfat,1,2,4,8\nthin,2,0,4,8\n")
    window = Window(machines=nodes, packed=True)
    inst = open_input(log, "rigid", window)
    assert inst.packed
    assert inst.resources == ("gpu", "cpu")
    assert [(job.tasks, job.need) for job in inst.jobs] == [(2, (0, 3)), (2, (1, 1)), (1, (0, 4))]
    assert optsched.simulate(inst, "fcfs").schedule.start[:2] == (0, 0)  # as in the record
    schedule, (line,) = FAMILY.recorded(log, window, inst)
    if fits:
        assert verify(inst, schedule).feasible
        # nodes without GPUs first; the job that needs some has the fat one
        assert schedule.nodes == (((0, 1), (1, 1)), ((2, 2),), ((0, 1),))
    else:
        assert schedule is None
        assert "job of line 4 finds no nodes at its recorded start" in line
    with pytest.raises(InputError, match=r"--packed: .* expected a list of them, --machines"):
        open_input(log, "rigid", Window(packed=True))
    found = optsched.whatif(
        log, machines=nodes, packed=True, add="1xthin", policies=["fcfs"], work_limit=300
    )
    wait = (0 if fits else -90) / 3 / HOUR + 30 / HOUR
    assert found.rows[REAL].before == pytest.approx((wait, wait))
    unchecked = f"{REAL}: times are those of the log, nodes not checked: "
    assert any(line.startswith(unchecked) for line in found.remarks) != fits
    told = "tasks are placed on 3 nodes: 2 of 3 jobs are each split into as many equal shares as "
    (line,) = [x for x in found.remarks if x.startswith(told)]
    assert "; several shares may be placed on one node; of the other jobs each task is" in line


def test_a_recorded_schedule_without_nodes_says_why_in_a_campaign(tmp_path, capsys):
    head, *rows = PACKED.format(start=10).splitlines()
    later = [f"1000,1000,{row.split(',', 2)[2]}" for row in rows]
    (tmp_path / "log.csv").write_text("\n".join([head, *rows, *later]))
    (tmp_path / "nodes.csv").write_text("name,count,gpu,cpu,memory_gb\nfat,1,2,4,8\nthin,2,0,4,8\n")
    window = {"machines": "nodes.csv", "packed": True}
    block = {"family": "rigid", "trace": "log.csv", "windows": 2, "parameters": window}
    plan = {"instances": [block], "policies": [{"name": "fcfs"}]}
    assert not make_plan(plan, tmp_path).instances[0].recorded
    said = "what your cluster did is left out: job of line 4 finds no nodes at its recorded start"
    assert said in capsys.readouterr().err


def test_recorded_jobs_may_take_the_fullest_nodes_with_space(tmp_path):
    log, nodes = tmp_path / "log.csv", tmp_path / "nodes.csv"
    head = "submit_seconds,start_seconds,run_seconds,tasks,nodes,cpu,gpu\n"
    # on the first nodes, 0 would be half full, and 1 as well when the last job needs one alone
    log.write_text(head + "0,0,10,2,1,1,0\n0,0,100,3,1,1,0\n20,20,50,1,1,1,0\n30,30,9,4,1,1,0\n")
    nodes.write_text("name,count,gpu,cpu,memory_gb\nnode,2,0,4,8\n")
    window = Window(machines=nodes, packed=True)
    inst = open_input(log, "rigid", window)
    schedule, _ = FAMILY.recorded(log, window, inst)
    assert verify(inst, schedule).feasible
    assert [job_nodes[0][0] for job_nodes in schedule.nodes] == [0, 1, 1, 0]


@pytest.mark.slow
def test_what_was_recorded_is_a_row_of_a_campaign(tmp_path):
    write(tmp_path, jobs(20))
    block = {"family": "rigid", "trace": "log.csv", "windows": 2}
    block["parameters"] = {"machines": "nodes.csv", "jobs": 10}
    plan = {"instances": [block], "policies": [{"name": "fcfs"}], "reference": {"effort": 300}}
    made = campaign(make_plan(plan, tmp_path), tmp_path / "c.sqlite", workers=1)
    table = made.table()
    rows = table[table["policy"] == REAL]
    flow = np.reshape([r[2] + r[3] - r[1] for r in jobs(20)], (2, 10)).mean(axis=1)
    assert [*rows.sort_values("instance_seed")["value"]] == pytest.approx([*flow])
    assert len(rows) == 2
    (backlog,) = [x for x in made.status().remarks() if "begins with an empty cluster" in x]
    assert f"only the row {REAL!r} includes that waiting" in backlog
    assert (rows["ratio_low"] > 1).all()
    assert len(table) == 4
    said = CliRunner().invoke(app, ["campaign", "export", str(tmp_path / "c.sqlite")]).stdout
    assert "Optimum: mean flow time " in said
    assert f" {np.mean(flow) / HOUR:.4g} " in said
    without = make_plan(plan | {"instances": [block | {"recorded": False}]}, tmp_path)
    assert len(without.keys()) == 2
    remarks = campaign(without, tmp_path / "w.sqlite", workers=1).status().remarks()
    assert any("begins with an empty cluster" in x for x in remarks)
    assert not any(REAL in x for x in remarks)


SINFO = """NODELIST|CPUS|MEMORY|GRES|PARTITION
c[1-2]|4|8192|(null)|gpu
c3|4|16384|(null)|gpu
g1|8|65536|gpu:8|gpu
g1|8|65536|gpu:8|late
g2|8|65536|gpu:8|gpu
"""
OWN_NODES = """name,gpu,cpu,memory_gb
c1,0,4,8
c2,0,4,8
c3,0,4,16
g1,8,8,65
g2,8,8,64
"""


@pytest.mark.parametrize("nodes", [SINFO, OWN_NODES])
def test_nodes_have_the_names_of_the_list(tmp_path, nodes):
    """Those of equal capacity in the same partitions are equal; g1 and g2 are not."""
    log, path = slurm(tmp_path, last=f"{DAY}00:30:00|02:30:00")
    path.write_text(nodes)
    gone = studied(log, path, remove=["g2", "1xc3"])
    names = [m.name for m in gone.sides[0].instances[0].machines]
    thin, c3, g1, g2 = ("4 cores of gpu, 8 GB", "4 cores of gpu, 16 GB",
        "8 x GPU, 8 cores of gpu,late", "8 x GPU, 8 cores of gpu") if nodes is SINFO else (
        "c1", "c3", "g1", "g2")  # fmt: skip
    assert names == [thin, c3, g1, g2]
    assert [(m.name, m.count) for m in gone.sides[0].instances[1].machines] == [(thin, 2), (g1, 1)]
    assert gone.changes == (
        f"1 node of type {g2} (g2) removed", f"1 node of type {c3} (c3) removed"
    )  # fmt: skip
    two = studied(log, path, remove=["c2", "c1"], add="2xg1")
    counts = {m.name: m.count for m in two.sides[0].instances[1].machines}
    assert counts == {c3: 1, g1: 3, g2: 1}
    assert two.changes == (
        f"2 nodes of type {g1} added", f"2 nodes of type {thin} (c2, c1) removed"
    )  # fmt: skip
    for remove, said in (
        ("2xc2", "--remove 2xc2: is one node, expected --remove 1xc2"),
        (["c2", "c2"], "--remove c2: is named twice, expected once"),
        ("c9", "--remove c9: expected a number from 1 and a type, such as 10xgpu, or the name of a "
            "node, such as c1"),
        ("1xc9", "or the name of a node, such as c1"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=re.escape(said)):
            studied(log, path, remove=remove)


def test_units_of_a_resource_are_whole_nodes_that_have_it(tmp_path):
    nodes = NODES.replace("fat,1,0", "fat,1,4")
    log, listed = write(tmp_path, [[*row, 1] for row in jobs()], nodes)
    log.write_text(
        log.read_text().replace("user\n", "user,gpu\n", 1).replace("user\r", "user,gpu\r")
    )
    found = measured(log, listed, add="10xgpu", policies=["fcfs"], work_limit=30)
    assert found.changes == (
        "3 nodes of type fat (12 GPUs; 10 requested, rounded up to whole nodes) added",
    )
    both = measured(log, listed, add="10xgpu", remove="1xfat", policies=["fcfs"], work_limit=30)
    assert (both.changes, both.direction) == (("2 nodes of type fat added",), -1)
    pool = measured(log, None, add="1xgpu", policies=["fcfs"], work_limit=30)
    assert any("1xgpu: the jobs that use it also need cpu" in x for x in pool.listed)


def test_memory_is_named_in_gb_and_a_type_with_the_name_of_a_resource_says_so(tmp_path):
    log = tmp_path / "log.csv"
    head = "submit_seconds,start_seconds,run_seconds,tasks,cpu,memory_gb\n"
    log.write_text(head + "0,0,10,1,2,1.5\n0,0,10,1,2,2\n")
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("name,count,gpu,cpu,memory_gb\ncpu,1,0,4,8\n")
    rounded = "requested, rounded up to whole nodes) added"
    for machines, add, told in (
        (nodes, "20xmemory_gb", f"3 nodes of type cpu (24 GB; 20 {rounded}"),
        (None, "20xmemory_gb", "20 GB added"),
        (nodes, "1xcpu", "1 node of type cpu (4 cores) added"),
        (nodes, "5xprocessors", f"2 nodes of type cpu (8 cores; 5 {rounded}"),
    ):
        inst = open_input(log, "rigid", Window(machines=machines))
        changes = Changes.of([add], (), None, ()).on(inst)
        assert changes.words == (told,)
        changes.apply(inst, skip_unfit=False)


def scenario(low, high):
    row = {"wait": (low, high), "slowdown": 1, "same": high}
    prices = {"core": (1.0,) * 24}
    return Scenario(size="", jobs=4, weight=4, rows={"optimum": row}, prices=prices)


def test_the_summary_begins_with_what_can_be_done():
    before = scenario(2.0, 2.0).rows["optimum"]
    rows = {"optimum": before, "f4": before, "sjf-exact": before, REAL: before}
    knows = {"f4": "requested", "sjf-exact": "exact"}
    waits = {"optimum": (0.5, 1.0), "f4": (1.0, 1.0), "sjf-exact": (0.8, 0.8), REAL: (4.0, 4.0)}
    rows = {
        n: r.model_copy(update={"wait": waits[n], "same": waits[n][1], "knows": knows.get(n, "-")})
        for n, r in rows.items()
    }
    side = scenario(2.0, 2.0).model_copy(update={"rows": rows})
    assert compared([(side, side)], -1).answer[:3] == [
        "f4 would have saved 3 h (75 %) of 4 h mean waiting time.",
        "With 1 node added, jobs wait 1 h on average under f4 (the only deployable policy "
        "compared), before and after.",
        "With 1 node added, the least possible mean waiting time falls by at most 0.5 h (50.0 %); "
        "no reduction is proved (before: 0.5 to 1 h, after: 0.5 to 1 h).",
    ]
    rises = compared([(side, side)], 1).answer[2]
    assert "rises by at most 0.5 h (100.0 %); no increase is proved (before: 0.5 to 1 h," in rises
    worse = rows | {REAL: rows[REAL].model_copy(update={"wait": (0.5, 0.5)})}
    side = side.model_copy(update={"rows": worse})
    first = compared([(side, side)], -1).answer[0]
    assert first == "f4 would have added 0.5 h (100 %) to 0.5 h mean waiting time."


@pytest.mark.parametrize("direction", [-1, 1])
def test_ends_of_the_optimum_are_carried_over(direction):
    fewer, more = _carried(*[scenario(1.0, 2.0), scenario(1.5, 3.0)][::-direction], direction)[
        ::-direction
    ]
    assert (fewer.rows["optimum"].wait, more.rows["optimum"].wait) == ((1.5, 2.0), (1.5, 2.0))
    assert (fewer.prices, more.prices != {}) == ({}, True)


def compared(sides, direction):
    before, after = zip(*sides, strict=True)
    return WhatIf(source="", changes=("1 node added",), listed=(), direction=direction,
                  clock=True, before=before, after=after)  # fmt: skip


def test_your_cluster_is_not_compared_if_it_ran_jobs_that_are_skipped(tmp_path):
    found = measured(*write(tmp_path, jobs()), remove=["1xfat", "1xthin"], skip_unfit=True)
    assert REAL in found.rows
    assert "would have saved" not in str(found)
    assert "more than the least possible" not in str(found)
    assert {row["policy"]: row["above optimum before"] for row in found.table()}[REAL] == "-"
    assert " of the 4 remaining jobs " in str(found)
    (left,) = [x for x in found.listed if x.startswith("left out of both scenarios: 4 jobs ")]
    assert left.endswith("; what your cluster did is the mean of the other 4, as recorded")
    assert "what your cluster did: 4 of 8 jobs run as recorded" in found.listed


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (
            [(1.5, 1.6), (1.2, 1.3)],
            "falls by 0.416 to 0.784 h (not reliable: fewer ",
        ),
        ([(1.5, 1.6), (2.2, 2.3)], "changes by -"),
    ],
)
def test_the_interval_over_windows_has_the_sign_of_the_change_and_its_doubt(after, said):
    sides = [(scenario(2.0, 2.0), scenario(*after[k % 2])) for k in range(6)]
    found = compared(sides, 0)
    (line,) = [x for x in found.answer if x.startswith("95 % interval of that change over 6 w")]
    assert line.partition("windows: ")[2].startswith(said)
    assert "(not reliable: fewer than 50 windows)" in line
    assert "instances" not in str(found)


@pytest.mark.slow
def test_windows_without_shadow_prices_say_so_on_the_page(tmp_path):
    found = measured(*write(tmp_path, jobs(40)), 20, windows=2, policies=["fcfs"], add="1xfat")
    assert isinstance(_prices(found), Plot)
    bare = found.before[0].model_copy(update={"prices": {}})
    some = found.model_copy(update={"before": (bare, found.before[1]), "after": (bare, bare)})
    assert _prices(some).lines == ["Some windows have no shadow prices, so none are shown."]
    none = some.model_copy(update={"before": (bare, bare)})
    assert _prices(none).lines == ["The bound has no shadow prices."]


@pytest.mark.slow
def test_the_page_explains_shadow_prices_only_if_it_shows_some(tmp_path):
    for number, shown in ((20, True), (4, False)):  # of a few jobs a tree proves the optimum
        found = measured(*write(tmp_path, jobs(number)), number, policies=["fcfs"], add="1xfat")
        found.save(tmp_path / "w.json")
        page = optsched.report(tmp_path / "w.json", tmp_path / "w.html").read_text()
        assert ("A shadow price belongs to" in page) == shown
        assert ("The bound has no shadow prices." in page) != shown


def test_the_interval_over_windows_ends_at_0_and_percent_agrees_with_hours():
    sides = [(scenario(1.0, 2.0), scenario(0.1, 0.1))]
    sides += [(scenario(0.9, 0.9), scenario(0.1, 2.0))] * 5
    row = compared(sides, -1).rows["optimum"]
    assert row.interval[1] == 0
    assert row.change[1] < 0
    assert row.share[1] == pytest.approx(row.change[1] / row.before[1])


@pytest.mark.slow
def test_ratio_and_windows_state_hours_and_verify_ends_with_a_line(tmp_path):
    log, nodes = map(str, write(tmp_path, jobs(20)))
    stored = str(tmp_path / "r.json")
    words = ["ratio", log, "--family", "rigid", "--machines", nodes, "--work-limit", "2000"]
    words += ["-p", "fcfs", "-p", "sjf"]
    said = CliRunner().invoke(app, [*words, "-q", "-o", stored]).stdout
    report = load_report(Path(stored), load_instance(Path(stored)))
    run = np.mean([job[3] for job in jobs(20)])
    low, high = ((x - run) / HOUR for x in (report.optimum.proved, report.optimum.value))
    waits = " to ".join(dict.fromkeys(f"{x:.3g}" for x in (low, high)))
    assert f"Optimum: mean waiting time {waits} h, " in said
    rule = f"fcfs: {FAMILY.rules['fcfs']}."  # nothing was requested, so sjf knows run times
    assert rule in said
    assert rule in optsched.report(Path(stored), tmp_path / "r.html").read_text()
    assert {*FAMILY.rules} == {*FAMILY.policies}
    values = [row.value for row in report.ranked]
    assert values == sorted(values)
    places = [said.index(f"│ {row.name} ") for row in report.ranked]
    assert places == sorted(places)
    checked = CliRunner().invoke(app, ["verify", stored, "-q"]).stdout
    assert checked.endswith(f"all {1 + len(values)} values and bounds verified\n")
    told = CliRunner().invoke(app, [*words, "--jobs", "5", "--windows", "2", "-q", "--json"]).stdout
    hours = json.loads(told)["mean flow time, h"]
    assert hours["certified bound"] <= hours["best schedule found"] <= hours["fcfs"]


SACCT = """JobID|User|Partition|Submit|Start|Elapsed|Timelimit|State|AllocTRES|NNodes
7_1|ann|gpu|{0}00:00:00|{0}00:00:00|01:00:00|02:00:00|COMPLETED|cpu=6,gres/gpu=6,node=1|1
8|bob|gpu|{0}00:10:00|{0}01:00:00|01:00:00|02:00:00|COMPLETED|cpu=6,gres/gpu=6,node=1|1
9|bob|{1}|{0}00:20:00|{0}00:20:00|02:00:00|02:00:00|COMPLETED|cpu=3,gres/gpu=3,node=1|1
10|bob|{1}|{0}00:30:00|{2}|02:00:00|COMPLETED|cpu=1,node=1|1
"""
DAY, LATE = "2026-11-14T", "2026-11-14T01:00:00|02:30:00"


def slurm(folder, nodes="big,1,8,8,64\nsmall,3,4,4,64\n", partition="gpu", last=LATE, head=""):
    """Return a log of sacct and a list of nodes, on which the larger jobs need the large one."""
    (folder / "sacct.txt").write_text(SACCT.format(DAY, partition, last))
    (folder / "nodes.csv").write_text(f"name,count,gpu,cpu,memory_gb{head}\n{nodes}")
    return folder / "sacct.txt", folder / "nodes.csv"


def studied(log, nodes, **more):
    return optsched.whatif(
        log, **{"policies": ["fcfs"], "work_limit": 50, "machines": nodes} | more
    )


def test_jobs_are_placed_on_nodes_where_the_log_allows_it(tmp_path):
    files = slurm(tmp_path)
    placed, pooled = studied(*files), studied(*files, packed=False)
    assert placed.sides[0].instances[0].packed
    assert not pooled.sides[0].instances[0].packed
    # on nodes the second job waits for the only large one, in a pool for no other
    assert placed.rows["fcfs"].before[0] > pooled.rows["fcfs"].before[0] == 0
    assert REAL in placed.rows
    single = studied(*slurm(tmp_path, nodes="small,5,4,4,64\n"))  # no node for six GPUs
    assert not single.sides[0].instances[0].packed
    assert single.answer[0] == (
        "The 5 nodes count as one pool, since 2 of 4 jobs never fit on the nodes, the first is job "
        "7_1 (6 GPUs, 6 cores); --skip-unfit leaves such jobs out."
    )
    assert "--packed" not in str(single)
    assert "jobs are not placed on nodes" not in str(single)
    fewer = studied(*slurm(tmp_path, nodes="small,5,4,4,64\n"), skip_unfit=True)
    assert fewer.sides[0].instances[0].packed
    assert len(fewer.sides[0].instances[0].jobs) == 2
    assert fewer.used.startswith("2 of the log's 4 jobs are used (2 that never fit)")
    assert "the first is job 7_1 (6 GPUs, 6 cores); your cluster ran them" in fewer.answer[0]
    assert not any("empty cluster" in line for line in fewer.remarks)
    changed = studied(*slurm(tmp_path), remove="1xbig", skip_unfit=True)  # fit before the change
    assert any(line.startswith("left out of both") for line in changed.listed)
    assert changed.used == (
        "2 of the log's 4 jobs are used (2 that no longer fit after the change), submitted from "
        "2026-11-14 00:20 to 2026-11-14 00:30."
    )


def test_jobs_that_fit_on_no_node_stay_out_where_nodes_make_no_difference_to_the_others(tmp_path):
    log, nodes = tmp_path / "jobs.csv", tmp_path / "nodes.csv"
    nodes.write_text("gpu,cpu\n1,4\n1,4\n")
    rows = "".join(f"{100 * k},650,1,{1 + k % 2}\n" for k in range(6))
    log.write_text(f"submit_seconds,run_seconds,tasks,gpu\n{rows}")
    found = studied(log, nodes, skip_unfit=True)
    assert found.used.startswith("3 of the log's 6 jobs are used (3 that never fit)")


def test_recorded_times_stay_where_nodes_are_not_known(tmp_path):
    files = slurm(tmp_path, last=f"{DAY}00:30:00|02:30:00")
    text = files[0].read_text().replace(f"|{DAY}01:00:00|01", f"|{DAY}00:10:00|01")
    files[0].write_text(text)  # both large jobs at once: the large node has no space
    found = studied(*files, add="1xsmall")
    assert found.rows[REAL].before == found.rows[REAL].above == (0, 0)
    assert f"0 h on average, 0 h more than the least possible{UNCHECKED}." in str(found)
    assert found.before[0].rows[REAL].slowdown == 1
    told = "nodes not checked: the log does not name the nodes of its jobs (NodeList of sacct)"
    assert any(line.endswith(told) for line in found.remarks)
    found.save(tmp_path / "w.json")
    assert WhatIf.load(tmp_path / "w.json").summary() == found.summary()
    content = json.loads((tmp_path / "w.json").read_text())
    assert "recorded starts" in str(recheck_content(content, tmp_path)[0].unchecked)
    content["windows"][0]["starts"][1] = 0  # before its arrival
    (tmp_path / "w.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="starts: expected a start of every job"):
        WhatIf.load(tmp_path / "w.json")


@pytest.mark.parametrize("packed", [False, True])
def test_recorded_starts_must_be_possible_with_all_nodes_together(tmp_path, packed):
    found = studied(*slurm(tmp_path, nodes="big,1,8,8,64\nsmall,1,4,4,64\n"), packed=packed)
    found.save(tmp_path / "w.json")
    content = json.loads((tmp_path / "w.json").read_text())
    jobs = found.sides[0].instances[0].jobs
    content["windows"][0]["starts"] = [job.arrival for job in jobs]  # 15 of 12 GPUs at once
    assert any(part.complaints for part in recheck_content(content, tmp_path))
    (tmp_path / "w.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="starts: expected a start of every job"):
        WhatIf.load(tmp_path / "w.json")


@pytest.mark.parametrize("packed", [None, False])
def test_jobs_that_no_node_can_take_after_the_change_are_named_as_in_the_log(tmp_path, packed):
    said = (
        "2 of 4 jobs no longer fit after the change: "
        "job 7_1 (submitted by ann 2026-11-14 00:00:00: 6 GPUs, 6 cores), job 8 (submitted by bob "
    )
    with pytest.raises(InputError, match=re.escape(said)):
        studied(*slurm(tmp_path), remove="1xbig", packed=packed)


def test_what_questions_all_numbers_comes_first(tmp_path):
    files = slurm(tmp_path, partition="long")
    several = studied(*files)
    assert several.answer[0].startswith("the 2 partitions of the log are not modeled")
    assert several.answer[0] not in several.remarks
    files = slurm(tmp_path)
    alone = studied(files[0], None, add="10xgpu", policies=["fcfs"])
    assert "10xgpu: the jobs that use it also need cpu" in alone.answer[0]
    small = studied(*slurm(tmp_path, nodes="big,1,8,8,64\n"))
    assert small.answer[0].startswith("what your cluster did is left out: it used 9 GPUs")
    assert "would have" not in str(small)


def test_the_present_is_studied_without_a_change(tmp_path, monkeypatch):
    slurm(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = ["whatif", "sacct.txt", "--machines", "nodes.csv", "-p", "fcfs", "-p", "easy"]
    done = CliRunner().invoke(app, [*words, "--work-limit", "50", "-o", "w.json"])
    assert done.exit_code == 0, done.output
    used = "All 4 jobs of the log are used, submitted from 2026-11-14 00:00 to "
    used += "2026-11-14 00:30."
    early, _, late = done.output.partition("searching for the least possible waiting time ...\n")
    assert used in early
    assert "easy, the best of 2 policies simulated on this log, in hindsight, would have" in early
    assert "least possible" not in early
    assert "The least possible mean waiting time is " in late
    assert "Simulated, not certified: the policies." in late
    assert "after" not in early + late.partition("policy ")[0]
    found = WhatIf.load("w.json")
    assert {*found.table()[0]} == {
        "policy", "run times known", "mean wait", "above optimum", "slowdown"
    }  # fmt: skip
    assert _bars(found).bars[0].name == REAL
    verified = CliRunner().invoke(app, ["verify", "w.json"]).output
    assert "w.json: mean waiting time in s, run of easy: accepted: value " in verified
    assert "the change," not in verified
    assert "all 4 values and bounds verified" in verified  # each once
    page = optsched.report("w.json", "w.html").read_text()
    assert used in page
    assert "in a single week depend on such details" in page
    assert "mean waiting time, h, " in page
    assert "Checked again for this page: 4 schedules and 1 certificate of lower bounds" in page
    assert "<h1>Waiting times on the present machines</h1>" in page
    assert "mean waiting time, h, 4 nodes with 20 GPUs, 20 cores in all" in page
    assert " before the change" not in page
    first = studied("sacct.txt", "nodes.csv", jobs=2)
    assert first.used.startswith("2 of the log's 4 jobs are used (2 not chosen), sub")
    with Path("sacct.txt").open("a") as log:
        log.write(f"11|ann|gpu|{DAY}00:40:00|Unknown||02:00:00|PENDING||1\n")
    rest = studied("sacct.txt", "nodes.csv")
    assert rest.used.startswith("4 of the log's 5 jobs are used (1 PENDING before start), submitt")
    assert rest.answer[0].startswith("fcfs would have")


def test_after_the_change_policies_are_compared_with_each_other():
    rows = {"optimum": (0.5, 0.5), "f1": (2.0, 2.0), "f4": (1.0, 1.0)}
    later = rows | {"f1": (0.6, 0.6), "f4": (0.8, 0.8)}
    side = [
        scenario(2.0, 2.0).model_copy(
            update={
                "rows": {
                    n: scenario(2.0, 2.0)
                    .rows["optimum"]
                    .model_copy(update={"wait": w, "same": w[1]})
                    for n, w in waits.items()
                }
            }
        )
        for waits in (rows, later)
    ]
    said = compared([side], -1).answer
    assert "After the change, the best is f1: jobs wait 0.6 h, under f4 0.8 h." in said
    few = RigidInstance(
        resources=("cpu",),
        machines=(Machine(capacity=(4,)),),
        jobs=[RigidJob(arrival=a, run=9, request=9, tasks=1, need=(1,)) for a in (0, 10)],
        objective="wait",
    )
    many = few.model_copy(update={"machines": (Machine(capacity=(4,), count=2),)})
    alone = few.model_copy(update={"jobs": few.jobs[:1]})
    later = few.model_copy(
        update={"jobs": (few.jobs[0], few.jobs[1].model_copy(update={"arrival": 20}))}
    )

    def told(side, *both):
        same = tuple(range(len(both[1].jobs)))
        sides = (Sides(both, (None, None), same, None),)
        found = compared([side], 0).model_copy(update={"sides": sides})
        assert [x for x in found.answer if "Graham" in x] == found.anomalies
        return "".join(found.anomalies).partition(": this anomaly of list scheduling (Graham")[0]

    assert told(side[::-1], few, many) == "Waiting times under f1, f4 are longer with more machines"
    assert told(side, many, few) == "Waiting times under f4, f1 are shorter with fewer machines"
    assert told(side[::-1], few, alone).endswith(" f1, f4 are longer with fewer jobs")
    assert told(side[::-1], few, later).endswith(" f1, f4 are longer with a lower load")
    assert told(side, later, few).endswith(" f4, f1 are shorter with a higher load")
    assert told(side[::-1], many, alone) == told(side, few, many) == told(side, few, few) == ""
    assert told(side[::-1], few, few) == told(side, few, later) == ""


def test_the_origin_of_f1_to_f4_is_stated_where_one_is_named_best(tmp_path):
    files = slurm(tmp_path)
    fitted = studied(*files, policies=["f1", "f4"])
    assert " log10(1 + seconds since the first submission) first (" in str(fitted)
    assert fitted.remarks.count(BEGIN) == 1
    assert BEGIN not in studied(*files, policies=["sjf"]).remarks


def test_a_percentage_of_almost_nothing_is_left_out():
    found = compared([(scenario(0.01, 0.5), scenario(2.0, 3.0))], 1)
    assert found.rows["optimum"].share is None
    assert " rises by 1.5 to 2.99 h (before: 0.01 to 0.5 h, after: 2 to 3 h)." in found.answer[0]
    assert found.table()[0]["change, %"] == "-"
    found = compared([(scenario(0.3, 0.5), scenario(2.0, 3.0))], 1)
    assert " h (300.0 to 900.0 %) (before: 0.3" in found.answer[0]


def test_a_bound_of_0_is_not_stated():
    ends = scenario(0.0, 1.0), scenario(2.0, 3.0)
    simulated = "Simulated, not certified: the policies."
    proved = "Certified: no schedule has a mean waiting time below 2 h after the change. "
    assert compared([ends], 1).certified == proved + simulated
    found = compared([ends[:1] * 2], 1)
    assert found.certified == simulated
    longer = "No lower bound above 0 was found; a longer time limit may find one."
    assert longer in found.answer
    assert longer not in compared([ends[1:] * 2], 1).answer


def test_jobs_that_never_fit_end_the_comparison_with_the_cluster():
    found = compared([(scenario(1.0, 2.0), scenario(1.0, 2.0))], 1)
    assert found.alike
    left_out = f"{UNFIT} on the machines: 1 of 9 jobs"
    assert not found.model_copy(update={"listed": (left_out,)}).alike


def test_prices_below_the_gap_are_explained_alike_on_terminal_and_page(capsys):
    wide = compared([(scenario(2.0, 9.0), scenario(1.0, 8.0))], -1)
    show_whatif(out(), wide, None)
    printed = capsys.readouterr().out
    assert TOO_WIDE in printed
    proved = "Certified: no schedule has a mean waiting time below 2 h before the change, "
    assert (
        f"{proved}1 h after the change (with -o FILE: optsched verify FILE). Simulated" in printed
    )
    assert _prices(wide).lines == [TOO_WIDE]


def test_a_load_in_percent_is_refused_with_what_is_right(tmp_path):
    log, _ = write(tmp_path, jobs())
    found = CliRunner().invoke(app, ["whatif", str(log), "--scale-load", "120%"])
    assert found.exit_code == 2
    assert "'120%' is no number, expected one such as" in found.output


def test_progress_is_in_hours(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(Ticker, "show", lambda _, state: shown.append(state))
    monkeypatch.chdir(tmp_path)
    write(tmp_path, jobs(20))
    words = ["whatif", "log.csv", "--machines", "nodes.csv", "--add", "1xfat", "-p", "fcfs"]
    words += ["--work-limit", "300", "-o", "w.json"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert re.fullmatch(r"incumbent \S+ h, bound \S+ h, gap \S+%", shown[-1])
    value = WhatIf.load("w.json").rows["optimum"].after[1]
    assert float(shown[-1].split()[1]) == pytest.approx(value, rel=0.01)
