"""The benchmarks of campaigns: parts for themselves, figures by hand, mistakes that are noticed."""

import sqlite3

import campaign_kills
import pytest
from campaigning import calm

pytestmark = pytest.mark.slow


def row(how, seconds, cpu):
    return {"part": "overhead", "how": how, "cells": 1000, "seconds": seconds, "cpu": cpu}


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
