"""How events and decisions go to policies and back, for families whose own are plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from optsched.files.format import first_error
from optsched.problem import Frozen, Wire


def typed_wire(public: type[Frozen], event: type[Frozen], decision: type) -> Wire:
    """Return the wire of a family whose events and decisions pydantic can read.

    Parameters
    ----------
    public, event : type of Frozen
        What is public, and what a policy receives.
    decision : type
        What it answers: a subclass of `Frozen`, ``bool``, ``dict[int, float]``.

    Examples
    --------
    >>> wire = typed_wire(Frozen, Frozen, bool)
    >>> wire.take(True), wire.decision(False)
    (True, False)
    """
    answer: TypeAdapter[Any] = TypeAdapter(decision)

    def checked(validate: Callable[[], Any]) -> Any:
        try:
            return validate()
        except ValidationError as err:
            raise ValueError(f"is no {decision.__name__}: {first_error(err)}") from err

    def take(decided: Any) -> Any:
        if isinstance(decided, Frozen):
            decided = decided.model_dump()  # or else it would not be looked at again
        return checked(lambda: answer.validate_python(decided))

    def read(_public: Any, content: Any) -> Any:  # strict: true and "0" are no numbers
        return checked(lambda: answer.validate_json(to_json(content), strict=True))

    return Wire(
        public=public,
        event=lambda value: value.model_dump(mode="json"),
        read_event=lambda _public, content: event.model_validate(content),
        decision=lambda decided: answer.dump_python(take(decided), mode="json"),
        read_decision=read,
        take=take,
    )
