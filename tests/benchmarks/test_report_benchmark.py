"""The benchmark of pages: a store grows as it should, figures by hand."""

import pytest
import reports
from stores import made_up

from optsched.experiments.campaign import Campaign

pytestmark = pytest.mark.slow


def test_a_store_grows_and_its_worst_instances_stay(tmp_path):
    store = made_up(tmp_path / "store", ["a", "b"], 6)
    before = Campaign(store).statistics().summaries
    reports.grow(store, 4)
    found = Campaign(store)
    assert len(found.plan().instances[0].seeds) == 24
    assert found.status().done == 48
    for small, large in zip(before, found.statistics().summaries, strict=True):
        assert large.instances == 4 * small.instances
        assert (large.worst, large.worst_seed) == (small.worst, small.worst_seed)
        assert large.median < small.worst


def row(part, **more):
    return {"part": part, "cells": 10, "cpu": 1.0, "memory_gb": 0.5, **more}


def test_targets_by_hand():
    rows = [
        row("cells", seconds=4.0, megabytes=1.0),
        row("grown", seconds=50.0, megabytes=1.2),
        row("browser", ready=1.0, sorted=2.0, noted=["a request"], wide=[360], browser="1"),
    ]
    found = {t.what: (t.measured, t.meets(t.must)) for t in reports.summarize(rows).targets}
    assert found["10 cells: built"] == (50.0, True)
    assert found["page of a hundred times the cells"] == (pytest.approx(1.2), False)
    assert found["answers, processor 4 times slower"] == (2.0, True)
    assert found["requests, complaints, widths that scroll"] == (2, False)


def test_a_browser_that_is_missing_meets_nothing():
    found = reports.summarize([row("browser", missing="chromium")])
    assert found.targets == []
    assert found.lines == [["browser", 10, "not measured: there is no chromium"]]
