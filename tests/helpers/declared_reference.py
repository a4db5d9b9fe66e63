"""Loads the reference files of declared problems into instances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from optsched.declared.model import KINDS, Declared

FOLDER = Path(__file__).parents[1] / "data" / "declared"
ALL = Path(__file__).parents[3] / "shared" / "reference" / "declared"
FILES = sorted(FOLDER.glob("*.json"))
MORE = sorted(ALL.glob("*.json"))


def load(path: Path) -> tuple[Declared, dict[str, Any]]:
    """Return the instance of a reference file, and its known answers."""
    content = json.loads(path.read_text())
    return instance(content["program"]), content


def instance(program: dict[str, Any]) -> Declared:
    """Return the instance that a program in the form of the reference files means."""

    def limit(value: float | None, infinite: str) -> float | str:
        return infinite if value is None else value

    columns = [
        {
            "name": c["name"],
            "cost": c["cost"],
            "lower": limit(c["low"], "-inf"),
            "upper": limit(c["high"], "inf"),
            "integer": c["whole"],
            "revealed": c["seen"],
            "decided": c["fixed"],
        }
        for c in program["columns"]
    ]
    rows = [
        {
            "name": r["name"],
            "lower": limit(r["low"], "-inf"),
            "upper": limit(r["high"], "inf"),
            "entries": r["entries"],
        }
        for r in program["rows"]
    ]
    return KINDS[program["sense"]].model_validate(
        {"offset": program["offset"], "columns": columns, "rows": rows}
    )
