"""What all pictures share: figures without a window, colours, files written whole."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from optsched.disk import write_whole

COLOURS = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#BBBBBB", "#222222")
GRID = "#EEEEEE"
DPI = 130
HINDSIGHT = "hindsight"  # the best schedule known, whether it was proved to be optimal or not


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches."""
    return Figure(figsize=(width, height), dpi=DPI, layout="constrained")


def save(figure: Figure, path: Path) -> Path:
    """Write ``figure`` as PNG, whole or not at all."""
    FigureCanvasAgg(figure)
    data = BytesIO()
    figure.savefig(data, format="png")
    write_whole(path, data.getvalue())
    return path


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Return a colour per name: black for hindsight, the palette in turn for the others."""
    others = [name for name in names if name != HINDSIGHT]
    palette = COLOURS[:-1]
    chosen = {name: palette[k % len(palette)] for k, name in enumerate(others)}
    return {HINDSIGHT: COLOURS[-1], **chosen}
