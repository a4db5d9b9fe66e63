"""How events and decisions go to policies and back, for families whose own are plain data."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

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

    def take(decided: Any) -> Any:
        if isinstance(decided, Frozen):
            decided = decided.model_dump()  # or else it would not be looked at again
        try:
            return answer.validate_python(decided)
        except ValidationError as err:
            raise ValueError(f"is no {decision.__name__}: {first_error(err)}") from err

    return Wire(
        public=public,
        event=lambda value: value.model_dump(mode="json"),
        read_event=lambda _public, content: event.model_validate(content),
        decision=lambda decided: answer.dump_python(take(decided), mode="json"),
        read_decision=lambda _public, content: take(content),
        take=take,
    )
