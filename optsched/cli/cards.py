"""What `optsched info` says of a family, from a file: loading all families would take seconds."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from optsched.problem import Family, family_names, get_family


def card(family: Family) -> dict[str, Any]:
    """Return what there is to say of a family."""
    return {
        "title": family.title,
        "paper": family.paper,
        "objective": "maximized" if family.sense == "max" else "minimized",
        "presets": [*family.presets],
        "policies": [*family.policies],
        "methods": [*family.methods],
    }


def cards() -> dict[str, dict[str, Any]]:
    """Return the card of every family that is installed, by name.

    Those of this package are stored in families/cards.json, as :func:`card` makes them; a family
    from elsewhere is loaded.
    """
    stored = json.loads((files("optsched") / "families" / "cards.json").read_text("utf-8"))
    return {name: stored.get(name) or card(get_family(name)) for name in family_names()}
