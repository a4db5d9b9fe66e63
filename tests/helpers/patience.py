"""So that no test depends on how fast the machine is: tests wait for what happens, not for time."""

from collections.abc import Callable

from optsched.engine.progress import Progress

LONG = 600.0  # seconds: a limit for what ends long before, however busy the machine is


def until(enough: Callable[[Progress], bool]) -> Callable[[Progress], None]:
    """Return a watcher for `solve` that ends the search once ``enough`` is known."""

    def watch(progress: Progress) -> None:
        if enough(progress):
            progress.end()

    return watch
