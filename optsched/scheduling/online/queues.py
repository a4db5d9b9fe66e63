"""The jobs that a policy has to look after, and the work that each still misses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


class Backlog:
    """Unfinished jobs in order of arrival, those of one slot by index.

    ``changed``: whether a job arrived or was completed since :meth:`settle`: the moments at
    which most schedulers decide anew.
    """

    def __init__(self) -> None:
        self.missing: dict[int, int] = {}  # job -> work that is not done yet
        self.changed = False

    def __iter__(self) -> Iterator[int]:
        return iter(self.missing)

    def __len__(self) -> int:
        return len(self.missing)

    def arrive(self, job: int, work: int) -> None:
        """Add a job at the end."""
        self.missing[job] = work
        self.changed = True

    def work(self, job: int, done: int) -> bool:
        """Note work that was done; return whether the job is now completed and gone."""
        self.missing[job] -= done
        if self.missing[job] > 0:
            return False
        del self.missing[job]
        self.changed = True
        return True

    def drop(self, job: int) -> None:
        """Give a job up."""
        del self.missing[job]

    def settle(self) -> None:
        """Forget what has changed: the decision is made."""
        self.changed = False


def best_first(scores: Sequence[float]) -> list[int]:
    """Return positions by falling score; neighbours within 1e-9 (relative) are ties, by position.

    >>> best_first([1.0, 3.0, 1.0 + 1e-12])
    [1, 0, 2]
    """
    order = sorted(range(len(scores)), key=lambda j: (-scores[j], j))
    ties: list[list[int]] = []
    for j in order:
        if ties and scores[ties[-1][-1]] - scores[j] <= 1e-9 * abs(scores[j]):
            ties[-1].append(j)
        else:
            ties.append([j])
    return [j for equals in ties for j in sorted(equals)]
