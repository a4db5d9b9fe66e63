"""The benchmark of large instances: what is measured, and what its rows state."""

from argparse import Namespace
from pathlib import Path

import large
import large_tables
import pytest
from large_rows import GAPS, LADDER, cells

from optsched.files.format import save_instance
from optsched.problem import get_family

pytestmark = pytest.mark.slow

PARTS = ["make", *large.PARTS]


def options(*parts, trace=None):
    limits = {"time_limit": 600.0, "short": 10.0, "seeds": 2, "month": 720, "start": "0"}
    return Namespace(part=list(parts), trace=trace, **limits)


def a_row(cell):
    """A row of a cell, as if it had been measured: every number is 1."""
    figures = "cpu seconds megabytes load decisions slowest value bound gap first_bound over"
    more = "first_priced wall verify_cpu verify_seconds verify_megabytes spread"
    reached = cell.get("jobs", 1) ** 1.2
    return dict.fromkeys([*figures.split(), *more.split()], 1.0) | {"reached": reached} | cell


def test_every_row_is_told_and_every_target_has_its_row():
    rows = [a_row(cell) for cell in cells(options(*PARTS, trace=Path("jobs.csv")))]
    said = large_tables.summarize(rows)
    assert [line[0] for line in said.lines if line[0] == "gap"] == ["gap"] * len(GAPS)
    assert list(dict.fromkeys(line[0] for line in said.lines)) == PARTS
    assert all(target.measured is not None for target in said.targets)
    assert len({target.what for target in said.targets}) == len(said.targets)
    (growth,) = [t for t in said.targets if "completion, n^" in t.what]
    assert growth.measured == pytest.approx(1.2)
    assert len(large_tables.picture(said.figures["growth"]).axes[0].lines) == 3


def test_a_gap_that_is_not_reached_meets_nothing():
    rows = [a_row(cell) for cell in cells(options("growth", "gap"))]
    rows = [row | {"reached": None, "gap": None, "first_bound": None} for row in rows]
    said = large_tables.summarize(rows)
    missed = [t for t in said.targets if t.measured is None]
    assert not any(t.meets(t.must) or t.meets(t.aim) for t in missed)
    assert len(missed) == 5 + 1 + 3  # gaps, the first bound, growth


def test_parts_are_chosen():
    assert {cell["part"] for cell in cells(options("limit", "minute"))} == {"limit", "minute"}
    assert list(cells(options("month"))) == []
    assert [c["jobs"] for c in cells(options("growth"))][: len(LADDER)] == list(LADDER)


def test_a_bound_without_prices_is_not_a_priced_one(tmp_path):
    save_instance(get_family("oasis").generate("small", seed=0), tmp_path / "made.json")
    row = large.solved(tmp_path / "made.json", {"time_limit": 0.0}, None)
    assert row["bound"] > row["value"]
    assert row["first_bound"] >= 0
    assert row["first_priced"] is None


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", ["online", "gap", "limit", "minute", "growth"])
def test_every_part_measures(part, tmp_path):
    cell = next(cells(options(part)))
    small = {"preset": "small", "time_limit": 1.0}
    cell = {k: v for k, v in cell.items() if k not in large.DRAWN} | small
    row = cell | large.Bench(tmp_path, None).measure(cell)
    assert row["megabytes"] > 50
    assert large_tables.summarize([row | {"jobs": 10}]).lines
