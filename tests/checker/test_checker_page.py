"""The page of the second checker: small, whole, and the same program as in Node."""

import re

import pytest
from typer.testing import CliRunner

from optsched.cli.app import app
from optsched.pages.checker import FAMILIES, page, save_checker, script
from optsched.problem import InputError, families

LARGEST = 300_000  # bytes


def test_it_is_one_small_page_that_loads_nothing():
    text = page()
    assert len(text.encode()) < LARGEST
    assert script() in text
    assert not re.search(r"(src|href)=\"(?!data:)|@import|url\(|https?://|fetch\(|eval\(", text)


def test_it_knows_all_families():
    assert set(FAMILIES) == {*families(), "declared"}


def test_a_command_writes_it(tmp_path):
    for name, text in (("checker.html", page()), ("checker.js", script())):
        ended = CliRunner().invoke(app, ["checker", "-o", str(tmp_path / name), "-q"])
        assert ended.exit_code == 0
        assert (tmp_path / name).read_text() == text


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"expected \.html or \.js"):
        save_checker(tmp_path / "checker.txt")
