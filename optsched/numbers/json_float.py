"""Numbers of files that may be infinite, which JSON has no numbers for."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, PlainSerializer

Signed = Annotated[
    float,
    Field(allow_inf_nan=True),
    PlainSerializer(lambda x: str(x) if math.isinf(x) else x, when_used="json"),
]
"""A number that may be infinite; the infinities are the strings "inf" and "-inf" in JSON."""


Extended = Annotated[
    float,
    Field(ge=0, allow_inf_nan=True),
    PlainSerializer(lambda x: "inf" if x == math.inf else x, when_used="json"),
]
"""A number >= 0 that may be infinite; infinity is the string "inf" in JSON."""
