"""The instances of tests/data in the package's format, with answers of independent programs."""

import json
from pathlib import Path
from typing import Any

from optsched.problem import Instance

DATA = Path(__file__).parents[1] / "data"


def files(family: str) -> list[Path]:
    """Return the reference files of a family."""
    return sorted((DATA / family).glob("*.json"))


def load(kind: type[Instance], path: Path, **fields: object) -> tuple[Any, dict[str, Any]]:
    """Return the instance of a file, with some fields replaced, and its known answers."""
    content = json.loads(path.read_text())
    return kind.model_validate(content["instance"] | fields), content["reference"]
