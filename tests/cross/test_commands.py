"""Every command with an instance of every family: what it prints, writes, accepts and rejects."""

import json

import pytest

from optsched.files.format import load_instance
from optsched.problem import families, get_family

FAMILIES = [*families()]


@pytest.mark.parametrize("family", FAMILIES)
def test_from_a_preset_to_a_comparison(call, family, tmp_path):
    path, target, pictures = (tmp_path / name for name in ("i.json", "r.json", "pictures"))
    facts = get_family(family)
    assert call("generate", family, "--preset", "small", "--seed", 1, "-o", path)[0] == 0
    inst = load_instance(path)
    assert inst == facts.generate("small", seed=1)
    assert call("show", path, "--plot", pictures)[0] == 0
    assert {p.stem for p in pictures.iterdir()} >= {*facts.pictures(inst, {})}

    first = next(iter(facts.policies))
    limits = ("--work-limit", 300, "--no-cache")
    status, out, _ = call("ratio", path, "-p", first, *limits, "--json", "-o", target)
    said = json.loads(out)
    assert (status, [row["name"] for row in said["policies"]]) == (0, [first])
    assert (said["family"], said["reference"]["bound_level"]) == (family, "certified")
    assert facts.sign * (said["reference"]["bound"] - said["reference"]["value"]) >= 0
    status, out, _ = call("verify", target)
    assert (status, "rejected" in out) == (0, False)
    content = json.loads(target.read_text())
    content["optimum"]["value"] += facts.sign * (1 + abs(content["optimum"]["value"]))
    target.write_text(json.dumps(content))
    status, out, _ = call("verify", target)
    assert (status, "rejected" in out) == (1, True)


@pytest.mark.parametrize("family", FAMILIES)
def test_ratio_of_the_sample(call, family):
    window = ("--jobs", 3) if family in ("bot", "rigid") else ("--jobs", 5, "--horizon", 10)
    if family == "bipartite":
        pytest.skip("the sample has no restrictions to devices")
    first = next(iter(get_family(family).policies))
    words = ("ratio", "sample", "--family", family, *window, "-p", first, "--work-limit", 100)
    status, out, err = call(*words, "--no-cache")
    assert (status, first in out) == (0, True), err


@pytest.mark.parametrize("family", FAMILIES)
def test_an_exported_program_names_its_equations(call, family, tmp_path):
    path, target = tmp_path / "i.json", tmp_path / "program"
    call("generate", family, "--preset", "small", "-o", path)
    conic = family in ("bipartite", "bot")
    for form in ("cbf",) if conic else ("lp", "mps"):
        status, _, err = call("export", path, "--to", form, "-o", f"{target}.{form}")
        assert status == 0, err
        text = target.with_suffix(f".{form}").read_text()
        assert ("(" if conic else "eq") in text
    assert call("export", path, "--to", "lp" if conic else "cbf", "-o", target)[0] == 2
