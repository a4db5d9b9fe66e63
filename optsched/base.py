"""What all of the package builds on: errors, and data that never change."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class InputError(ValueError):
    """The input is wrong; the message states what is wrong, where, and what would be right."""


class PolicyError(InputError, RuntimeError):
    """A policy from outside failed, broke the model or meddled; the message names it."""


class Frozen(BaseModel):
    """Data that is checked once, when it is made, and never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
