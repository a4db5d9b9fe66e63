"""Progress of a command: rows of finished policies, and a status line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from optsched.core import Failed, Optimum, Ratio, measure_of
from optsched.core.display import Ticker
from optsched.problem import Family, Instance, family_of
from optsched.process.messages import printable

if TYPE_CHECKING:
    from optsched.core import Run

__all__ = ["RowPrinter", "Ticker"]


class RowPrinter:
    """Prints a row for every policy as soon as it has run, with a provisional ratio.

    The bound is the one at hand before any search, the best schedule that of any policy so far. So
    the interval holds the ratio, and the table at the end has a smaller one.

    Parameters
    ----------
    instance : Instance
    names : sequence of str
        Policies, in the order in which they run.
    ticker : Ticker
        Prints the rows, and states which policy runs.
    """

    def __init__(self, instance: Instance, names: Sequence[str], ticker: Ticker) -> None:
        self._instance = instance
        self._family: Family = family_of(instance)
        self._names, self._ticker = names, ticker
        self._done = 0
        self._best: float | None = None
        self._bound: float | None = None
        self._width = max(map(len, names), default=0)

    def begin(self) -> None:
        """Report the first bound on all schedules, and the first policy."""
        family = self._family
        if family.opening is not None:
            bound, _ = family.opening(self._instance)
            if math.isfinite(bound):
                self._bound = bound
                side = "more" if family.sense == "max" else "less"
                self._ticker.print(f"no schedule reaches {side} than {bound:.6g} (first bound)")
        self._next()

    def show(self, found: Run | Failed | Optimum) -> None:
        """Print the row of a policy; after the last one the optimum is looked for."""
        if isinstance(found, Optimum):
            kinds = self._family.references
            now = f"looking for the best {', '.join(kinds)}" if kinds else "computing the ratios"
            self._ticker.begin(now)
            return
        self._done += 1
        if isinstance(found, Failed):
            self._ticker.complain(found.why)
        else:
            self._print(found)
        self._next()

    def _next(self) -> None:
        if self._done < len(self._names):
            at = f"{self._done + 1} of {len(self._names)} policies"
            self._ticker.begin(f"running {printable(self._names[self._done])}, {at}")
        else:
            self._ticker.begin("looking for the optimum")

    def _print(self, run: Run) -> None:
        sign, name = self._family.sign, f"{run.policy:<{self._width}}"
        if run.obeys and (self._best is None or sign * (run.value - self._best) > 0):
            self._best = run.value
        row = f"{name}  {run.value:>10.6g}"
        if self._best is not None and math.isfinite(self._best):
            measure = measure_of(self._family, self._instance)
            sense = self._family.sense
            ratio = Ratio.of(sense, run.value, self._best, self._bound, None, measure)
            if self._bound is None and ratio.low <= 1:
                row += "  the best so far"
            elif self._bound is None:
                row += f"  ratio {ratio}"
            else:
                row += f"  ratio {ratio.ends} so far"
        self._ticker.print(row)
