"""JSON schemas: made of the models that read the files, so that both request the same."""

import json

import pytest
from pydantic import ValidationError

from optsched.core import simulate, solve
from optsched.files.format import save_instance
from optsched.problem import InputError, get_family
from optsched.results.result import save_result, save_run, save_schedule
from optsched.results.schemas import KINDS, model, schema


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file of every kind, as JSON; the result has a certificate and a run."""
    folder = tmp_path_factory.mktemp("schemas")
    instance = get_family("oasis").generate("small", seed=1, jobs=3)
    run = simulate(instance, "oasis")
    optimum = solve(instance, method="branch-and-price", time_limit=60)
    assert optimum.certificate is not None
    save_instance(instance, folder / "instance")
    save_schedule(folder / "schedule", instance, run.schedule)
    save_run(folder / "run", instance, run)
    save_result(folder / "result", instance, optimum, [run])
    return {kind: json.loads((folder / kind).read_text()) for kind in KINDS}


def complaints(value, rule, whole, place="file"):
    """Yield what a JSON value has against the schema: references, types, names, lists."""
    if "$ref" in rule:
        yield from complaints(value, whole["$defs"][rule["$ref"].split("/")[-1]], whole, place)
        return
    choices = rule.get("anyOf") or rule.get("oneOf")
    if choices:
        tried = [list(complaints(value, choice, whole, place)) for choice in choices]
        yield from min(tried, key=len)
        return
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "null": type(None),
    }
    if "type" in rule and not isinstance(value, kinds[rule["type"]]):
        yield f"{place} is {value!r}, not of type {rule['type']}"
    elif "const" in rule and value != rule["const"]:
        yield f"{place} is {value!r}, not {rule['const']!r}"
    elif "enum" in rule and value not in rule["enum"]:
        yield f"{place} is {value!r}, not in {rule['enum']}"
    elif isinstance(value, dict) and "properties" in rule:
        for name in set(rule.get("required", ())) - {*value}:
            yield f"{place} lacks {name}"
        for name, part in value.items():
            if name in rule["properties"]:
                yield from complaints(part, rule["properties"][name], whole, f"{place}.{name}")
            else:
                yield f"{place}.{name} is not in the schema"
    elif isinstance(value, list):
        for k, part in enumerate(value):
            own = rule["prefixItems"][k] if "prefixItems" in rule else rule["items"]
            yield from complaints(part, own, whole, f"{place}[{k}]")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_obeys_its_schema(written, kind):
    assert list(complaints(written[kind], schema(kind), schema(kind))) == []
    model(kind).model_validate(written[kind])


def test_schema_sees_what_is_wrong(written):
    asked = schema("result")
    content = json.loads(json.dumps(written["result"]))
    content["instance"]["jobs"][0]["arrival"] = "noon"
    del content["optimum"]["schedule"]["jobs"]
    content["optimum"]["certificate"]["nodes"][0]["node"] = "branch"
    content["runs"][0]["luck"] = 1
    found = "\n".join(complaints(content, asked, asked))
    for word in ("jobs[0].arrival", "lacks jobs", "nodes[0].node", "luck"):
        assert word in found
    with pytest.raises(ValidationError):
        model("result").model_validate(content)


def test_kinds_and_families_differ(written):
    with pytest.raises(ValidationError, match="kind"):
        model("run").model_validate(written["result"])
    with pytest.raises(InputError, match="unknown kind 'picture', expected one of: instance"):
        schema("picture")
    with pytest.raises(InputError, match="unknown family"):
        schema("instance", "nobody")
