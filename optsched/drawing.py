"""Drawing: figures without a window, colours, labels, styles, atomic files."""

from __future__ import annotations

import math
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imsave
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator
from matplotlib.typing import ColorType
from numpy.typing import NDArray

from optsched.files.atomic_io import write_whole

COLOURS = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#BBBBBB", "#222222")
# Of curves, next to black. Found by search: any two stay apart (CIELAB distance 28) also without
# red, green or blue cones, and each has contrast with white.
CURVES = (
    "#006677", "#EEAA00", "#CC44FF", "#BB5500", "#3300FF", "#55BBAA", "#660099", "#99BB77",
    "#666644", "#CC99EE",
)  # fmt: skip
OTHERS = "#BBBBBB"  # of all curves after the tenth, which one entry of the legend names
GRID = "#EEEEEE"
DPI = 130
HINDSIGHT = "hindsight"  # the best schedule known, whether it was proved to be optimal or not
LONGEST = 30  # characters of a name in a picture
CHARACTERS = 14  # of small print, to an inch
LINE = 0.15  # inches from one line of small print to the next
APART = 3.0  # points between names at neighboring ticks


Style: TypeAlias = Literal["screen", "paper"]
"""PNG for a screen, or PDF and SVG of the width of a column or page of a journal."""
COLUMN, PAGE = 3.5, 7.16  # inches: widths of a column, and of both, in IEEE and ACM journals
NARROW = 7.6  # inches on a screen up to which a figure goes into one column
FLATTEST = 0.65  # heights on paper, relative to those on a screen, at least
PAPER: dict[Any, Any] = {
    "font.size": 8.0,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.0,
    "pdf.fonttype": 42,  # TrueType: publishers refuse Type 3
    "svg.fonttype": "path",  # glyphs as outlines: no viewer needs the font
    "svg.hashsalt": "optsched",  # names in the file repeat
}
_style: ContextVar[Style] = ContextVar("_style", default="screen")


@contextmanager
def styled(style: Style) -> Iterator[None]:
    """Draw and save all figures inside in a style."""
    token = _style.set(style)
    try:
        with rc_context(PAPER if style == "paper" else {}):
            yield
    finally:
        _style.reset(token)


def new_figure(width: float, height: float, *, flatter: bool = True) -> Figure:
    """Return an empty figure of a size in inches on a screen; on paper it is narrower.

    It is also ``flatter`` there, unless its height is that of lines of text.
    """
    if _style.get() == "paper":
        on_paper = COLUMN if width <= NARROW else PAGE
        if flatter:
            height *= max(FLATTEST, min(1.0, on_paper / width))
        width = on_paper
    return Figure(figsize=(width, height), dpi=DPI, layout=FoldingLayout())


def rows_figure(names: Sequence[str], below: str) -> tuple[Figure, Axes]:
    """Return a figure with a panel of named rows, and a text below it that is as wide as both.

    Every row has the same height, whatever the text; the first one is at the bottom. On paper, long
    names take two lines.
    """
    paper = _style.get() == "paper"
    labels = [_two_lines(name) for name in names] if paper else names
    text = _balanced(below, int((COLUMN if paper else NARROW) * CHARACTERS * 1.15))
    row = (0.29 if any("\n" in label for label in labels) else 0.2) if paper else 0.36
    height = row * max(3, len(names)) + LINE * len(text) + (0.3 if paper else 1.0)
    figure = new_figure(NARROW, height, flatter=False)
    axis = figure.subplots()
    axis.set_yticks(range(len(names)), labels, fontsize=small())
    axis.set_ylim(-0.6, len(names) - 0.4)
    figure.supxlabel("\n".join(text), fontsize=8)
    return figure, axis


def small() -> float:
    """Return the size of letters of names and numbers in a picture, in points."""
    return 7.0 if _style.get() == "paper" else 9.0


def _two_lines(name: str) -> str:
    """Fold a long name near its middle, where a part of it ends."""
    ends = [m.start() for m in re.finditer(r"(?<=[-_:,=/ ])\w|\(", name)]
    if len(name) <= LONGEST // 2 or not ends:
        return name
    cut = min(ends, key=lambda k: abs(k - len(name) / 2))
    return f"{name[:cut]}\n{name[cut:]}"


class FoldingLayout(ConstrainedLayoutEngine):
    """Constrained layout that folds titles and labels longer than their axis.

    It also folds, or turns, names at ticks that would run into one another.
    """

    def execute(self, fig: Any) -> None:
        """Lay out a figure."""
        super().execute(fig)
        for _ in range(3):  # a folded label makes the panel narrower for the other one
            changed = [_fit(axis) for axis in fig.axes if axis.get_visible()]
            if not any(changed):
                break
            super().execute(fig)


def _fit(axis: Axes) -> bool:
    """Fold labels of a panel, and space out the names at its ticks; return the changes."""
    panel = axis.get_window_extent()
    folded = [
        _fold(axis.title, panel.width),
        _fold(axis.xaxis.label, panel.width),
        _fold(axis.yaxis.label, panel.height),
    ]
    names = [name.get_text() for name in axis.get_xticklabels()]
    if not isinstance(axis.xaxis.get_major_locator(), FixedLocator) or not _crowded(axis):
        return any(folded)
    if all(name.replace(".", "", 1).isdecimal() for name in names if name):
        axis.xaxis.set_major_locator(FixedLocator(axis.get_xticks()[::2].tolist()))
        return True
    axis.xaxis.set_ticklabels([textwrap.fill(name, 1, break_long_words=False) for name in names])
    if _crowded(axis):
        axis.xaxis.set_ticklabels(names, rotation=90)
    return True


def _fold(label: Text, length: float) -> bool:
    """Fold a label that is longer than ``length``, in pixels; return whether it was."""
    box = label.get_window_extent()
    now = box.height if label.get_rotation() == 90 else box.width
    if now <= length:
        return False
    lines = label.get_text().split("\n")
    letters = max(1, int(max(map(len, lines)) * length / now))
    folded = "\n".join("\n".join(_balanced(line, letters)) for line in lines)
    label.set_text(folded)
    return folded.split("\n") != lines


def _balanced(line: str, letters: int) -> list[str]:
    """Fold a line into the fewest lines of at most ``letters`` letters, of similar length."""
    kept = re.sub(" (?=[%/])|(?<=/) ", "\N{NO-BREAK SPACE}", line)

    def wrapped(width: int) -> list[str]:
        return textwrap.wrap(kept, width, break_long_words=False)

    fewest = len(wrapped(letters))
    return next(parts for w in range(1, letters + 1) if len(parts := wrapped(w)) <= fewest)


def _crowded(axis: Axes) -> bool:
    """Return whether upright names at the ticks of the x axis run into one another."""
    names = [name for name in axis.get_xticklabels() if name.get_text() and name.get_visible()]
    boxes = [name.get_window_extent() for name in names if not name.get_rotation()]
    gaps = [right.x0 - left.x1 for left, right in pairwise(sorted(boxes, key=lambda b: b.x0))]
    figure = axis.get_figure(root=True)
    return figure is not None and min(gaps, default=np.inf) < APART * figure.dpi / 72


def save(figure: Figure, path: Path, *, below: Sequence[str] = ()) -> Path:
    """Write ``figure`` as PNG, whole or not at all; lines of text may follow below it.

    On paper, write PDF and SVG without these lines, which belong into the caption.
    """
    if _style.get() == "paper":
        _pixels(figure)  # the same layout for both files
        figure.set_layout_engine("none")
        path = path.with_suffix(".pdf")
        write_whole(
            path.with_suffix(".svg"), rendered(figure, format="svg", metadata={"Date": None})
        )
        write_whole(path, rendered(figure, format="pdf", metadata={"CreationDate": None}))
    elif below:
        data = BytesIO()
        pixels = _pixels(figure)
        text = _pixels(_text(below, figure.get_figwidth(), pixels.shape[1] / figure.get_figwidth()))
        width = min(pixels.shape[1], text.shape[1])
        imsave(data, np.vstack([pixels[:, :width], text[:, :width]]), format="png")
        write_whole(path, data.getvalue())
    else:
        write_whole(path, rendered(figure, format="png"))
    return path


def rendered(figure: Figure, **how: Any) -> bytes:
    """Return the bytes that `savefig` writes."""
    FigureCanvasAgg(figure)
    data = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the font has no Chinese: boxes are drawn
        figure.savefig(data, **how)
    return data.getvalue()


def _pixels(figure: Figure) -> NDArray[np.uint8]:
    """Return a figure as it is drawn, shape (height, width, 4)."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]


def _text(lines: Sequence[str], width: float, dpi: float) -> Figure:
    """Return a figure of this many inches that holds lines of small print, folded."""
    folded = [
        part
        for line in lines
        for part in textwrap.wrap(line, int(width * CHARACTERS * 1.18), subsequent_indent="    ")
    ]
    height = LINE * (len(folded) + 1)
    figure = Figure(figsize=(width, height), dpi=dpi)
    for k, part in enumerate(folded):
        y = 1 - LINE * (k + 0.5) / height
        figure.text(0.1 / width, y, part.replace("$", r"\$"), fontsize=7.5, va="top")
    return figure


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Return a colour per name: black for hindsight, ten that differ, grey for all others."""
    chosen = {HINDSIGHT: COLOURS[-1]}
    for name in names:
        if name not in chosen:
            chosen[name] = CURVES[len(chosen) - 1] if len(chosen) <= len(CURVES) else OTHERS
    return chosen


def contrast(one: ColorType, other: ColorType) -> float:
    """Return how well two colours stand out against each other, from 1 to 21 (WCAG 2)."""

    def luminance(colour: ColorType) -> float:
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def ink(ground: ColorType) -> str:
    """Return the colour in which to write on ``ground``."""
    return max("black", "white", key=lambda colour: contrast(colour, ground))


def short(text: str) -> str:
    """Return a name as it is drawn: on one line, never a formula, cut in the middle if too long."""
    line = "".join(c if c.isprintable() else " " for c in text)
    if len(line) > LONGEST:
        line = f"{line[: LONGEST // 2]}…{line[len(line) + 1 - LONGEST // 2 :]}"
    return line.replace("$", r"\$")


def shorts(names: Iterable[str]) -> dict[str, str]:
    """Return every name as it is drawn; names that differ stay different."""
    drawn: dict[str, str] = {}
    for name in names:
        line, same = short(name), 1
        while line in [d for n, d in drawn.items() if n != name]:
            same += 1
            line = f"{short(name)} ({same})"
        drawn[name] = line
    return drawn


def heading(axis: Axes, text: str, inches: float, size: float = 9) -> None:
    """Write ``text`` above a panel that is so wide, in as many lines as it takes."""
    width = max(12, int(inches * CHARACTERS * 9 / size))
    axis.set_title(textwrap.fill(text, width), fontsize=size)


def headline(figure: Figure, text: str) -> None:
    """Write ``text``, never a formula, above everything; on paper, captions do."""
    if _style.get() == "screen":
        lines = textwrap.fill(text, int(figure.get_figwidth() * CHARACTERS))
        figure.suptitle(lines, fontsize=9, parse_math=False)


def finish(
    axis: Axes,
    x: str = "",
    y: str = "",
    *,
    grid: Literal["both", "x", "y"] = "both",
    legend: float = 0.0,
) -> None:
    """Name the axes of a panel, lay a grid behind it; ``legend`` is the size of its letters."""
    axis.set(xlabel=x, ylabel=y)
    axis.set_axisbelow(True)
    axis.grid(color=GRID, axis=grid)
    if legend:
        axis.legend(frameon=False, fontsize=legend)


def label_at(
    axis: Axes, text: str, at: tuple[float, float], away: float, size: float, *, on: Any = "data"
) -> None:
    """Write ``text`` some points to the right of a place; ``on`` defines its coordinates."""
    axis.annotate(
        text, at, xycoords=on, xytext=(away, 0), textcoords="offset points", va="center",
        fontsize=size, annotation_clip=False,
    )  # fmt: skip


def legend(figure: Figure, axis: Axes, *, marks: float = 1.0) -> None:
    """Name the curves of ``axis`` below the figure, in as many columns as fit."""
    named = dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    if not named:
        return
    inches = 0.06 * small() + max(map(len, named)) * small() / (9 * CHARACTERS)
    columns = max(1, min(len(named), int(figure.get_figwidth() / inches)))
    if _style.get() == "paper":  # where many entries would leave no space for the panels
        figure.set_figheight(figure.get_figheight() + LINE * (math.ceil(len(named) / columns) - 1))
    figure.legend(
        [*named.values()], [*named], loc="outside lower center", frameon=False, fontsize=small(),
        markerscale=marks, ncols=columns,
    )  # fmt: skip


def curve_labels(names: Iterable[str]) -> dict[str, str]:
    """Return the legend label of each name; one entry stands for all names drawn in grey."""
    drawn = shorts(names)
    colours = colours_of(drawn)
    others = f"{sum(colours[name] == OTHERS for name in drawn)} others"
    return {
        name: others if colours[name] == OTHERS else f" {line}" if line[:1] == "_" else line
        for name, line in drawn.items()  # matplotlib hides labels that begin with an underscore
    }
