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
from optsched.files.format import checked, family_in, read_json, short, write_json
from optsched.minimax.certificate import Certificate, Proved, grown, prove
from optsched.minimax.standing import Played, Standing, standing
from optsched.minimax.tree import GameTree
from optsched.problem import Family, Frozen, InputError, Level
from optsched.process.garbage import no_garbage
from optsched.proofs.grid import float_above, float_below
from optsched.results.result import Recheck

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


def save(
    path: Path,
    instances: Sequence[Declared],
    certificate: Certificate,
    proof: Proved,
    played: Sequence[Played] = (),
) -> None:
    """Write instances, a certificate, what it proves, and what policies have decided."""
    claim = Claim(
        proved=str(proof.proved),
        reached=str(proof.reached),
        deterministic=str(proof.deterministic),
    )
    content: dict[str, Any] = {
        "instances": [inst.model_dump(mode="json") for inst in instances],
        "certificate": certificate.model_dump(mode="json"),
        "claim": claim.model_dump(mode="json"),
    }
    if played:
        content["played"] = [one.model_dump(mode="json") for one in played]
    write_json(path, "minimax", instances[0].family, content)


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
    with no_garbage():
        return _checked(content, path).parts


def check_file(path: Path) -> Checked:
    """Evaluate the certificate of a file again, and check what policies have decided.

    Raises
    ------
    InputError
        The file cannot be read, or is no game.
    """
    with no_garbage():
        return _checked(read_json(path, "minimax"), path)


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
    for name in ("certificate", "claim"):
        if name not in content:
            raise InputError(f'{path}: lacks "{name}"')
    certificate = checked(Certificate, content["certificate"], f"{path}: certificate")
    claim = checked(Claim, content["claim"], f"{path}: claim")
    played = [checked(Played, one, f"{path}: played[{i}]") for i, one in enumerate(raw_played)]
    if len({inst.problem for inst in instances}) > 1:
        raise InputError(f"{path}: the instances are of several problems, expected one")
    try:
        tree, best = grown(instances)
        proof = prove(tree, best, certificate)
    except ValueError as err:
        complaint = f"the certificate proves nothing: {err}"
        return Checked(
            [_part(family, "best online algorithms", None, None, [complaint])], certificate
        )
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
        found, complaints = None, []
        try:
            found = standing(tree, proof, one)
            standings.append(found)
        except ValueError as err:
            complaints.append(str(err))
        parts.append(
            Recheck(
                family=family.name,
                what=f"policy {one.policy}",
                value=None if found is None else found.value,
                bound=None,
                value_level=None if found is None else Level.CERTIFIED,
                bound_level=None,
                unchecked=(f"that {one.policy} decided so",),
                complaints=tuple(complaints),
            )
        )
    return Checked(parts, certificate, tree, proof, standings)


def _part(
    family: Family,
    what: str,
    value: Fraction | None,
    bound: Fraction | None,
    complaints: Sequence[str],
) -> Recheck:
    """Return a part of what is found, in floats that are rounded to the safe side."""
    reached, proved = (
        (float_below, float_above)
        if family.sense == "max"
        else (
            float_above,
            float_below,
        )
    )
    ends = None if value is None else reached(value), None if bound is None else proved(bound)
    return Recheck(
        family=family.name,
        what=what,
        value=ends[0],
        bound=ends[1],
        gap=None if ends[0] is None or ends[1] is None else relative(ends[0], ends[1]),
        value_level=None if value is None else Level.CERTIFIED,
        bound_level=None if bound is None else Level.CERTIFIED,
        complaints=tuple(complaints),
    )
