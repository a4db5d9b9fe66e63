"""The benchmarks of campaigns: parts for themselves, figures by hand, mistakes that are noticed."""

import json
import sqlite3

import campaign_kills
import campaigns
import pytest
from campaigning import calm, write_plan

from optsched.experiments.plan import read_plan

pytestmark = pytest.mark.slow


def test_parts_are_measured_for_themselves(tmp_path):
    argv = ["--repetitions", "40", "--results", str(tmp_path), "--only"]
    campaign_kills.main([*argv, "differ"])
    campaign_kills.main([*argv, "coverage"])
    content = json.loads((tmp_path / "campaign_kills.json").read_text())
    assert [row["part"] for row in content["rows"]] == ["differ"] * 2 + ["coverage"] * 6
    assert {t["what"]: t["at_least"] for t in content["targets"]} == {
        "95 % intervals that hold the truth": True,
        "equal policies told apart": False,
    }
    held = [
        row["held"] - row["percentiles"] for row in content["rows"] if row["part"] == "coverage"
    ]
    assert min(held) >= 0
    assert max(held) > 0


def row(how, seconds, cpu):
    return {"part": "overhead", "how": how, "cells": 1000, "seconds": seconds, "cpu": cpu}


def test_overhead_by_hand():
    rows = [row("plain loop", 10.0, 9.5), row("local", 6.0, 10.0), row("joblib", 8.0, 12.0)]
    found = campaigns.summarize(rows)
    assert [line[3] for line in found.lines] == [
        "10.0 s",
        "6.0 s, 2.00 ms per cell, 0.50 ms of CPU",
        "8.0 s, 6.00 ms per cell, 2.50 ms of CPU",
    ]
    (target,) = found.targets
    assert (target.measured, target.must, target.aim) == (pytest.approx(2.0), 3, 1)


def test_what_is_wrong_with_a_store_is_noticed(tmp_path):
    plan, store = campaign_kills.bags(2, "poison:Counts"), tmp_path / "store"
    rows = calm(plan, store)
    seeds = {row["seed"] for row in rows}
    assert campaign_kills._flaws(store, seeds) == []
    assert campaign_kills._flaws(store, seeds | {1}) == ["cells that were stored are gone"]
    assert campaign_kills._differs(store, plan, tmp_path) == []
    with sqlite3.connect(store) as db:
        db.execute("UPDATE cell SET value = value * 2, status = 2 WHERE seed = ?", [min(seeds)])
    db.close()
    assert campaign_kills._flaws(store, seeds) == ["1 errors"]
    assert campaign_kills._differs(store, plan, tmp_path) == [campaign_kills.DIFFERENT]


def test_plans_of_the_benchmarks_are_plans(tmp_path):
    def cells(plan):
        read = read_plan(write_plan(plan, tmp_path / "plan.toml"))
        return sum(len(case.cells) for case in read.cases())

    settings = {"instances": [{"family": "oasis", "seeds": 3}], "policies": campaigns.SETTINGS}
    assert cells(settings) == 3 * 10
    assert cells(campaign_kills.families(1, 500)) == 60
