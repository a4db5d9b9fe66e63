"""What the attacks share: forged results, and what may be reported of them."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from optsched import solve
from optsched.core import Optimum
from optsched.problem import Frozen, InputError, Instance, Level, Schedule, Status, family_of
from optsched.results.result import Recheck, recheck, save_result

Made = TypeVar("Made", bound=Frozen)

CLOSED = 1e-6
OTHER_FORMAT = {"missing", "extra_forbidden", "union_tag_invalid", "literal_error"}
BITS = (0, 20, 38, 60)  # of the grid of prices


def worse(sense: str, a: float, b: float, within: float = 1e-9) -> bool:
    """Return whether value ``a`` is worse than ``b``, by more than rounding."""
    sign = 1 if sense == "max" else -1
    return sign * (b - a) > within * max(abs(a), abs(b))


def forged(
    instance: Instance,
    schedule: Schedule | None,
    value: float | None,
    certificate: Frozen | None = None,
    bound: float | None = None,
    **changes: Any,
) -> Optimum:
    """Return a result that states that it is optimal and certified; ``changes`` as reported."""
    said = {"value": value, "bound": value if bound is None else bound, "schedule": schedule}
    said |= {"status": Status.OPTIMAL, "gap": 0.0, "certified_gap": 0.0, "certificate": certificate}
    said |= {"value_level": Level.CERTIFIED, "bound_level": Level.CERTIFIED}
    return written(instance, **said | {"certified_bound": said["bound"]} | changes)


def written(instance: Instance, **known: Any) -> Optimum:
    """Return a result of which nothing is known but what is given."""
    family = family_of(instance)
    nothing = dict.fromkeys(("value", "bound", "value_level", "bound_level"))
    content: dict[str, Any] = {
        "family": family.name,
        "sense": family.sense,
        "instance_sha256": instance.digest(),
        "method": "auto",
        "status": Status.NO_SCHEDULE,
        "schedule": None,
        "certificate": None,
        "seconds": 1.0,
    }
    return Optimum(**(content | nothing | known))


def made(make: Callable[[], Made]) -> Made | None:
    """Return what is made, None if it is refused; an attack that has another format fails."""
    try:
        return make()
    except ValidationError as refused:
        if OTHER_FORMAT & {error["type"] for error in refused.errors()}:
            raise
        return None


def second_look(folder: Path, instance: Instance, said: Optimum) -> Recheck | None:
    """Save a result and look at it again; None: refused before anything was derived."""
    path = folder / "result.json"
    save_result(path, instance, said)
    return look(path)


def look(path: Path) -> Recheck | None:
    """Look at the optimum of a file."""
    try:
        return recheck(path)[0]
    except InputError:
        return None


def refused_or_right(found: Recheck | None, sense: str, truth: float) -> None:
    """Assert that nothing is derived that is false: the optimum is ``truth``."""
    if found is None or not found.accepted:
        return
    if found.value is not None:
        assert not worse(sense, truth, found.value), f"a value beyond {truth}: {found}"
    if found.bound is not None:
        assert not worse(sense, found.bound, truth), f"a bound below {truth}: {found}"
    if found.gap is not None and found.gap <= CLOSED:
        assert found.value is not None
        assert math.isclose(found.value, truth, rel_tol=CLOSED), f"not {truth}: {found}"


def proved_rightly(instance: Instance, certificates: Iterable[Any], truth: float) -> int:
    """Assert that no certificate proves a false bound; return how many prove a bound."""
    family, proved = family_of(instance), 0
    for certificate in certificates:
        try:
            bound = family.check(instance, certificate)
        except ValueError:
            continue
        proved += 1
        assert not worse(family.sense, bound, truth), (
            f"{bound} is reported to be proved, but {truth} can be reached: {_brief(certificate)}"
        )
    return proved


def solved_rightly(
    instance: Instance, truth: float, *, seconds: float = 60.0, method: str = "auto"
) -> Optimum:
    """Assert that what is found, proved and reported of an instance is right."""
    best = solve(instance, time_limit=seconds, method=method)
    for bound in (best.bound, best.certified_bound):
        if bound is not None:
            assert not worse(best.sense, bound, truth), f"{best}; it is {truth!r}"
    assert best.status is not Status.INFEASIBLE, f"{best}; it is {truth!r}"
    if best.value is not None:
        assert not worse(best.sense, truth, best.value), f"{best}; it is {truth!r}"
    if best.status.closed:
        assert best.value is not None
        assert math.isclose(best.value, truth, rel_tol=CLOSED), f"{best}; it is {truth!r}"
    return best


def price_levels(bits: int, worths: Iterable[float]) -> list[int]:
    """Return prices on a grid: what things are worth, and what is near the ends of integers."""
    worth = {int(w * 2**bits) for w in worths if w * 2**bits < 2**62}
    ends = {2**k - d for k in (43, 53, 61) for d in (0, 1)} | {2**62 - 1}
    return sorted(p for p in worth | ends | {1} if 0 < p < 2**62)


def _brief(certificate: Any) -> str:
    text = str(certificate.model_dump(mode="json", exclude={"instance_sha256"}))
    return text if len(text) < 600 else f"{text[:600]}..."
