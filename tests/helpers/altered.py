"""Instances that no preset draws: other readings, and parameter servers (PS) that are scarce."""

import optsched
from optsched.problem import Instance

LINK = {"locality": "link"}
SCARCE = {"scarce": True}
ALTERATIONS = {*LINK, *SCARCE}  # options that a generator does not know


def drawn(family: str, preset: str, seed: int, options: dict) -> Instance:
    """Return an instance of a preset, altered if the options state it."""
    given = {name: x for name, x in options.items() if name not in ALTERATIONS}
    instance = optsched.get_family(family).generate(preset, seed=seed, **given)
    content = instance.model_dump() | {x: options[x] for x in LINK if x in options}
    if "scarce" in options:
        if family == "oasis":
            for machine in content["ps_machines"]:
                machine["capacity"] = [x / 2 for x in machine["capacity"]]
        else:  # completion: PS need much, workers little
            for part, factor in (("ps_types", 2.0), ("worker_types", 0.25)):
                for one in content[part]:
                    one["demand"] = [factor * x for x in one["demand"]]
            content["jobs"] = [*content["jobs"], *content["jobs"]]
    return type(instance).model_validate(content) if given != options else instance
