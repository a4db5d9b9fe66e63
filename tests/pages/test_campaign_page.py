"""The page of a campaign: its numbers are those of the export, and nothing in a store is obeyed."""

import base64
import csv
import hashlib
import re
import sqlite3
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from eyes import EYES, lab
from pages import Page
from stores import made_up

import optsched
from optsched.drawing import contrast
from optsched.experiments.campaign import Campaign, campaign
from optsched.experiments.export import save_csv
from optsched.experiments.plan import make_plan
from optsched.experiments.store import Store
from optsched.pages.page import DARK
from optsched.pages.repeat import install, plan_text
from optsched.problem import InputError

GROUND = re.compile(r"color-scheme: dark\) \{\s*:root \{\s*--ground: (#\w{6})")


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Return a store that was computed, and its page."""
    folder = tmp_path_factory.mktemp("page")
    plan = {
        "instances": [{"family": "bot", "preset": "small", "seeds": 6}],
        "policies": [{"name": "fifo"}, {"name": "local-share"}],
        "replications": 2,
    }
    with ThreadPoolExecutor(1) as executor:
        campaign(plan, folder / "store", executor=executor)
    return folder / "store", Page(optsched.report(folder / "store", folder / "page.html"))


@pytest.fixture(scope="module")
def open_one(tmp_path_factory):
    """Return a store with open optima, an error and an infinite ratio, and its page."""
    folder = tmp_path_factory.mktemp("open")
    store = made_up(folder / "store", ["a", "b", "c"], 30, opened=12)
    return store, Page(optsched.report(store, folder / "page.html"))


@pytest.fixture(params=["real", "open_one"])
def both(request):
    return request.getfixturevalue(request.param)


def rows_of(store, folder):
    save_csv(store, folder / "cells.csv")
    with (folder / "cells.csv").open() as f:
        return list(csv.DictReader(f))


@pytest.mark.slow
def test_means_are_those_of_the_export(both):
    store, page = both
    table = page.tables["means"]
    found = Campaign(store).statistics().summaries
    assert len(found) == len(table.rows)
    for s, text, exact in zip(found, table.texts(), table.exact(), strict=True):
        assert (text["policy"], text["instances"], text["mean ratio"]) == (
            *(s.policy, s.group, s.mean),
        )
        assert exact["mean ratio"] == [s.low, s.high]
        assert exact["95 % interval"] == [*s.interval]
        assert text["95 % interval"] == "{:.4g} .. {:.4g} *".format(*s.interval)
        assert (text["its 95 %"], exact["above 2, 95 %"]) == (s.middle, [*s.far])
        quantile = [s.quantile90, s.quantile90_high]
        assert (exact["90 % quantile"], text["90 % quantile"]) == (quantile, s.most)
        assert (exact["median"], text["median"]) == ([s.median, s.median_high], s.half)
        assert (exact["worst"], text["worst"]) == ([s.worst, s.worst_high], s.greatest)
        numbers = (s.worst_seed, s.instances, s.open, s.errors, s.infinite)
        for name, n in zip(("its seed", "n", "open", "errors", "inf"), numbers, strict=True):
            assert (text[name], exact[name]) == (str(n), [n])


@pytest.mark.slow
def test_pairs_are_those_of_the_export(both):
    store, page = both
    table = page.tables["pairs"]
    found = Campaign(store).statistics().pairs
    assert len(found) == len(table.rows) > 0
    for p, text, exact in zip(found, table.texts(), table.exact(), strict=True):
        assert (text["A"], text["B"], text["instances"]) == (p.first, p.second, p.group)
        assert exact["A / B"] == [p.median]
        assert exact["p"] == [p.holm]
        assert (exact["A better"], exact["B better"]) == ([p.better], [p.worse])
        assert exact["of"] == [p.instances]
        assert (text["verdict"] == "differ") == p.differ


@pytest.mark.slow
def test_worst_instances_and_times_are_those_of_the_cells(both, tmp_path):
    store, page = both
    rows = rows_of(store, tmp_path)
    worst = page.tables["worst"]
    for text, exact in zip(worst.texts(), worst.exact(), strict=True):
        mine = [
            row
            for row in rows
            if row["policy"] == text["policy"] and row["instance_seed"] == text["seed"]
        ]
        assert {row["instance_sha256"][:12] for row in mine} == {text["instance"]}
        ends = [[float(row[f"ratio_{end}"]) for row in mine] for end in ("low", "high")]
        assert exact["ratio"] == [sum(end) / len(mine) for end in ends]
    for text, exact in zip(page.tables["times"].texts(), page.tables["times"].exact(), strict=True):
        seconds = [
            float(row["seconds"])
            for row in rows
            if row["policy"] == text["policy"] and row["status"] != "error"
        ]
        assert exact["longest, s"] == [max(seconds)]
        assert exact["mean, s"] == [pytest.approx(np.mean(seconds), rel=1e-12)]
        assert exact["cells"] == [len(seconds)]


def test_the_worst_of_each_policy_comes_first(open_one):
    _, page = open_one
    by = {}
    for text, exact in zip(page.tables["worst"].texts(), page.tables["worst"].exact(), strict=True):
        by.setdefault(text["policy"], []).append(exact["ratio"][0])
    means = {r["policy"]: x["worst"][:1] for r, x in zip(*_means(page), strict=True)}
    assert {policy: [max(ratios)] for policy, ratios in by.items()} == means
    assert all(len(ratios) == 3 for ratios in by.values())


def _means(page):
    return page.tables["means"].texts(), page.tables["means"].exact()


def test_schedules_of_the_worst_instance_are_found_again_and_drawn(real):
    _, page = real
    pictures = page.of("img")
    assert len(pictures) == 6  # three of each policy
    assert {p["src"].partition(",")[0] for p in pictures} == {"data:image/svg+xml;base64"}
    assert any("hindsight and of fifo" in p["alt"] for p in pictures)
    drawn = base64.b64decode(pictures[0]["src"].partition(",")[2]).decode()
    assert drawn.startswith("<?xml")


def test_open_optima_are_seen_as_intervals(open_one):
    _, page = open_one
    kinds = [attrs.get("class") for attrs in page.of("i")]
    assert kinds.count("open") == 2  # a finite mean between two ends is hatched
    assert kinds.count("beyond") == 1  # one mean is infinite
    assert sum("band" in (attrs.get("class") or "") for attrs in page.of("path")) == 3
    table = page.tables["open"]
    assert len(table.rows) == 12
    for text, exact in zip(table.texts(), table.exact(), strict=True):
        assert (exact["search found"], exact["bound"]) == ([10.0], [12.0])
        assert text["level"] == "certified"
    assert "12 of 30 optima are open" in page.words
    assert "b has the lowest mean ratio" in page.words or "c has the lowest" in page.words
    assert "it <b>failed</b>" in page.words  # the reason of the error, as a text


def test_closed_optima_are_not(real):
    _, page = real
    assert "All optima are closed" in page.words
    assert "open" not in page.tables
    assert not [attrs for attrs in page.of("i") if attrs.get("class") == "open"]


@pytest.mark.slow
def test_a_hundred_times_the_cells_make_no_larger_page(tmp_path):
    sizes = [
        optsched.report(made_up(tmp_path / str(n), "abcd", n), tmp_path / "page.html").stat()
        for n in (200, 2000)
    ]
    assert sizes[1].st_size < 1.05 * sizes[0].st_size


@pytest.mark.slow
def test_a_table_says_how_many_rows_it_leaves_out(tmp_path):
    policies = [f"p{k}" for k in range(30)]  # 435 pairs
    page = Page(optsched.report(made_up(tmp_path / "s", policies, 6), tmp_path / "page.html"))
    assert len(page.tables["pairs"].rows) == 300
    assert "The first 300 of 435." in page.words


def test_what_a_store_says_is_text(tmp_path):
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    store = made_up(tmp_path / "s", [evil, "b"], 5, name=evil, preset="<i>x</i>")
    page = Page(optsched.report(store, tmp_path / "page.html"))
    assert [attrs.get("type") for attrs in page.of("script")] == ["application/json", None]
    assert not page.of("img")
    assert all(not name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert evil in {row["policy"] for row in page.tables["means"].texts()}
    for k, policy in enumerate(("\u202egpj", "b\x1b[31m")):
        with pytest.raises(InputError, match="is no policy of a cell"):
            optsched.report(made_up(tmp_path / f"s{k}", [policy], 5), tmp_path / "none.html")


def test_a_page_allows_its_own_script_and_nothing_else(real):
    _, page = real
    (policy,) = [m["content"] for m in page.of("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'; img-src data:; ")
    script = re.findall(r"<script>(.*?)</script>", page.source, re.DOTALL)[-1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    links = [a for _, attrs in page.tags for n, a in attrs.items() if n in ("src", "href")]
    assert all(link.startswith("data:") for link in links)


@pytest.mark.slow
def test_programs_that_a_store_names_are_not_run(tmp_path):
    policy = f"exec:touch {tmp_path / 'pwned'}"
    store = made_up(tmp_path / "s", [policy], 5)
    page = Page(optsched.report(store, tmp_path / "page.html"))
    assert "There is no picture" in page.words
    assert not (tmp_path / "pwned").exists()


@pytest.mark.slow
def test_times_are_not_those_that_a_store_says(tmp_path, monkeypatch):
    """A search that was cut short after a second of work is said to have had no end."""
    monkeypatch.setattr("optsched.pages.schedules.PATIENCE", 2.0)
    plan = {
        "instances": [
            {"family": "oasis", "preset": "paper", "parameters": {"jobs": 60, "slots": 60}}
        ],
        "policies": [{"name": "fifo"}],
        "reference": {"effort": 5.0},
    }
    campaign(plan, tmp_path / "store", workers=1)
    with closing(sqlite3.connect(tmp_path / "store")) as db:
        db.executescript(
            """UPDATE word SET text = replace(text, '"effort":5.0', '"effort":1e15');
            UPDATE fact SET value = replace(value, '"effort":5.0', '"effort":1e15');
            UPDATE optimum SET micros = 1000; UPDATE cell SET micros = 1000"""
        )
    began = time.monotonic()
    page = Page(optsched.report(tmp_path / "store", tmp_path / "page.html"))
    assert time.monotonic() - began < 60
    assert "There is no picture of fifo" in page.words
    assert "would exceed the 2 s for all pictures" in page.words


def test_what_can_no_more_be_found_again_is_said(open_one):
    _, page = open_one
    assert page.words.count("There is no picture of") == 2  # of the best policy and the worst one
    assert "its seed makes another instance by now" in page.words


@pytest.mark.slow
def test_the_same_store_gives_the_same_page(real, tmp_path):
    store, page = real
    again = optsched.report(store, tmp_path / "again.html")
    assert again.read_text(encoding="utf-8") == page.source


@pytest.mark.slow
def test_a_policy_that_is_asked_for_is_drawn(real, tmp_path):
    store, _ = real
    page = Page(optsched.report(store, tmp_path / "page.html", policies=["local-share"]))
    assert len(page.of("img")) == 3
    with pytest.raises(InputError, match="no policy 'drf' has a ratio, expected fifo, local-share"):
        optsched.report(store, tmp_path / "none.html", policies=["drf"])
    assert not (tmp_path / "none.html").exists()


def test_an_empty_campaign_has_a_page(tmp_path):
    page = Page(optsched.report(made_up(tmp_path / "s", [], 5), tmp_path / "page.html"))
    assert "No cell has a ratio yet." in page.words


def test_a_plan_is_repeated_by_its_text():
    plan = make_plan(
        {
            "name": 'a "name"\\ withé',
            "instances": [
                {"family": "oasis", "grid": {"jobs": [3, 4]}, "seeds": [1, 5, 6]},
                {"family": "bot", "preset": "small", "reference": {"time_limit": 0.5}},
                {"family": "oasis", "trace": "sample", "windows": 4},
            ],
            "policies": [{"name": "fifo", "parameters": {}, "sealed": True}],
            "replications": 3,
            "limits": {"memory_gb": 1.5},
        },
        Path(),
    )
    assert make_plan(tomllib.loads(plan_text(plan)), Path()) == plan


def test_only_packages_that_count_are_installed():
    forged = {"numpy @ https://example.org/x.zip#": "2", "--index-url=x": "1", "scipy": "1 --pre"}
    versions = {"python": "3.11.7", "optsched": "0.1.0", "numpy": "2.4.0rc1"} | forged
    assert install(versions) == "python -m pip install optsched==0.1.0 numpy==2.4.0rc1"


@pytest.mark.parametrize("eyes", EYES)
def test_curves_can_be_told_apart_in_the_dark(eyes):
    colours = lab([*DARK, "#eceef1"], EYES[eyes])
    assert min(np.linalg.norm(a - b) for a, b in combinations(colours, 2)) > 24


def test_curves_stand_out_in_the_dark(open_one):
    _, page = open_one
    (ground,) = GROUND.findall(page.source)
    assert min(contrast(colour, ground) for colour in DARK) >= 2.9


def test_nothing_is_written_after_ctrl_c(real, tmp_path):
    def interrupt(doing):
        if "worst" in doing:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optsched.report(real[0], tmp_path / "page.html", callback=interrupt)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_command_writes_the_page(real, call, tmp_path):
    store, page = real
    status, out, err = call("report", store, "-o", tmp_path / "page.html")
    assert (status, out) == (0, "")
    assert err.endswith(f"{tmp_path / 'page.html'} written\n")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.source


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("no.sqlite", "page.html", "no.sqlite: cannot be read"),
        ("store", "no/page.html", "page.html: cannot be written: there is no folder"),
        ("instance.json", "page.html", "holds 'instance', expected 'result'"),
        ("cells.csv", "page.html", "is no JSON"),
        (".", "page.html", "cannot be read: Is a directory"),
        ("broken", "page.html", "broken: plan: instances: Field required"),
    ],
)
def test_what_is_wrong_is_one_line(real, call, tmp_path, source, target, said):
    (tmp_path / "store").write_bytes(real[0].read_bytes())
    (tmp_path / "cells.csv").write_text("a,b\n1,2\n")
    with Store.create(tmp_path / "broken") as broken, broken.batch():
        broken.state(plan="{}", cells="0")
    instance = optsched.get_family("bot").generate("small", seed=1)
    optsched.save_instance(instance, tmp_path / "instance.json")
    status, _, err = call("report", tmp_path / source, "-o", tmp_path / target)
    assert status == 2
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / target).exists()
