"""Validation of certificates before they are checked, and the greatest utility of an instance.

A certificate is untrusted input, as in Cheung et al. (2017).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optsched.numbers.utility import richest
from optsched.problem import Frozen, Instance

LARGEST = 20_000_000  # characters of a certificate's JSON text


def check_size(certificate: Frozen) -> None:
    """Refuse a certificate that is too long to be looked at.

    Raises
    ------
    ValueError
        Its JSON text has more than `LARGEST` characters.
    """
    size = len(certificate.model_dump_json())
    if size > LARGEST:
        raise ValueError(f"the certificate has {size} characters, expected at most {LARGEST}")


def check_owner(inst: Instance, instance_sha256: str) -> None:
    """Refuse the certificate of another instance.

    Raises
    ------
    ValueError
        The digest is not that of this instance.
    """
    if instance_sha256 != inst.digest():
        raise ValueError(
            f"the certificate belongs to instance {instance_sha256}, "
            f"this instance is {inst.digest()}"
        )


def inside(place: str, name: str, value: int, low: int, high: int) -> None:
    """Refuse an index outside ``low``..``high``.

    Raises
    ------
    ValueError
        The message states where, what, and what would be right.
    """
    if not low <= value <= high:
        raise ValueError(f"{place}: {name} {value} does not exist, expected {low}..{high}")


def richest_end(inst: Any) -> Fraction:
    """Return the most that a job can earn: when it completes as early as can be."""
    ends = zip(inst.jobs, inst.earliest, strict=True)
    return richest((job.utility, end - job.arrival) for job, end in ends if end is not None)
