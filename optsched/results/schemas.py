"""JSON schemas of the files, made from the models that read them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from optsched.core import Optimum, Run
from optsched.files.format import FORMAT
from optsched.problem import InputError, get_family

KINDS = ("instance", "schedule", "run", "result")
DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Envelope(BaseModel):
    """Header of every file. Readers ignore unknown keys next to it."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    instance_sha256: str | None = Field(default=None, description="digest of the instance")


def model(kind: str, family: str = "oasis") -> type[BaseModel]:
    """Return the model of a whole file of ``kind``, envelope and all.

    Raises
    ------
    InputError
        No such kind, or no such family.
    """
    if kind not in KINDS:
        raise InputError(f"unknown kind {kind!r}, expected one of: {', '.join(KINDS)}")
    made = get_family(family)
    run: Any = _typed(Run, family, schedule=made.schedule)
    optimum: Any = _typed(
        Optimum, family, schedule=made.schedule | None, certificate=made.certificate | None
    )
    parts: dict[str, dict[str, Any]] = {
        "instance": {"instance": (made.instance, ...)},
        "schedule": {"schedule": (made.schedule, ...)},
        "run": {"instance": (made.instance, ...), "run": (run, ...)},
        "result": {
            "instance": (made.instance, ...),
            "optimum": (optimum, ...),
            "runs": (tuple[run, ...], ()),
            "schedules": (dict[str, made.schedule], {}),  # type: ignore[name-defined]
            "listed": (tuple[str, ...], ()),
        },
    }
    head: dict[str, Any] = {
        "format": (Literal[FORMAT], ...),
        "kind": (Literal[kind], ...),
        "family": (Literal[family], ...),
    }
    whole: type[BaseModel] = create_model(
        f"{family.capitalize()}{kind.capitalize()}File",
        __base__=_Envelope,
        __doc__=f"A file of kind {kind}, family {family}.",
        **head,
        **parts[kind],
    )
    return whole


def schema(kind: str, family: str = "oasis") -> dict[str, Any]:
    """Return the JSON schema of a whole file of ``kind``.

    Raises
    ------
    InputError
        No such kind, or no such family.
    """
    return {"$schema": DIALECT, **model(kind, family).model_json_schema()}


def _typed(base: type[BaseModel], family: str, **types: Any) -> type[BaseModel]:
    """Return ``base`` with the types of one family instead of the general ones."""
    fields: dict[str, Any] = {
        name: (kind, Field(description=base.model_fields[name].description))
        for name, kind in types.items()
    }
    made: type[BaseModel] = create_model(
        f"{family.capitalize()}{base.__name__}", __base__=base, __doc__=base.__doc__, **fields
    )
    return made
