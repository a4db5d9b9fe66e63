"""How commands print and end: JSON, signals, exit status."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from optsched.process import crash_state, interrupts, messages


def report(content: Mapping[str, Any], output: Path | None, as_json: bool) -> None:
    """Write ``content`` as JSON into the file ``output``, and print it, as far as was requested."""
    if output is None and not as_json:
        return
    from optsched.files.format import plain

    text = json.dumps(plain(content), allow_nan=False, indent=2)
    if as_json:
        messages.result(text)
    if output is not None:
        from optsched.files.atomic_io import write_whole

        write_whole(output, f"{text}\n")


def print_result(content: Mapping[str, Any], as_json: bool, *lines: object) -> None:
    """Print ``content`` as JSON, if that was requested, else ``lines``."""
    report(content, None, as_json)
    for line in () if as_json else lines:
        messages.result(line)


def report_pictures(made: Sequence[Path]) -> None:
    """Print which pictures there are now."""
    for path in made:
        messages.remark(f"{path} drawn")


@contextmanager
def ending_well() -> Iterator[None]:
    """Have signals remembered; where nothing came of the work, end with their exit status."""
    with interrupts.remembered():
        try:
            yield
        except KeyboardInterrupt:
            if not crash_state.is_watched():
                messages.notify("interrupted")
            raise typer.Exit(_status(interrupts.received())) from None


def leave(*, found: bool) -> None:
    """End with the exit status that states how it went."""
    number = interrupts.received()
    if number is not None:
        messages.notify("interrupted; this is the best so far")
        crash_state.publish(reported=True)
        raise typer.Exit(_status(number))
    raise typer.Exit(0 if found else 1)


def _status(number: int | None) -> int:
    return 128 + (number or signal.SIGINT)
