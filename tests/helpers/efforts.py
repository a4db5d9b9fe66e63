"""Searches that stay open at a small effort, one of each family, and all that must repeat of them.

python tests/helpers/efforts.py        prints what this process finds, as JSON
"""

import hashlib
import json
from typing import Any, NamedTuple

from optsched import get_family, solve
from optsched.core import Optimum
from optsched.problem import Instance


class Case(NamedTuple):
    """An instance, and an effort that leaves its optimum open."""

    family: str
    preset: str
    seed: int
    options: dict[str, Any]
    effort: float

    def instance(self) -> Instance:
        """Draw it."""
        return get_family(self.family).generate(self.preset, seed=self.seed, **self.options)


CASES = {
    case.family: case
    for case in (
        Case("oasis", "small", 5, {"jobs": 14}, 60),
        Case("dmlrs", "small", 3, {}, 60),
        Case("completion", "mid", 0, {"jobs": 8}, 60),
        Case("bipartite", "small", 0, {}, 2),
        Case("bot", "heterogeneous", 0, {}, 2),
    )
}


def repeated(found: Optimum) -> list[Any]:
    """Return what must repeat, to the last bit."""
    return [
        found.value,
        found.bound,
        found.bound_level,
        found.effort,
        *(
            None if part is None else hashlib.sha256(part.model_dump_json().encode()).hexdigest()
            for part in (found.schedule, found.certificate)
        ),
    ]


def main() -> None:
    """Print what is found for every case."""
    print(
        json.dumps(
            {
                name: repeated(solve(case.instance(), work_limit=case.effort))
                for name, case in CASES.items()
            }
        )
    )


if __name__ == "__main__":
    main()
