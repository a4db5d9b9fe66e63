"""Files of a game: its instances, its certificate, and the proved ratios.

{"format": 1, "kind": "minimax", "family": "declared-min", "instances": [...], "certificate":
{"weights": [...], "randomized": [...], "deterministic": [...]}, "claim": {...}, "played": [...]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import Field

from optsched.declared.model import Declared
from optsched.engine.interval import relative
from optsched.files.format import checked, family_in, read_json, short
from optsched.minimax.certificate import Certificate, Proved, grown, prove
from optsched.minimax.standing import Played, Standing, must_name_policies, standing
from optsched.minimax.tree import GameTree
from optsched.problem import Family, Frozen, InputError
from optsched.process.garbage import no_garbage
from optsched.proofs.grid import float_above, float_below
from optsched.results.result import Recheck, part_of

NUMBER = r"(0|[1-9]\d{0,999})(/[1-9]\d{0,999})?"


class Claim(Frozen):
    """Values of algorithms on their worst instance, divided by its optimum: '4/3'."""

    proved: str = Field(pattern=f"^{NUMBER}$", description="no randomized algorithm is better")
    reached: str = Field(pattern=f"^{NUMBER}$", description="by the randomized policy")
    deterministic: str = Field(
        pattern=f"^{NUMBER}$", description="reached, and no deterministic algorithm is better"
    )


def _digits(number: Fraction) -> str:
    try:
        return short(str(number))
    except ValueError:  # Python writes no whole number of more digits
        return "a number of more than 4300 digits"


@dataclass(frozen=True)
class Checked:
    """Content of a file and its consequences; ``proof`` is None if nothing is proved."""

    parts: list[Recheck]
    certificate: Certificate
    tree: GameTree | None = None
    proof: Proved | None = None
    standings: Sequence[Standing] = ()


def recheck_content(content: Mapping[str, Any], path: Path) -> list[Recheck]:
    """Evaluate the certificate of a game again; see `optsched.results.result.recheck`.

    Raises
    ------
    InputError
        ``content``, of the file at ``path``, is no game.
    """
    return _checked(content, path).parts


def check_file(path: Path) -> Checked:
    """Evaluate the certificate of a file again, and check the decisions of policies.

    Raises
    ------
    InputError
        The file cannot be read, or is no game.
    """
    return _checked(read_json(path, "minimax"), path)


@no_garbage()
def _checked(content: Mapping[str, Any], path: Path) -> Checked:
    family = family_in(content, path)
    if not issubclass(family.instance, Declared):
        raise InputError(f'{path}: "family" is {family.name!r}, expected a declared problem')
    raw, raw_played = content.get("instances"), content.get("played", [])
    if not isinstance(raw, list) or not raw:
        raise InputError(f'{path}: "instances" is {short(raw)}, expected a list of instances')
    if not isinstance(raw_played, list):
        raise InputError(f'{path}: "played" is {short(raw_played)}, expected a list')
    instances = [
        checked(family.instance, inst, f"{path}: instances[{i}]") for i, inst in enumerate(raw)
    ]
    certificate = part_of(Certificate, content, "certificate", path)
    claim = part_of(Claim, content, "claim", path)
    played = [checked(Played, one, f"{path}: played[{i}]") for i, one in enumerate(raw_played)]
    if len({inst.problem for inst in instances}) > 1:
        raise InputError(f"{path}: the instances are of several problems, expected one")
    try:
        must_name_policies(family, played)
    except InputError as err:
        raise InputError(f"{path}: {err}") from err
    try:
        tree, best = grown(instances)
        proof = prove(tree, best, certificate)
    except ValueError as err:
        why = (f"the certificate proves nothing: {err}",)
        nothing = Recheck(
            family=family.name, what="best online algorithms", value=None, complaints=why
        )
        return Checked([nothing], certificate)
    whats = "best randomized online algorithm", "best deterministic online algorithm"
    wrong: list[list[str]] = [[], []]
    for name, at in (("proved", 0), ("reached", 0), ("deterministic", 1)):
        derived, stated = getattr(proof, name), Fraction(getattr(claim, name))
        if derived != stated:
            wrong[at].append(f"{name} is {_digits(derived)}, the file states {_digits(stated)}")
    parts = [
        _part(family, whats[0], proof.reached, proof.proved, wrong[0]),
        _part(family, whats[1], proof.deterministic, proof.deterministic, wrong[1]),
    ]
    standings = []
    for one in played:
        value, complaints = None, []
        try:
            standings.append(standing(tree, proof, one))
            value = standings[-1].value
        except ValueError as err:
            complaints.append(str(err))
        parts.append(
            Recheck(
                family=family.name,
                what=f"policy {one.policy}",
                value=value,
                unchecked=(f"that {one.policy} decided so", *["its sandbox"] * one.sealed),
                complaints=tuple(complaints),
            )
        )
    return Checked(parts, certificate, tree, proof, standings)


def _part(
    family: Family, what: str, value: Fraction, bound: Fraction, complaints: Sequence[str]
) -> Recheck:
    """Return a part of the results, in floats that are rounded to the safe side."""
    reached, proved = float_above(value), float_below(bound)
    if family.sense == "max":
        reached, proved = float_below(value), float_above(bound)
    return Recheck(
        family=family.name,
        what=what,
        value=reached,
        bound=proved,
        gap=relative(reached, proved),
        complaints=tuple(complaints),
    )
