"""Checkpoint of a worst-case search: evaluated instances on disk, to resume after any end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from optsched.adversarial.evaluation import Evaluation, Terms
from optsched.files.format import first_error, read_json, write_json
from optsched.problem import Frozen, InputError

KIND = "hunt"
KEY = 16  # digits of a digest
PERIOD = 5.0  # seconds between two times of writing

Rows = dict[str, Evaluation]


class _Content(Frozen):
    """Content of the checkpoint file."""

    terms: Terms
    versions: dict[str, str] = Field(description="of what can change a number")
    rows: dict[str, Evaluation] = Field(description="by the beginning of the instance's digest")


class Checkpoint:
    """Evaluations by instance; ``path`` None: they are in memory alone."""

    def __init__(self, path: Path | None, terms: Terms, versions: Mapping[str, str]) -> None:
        self.path, self.terms = path, terms
        self.rows: Rows = {}
        self._versions = dict(versions)
        self._written, self._when = 0, time.monotonic()
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        """Continue from the existing file.

        Raises
        ------
        InputError
            It is the checkpoint of another hunt, or of other code.
        """
        content = read_json(path, KIND)
        try:
            known = _Content.model_validate(
                {name: content[name] for name in _Content.model_fields if name in content}
            )
        except ValidationError as err:
            raise InputError(f"{path}: {first_error(err)}") from err
        for what, mine, theirs in (
            ("hunt", self.terms, known.terms),
            ("version", self._versions, known.versions),
        ):
            if mine != theirs:
                raise InputError(
                    f"{path}: is of another {what} ({_difference(theirs, mine)}), expected the "
                    "same one, or another output"
                )
        self.rows = dict(known.rows)
        self._written = len(self.rows)

    def add(self, rows: Mapping[str, Evaluation]) -> None:
        """Add an evaluation, and write the file if it is time."""
        self.rows.update(rows)
        if time.monotonic() - self._when >= PERIOD:
            self.write()

    def write(self) -> None:
        """Write all, if there is anything new."""
        if self.path is None or len(self.rows) == self._written:
            return
        rows = {
            key: row.model_dump(mode="json", exclude_defaults=True)
            for key, row in self.rows.items()
        }
        content: dict[str, Any] = {
            "terms": self.terms.model_dump(mode="json"),
            "versions": self._versions,
            "rows": rows,
        }
        write_json(self.path, KIND, self.terms.family, content)
        self._written, self._when = len(self.rows), time.monotonic()


def _difference(theirs: Any, mine: Any) -> str:
    one, other = (x if isinstance(x, dict) else x.model_dump() for x in (theirs, mine))
    for name in sorted({*one, *other}):
        if one.get(name) != other.get(name):
            return f"{name:.60}: {one.get(name)!r:.60} there, {other.get(name)!r:.60} here"
    return "it differs"
