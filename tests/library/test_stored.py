"""The library that comes with the source: enough of it, verified without a solver."""

import json
import subprocess
import sys
from pathlib import Path

import library_draws
import pandas as pd
import pytest

from optsched.library.packs import open_library
from optsched.library.page import generated, page_of
from optsched.library.table import FILE, load_table

pytestmark = pytest.mark.slow

STORED = open_library(None)
ALONE = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("ortools", "highspy", "cvxpy", "clarabel"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
from optsched.cli.app import main
main(["library", "verify", "--sample", "397", "--workers", "1", "--json"])
"""


@pytest.fixture(scope="module")
def tables():
    return {family: load_table(STORED, family) for family in STORED.families}


def test_a_sample_is_verified_where_no_solver_can_be_imported():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert said["accepted"]
    assert said["entries"] >= 40


def test_there_is_as_much_as_the_page_promises(tables):
    assert [*tables] == ["bipartite", "bot", "completion", "dmlrs", "oasis"]
    for table in tables.values():
        small = table[table["size"] == "small"]
        assert (small["status"] == "easy").all()
        assert len(small) >= 2000
        assert (table["size"] == "medium").sum() >= 50
        assert (table["size"] == "large").sum() >= 10
        assert (table["origin"] == "traces").sum() >= len(table) / 5
        assert table["sha256"].is_unique
        assert pd.to_numeric(table["value"]).notna().all()
    files = [pack.path for pack in STORED.packs]
    files += [STORED.folder / family / FILE for family in tables]
    assert sum(path.stat().st_size for path in files) <= 30e6


def test_the_page_says_what_the_tables_say(tables):
    assert generated(tables) in page_of(STORED).read_text("utf-8")


def test_the_licence_of_every_source_is_named():
    said = (STORED.folder / "LICENCES.md").read_text("utf-8")
    for files in library_draws.FROM.values():
        for file in files:
            assert f"`{Path(file).parts[0]}/" in said, f"{file}: expected its licence"
