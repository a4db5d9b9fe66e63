"""Optima that are kept: taken again where they hold, and only there."""

import json

import pytest

from optsched import get_family, solve
from optsched.files.format import save_instance
from optsched.problem import Level
from optsched.results import optimum_cache

KNOWN = "cached optimum, checked again"
POLICIES = ("--policy", "adaptive", "--policy", "fifo")


@pytest.fixture
def ratio(tmp_path, monkeypatch, call):
    """Return a comparison by command, whose optima are kept in a folder of its own."""
    monkeypatch.setenv("OPTSCHED_CACHE", str(tmp_path / "optima"))

    def run(*more, seed=0):
        path = tmp_path / f"instance{seed}.json"
        save_instance(get_family("bot").generate("small", seed=seed), path)
        status, out, err = call("ratio", path, *POLICIES, "--json", *more)
        assert status == 0
        return json.loads(out), KNOWN in err

    return run


def test_an_optimum_is_looked_for_once(ratio):
    first, known = ratio()
    assert not known
    again, known = ratio()
    assert known
    for found in (first, again):
        del found["reference"]["improved_by"]  # whose schedule the search began with
    assert again["reference"] == first["reference"]
    assert [p["ratio"] for p in again["policies"]] == [p["ratio"] for p in first["policies"]]
    assert not ratio("--no-cache")[1]
    assert not ratio(seed=1)[1]


def test_a_closed_one_serves_other_limits_but_no_other_method(ratio):
    ratio()
    assert ratio("--time-limit", "7", "--seed", "3")[1]
    assert not ratio("--gap", "0")[1]
    assert not ratio("--method", "interior")[1]
    assert ratio("--method", "interior")[1]


@pytest.mark.parametrize("damage", ["", "{", "other"])
def test_what_does_not_hold_is_not_taken(ratio, damage):
    ratio()
    (path,) = optimum_cache.folder().glob("*.json")
    content = json.loads(path.read_text())
    content["optimum"]["value"] *= 1.5
    path.write_text(json.dumps(content) if damage == "other" else damage)
    assert not ratio()[1]


@pytest.mark.parametrize("level", Level)
def test_only_what_is_certified_is_kept(tmp_path, monkeypatch, level):
    monkeypatch.setenv("OPTSCHED_CACHE", str(tmp_path))
    instance = get_family("bot").generate("small", seed=0)
    found = solve(instance).model_copy(update={"bound_level": level})
    optimum_cache.store(instance, {"method": "auto", "gap": 1e-6}, found, {})
    assert len(list(tmp_path.iterdir())) == (level is Level.CERTIFIED)


def test_where_nothing_can_be_written_nothing_is_kept(ratio, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPTSCHED_CACHE", str(tmp_path / "file"))
    assert not ratio()[1]
    assert not ratio()[1]


def test_old_ones_make_room(ratio, monkeypatch):
    monkeypatch.setattr(optimum_cache, "MOST", 2)
    for seed in range(3):
        ratio(seed=seed)
    assert len(list(optimum_cache.folder().glob("*.json"))) == 2
    assert not ratio(seed=0)[1]


def test_files_of_the_user_stay(ratio, monkeypatch):
    monkeypatch.setattr(optimum_cache, "MOST", 1)
    place = optimum_cache.folder()
    place.mkdir(parents=True, exist_ok=True)
    theirs = [place / name for name in ("result.json", f"{40 * 'a'}-mine.json", f"{39 * 'a'}.json")]
    for path in theirs:
        path.write_text("")
    ratio(seed=0)
    ratio(seed=1)
    kept = {*place.glob("*.json")}
    assert ({*theirs} < kept, len(kept)) == (True, len(theirs) + 1)


def test_a_claim_is_not_taken_from_the_folder(ratio):
    """Only what is certified is kept, so that anything else was put there by somebody."""
    first, _ = ratio()
    for path in optimum_cache.folder().glob("*.json"):
        content = json.loads(path.read_text())
        content["optimum"] |= {"bound_level": "claimed", "status": "claimed optimal"}
        path.write_text(json.dumps(content))
    again, known = ratio()
    assert not known
    assert again["reference"]["bound_level"] == first["reference"]["bound_level"] == "certified"


def test_the_value_of_a_relaxation_is_not_kept(tmp_path, monkeypatch):
    """Its certificate proves one side only, so whoever wrote the file could state another value."""
    monkeypatch.setenv("OPTSCHED_CACHE", str(tmp_path))
    instance = get_family("dmlrs").generate("small", seed=5)
    asked = {"method": "auto", "gap": 1e-6}
    optimum, relaxed = solve(instance), solve(instance, method="relaxation")
    optimum_cache.store(instance, asked, optimum, {"relaxation": relaxed})
    found = optimum_cache.lookup(instance, asked)
    assert found is not None
    assert (found[0].value, found[1]) == (optimum.value, {})
