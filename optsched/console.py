"""What the command line shows: tables on stdout, progress on stderr."""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status as Spinner
from rich.table import Table

from optsched.optimum import Optimum, shown_gap
from optsched.problem import get_family
from optsched.progress import Progress

if TYPE_CHECKING:
    from optsched.ratios import Judged, RatioReport  # statistics take a second to import

PATIENCE = 2.0  # seconds of silence before progress is shown
LEFT = ("policy", "information", "sealed")  # columns of words
PERIOD = 10.0  # seconds between two lines where stderr is no terminal


def out() -> Console:
    """Return the console on stdout; a pipe gets lines that are never wrapped."""
    wide = None if sys.stdout.isatty() else 200
    return Console(file=sys.stdout, width=wide, highlight=False, soft_wrap=wide is not None)


class Ticker:
    """Shows that work goes on: a live line on a terminal, else a line every ten seconds.

    Work that ends within two seconds shows nothing. A thread of its own keeps the clock running
    while a solver computes.

    Parameters
    ----------
    doing : str
        What is being done, in words.
    also : callable, optional
        Who else looks at what a solver has found.
    """

    def __init__(self, doing: str, also: Callable[[Progress], None] | None = None) -> None:
        self._doing = doing
        self._also = also
        self._state = ""
        self._began = time.perf_counter()
        self._over = threading.Event()
        self._console = Console(stderr=True, highlight=False)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def watch(self, progress: Progress) -> None:
        """Show incumbent, bound and gap of a solver (see :func:`optsched.solve`)."""
        self._doing = "looking for the optimum"
        self._state = (
            f"incumbent {_number(progress.value)}, bound {_number(progress.bound)}, "
            f"gap {shown_gap(progress.gap())}"
        )
        if self._also is not None:
            self._also(progress)

    def say(self, state: str) -> None:
        """Show ``state`` beside what is being done."""
        self._state = state

    def _line(self) -> str:
        state = f": {self._state}" if self._state else ""
        return f"{self._doing}{state} ({time.perf_counter() - self._began:.0f} s)"

    def _run(self) -> None:
        if self._over.wait(PATIENCE):
            return
        if self._console.is_terminal:
            with Spinner(self._line(), console=self._console) as spinner:
                while not self._over.wait(0.2):
                    spinner.update(self._line())
            return
        while True:
            print(self._line(), file=sys.stderr, flush=True)
            if self._over.wait(PERIOD):
                return


def _number(x: float | None) -> str:
    return "none yet" if x is None else f"{x:.6g}"


def facts_table(title: str, facts: Mapping[str, Any]) -> Table:
    """Return a table of two columns, name and value."""
    table = Table(title=escape(title), title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold", max_width=90)
    for name, value in facts.items():
        table.add_row(escape(name.replace("_", " ")), escape(_shown(value)))
    return table


def _shown(value: Any) -> str:
    """Write a fact; what is nested gets lines of its own."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        nested = any(isinstance(v, Mapping) for v in value.values())
        return ("\n" if nested else ", ").join(f"{k} {_shown(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        nested = any(isinstance(v, Mapping) for v in value)
        return ("\n" if nested else ", ").join(map(_shown, value))
    return "-" if value in (None, "") else str(value)


def show_optimum(console: Console, optimum: Optimum) -> None:
    """Print the optimum in a sentence, and what one more unit would be worth."""
    console.print(str(optimum), markup=False)
    for price in optimum.shadow_prices[:3]:
        console.print(f"  shadow price: {_shown(price)}", markup=False)


def show_ratios(console: Console, report: RatioReport) -> None:
    """Print a comparison: the optimum, the facts, and a row per policy."""
    show_optimum(console, report.optimum)
    if report.improved_by is not None:
        console.print(f"the best schedule known is that of {report.improved_by}", markup=False)
    console.print(f"instance: {report.facts}", markup=False)
    for name, found in report.references.items():
        console.print(f"{name} reference: {found}", markup=False)
    rows = [_cells(row, report) for row in report.policies]
    table = Table()
    for name in rows[0] if rows else ():
        table.add_column(name, justify="left" if name in LEFT else "right")
    for row in rows:
        table.add_row(*row.values())
    console.print(table)
    console.print(_legend(report), style="dim")
    if not report.facts.telling:
        console.print(
            f"cannot tell policies apart: even {report.facts.trivial_policy} is within 2 %",
            style="bold",
        )


def _legend(report: RatioReport) -> str:
    family = get_family(report.optimum.family)
    if family.measure is not None:
        meaning = (inspect.getdoc(family.measure) or "Return what the family defines.").splitlines()
        ratio = f"ratio: {meaning[0].removeprefix('Return ').rstrip('.')}"
    elif family.sense == "max":
        ratio = "ratio: optimum / policy"
    else:
        ratio = "ratio: policy / optimum"
    parts = [f"{ratio}; 1 is the best with hindsight."]
    if report.references:
        parts.append("regret: how much more a reference reaches.")
    parts.append("information: what a policy knew when it decided.")
    if any(row.own for row in report.policies):
        parts.append("own:...: it also knew a statistic from outside.")
    parts.append("sealed: run in a process that was told events and nothing else.")
    if not all(row.obeys for row in report.policies):
        parts.append("*: leaves the model, so its ratio may be below 1.")
    return " ".join(parts)


def _cells(row: Judged, report: RatioReport) -> dict[str, str]:
    """Return the cells of a row by the name of their column."""
    promised = row.ratio.guarantee
    if row.ratio.exact:
        ratio = f"{row.ratio.low:.4g}"
    elif row.ratio.high is None:
        ratio = f">= {row.ratio.low:.4g}"
    else:
        ratio = f"{row.ratio.low:.4g} .. {row.ratio.high:.4g}"
    cells = {"policy": escape(row.name) + ("" if row.obeys else " *"), "value": f"{row.value:.6g}"}
    if report.facts.jobs is not None:
        done = "-" if row.completed is None else f"{row.completed} of {report.facts.jobs}"
        cells["jobs done"] = done
    cells["ratio"] = ratio
    cells |= {f"regret to {name}": str(found) for name, found in row.regret.items()}
    return cells | {
        "guarantee": "none" if promised is None else f"{promised:.4g}",
        "all decisions": "-" if row.seconds is None else f"{row.seconds:.3f} s",
        "slowest": "-" if row.slowest is None else f"{row.slowest * 1000:.1f} ms",
        "information": ", ".join([row.information, *map(escape, row.own)]),
        "sealed": {"sealed": "yes", "not sealed": "no"}.get(row.seal, row.seal),
    }
