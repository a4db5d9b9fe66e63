"""`optsched campaign`: what it prints, writes and refuses; Ctrl-C."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from poison import begun, numbers

from optsched.experiments.campaign import Campaign, campaign, status
from optsched.files.format import load_instance, save_instance
from optsched.problem import get_family

pytestmark = pytest.mark.slow

HELPERS = Path(__file__).parents[1] / "helpers"
PLAN = """
[[instances]]
family = "bot"
preset = "small"
seeds = 8

[[policies]]
name = "fifo"
[[policies]]
name = "local-share"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("campaign")
    (path / "plan.toml").write_text(PLAN)
    command = [sys.executable, "-m", "optsched", "campaign", "run", "plan.toml", "--workers", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=path)
    assert done.returncode == 0, done.stderr
    assert "16 of 16 cells done" in done.stdout
    assert "local-share" in done.stdout
    return path


def test_a_process_of_its_own_changes_nothing(folder, tmp_path):
    with ThreadPoolExecutor(1) as executor:
        campaign(folder / "plan.toml", tmp_path / "store", executor=executor)
    assert numbers(folder / "plan.sqlite") == numbers(tmp_path / "store")


def test_failed_cells_count_in_every_run(call, tmp_path, monkeypatch):
    (tmp_path / "plan.toml").write_text(PLAN.replace("seeds = 8", "seeds = 2"))
    (tmp_path / "mine.py").write_text(
        "from optsched.families.bot.policies.baselines import Fifo\n"
        'class Bad(Fifo):\n    name = "bad"\n    def step(self, event):\n        return 1\n'
    )
    with (tmp_path / "plan.toml").open("a") as f:
        f.write('[[policies]]\nname = "mine.py:Bad"\n')
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        status, out, _ = call("campaign", "run", "plan.toml", "--trust", "--workers", 1)
        assert (status, "6 of 6 cells done, 2 failed" in out) == (1, True)


def test_a_label_names_a_group_and_changes_no_cell(call, tmp_path):
    plan, store = tmp_path / "plan.toml", tmp_path / "plan.sqlite"
    rest = PLAN.replace("seeds = 8", "seeds = 2\ngrid = {nodes = [4, 5]}")
    for label in ("Small bags", "Bags"):
        plan.write_text(rest.replace('preset = "small"', f'preset = "small"\nlabel = "{label}"'))
        status, _, err = call("campaign", "run", plan, "--workers", "1", "--json")
        assert status == 0, err
        said = json.loads(call("campaign", "status", store, "--json")[1])
        done = {"done": 4, "limit": 0, "error": 0}
        assert said["sources"] == {f"{label} nodes=4": done, f"{label} nodes=5": done}
    assert {*Campaign(store).statistics().groups} == {*said["sources"]}
    for words in (("report", store, "-o", tmp_path / "x.html"), ("campaign", "export", store)):
        plots = ("--plot", tmp_path / "plots") if words[0] == "campaign" else ()
        status, _, err = call(*words, *plots, "-q")
        assert status == 0, err
    assert "Bags nodes=4" in (tmp_path / "x.html").read_text("utf-8")
    plan.write_text(plan.read_text() + plan.read_text().replace('"small"', '"paper"'))
    status, _, err = call("campaign", "run", plan)
    assert status == 2
    assert "several instances are labelled 'Bags', expected one" in err


def test_status_counts(call, folder):
    said = json.loads(call("campaign", "status", folder / "plan.sqlite", "--json")[1])
    assert (said["cells"], said["done"], said["missing"]) == (16, 16, 0)
    assert said["sources"] == {"bot small": {"done": 16, "limit": 0, "error": 0}}
    _, out, _ = call("campaign", "status", folder / "plan.sqlite")
    assert out.startswith("16 of 16 cells done\n")


def test_a_second_run_has_nothing_to_do_and_more_seeds_have(call, folder, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.replace("seeds = 8", "seeds = 9"))
    store = folder / "plan.sqlite"
    _, out, _ = call("campaign", "run", tmp_path / "plan.toml", "-o", store, "--dry-run")
    assert out.startswith("18 cells on 9 instances, 16 of them done; the others take about")
    status, out, _ = call("campaign", "resume", store)
    assert status == 0
    assert "16 of 16 cells done" in out


def test_exports(call, folder, tmp_path):
    files = [tmp_path / name for name in ("cells.csv", "table.tex", "ecdf.csv", "worst")]
    options = ("--csv", files[0], "--latex", files[1], "--ecdf", files[2], "--worst", files[3])
    status, out, err = call("campaign", "export", folder / "plan.sqlite", *options, "--json")
    assert status == 0, err
    rows = list(csv.DictReader(files[0].open()))
    assert len(rows) == 16
    by_policy = [float(r["ratio_low"]) for r in rows if r["policy"] == "local-share"]
    found = {s["policy"]: s for s in json.loads(out)["statistics"]["summaries"]}
    mine = found["local-share"]
    assert mine["low"] == pytest.approx(sum(by_policy) / 8)
    assert mine["interval"][0] < mine["low"] <= mine["high"] < mine["interval"][1]
    table = files[1].read_text()
    assert "{bot small: 8 instances}" in table
    assert "\nlocal-share & " in table
    steps = [r for r in csv.DictReader(files[2].open()) if r["policy"] == "local-share"]
    assert float(steps[-1]["share_at_most"]) == 1.0
    worst = load_instance(files[3] / "01-bot-small-local-share.json")
    assert worst.digest() == mine["worst_sha256"]


def test_figures_of_pooled_results(call, folder, tmp_path):
    store, pictures = folder / "plan.sqlite", tmp_path / "pictures"
    for style in ("screen", "paper"):
        how = ("--plot", pictures, "--style", style)
        status, _, err = call("campaign", "export", store, *how)
        assert status == 0, err
    assert sorted(path.name for path in pictures.iterdir()) == [
        f"00-bot-small-{kind}.{end}" for kind in ("ecdf", "means") for end in ("pdf", "png", "svg")
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "no.toml"), "no.toml: cannot be read"),
        (("status", "no.sqlite"), "no.sqlite: there is no such store"),
        (("run", "PLAN", "--shard", "3"), "--shard is '3', expected K/N"),
        (("run", "PLAN", "--shard", "0/3"), "shard 0/3, expected k/n"),
        (("merge", "STORE", "STORE"), "is the store to be made"),
    ],
)
def test_what_is_wrong_is_one_line(call, folder, words, said):
    names = {"PLAN": folder / "plan.toml", "STORE": folder / "plan.sqlite"}
    status, _, err = call("campaign", *(names.get(word, word) for word in words))
    assert status == 2
    assert said in err
    assert err.count("\n") == 1


def test_ctrl_c_finishes_the_cells_in_flight_and_says_how_to_go_on(tmp_path):
    plan = PLAN.replace('"fifo"', '"poison:Counts"').replace("seeds = 8", "seeds = 400")
    (tmp_path / "plan.toml").write_text(plan)
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "optsched",
            "campaign",
            "run",
            "plan.toml",
            "--workers=1",
            "--allow=poison:Counts",
        ],
        env=os.environ | {"PYTHONPATH": str(HELPERS)},
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    while len(begun("counts", tmp_path)) < 5:
        time.sleep(0.1)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert "optsched campaign resume plan.sqlite --allow poison:Counts goes on" in said
    found = status(tmp_path / "plan.sqlite")
    assert 5 <= found.done < found.cells == 800
    stored = [row for row in numbers(tmp_path / "plan.sqlite") if row["policy"] == "counts"]
    assert len(stored) == len(begun("counts", tmp_path))  # what was begun is stored
    assert not (tmp_path / "plan.sqlite.lock").exists()


def test_a_ratio_over_seeds_is_a_campaign(call, tmp_path):
    store = tmp_path / "store"
    words = ("sample", "--family", "bot", "--jobs", 2, "--draw-seed", 5, "--seeds", 5)
    status, out, err = call("ratio", *words, "-p", "local-share", "--json", "-o", store)
    assert status == 0, err
    (mine,) = json.loads(out)["statistics"]["summaries"]
    assert (mine["policy"], mine["instances"]) == ("local-share", 5)
    assert mine["drawn"]  # the trace is the same, its intervals cover the drawn attributes
    assert 1 <= mine["interval"][0] < mine["low"] < mine["interval"][1]
    assert {row["instance_seed"] for row in numbers(store)} == {5, 6, 7, 8, 9}


def test_a_ratio_over_windows_is_pooled(call, tmp_path):
    store = tmp_path / "store"
    words = ("ratio", "sample", "--jobs", 20, "--horizon", 20, "--work-limit", 50, "-p", "rrh")
    status, out, err = call(*words, "--windows", 5, "--json", "-o", store)
    assert status == 0, err
    assert "about the first of 5 windows" in err
    (mine,) = json.loads(out)["statistics"]["summaries"]
    assert (mine["policy"], mine["instances"], mine["drawn"]) == ("rrh", 5, False)
    assert mine["interval"] is not None
    rows = numbers(store)
    assert {row["instance_seed"] for row in rows} == {1, 2, 3, 4, 5}
    assert len({row["instance_sha256"] for row in rows}) == 5


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--seeds", 2), "--seeds and --windows are given, expected one of them"),
        (("--start", "1h"), "--start is about one window, expected it without --windows"),
        (("--draw-seed", 1), "--draw-seed is about one window, expected it without --windows"),
        (("--plot", "x"), "--plot is about one instance, expected it without --seeds or --windows"),
        (
            ("--plot", "x"),
            "FILE.sqlite, then optsched campaign export FILE.sqlite --plot DIR, or",
        ),
        (("-o", "r.json"), "expected a name such as r.sqlite, or --json for the statistics"),
        (
            ("-o", "r.csv"),
            "such as r.sqlite, and then optsched campaign export r.sqlite --csv r.csv",
        ),
    ],
)
def test_options_about_one_window_are_refused_with_several(call, more, said):
    status, _, err = call("ratio", "sample", "--jobs", 4, "--horizon", 9, "--windows", 3, *more)
    assert (status, err.count(said)) == (2, 1)


def test_a_family_that_draws_nothing_has_windows_and_no_seeds(call):
    words = ("ratio", "sample", "--family", "rigid", "--jobs", 6, "--work-limit", 50, "-p", "fcfs")
    status, _, err = call(*words, "--seeds", 3)
    assert status == 2
    assert "draws nothing of it, so that all 3 instances would be the same; expected --win" in err
    status, out, err = call(*words, "--windows", 3, "--json")
    assert status == 0, err
    (mine,) = json.loads(out)["statistics"]["summaries"]
    assert (mine["instances"], mine["errors"], mine["drawn"]) == (3, 0, False)


def test_windows_of_too_few_jobs_are_refused(call):
    status, _, err = call("ratio", "sample", "--windows", 5, "--jobs", 100, "-q")
    assert status == 2
    assert "has 80 jobs of at least 1 tasks, expected 100; take fewer (--jobs 80) or " in err


def test_seeds_of_what_is_not_drawn_are_refused(call, tmp_path):
    save_instance(get_family("bot").generate("small", seed=1), tmp_path / "one.json")
    status, _, err = call("ratio", tmp_path / "one.json", "--seeds", 3)
    assert status == 2
    assert "is one instance, of which nothing is drawn; expected a trace" in err


def test_policies_and_traces_have_their_names_in_all_results(call, tmp_path):
    own, trace = tmp_path / "own.py", tmp_path / "jobs.csv"
    rows = "".join(f"{k},{20 - k},1,20\n" for k in range(20))
    trace.write_text(f"submit_seconds,run_seconds,tasks,request_seconds\n{rows}")
    own.write_text(
        "from optsched.families.rigid.policies.queue import Queue\n"
        'class Mine(Queue):\n    name = "first-come"\n'
    )
    words = ("ratio", trace, "--jobs", 6, "--windows", 2)
    limits = ("--work-limit", 50, "-p", f"{own}:Mine", "-p", "fcfs", "-o", tmp_path / "r.sqlite")
    status, out, err = call(*words, *limits)
    assert status == 0, err
    assert " first-come " in out
    assert "rigid jobs.csv jobs=6 windows=2" in out
    assert "own.py" not in out
    made = {option: tmp_path / option for option in ("latex", "csv", "ecdf")}
    options = [word for option, path in made.items() for word in (f"--{option}", path)]
    status, out, _ = call("campaign", "export", tmp_path / "r.sqlite", *options, "--json")
    assert status == 0
    first = json.loads(out)["statistics"]["summaries"][1]
    assert (first["policy"], first["requested"]) == ("first-come", f"{own}:Mine")
    for path in made.values():
        text = path.read_text()
        assert "own.py" not in text
        assert "jobs.csv jobs=6" in text
        assert "first-come" in text
    call("report", tmp_path / "r.sqlite", "-o", tmp_path / "page.html", "--policy", f"{own}:Mine")
    page = (tmp_path / "page.html").read_text()
    assert "first-come on rigid jobs.csv jobs=6 windows=2, window " in page
    rows = [line.split(" & ")[0] for line in made["latex"].read_text().splitlines()[4:-3]
            if " & " in line]  # fmt: skip
    assert {"first-come", "fcfs"} <= {*rows}
    values = [float(row["value"]) for row in csv.DictReader(made["csv"].open())
              if row["policy"] == "fcfs"]  # fmt: skip
    table = made["latex"].read_text()
    assert "policy & mean, h & mean ratio & " in table
    assert f"\nfcfs & {sum(values) / 2 / 3600:#.4g} & " in table
    assert "mean, h: mean flow time in hours" in table
    assert {row["policy"] for row in numbers(tmp_path / "r.sqlite")} >= {"first-come", "fcfs"}
